"""What moves a metric besides the quality of an answer: its length, language, system, the model's own family.

A metric is biased towards a property if, among answers that raters find equally good, it scores those with more of the
property higher. That is measured by Spearman's partial correlation of score and property given the ratings: of one
dimension, or of all of them at once. The mean over dimensions would not do: at an equal mean, a metric that follows one
dimension seems biased towards whatever goes with that dimension rather than with the others.

Ratings are noisy, and a noisy rating explains only part of the quality that goes with the property: systems that are
really better would seem favoured. Where several raters rated, the noise is therefore subtracted from the correlations
of the ratings (Fuller 1987, Measurement Error Models, section 2.2):

    (r_sp - a' M^-1 b) / sqrt((1 - a' M^-1 a) (1 - b' M^-1 b))

with s the score, p the property, a and b their correlations with the ratings, and M the correlations of the ratings
less those of their noise. The noise of a dimension has the variance 1 - R, with R the reliability of its mean rating;
that of two dimensions is correlated as the ratings of single raters are around their answer's mean. M without noise
gives the usual partial correlation.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.agreement.constant_raters import leave_out_constant_raters
from imapeval.study.agreement.reliability import measure_reliability
from imapeval.study.correlation.coefficients import Undefined, find_coefficient
from imapeval.study.data.findings import ALL
from imapeval.study.intervals import CONFIDENCE
from imapeval.study.intervals.bootstrap import number_clusters
from imapeval.study.intervals.coefficients import jackknife_intervals
from imapeval.study.number_format import format_interval, format_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.rated import Rated

OWN_FAMILY = "own family"
"""Property of answers by a system of the same family of language models as the metric's model."""

_FAMILIES = {
    # Not HuatuoGPT and the like, which are models of other families.
    "gpt": re.compile(r"(?<![a-z])(chat|instruct)?gpt(?!-?(j|neo))|^o[1-9](?![a-z0-9])"),
    "claude": re.compile(r"claude"),
    "gemini": re.compile(r"gemini|gemma|palm(?!yra)|\bbard\b"),
    "llama": re.compile(r"(?<!\bo)llama|vicuna|alpaca"),
    "qwen": re.compile(r"qwen|qwq"),
    "mistral": re.compile(r"(?:mi|magi|mini|code|dev)stral|(?:mi|pi|vo)xtral"),
    "deepseek": re.compile(r"deepseek"),
    "glm": re.compile(r"glm"),
    "baichuan": re.compile(r"baichuan"),
    "internlm": re.compile(r"internlm"),
    "phi": re.compile(r"\bphi(?![a-z])"),
}
"""Patterns in the lower-case names of models, by family."""


_ROUNDING = 1e-9
"""A correlation this near to 1 is 1."""

_MAX_INFLATION = 10.0
"""Variance inflation factor of a dimension from which dimensions count as collinear (Kutner et al. 2005, Applied Linear
Statistical Models, section 10.5)."""

MIN_QUESTIONS = 10
"""Below it the interval's error is too uncertain; see docs/where.md for its coverage from here on."""


@dataclass(frozen=True, slots=True)
class Bias:
    """How a metric's scores depend on a property of answers that raters find equally good.

    Attributes:
        dimension: The rating dimension held equal; `ALL` for all of them, each of which is held equal.
        property: A covariate such as "response characters", a facet such as "language", "system", or `OWN_FAMILY`.
        group: The group of the facet that is compared with the other answers; "" for a covariate.
        value: The partial correlation, -1..1: above 0 if answers with more of the property, or of the group, get
            better scores than equally good others. None if it is undefined.
        low, high: Ends of its 95% interval.
        shown: Whether the interval excludes 0 after Bonferroni's correction for the properties of the metric.
        reliability: Of the mean rating, at most 1, of `ALL` the lowest of a dimension; None if it is not known, of
            `ALL` in one of the dimensions. Where it is not, it counts as 1.
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


def measure_bias(rated: Rated, *, signatures: Mapping[str, str] | None = None) -> list[Bias]:
    """Measure the bias of metrics towards each covariate and each group of answers.

    The family of a metric's language model is found in its signature.

    Returns:
        By metric and dimension, all dimensions together first if there are several, a row per property. Of two groups
        that make up all answers only the first has a row.
    """
    rows: list[Bias] = []
    controls = list(_iterate_controls(rated))
    pairs = _Pairs(rated.questions)
    for metric in rated.metrics:
        properties = dict(_iterate_properties(rated, (signatures or {}).get(metric, "")))
        scores = rated.scores_of(metric)
        for dimension, ratings in controls:
            rows += [
                _measure(
                    Bias(metric, dimension, name, group, reliability=ratings.reliability),
                    scores,
                    ratings,
                    given,
                    pairs=pairs,
                    tests=len(properties),
                )
                for (name, group), given in properties.items()
            ]
        pairs.forget(metric)
    return rows


def choose_shown(rows: Sequence[Bias]) -> list[Bias]:
    """Return the rows with all dimensions, or the only one, held equal; if none is measured, those of each by itself.

    If none of those is measured either, the former are returned.
    """
    together = [row for row in rows if row.dimension == rows[0].dimension]
    single = [row for row in rows if row.dimension != ALL]
    measured = (chosen for chosen in (together, single) if any(row.value is not None for row in chosen))
    return next(measured, together)


@dataclass(frozen=True, slots=True)
class _Controls:
    """The control variables: ratings that are held equal.

    Attributes:
        columns: Mean ratings by dimension, each of shape (n,).
        noise: Covariances of their noise, in units of the mean ratings' standard deviations, shape (k, k).
        reliability: As in `Bias`.
    """

    columns: Mapping[str, Floats]
    noise: Floats
    reliability: float | None


def _iterate_controls(rated: Rated) -> Iterator[tuple[str, _Controls]]:
    """Yield each dimension with its controls."""
    names = rated.dimensions
    by_rater = leave_out_constant_raters(rated).by_rater
    reliabilities = [_find_reliability(by_rater.get(name)) for name in names]
    spreads = np.array([0.0 if found is None else 1 - min(1.0, found) for found in reliabilities])
    noise = _correlate_noise([by_rater.get(name) for name in names]) * np.sqrt(np.outer(spreads, spreads))
    if len(names) > 1:
        known = [found for found in reliabilities if found is not None]
        columns = {name: rated.ratings_of(name) for name in names}
        yield ALL, _Controls(columns, noise, min(known) if len(known) == len(names) else None)
    for place, name in enumerate(names):
        yield name, _Controls({name: rated.ratings_of(name)}, noise[[place]][:, [place]], reliabilities[place])


def _correlate_noise(by_rater: Sequence[Floats | None]) -> Floats:
    """Return the correlations of raters' deviations from the mean of an answer, shape (k, k); 0 where unknown."""
    found = np.eye(len(by_rater))
    left: list[Floats | None] = []
    for table in by_rater:
        if table is None:
            left.append(None)
            continue
        given = np.isfinite(table)
        counts = given.sum(axis=1, keepdims=True)
        means = np.where(given, table, 0.0).sum(axis=1, keepdims=True) / np.maximum(counts, 1)
        left.append(np.where(given & (counts > 1), table - means, np.nan))
    for (i, first), (j, second) in itertools.combinations(enumerate(left), 2):
        if first is None or second is None:
            continue
        there = np.isfinite(first) & np.isfinite(second)
        x, y = first[there], second[there]
        size = math.sqrt(float((x**2).sum() * (y**2).sum()))
        found[i, j] = found[j, i] = float((x * y).sum()) / size if size else 0.0
    return found


def _find_reliability(by_rater: Floats | None) -> float | None:
    if by_rater is None:
        return None
    found = measure_reliability(by_rater)
    return None if isinstance(found, Undefined) else found.value


def _iterate_properties(rated: Rated, signature: str) -> Iterator[tuple[tuple[str, str], Floats]]:
    """Yield ((property, group), numbers): a covariate, or 1 for the answers of a group and 0 for the others."""
    for name, numbers in rated.covariates.items():
        # Compression, for example, is known of no answer without imaps.
        if np.isfinite(numbers).any():
            yield (name, ""), numbers
    for name, labels in (("system", rated.systems), *rated.facets.items()):
        groups = list(dict.fromkeys(label for label in labels if label))
        column = np.array(labels)
        for group in groups if len(groups) > 2 else groups[:-1]:
            yield (name, group), np.where(column == "", np.nan, column == group)
    families = _find_families(_find_model(signature))
    related = {system for system in set(rated.systems) if not families.isdisjoint(_find_families(system))}
    own = np.array([system in related for system in rated.systems])
    if own.any() and not own.all():
        yield (OWN_FAMILY, ", ".join(name for name in _FAMILIES if name in families)), own.astype(np.float64)


def _find_model(signature: str) -> str:
    """Return the name of the language model in a signature; "" if the metric has none."""
    models = [part.partition(":")[2] for part in signature.split("|") if part.startswith(("model:", "llm:"))]
    if not models:
        return ""
    # Without provider and server: "openai:Qwen/Qwen3-8B@http://llama:8080/v1" is a Qwen. Folders of downloads end with
    # the name of a version.
    return models[0].partition(":")[2].partition("@http")[0].partition("/snapshots/")[0].rstrip("/")


def _find_families(name: str) -> frozenset[str]:
    """Return the families that the name of a model or system indicates: two for one that is distilled into another."""
    # Before the last "/" stands a data set or an organisation.
    name = name.rpartition("/")[2].lower()
    return frozenset(family for family, pattern in _FAMILIES.items() if pattern.search(name))


class _Pairs:
    """Spearman's rho of two columns with influences, each computed once for the same answers."""

    def __init__(self, questions: np.ndarray) -> None:
        self._questions = questions
        self._clusters: dict[bytes, Counts] = {}
        self._found: dict[tuple[str, str, bytes], tuple[float, Floats]] = {}

    def number_questions(self, there: np.ndarray, key: bytes) -> Counts:
        """Return the questions of some answers, from 0; `key` stands for these answers."""
        if key not in self._clusters:
            self._clusters[key] = number_clusters(self._questions[there])
        return self._clusters[key]

    def correlate(self, first: str, second: str, x: Floats, y: Floats, key: bytes) -> tuple[float, Floats]:
        """Return rho and influences of columns, whose names start with the kind of column and ":"."""
        if (first, second, key) not in self._found:
            self._found[first, second, key] = find_coefficient("spearman").with_influences(x, y)
        return self._found[first, second, key]

    def forget(self, metric: str) -> None:
        """Drop what was kept of a metric, which is not asked for again."""
        self._found = {names: found for names, found in self._found.items() if names[0] != f"metric:{metric}"}


def _measure(row: Bias, scores: Floats, controls: _Controls, given: Floats, *, pairs: _Pairs, tests: int) -> Bias:
    there = np.isfinite(scores) & np.isfinite(given) & np.isfinite([*controls.columns.values()]).all(axis=0)
    key = np.packbits(there).tobytes()
    clusters = pairs.number_questions(there, key)
    row = replace(row, n=int(there.sum()))
    count = int(clusters.max(initial=-1)) + 1
    if count < MIN_QUESTIONS:
        return _add_sentence(replace(row, reason=f"{count} questions are fewer than {MIN_QUESTIONS}"))
    s, p = (f"metric:{row.metric}", scores[there]), (f"property:{row.property}:{row.group}", given[there])
    r = [(f"rating:{dimension}", column[there]) for dimension, column in controls.columns.items()]

    def correlate(one: tuple[str, Floats], other: tuple[str, Floats]) -> tuple[float, Floats]:
        return pairs.correlate(one[0], other[0], one[1], other[1], key)

    r_sp, of_sp = correlate(s, p)
    a, of_a = (np.array(part) for part in zip(*(correlate(s, one) for one in r), strict=True))
    b, of_b = (np.array(part) for part in zip(*(correlate(p, one) for one in r), strict=True))
    between, of_between = np.eye(len(r)), np.zeros((len(r), len(r), len(of_sp)))
    for i, j in itertools.combinations(range(len(r)), 2):
        between[i, j], of_between[i, j] = between[j, i], of_between[j, i] = correlate(r[i], r[j])
    if np.isnan([r_sp, *a, *b, *between.flat]).any():
        return _add_sentence(replace(row, reason="the scores, the ratings or the property are constant"))
    if abs(r_sp) > 1 - _ROUNDING:
        return _add_sentence(replace(row, reason="the scores order the answers as the property does, or the other way"))
    noisy = "the ratings are too noisy" + (
        "" if row.reliability is None else f" (reliability {format_number(row.reliability)})"
    )
    true = between - controls.noise
    if (true.diagonal() <= 0).any():
        return _add_sentence(replace(row, reason=noisy))
    size = np.sqrt(true.diagonal())
    scaled = true / np.outer(size, size)
    if np.linalg.eigvalsh(scaled)[0] <= _ROUNDING or np.linalg.inv(scaled).diagonal().max() > _MAX_INFLATION:
        alike = "the dimensions are too much alike to be held equal together; choose one with --dimensions"
        return _add_sentence(replace(row, reason=alike))
    of_s, of_p = (np.linalg.solve(true, side).astype(np.float64) for side in (a, b))
    u, v = 1 - a @ of_s, 1 - b @ of_p
    if u <= 0 or v <= 0:
        return _add_sentence(replace(row, reason=noisy))
    spread = math.sqrt(u * v)
    value = float(r_sp - a @ of_p) / spread
    if abs(value) >= 1:
        return _add_sentence(replace(row, reason=noisy))

    def move(one: Floats, other: Floats) -> Floats:
        return np.einsum("i,ijn,j->n", one, of_between, other)

    of_top = of_sp - of_p @ of_a - of_s @ of_b + move(of_s, of_p)
    of_u, of_v = move(of_s, of_s) - 2 * (of_s @ of_a), move(of_p, of_p) - 2 * (of_p @ of_b)
    moved = of_top / spread - value / 2 * (of_u / u + of_v / v)
    by_question = np.bincount(clusters, weights=moved).astype(np.float64)
    ends = [
        jackknife_intervals(
            np.array(value),
            influences=by_question,
            clusters=np.array(count),
            bounds=(-1.0, 1.0),
            confidence=confidence,
        )
        for confidence in (CONFIDENCE, 1 - (1 - CONFIDENCE) / tests)
    ]
    (low, high), (lower, higher) = ((float(a), float(b)) for a, b in ends)
    return _add_sentence(replace(row, value=value, low=low, high=high, shown=lower > 0 or higher < 0))


def _add_sentence(row: Bias) -> Bias:
    about = f"{row.property} {row.group}".strip()
    if row.value is None or row.low is None or row.high is None:
        return replace(row, sentence=f"{row.metric}, {about}: not measured, {row.reason}.")
    who = f"answers of {about}" if row.group else f"answers with more {row.property}"
    interval = f"{format_number(row.value)} [{format_interval(row.low, row.high)}]"
    if not row.shown:
        said = f"{row.metric}: no bias by {about} is shown ({interval})."
    else:
        how = "higher" if row.value > 0 else "lower"
        equal = "every dimension" if row.dimension == ALL else row.dimension
        said = f"{row.metric} scores {who} {how} than others with equal ratings of {equal} ({interval})."
    return replace(row, sentence=said)
