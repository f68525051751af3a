"""The whole study on simulated answers, of which it is known what should come out."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from imapeval.errors import UsageError
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import ALL, Comparison, Correlation, Level
from imapeval.study.data.rated import Rated
from imapeval.study.data.scales import RatingScale
from imapeval.study.intervals.coverage import (
    BASELINE,
    ENOUGH_FOR_MEANS,
    SIMULTANEOUS,
    describe_ceiling_coverage,
    describe_level_coverage,
)
from imapeval.study.number_format import format_number
from imapeval.study.summary.compute import Study, available_levels, compute_study
from imapeval.study.summary.conclusions import describe_few_questions, rank_metrics, write_conclusions
from tests.study.answers import make_rated


def rate(
    *,
    questions: int = 80,
    systems: int = 3,
    raters: int = 3,
    metrics: tuple[str, ...] = ("good", "poor"),
) -> Rated:
    rng = np.random.default_rng(1)
    n = questions * systems
    truth = rng.normal(3, 1, n)
    by_rater = np.clip(np.round(2 * (truth[:, None] + rng.normal(0, 0.5, (n, raters)))) / 2, 0, 5)
    noise = {"good": 0.5, "poor": 4.0, "twin": 0.5}
    scores = np.stack([truth + rng.normal(0, noise[name], n) for name in metrics], axis=1)
    return make_rated(
        scores,
        questions=np.tile(np.arange(questions), systems),
        systems=np.arange(n) // questions,
        metrics=metrics,
        raters=tuple(f"r{number}" for number in range(raters)),
        by_rater={"accuracy": by_rater},
        scales={"accuracy": RatingScale(0, 5, 0.5)},
        facets={"language": tuple("en" if number % 2 else "zh" for number in range(n))},
    )


def keep_means(rated: Rated) -> Rated:
    """Return the same without what each rater gave: the ceilings from that take half of a study's time."""
    return replace(rated, raters=(), by_rater={})


@pytest.fixture(scope="module")
def small() -> Study:
    """A study of 20 questions with single raters and an entry for the checklist; only read."""
    return compute_study(rate(questions=20), title="t", signatures={}, about={"training": "None."}, resamples=50)


@pytest.mark.slow
def test_the_best_of_metrics_that_do_not_agree():
    rated = rate()
    shuffled = replace(rated, scores=np.random.default_rng(1).permuted(rated.scores, axis=0))
    said = "includes 0: agreement with the raters is not shown."
    first, *others = compute_study(shuffled, title="t", signatures={}, resamples=200).conclusions
    assert "which chance may explain" in first
    assert any(said in sentence for sentence in others)
    first, *others = compute_study(rated, title="t", signatures={}, resamples=200).conclusions
    assert "agrees best with the raters" in first
    assert not any(said in sentence for sentence in others)


def test_the_study_finds_what_was_put_in():
    rated = rate()
    study = compute_study(rated, title="t", signatures={"good": "good|v:1", "poor": "poor|v:1"}, resamples=200)
    assert (study.level, study.coefficient) == ("within-system", "spearman")
    assert {row.level for row in study.correlations} == {"within-system", "global", "within-question", "system"}
    best, second = rank_metrics(study.correlations, level="within-system", coefficient="spearman")
    assert (best.metric, second.metric) == ("good", "poor")
    assert study.conclusions[0].startswith("Of 2 metrics, good agrees best with the raters: Spearman's rho within")
    # The best was picked, so that its interval is the wider one.
    ends = [best.simultaneous_low, best.low, best.high, best.simultaneous_high]
    known = [end for end in ends if end is not None]
    assert known == sorted(set(known))
    assert len(known) == 4
    ends = f"{format_number(known[0])}, {format_number(known[-1])}"
    assert f"[{ends}], n = 240; the interval allows for the choice of the best." in study.conclusions[0]
    assert study.conclusions[1] == "good agrees better than poor (after Holm's correction)."
    pooled, within = [row for row in study.ceilings if row.coefficient == "pearson"]
    assert (pooled.level, within.level) == ("global", "within-system")
    assert pooled.value > 0.9
    # The ceiling in words is that of the coefficient and the level that conclusions are drawn from.
    said = [sentence for sentence in study.conclusions if "A perfect metric could reach" in sentence]
    assert all("could reach Spearman's rho of about" in sentence for sentence in said)
    assert all("within systems with the mean of" in sentence for sentence in said)
    assert said
    assert study.matrix.n == 240
    assert {row.facet for row in study.slices} >= {"language", "system"}
    assert {row.metric for row in study.disagreements} == {"good"}
    assert [row.metric for row in study.corrected if row.coefficient == "pearson"] == ["good", "poor"]
    assert not any("Not computed" in sentence for sentence in study.conclusions)


def test_the_seed_decides():
    rated = rate(questions=20)
    first, second, other = (
        compute_study(rated, title="t", signatures={}, resamples=100, seed=seed) for seed in (7, 7, 8)
    )
    assert first.correlations == second.correlations != other.correlations
    assert first.comparisons == second.comparisons != other.comparisons
    assert first.conclusions == second.conclusions


def test_two_metrics_that_are_as_good():
    study = compute_study(keep_means(rate(metrics=("good", "twin"))), title="t", signatures={}, resamples=200)
    best, worse = (
        row.metric for row in rank_metrics(study.correlations, level="within-system", coefficient="spearman")
    )
    assert f"{best} cannot be told apart from {worse} (after Holm's correction)." in study.conclusions
    assert any("cannot be told apart (p" in sentence for sentence in study.conclusions)


def test_one_system_and_one_metric():
    rated = rate(systems=1, metrics=("good",))
    assert available_levels(rated) == ("global",)
    study = compute_study(rated, title="t", signatures={}, resamples=100)
    assert (study.level, study.comparisons, study.matrix) == ("global", (), None)
    assert study.conclusions[0].startswith("The agreement of good with the raters: Spearman's rho over all answers")
    assert study.conclusions[-1].startswith("Not computed: within-system correlations")


def test_averages_only_and_a_constant_metric():
    rated = rate(raters=1, systems=2)
    averages = replace(rated, raters=(), by_rater={}, scales={}, facets={})
    averages.scores[:, 1] = 0.5
    study = compute_study(averages, title="t", signatures={}, resamples=100)
    assert study.conclusions[0].startswith("The agreement of good with the raters: Spearman's rho within systems")
    flat = [row for row in study.correlations if (row.metric, row.level, row.system) == ("poor", "global", ALL)]
    assert flat[0].reason == "the score is constant (0.5)"
    assert any("only average ratings are known" in sentence for sentence in study.conclusions)
    averages.scores[:] = 0.5
    study = compute_study(averages, title="t", signatures={}, resamples=100)
    assert study.conclusions[0].startswith("No metric has a defined correlation with the ratings within systems;")
    assert {row.metric for row in study.biases} == {"good", "poor"}


def test_an_accuracy_by_which_nothing_was_compared_is_told():
    rated = rate(metrics=("good", "poor", "twin"), questions=20)
    rated.scores[:, 2] = 0.5
    study = compute_study(rated, title="t", signatures={}, resamples=50, against="twin")
    # Each accuracy of "twin" is undefined, so that there is nothing to compare the others with.
    assert {row.coefficient for row in study.comparisons} == {"spearman"}
    assert "Metrics were not compared by pairwise accuracy: that of twin is undefined." in study.conclusions


def test_nothing_rated():
    rated = rate()
    rated.ratings[:] = np.nan
    with pytest.raises(UsageError, match="no answer has a rating"):
        compute_study(rated, title="t", signatures={})


@pytest.mark.slow
def test_a_comparison_that_was_planned():
    rated = rate(metrics=("good", "poor", "twin"))
    all_pairs = compute_study(rated, title="t", signatures={}, resamples=200)
    planned = compute_study(rated, title="t", signatures={}, resamples=200, against="poor")
    families = Counter((row.coefficient, row.level) for row in all_pairs.comparisons)
    accuracies = [("pairwise_accuracy", "within-question"), ("soft_pairwise_accuracy", "system")]
    assert families == dict.fromkeys([("spearman", "within-system"), *accuracies], 3)
    assert {row.first for row in planned.comparisons} == {"poor"}
    # Which of "good" and "twin" is better is not shown, and not even tested where each is compared with "poor".
    assert "agrees best with the raters in these answers: " in planned.conclusions[0]
    assert planned.conclusions[0] == all_pairs.conclusions[0]
    assert any(
        sentence.startswith("The agreement of poor with the raters: Spearman's rho") for sentence in planned.conclusions
    )
    best = [row.metric for row in rank_metrics(planned.correlations, level="within-system", coefficient="spearman")][:2]
    assert f"poor agrees worse than {', '.join(best)} (after Holm's correction)." in planned.conclusions
    with pytest.raises(UsageError, match="'other'"):
        compute_study(rated, title="t", signatures={}, against="other")


@pytest.mark.slow
def test_metrics_that_cannot_be_compared_are_named():
    rated = rate(metrics=("good", "poor", "twin"))
    rated.scores[:, 1] = 0.5
    rated.scores[:5, 2] = np.nan
    study = compute_study(rated, title="t", signatures={}, resamples=100)
    assert study.conclusions[0].startswith("Of 2 metrics with a coefficient, ")
    assert (
        "poor has no defined correlation with the ratings within systems; see the reasons in the table of correlations."
        in (study.conclusions)
    )
    assert any(
        sentence.startswith("twin gave some rated answers no score (5 of 240)") for sentence in study.conclusions
    )
    assert ALL not in {row.dimension for row in study.corrected}

    rated = rate(metrics=("good", "poor", "twin"))
    rated.scores[::2, 2] = np.nan
    rated.scores[1::2, 1] = np.nan
    study = compute_study(rated, title="t", signatures={}, resamples=100, against="poor")
    assert "poor was not compared with twin; see the reasons in the table of comparisons." in study.conclusions
    assert any(" agrees better with the raters than poor" in sentence for sentence in study.conclusions)


def test_what_the_mean_of_dimensions_and_one_coefficient_hide():
    rated = rate(metrics=("good", "poor"))
    generator = np.random.default_rng(5)
    other = generator.normal(size=len(rated.ids))
    # "good" knows accuracy and "poor" completeness; that one is in a few answers far off, which ranks do not see.
    scores = np.column_stack([rated.scores[:, 0], 0.6 * other + generator.normal(size=len(other))])
    scores[np.argsort(rated.ratings[:, 0])[:2], 0] = 40
    both = replace(
        rated,
        scores=scores,
        dimensions=("accuracy", "completeness"),
        ratings=np.column_stack([rated.ratings[:, 0], other]),
        by_rater={},
        raters=(),
        scales={},
    )
    study = compute_study(both, title="t", signatures={}, resamples=200)
    rows = {(row.metric, row.dimension): row for row in study.correlations if row.level == "within-system"
            and row.coefficient == "spearman" and row.system == ALL}  # fmt: skip
    assert study.conclusions[0].startswith("Of 2 metrics, good ")
    accuracy, completeness = (format_number(rows["good", name].value or 0) for name in both.dimensions)
    assert study.conclusions[1].startswith(f"good by dimension: accuracy {accuracy} [")
    assert f"completeness {completeness} [" in study.conclusions[1]
    theirs = format_number(rows["poor", "completeness"].value or 0)
    assert f"on completeness poor ({theirs})" in study.conclusions[2]
    assert "by Pearson's r poor (" in study.conclusions[3]


def test_the_metric_that_others_are_compared_with_is_looked_into():
    names = ("good", "poor", "twin", "good", "poor", "twin", "good", "poor")
    rated = replace(keep_means(rate(metrics=names)), metrics=tuple("abcdefgh"))
    study = compute_study(rated, title="t", signatures={}, resamples=100, against="b")
    ranked = [row.metric for row in rank_metrics(study.correlations, level="within-system", coefficient="spearman")]
    assert ranked.index("b") >= 6
    assert study.against == "b"
    assert {row.metric for row in study.slices} == {*ranked[:5], "b"}
    assert {row.metric for row in study.disagreements} == {ranked[0], "b"}


@pytest.mark.parametrize(
    ("systems", "said"), [(3, "3 systems are too few to say anything of others"), (8, "about other systems")]
)
def test_conclusions_from_systems_are_about_other_systems(systems: int, said: str):
    rated = keep_means(rate(systems=systems, questions=15))
    study = compute_study(rated, title="t", signatures={}, resamples=100, level="system")
    assert f"n = {systems} systems" in study.conclusions[0]
    # The systems of this study do not differ.
    assert "agrees best" not in study.conclusions[0]
    assert any(said in sentence for sentence in study.conclusions)
    assert {row.units for row in study.correlations if row.level == "system" and "soft" not in row.coefficient} == {
        "systems"
    }
    assert {(row.coefficient, row.test) for row in study.comparisons} == {
        ("spearman", "perm-systems"),
        ("pairwise_accuracy", "perm-inputs"),
        ("soft_pairwise_accuracy", "boot-inputs"),
    }


@pytest.mark.parametrize(
    ("level", "systems", "metrics", "picked"),
    [
        ("within-system", 3, ("good", "poor"), True),
        ("within-system", 3, ("good",), False),
        ("within-question", 4, ("good", "poor"), False),
        ("system", 8, ("good", "poor"), False),
    ],
)
def test_what_is_known_of_an_interval_stands_where_it_is_quoted(
    level: Level, systems: int, metrics: tuple[str, ...], picked: bool
):
    rated = keep_means(rate(questions=15, systems=systems, metrics=metrics))
    said = compute_study(rated, title="t", signatures={}, resamples=50, level=level).conclusions
    assert (SIMULTANEOUS in said) == picked
    expected = describe_level_coverage([(level, "systems" if level == "system" else "questions")])
    assert [sentence for sentence in said if sentence in expected] == expected
    assert len(expected) == (level != "within-system")
    assert said[-1] == BASELINE
    # Three systems have no interval to say it of.
    few = compute_study(rated.take(range(45)), title="t", signatures={}, resamples=50, level="system").conclusions
    assert not any("other systems are slightly too long" in sentence for sentence in few)


def test_few_questions_are_said_first(small: Study):
    # 20 questions, 3 systems.
    assert "on 60 rated answers to 20 questions" in small.conclusions[0]
    assert f"fewer than {ENOUGH_FOR_MEANS}" in small.conclusions[0]
    ranked = rank_metrics(small.correlations, level="within-system", coefficient="spearman")
    best = ranked[0].metric
    rated = rate(questions=ENOUGH_FOR_MEANS)
    assert describe_few_questions(rated, ranked) == []
    # Only what the metric scored counts, and where none has a coefficient, what is rated.
    scores = rated.scores.copy()
    scores[rated.questions == 0, rated.metrics.index(best)] = np.nan
    (said,) = describe_few_questions(replace(rated, scores=scores), ranked)
    assert f"{3 * (ENOUGH_FOR_MEANS - 1)} rated answers to {ENOUGH_FOR_MEANS - 1} questions" in said
    assert describe_few_questions(replace(rated, scores=scores), []) == []
    # More questions of the same systems show nothing about others.
    assert describe_few_questions(rate(questions=2), [replace(ranked[0], units="systems")]) == []


def test_what_is_known_of_the_intervals_of_ceilings_and_agreement_is_concluded():
    rated = rate(questions=30, systems=1)
    right = {"accuracy": (rated.by_rater["accuracy"] > 3).astype(float)}
    rated = replace(rated, ratings=right["accuracy"].mean(axis=1, keepdims=True), by_rater=right, scales={})
    study = compute_study(rated, title="t", signatures={}, resamples=50)
    (ceilings,) = describe_ceiling_coverage(study.ceilings, rated)
    assert ceilings in study.conclusions
    assert any("kappa and of the nominal alpha are too long" in sentence for sentence in study.conclusions)
    assert (
        ceilings not in compute_study(rate(questions=30, systems=1), title="t", signatures={}, resamples=50).conclusions
    )


def test_metrics_without_value_do_not_agree_best():
    # One of 54 metrics that are noise: with an interval of its own it would seem to agree, three times in four.
    said = 0
    for seed in range(8):
        rated = rate(questions=20, systems=2, raters=1)
        noise = np.random.default_rng(seed).normal(size=(len(rated.ids), 54))
        rated = replace(keep_means(rated), metrics=tuple(f"m{number}" for number in range(54)), scores=noise)
        correlations = correlate(rated, coefficients=("spearman",), resamples=99, seed=seed)
        ranked = rank_metrics(correlations, level="within-system", coefficient="spearman")
        said += "agrees best" in write_conclusions(ranked, [], level="within-system", dimension="accuracy")[0]
    assert said <= 1


def test_a_system_that_stands_apart_is_told():
    rated = rate(questions=20, systems=6)
    last = np.array(rated.systems) == "s5"
    scores, ratings = rated.scores.copy(), rated.ratings.copy()
    scores[last] -= 10
    ratings[last] -= 10
    rated = keep_means(replace(rated, scores=scores, ratings=ratings))
    study = compute_study(rated, title="t", signatures={}, resamples=50)
    assert {row.outliers for row in study.outliers} == {("s5",)}
    (said,) = [sentence for sentence in study.conclusions if "stands apart" in sentence]
    assert said.startswith("Between systems, Pearson's r of ")


def test_a_study_has_a_checklist(small: Study):
    items = {item.topic: item for item in small.checklist}
    assert items["training"].stated == "None."
    assert "20 questions by 3 systems" in items["numbers included"].data


def test_every_metric_has_its_bias_and_each_accuracy_its_own_best(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("imapeval.study.summary.compute.MAX_METRICS_BY_ACCURACY", 2)
    monkeypatch.setattr("imapeval.study.summary.compute.MAX_METRICS_BY_GROUP", 1)
    rated = keep_means(rate(metrics=("good", "poor", "twin")))
    systems = np.repeat([0.0, 1.0, 2.0], 80)
    order = np.argsort(np.argsort([rated.ratings[systems == number].mean() for number in range(3)]))
    # It knows only which system is better: undefined within systems, the most accurate between systems.
    rated = replace(rated, metrics=("good", "system", "twin"))
    rated.scores[:, 1] = order[systems.astype(int)]
    study = compute_study(rated, title="t", signatures={}, resamples=50)
    assert {row.metric for row in study.biases} == {"good", "system", "twin"}
    assert any(row.shown for row in study.biases if row.metric == "system")
    levels: dict[str, Level] = {"pairwise_accuracy": "within-question", "soft_pairwise_accuracy": "system"}
    for coefficient, level in levels.items():
        best = rank_metrics(study.correlations, level=level, coefficient=coefficient)[:2]
        compared = {(row.first, row.second) for row in study.comparisons if row.coefficient == coefficient}
        assert {frozenset(pair) for pair in compared} == {frozenset(row.metric for row in best)}
    # An undefined metric is no rival of the others, and it is told once.
    assert len([sentence for sentence in study.conclusions if "system has no defined correlation" in sentence]) == 1
    planned = compute_study(rated, title="t", signatures={}, resamples=50, against="system")
    assert len([sentence for sentence in planned.conclusions if "system has no defined correlation" in sentence]) == 1


def test_the_best_beats_all_that_have_a_coefficient():
    rated = keep_means(rate(metrics=("good", "poor", "twin")))
    rated.scores[:, 2] = 0.5
    study = compute_study(rated, title="t", signatures={}, resamples=200)
    assert study.conclusions[0].startswith("Of 2 metrics with a coefficient, good agrees best with the raters: ")


def test_metrics_that_are_tied_for_first():
    rated = keep_means(rate(metrics=("good", "poor", "twin")))
    rated.scores[:, 2] = 2 * rated.scores[:, 0]
    study = compute_study(rated, title="t", signatures={}, resamples=50)
    assert study.conclusions[0].startswith("Of 3 metrics, good, twin have the highest coefficient in these answers: ")
    assert not any("another metric" in sentence for sentence in study.conclusions)


def test_a_margin_says_which_metrics_are_as_good():
    rated = keep_means(rate(metrics=("good", "twin"), questions=40))
    study = compute_study(rated, title="t", signatures={}, resamples=50, margin=0.3)
    assert study.margin == 0.3
    (row,) = [row for row in study.comparisons if row.coefficient == "spearman"]
    # The interval at the level of two one-sided tests is inside that of 95%: 90% for one pair.
    assert -0.3 < row.low < row.high < 0.3
    assert (row.first_as_good, row.second_as_good) == (True, True)


def test_metrics_stand_beside_single_raters(small: Study):
    assert {(row.rater, row.metric) for row in small.metric_vs_raters} == {
        (rater, metric) for rater in ("r0", "r1", "r2") for metric in ("good", "poor")
    }
    assert {row.metric for row in small.alternative_annotators} == {"good", "poor"}
    worth = {row.metric: row.raters or 0.0 for row in small.worth_in_raters}
    assert worth["good"] > worth["poor"]


def test_a_difference_in_one_dimension_that_the_mean_hides_is_concluded():
    def correlation(metric: str, dimension: str, value: float) -> Correlation:
        return Correlation(metric, ALL, dimension, "spearman", value, None, None, n=100, n_missing=0)

    def comparison(dimension: str, p: float, difference: float) -> Comparison:
        row = Comparison("a", "b", "within-system", dimension, "spearman")
        return replace(row, difference=difference, p=p, p_adjusted=p, sentence="a and b.")

    ranked = [correlation("a", ALL, 0.4), correlation("b", ALL, 0.35)]
    mean, accuracy = comparison(ALL, 0.4, 0.05), comparison("accuracy", 0.01, -0.2)
    said = write_conclusions(ranked, [mean, accuracy], level="within-system", dimension=ALL)
    assert any("a agrees worse than b on accuracy" in sentence for sentence in said)
    said = write_conclusions(ranked, [mean, replace(accuracy, p_adjusted=0.2)], level="within-system", dimension=ALL)
    assert not any("on accuracy" in sentence for sentence in said)
