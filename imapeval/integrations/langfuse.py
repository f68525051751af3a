"""imapScore as an evaluator of Langfuse's experiments: `run_experiment(..., evaluators=[create_..._evaluator()])`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imapeval._optional import require
from imapeval.integrations.adapter import (
    FieldKeys,
    check_single_metric,
    choose_scorer,
    describe_score,
    split_by_metric,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from imapeval.scoring import Assessment, Scorer

_langfuse: Any = require(
    "langfuse", distribution="langfuse", extra="langfuse", needed_for="imapScore as a Langfuse evaluator"
)

NOT_SCORED = "not scored"
"""Value of an answer without a score. Langfuse takes no empty value, and leaves texts out of its means."""


def create_imapscore_evaluator(
    *,
    scorer: Scorer | None = None,
    name: str | None = None,
    question_key: str | None = None,
    response_key: str | None = None,
    reference_key: str | None = None,
    **options: Any,
) -> Callable[..., list[Any]]:
    """Return an evaluator `f(*, input, output, expected_output, metadata) -> list[Evaluation]`, one for each metric.

    Experiments call evaluators on their event loop, one at a time: there `create_async_imapscore_evaluator` is quicker
    where a language model is asked.

    Args:
        scorer: One that is open already, in place of `options`.
        name: What the metric is called, where that is not its own name.
        question_key: Where the question is in dicts of one's own.
        response_key: Where the response is.
        reference_key: Where the reference is, or a list of several.
        **options: Of `imapeval.Scorer`.

    Raises:
        UsageError: See `imapeval.Scorer`; or there is a scorer beside options, or one name for several metrics.
    """
    chosen = choose_scorer(scorer, options)
    check_single_metric(name, chosen)
    keys = FieldKeys(question=question_key, response=response_key, reference=reference_key)

    def imapscore(*, input: Any = None, output: Any = None, expected_output: Any = None, **_: Any) -> list[Any]:  # noqa: A002
        assessment = chosen.score(**keys.read(question=input, response=output, reference=expected_output))
        return [_to_evaluation(name, part) for part in split_by_metric(assessment, chosen)]

    return imapscore


def create_async_imapscore_evaluator(
    *,
    scorer: Scorer | None = None,
    name: str | None = None,
    question_key: str | None = None,
    response_key: str | None = None,
    reference_key: str | None = None,
    **options: Any,
) -> Callable[..., Coroutine[Any, Any, list[Any]]]:
    """Return an evaluator to be awaited, many at a time; see `create_imapscore_evaluator`."""
    chosen = choose_scorer(scorer, options)
    check_single_metric(name, chosen)
    keys = FieldKeys(question=question_key, response=response_key, reference=reference_key)

    async def imapscore(*, input: Any = None, output: Any = None, expected_output: Any = None, **_: Any) -> list[Any]:  # noqa: A002
        assessment = await chosen.ascore(**keys.read(question=input, response=output, reference=expected_output))
        return [_to_evaluation(name, part) for part in split_by_metric(assessment, chosen)]

    return imapscore


def _to_evaluation(name: str | None, assessment: Assessment) -> Any:
    scored = assessment.value is not None
    return _langfuse.Evaluation(
        name=name or assessment.metric,
        value=assessment.value if scored else NOT_SCORED,
        data_type="NUMERIC" if scored else "CATEGORICAL",
        comment=assessment.reason,
        metadata=describe_score(assessment),
    )
