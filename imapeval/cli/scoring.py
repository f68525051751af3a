"""Scoring in this process or in several, until it is done or interrupted."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.interrupt import run_until_interrupted
from imapeval.cli.options import choose_one

if TYPE_CHECKING:
    from imapeval.evaluation.combine import References
    from imapeval.evaluation.pipeline import Pipeline
    from imapeval.evaluation.stores import ResultStore
    from imapeval.evaluation.workers import WorkerPool
    from imapeval.llm.protocol import Model
    from imapeval.types import Sample

WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Work in N processes, which share the graph in memory; each loads the models.  "
        "[default: 1; with --engine ray, the processors of the cluster]",
    ),
]
EngineOption = Annotated[
    str | None,
    typer.Option(metavar="ray[:ADDRESS]", help="Let Ray run the processes, on this computer or on a cluster."),
]


def open_workers(engine: str | None, workers: int | None, *, gpu: bool = False) -> "WorkerPool | None":
    """Return where workers are started; None for none.

    Raises:
        UsageError: There is no such engine, or the cluster is too small.
        ServiceError: There is no cluster at the address.
        MissingExtraError: Ray is not installed.
    """
    from imapeval.evaluation.ray_workers import RayPool
    from imapeval.evaluation.workers import ProcessPool

    if engine is None:
        return None if workers in (None, 1) else ProcessPool(workers)
    name, _, address = engine.partition(":")
    choose_one(name, "--engine", ("ray",))
    return RayPool(address=address or None, size=workers, gpu=gpu)


def score_until_interrupted(
    samples: "Sequence[Sample]",
    *,
    pool: "WorkerPool | None",
    open_parts: "Callable[..., Pipeline]",
    parts: "Pipeline",
    llm: "Model | None",
    references: "References" = "mean",
    run: "ResultStore",
    progress: Callable[[int], None],
) -> None:
    """Score samples; see `imapeval.evaluation.workers.evaluate_in_workers`, and without `pool` in this process.

    Raises:
        Interrupted: As `run_until_interrupted`.
    """
    from imapeval.evaluation.evaluate import evaluate_to_store
    from imapeval.evaluation.workers import evaluate_in_workers

    if pool is None:
        work = partial(evaluate_to_store, samples, parts)
    else:
        work = partial(evaluate_in_workers, samples, workers=pool, open_parts=open_parts, parts=parts, llm=llm)
    run_until_interrupted(
        lambda stop: work(references=references, run=run, progress=progress, stop=stop),
        llm=llm,
    )
