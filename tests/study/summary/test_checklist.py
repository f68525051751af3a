import numpy as np

from imapeval.study.agreement.measure import measure_agreement
from imapeval.study.data.about import KEYS
from imapeval.study.data.rated import Rated
from imapeval.study.data.scales import RatingScale
from imapeval.study.summary.checklist import ChecklistItem, fill_checklist
from tests.study.answers import make_rated

nan = np.nan
GIVEN = np.array([[1, 2, nan], [2, 2, 2], [3, 3, nan], [1, nan, nan], [3, 2, 3]], dtype=np.float64)


def fill(rated: Rated, about: dict[str, str] | None = None) -> dict[str, ChecklistItem]:
    return {item.topic: item for item in fill_checklist(rated, measure_agreement(rated), about)}


def test_what_the_data_says_is_counted():
    items = fill(make_rated(by_rater={"accuracy": GIVEN}, scales={"accuracy": RatingScale(1, 3, 1)}))
    assert items["measuring instrument"].data == "Dimensions: accuracy (1 to 3 in steps of 1)."
    numbers = items["numbers included"]
    # 11 of 15 pairs of rater and answer have a rating.
    for part in ("5 rated answers.", "3 raters", "2 to 5", "1 with 1, 2 with 2, 2 with 3", "27%"):
        assert part in numbers.data
    assert not numbers.missing
    assert "Krippendorff's alpha" in items["statistical analysis"].data
    assert "leaving out each answer in turn" in items["statistical analysis"].data
    assert "(3 raters, 4 answers)" in items["reliability and agreement"].data


def test_what_intervals_leave_out_is_what_was_left_out():
    together = make_rated(by_rater={"accuracy": GIVEN}, questions=[0, 0, 1, 2, 3])
    assert "leaving out each question, with all its answers, in turn" in fill(together)["statistical analysis"].data
    many = make_rated(by_rater={"accuracy": np.tile(GIVEN, (500, 1))})
    assert "each of 2,000 groups of questions" in fill(many)["statistical analysis"].data


def test_wilsons_interval_is_named_where_it_is_used():
    scales = {"accuracy": RatingScale(1, 3, 1)}
    for given, questions, used in (
        (GIVEN[:, :2], None, True),
        (GIVEN[:, :2], [0, 0, 1, 2, 3], False),
        (GIVEN, None, False),
    ):
        rated = make_rated(by_rater={"accuracy": given}, scales=scales, questions=questions)
        assert ("Wilson" in fill(rated)["statistical analysis"].data) == used


def test_a_dimension_without_ratings_has_no_numbers():
    rated = make_rated(by_rater={"accuracy": GIVEN, "tone": np.full_like(GIVEN, nan)})
    data = fill(rated)["numbers included"].data
    assert "tone" in data
    alone = fill(make_rated(by_rater={"accuracy": GIVEN, "tone": GIVEN * [1, nan, nan]}))["numbers included"].data
    assert "tone: 1 rater " in alone


def test_what_only_people_know_is_asked_for():
    rated = make_rated(by_rater={"accuracy": GIVEN}, scales={"accuracy": RatingScale(1, 3, 1)})
    items = fill(rated)
    assert {item.key for item in items.values() if item.missing} == set(KEYS)
    told = fill(rated, {"training": "None.", "raters": "Two GPs and a nurse."})
    assert (told["training"].stated, told["training"].missing) == ("None.", "")
    assert {item.key for item in told.values() if item.missing} == set(KEYS) - {"training", "raters"}
    everything = fill(rated, dict.fromkeys(KEYS, "Told."))
    assert not any(item.missing for item in everything.values())


def test_what_the_data_lacks_is_missing():
    averages = make_rated(ratings={"accuracy": np.array([1.0, 2.0, nan])})
    items = fill(averages, dict.fromkeys(KEYS, "Told."))
    assert "--scale accuracy=" in items["measuring instrument"].missing
    assert "column `rater`" in items["reliability and agreement"].missing
    assert "2 rated answers" in items["numbers included"].data


def test_a_single_rater_is_not_asked_for_what_the_data_has():
    items = fill(make_rated(by_rater={"accuracy": GIVEN[:, :1]}), dict.fromkeys(KEYS, "Told."))
    for topic in ("statistical analysis", "reliability and agreement"):
        assert items[topic].missing.startswith("1 rater;")
