"""What is said of the agreement among raters."""

import numpy as np
import pytest

from imapeval.study.agreement.measure import measure_agreement
from imapeval.study.agreement.sentences import describe_agreement
from imapeval.study.data.rated import Rated
from imapeval.study.data.scales import RatingScale
from tests.study.answers import make_rated


@pytest.fixture(scope="module")
def rated() -> Rated:
    """Forty answers that two raters rated from 0 to 1000 in two dimensions, some 200 apart."""
    rng = np.random.default_rng(0)
    worth = rng.integers(200, 800, 40)
    by_rater = {name: (worth[:, None] + rng.integers(-200, 200, (40, 2))).astype(float) for name in ("tone", "depth")}
    return make_rated(by_rater=by_rater, scales=dict.fromkeys(by_rater, RatingScale(0, 1000)))


def test_every_dimension_is_named(rated: Rated):
    for statistics in (["krippendorff_alpha_interval"], ["mad"], ["exact", "krippendorff_alpha_interval"]):
        tone, depth = describe_agreement(rated, measure_agreement(rated, statistics=statistics), ())
        assert tone.startswith("tone: ")
        assert depth.startswith("depth: ")
        assert (tone.count("tone: "), depth.count("depth: ")) == (1, 1)


def test_nothing_is_said_of_statistics_that_no_sentence_quotes(rated: Rated):
    assert describe_agreement(rated, measure_agreement(rated, statistics=["icc_2_1"]), ()) == []


def test_a_mean_difference_in_large_points(rated: Rated):
    found = measure_agreement(rated, statistics=["mad"])
    sentences = describe_agreement(rated, found, ())
    assert all(f" {row.value:.1f} " in sentence for row, sentence in zip(found, sentences, strict=True))
