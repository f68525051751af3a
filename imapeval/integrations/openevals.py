"""imapScore as an evaluator of openevals, and so of LangSmith: `create_imapscore_evaluator()`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imapeval._optional import require
from imapeval.integrations.adapter import HostScorer, describe_score, explain

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from imapeval.scoring import Assessment

_runner: Any = require(
    "openevals.utils", distribution="openevals", extra="openevals", needed_for="imapScore as an openevals evaluator"
)

_RUN_NAME = "imapscore"
"""The name of the run in a trace."""


def create_imapscore_evaluator(*, feedback_key: str | None = None, **options: Any) -> Callable[..., Any]:
    """Return an evaluator `f(*, inputs, outputs, reference_outputs) -> EvaluatorResult`.

    The score of an answer that cannot be scored is None, and the comment gives the reason. Several metrics return a
    list.

    Args:
        feedback_key: Another name for the metric; `name` means the same.
        **options: `scorer`, a `Scorer` that is already open, or options of `imapeval.Scorer`; `threshold`, what the
            first metric's score has to reach or, if lower is better, must not exceed: the score stays a number, the
            comment ends with the verdict, and the metadata have it as `verdict`; `question_key`, `response_key` and
            `reference_key`, the keys of the texts in your own dicts.

    Raises:
        UsageError: See `imapeval.Scorer`; or a scorer and options are both given, or one name for several metrics.
    """
    options.setdefault("name", feedback_key)
    host = HostScorer(**options)

    def score(*, inputs: Any, outputs: Any, reference_outputs: Any) -> Any:
        return _to_result(host, host.score(question=inputs, response=outputs, reference=reference_outputs))

    # LangSmith reads this name from the source code, for its message when an evaluator fails.
    def imapscore(*, inputs: Any = None, outputs: Any = None, reference_outputs: Any = None, **_: Any) -> Any:
        texts = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs}
        return _runner._run_evaluator(run_name=_RUN_NAME, scorer=score, feedback_key=host.name, **texts)

    return imapscore


def create_async_imapscore_evaluator(
    *, feedback_key: str | None = None, **options: Any
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return an async evaluator; see `create_imapscore_evaluator`."""
    options.setdefault("name", feedback_key)
    host = HostScorer(**options)

    async def score(*, inputs: Any, outputs: Any, reference_outputs: Any) -> Any:
        return _to_result(host, await host.ascore(question=inputs, response=outputs, reference=reference_outputs))

    async def imapscore(*, inputs: Any = None, outputs: Any = None, reference_outputs: Any = None, **_: Any) -> Any:
        texts = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs}
        return await _runner._arun_evaluator(run_name=_RUN_NAME, scorer=score, feedback_key=host.name, **texts)

    return imapscore


def _to_result(host: HostScorer, assessments: Sequence[Assessment]) -> Any:
    """Return what openevals turns into results: a tuple for one metric, a dict for several."""
    limit = host.threshold
    results = {item.metric: (item.value, explain(item, limit), describe_score(item, limit)) for item in assessments}
    if len(results) == 1:
        return results[assessments[0].metric]
    return {
        name: {"score": score, "reasoning": reason, "metadata": metadata}
        for name, (score, reason, metadata) in results.items()
    }
