import numpy as np
import pytest

from imapeval.study.agreement.rater_differences import bin_differences, count_differences
from imapeval.study.data.findings import ALL
from imapeval.study.data.scales import RatingScale
from tests.study.answers import make_rated

HALVES = RatingScale(0, 5, 0.5)


def test_the_papers_bins():
    # Wang et al. 2024: {0}, {.5, 1, 1.5}, {2, 2.5}, {3, 3.5}, {4, 4.5}, {5}.
    shares = bin_differences(np.arange(0, 5.5, 0.5), scale=HALVES)
    assert list(shares) == ["0", "0.5, 1, 1.5", "2, 2.5", "3, 3.5", "4, 4.5", "5"]
    assert [round(share * 11) for share in shares.values()] == [1, 3, 2, 2, 2, 1]


@pytest.mark.parametrize(
    ("scale", "names"),
    [
        (RatingScale(1, 5, 1), ["0", "1", "2", "3", "4"]),
        (RatingScale(0, 10, 1), ["0", "1, 2, 3", "4, 5", "6, 7", "8, 9", "10"]),
        (RatingScale(0, 1, 1), ["0", "1"]),
        (RatingScale(0, 1, 0.1), ["0", "0.1, 0.2, 0.3", "0.4, 0.5", "0.6, 0.7", "0.8, 0.9", "1"]),
        (RatingScale(0, 100, 1), ["0", "1 to 39", "40 to 59", "60 to 79", "80 to 99", "100"]),
        (RatingScale(0, 5), ["0", "above 0, below 2", "2 to below 3", "3 to below 4", "4 to below 5", "5"]),
    ],
)
def test_other_scales(scale: RatingScale, names: list[str]):
    steps = 10 if scale.step is None else round((scale.high - scale.low) / scale.step)
    shares = bin_differences(np.linspace(0, scale.high - scale.low, steps + 1), scale=scale)
    assert list(shares) == names
    assert sum(shares.values()) == pytest.approx(1)
    assert all(shares.values())


def test_a_tenth_is_not_lost_to_rounding():
    apart = np.abs(np.array([0.7, 0.9]) - np.array([0.3, 0.1]))  # .39999999999999997 and .8
    assert bin_differences(apart, scale=RatingScale(0, 1, 0.1))["0.4, 0.5"] == 0.5


def test_pairs_of_raters():
    table = np.array([[1, 1, np.nan], [2, 4, 2.5], [5, 0, np.nan], [3, np.nan, np.nan]])
    rows = count_differences(make_rated(by_rater={"accuracy": table}, scales={"accuracy": HALVES}))
    assert [(row.first, row.second, row.n) for row in rows] == [
        ("A", "B", 3),
        ("A", "C", 1),
        ("B", "C", 1),
        (ALL, ALL, 5),
    ]
    assert rows[0].mean_absolute == pytest.approx(7 / 3)
    assert rows[0].bins["0"] == rows[0].bins["2, 2.5"] == rows[0].bins["5"] == pytest.approx(1 / 3)
    assert rows[-1].mean_absolute == pytest.approx((0 + 2 + 5 + 0.5 + 1.5) / 5)
    assert sum(rows[-1].bins.values()) == pytest.approx(1)


def test_without_a_scale_the_ratings_tell():
    stars = count_differences(make_rated(by_rater={"stars": np.array([[1, 5], [2, 2], [4, 3.0]])}))
    assert list(stars[0].bins) == ["0", "1", "2", "3", "4"]
    same = count_differences(make_rated(by_rater={"stars": np.full((3, 2), 2.0)}))
    assert (same[0].bins, same[0].mean_absolute) == ({"0": 1.0}, 0)
    slider = np.random.default_rng(0).uniform(size=(50, 2)) * 7
    named = list(count_differences(make_rated(by_rater={"overall": slider}))[0].bins)
    assert named[1].startswith("above 0, below 2.")


def test_nothing_to_compare():
    nobody = make_rated(ratings={"accuracy": np.array([1.0, 2.0])})
    apart = make_rated(by_rater={"accuracy": np.array([[1, np.nan], [np.nan, 2.0]])})
    assert count_differences(nobody) == count_differences(apart) == []


def test_larger_than_the_scale():
    with pytest.raises(ValueError, match="6"):
        bin_differences(np.array([6.0]), scale=HALVES)
