"""`Scorer`: scoring from Python with one object that is opened once and used often.

    from imapeval import Scorer

    scorer = Scorer()
    scored = scorer.score(question="...", reference="...", response="...")
    print(scored.value, scored.reason)

A scorer may be used from any number of threads and event loops, and `score` also works in notebooks: all work is done
on one event loop in a background thread, to which the connections of language models are tied.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from imapeval.errors import UsageError
from imapeval.evaluation.evaluate import evaluate_to_store, make_run_settings
from imapeval.evaluation.extract import extract
from imapeval.evaluation.pipeline import LlmSettings
from imapeval.evaluation.runs import Run, RunWriter, group_by_id
from imapeval.evaluation.stores import InMemoryStore, ResultStore
from imapeval.llm.middleware.budget import Ledger, track_separately
from imapeval.matching.protocol import relate_values
from imapeval.redaction import redact
from imapeval.scoring.arguments import (
    assign_ids,
    check_arguments,
    check_no_llm_needed,
    check_rows,
    choose_metrics,
    frame_library,
    make_samples,
    read_price,
)
from imapeval.scoring.assessment import Assessment, Assessments
from imapeval.scoring.background_loop import BackgroundLoop
from imapeval.scoring.components import Components
from imapeval.text.language import FACT_LANGS, detect_lang
from imapeval.types import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from imapeval.evaluation.combine import References
    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.evaluation.runs import Result
    from imapeval.llm.middleware.budget import UsageTotals
    from imapeval.llm.prices import Price
    from imapeval.llm.protocol import Model
    from imapeval.metrics.base import Device, Metric
    from imapeval.types import Failure, Imap, Lang, Match, Turn

Relations = Literal["graph", "llm"]


class Scorer:
    """Scores answers, extracts imaps and relates values. A context manager, sync and async.

    Args:
        metrics: Metric names separated by commas, or a list of names and metrics of your own. `Assessment.value` is the
            score of the first one.
        references: How the scores against several references are combined: "best", "mean" or "consensus"
            (`imapeval.evaluation.combine`).
        llm: The language model that extracts the imaps: "PROVIDER:NAME" as after `--llm`, or any `Model`. None extracts
            them offline.
        base_url: Address of an OpenAI-compatible server, for a model that is given by name.
        votes: How many times the model reads each text, and each judge rates it; the mean score counts.
        relations: How relations between facts are decided: "llm" (the default with `llm`) or "graph", which needs no
            model.
        concurrency, rpm, tpm: Maximum number of concurrent requests, requests per minute and tokens per minute. A
            `Model` object has its own `concurrency`, and that argument does not affect it.
        price: Price of the model's tokens, `imapeval.Price(0.40, 1.60)` or text in the form that `--price` takes;
            needed if it is not known.
        max_cost: Maximum cost in USD over the life of this object.
        kg: A graph built by `imapeval kg build`, in place of the shipped one.
        encoder: "use", or "st:" and the name of a sentence-transformers model.
        device: Where metrics put their models.
        options: Options of metrics by metric name and option name, as after `--set`.

    Attributes:
        ledger: What the language model has cost so far; None without a model.

    Raises:
        UsageError: An argument is invalid, or names a metric, an option or a model that does not exist. `kg` and
            `encoder` are opened when they are first needed, and may raise then.
    """

    def __init__(
        self,
        metrics: str | Sequence[str | Metric] = "imapscore",
        *,
        references: References = "mean",
        llm: str | Model | None = None,
        base_url: str | None = None,
        votes: int = 1,
        relations: Relations | None = None,
        concurrency: int | None = None,
        rpm: int | None = None,
        tpm: int | None = None,
        price: Price | str | None = None,
        max_cost: float | None = None,
        kg: str | Path | None = None,
        encoder: str = "use",
        device: Device = "auto",
        options: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        relating = relations or ("graph" if llm is None else "llm")
        settings = LlmSettings(
            llm if isinstance(llm, str) else "",
            base_url=base_url,
            votes=votes,
            concurrency=concurrency,
            rpm=rpm,
            tpm=tpm,
            price=read_price(price),
            max_cost=max_cost,
            relations=relating == "llm",
        )
        check_arguments(llm, settings, relations=relating, references=references, kg=kg, encoder=encoder, device=device)
        self._references: References = references
        self._llm = llm
        self._metrics = choose_metrics(metrics, options)
        if llm is None:
            check_no_llm_needed(self._metrics, settings)
        self._components = Components(
            self._metrics, llm, settings, kg=None if kg is None else Path(kg), encoder=encoder, device=device
        )
        self.ledger: Ledger | None = self._components.ledger
        self._loop = BackgroundLoop()

    @property
    def metrics(self) -> list[Metric]:
        """The metrics in order; the score of the first one is `Assessment.value`."""
        return list(self._metrics)

    def score(
        self,
        *,
        response: str | None,
        question: str | None = None,
        reference: str | Sequence[str] | None = None,
        turns: Sequence[Turn | Mapping[str, str]] | None = None,
        lang: Lang | None = None,
        id: str = "",  # noqa: A002  # the same name as in data files
    ) -> Assessment:
        """Score one answer.

        Args:
            response: The answer. None means that there is none, and it is not scored; "" is an empty answer.
            question: What was asked.
            reference: The clinician's answer, or a list of several, which are combined as `references` says; None or ""
                for none.
            turns: A dialogue in place of `question`; the last turn is the user's.
            lang: "en", "zh", "fr" or "other"; None detects it from the question's script.
            id: An identifier of your own for the answer.

        Returns:
            The scores, or the reasons why there are none; no text makes this method raise.

        Raises:
            ImapEvalError: Something affects all answers alike, such as a server that is down.
        """
        return self._loop.run(
            self._score(id=id, response=response, question=question, reference=reference, turns=turns, lang=lang)
        )

    async def ascore(
        self,
        *,
        response: str | None,
        question: str | None = None,
        reference: str | Sequence[str] | None = None,
        turns: Sequence[Turn | Mapping[str, str]] | None = None,
        lang: Lang | None = None,
        id: str = "",  # noqa: A002
    ) -> Assessment:
        """Score one answer; see `score`."""
        return await self._loop.wait(
            self._score(id=id, response=response, question=question, reference=reference, turns=turns, lang=lang)
        )

    def score_all(
        self,
        samples: Iterable[Sample | Mapping[str, Any]] | Any,
        *,
        out: str | Path | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Assessments:
        """Score many answers at once, which is faster than one at a time.

        Args:
            samples: Samples (`imapeval.read` reads files), mappings with the columns of a data file, or a data frame of
                pandas or polars with such columns; `Assessments.to_frame` then returns it with the scores.
            out: A folder to write the run to, as `imapeval score --out` does; an interrupted run is resumed.
            progress: Called with the number of answers finished since the last call.

        Returns:
            One assessment per answer, in the same order.

        Raises:
            UsageError: The folder cannot be written or holds another run, or two answers of a run share an id.
            ImapEvalError: Something affects all answers alike, such as a server that is down.
        """
        return self._loop.run(self._score_all(samples, None if out is None else Path(out), progress))

    async def ascore_all(
        self,
        samples: Iterable[Sample | Mapping[str, Any]] | Any,
        *,
        out: str | Path | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Assessments:
        """Score many answers; see `score_all`."""
        return await self._loop.wait(self._score_all(samples, None if out is None else Path(out), progress))

    def extract(
        self,
        *,
        question: str,
        response: str = "",
        reference: str | Sequence[str] | None = None,
        lang: Lang | None = None,
    ) -> tuple[Imap, ...] | Failure:
        """Return the imaps of one answer, one per reference and reading, or why they cannot be extracted."""
        return self._loop.run(self._extract(question=question, response=response, reference=reference, lang=lang))

    async def aextract(
        self,
        *,
        question: str,
        response: str = "",
        reference: str | Sequence[str] | None = None,
        lang: Lang | None = None,
    ) -> tuple[Imap, ...] | Failure:
        """Return the imaps of one answer; see `extract`."""
        return await self._loop.wait(
            self._extract(question=question, response=response, reference=reference, lang=lang)
        )

    def relate(self, reference: str, response: str, *, lang: Lang | None = None) -> Match | Failure:
        """Return how a value of the reference relates to one of the response, or why that cannot be decided."""
        return self._loop.run(self._relate(reference, response, lang))

    async def arelate(self, reference: str, response: str, *, lang: Lang | None = None) -> Match | Failure:
        """Return how two values relate; see `relate`."""
        return await self._loop.wait(self._relate(reference, response, lang))

    def close(self) -> None:
        """Stop the background thread and cancel unfinished work. A closed scorer may be used again."""
        self._loop.close()
        self._components.close()

    async def aclose(self) -> None:
        """Close the scorer without blocking the event loop; see `close`."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Scorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Scorer:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        llm = self._llm if isinstance(self._llm, str) else getattr(self._llm, "identity", None)
        names = ",".join(metric.name for metric in self._metrics)
        return redact(f"Scorer({names!r}, references={self._references!r}, llm={llm!r})")

    async def _score(self, **fields: Any) -> Assessment:
        (sample,) = make_samples([fields])
        store = InMemoryStore()
        with track_separately(None if self.ledger is None else self.ledger.price) as ledger:
            await self._evaluate([sample], store)
        spent = None if self.ledger is None else ledger.spent
        return self._assess(sample, store.results, store.imaps, spent)

    async def _score_all(self, source: Any, out: Path | None, progress: Callable[[int], None] | None) -> Assessments:
        rows = check_rows(source)
        samples = make_samples(rows)
        with track_separately(None if self.ledger is None else self.ledger.price) as ledger:
            if out is None:
                assessed = await self._score_in_memory(samples, progress)
            else:
                for place, (given, sample) in enumerate(zip(rows, samples, strict=True), 1):
                    # Who reads a file may have asked for its bad rows: `read(..., strict=False)`.
                    if sample.fault is not None and not isinstance(given, Sample):
                        raise UsageError(f"answer {place}: {sample.fault.message} A run on disk takes valid rows only.")
                run = None if self.ledger is None else ledger
                assessed = await self._score_to_folder(assign_ids(samples), out, progress, ledger=run)
        spent = None if self.ledger is None else ledger.spent
        return Assessments(
            assessed,
            metrics=[metric.name for metric in self._metrics],
            spent=spent,
            frame=None if frame_library(source) is None else source,
        )

    async def _score_in_memory(
        self, samples: Sequence[Sample], progress: Callable[[int], None] | None
    ) -> list[Assessment]:
        # Callers need not give ids, but results are looked up by id.
        numbered = [replace(sample, id=str(number)) for number, sample in enumerate(samples)]
        store = InMemoryStore()
        await self._evaluate(numbered, store, progress)
        return self._assess_by_id(samples, [sample.id for sample in numbered], store.results, store.imaps)

    async def _score_to_folder(
        self, samples: Sequence[Sample], out: Path, progress: Callable[[int], None] | None, *, ledger: Ledger | None
    ) -> list[Assessment]:
        settings = make_run_settings(self._components.open().pipeline, references=self._references, seed=0)
        with RunWriter(out, samples, settings=settings, source="Python", ledger=ledger) as run:
            await self._evaluate(samples, run, progress)
        done = Run(out)
        return self._assess_by_id(samples, [sample.id for sample in samples], done.results(), done.imaps())

    async def _evaluate(
        self, samples: Sequence[Sample], store: ResultStore, progress: Callable[[int], None] | None = None
    ) -> None:
        parts = self._components.open().pipeline
        await evaluate_to_store(samples, parts, references=self._references, run=store, progress=progress)

    def _assess_by_id(
        self, samples: Sequence[Sample], ids: Sequence[str], results: Iterable[Result], records: Iterable[ImapRecord]
    ) -> list[Assessment]:
        results_by_id, records_by_id = group_by_id(results), group_by_id(records)
        return [
            self._assess(sample, results_by_id[id_], records_by_id.get(id_, []))
            for sample, id_ in zip(samples, ids, strict=True)
        ]

    def _assess(
        self,
        sample: Sample,
        results: Sequence[Result],
        records: Iterable[ImapRecord],
        spent: UsageTotals | None = None,
    ) -> Assessment:
        by_metric = {result.metric: result for result in results}
        ordered = [by_metric[metric.name] for metric in self._metrics]
        return Assessment(
            sample.id,
            sample,
            {result.metric: result.outcome for result in ordered},
            {result.metric: result.signature for result in ordered},
            tuple(replace(record, id=sample.id) for record in records),
            spent,
        )

    async def _extract(self, **fields: Any) -> tuple[Imap, ...] | Failure:
        (sample,) = make_samples([fields])
        extractor, _ = self._components.open_imap_parts()
        (found,) = [imaps async for _, imaps in extract([sample], extractor=extractor)]
        return found

    async def _relate(self, reference: str, response: str, lang: Lang | None) -> Match | Failure:
        _, matcher = self._components.open_imap_parts()
        if lang is not None and lang not in FACT_LANGS:
            raise UsageError(f"lang is {lang!r}; the graph has names in {' and '.join(FACT_LANGS)}.")
        return await relate_values(matcher, reference, response, lang=lang or detect_lang(f"{reference} {response}"))
