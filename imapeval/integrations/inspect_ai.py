"""imapScore as a scorer of Inspect AI, and runs as files for its `precomputed_scores`.

    from imapeval.integrations.inspect_ai import imapscore

    Task(dataset=..., solver=generate(), scorer=imapscore())

Inspect finds it by the name `imapeval/imapscore` as well: `inspect score LOG --scorer imapeval/imapscore`. The other
way round, `imapeval score LOG.eval` reads a log's answers (`imapeval.evaluation.samples.inspect_log`).
"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from imapeval._optional import require
from imapeval.errors import InputError, UsageError
from imapeval.evaluation.runs import Run, group_by_id
from imapeval.evaluation.samples.inspect_log import is_unanswered, read_question, read_references
from imapeval.evaluation.samples.rows import read_lang
from imapeval.files import replace_file
from imapeval.integrations.adapter import choose_scorer, explain
from imapeval.report.thresholds import judge_answer, make_threshold
from imapeval.scoring import Assessment
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from imapeval.metrics.base import Metric
    from imapeval.report.thresholds import Threshold
    from imapeval.scoring import Scorer
    from imapeval.types import Sample

_inspect: Any = require(
    "inspect_ai.scorer", distribution="inspect-ai", extra="inspect", needed_for="A scorer of Inspect"
)

_SHOWN_PARTS = {"imapscore": ("recall", "precision", "specificity", "f1")}
"""Parts shown with the score of a metric that is the only one. Inspect requires the same keys for every answer, but the
parts of other metrics differ between answers."""

_NOT_SCORED = float("nan")
"""How Inspect marks an unscored value: its metrics and reducers leave it out and count it as unscored."""


@_inspect.scorer(metrics={"*": [_inspect.mean(), _inspect.stderr()]})  # pyright: ignore[reportUntypedFunctionDecorator]
def imapscore(
    metrics: str | Sequence[str | Metric] | None = None,
    *,
    threshold: float | None = None,
    scorer: Scorer | None = None,
    **options: Any,
) -> Callable[..., Awaitable[Any]]:
    """Score by imapScore, or by any metrics of imapeval.

    The question is the sample's input, as a dialogue where it is a list of messages; the references are its targets,
    the response is the model's last output; `lang` in its metadata may be "en", "zh", "fr" or "other". A score's value
    has a number for each metric and, if `imapscore` is the only one, its recall, precision, specificity and F1; the
    explanation has the match table, the metadata all parts, signatures and imaps. An answer without a score is
    `Score.unscored`; if only some metrics have no score, these are NaN.

    With a threshold, the value also has `passed` and `too_close`, 1 or 0, whose means are shares of answers; the
    explanation ends with the verdict, and the metadata have it with its interval.

    Args:
        metrics: See `imapeval.Scorer`.
        threshold: What the score of the first metric has to reach or, if lower is better, must not exceed.
        scorer: A scorer that is already open, in place of `metrics` and options. The log does not record its options.
        **options: Options of `imapeval.Scorer`: `llm`, `base_url`, `votes` and so on.

    Raises:
        UsageError: A metric, model or file does not exist, or an option is invalid.
    """
    opened = choose_scorer(scorer, {"metrics": metrics, **options})
    limit = make_threshold(opened.metrics[0], threshold)

    async def score(state: Any, target: Any) -> Any:
        """Score the answer. An `ImapEvalError` affects all answers alike and is passed on to Inspect."""
        response = None if is_unanswered(state.output) else state.output.completion
        given = {
            **read_question(state.input),
            "reference": read_references(target),
            "response": response,
            "lang": read_lang(state.metadata),
            "id": str(state.sample_id),
        }
        return _to_inspect_score(await _ascore(opened, given), answer=response, limit=limit)

    return score


def write_precomputed(run_folder: str | Path, path: str | Path, *, metric: str = "imapscore") -> int:
    """Write a run's scores for Inspect's `precomputed_scores(path)`, one line for each answer.

    An answer that is not scored has the value NaN and its reason, and Inspect shows it as unscored.

    Args:
        run_folder: The folder that `imapeval score --out` wrote. If the data has the columns `sample_id` and `epoch`,
            as data from a log has, they identify the answer; otherwise the id does, for all epochs.
        path: The file, `.jsonl`.
        metric: The metric whose scores are written.

    Returns:
        The number of lines.

    Raises:
        UsageError: The run has no such metric, or the file is no `.jsonl`.
        InputError: There is no run in the folder, or the file cannot be written.
    """
    run, path = Run(Path(run_folder)), Path(path)
    names = list(run.manifest["settings"]["metrics"])
    if metric not in names:
        raise UsageError(f"the run {run_folder} has no metric {metric!r}. It has {', '.join(names)}.")
    if path.suffix.lower() != ".jsonl":
        raise UsageError(f"Inspect would not read {path.name!r} line by line. Call the file {path.stem}.jsonl.")
    results = {result.id: result for result in run.results() if result.metric == metric}
    facts = group_by_id(run.imaps())
    lines: list[str] = []
    for sample in run.samples():
        if (result := results.get(sample.id)) is not None:
            found = Assessment(
                id=sample.id,
                sample=sample,
                outcomes={metric: result.outcome},
                signatures={metric: result.signature},
                records=tuple(facts.get(sample.id, ())),
            )
            record = {**_log_place(sample), "answer": sample.response, **_precomputed_fields(found)}
            lines.append(json.dumps(record))
    try:
        replace_file(path, "".join(f"{line}\n" for line in lines).encode())
    except OSError as error:
        raise InputError(f"cannot be written ({error})", path=path, fix="Name another file.") from error
    return len(lines)


async def _ascore(scorer: Scorer, given: dict[str, Any]) -> Assessment:
    try:
        asyncio.get_running_loop()
    except RuntimeError:  # Inspect runs on trio where INSPECT_ASYNC_BACKEND says so.
        return await to_thread.run_sync(partial(scorer.score, **given), abandon_on_cancel=True)
    return await scorer.ascore(**given)


def _to_inspect_score(found: Assessment, *, answer: str | None, limit: Threshold | None) -> Any:
    record, verdict = found.to_dict(), judge_answer(found.outcomes, limit)
    record["verdict"] = None if verdict is None else verdict.to_dict()
    metadata = {name: record[name] for name in ("metrics", "imaps", "usage", "verdict") if record[name] is not None}
    failures = [outcome for outcome in found.outcomes.values() if isinstance(outcome, Failure)]
    shared = {
        "answer": answer,
        "explanation": _write_explanation(found, limit),
        "reason": failures[0].kind if failures else None,
        "metadata": metadata,
    }
    if len(failures) == len(found.outcomes):
        return _inspect.Score.unscored(**shared)
    value = {name: o.value if isinstance(o, Score) else _NOT_SCORED for name, o in found.outcomes.items()}
    if len(value) == 1:
        value |= {part: found.parts[part] for part in _SHOWN_PARTS.get(found.metric, ())}
    if limit is not None:
        value |= dict.fromkeys(("passed", "too_close"), _NOT_SCORED) if verdict is None else verdict.counts
    return _inspect.Score(value=value, **shared)


def _write_explanation(found: Assessment, limit: Threshold | None = None) -> str:
    _, *others = found.outcomes
    said = [explain(found, limit)]
    for name in others:
        outcome = found.outcomes[name]
        failed = isinstance(outcome, Failure)
        said.append(f"{name} not scored: {outcome.message}" if failed else f"{name} {outcome.value:.3f}.")
    return "\n\n".join([*said, found.table]).rstrip()


def _precomputed_fields(found: Assessment) -> dict[str, Any]:
    failure, record = found.failure, found.to_dict()
    return {
        "value": _NOT_SCORED if found.value is None else found.value,
        "explanation": _write_explanation(found),
        # A record has no reason; this is where Inspect reads one from.
        "metadata": record["metrics"][found.metric] | ({"unscored_reason": failure.kind} if failure else {}),
    }


def _log_place(sample: Sample) -> dict[str, Any]:
    if {"sample_id", "epoch"} <= sample.meta.keys():
        return {"id": sample.meta["sample_id"], "epoch": sample.meta["epoch"]}
    return {"id": sample.id}
