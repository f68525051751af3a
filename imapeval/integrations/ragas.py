"""imapScore in RAGAS 0.4: one metric, for experiments (`score`, `ascore`) and for `evaluate()`.

from imapeval.integrations.ragas import RagasImapScore

metric = RagasImapScore()
result = await metric.ascore(user_input="...", response="...", reference="...")
print(result.value, result.reason)
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING, Any, cast

from imapeval._optional import require
from imapeval.errors import SampleError
from imapeval.integrations.adapter import choose_scorer, explain
from imapeval.report.thresholds import judge_answer, make_threshold
from imapeval.types import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.metrics.base import Metric
    from imapeval.scoring import Assessment, Scorer

_NEEDED_FOR = "imapScore in RAGAS"
_base: Any = require("ragas.metrics.base", distribution="ragas", extra="ragas", needed_for=_NEEDED_FOR)
_result: Any = require("ragas.metrics.result", distribution="ragas", extra="ragas", needed_for=_NEEDED_FOR)


class RagasImapScore(_base.SimpleBaseMetric, _base.SingleTurnMetric, _base.MultiTurnMetric):
    """A metric of RAGAS: scores the columns `user_input`, `response` and `reference`.

    `user_input` is the question, or the messages of a dialogue, the last of which is the response if there is no column
    `response`. `reference` may be a list. Other columns are ignored, so that a row can be passed unchanged:
    `metric.ascore(**row)`.

    An answer that cannot be scored has the value None in experiments and NaN in `evaluate()`, which leaves it out of
    the mean; the reason is in `MetricResult.reason`, or in the log of `evaluate()`.

    Args:
        metrics: Names separated by commas, or a list of names and `Metric` objects; the value is that of the first one,
            the others are in `traces["output"]`.
        name: Name of the column; by default that of the first metric.
        threshold: What the first metric's score has to reach or, if lower is better, must not exceed. The reason ends
            with the verdict, which is also in `traces["output"]["verdict"]`; `evaluate()` accepts only a number and
            shows no verdict.
        scorer: A scorer that is already open, in place of options.
        **options: Options of `imapeval.Scorer`, such as `llm` and `base_url`.

    Raises:
        UsageError: A metric, model or file does not exist, or an option is invalid.
    """

    def __init__(
        self,
        metrics: str | Sequence[str | Metric] | None = None,
        *,
        name: str | None = None,
        threshold: float | None = None,
        scorer: Scorer | None = None,
        **options: Any,
    ) -> None:
        self.scorer = choose_scorer(scorer, {"metrics": metrics, **options})
        first = self.scorer.metrics[0]
        low, high = first.range
        self._limit = make_threshold(first, threshold)
        self.name = name or first.name
        self.allowed_values = (-inf if low is None else low, inf if high is None else high)
        # All are optional, so that a row that lacks one gets a reason instead of a score, and other rows are scored.
        self.required_columns = {
            _base.MetricType.SINGLE_TURN: {"user_input:optional", "response:optional", "reference:optional"},
            _base.MetricType.MULTI_TURN: {"user_input:optional", "reference:optional"},
        }

    def init(self, run_config: Any) -> None:
        """Do nothing: RAGAS sets retries and time limits here, which apply to its own models only."""

    def score(self, **columns: Any) -> Any:
        """Score one row.

        Args:
            **columns: `user_input`, `response`, `reference`, and `lang` ("en", "zh", "fr" or "other") to override
                detection.

        Returns:
            A `MetricResult`. Its value is None if the row cannot be scored.

        Raises:
            ImapEvalError: Something affects all rows alike, such as a server that is down.
        """
        return self._to_result(columns, self.scorer.score(**_to_arguments(columns)))

    async def ascore(self, **columns: Any) -> Any:
        """Score one row; see `score`."""
        return self._to_result(columns, await self.scorer.ascore(**_to_arguments(columns)))

    def batch_score(self, inputs: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Score many rows at once; see `score`."""
        found = self.scorer.score_all([_to_arguments(columns) for columns in inputs])
        return [self._to_result(columns, assessment) for columns, assessment in zip(inputs, found, strict=True)]

    async def abatch_score(self, inputs: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Score many rows at once; see `score`."""
        found = await self.scorer.ascore_all([_to_arguments(columns) for columns in inputs])
        return [self._to_result(columns, assessment) for columns, assessment in zip(inputs, found, strict=True)]

    def _to_result(self, columns: Mapping[str, Any], assessment: Assessment) -> Any:
        output = {**assessment.to_dict(), "table": assessment.table}
        if (verdict := judge_answer(assessment.outcomes, self._limit)) is not None:
            output["verdict"] = verdict.to_dict()
        return _result.MetricResult(
            value=assessment.value,
            reason=explain(assessment, self._limit),
            traces={"input": dict(columns), "output": output},
        )

    async def _single_turn_ascore(self, sample: Any, callbacks: Any) -> float:
        return await self._score_sample(sample)

    async def _multi_turn_ascore(self, sample: Any, callbacks: Any) -> float:
        return await self._score_sample(sample)

    async def _score_sample(self, sample: Any) -> float:
        assessment = await self.scorer.ascore(**_to_arguments(sample.model_dump()))
        outcome = assessment.outcomes[assessment.metric]
        if isinstance(outcome, Failure):
            # `evaluate()` writes the reason to its log and NaN in place of the number, as for its own metrics.
            raise SampleError(assessment.reason, kind=outcome.kind)
        return outcome.value


def _to_arguments(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Scorer.score`, which are an item of `Scorer.score_all` as well."""
    asked = columns.get("user_input")
    asks = {"question": asked} if asked is None or isinstance(asked, str) else {"turns": _read_turns(asked)}
    return {**asks, **{name: columns.get(name) for name in ("response", "reference", "lang")}}


def _read_turns(messages: Any) -> Any:
    """Return the turns of a dialogue, without messages to and from tools."""
    if not isinstance(messages, Iterable):
        return messages
    turns: list[Any] = []
    for message in cast("Iterable[Any]", messages):
        # In a dataset loaded from a file, messages are dictionaries.
        fields: Any = getattr(message, "__dict__", message)
        if not hasattr(fields, "get"):
            turns.append(message)
            continue
        role = fields.get("role") or fields.get("type")
        if role != "tool" and not (fields.get("tool_calls") and not fields.get("content")):
            turns.append({"role": "assistant" if role == "ai" else role, "content": fields.get("content")})
    return turns
