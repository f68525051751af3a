"""Opens and assembles the parts of an evaluation: graph, language model, extractor, matcher and metrics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from imapeval._resources import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
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
    from imapeval.metrics.base import Device, Metric


def open_graph(path: Path | None = None) -> Graph:
    """Open a compiled graph, the shipped one by default.

    Raises:
        ResourceError: It is missing or damaged.
    """
    from imapeval.graph.store.graph import Graph

    return Graph.open(path)


def completions_path() -> Path:
    """Return the path of the cache of completions, which may not exist yet."""
    return cache_folder() / "completions.sqlite"


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """The language model that reads, relates and judges, and how it is used.

    Attributes:
        spec: "PROVIDER:NAME", such as "openai:gpt-4.1-mini".
        base_url: Address of an OpenAI-compatible server.
        votes: Number of readings of each text; the scores of the readings are averaged.
        concurrency: Maximum number of concurrent requests; None for the provider's default.
        rpm, tpm: Maximum requests and tokens per minute; None for no limit.
        price: Price of its tokens as given by the user; None for the known price, if any.
        max_cost: Maximum cost in USD; None for no limit.
        batch: A folder of batches whose results are used in place of live requests; None for live requests.
        relations: Whether the model also decides relations between facts, and may overrule wording and graph.
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
    """Return the ledger that counts the cost of the model and enforces the limit.

    Raises:
        UsageError: There is a limit, but the price is unknown.
    """
    from imapeval.llm.middleware.budget import Ledger
    from imapeval.llm.prices import find_price

    price = settings.price or find_price(settings.spec, base_url=settings.base_url)
    return Ledger(price=price, max_cost=settings.max_cost)


def open_llm(settings: LlmSettings, *, ledger: Ledger | None = None) -> Model:
    """Return the model with its middleware: limits, retries and the cache of completions.

    Args:
        settings: The model and how it is used.
        ledger: Counts its calls.

    Raises:
        UsageError: The name, address or key of the model is invalid.
    """
    from imapeval.llm.registry import open_model

    if settings.batch is not None:
        from imapeval.llm.batch import BatchFolder
        from imapeval.llm.middleware.budget import CountingModel

        with BatchFolder(settings.batch) as folder:
            dry_run = open_dry_run_model(settings, reply=folder.failure_lookup())
            folder.require_model(dry_run.identity)
        return dry_run if ledger is None else CountingModel(dry_run, ledger)
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
    """Return the cached completions of a model, over a model that answers nothing else."""
    from imapeval.llm.dry_run import DryRunModel, pending_error
    from imapeval.llm.middleware.cache import CachedModel

    return CachedModel(DryRunModel(identity, find_completion=lambda _: None, reply=pending_error), completions_path())


def open_dry_run_model(settings: LlmSettings, *, reply: Callable[[Request], Completion | ProviderError]) -> DryRunModel:
    """Return a stand-in for the model that sends and writes nothing: it answers from the cache, else by `reply`.

    Raises:
        UsageError: The name or address of the model is invalid.
    """
    from imapeval.llm.dry_run import DryRunModel
    from imapeval.llm.registry import model_identity

    identity = model_identity(settings.spec, base_url=settings.base_url)
    completions = open_cached_completions(identity)
    # Opening the cache would create the file.
    cached = completions_path().exists()
    return DryRunModel(
        identity, find_completion=lambda request: completions.get(request) if cached else None, reply=reply
    )


def open_extractor(graph: Graph, *, imaps: Path | None = None, llm: Model | None = None, votes: int = 1) -> Extractor:
    """Return the extractor: recorded imaps from a file, a language model, or the offline lexicon.

    Args:
        graph: The graph whose names the lexicon uses.
        imaps: A file of recorded imaps.
        llm: A language model.
        votes: Number of readings of each text by the model.

    Raises:
        InputError: The file of imaps is invalid.
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

        # Different seeds make the readings different requests, each of which is cached and paid for once.
        seeds = range(1, votes + 1)
        return RepeatedExtractor(
            [TwoStepExtractor(LLMReader(llm, temperature=TEMPERATURE, seed=seed)) for seed in seeds]
        )
    from imapeval.extraction.lexicon.reader import LexiconReader
    from imapeval.fact_model import open_fact_model

    return TwoStepExtractor(LexiconReader(graph, open_fact_model()))


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The assembled parts of an evaluation.

    Attributes:
        metrics: The metrics with their models.
        extractor, matcher: None if no metric needs imaps.
        resources: Hashes of the resources used, for the settings of the run.
    """

    metrics: Sequence[Metric]
    extractor: Extractor | None = None
    matcher: Matcher | None = None
    resources: Mapping[str, str] = field(default_factory=dict[str, str])


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
    """Open what the metrics need; metrics on plain texts need nothing.

    Args:
        metrics: The chosen metrics.
        llm: A language model, for metrics that need one and, without `imaps`, for extraction.
        votes: Number of readings of each text by the model, and the minimum number of completions of each judge.
        relations: Whether the model also decides relations between facts, and may overrule wording and graph.
        imaps: A file of recorded imaps.
        kg: A compiled graph in place of the shipped one.
        encoder: "use", or "st:" and a sentence-transformers model.
        device: Where metrics put their models.
        progress: Called while an index for another graph or encoder is built, which happens once.

    Raises:
        ImapEvalError: Something that is needed is missing or invalid.
    """
    from imapeval.graph.encoder import open_encoder
    from imapeval.metrics.base import MetricResources

    # Once for metrics and matcher: a model takes time to load, and memory.
    opened = open_encoder(encoder) if any(metric.requires & {"encoder", "imap"} for metric in metrics) else None
    resources = MetricResources(llm=llm, encoder=opened, device=device, votes=votes)
    ready = [metric.prepare(resources) for metric in metrics]
    if not any("imap" in metric.requires for metric in metrics):
        return Pipeline(ready)
    graph = open_graph(kg)
    extractor = open_extractor(graph, imaps=imaps, llm=llm, votes=votes)
    matcher = open_matcher(graph, encoder=opened or encoder, llm=llm if relations else None, progress=progress)
    return Pipeline(ready, extractor, matcher, {"graph": graph.hash})


def open_linker(graph: Graph, *, encoder: str = "use", progress: Callable[[int, int], None] | None = None) -> Linker:
    """Return the linker, which links values to concepts of a graph.

    Args:
        graph: The graph.
        encoder: "use", or "st:" and a sentence-transformers model.
        progress: Called while an index for another graph or encoder is built, which happens once.

    Raises:
        UsageError: There is no such encoder.
        MissingExtraError: "st:" without sentence-transformers installed.
        ResourceError: The index is damaged.
    """
    from imapeval.graph.linking.linker import Linker

    return Linker(graph, *_open_index(graph, encoder, progress))


def _open_index(
    graph: Graph, encoder: str | Encoder, progress: Callable[[int, int], None] | None
) -> tuple[Encoder, NameIndex]:
    from imapeval.graph.encoder import open_encoder
    from imapeval.graph.index.names import NameIndex

    opened = open_encoder(encoder) if isinstance(encoder, str) else encoder
    return opened, NameIndex.open_or_build(graph, opened, progress=progress)


def open_matcher(
    graph: Graph,
    *,
    encoder: str | Encoder = "use",
    llm: Model | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Matcher:
    """Return the matcher, which relates values by wording and graph, and compares them by the encoder for soft credit.

    Args:
        graph: The graph.
        encoder: "use", "st:" and a sentence-transformers model, or an encoder that is already open.
        llm: A language model that relates all pairs but those of the same wording, and overrules the graph; None to
            do without.
        progress: Called while an index for another graph or encoder is built, which happens once.

    Raises:
        UsageError: There is no such encoder.
        MissingExtraError: "st:" without sentence-transformers installed.
        ResourceError: The index is damaged.
    """
    from imapeval.matching.hybrid import HybridMatcher

    opened, index = _open_index(graph, encoder, progress)
    if llm is None:
        from imapeval.fact_model import open_fact_model

        return HybridMatcher(graph, opened, index, open_fact_model())
    from imapeval.matching.llm import LLMMatcher

    return LLMMatcher(HybridMatcher(graph, opened, index), llm)
