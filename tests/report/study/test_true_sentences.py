"""Every sentence that the page of a study with a known truth prints, checked against the data or the truth.

The study is that of `known_study.py`. Expected numbers are computed here with numpy, scipy and the formulas of the
publications, from the arrays of the study. A sentence without a check fails the test: `CHECKS` lists each one, by a
pattern, with what makes it true; texts that say nothing about the data are listed word by word in `SAID`.
"""

# ruff: noqa: E501 (sentences are not broken where the page does not break them)
from __future__ import annotations

import csv
import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from imapeval.report.study.page import render_study
from imapeval.report.study.tables import write_tables
from imapeval.study.summary.compute import compute_study
from tests.report.study.known_study import DIMENSIONS, METRICS, draw

if TYPE_CHECKING:
    from imapeval.study.summary.compute import Study

ROOT = Path(__file__).parents[3]
RESAMPLES = 1000
M = f"({'|'.join(METRICS)})"
N = r"([-−]?\d*\.?\d+)"
P = r"p ([=<>]) \.?(\d*\.?\d+)"


class _Texts(HTMLParser):
    """Collects the texts of paragraphs, list items, captions, headings and summaries, and the rows of tables."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.rows: list[tuple[str, list[str]]] = []
        self._open: list[str] = []
        self._buffer = ""
        self._cells: list[str] = []
        self._heading = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag in ("p", "li", "figcaption", "h2", "h3", "summary", "td", "th", "svg", "nav", "footer", "header"):
            self._open.append(tag)
            self._buffer = ""
        if tag == "tr":
            self._cells = []

    def handle_endtag(self, tag: str) -> None:
        if not self._open or tag != self._open[-1]:
            if tag == "tr":
                self.rows.append((self._heading, self._cells))
            return
        self._open.pop()
        text = " ".join(self._buffer.split())
        self._buffer = ""
        if tag in ("td", "th"):
            self._cells.append(text)
        elif tag in ("h2", "h3", "summary"):
            self._heading = text
        if tag in ("p", "li", "figcaption") and text and not {"svg", "nav", "footer", "header"} & set(self._open):
            self.texts.append(text)

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("svg", "nav", "footer", "header"):
            self._buffer += data


class Known:
    """The study as arrays, and what follows from them."""

    def __init__(self, study: Study) -> None:
        rated = study.rated
        self.study = study
        self.systems = np.array(rated.systems)
        self.questions = rated.questions
        self.scores: dict[str, np.ndarray] = dict(zip(METRICS, rated.scores.T, strict=True))
        # By rater, and their mean: on the grid of sixths, so that rounding breaks no ties.
        self.given = {name: rated.by_rater[name] for name in DIMENSIONS}
        self.ratings = {name: np.round(table.mean(axis=1) * 6) / 6 for name, table in self.given.items()}
        self.length = rated.covariates["response characters"]
        self.rows = np.arange(len(self.systems))

    def within(self, metric: str, dimension: str, rows: np.ndarray | None = None) -> float:
        """Spearman's rho within systems, then the mean; "mean" is over both dimensions."""
        if dimension in ("mean", "mean of dimensions"):
            return float(np.mean([self.within(metric, name, rows) for name in DIMENSIONS]))
        rows = self.rows if rows is None else rows
        found = []
        for system in "abc":
            of = rows[self.systems[rows] == system]
            found.append(rho(self.scores[metric][of], self.ratings[dimension][of]))
        return float(np.mean(found))

    def pooled(self, metric: str, dimension: str) -> float:
        if dimension == "mean":
            return float(np.mean([self.pooled(metric, name) for name in DIMENSIONS]))
        return rho(self.scores[metric], self.ratings[dimension])

    @cache  # noqa: B019
    def draws(self) -> list[np.ndarray]:
        """Rows of resampled questions: each question has one answer per system, in blocks of questions."""
        questions = int(self.questions.max()) + 1
        generator = np.random.default_rng(99)
        return [
            np.concatenate([drawn + questions * system for system in range(3)])
            for drawn in (generator.integers(0, questions, questions) for _ in range(300))
        ]

    @cache  # noqa: B019
    def replicates(self, metric: str, dimension: str) -> np.ndarray:
        if dimension == "mean":
            return np.mean([self.replicates(metric, name) for name in DIMENSIONS], axis=0)
        return np.array([self.within(metric, dimension, rows) for rows in self.draws()])

    def p_value(self, first: str, second: str, dimension: str) -> float:
        """Two-sided, by PERM-INPUTS as published: the standardised ranks of a question are swapped between metrics."""
        flips = np.random.default_rng(5).integers(0, 2, size=(4000, int(self.questions.max()) + 1)).astype(bool)
        flips[0] = False
        apart = np.zeros(len(flips))
        for system in "abc":
            rows = np.flatnonzero(self.systems == system)
            swapped = flips[:, self.questions[rows]]
            one, other = (standardize(self.scores[name][rows]) for name in (first, second))
            for name in DIMENSIONS if dimension == "mean" else (dimension,):
                given = standardize(self.ratings[name][rows])
                apart += correlate_rows(np.where(swapped, other, one), given)
                apart -= correlate_rows(np.where(swapped, one, other), given)
        return float(np.mean(np.abs(apart) >= abs(apart[0]) - 1e-9))

    @cache  # noqa: B019
    def holm(self, dimension: str) -> dict[frozenset[str], float]:
        pairs = list(combinations(METRICS[:-1], 2))
        raw = [self.p_value(*pair, dimension) for pair in pairs]
        adjusted: dict[frozenset[str], float] = {}
        least = 0.0
        for place, number in enumerate(np.argsort(raw)):
            least = max(least, min(1.0, raw[number] * (len(pairs) - place)))
            adjusted[frozenset(pairs[number])] = least
        return adjusted

    @cache  # noqa: B019
    def ranked(self, dimension: str) -> list[str]:
        """Metrics with a coefficient, the highest first."""
        return sorted(METRICS[:-1], key=lambda name: -self.within(name, dimension))


def standardize(column: np.ndarray) -> np.ndarray:
    ranks = stats.rankdata(column)
    return (ranks - ranks.mean()) / ranks.std()


def correlate_rows(table: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Pearson's r of each row with a standardised column."""
    table = table - table.mean(axis=1, keepdims=True)
    return table @ column / np.sqrt((table**2).sum(axis=1) * len(column))


def rho(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(stats.rankdata([x, y], axis=1))[0, 1])


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def near(text: str, value: float, *, by: float = 0.0051) -> bool:
    return abs(number(text) - value) <= by


def names(text: str) -> list[str]:
    return text.split(", ")


Check = Callable[..., bool]
CHECKS: list[tuple[str, Check]] = []


def sentence(pattern: str) -> Callable[[Check], Check]:
    """Register what makes the sentences of a pattern true: the groups are the arguments after the study."""

    def register(check: Check) -> Check:
        CHECKS.append((pattern, check))
        return check

    return register


SAID: dict[str, str] = {}
"""Texts that say nothing about the data: captions, definitions of what is shown, and methods that no number of the page
depends on alone. Whole texts, by what they are."""


# Conclusions


@sentence(
    rf"Of 5 metrics with a coefficient, {M} agrees best with the raters in these answers: Spearman's rho within systems "
    rf"\(mean of 6 coefficients\) {N} \[{N}, {N}\], n = 240; the interval allows for the choice of the best\."
)
def check_best(known: Known, metric: str, value: str, low: str, high: str) -> bool:
    best = max(METRICS[:-1], key=lambda name: known.within(name, "mean"))
    not_all_worse = any(
        known.holm("mean")[frozenset((metric, other))] >= 0.05 for other in METRICS[:-1] if other != metric
    )
    return (
        metric == best
        and near(value, known.within(metric, "mean"))
        and holds_simultaneously(known, metric, "mean", low, high)
        and number(low) > 0
        and not_all_worse
        and np.ptp(known.scores["system"][known.systems == "a"]) == 0
    )


def holds_simultaneously(known: Known, metric: str, dimension: str, low: str, high: str) -> bool:
    """Wider than the interval of one metric, and at most as wide as Bonferroni's for five in three dimensions."""
    spread = known.replicates(metric, dimension).std()
    half = (number(high) - number(low)) / 2 / spread
    return stats.norm.ppf(0.975) * 0.93 < half < stats.norm.ppf(1 - 0.025 / 15) * 1.05


@sentence(
    rf"{M} by dimension: accuracy {N} \[{N}, {N}\], completeness {N} \[{N}, {N}\]; these intervals allow for the "
    r"choice, too\."
)
def check_dimensions(known: Known, metric: str, *ends: str) -> bool:
    return all(
        near(ends[place], known.within(metric, name))
        and holds_simultaneously(known, metric, name, *ends[place + 1 : place + 3])
        for place, name in ((0, "accuracy"), (3, "completeness"))
    )


@sentence(r"The highest coefficient in a single dimension is another metric's: (on .+)\.")
def check_leader(known: Known, said: str) -> bool:
    best = {name: max(METRICS[:-1], key=lambda one: known.within(one, name)) for name in ("mean", *DIMENSIONS)}
    stated = {dimension: (metric, value) for dimension, metric, value in re.findall(rf"on (\w+) {M} \({N}\)", said)}
    others = {name: best[name] for name in DIMENSIONS if best[name] != best["mean"]}
    return {name: metric for name, (metric, _) in stated.items()} == others and all(
        near(value, known.within(metric, name)) for name, (metric, value) in stated.items()
    )


@sentence(rf"{M} (cannot be told apart from|agrees better than) ([a-z, -]+) \(after Holm's correction\)\.")
def check_significance(known: Known, metric: str, what: str, others: str) -> bool:
    significant = [
        other for other in METRICS[:-1] if other != metric and known.holm("mean")[frozenset((metric, other))] < 0.05
    ]
    found = set(METRICS[:-1]) - {metric} - set(significant) if what.startswith("cannot") else set(significant)
    return set(names(others)) == found


@sentence(
    rf"What the mean over dimensions does not show: {M} agrees (.+) \(after Holm's correction within the dimension\)\."
)
def check_single_dimensions(known: Known, metric: str, said: str) -> bool:
    stated = {
        (word, dimension, other)
        for word, others, dimension in re.findall(r"(better|worse) than ([a-z, -]+) on (\w+)", said)
        for other in names(others)
    }
    return stated == {
        (word, dimension, other)
        for dimension in DIMENSIONS
        for other in METRICS[:-1]
        if other != metric and known.holm(dimension)[frozenset((metric, other))] < 0.05
        for word in ("better" if known.within(metric, dimension) > known.within(other, dimension) else "worse",)
        if (known.holm("mean")[frozenset((metric, other))] >= 0.05)
        or (known.within(metric, "mean") > known.within(other, "mean")) != (word == "better")
    }


@sentence(
    rf"(?:Over all dimensions, a|On (accuracy|completeness), a)t n = 240, {N} \({M}\) and {N} \({M}\) cannot be told apart "
    rf"\({P} after Holm(, which another seed may put across \.05)?\)\."
)
def check_apart(
    known: Known, dimension: str | None, one: str, first: str, two: str, second: str, sign: str, p: str,
    unsettled: str | None,
) -> bool:  # fmt: skip
    name = dimension or "mean"
    own = known.holm(name)[frozenset((first, second))]
    close = own > 0.9 if sign == ">" else abs(float(f".{p}") - own) < 0.1
    near_level = unsettled is None or abs(own - 0.05) < 0.03
    return (
        near(one, known.within(first, name))
        and near(two, known.within(second, name))
        and own >= 0.05
        and close
        and near_level
    )


@sentence(
    rf"(?:Over all dimensions|On (accuracy|completeness)), {M} \({N}\) agrees better with the raters than {M} \({N}\): "
    rf"difference {N}, 95% interval {N} to {N}, {P} after Holm(, which another seed may put across \.05)?, n = 240\."
)
def check_better(
    known: Known, dimension: str | None, first: str, one: str, second: str, two: str,
    difference: str, low: str, high: str, sign: str, p: str, unsettled: str | None,
) -> bool:  # fmt: skip
    name = dimension or "mean"
    apart = known.within(first, name) - known.within(second, name)
    half = 1.96 * (known.replicates(first, name) - known.replicates(second, name)).std()
    return (
        near(one, known.within(first, name))
        and near(two, known.within(second, name))
        and near(difference, apart)
        and near(low, apart - half, by=0.035)
        and near(high, apart + half, by=0.035)
        and known.holm(name)[frozenset((first, second))] < 0.05
        and float(f".{p}") < 0.05
        and (unsettled is None or known.holm(name)[frozenset((first, second))] > 0.02)
    )


@sentence(
    rf"(?:Over all dimensions|On (?:accuracy|completeness)), {M} and system were not compared: in every system, the "
    r"ratings or one metric's scores are constant, or there are fewer than 3 answers\."
)
def check_not_compared(known: Known, metric: str) -> bool:
    del metric
    return all(np.ptp(known.scores["system"][known.systems == system]) == 0 for system in "abc")


@sentence(
    r"system has no defined correlation with the ratings within systems; see the reasons in the table of correlations\."
)
def check_undefined(known: Known) -> bool:
    return check_not_compared(known, "system")


@sentence(
    rf"(accuracy|completeness): two raters give the same rating on (\d+)% of answers and differ by 0\.5 or less on (\d+)% of "
    rf"answers\. Krippendorff's alpha \(interval\) is {N} \[{N}, {N}\] \(3 raters, 240 answers\)\. A perfect metric could "
    rf"reach Spearman's rho of about {N} \[{N}, {N}\] within systems with the mean of 3 raters\."
)
def check_agreement(
    known: Known,
    dimension: str,
    same: str,
    step: str,
    alpha: str,
    low: str,
    high: str,
    ceiling: str,
    from_: str,
    to: str,
) -> bool:
    table = known.given[dimension]
    apart = np.abs(np.stack([table[:, i] - table[:, j] for i, j in combinations(range(3), 2)]))
    # Krippendorff 2019, chapter 12, for complete data: 1 - observed / expected disagreement.
    values = table.ravel()
    expected = 2 * values.var() * len(values) / (len(values) - 1)
    own = 1 - (apart**2).mean() / expected
    true = true_ceiling(dimension)
    return (
        abs(float(same) - 100 * (apart == 0).mean()) <= 0.5
        and abs(float(step) - 100 * (apart <= 0.5).mean()) <= 0.5
        and near(alpha, own)
        and number(low) < own < number(high)
        and number(from_) <= true + 0.005
        and true - 0.005 <= number(to)
        and abs(number(ceiling) - true) < 0.03
    )


@cache
def true_ceiling(dimension: str) -> float:
    """Spearman's rho of the true quality with the mean of three raters, within systems: of 100,000 answers each."""
    generator = np.random.default_rng(7)
    found = []
    for mean in {"accuracy": (3.0, 2.6, 2.2), "completeness": (2.0, 2.6, 3.2)}[dimension]:
        truth = mean + generator.normal(0, 0.4, 100_000) + generator.normal(0, 0.8, 100_000)
        given = np.clip(np.round((truth[:, None] + generator.normal(0, 0.6, (100_000, 3))) * 2) / 2, 0, 5)
        found.append(rho(truth, np.round(given.mean(axis=1) * 6)))
    return float(np.mean(found))


@sentence(
    rf"How well {M} agrees with the raters differs by (dimension|system|response characters) \((\d) groups, {N} to {N}; "
    rf"{P} after Holm\)\."
)
def check_heterogeneity(
    known: Known, metric: str, facet: str, groups: str, low: str, high: str, sign: str, p: str
) -> bool:
    del sign, p
    values = [known.within(metric, name) for name in DIMENSIONS]
    apart = known.replicates(metric, "accuracy") - known.replicates(metric, "completeness")
    # At most 7 tests of a dimension's facets by four metrics: Bonferroni's correction is the largest there can be.
    p_value = float(2 * stats.norm.sf(abs(values[0] - values[1]) / apart.std()) * 4)
    return (
        facet == "dimension" and groups == "2" and near(low, min(values)) and near(high, max(values)) and p_value < 0.05
    )


@sentence(
    rf"A baseline that knows only the system of an answer reaches Spearman's rho {N} over all answers "
    r"together\.(?: Worse than it: ([a-z, -]+)\.)?(?: Not shown to differ from it: ([a-z, -]+)\.)? In single dimensions, shown to be better than the baseline of the dimension: on accuracy "
    r"([a-z, -]+); on completeness ([a-z, -]+)\."
)
def check_baseline(
    known: Known, value: str, below: str | None, open_: str | None, accuracy: str, completeness: str
) -> bool:
    # What the true means of the systems reach on these ratings: the baseline estimates it.
    quality = {"accuracy": {"a": 3.0, "b": 2.6, "c": 2.2}, "completeness": {"a": 2.0, "b": 2.6, "c": 3.2}}
    own = {
        name: rho(np.array([quality[name][system] for system in known.systems]), known.ratings[name])
        for name in DIMENSIONS
    }
    mean = float(np.mean(list(own.values())))
    # The true differences (scipy, `draw(np.random.default_rng(0), 30_000)`): knows-accuracy +.38 and knows-both +.03 on
    # accuracy, knows-completeness +.14 on completeness; no other, and no mean, is above 0.
    return (
        abs(number(value) - mean) < 0.03
        and all(known.pooled(name, "mean") < number(value) for name in (names(below) if below else ()))
        # None is named as better.
        and set(names(", ".join(filter(None, (below, open_))))) == set(METRICS)
        and {"knows-accuracy"} <= set(names(accuracy)) <= {"knows-accuracy", "knows-both"}
        and completeness in ("knows-completeness", "none")
    )


# Metrics


@sentence(
    rf"(accuracy|completeness)\. Dashed: the ceiling {N} \({N} to {N}\), the expected coefficient of a perfect metric"
)
def check_ceiling(known: Known, dimension: str, value: str, low: str, high: str) -> bool:
    del known
    true = true_ceiling(dimension)
    return abs(number(value) - true) < 0.03 and number(low) - 0.005 <= true <= number(high) + 0.005


@sentence(r"the score is constant \((\d)\): system \((\w): accuracy, \w: completeness\)")
def check_constant(known: Known, value: str, system: str) -> bool:
    return set(known.scores["system"][known.systems == system]) == {float(value)}


@sentence(r"(\d) of (\d) coefficients are undefined and left out: system \((?:accuracy, completeness|mean)\)")
def check_left_out(known: Known, left_out: str, coefficients: str) -> bool:
    return left_out == coefficients and check_not_compared(known, "system")


# Comparisons


@sentence(
    r"Spearman's ρ, within each system, then the mean; each pair on the answers that both scored\. Test: perm-inputs, for these "
    r"systems on other questions, two-sided, with Holm's correction within each dimension and within the mean of dimensions "
    r"\((\d+) comparisons each\); intervals of the difference: jackknife\."
)
def check_family(known: Known, comparisons: str) -> bool:
    del known
    return int(comparisons) == len(list(combinations(METRICS[:-1], 2)))


@sentence(
    r"(\d+) of 15 pairs differ significantly at a level of 0\.05; 5 gave no result\. Blue and \+: the row's metric agrees better "
    r"with the raters; orange and −: worse; grey: no significant difference; blank: not compared, or no result\. Rows are in "
    r"order of their coefficient\. The numbers of the columns are those of the rows\."
)
def check_pairs(known: Known, significant: str) -> bool:
    # Which dimension it is about is not said in the sentence. Two permutation tests may differ about one pair near .05.
    return any(
        abs(sum(p < 0.05 for p in known.holm(name).values()) - int(significant)) <= 1 for name in ("mean", *DIMENSIONS)
    )


@sentence(
    r"(Within each question, then the mean|Systems' means)\. Test: (perm|boot)-inputs, for these systems on other questions, "
    r"two-sided, with Holm's correction within each dimension and within the mean of dimensions \(15 comparisons each\)\. "
    r"Ranks are given as in the Metrics Shared Task of WMT: from the best metric down, metrics share a rank until one differs "
    r"significantly from any metric of that rank\."
)
def check_ranks(known: Known, level: str, test: str) -> bool:
    wanted = ("within-question", "perm-inputs") if level.startswith("Within") else ("system", "boot-inputs")
    for dimension in ("*", *DIMENSIONS):
        rows = [
            row
            for row in known.study.comparisons
            if (row.level, row.test, row.dimension) == (*wanted, dimension) and "accuracy" in row.coefficient
        ]
        given = {row.first: row.first_rank for row in rows} | {row.second: row.second_rank for row in rows}
        values = {row.first: row.first_value for row in rows} | {row.second: row.second_value for row in rows}
        differ = {
            frozenset((row.first, row.second)) for row in rows if row.p_adjusted is not None and row.p_adjusted < 0.05
        }
        order = sorted(given, key=lambda name: (given[name], -(values[name] or 0)))
        rank, opened = 1, list[str]()
        for name in order:
            if any(frozenset((name, other)) in differ for other in opened):
                rank, opened = rank + 1, []
            opened.append(name)
            if given[name] != rank:
                return False
        if len(rows) != 15 or any(row.difference == 0 and (row.p or 0) < 1 for row in rows):
            return False
    return test in wanted[1]


# Scores and ratings, metrics among each other


@sentence(
    r"The metrics with the 4 highest coefficients: (a point is an answer; ratings that lie on a grid are moved by up to a third of "
    r"its step at random, so that equal ones do not hide each other\. Beside the axes: how scores and ratings are distributed\. "
    r"The number is Spearman's ρ, within each system, then the mean\.|Spearman's ρ among some of the answers\. Groups are smaller "
    r"than the whole, so their intervals are usually wider: do not read a difference between groups whose intervals overlap widely "
    r"as a finding\. Within a group each system is taken by itself, and counts by its answers; in the coefficients above each system "
    r"counts once\. slices\.csv has 5 metrics\.|what the coefficients, over all answers together, would be with ratings without "
    r"noise\. corrected\.csv has all metrics, and says why a coefficient could not be corrected\.)"
)
def check_selection(known: Known, rest: str) -> bool:
    ranked = known.ranked("mean")[:4]
    shown = {row.metric for row in known.study.slices}
    if "counts by its answers" in rest and not all(counts_by_answers(known, name) for name in ranked):
        return False
    return set(ranked) <= shown and len(shown) == 5 and bool(rest)


def counts_by_answers(known: Known, metric: str) -> bool:
    """Whether a metric's coefficients among short and long answers are means over systems, weighted by answers."""
    rows = [
        row
        for row in known.study.slices
        if (row.metric, row.facet) == (metric, "response characters") and row.dimension in DIMENSIONS
    ]
    for row in rows:
        low, high = map(float, row.group.split(" to "))  # Rounded to hundredths.
        inside = known.rows[(known.length > low - 0.0051) & (known.length < high + 0.0051)]
        parts = [inside[known.systems[inside] == system] for system in "abc"]
        # A system with fewer than four questions in the group is left out.
        parts = [part for part in parts if len(part) >= 4 and np.ptp(known.scores[metric][part])]
        own = [rho(known.scores[metric][part], known.ratings[row.dimension][part]) for part in parts]
        if row.value is None or not np.isclose(row.value, np.average(own, weights=[len(part) for part in parts])):
            return False
    return len(rows) == 8


@pytest.mark.slow
def test_the_table_beside_the_baseline(known: tuple[Known, _Texts], tmp_path: Path):
    study, page = known
    rows = [cells for heading, cells in page.rows if heading == "Side by side: mean of dimensions" and len(cells) > 1]
    rows = [cells for cells in rows if cells[0] in METRICS]
    # A metric that is constant within systems has no coefficient there.
    (system,) = [cells for cells in rows if cells[0] == "system"]
    assert system[2] == "–"
    assert {cells[0] for cells in rows} == set(METRICS)
    for metric, pooled, within, _, baseline, difference, interval in (cells for cells in rows if cells != system):
        assert near(pooled, study.pooled(metric, "mean"), by=0.00051)
        assert near(within, study.within(metric, "mean"), by=0.00051)
        assert near(difference, number(pooled) - number(baseline), by=0.0011)
        low, high = map(number, interval.split(" to "))
        assert low < number(difference) < high
    write_tables(study.study, tmp_path)
    with (tmp_path / "baselines.csv").open(encoding="utf-8", newline="") as file:
        table = [row for row in csv.DictReader(file) if row["dimension"] in DIMENSIONS]
    assert len(table) == len(METRICS) * len(DIMENSIONS)
    for row in table:
        assert float(row["value"]) == pytest.approx(study.pooled(row["metric"], row["dimension"]))
        if row["metric"] != "system":
            assert float(row["within_system"]) == pytest.approx(study.within(row["metric"], row["dimension"]))


@sentence(rf"{M}, (accuracy|completeness): {N}, n 240")
def check_scatter(known: Known, metric: str, dimension: str, value: str) -> bool:
    return near(value, known.within(metric, dimension))


@sentence(
    r"Spearman's ρ between the metrics' scores, each pair on the answers that both scored \(240 have all\), blue where it is "
    r"positive, orange where it is negative; blank is undefined\. Metrics whose scores go together, or in opposite directions, "
    r"stand together; in the tree, the further right two branches meet, the weaker their correlations, whatever the sign \(average "
    r"linkage\)\. The numbers of the columns are those of the rows\. Metrics that nearly repeat each other are not "
    r"independent evidence\."
)
def check_matrix(known: Known) -> bool:
    matrix = known.study.matrix
    assert matrix is not None
    return all(
        value is not None and abs(value - rho(known.scores[first], known.scores[second])) < 1e-9
        for first, line in zip(matrix.metrics, matrix.values, strict=True)
        for second, value in zip(matrix.metrics, line, strict=True)
    ) and {matrix.metrics[place] for place in matrix.merges[0][:2]} == {"length", "system"}


# Raters, bias, disagreements


@sentence(
    rf"{M} scores answers (?:of system (\w)|with more response characters) (higher|lower) than others with equal ratings of every dimension \({N} \[{N}, {N}\]\)\."
)
def check_bias(known: Known, metric: str, system: str | None, how: str, value: str, low: str, high: str) -> bool:
    given = known.length if system is None else (known.systems == system).astype(float)
    own = partial_rho(known, known.scores[metric], given, np.arange(len(given)))
    drawn = [partial_rho(known, known.scores[metric], given, rows) for rows in known.draws()[:150]]
    half = 1.96 * float(np.std(drawn))
    return (
        near(value, own, by=0.02)
        and (how == "higher") == (own > 0)
        and near(low, own - half, by=0.05)
        and near(high, own + half, by=0.05)
        and (number(low) > 0 or number(high) < 0)
    )


def cronbach(given: np.ndarray) -> float:
    """Reliability of the mean of three raters."""
    return 3 / 2 * (1 - given.var(axis=0, ddof=1).sum() / given.sum(axis=1).var(ddof=1))


def partial_rho(known: Known, score: np.ndarray, given: np.ndarray, rows: np.ndarray) -> float:
    """Spearman's partial correlation with noisy ratings (Fuller 1987, section 2.2), by the inverse of all correlations."""
    columns = [score, given, *(known.ratings[name] for name in DIMENSIONS)]
    together = np.corrcoef(stats.rankdata([column[rows] for column in columns], axis=1))
    noise = np.sqrt([1 - cronbach(known.given[name]) for name in DIMENSIONS])
    left = [(known.given[name] - known.given[name].mean(axis=1, keepdims=True)).ravel() for name in DIMENSIONS]
    together[2:, 2:] -= np.outer(noise, noise) * np.corrcoef(left)
    precision = np.linalg.inv(together)
    return float(-precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1]))


@sentence(
    r"Spearman's partial correlation of the score with a property of the answer, given its ratings of all dimensions: above 0, "
    r"answers with more of the property, or of the group, get better scores than equally rated others\. What nobody rated is not "
    rf"held equal\. Corrected for the noise of the ratings \(reliability {N} in the least reliable dimension\)\. A bias is shown if the interval excludes 0 after Bonferroni's correction for the "
    r"properties of a metric\. biases\.csv has each dimension held equal by itself\."
)
def check_reliability(known: Known, value: str) -> bool:
    return near(value, min(cronbach(known.given[name]) for name in DIMENSIONS))


@sentence(r"the scores order the answers as the property does, or the other way: length, response characters")
def check_same(known: Known) -> bool:
    return bool((known.scores["length"] == known.length).all())


@sentence(
    r"The widest gaps in each dimension \((\d+)\) between where a metric and where the raters place an answer, from 0 \(worst\) to 1 "
    r"\(best\) among all answers with both\. They are for reading: what did the metric miss, or the raters\?"
)
def check_gaps(known: Known, count: str) -> bool:
    found = known.study.disagreements
    for dimension in DIMENSIONS:
        rows = [row for row in found if row.dimension == dimension]
        ranks = [(stats.rankdata(side) - 1) / 239 for side in (known.scores[rows[0].metric], known.ratings[dimension])]
        gaps = np.abs(ranks[0] - ranks[1])
        widest = sorted(gaps)[-len(rows) :]
        if not np.allclose(sorted(gaps[int(row.id)] for row in rows), widest):
            return False
    return int(count) == len(found)


@sentence(r"3 raters: r0, r1, r2\.")
def check_raters(known: Known) -> bool:
    return known.given["accuracy"].shape == (240, 3)


@sentence(
    r"Spearman's ρ, within each system, then the mean, with the mean rating of the other raters: the metric's, then the rater's, on the same answers\."
)
def check_metric_vs_raters(known: Known) -> bool:
    rows = known.study.metric_vs_raters
    for row in rows:
        place = int(row.rater[1])
        table = known.given[row.dimension]
        others = np.delete(table, place, axis=1).mean(axis=1)
        for scores, value in ((known.scores[row.metric], row.metric_value), (table[:, place], row.rater_value)):
            own = [rho(scores[known.systems == name], others[known.systems == name]) for name in "abc"]
            if value is None or abs(value - np.mean(own)) > 1e-9:
                return False
    return len(rows) == 2 * 3 * 5


@sentence(r"So many raters' mean would be as near to the true quality of the answers as the metric: .*")
def check_worth(known: Known) -> bool:
    for row in known.study.worth_in_raters:
        table, scores = known.given[row.dimension], known.scores[row.metric]
        # Cronbach's alpha; Spearman and Brown for one rating.
        reliable = 3 / 2 * (1 - table.var(axis=0, ddof=1).sum() / table.sum(axis=1).var(ddof=1))
        single = reliable / (3 - 2 * reliable)
        shared = max(0.0, float(np.corrcoef(scores, table.mean(axis=1))[0, 1]) / reliable**0.5) ** 2
        own = shared * (1 - single) / (single * (1 - shared))
        if row.raters is not None and abs(row.raters - own) > 0.02:
            return False
    return True


@sentence(r"Alternative annotator test \(Calderon, Reichart and Dror 2025\)\. .*")
def check_annotators(known: Known) -> bool:
    # A metric that sees the truth with more noise than a rater, beside whom .2 is granted, and one that sees nothing.
    rows = {(row.metric, row.dimension): row for row in known.study.alternative_annotators}
    noise = rows["noise", "accuracy"].advantage
    seeing = rows["knows-accuracy", "accuracy"].advantage
    return noise is not None and seeing is not None and noise < seeing


# The checklist and the methods


@sentence(
    r"What readers of a study with raters want to know: items of GRRAS \(Kottner et al\. 2011\) and of the Human Evaluation Datasheet "
    r"\(HEDS: Shimorina and Belz 2022\)\. The data tells some; what only people know comes from study\.toml, beside the ratings\. "
    r"Something is missing from (\d+) of (\d+) items\."
)
def check_checklist(known: Known, lacking: str, items: str) -> bool:
    return int(items) == len(known.study.checklist) and int(lacking) == sum(
        bool(row.missing) for row in known.study.checklist
    )


@sentence(
    r"At least 1,000 bootstrap resamples and permutations, seed 0\.|Conclusions are drawn from Spearman's ρ, within each system, then "
    r"the mean\."
)
def check_settings(known: Known) -> bool:
    study = known.study
    return (study.resamples, study.seed, study.coefficient, study.level) == (RESAMPLES, 0, "spearman", "within-system")


@sentence(
    r"Metrics were compared in pairs \(perm-inputs, for these systems on other questions; boot-inputs, for these systems on other "
    r"questions; two-sided\) on the answers that both scored, with Holm's correction within each dimension and within the mean of "
    r"dimensions, for each coefficient \(up to 15 comparisons each\)\."
)
def check_tests(known: Known) -> bool:
    return {row.test for row in known.study.comparisons} == {"perm-inputs", "boot-inputs"}


# Captions, legends and notes


def rows_of_table(page: str, start: str) -> list[list[str]]:
    """Rows of a table of the docs, whose first cells are given."""
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith(start)]


def percents(rows: list[list[str]], place: int) -> list[float]:
    return [float(part) for row in rows for part in re.findall(r"\d+\.\d", row[place])]


@sentence(
    r"Within systems and over all answers, the interval of the best metric is slightly too long \(coverage (\d+) to (\d+)%, not 95%\)\."
)
def check_best_interval(known: Known, low: str, high: str) -> bool:
    del known
    rows = [row for row in rows_of_table("study.md", "| ") if row[0] in ("within-system", "global") and len(row) == 9]
    simulated = percents(rows, 8)
    return (round(min(simulated)), round(max(simulated))) == (int(low), int(high)) and min(simulated) > 95


BASELINE_NOTE = (
    r"The interval of a metric less the baseline is somewhat too long where systems hardly differ \(it holds the true difference in "
    r"(\d+) to (\d+)% of simulated studies\) and somewhat too short with 20 questions for 20 systems \((\d+)%\)\. With 30 questions or "
    r"fewer the baseline itself can be too weak by \.(\d\d): read a small advantage with that in mind\."
)


@sentence(BASELINE_NOTE)
def check_baseline_note(known: Known, low: str, high: str, short: str, weak: str) -> bool:
    del known
    rows = [row for row in rows_of_table("study.md", "| ") if len(row) == 7 and row[0].isdigit() and row[2][:1] in "0."]
    intervals = [row for row in rows if row[4].endswith("%")]
    equal = percents([row for row in intervals if row[2] == "0"], 4)
    many = percents([row for row in intervals if row[:2] == ["20", "20"]], 4)
    errors = [float(row[6]) for row in rows if not row[6].endswith("%") and float(row[1]) <= 30]
    return (
        (round(min(equal)), round(max(equal))) == (int(low), int(high))
        and [round(one) for one in many] == [int(short)]
        and round(-min(errors), 2) == int(weak) / 100
    )


@sentence(
    r"Spearman's ρ by how answers are grouped\. The baseline reads no answer: it scores each one by the mean rating, in the same "
    r"dimension, of its system and data set on other questions \(part by part of the questions, then the mean\)\. What a metric reaches "
    r"over all answers together is agreement about answers only as far as it exceeds the baseline; their difference is over all "
    rf"answers together\. {BASELINE_NOTE}"
)
def check_side_by_side(known: Known, *figures: str) -> bool:
    # By this definition: questions in ten parts at random, the systems' means on the other parts.
    generator = np.random.default_rng(3)
    for row in known.study.baselines:
        if row.metric != "noise" or row.dimension not in DIMENSIONS:
            continue
        ratings, found = known.ratings[row.dimension], []
        for _ in range(40):
            part = generator.permutation(np.arange(80) % 10)[known.questions]
            for one in range(10):
                others = {name: ratings[(known.systems == name) & (part != one)].mean() for name in "abc"}
                guessed = np.array([others[name] for name in known.systems[part == one]])
                found.append(rho(guessed, ratings[part == one]))
        if row.baseline is None or abs(row.baseline - np.mean(found)) > 0.01:
            return False
    return check_baseline_note(known, *figures)


@sentence(r"[●■▲] ([abc])")
def check_systems_in_legend(known: Known, system: str) -> bool:
    return system in known.systems


@sentence(rf"[●■▲◆] {M}")
def check_metrics_in_legend(known: Known, metric: str) -> bool:
    return metric in known.ranked("mean")[:4]


@sentence(r"Correlations between (\d) metrics")
def check_metrics_in_matrix(known: Known, count: str) -> bool:
    del known
    return int(count) == len(METRICS)


@sentence(
    r"Shares of the answers that both rated, by the absolute difference of the two ratings, in the bins of the imapScore paper \(Wang et "
    r"al\. 2024\) or their like on another scale\."
)
def check_differences(known: Known) -> bool:
    for row in known.study.differences:
        table = known.given[row.dimension]
        pairs = [(int(row.first[1]), int(row.second[1]))] if row.first != "*" else list(combinations(range(3), 2))
        apart = np.concatenate([np.abs(table[:, one] - table[:, other]) for one, other in pairs])
        # The names of the paper's bins list the differences on 0..5 by .5.
        shares = [np.isin(apart, [float(part) for part in name.split(", ")]).mean() for name in row.bins]
        if not np.allclose(shares, list(row.bins.values())) or not np.isclose(sum(shares), 1):
            return False
        if not np.isclose(row.mean_absolute, apart.mean()) or row.n != len(apart):
            return False
    return len(known.study.differences) == 8


@sentence(
    r"Holm's correction is over the metrics and facets of a dimension; numbers of tests: mean of dimensions (\d+), accuracy (\d+), "
    r"completeness (\d+)\."
)
def check_numbers_of_tests(known: Known, mean: str, *single: str) -> bool:
    # Facets: dimension (for the mean only), system, response characters; the metrics of the comparisons by group.
    metrics = {row.metric for row in known.study.slices}
    return int(mean) == 3 * len(metrics) and {int(count) for count in single} == {2 * len(metrics)}


@sentence(
    r"Intervals of 95% \(bca\): bias-corrected and accelerated bootstrap, resamples of questions \(all answers to one together\); for these "
    r"systems on other questions\."
)
def check_intervals(known: Known) -> bool:
    # The spread of the resamples of questions is that of the draws here.
    rows = [row for row in known.study.correlations if row.low is not None and row.high is not None]
    for row in rows:
        if (row.level, row.coefficient, row.system) == ("within-system", "spearman", "*") and row.metric in METRICS[
            :-1
        ]:
            name = "mean" if row.dimension == "*" else row.dimension
            half = 1.96 * known.replicates(row.metric, name).std()
            if not 0.85 < ((row.high or 0) - (row.low or 0)) / 2 / half < 1.2:
                return False
    return {row.interval for row in rows} == {"bca"} and {row.units for row in rows} == {"questions"}


@sentence(
    r"With 15 questions, intervals within questions are slightly too short \(coverage (\d+)%, not 95%\); with 60 they hold\."
)
def check_few_questions(known: Known, share: str) -> bool:
    del known
    rows = rows_of_table("study.md", "| within-question")
    few, many = (percents([row for row in rows if row[1].endswith(f"x {count}")], 4) for count in (15, 60))
    return round(min(few)) == int(share) and min(many) >= 93 and max(few + many) <= 97


@sentence(
    r"Ratings are means over the raters of an answer\. An answer that a metric failed on is left out of the coefficients of that metric, "
    r"and counted\."
)
def check_means(known: Known) -> bool:
    rated = known.study.rated
    means = np.column_stack([known.given[name].mean(axis=1) for name in DIMENSIONS])
    return np.allclose(rated.ratings, means) and all(row.n_missing == 0 for row in known.study.correlations)


@sentence(
    r"Answers were grouped in (\d) ways: within each system, then the mean; all answers together; within each question, then the mean; "
    r"systems' means\."
)
def check_levels(known: Known, count: str) -> bool:
    levels = {row.level for row in known.study.correlations}
    return levels == {"within-system", "global", "within-question", "system"} and len(levels) == int(count)


@sentence(
    r"In the conclusions the interval of the best metric allows for its having been picked: it is one of simultaneous intervals for all "
    r"metrics \(correlations\.csv has them\)\. Intervals in figures and tables are those of single metrics\."
)
def check_which_interval(known: Known) -> bool:
    # The conclusion has the wider one, which `check_best` measures; the forest plot has the other.
    (row,) = [
        row
        for row in known.study.correlations
        if (row.metric, row.level, row.coefficient, row.system, row.dimension)
        == (known.ranked("mean")[0], "within-system", "spearman", "*", "*")
    ]
    assert row.low is not None
    assert row.simultaneous_low is not None
    said = re.search(rf"\[{N}, {N}\]", known.study.conclusions[0])
    return said is not None and near(said[1], row.simultaneous_low) and row.simultaneous_low < row.low


@sentence(r"The page has no texts of them, because the runs were not given\.|How the data was joined is not recorded\.")
def check_not_given(known: Known) -> bool:
    # The page is made from arrays: there is no run and no ratings file.
    return known.study.account == ()


SAID |= {
    "caption: all figures of a list below": "Neighbours in the order:",  # test_neighbours_are_neighbours
    "caption: reasons, each of which has a check": "Undefined or left out:",
    "caption: forest plot of the mean": "mean of dimensions",
    "caption: matrix of the mean": "Differences that hold after Holm's correction, mean of dimensions",
    "caption: matrix of accuracy": "Differences that hold after Holm's correction, accuracy",
    "caption: matrix of completeness": "Differences that hold after Holm's correction, completeness",
    "caption: groups by length": "response characters, mean of dimensions",
    "definition: parts of a forest plot": (
        "Spearman's ρ, within each system, then the mean. Each line is a metric: the dot is its coefficient, the bar its 95% "
        "interval, n the number of answers with a rating and a score, failed the number of answers with a rating but no score, "
        "which are left out."
    ),
    "definition: cells of a table": (
        "Spearman's ρ, within each system, then the mean. With each coefficient: its 95% interval (for these systems on other "
        "questions), and n."
    ),
    "definition: ceiling": (
        "What a metric that knows the truth is expected to reach against the mean of these raters, who do not fully agree with "
        "each other. In ranks it is one without ties: where most ratings are the same, a metric that ties the same answers can "
        "pass it."
    ),
    "method: intervals of agreement": (
        "Intervals of 95% of agreement and of ceilings: the variance comes from leaving out each question, with all its answers, "
        "in turn, and the interval is Wilson's score interval of a share with that variance."
    ),
}
CHECKS += [(re.escape(text), lambda known: True) for text in SAID.values()]


def read(page: str) -> _Texts:
    found = _Texts()
    found.feed(page[page.index("<main") if "<main" in page else page.index("<section") :])
    return found


@pytest.fixture(scope="module")
def known() -> tuple[Known, _Texts]:
    study = compute_study(draw(np.random.default_rng(1), 80), title="known", signatures={}, resamples=RESAMPLES)
    return Known(study), read(render_study(study))


@pytest.mark.slow
def test_neighbours_are_neighbours(known: tuple[Known, _Texts]):
    study, page = known
    starts = [place for place, text in enumerate(page.texts) if text == "Neighbours in the order:"]
    assert len(starts) == 3
    for start, dimension in zip(starts, ("mean", *DIMENSIONS), strict=True):
        order = [*study.ranked(dimension), "system"]  # Last: it has no coefficient.
        found = [re.findall(rf"\b{M}\b", text)[:2] for text in page.texts[start + 1 : start + len(METRICS)]]
        assert [set(pair) for pair in found] == [set(pair) for pair in pairwise(order)]


@pytest.mark.slow
def test_each_sentence_is_true(known: tuple[Known, _Texts]):
    study, page = known
    untrue, unchecked, used = [], [], set[str]()
    for text in page.texts:
        for pattern, check in CHECKS:
            if found := re.fullmatch(pattern, text):
                used.add(pattern)
                if not check(study, *found.groups()):
                    untrue.append(text)
                break
        else:
            unchecked.append(text)
    assert not unchecked, "\n".join(unchecked)
    assert not untrue, "\n".join(untrue)
    assert used == {pattern for pattern, _ in CHECKS}
