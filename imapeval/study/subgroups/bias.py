"""What moves a metric besides the quality of an answer: its length, language, system, the model's own family.

A metric is biased towards a property if, among answers that raters find equally good, it scores those with more of the
property higher. That is measured by Spearman's partial correlation of score and property given the rating. Ratings are
noisy, and a noisy rating explains only part of the quality that goes with the property: systems that are really better
would seem favoured. Where several raters rated, the correlations are therefore corrected for the reliability of the
mean rating (Fuller 1987, Measurement Error Models, section 1.2):

    (R r_sp - r_sr r_pr) / sqrt((R - r_sr^2) (R - r_pr^2))

with s the score, p the property, r the rating and R its reliability; R = 1 gives the usual partial correlation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.agreement.reliability import measure_reliability
from imapeval.study.bootstrap import number_clusters
from imapeval.study.correlation.coefficients import Undefined, find_coefficient
from imapeval.study.data.findings import ALL
from imapeval.study.data.rated import choose_names
from imapeval.study.intervals import jackknife_intervals
from imapeval.study.number_format import format_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.rated import Rated

OWN_FAMILY = "own family"
"""Property of answers by a system of the same family of language models as the metric's model."""

_FAMILIES = (
    ("gpt",),
    ("claude",),
    ("gemini", "gemma", "palm"),
    ("llama", "vicuna", "alpaca"),
    ("qwen", "qwq"),
    ("mistral", "mixtral"),
    ("deepseek",),
    ("glm",),
    ("baichuan",),
    ("internlm",),
    ("phi",),
)
"""Words in the names of models of one family."""

_CONFIDENCE = 0.95

_ROUNDING = 1e-9
"""A correlation this near to 1 is 1."""

MIN_QUESTIONS = 10
"""Below it the interval's error is too uncertain; see docs/where.md for its coverage from here on."""


@dataclass(frozen=True, slots=True)
class Bias:
    """How a metric's scores depend on a property of answers that raters find equally good.

    Attributes:
        metric: The metric.
        dimension: The rating dimension held equal; `ALL` for the mean over them.
        property: A covariate such as "response characters", a facet such as "language", "system", or `OWN_FAMILY`.
        group: The group of the facet that is compared with the other answers; "" for a covariate.
        value: The partial correlation, -1..1: above 0 if answers with more of the property, or of the group, get
            better scores than equally good others. None if it is undefined.
        low, high: Ends of its 95% interval.
        shown: Whether the interval excludes 0 after Bonferroni's correction for the properties of the metric.
        reliability: Of the mean rating, 0..1; None if only averages are known, and then it counts as 1.
        n: Answers with a score, a rating and the property.
        reason: Why there is no value; else None.
        sentence: The finding in words.
    """

    metric: str
    dimension: str
    property: str
    group: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    shown: bool = False
    reliability: float | None = None
    n: int = 0
    reason: str | None = None
    sentence: str = ""


def measure_bias(
    rated: Rated, *, signatures: Mapping[str, str] | None = None, metrics: Sequence[str] | None = None
) -> list[Bias]:
    """Measure the bias of metrics towards each covariate and each group of answers.

    Args:
        rated: The answers.
        signatures: Signatures of the metrics, by name, to find the family of a metric's language model.
        metrics: Metrics to include; None means all.

    Returns:
        By metric and dimension, the mean over dimensions first if there are several, a row per property. Of two groups
        that make up all answers only the first has a row.
    """
    rows: list[Bias] = []
    ratings = dict(_iterate_ratings(rated))
    pairs = _Pairs(rated.questions)
    for metric in choose_names("metric", metrics, rated.metrics):
        properties = dict(_iterate_properties(rated, (signatures or {}).get(metric, "")))
        scores = rated.scores_of(metric)
        for dimension, (rating, reliability) in ratings.items():
            rows += [
                _measure(
                    Bias(metric, dimension, name, group, reliability=reliability),
                    scores,
                    rating,
                    given,
                    pairs=pairs,
                    tests=len(properties),
                )
                for (name, group), given in properties.items()
            ]
        pairs.forget(metric)
    return rows


def _iterate_ratings(rated: Rated) -> Iterator[tuple[str, tuple[Floats, float | None]]]:
    """Yield (dimension, (ratings, their reliability or None))."""
    if len(rated.dimensions) > 1:
        by_rater = np.mean([*rated.by_rater.values()], axis=0) if rated.by_rater else None
        # NaN unless all dimensions were rated: a mean of others would be another quantity.
        yield ALL, (rated.ratings.mean(axis=1), _find_reliability(by_rater))
    for dimension in rated.dimensions:
        yield dimension, (rated.ratings_of(dimension), _find_reliability(rated.by_rater.get(dimension)))


def _find_reliability(by_rater: Floats | None) -> float | None:
    if by_rater is None:
        return None
    found = measure_reliability(by_rater)
    return None if isinstance(found, Undefined) else found.value


def _iterate_properties(rated: Rated, signature: str) -> Iterator[tuple[tuple[str, str], Floats]]:
    """Yield ((property, group), numbers): a covariate, or 1 for the answers of a group and 0 for the others."""
    for name, numbers in rated.covariates.items():
        yield (name, ""), numbers
    for name, labels in (("system", rated.systems), *rated.facets.items()):
        groups = list(dict.fromkeys(label for label in labels if label))
        column = np.array(labels)
        for group in groups if len(groups) > 2 else groups[: len(groups) - 1]:
            yield (name, group), np.where(column == "", np.nan, column == group)
    family = next((words for words in _FAMILIES if _mentions(_find_model(signature), words)), None)
    if family:
        own = np.array([_mentions(system, family) for system in rated.systems])
        if own.any() and not own.all():
            yield (OWN_FAMILY, family[0]), own.astype(np.float64)


def _find_model(signature: str) -> str:
    """Return the name of the language model in a signature; "" if the metric has none."""
    models = [part.partition(":")[2] for part in signature.split("|") if part.startswith(("model:", "llm:"))]
    # Without the provider: "openai:Qwen/Qwen3-8B" is a model of another family.
    return models[0].partition(":")[2] if models else ""


def _mentions(name: str, words: Sequence[str]) -> bool:
    return any(word in name.lower() for word in words)


class _Pairs:
    """Spearman's rho of two columns with influences, each computed once for the same answers."""

    def __init__(self, questions: np.ndarray) -> None:
        self._questions = questions
        self._clusters: dict[bytes, Counts] = {}
        self._found: dict[tuple[str, str, bytes], tuple[float, Floats]] = {}

    def number_questions(self, there: np.ndarray, key: bytes) -> Counts:
        """Return the questions of some answers, from 0; `key` stands for these answers."""
        if key not in self._clusters:
            self._clusters[key] = number_clusters(self._questions[there].tolist())
        return self._clusters[key]

    def correlate(self, first: str, second: str, x: Floats, y: Floats, key: bytes) -> tuple[float, Floats]:
        """Return rho and influences of columns, whose names start with the kind of column and ":"."""
        if (first, second, key) not in self._found:
            self._found[first, second, key] = find_coefficient("spearman").with_influences(x, y)
        return self._found[first, second, key]

    def forget(self, metric: str) -> None:
        """Drop what was kept of a metric, which is not asked for again."""
        self._found = {names: found for names, found in self._found.items() if names[0] != f"metric:{metric}"}


def _measure(row: Bias, scores: Floats, ratings: Floats, given: Floats, *, pairs: _Pairs, tests: int) -> Bias:
    there = np.isfinite(scores) & np.isfinite(ratings) & np.isfinite(given)
    key = np.packbits(there).tobytes()
    clusters = pairs.number_questions(there, key)
    row = replace(row, n=int(there.sum()))
    count = int(clusters.max(initial=-1)) + 1
    if count < MIN_QUESTIONS:
        return _conclude(replace(row, reason=f"{count} questions are fewer than {MIN_QUESTIONS}"))
    s, r, p = scores[there], ratings[there], given[there]
    metric, rating, about = f"metric:{row.metric}", f"rating:{row.dimension}", f"property:{row.property}:{row.group}"
    r_sp, of_sp = pairs.correlate(metric, about, s, p, key)
    r_sr, of_sr = pairs.correlate(metric, rating, s, r, key)
    r_pr, of_pr = pairs.correlate(about, rating, p, r, key)
    if np.isnan([r_sp, r_sr, r_pr]).any():
        return _conclude(replace(row, reason="the scores, the ratings or the property are constant"))
    reliable = 1.0 if row.reliability is None else min(1.0, row.reliability)
    if abs(r_sp) > 1 - _ROUNDING:
        return _conclude(replace(row, reason="the scores order the answers as the property does, or the other way"))
    u, v = reliable - r_sr**2, reliable - r_pr**2
    if u <= 0 or v <= 0:
        return _conclude(replace(row, reason=f"the ratings are too noisy (reliability {reliable:.2f})"))
    spread = math.sqrt(u * v)
    value = (reliable * r_sp - r_sr * r_pr) / spread
    if abs(value) >= 1:
        return _conclude(replace(row, reason=f"the ratings are too noisy (reliability {reliable:.2f})"))
    moved = (
        reliable * of_sp + (value * spread * r_sr / u - r_pr) * of_sr + (value * spread * r_pr / v - r_sr) * of_pr
    ) / spread
    by_question = np.bincount(clusters, weights=moved).astype(np.float64)
    ends = [
        jackknife_intervals(
            np.array(value),
            influences=by_question,
            clusters=np.array(count),
            bounds=(-1.0, 1.0),
            confidence=confidence,
        )
        for confidence in (_CONFIDENCE, 1 - (1 - _CONFIDENCE) / tests)
    ]
    (low, high), (lower, higher) = ((float(a), float(b)) for a, b in ends)
    return _conclude(replace(row, value=value, low=low, high=high, shown=lower > 0 or higher < 0))


def _conclude(row: Bias) -> Bias:
    about = f"{row.property} {row.group}".strip() if row.group else row.property
    if row.value is None or row.low is None or row.high is None:
        return replace(row, sentence=f"{row.metric}, {about}: not measured, {row.reason}.")
    who = f"answers of {about}" if row.group else f"answers with more {row.property}"
    interval = f"{format_number(row.value)} [{format_number(row.low)}, {format_number(row.high)}]"
    if not row.shown:
        said = f"{row.metric}: no bias by {about} is shown ({interval})."
    else:
        how = "higher" if row.value > 0 else "lower"
        said = f"{row.metric} scores {who} {how} than equally rated others ({interval})."
    return replace(row, sentence=said)
