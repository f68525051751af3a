import math

import numpy as np
import pytest

from imapeval.graph.linking.features import FEATURES, CandidateSet
from imapeval.graph.linking.ranking import (
    MODEL_FEATURES,
    NONE_LOGIT,
    RELATIVE_FEATURES,
    WEIGHTS,
    add_relative_features,
    rank_candidates,
)
from imapeval.graph.model import NameRow


def make_found(cosines):
    features = np.zeros((len(cosines), len(FEATURES)))
    features[:, FEATURES.index("n-grams")] = cosines
    concepts = [f"x:{number}" for number in range(len(cosines))]
    return CandidateSet(concepts, [NameRow(c, c, c, "en") for c in concepts], features)


def test_each_candidate_is_compared_with_the_best():
    table = add_relative_features(make_found([0.2, 0.9]).features)
    assert table.shape == (2, len(MODEL_FEATURES))
    assert table[:, MODEL_FEATURES.index("n-grams behind")] == pytest.approx([0.7, 0.0])
    assert not table[:, [MODEL_FEATURES.index(f"{feature} behind") for feature in RELATIVE_FEATURES[1:]]].any()


def test_scores_are_those_of_a_conditional_logit():
    ranked = rank_candidates(make_found([0.3, 0.8]))
    # exp(w.x) by hand, McFadden 1974.
    logits = [value * WEIGHTS["n-grams"] + (0.8 - value) * WEIGHTS["n-grams behind"] for value in (0.3, 0.8)]
    total = sum(map(math.exp, (*logits, NONE_LOGIT)))
    expected = {f"x:{number}": math.exp(logit) / total for number, logit in enumerate(logits)}
    assert {one.concept: one.score for one in ranked} == pytest.approx(expected)
    assert sum(one.score for one in ranked) < 1
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    assert ranked[0].evidence["n-grams"] in (0.3, 0.8)


def test_k_does_not_change_scores():
    found = make_found([0.1, 0.5, 0.9])
    assert rank_candidates(found, k=2) == rank_candidates(found)[:2]
    assert rank_candidates(make_found([])) == []
