"""imapScore in the lm-evaluation-harness: the functions to which the task file in this folder refers.

`python -m imapeval.integrations.lm_eval` prints that file, to be put into a folder of `--include_path`. Its filter
`imapscore` receives all responses of a task at once, so that they are scored together; `process_results` returns the
numbers of each response, from which the harness's own `mean` computes means and standard errors. A response that cannot
be scored has no number and is left out of the means: `not_scored` counts it, and its logged sample gives the reason.

A custom aggregation would also receive all responses at once, but the harness computes standard errors for its own
aggregations only, and would log no numbers with the samples.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from imapeval._optional import require
from imapeval.errors import UsageError
from imapeval.integrations.adapter import RowColumns, shared_scorer
from imapeval.redaction import get_logger
from imapeval.report.thresholds import judge_answer, make_threshold
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from imapeval.report.thresholds import Threshold
    from imapeval.scoring import Assessment, Assessments

_NEEDED = {"distribution": "lm_eval", "extra": "lm-eval", "needed_for": "A task of the lm-evaluation-harness"}
_Filter: Any = require("lm_eval.api.filter", **_NEEDED).Filter
_register: Any = require("lm_eval.api.registry", **_NEEDED).register_filter

TEMPLATE = Path(__file__).with_name("imapeval_open_qa.yaml")
"""A task file to start from."""

_log = get_logger(__name__)


class BatchedResponse(str):
    """A response with a reference to all responses of the same task.

    It is a `str`, because the harness logs it, and is pickled as a plain `str` when it is sent to another process.
    """

    __slots__ = ("batch", "place")

    batch: ResponseBatch
    place: int

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


class ResponseBatch:
    """All responses of a task, scored together when the first score is asked for.

    With `--predict_only` no score is requested, so no language model is called.
    """

    def __init__(
        self, fields: Sequence[Mapping[str, Any]], options: Mapping[str, Any], threshold: float | None
    ) -> None:
        self._fields = fields
        self._options = options
        self._threshold = threshold
        self._assessed: Assessments | None = None
        self.limit: Threshold | None = None

    def __getitem__(self, place: int) -> Assessment:
        if self._assessed is None:
            scorer = shared_scorer(**self._options)
            self.limit = make_threshold(scorer.metrics[0], self._threshold)
            self._assessed = scorer.score_all(self._fields)
            _log_unscored(self._assessed)
        return self._assessed[place]


@_register("imapscore")
class ImapScoreFilter(_Filter):
    """The filter `imapscore`, which must be the last one of a task.

    Args:
        question_key: Column of the question; by default "question".
        reference_key: Column of one or several clinicians' answers; by default "reference" or "references".
        threshold: What the first metric's score has to reach or, if lower is better, must not exceed.
        **options: Options of `imapeval.Scorer`.
    """

    def __init__(
        self,
        question_key: str | None = None,
        reference_key: str | None = None,
        threshold: float | None = None,
        **options: Any,
    ) -> None:
        self._columns = RowColumns(question_key, reference_key)
        self._threshold = threshold
        self._options = options

    def apply(self, resps: Iterable[Any], docs: Sequence[Mapping[str, Any]]) -> list[BatchedResponse]:
        """Return the responses, each with a reference to the batch in which all are scored.

        Raises:
            UsageError: A document has several responses, or lacks a named column.
        """
        responses = list(resps)
        if any(isinstance(response, (list, tuple)) for response in responses):
            raise UsageError("a question has a list of responses. Put `- function: take_first` before `imapscore`.")
        # The harness writes this if a model returned no text at all. Its default "" could also be an (empty) answer.
        nothing = os.environ.get("LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER") or None
        fields = [
            self._columns.read(doc, None if response == nothing else response)
            for response, doc in zip(responses, docs, strict=True)
        ]
        batch = ResponseBatch(fields, self._options, self._threshold)
        answers = [BatchedResponse("" if response is None else response) for response in responses]
        for place, answer in enumerate(answers):
            answer.batch, answer.place = batch, place
        return answers


def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """Return the scores of one response by metric, imapScore's recall and precision, and why others are missing.

    Args:
        doc: The document; not used, because the filter has already read its columns.
        results: The response, as returned by the filter.

    Returns:
        A number for each metric that has a score; with a threshold `passed` and `too_close`, 1 or 0, whose means are
        shares of answers; and `not_scored`: why some metrics have no score, or None. Since that is not a number, the
        task must name `count` as its aggregation.

    Raises:
        UsageError: The filter `imapscore` is not the last of the task, or an option of it is invalid.
        ImapEvalError: Something affects all answers alike, such as a server that is down.
    """
    answer = results[0]
    if not isinstance(answer, BatchedResponse):
        raise UsageError("the task has no filter `imapscore`. Put `- function: imapscore` last in its filter_list.")
    assessment = answer.batch[answer.place]
    outcomes = assessment.outcomes.items()
    imapscore = assessment.outcomes.get("imapscore")
    parts: Mapping[str, float] = imapscore.parts if isinstance(imapscore, Score) else {}
    verdict = judge_answer(assessment.outcomes, answer.batch.limit)
    why = [f"{name}: {o.message} ({o.stage}/{o.kind})" for name, o in outcomes if isinstance(o, Failure)]
    return {
        **{name: outcome.value for name, outcome in outcomes if isinstance(outcome, Score)},
        **{f"imapscore_{part}": parts[part] for part in ("recall", "precision") if part in parts},
        **({} if verdict is None else verdict.counts),
        "not_scored": "; ".join(why) or None,
    }


def count(reasons: Sequence[str | None]) -> int:
    """Return how many responses some metric could not score: the aggregation of `not_scored`."""
    return sum(reason is not None for reason in reasons)


def _log_unscored(assessed: Assessments) -> None:
    """Log how many answers have no score and why, because the harness's table of means does not show it."""
    failures = [o for item in assessed for o in item.outcomes.values() if isinstance(o, Failure)]
    if failures:
        kinds = Counter(f"{failure.stage}/{failure.kind}" for failure in failures)
        counts = ", ".join(f"{kind} ({number})" for kind, number in kinds.most_common())
        _log.warning("%d of %d answers are not scored by all metrics: %s", len(assessed.failed), len(assessed), counts)
