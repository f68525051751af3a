"""imapScore in Hugging Face's `evaluate`: a metric with questions beside predictions and references.

    from imapeval.integrations.hf_evaluate import HfImapScore

    metric = HfImapScore()
    found = metric.compute(predictions=["..."], references=["..."], questions=["..."])
    print(found["imapscore"], found["scores"]["imapscore"], found["not_scored"])

`evaluate.load` takes this file too: `evaluate.load(hf_evaluate.__file__, metrics="imapscore,rouge1")`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING, Any, cast

from imapeval._optional import require
from imapeval.errors import UsageError
from imapeval.integrations.adapter import choose_scorer
from imapeval.report.thresholds import judge_answer, make_threshold
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.report.thresholds import Threshold
    from imapeval.scoring import Assessments, Scorer

_NEEDED_FOR = "imapScore in Hugging Face's evaluate"
# `evaluate.Metric` must not be a name of this module: `evaluate.load` takes the first metric class among its names.
_evaluate: Any = require("evaluate", distribution="evaluate", extra="evaluate", needed_for=_NEEDED_FOR)
_datasets: Any = require("datasets", distribution="datasets", extra="evaluate", needed_for=_NEEDED_FOR)

_DESCRIPTION = "How well medical answers agree with a clinician's, fact by fact, in English and Chinese."
_CITATION = "Wang, Zhao, Wu, Zheng: imapScore: Medical Fact Evaluation Made Easy. Findings of ACL 2024."
_INPUTS = """
Args:
    predictions: The answers. None where there is none, which is then not scored.
    references: The clinician's answer to each question, or a list of several, whose mean score counts.
    questions: What was asked.

Returns:
    For each metric, under its name, the mean over the answers that it scored; None where it scored none.
    scores: For each metric, the score of each answer; None where it has none.
    scored: For each metric, the number of answers in its mean.
    not_scored: What was not scored and why: index, metric, kind and reason.
    verdicts: With a threshold, "pass", "fail" or "too close to call" for each answer; None where it has no score.
"""


class HfImapScore(_evaluate.Metric):
    """A metric of `evaluate`, with the columns `predictions`, `references` and `questions`.

    Args:
        config_name: See `evaluate.Metric`.
        threshold: What the first metric's score has to reach or, if lower is better, must not exceed.
        scorer: A scorer that is already open, in place of options.
        **options: Options of `imapeval.Scorer`, such as `metrics` and `llm`, and of `evaluate.Metric`, such as
            `cache_dir`.

    Raises:
        UsageError: A metric, model or file does not exist, or an option is invalid.
    """

    def __init__(
        self,
        config_name: str | None = None,
        *,
        threshold: float | None = None,
        scorer: Scorer | None = None,
        **options: Any,
    ) -> None:
        theirs = inspect.signature(_evaluate.EvaluationModule.__init__).parameters
        ours = {name: value for name, value in options.items() if name not in theirs}
        self.scorer = choose_scorer(scorer, ours)
        self._limit = make_threshold(self.scorer.metrics[0], threshold)
        super().__init__(config_name, **{name: value for name, value in options.items() if name in theirs})  # pyright: ignore[reportUnknownMemberType]

    @property
    def name(self) -> str:
        """Name of the metric in the host, which would derive it from the name of this class."""
        return "imap_score"

    def _info(self) -> Any:
        # Not "string": that type refuses a first answer that is None, and may not hold 2 GB.
        text = _datasets.Value("large_string")
        return _evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=_datasets.Features(
                {"predictions": text, "references": _datasets.Sequence(text), "questions": text}
            ),
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None, **columns: Any) -> None:
        """Add answers: `predictions`, `references` and `questions`; see `compute`."""
        super().add_batch(**_clean_columns({"predictions": predictions, "references": references, **columns}))  # pyright: ignore[reportUnknownMemberType]

    def add(self, *, prediction: Any = None, reference: Any = None, **columns: Any) -> None:
        """Add one answer: `prediction`, `reference` and `questions`; see `compute`."""
        # The plural is taken too, as by `evaluate`, whose own examples have it.
        one = {"predictions": prediction, "references": reference, **columns}
        checked = _clean_columns({name: [value] for name, value in one.items()})
        super().add(**{name: value for name, (value,) in checked.items()})  # pyright: ignore[reportUnknownMemberType]

    def _compute(
        self,
        *,
        predictions: Sequence[str | None],
        references: Sequence[Any],
        questions: Sequence[str | None],
        **options: Any,
    ) -> dict[str, Any]:
        if options:
            raise UsageError(
                f"{min(options)!r} is not an option of compute(). Give it where the metric is made or loaded."
            )
        return _summarise(
            self.scorer.score_all(
                {"question": asked, "references": several, "response": response}
                for asked, several, response in zip(questions, references, predictions, strict=True)
            ),
            [metric.name for metric in self.scorer.metrics],
            self._limit,
        )


def _clean_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns in a form that `evaluate` stores unchanged: it would turn NaN and numbers into strings."""
    checked: dict[str, Any] = {}
    for name, values in columns.items():
        read = _read_references if name == "references" else _read_text
        checked[name] = None if values is None else [read(name, value) for value in values]
    return checked


def _read_references(name: str, value: Any) -> list[str | None]:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_read_text(name, item) for item in cast("Iterable[Any]", value)]
    text = _read_text(name, value)
    return [text] if text and text.strip() else []


def _read_text(name: str, value: Any) -> str | None:
    # pandas represents None as NaN.
    if value is None or (isinstance(value, float) and isnan(value)):
        return None
    if not isinstance(value, str):
        raise UsageError(f"{name} hold {value!r}, which is not a text. Give texts, and None where there is none.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{name} hold half a character ({value[error.start]!r}), which cannot be stored. Write it whole."
        ) from error
    return value


def _summarise(found: Assessments, names: Sequence[str], limit: Threshold | None) -> dict[str, Any]:
    scores: dict[str, list[float | None]] = {name: [] for name in names}
    not_scored: list[dict[str, Any]] = []
    for index, assessment in enumerate(found):
        for name, outcome in assessment.outcomes.items():
            scores[name].append(outcome.value if isinstance(outcome, Score) else None)
            if isinstance(outcome, Failure):
                not_scored.append({"index": index, "metric": name, "kind": outcome.kind, "reason": outcome.message})
    means = {name: [value for value in values if value is not None] for name, values in scores.items()}
    verdicts = [judge_answer(assessment.outcomes, limit) for assessment in found]
    return {
        **{name: fmean(values) if values else None for name, values in means.items()},
        "scores": scores,
        "scored": {name: len(values) for name, values in means.items()},
        "not_scored": not_scored,
        **({} if limit is None else {"verdicts": [None if one is None else one.word for one in verdicts]}),
    }
