"""The whole study on simulated answers, of which it is known what should come out."""

from dataclasses import replace

import numpy as np
import pytest

from imapeval.errors import UsageError
from imapeval.study.compute import available_levels, compute_study, rank_metrics
from imapeval.study.data.findings import ALL
from imapeval.study.data.rated import Rated
from imapeval.study.data.scales import Scale
from imapeval.study.number_format import format_number


def rate(
    *,
    questions: int = 80,
    systems: int = 3,
    raters: int = 3,
    metrics: tuple[str, ...] = ("good", "poor"),
    seed: int = 1,
) -> Rated:
    rng = np.random.default_rng(1)
    n = questions * systems
    truth = rng.normal(3, 1, n)
    by_rater = np.clip(np.round(2 * (truth[:, None] + rng.normal(0, 0.5, (n, raters)))) / 2, 0, 5)
    noise = {"good": 0.5, "poor": 4.0, "twin": 0.5}
    scores = np.stack([truth + rng.normal(0, noise[name], n) for name in metrics], axis=1)
    return Rated(
        ids=tuple(f"a{number}" for number in range(n)),
        questions=np.tile(np.arange(questions), systems),
        systems=tuple(f"s{number // questions}" for number in range(n)),
        metrics=metrics,
        scores=scores,
        dimensions=("accuracy",),
        ratings=by_rater.mean(axis=1, keepdims=True),
        raters=tuple(f"r{number}" for number in range(raters)),
        by_rater={"accuracy": by_rater},
        scales={"accuracy": Scale(0, 5, 0.5)},
        facets={"language": tuple("en" if number % 2 else "zh" for number in range(n))},
    )


def test_the_best_of_metrics_that_do_not_agree():
    rated = rate()
    shuffled = replace(rated, scores=np.random.default_rng(1).permuted(rated.scores, axis=0))
    said = "Its interval includes 0: agreement with the raters is not shown."
    assert compute_study(shuffled, title="t", signatures={}, resamples=200).conclusions[1] == said
    assert said not in compute_study(rated, title="t", signatures={}, resamples=200).conclusions


def test_the_study_finds_what_was_put_in():
    rated = rate()
    study = compute_study(rated, title="t", signatures={"good": "good|v:1", "poor": "poor|v:1"}, resamples=200)
    assert (study.level, study.coefficient) == ("within-system", "spearman")
    assert {row.level for row in study.correlations} == {"within-system", "global", "within-question", "system"}
    best, second = rank_metrics(study.correlations, level="within-system", coefficient="spearman")
    assert (best.metric, second.metric) == ("good", "poor")
    assert study.conclusions[0].startswith("Of 2 metrics, good agrees best with the raters: Spearman's rho within")
    assert f"[{format_number(best.low)}, {format_number(best.high)}], n = 240" in study.conclusions[0]
    assert study.conclusions[1] == "It agrees better than poor (after Holm's correction)."
    (ceiling,) = [row for row in study.ceilings if row.coefficient == "pearson"]
    assert ceiling.value is not None
    assert ceiling.value > 0.9
    assert study.matrix is not None
    assert study.matrix.n == 240
    assert {row.facet for row in study.slices} >= {"language", "system"}
    assert {row.metric for row in study.disagreements} == {"good"}
    assert [row.metric for row in study.corrected if row.coefficient == "pearson"] == ["good", "poor"]
    assert not any("Not computed" in sentence for sentence in study.conclusions)


def test_the_same_seed_gives_the_same_study():
    rated = rate(questions=20)
    first, second = (compute_study(rated, title="t", signatures={}, resamples=100, seed=7) for _ in range(2))
    assert first.correlations == second.correlations
    assert first.comparisons == second.comparisons
    assert first.conclusions == second.conclusions


def test_two_metrics_that_are_as_good():
    study = compute_study(rate(metrics=("good", "twin")), title="t", signatures={}, resamples=200)
    worse = rank_metrics(study.correlations, level="within-system", coefficient="spearman")[1].metric
    assert study.conclusions[1] == f"It cannot be told apart from {worse} (after Holm's correction)."
    assert "cannot be told apart (p" in study.conclusions[2]


def test_one_system_and_one_metric():
    rated = rate(systems=1, metrics=("good",))
    assert available_levels(rated) == ("global",)
    study = compute_study(rated, title="t", signatures={}, resamples=100)
    assert (study.level, study.comparisons, study.matrix) == ("global", (), None)
    assert study.conclusions[0].startswith("good agrees with the raters at Spearman's rho over all answers")
    assert study.conclusions[-1].startswith("Not computed: within-system, within-question, system correlations (1 sys")


def test_averages_only_and_a_constant_metric():
    rated = rate(raters=1, systems=2)
    averages = Rated(
        rated.ids, rated.questions, rated.systems, rated.metrics, rated.scores, rated.dimensions, rated.ratings
    )
    averages.scores[:, 1] = 0.5
    study = compute_study(averages, title="t", signatures={}, resamples=100)
    assert study.conclusions[0].startswith("good agrees with the raters at Spearman's rho within systems")
    flat = [row for row in study.correlations if (row.metric, row.level, row.system) == ("poor", "global", ALL)]
    assert flat[0].reason == "the score is constant (0.5)"
    assert any("only average ratings are known" in sentence for sentence in study.conclusions)
    averages.scores[:] = 0.5
    study = compute_study(averages, title="t", signatures={}, resamples=100)
    assert study.conclusions[0].startswith("No metric has a defined correlation")


def test_nothing_rated():
    rated = rate()
    rated.ratings[:] = np.nan
    with pytest.raises(UsageError, match="no answer has a rating"):
        compute_study(rated, title="t", signatures={})


def test_a_comparison_that_was_planned():
    rated = rate(metrics=("good", "poor", "twin"))
    all_pairs = compute_study(rated, title="t", signatures={}, resamples=200)
    planned = compute_study(rated, title="t", signatures={}, resamples=200, against="poor")
    assert len(all_pairs.comparisons) == 3
    assert {row.first for row in planned.comparisons} == {"poor"}
    assert planned.conclusions[0] == all_pairs.conclusions[0]
    assert planned.conclusions[1].startswith("poor agrees with them at Spearman's rho")
    best = [row.metric for row in rank_metrics(planned.correlations, level="within-system", coefficient="spearman")][:2]
    assert planned.conclusions[2] == f"poor agrees worse than {', '.join(best)} (after Holm's correction)."
    with pytest.raises(UsageError, match="'other'"):
        compute_study(rated, title="t", signatures={}, against="other")


def test_metrics_that_cannot_be_compared_are_named():
    rated = rate(metrics=("good", "poor", "twin"))
    rated.scores[:, 1] = 0.5
    rated.scores[:5, 2] = np.nan
    study = compute_study(rated, title="t", signatures={}, resamples=100)
    assert study.conclusions[0].startswith("Of 2 metrics, ")
    assert "poor has no defined correlation with the ratings; see the reasons in the table of correlations." in (
        study.conclusions
    )
    assert any(sentence.startswith("1 metric gave some rated answers no score, twin") for sentence in study.conclusions)
    assert ALL not in {row.dimension for row in study.corrected}

    rated = rate(metrics=("good", "poor", "twin"))
    rated.scores[::2, 2] = np.nan
    rated.scores[1::2, 1] = np.nan
    study = compute_study(rated, title="t", signatures={}, resamples=100, against="poor")
    assert "poor was not compared with twin; see the reasons in the table of comparisons." in study.conclusions
    assert any(" agrees better with the raters than poor" in sentence for sentence in study.conclusions)
