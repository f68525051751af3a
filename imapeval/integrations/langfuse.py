"""imapScore as an evaluator of Langfuse's experiments: `run_experiment(..., evaluators=[create_..._evaluator()])`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imapeval._optional import require
from imapeval.integrations.adapter import HostScorer, describe_score, explain
from imapeval.report.thresholds import judge_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from imapeval.report.thresholds import Threshold
    from imapeval.scoring import Assessment

_langfuse: Any = require(
    "langfuse", distribution="langfuse", extra="langfuse", needed_for="imapScore as a Langfuse evaluator"
)

NOT_SCORED = "not scored"
"""The value of an answer without a score. Langfuse requires a value, and leaves texts out of its means."""


def create_imapscore_evaluator(**options: Any) -> Callable[..., list[Any]]:
    """Return an evaluator `f(*, input, output, expected_output, metadata) -> list[Evaluation]`, one per metric.

    Experiments call evaluators on their event loop, one at a time; `create_async_imapscore_evaluator` is faster there
    if a language model is used.

    Args:
        **options: `scorer`, a `Scorer` that is already open, or options of `imapeval.Scorer`; `threshold`, what the
            first metric's score has to reach or, if lower is better, must not exceed: a categorical evaluation
            NAME_verdict then says "pass", "fail" or "too close to call"; `name`, another name for the metric;
            `question_key`, `response_key` and `reference_key`, the keys of the texts in your own dicts.

    Raises:
        UsageError: See `imapeval.Scorer`; or a scorer and options are both given, or one name for several metrics.
    """
    host = HostScorer(**options)

    def imapscore(*, input: Any = None, output: Any = None, expected_output: Any = None, **_: Any) -> list[Any]:  # noqa: A002
        return _to_evaluations(host, host.score(question=input, response=output, reference=expected_output))

    return imapscore


def create_async_imapscore_evaluator(**options: Any) -> Callable[..., Coroutine[Any, Any, list[Any]]]:
    """Return an async evaluator, which can score many answers at a time; see `create_imapscore_evaluator`."""
    host = HostScorer(**options)

    async def imapscore(*, input: Any = None, output: Any = None, expected_output: Any = None, **_: Any) -> list[Any]:  # noqa: A002
        return _to_evaluations(host, await host.ascore(question=input, response=output, reference=expected_output))

    return imapscore


def _to_evaluations(host: HostScorer, assessments: Sequence[Assessment]) -> list[Any]:
    names = [host.name, *(assessment.metric for assessment in assessments[1:])]
    found = [_to_evaluation(*item, host.threshold) for item in zip(names, assessments, strict=True)]
    if (verdict := judge_answer(assessments[0].outcomes, host.threshold)) is not None:
        found.append(
            _langfuse.Evaluation(
                name=f"{host.name}_verdict",
                value=verdict.word,
                data_type="CATEGORICAL",
                comment=str(verdict),
                metadata=verdict.to_dict(),
            )
        )
    return found


def _to_evaluation(name: str, assessment: Assessment, limit: Threshold | None) -> Any:
    scored = assessment.value is not None
    return _langfuse.Evaluation(
        name=name,
        value=assessment.value if scored else NOT_SCORED,
        data_type="NUMERIC" if scored else "CATEGORICAL",
        comment=explain(assessment, limit),
        metadata=describe_score(assessment, limit),
    )
