"""Which extractor and matcher a command line means: the one place where the parts are put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval._resources import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from imapeval.errors import ProviderError
    from imapeval.extraction.protocols import Extractor
    from imapeval.graph.encoder import Encoder
    from imapeval.graph.index.names import NameIndex
    from imapeval.graph.linking.linker import Linker
    from imapeval.graph.store.graph import Graph
    from imapeval.llm.dry_run import DryRunModel
    from imapeval.llm.middleware.budget import Ledger
    from imapeval.llm.middleware.cache import CachedModel
    from imapeval.llm.prices import Price
    from imapeval.llm.protocol import Completion, Model, Request
    from imapeval.matching.protocol import Matcher
    from imapeval.metrics.base import Device, Metric, MetricResources


def open_graph(path: Path | None = None) -> Graph:
    """Open a compiled graph, the shipped one by default.

    Raises:
        ResourceError: It is absent or damaged.
    """
    from imapeval.graph.store.graph import Graph

    return Graph.open(path)


def completions_path() -> Path:
    """Return where completions are kept; it may not be there yet."""
    return cache_folder() / "completions.sqlite"


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """Which language model reads the texts, and how it is asked.

    Attributes:
        spec: "PROVIDER:NAME", such as "openai:gpt-4.1-mini".
        base_url: Address of an OpenAI-compatible server.
        votes: How often each text is read; every reading gives scores of its own, of which the mean counts.
        concurrency: Most requests at a time; None for the provider's own default.
        rpm, tpm: Most requests and tokens a minute; None for no limit.
        price: Of its tokens, where the user says so; None for the price that is known, if any.
        max_cost: Most USD that it may cost; None for no limit.
        batch: The folder of the batches by which it was asked, so that it is not asked now; None to ask it.
        relations: Whether it also relates the facts, and may overrule wording and graph.
    """

    spec: str
    base_url: str | None = None
    votes: int = 1
    concurrency: int | None = None
    rpm: int | None = None
    tpm: int | None = None
    price: Price | None = None
    max_cost: float | None = None
    batch: Path | None = None
    relations: bool = False


def open_ledger(settings: LlmSettings) -> Ledger:
    """Return what counts the cost of the model, and keeps it below the limit.

    Raises:
        UsageError: A limit, but no known price.
    """
    from imapeval.llm.middleware.budget import Ledger
    from imapeval.llm.prices import find_price

    price = settings.price or find_price(settings.spec, base_url=settings.base_url)
    return Ledger(price=price, max_cost=settings.max_cost)


def open_llm(settings: LlmSettings, *, ledger: Ledger | None = None) -> Model:
    """Return the model with everything around it: limits, retries, the cache of completions.

    Args:
        settings: Which model, and how it is asked.
        ledger: Where its calls are entered.

    Raises:
        UsageError: The model's name, address or key cannot be meant.
    """
    from imapeval.llm.registry import open_model

    if settings.batch is not None:
        from imapeval.llm.batch import BatchFolder
        from imapeval.llm.middleware.budget import CountingModel

        with BatchFolder(settings.batch) as folder:
            rehearsal = open_dry_run_model(settings, reply=folder.failure_lookup())
            folder.require_model(rehearsal.identity)
        return rehearsal if ledger is None else CountingModel(rehearsal, ledger)
    return open_model(
        settings.spec,
        base_url=settings.base_url,
        concurrency=settings.concurrency,
        rpm=settings.rpm,
        tpm=settings.tpm,
        cache=completions_path(),
        ledger=ledger,
    )


def open_cached_completions(identity: str) -> CachedModel:
    """Return the completions that were paid for, of a model that is not to be asked."""
    from imapeval.llm.dry_run import DryRunModel, pending_error
    from imapeval.llm.middleware.cache import CachedModel

    return CachedModel(DryRunModel(identity, find_completion=lambda _: None, reply=pending_error), completions_path())


def open_dry_run_model(settings: LlmSettings, *, reply: Callable[[Request], Completion | ProviderError]) -> DryRunModel:
    """Return what stands in for the model where nothing is to be sent or written: it knows the cache, and the reply.

    Raises:
        UsageError: The model's name or address cannot be meant.
    """
    from imapeval.llm.dry_run import DryRunModel
    from imapeval.llm.registry import model_identity

    identity = model_identity(settings.spec, base_url=settings.base_url)
    kept = open_cached_completions(identity)
    # Looking into the file would make it.
    there = completions_path().exists()
    return DryRunModel(identity, find_completion=lambda request: kept.get(request) if there else None, reply=reply)


def open_extractor(graph: Graph, *, imaps: Path | None = None, llm: Model | None = None, votes: int = 1) -> Extractor:
    """Return what makes imaps: a file of them, a language model, or the offline lexicon.

    Args:
        graph: For the lexicon.
        imaps: A file of ready imaps.
        llm: A language model.
        votes: How often it reads each text.

    Raises:
        InputError: The file of imaps is at fault.
    """
    from imapeval.extraction.protocols import TwoStepExtractor

    if imaps is not None:
        from imapeval.evaluation.imap_files import RecordedImaps

        return RecordedImaps(imaps)
    if llm is not None:
        from imapeval.extraction.llm_reader import LLMReader

        if votes == 1:
            return TwoStepExtractor(LLMReader(llm))
        from imapeval.extraction.repeated import TEMPERATURE, RepeatedExtractor

        # A seed of its own makes each reading a request of its own, which is kept and paid for once.
        seeds = range(1, votes + 1)
        return RepeatedExtractor(
            [TwoStepExtractor(LLMReader(llm, temperature=TEMPERATURE, seed=seed)) for seed in seeds]
        )
    from imapeval.extraction.lexicon.reader import LexiconReader

    return TwoStepExtractor(LexiconReader(graph))


def open_encoder(spec: str) -> Encoder:
    """Open a sentence encoder.

    Args:
        spec: "use", or "st:" and a sentence-transformers model.

    Raises:
        UsageError: No such encoder.
        MissingExtraError: "st:" without sentence-transformers installed.
    """
    from imapeval.graph import encoder

    return encoder.open_encoder(spec)


def prepare_metrics(metrics: Sequence[Metric], parts: MetricResources) -> list[Metric]:
    """Return the metrics ready to score, with their models.

    Raises:
        ImapEvalError: See `imapeval.metrics.base.Preparable`.
    """
    from imapeval.metrics.base import Preparable

    return [metric.prepare(parts) if isinstance(metric, Preparable) else metric for metric in metrics]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What scores, ready to work.

    Attributes:
        metrics: With their models.
        extractor, matcher: None where no metric needs imaps.
        resources: Hashes of what they use, for the run's settings.
    """

    metrics: list[Metric]
    extractor: Extractor | None
    matcher: Matcher | None
    resources: dict[str, str]


def open_pipeline(
    metrics: Sequence[Metric],
    *,
    llm: Model | None = None,
    votes: int = 1,
    relations: bool = False,
    imaps: Path | None = None,
    kg: Path | None = None,
    encoder: str = "use",
    device: Device = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> Pipeline:
    """Open what the metrics need, which for those on texts is nothing.

    Args:
        metrics: As they were chosen.
        llm: Reads the texts where `imaps` does not say them, and is asked by the metrics that ask one.
        votes: How often it reads each text.
        relations: Whether it also relates the facts, and may overrule wording and graph.
        imaps: A file of ready imaps.
        kg: A compiled graph in place of the shipped one.
        encoder: "use", or "st:" and a sentence-transformers model.
        device: Where metrics put their models.
        progress: Called while the index of another graph or encoder is built, which happens once.

    Raises:
        ImapEvalError: Something that is needed is not there, or cannot be meant.
    """
    from imapeval.metrics.base import MetricResources

    encoding = any("encoder" in metric.requires for metric in metrics)
    ready = prepare_metrics(
        metrics, MetricResources(llm=llm, encoder=open_encoder(encoder) if encoding else None, device=device)
    )
    if not any("imap" in metric.requires for metric in metrics):
        return Pipeline(ready, None, None, {})
    graph = open_graph(kg)
    extractor = open_extractor(graph, imaps=imaps, llm=llm, votes=votes)
    matcher = open_matcher(graph, encoder=encoder, llm=llm if relations else None, progress=progress)
    return Pipeline(ready, extractor, matcher, {"graph": graph.hash})


def open_linker(graph: Graph, *, encoder: str = "use", progress: Callable[[int, int], None] | None = None) -> Linker:
    """Return what ties values to the concepts of a graph.

    Args:
        graph: Where the concepts are.
        encoder: "use", or "st:" and a sentence-transformers model.
        progress: Called while the index of another graph or encoder is built, which happens once.

    Raises:
        UsageError: No such encoder.
        MissingExtraError: "st:" without sentence-transformers installed.
        ResourceError: The index is damaged.
    """
    from imapeval.graph.linking.linker import Linker

    return Linker(graph, *_open_index(graph, encoder, progress))


def _open_index(graph: Graph, encoder: str, progress: Callable[[int, int], None] | None) -> tuple[Encoder, NameIndex]:
    from imapeval.graph.index.names import NameIndex

    opened = open_encoder(encoder)
    return opened, NameIndex.open_or_build(graph, opened, progress=progress)


def open_matcher(
    graph: Graph,
    *,
    encoder: str = "use",
    llm: Model | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Matcher:
    """Return what judges values: by text, by the graph, and by the encoder for the soft credit.

    Args:
        graph: Decides relations.
        llm: A language model, which is asked about the pairs that the graph leaves open.
        encoder: "use", or "st:" and a sentence-transformers model.
        progress: Called while the index of another graph or encoder is built, which happens once.

    Raises:
        UsageError: No such encoder.
        MissingExtraError: "st:" without sentence-transformers installed.
        ResourceError: The index is damaged.
    """
    from imapeval.matching.hybrid import HybridMatcher

    opened, index = _open_index(graph, encoder, progress)
    matcher = HybridMatcher(graph=graph, encoder=opened, index=index)
    if llm is None:
        return matcher
    from imapeval.matching.llm import LLMMatcher

    return LLMMatcher(matcher, llm)
