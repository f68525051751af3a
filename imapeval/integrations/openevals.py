"""imapScore as an evaluator of openevals, and with that of LangSmith: `create_imapscore_evaluator()`."""

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

_runner: Any = require(
    "openevals.utils", distribution="openevals", extra="openevals", needed_for="imapScore as an openevals evaluator"
)

_RUN_NAME = "imapscore"
"""What a trace calls it."""


def create_imapscore_evaluator(
    *,
    scorer: Scorer | None = None,
    feedback_key: str | None = None,
    question_key: str | None = None,
    response_key: str | None = None,
    reference_key: str | None = None,
    **options: Any,
) -> Callable[..., Any]:
    """Return an evaluator `f(*, inputs, outputs, reference_outputs) -> EvaluatorResult`.

    Of an answer that is not scored, the score is None and the comment says why. Several metrics give a list.

    Args:
        scorer: One that is open already, in place of `options`.
        feedback_key: What the metric is called, where that is not its own name.
        question_key: Where the question is in dicts of one's own.
        response_key: Where the response is.
        reference_key: Where the reference is, or a list of several.
        **options: Of `imapeval.Scorer`.

    Raises:
        UsageError: See `imapeval.Scorer`; or there is a scorer beside options, or one name for several metrics.
    """
    chosen = choose_scorer(scorer, options)
    check_single_metric(feedback_key, chosen)
    keys = FieldKeys(question=question_key, response=response_key, reference=reference_key)
    key = feedback_key or chosen.metrics[0].name

    # LangSmith reads this name out of the source, for what it says where an evaluator fails.
    def imapscore(*, inputs: Any = None, outputs: Any = None, reference_outputs: Any = None, **_: Any) -> Any:
        def score(*, inputs: Any, outputs: Any, reference_outputs: Any) -> Any:
            return _to_result(
                chosen.score(**keys.read(question=inputs, response=outputs, reference=reference_outputs)), chosen
            )

        return _runner._run_evaluator(
            run_name=_RUN_NAME,
            scorer=score,
            feedback_key=key,
            inputs=inputs,
            outputs=outputs,
            reference_outputs=reference_outputs,
        )

    return imapscore


def create_async_imapscore_evaluator(
    *,
    scorer: Scorer | None = None,
    feedback_key: str | None = None,
    question_key: str | None = None,
    response_key: str | None = None,
    reference_key: str | None = None,
    **options: Any,
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return an evaluator to be awaited; see `create_imapscore_evaluator`."""
    chosen = choose_scorer(scorer, options)
    check_single_metric(feedback_key, chosen)
    keys = FieldKeys(question=question_key, response=response_key, reference=reference_key)
    key = feedback_key or chosen.metrics[0].name

    async def imapscore(*, inputs: Any = None, outputs: Any = None, reference_outputs: Any = None, **_: Any) -> Any:
        async def score(*, inputs: Any, outputs: Any, reference_outputs: Any) -> Any:
            return _to_result(
                await chosen.ascore(**keys.read(question=inputs, response=outputs, reference=reference_outputs)), chosen
            )

        return await _runner._arun_evaluator(
            run_name=_RUN_NAME,
            scorer=score,
            feedback_key=key,
            inputs=inputs,
            outputs=outputs,
            reference_outputs=reference_outputs,
        )

    return imapscore


def _to_result(assessment: Assessment, scorer: Scorer) -> Any:
    """Return what openevals makes results of: a tuple for one metric, a dict for several."""
    told = {
        part.metric: (part.value, part.reason, describe_score(part)) for part in split_by_metric(assessment, scorer)
    }
    if len(told) == 1:
        return told[assessment.metric]
    return {
        name: {"score": score, "reasoning": reason, "metadata": facts} for name, (score, reason, facts) in told.items()
    }
