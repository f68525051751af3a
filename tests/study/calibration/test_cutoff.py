"""Cut-offs against a search over all scores, and figures of a given one against counts.

`benchmarks/cutoff.py` measures how often the intervals hold the truth.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from imapeval.errors import UsageError
from imapeval.study.calibration.cutoff import FIGURES, Figure, find_cutoff
from imapeval.study.data.rated import Rated
from imapeval.study.intervals.quantiles import student_quantile
from imapeval.study.intervals.shares import wilson_interval
from tests.study.answers import make_rated


def make(n: int = 200, *, separation: float = 1.2, seed: int = 1, answers: int = 1) -> Rated:
    rng = np.random.default_rng(seed)
    acceptable = rng.random(n) < 0.6
    return make_rated(
        (separation * acceptable + rng.normal(size=n)).round(2),
        np.where(acceptable, 4.0, 2.5),
        questions=np.arange(n) // answers,
    )


def by_name(figures: tuple[Figure, ...]) -> dict[str, Figure]:
    assert tuple(figure.name for figure in figures) == FIGURES
    return {figure.name: figure for figure in figures}


def test_a_given_cutoff_is_counted():
    rated = make()
    scores, acceptable = rated.scores[:, 0], rated.ratings[:, 0] >= 4
    found = find_cutoff(rated, "m", "accuracy", right_from=4, at=0.5)
    rows = by_name(found.figures)
    called = scores >= 0.5
    hits, rejections = int((called & acceptable).sum()), int((~called & ~acceptable).sum())
    for name, count, total in (
        ("sensitivity", hits, int(acceptable.sum())),
        ("specificity", rejections, int((~acceptable).sum())),
        ("positive predictive value", hits, int(called.sum())),
        ("negative predictive value", rejections, int((~called).sum())),
    ):
        assert rows[name].value == pytest.approx(count / total)
        assert (rows[name].n, rows[name].apparent) == (total, rows[name].value)
        # Independent answers: the jackknife's variance is that of a share, up to n / (n - 1).
        interval = wilson_interval(count / total, total, quantile=student_quantile(0.975, 199))
        assert rows[name].low == pytest.approx(interval.low, abs=0.003)
        assert rows[name].high == pytest.approx(interval.high, abs=0.003)
    assert (found.score, found.chosen, found.n, found.questions) == (0.5, False, 200, 200)


def test_a_cutoff_at_zero_has_no_sign():
    rated = make()
    good = rated.ratings[:, 0] >= 4
    rated.scores[:, 0] = np.where(good, 0.3, -0.4)
    assert str(find_cutoff(rated, "m", "accuracy", right_from=4).score) == "0.0"
    rated = replace(rated, lower_is_better=frozenset({"m"}))
    assert str(find_cutoff(rated, "m", "accuracy", right_from=4).score) == "0.0"
    assert str(find_cutoff(rated, "m", "accuracy", right_from=4, at=0.0).score) == "0.0"


def test_neighbouring_scores_are_told_apart_in_resamples():
    rated = make()
    good = rated.ratings[:, 0] >= 4
    # The scores are never wrong, in a resample neither: no figure is too good to be true.
    for low, seed in product(np.linspace(0.1, 0.9, 4), range(4)):
        rated.scores[:, 0] = np.where(good, np.nextafter(low, 1.0), low)
        for figure in find_cutoff(rated, "m", "accuracy", right_from=4, seed=seed).figures:
            assert figure.value == figure.apparent == 1.0


def test_the_best_cutoff_is_that_of_the_roc_curve():
    rated = make()
    scores, acceptable = rated.scores[:, 0], rated.ratings[:, 0] >= 4
    best = max(
        ((scores >= t) & acceptable).sum() / acceptable.sum()
        - ((scores >= t) & ~acceptable).sum() / (~acceptable).sum()
        for t in np.unique(scores)
    )
    found = find_cutoff(rated, "m", "accuracy", right_from=4)
    youden = by_name(found.figures)["Youden index"]
    assert youden.apparent == pytest.approx(best)
    assert youden.low < youden.value < youden.high
    # Less than it looks on the answers that it was chosen on.
    assert youden.value < best - 0.01


def test_low_scores_that_are_good():
    rated = make()
    mirrored = replace(rated, scores=-rated.scores, lower_is_better=frozenset({"m"}))
    one, other = (find_cutoff(each, "m", "accuracy", right_from=4) for each in (rated, mirrored))
    assert (other.score, other.lower_is_better) == (-one.score, True)
    assert other.figures == one.figures
    given = [find_cutoff(each, "m", "accuracy", right_from=4, at=at) for each, at in ((rated, 0.3), (mirrored, -0.3))]
    assert given[0].figures == given[1].figures


def test_answers_to_one_question_count_together():
    rated = make()
    doubled = replace(rated.take(np.repeat(np.arange(200), 2)), ids=tuple(map(str, range(400))))
    once, twice = (
        by_name(find_cutoff(each, "m", "accuracy", right_from=4, at=0.5).figures) for each in (rated, doubled)
    )
    for name in FIGURES:
        assert twice[name].low == pytest.approx(once[name].low)


def test_a_metric_without_value_has_no_youden_index():
    values = [
        by_name(find_cutoff(make(100, separation=0.0, seed=seed), "m", "accuracy", right_from=4).figures)[
            "Youden index"
        ]
        for seed in range(10)
    ]
    # The best of a hundred cut-offs looks better than chance, which it is not.
    assert np.mean([value.apparent for value in values]) > 0.1
    assert sum((value.low or 0) > 0 for value in values) <= 1


def test_the_seed_decides():
    first, again, other = (find_cutoff(make(), "m", "accuracy", right_from=4, seed=seed) for seed in (3, 3, 4))
    assert first == again != other


def test_a_cutoff_beyond_all_scores():
    rows = by_name(find_cutoff(make(), "m", "accuracy", right_from=4, at=99).figures)
    assert rows["sensitivity"].value == 0
    assert rows["positive predictive value"] == Figure("positive predictive value")


@pytest.mark.parametrize(
    ("rated", "right_from", "part"),
    [(make(19), 4, "19 questions"), (make(), 5, "0 of 200"), (replace(make(), scores=np.ones((200, 1))), 4, "same")],
)
def test_what_cannot_be_measured(rated: Rated, right_from: float, part: str):
    with pytest.raises(UsageError, match=part):
        find_cutoff(rated, "m", "accuracy", right_from=right_from)
