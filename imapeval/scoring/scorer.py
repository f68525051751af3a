"""Scoring from Python: one object that is opened once and asked often, from anywhere.

    from imapeval import Scorer

    scorer = Scorer()
    scored = scorer.score(question="...", reference="...", response="...")
    print(scored.value, scored.reason)

It may be used from any number of threads and event loops, `score` from notebooks as well: all work is done on an event
loop of its own, in a thread of its own, to which language models and what they have under way are tied.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from imapeval.errors import UsageError
from imapeval.evaluation import evaluate, pipeline
from imapeval.evaluation.extract import extract
from imapeval.evaluation.runs import Run, RunWriter
from imapeval.evaluation.samples import detect_lang
from imapeval.llm.middleware.budget import Ledger, track_separately
from imapeval.matching.matcher import relate
from imapeval.scoring.arguments import (
    assign_ids,
    check_arguments,
    check_llm_arguments,
    check_rows,
    choose_metrics,
    given_id,
    make_row,
    make_samples,
)
from imapeval.scoring.assessment import Assessment, Assessments
from imapeval.scoring.background_loop import BackgroundLoop
from imapeval.scoring.opened import InMemoryStore, OpenComponents, group_by_id
from imapeval.types import Failure, Sample, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from imapeval.evaluation.combine import References
    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.evaluation.runs import Result
    from imapeval.llm.middleware.budget import UsageTotals
    from imapeval.llm.prices import Price
    from imapeval.llm.protocol import Model
    from imapeval.metrics.base import Device, Metric
    from imapeval.types import Imap, Lang, Match

Relations = Literal["graph", "llm"]


class Scorer:
    """Scores answers, reads imaps, relates values.

    Args:
        metrics: Names with commas between, or names and metrics of your own; the first one is what an assessment's
            `value` is.
        references: How several references count: "best", "mean" or "consensus" (`imapeval.evaluation.combine`).
        llm: A language model that reads the texts, "PROVIDER:NAME" as after `--llm`, or any `Model`. None reads
            offline.
        base_url: Address of an OpenAI-compatible server.
        votes: How often the model reads each text; the mean of the readings' scores counts.
        relations: Who relates two facts: "llm" (the default with `llm`) or "graph", which asks nobody.
        concurrency, rpm, tpm: Most requests to the model at a time and a minute, most tokens a minute.
        price: Of the model, where it is not known.
        max_cost: Most USD that the model may cost, over the life of this object.
        kg: A graph of `imapeval kg build` in place of the shipped one.
        encoder: "use", or "st:" and a sentence-transformers model.
        device: Where metrics put their models.
        options: Of metrics: values by the name of the metric, then of the option, as after `--set`.

    Raises:
        UsageError: Something that is named is not there, or cannot be meant.
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
        price: Price | None = None,
        max_cost: float | None = None,
        kg: str | Path | None = None,
        encoder: str = "use",
        device: Device = "auto",
        options: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        relating = relations or ("graph" if llm is None else "llm")
        self._settings = pipeline.LlmSettings(
            llm if isinstance(llm, str) else "",
            base_url=base_url,
            votes=votes,
            concurrency=concurrency,
            rpm=rpm,
            tpm=tpm,
            price=price,
            max_cost=max_cost,
            relations=relating == "llm",
        )
        check_arguments(llm, self._settings, relations=relating, references=references, device=device)
        self._references: References = references
        self._llm = llm
        self._kg = None if kg is None else Path(kg)
        self._encoder = encoder
        self._device: Device = device
        self._metrics = choose_metrics(metrics, options)
        if llm is None:
            check_llm_arguments(
                self._metrics,
                base_url=base_url is not None,
                votes=votes > 1,
                relations=relating == "llm",
                concurrency=concurrency is not None,
                rpm=rpm is not None,
                tpm=tpm is not None,
                price=price is not None,
                max_cost=max_cost is not None,
            )
        self.ledger: Ledger | None = None if llm is None else self._open_ledger()
        # Now, so that what is wrong with its name or key is said now.
        self._open_model()
        self._opened: OpenComponents | None = None
        self._loop = BackgroundLoop()

    @property
    def metrics(self) -> list[Metric]:
        """What it scores by, the first one being an assessment's `value`."""
        return list(self._metrics)

    def score(
        self,
        *,
        response: str | None,
        question: str | None = None,
        reference: str | Sequence[str] | None = None,
        turns: Sequence[Turn | Mapping[str, str]] | None = None,
        lang: Lang | None = None,
        id: str = "",  # noqa: A002  # the name that it has everywhere
    ) -> Assessment:
        """Score one answer.

        Args:
            response: The answer. None where nobody answered, which is not scored; "" is an answer.
            question: What was asked.
            reference: The clinician's answer, or several, which count as `references` says; None or "" for none.
            turns: A dialogue in place of `question`; its last turn is the user's.
            lang: "en" or "zh"; None to tell by the question's script.
            id: Of the answer, for you to find it again.

        Returns:
            The scores, or why there are none: nothing in the texts raises an error.

        Raises:
            ImapEvalError: What concerns all answers alike, such as a server that is down.
        """
        return self._loop.run(self._score_fields(make_row(response, question, reference, turns, lang, id)))

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
        return await self._loop.wait(self._score_fields(make_row(response, question, reference, turns, lang, id)))

    def score_all(
        self,
        samples: Iterable[Sample | Mapping[str, Any]],
        *,
        out: str | Path | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Assessments:
        """Score many answers, which is faster than one by one.

        Args:
            samples: Samples (`imapeval.evaluation.samples.read` reads files), or mappings with the columns of a file.
            out: A folder to write the run to, as `imapeval score --out` does; a run that was stopped goes on.
            progress: Called with the number of answers done since the last call.

        Returns:
            One assessment for each, in their order.

        Raises:
            UsageError: The folder cannot be written, or holds another run; or answers for a run share an id.
            ImapEvalError: What concerns all answers alike, such as a server that is down.
        """
        return self._loop.run(self._score_all(check_rows(samples), None if out is None else Path(out), progress))

    async def ascore_all(
        self,
        samples: Iterable[Sample | Mapping[str, Any]],
        *,
        out: str | Path | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Assessments:
        """Score many answers; see `score_all`."""
        return await self._loop.wait(self._score_all(check_rows(samples), None if out is None else Path(out), progress))

    def extract(
        self,
        *,
        question: str,
        response: str = "",
        reference: str | Sequence[str] | None = None,
        lang: Lang | None = None,
    ) -> tuple[Imap, ...] | Failure:
        """Read the imaps of one answer, one for each reference and reading; or return why that cannot be done."""
        return self._loop.run(self._extract(make_row(response, question, reference, None, lang, "")))

    async def aextract(
        self,
        *,
        question: str,
        response: str = "",
        reference: str | Sequence[str] | None = None,
        lang: Lang | None = None,
    ) -> tuple[Imap, ...] | Failure:
        """Read the imaps of one answer; see `extract`."""
        return await self._loop.wait(self._extract(make_row(response, question, reference, None, lang, "")))

    def relate(self, reference: str, response: str, *, lang: Lang | None = None) -> Match | Failure:
        """Say how a reference's value relates to a response's; or return why that cannot be said."""
        return self._loop.run(self._relate(reference, response, lang))

    async def arelate(self, reference: str, response: str, *, lang: Lang | None = None) -> Match | Failure:
        """Say how two values relate; see `relate`."""
        return await self._loop.wait(self._relate(reference, response, lang))

    def close(self) -> None:
        """End the thread. What is under way is given up. Used again, the scorer starts another."""
        self._loop.close()
        self._opened = None

    def __enter__(self) -> Scorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open_ledger(self) -> Ledger:
        if isinstance(self._llm, str):
            return pipeline.open_ledger(self._settings)
        return Ledger(price=self._settings.price, max_cost=self._settings.max_cost)

    def _open_model(self) -> Model | None:
        if self._llm is None or isinstance(self._llm, str):
            return None if self._llm is None else pipeline.open_llm(self._settings, ledger=self.ledger)
        from imapeval.llm.registry import add_middleware

        # Not cached: whether the same request means the same to it is not known of somebody's own model.
        return add_middleware(self._llm, rpm=self._settings.rpm, tpm=self._settings.tpm, ledger=self.ledger)

    def _open_components(self, *, reading: bool = False) -> OpenComponents:
        """Return what works, opened on the loop at first use, where only one does it."""
        pid = os.getpid()
        # Connections of the process that this one was forked from are not to be shared.
        if self._opened is None or self._opened.pid != pid:
            model = self._open_model()
            self._opened = OpenComponents(
                pid,
                model,
                pipeline.open_pipeline(
                    self._metrics,
                    llm=model,
                    votes=self._settings.votes,
                    relations=self._settings.relations,
                    kg=self._kg,
                    encoder=self._encoder,
                    device=self._device,
                ),
            )
        if reading and self._opened.imaps is None:
            graph, model = pipeline.open_graph(self._kg), self._opened.model
            extractor = pipeline.open_extractor(graph, llm=model, votes=self._settings.votes)
            relating = model if self._settings.relations else None
            self._opened.imaps = extractor, pipeline.open_matcher(graph, encoder=self._encoder, llm=relating)
        return self._opened

    async def _score_fields(self, fields: Mapping[str, Any]) -> Assessment:
        (sample,) = make_samples([fields])
        if isinstance(sample, Failure):
            return self._assess_rejected(given_id(fields), sample)
        kept = InMemoryStore()
        with track_separately(None if self.ledger is None else self.ledger.price) as ledger:
            await self._evaluate([sample], kept)
        spent = None if self.ledger is None else ledger.spent
        return self._assess(sample, kept.results, kept.records, spent)

    async def _score_all(
        self, given: Sequence[Sample | Mapping[str, Any]], out: Path | None, progress: Callable[[int], None] | None
    ) -> Assessments:
        made = make_samples(given)
        samples = [item for item in made if isinstance(item, Sample)]
        with track_separately(None if self.ledger is None else self.ledger.price) as ledger:
            if out is None:
                assessed = await self._score_in_memory(samples, progress)
            else:
                for place, item in enumerate(made, 1):
                    if isinstance(item, Failure):
                        raise UsageError(f"answer {place}: {item.message} A run on disk takes whole samples only.")
                run = None if self.ledger is None else ledger
                assessed = await self._score_to_folder(assign_ids(samples), out, progress, ledger=run)
        found = iter(assessed)
        spent = None if self.ledger is None else ledger.spent
        return Assessments(
            [
                next(found) if isinstance(item, Sample) else self._assess_rejected(given_id(fields), item)
                for fields, item in zip(given, made, strict=True)
            ],
            spent=spent,
        )

    async def _score_in_memory(
        self, samples: Sequence[Sample], progress: Callable[[int], None] | None
    ) -> list[Assessment]:
        # Who calls need not care for ids; here they are what results are found by.
        numbered = [replace(sample, id=str(number)) for number, sample in enumerate(samples)]
        kept = InMemoryStore()
        await self._evaluate(numbered, kept, progress)
        return self._assess_by_id(samples, [sample.id for sample in numbered], kept.results, kept.records)

    async def _score_to_folder(
        self, samples: Sequence[Sample], out: Path, progress: Callable[[int], None] | None, *, ledger: Ledger | None
    ) -> list[Assessment]:
        ready = self._open_components().assembled
        settings = evaluate.make_run_settings(
            ready.metrics,
            extractor=ready.extractor,
            matcher=ready.matcher,
            references=self._references,
            seed=0,
            resources=ready.resources,
        )
        with RunWriter(out, samples, settings=settings, source="Python", ledger=ledger) as run:
            results = await self._evaluate(samples, run, progress)
        return self._assess_by_id(samples, [sample.id for sample in samples], results, Run(out).imaps())

    async def _evaluate(
        self, samples: Sequence[Sample], keeper: evaluate.ResultStore, progress: Callable[[int], None] | None = None
    ) -> list[Result]:
        ready = self._open_components().assembled
        return await evaluate.evaluate(
            samples,
            metrics=ready.metrics,
            extractor=ready.extractor,
            matcher=ready.matcher,
            references=self._references,
            run=keeper,
            progress=progress,
        )

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

    def _assess_rejected(self, id_: str, failure: Failure) -> Assessment:
        ready, how = self._open_components().assembled, self._references
        signatures = evaluate.full_signatures(
            ready.metrics, extractor=ready.extractor, matcher=ready.matcher, references=how
        )
        return Assessment(id_, None, dict.fromkeys(signatures, failure), signatures)

    async def _extract(self, fields: Mapping[str, Any]) -> tuple[Imap, ...] | Failure:
        (sample,) = make_samples([fields])
        if isinstance(sample, Failure):
            return sample
        extractor, _ = self._open_components(reading=True).parts
        (found,) = [imaps async for _, imaps in extract([sample], extractor=extractor)]
        return found

    async def _relate(self, reference: str, response: str, lang: Lang | None) -> Match | Failure:
        _, matcher = self._open_components(reading=True).parts
        return await relate(matcher, reference, response, lang=lang or detect_lang(f"{reference} {response}"))
