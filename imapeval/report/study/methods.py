"""The methods that a study used, and the publications that describe them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from imapeval.report.formatting import COEFFICIENTS, LEVELS, UNITS, pluralize
from imapeval.study.agreement.measure import describe_left_out, find_title
from imapeval.study.correlation.coefficients import all_coefficients
from imapeval.study.correlation.pair_coefficients import PairwiseAccuracy
from imapeval.study.correlation.product_moment import Spearman
from imapeval.study.intervals.coverage import describe_level_coverage, describe_open_ends

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from imapeval.study.data.findings import Comparison, Units
    from imapeval.study.summary.compute import Study

_DEUTSCH_2021 = (
    "Deutsch, Dror and Roth 2021, A Statistical Analysis of Summarization Evaluation Metrics Using Resampling Methods, "
    "TACL 9"
)
_SHROUT = (
    "Shrout and Fleiss 1979, Intraclass Correlations: Uses in Assessing Rater Reliability, Psychological Bulletin 86"
)
_KRIPPENDORFF = "Krippendorff 2019, Content Analysis, 4th edition, chapter 12"
_GWET = "Gwet 2014, Handbook of Inter-Rater Reliability, 4th edition"

SOURCES: Mapping[str, str] = {
    "levels": f"{_DEUTSCH_2021} (between systems, within questions); {PairwiseAccuracy.source} (within systems, all "
    "together)",
    "perm-inputs": f"{_DEUTSCH_2021}; among answers, what each adds to a coefficient is swapped",
    "boot-inputs": _DEUTSCH_2021,
    "perm-systems": f"{_DEUTSCH_2021}; what each system adds to a coefficient is swapped",
    "holm": "Holm 1979, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6",
    "bca": "Efron 1987, Better Bootstrap Confidence Intervals, Journal of the American Statistical Association 82; "
    "Hesterberg 2015, What Teachers Should Know About the Bootstrap, The American Statistician 69",
    "jackknife": "Jaeckel 1972, The Infinitesimal Jackknife, Bell Laboratories MM 72-1215-11; Efron 1982, The "
    "Jackknife, the Bootstrap and Other Resampling Plans",
    "jackknife-systems": "Tukey 1958, Bias and Confidence in Not-Quite Large Samples, The Annals of Mathematical "
    "Statistics 29",
    "simultaneous": "Hothorn, Bretz and Westfall 2008, Simultaneous Inference in General Parametric Models, "
    "Biometrical Journal 50",
    "bootstrap": "Efron and Tibshirani 1993, An Introduction to the Bootstrap",
    "krippendorff_alpha_nominal": _KRIPPENDORFF,
    "krippendorff_alpha_ordinal": _KRIPPENDORFF,
    "krippendorff_alpha_interval": _KRIPPENDORFF,
    "cohen_kappa": "Cohen 1960, A Coefficient of Agreement for Nominal Scales, Educational and Psychological "
    "Measurement 20",
    "fleiss_kappa": "Fleiss 1971, Measuring Nominal Scale Agreement among Many Raters, Psychological Bulletin 76",
    "gwet_ac1": _GWET,
    "gwet_ac2_quadratic": _GWET,
    **{f"icc_{model}_{unit}": _SHROUT for model in (1, 2) for unit in ("1", "k")},
    "bins": "Wang, Zhao, Wu and Zheng 2024, imapScore: Medical Fact Evaluation Made Easy, Findings of ACL",
    "ceiling": f"{Spearman.source}; Lord and Novick 1968, Statistical Theories of Mental Test Scores",
    "attenuation": Spearman.source,
    "alternative_annotator": "Calderon, Reichart and Dror 2025, The Alternative Annotator Test for LLM-as-a-Judge: How "
    "to Statistically Justify Replacing Human Annotators with LLMs, ACL",
    "heterogeneity": "Hedges and Olkin 1985, Statistical Methods for Meta-Analysis, chapter 11",
    "outliers": "Mathur, Baldwin and Cohn 2020, Tangled up in BLEU: Reevaluating the Evaluation of Automatic Machine "
    "Translation Evaluation Metrics, ACL; Leys et al. 2013, Detecting Outliers: Do Not Use Standard Deviation around "
    "the Mean, Use Absolute Deviation around the Median, Journal of Experimental Social Psychology 49",
    "clustering": "Sokal and Michener 1958, A Statistical Method for Evaluating Systematic Relationships, University "
    "of Kansas Science Bulletin 38 (average linkage)",
}
"""Publications of methods other than coefficients, by their names in the findings."""

_INTERVALS = {
    "bca": f"bias-corrected and accelerated bootstrap, resamples of {{drawn}}; {UNITS['questions']}",
    "bootstrap": f"percentile bootstrap, resamples of {{drawn}}; {UNITS['questions']}",
    "jackknife": f"infinitesimal jackknife over {{drawn}}, where many answers are taken together; {UNITS['questions']}",
    "jackknife-systems": f"jackknife, one system after the other left out; {UNITS['systems']}",
}
"""Intervals of correlations, by their name in the findings, with "-systems" where systems are the sample."""

_TEST_UNITS: Mapping[str, Units] = {
    "perm-inputs": "questions",
    "boot-inputs": "questions",
    "perm-systems": "systems",
}
"""The sample that a test by resampling is about."""


def describe_methods(study: Study) -> list[str]:
    """Return sentences on how the numbers of the study were computed."""
    rated = study.rated
    shared = len(set(rated.questions.tolist())) < len(rated.ids)
    drawn = "questions (all answers to one together)" if shared else "answers (each to a question of its own)"
    sentences = [
        f"Conclusions are drawn from {COEFFICIENTS[study.coefficient]}, {LEVELS[study.level]}.",
        f"At least {study.resamples:,} bootstrap resamples and permutations, seed {study.seed}.",
        *(
            f"Intervals of 95% ({interval}): {_INTERVALS[interval].format(drawn=drawn)}."
            for interval in _list_intervals(study)
        ),
        *describe_level_coverage((row.level, row.units) for row in study.correlations if row.low is not None),
        *describe_open_ends(study.correlations),
        "Ratings are means over the raters of an answer. An answer that a metric failed on is left out of the "
        "coefficients of that metric, and counted.",
    ]
    if any(row.low is not None for row in (*study.agreements, *study.ceilings)):
        sentences.append(
            "Intervals of 95% of agreement and of ceilings: the variance comes from leaving out "
            f"{describe_left_out(rated)} in turn, and the interval is Wilson's score interval of a share with that "
            "variance."
        )
    levels = list(dict.fromkeys(LEVELS[row.level] for row in study.correlations))
    if len(levels) > 1:
        sentences.append(f"Answers were grouped in {len(levels)} ways: {'; '.join(levels)}.")
    if study.comparisons:
        tests = "; ".join(dict.fromkeys(describe_test(row.test) for row in study.comparisons))
        sentences.append(
            f"Metrics were compared in pairs ({tests}; two-sided) on the answers that both scored"
            f"{describe_families(study.comparisons)}."
        )
    if len(rated.metrics) > 1 and study.correlations:
        sentences += [
            "In the conclusions the interval of the best metric allows for its having been picked: it is one of "
            "simultaneous intervals for all metrics (correlations.csv has them). Intervals in figures and tables are "
            "those of single metrics.",
        ]
    if rated.lower_is_better:
        sentences.append(f"Scores for which low is good are reversed: {', '.join(sorted(rated.lower_is_better))}.")
    return sentences


def describe_test(test: str) -> str:
    """Return the name of a test, with what it speaks about."""
    return f"{test}, {UNITS[_TEST_UNITS[test]]}"


def describe_families(rows: Sequence[Comparison]) -> str:
    """Return over which comparisons Holm's correction was made, to end a sentence with; "" if none has a p-value."""
    sizes = Counter((row.coefficient, row.level, row.dimension) for row in rows if row.p is not None)
    if not sizes:
        return ""
    most = max(sizes.values())
    number = ("" if min(sizes.values()) == most else "up to ") + pluralize(most, "comparison")
    if len(sizes) < 2:
        return f", with Holm's correction over {number}"
    dimensions = {dimension for *_, dimension in sizes}
    within = " within each dimension and within the mean of dimensions" if len(dimensions) > 1 else ""
    if len(sizes) > len(dimensions):
        within += f"{',' if within else ''} for each coefficient"
    return f", with Holm's correction{within} ({number} each)"


def _list_intervals(study: Study) -> list[str]:
    found = (
        f"{row.interval}-systems" if row.units == "systems" else row.interval
        for row in study.correlations
        if row.interval is not None
    )
    return list(dict.fromkeys(found))


def list_sources(study: Study) -> dict[str, str]:
    """Return the publications of the methods of the study, by their names on the page."""
    used = {row.coefficient for row in study.correlations}
    found = {COEFFICIENTS[name]: one.source for name, one in all_coefficients().items() if name in used and one.source}
    for name, title in _list_methods(study):
        if name in SOURCES:
            found.setdefault(title, SOURCES[name])
    return found


def _list_methods(study: Study) -> Iterable[tuple[str, str]]:
    """Yield every method that the study used, coefficients aside, with its name on the page."""
    if study.correlations:
        yield "levels", "levels of correlation"
    for interval in _list_intervals(study):
        yield interval, f"intervals: {interval}"
    if any(row.simultaneous_low is not None for row in study.correlations) and len(study.rated.metrics) > 1:
        yield "simultaneous", "simultaneous intervals"
    for test in dict.fromkeys(row.test for row in study.comparisons):
        yield test, f"test: {test}"
    # For other systems, one after the other is left out, as for correlations between systems.
    intervals = ("jackknife-systems" if row.test == "perm-systems" else row.interval for row in study.comparisons)
    for interval in dict.fromkeys(intervals):
        yield interval, f"interval of a difference: {interval}"
    if study.comparisons:
        yield "holm", "Holm's correction"
    for statistic in dict.fromkeys(row.statistic for row in study.agreements if row.value is not None):
        yield statistic, find_title(statistic)
    if study.differences:
        yield "bins", "bins of differences between raters"
    if any(row.value is not None for row in study.ceilings):
        yield "ceiling", "ceiling"
    if any(row.corrected is not None for row in study.corrected):
        yield "attenuation", "correction for attenuation"
    if any(row.reason is None for row in study.alternative_annotators):
        yield "alternative_annotator", "alternative annotator test"
    if any(row.p is not None for row in study.heterogeneities):
        yield "heterogeneity", "differences between groups of answers"
    if study.outliers:
        yield "outliers", "outliers among systems"
    if study.matrix is not None:
        yield "clustering", "clustering of metrics"
