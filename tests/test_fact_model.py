"""The small model that ships with imapeval, on the shipped weights."""

from __future__ import annotations

import numpy as np
import pytest

from imapeval import _resources
from imapeval.errors import ResourceError
from imapeval.fact_model import AGREEMENT, RELATIONS, FactModel, open_fact_model
from imapeval.metrics.imapscore import CREDITS
from imapeval.types import Relation


@pytest.fixture(scope="module")
def model() -> FactModel:
    return open_fact_model()


REFERENCE = [
    "Avoid aspirin",
    "take paracetamol 500 mg three times a day",
    "drink plenty of water",
    "孕妇禁用布洛芬",
    "See an ear, nose and throat specialist if the discharge from your ear does not stop within three days",
]
RESPONSE = [
    "stay away from aspirin",
    "500 mg of paracetamol thrice daily",
    "怀孕期间不能吃布洛芬",
    "an MRI scan of the knee",
    "Tinnitus",
]


def measure_agreement(
    model: FactModel, reference: list[str], response: list[str], similarities: np.ndarray
) -> np.ndarray:
    return model.relate(reference, response, similarities) @ np.array(AGREEMENT)


def test_agreement_is_that_of_the_score() -> None:
    assert [CREDITS[Relation(relation)] for relation in RELATIONS] == list(AGREEMENT)


def test_a_result_depends_on_its_own_texts_only(model: FactModel) -> None:
    similarities = np.random.default_rng(0).random((len(REFERENCE), len(RESPONSE)))
    together = model.relate(REFERENCE, RESPONSE, similarities)
    weights = model.weigh("What helps against the pain?", REFERENCE)
    for row, reference in enumerate(REFERENCE):
        # Another model has encoded nothing yet.
        alone = FactModel()
        assert alone.weigh("What helps against the pain?", [reference]).tolist() == [weights[row]]
        for column, response in enumerate(RESPONSE):
            found = alone.relate([reference], [response], similarities[row : row + 1, column : column + 1])
            assert found[0, 0].tolist() == together[row, column].tolist(), (reference, response)


def test_probabilities_sum_to_one(model: FactModel) -> None:
    found = model.relate(REFERENCE, RESPONSE, np.full((len(REFERENCE), len(RESPONSE)), 0.3))
    assert found.shape == (len(REFERENCE), len(RESPONSE), len(RELATIONS))
    assert found.sum(axis=-1) == pytest.approx(np.ones(found.shape[:2]), abs=1e-5)


def test_same_facts_agree_more_than_others(model: FactModel) -> None:
    agreement = measure_agreement(model, REFERENCE, RESPONSE, np.full((len(REFERENCE), len(RESPONSE)), 0.3))
    for row, column in ((0, 0), (1, 1), (3, 2)):
        others = np.delete(agreement[row], column)
        assert agreement[row, column] > 2 * others.max(), REFERENCE[row]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Keep the wound dry for two days", "Keep the wound dry for two days"),
        ("Lie with the left ear upwards", "Lie with the left ear upwards"),
        ("acute non-specific low back pain", "In your case, acute non-specific low back pain"),
        ("病理为全层炎", "其实病理为全层炎"),
        ("孕妇禁用布洛芬", "孕妇禁用布洛芬哦"),
    ],
)
def test_a_fact_agrees_with_itself(model: FactModel, one: str, other: str) -> None:
    assert measure_agreement(model, [one], [other], np.array([[0.95]])) > 0.75


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("take it within 24 hours", "take it after the first week"),
        ("stay at home for five days", "go back to work at once"),
        ("孕妇禁用布洛芬", "孕妇可以服用布洛芬"),
    ],
)
def test_the_opposite_in_similar_words_does_not_agree(model: FactModel, one: str, other: str) -> None:
    assert measure_agreement(model, [one], [other], np.array([[0.6]])) < 0.2


@pytest.mark.parametrize(
    ("one", "same", "opposite"),
    [
        ("beer raises uric acid", "beer increases uric acid", "beer lowers uric acid"),
        ("take it within 24 hours", "take it during the first day", "take it after the first week"),
        ("stay at home for five days", "no school or work until day six", "go back to work at once"),
        ("孕妇禁用布洛芬", "怀孕期间不要吃布洛芬", "孕妇可以服用布洛芬"),
    ],
)
def test_a_rewording_agrees_more_than_an_opposite(model: FactModel, one: str, same: str, opposite: str) -> None:
    agreement = measure_agreement(model, [one], [same, opposite], np.array([[0.5, 0.5]]))[0]
    assert agreement[0] > 2 * agreement[1]
    assert agreement[1] < 0.45


@pytest.mark.parametrize(
    ("question", "main", "general"),
    [
        ("Which drug treats a migraine attack?", "sumatriptan 50 mg", "Every patient is different"),
        ("偏头痛发作吃什么药？", "舒马曲坦50mg", "建议咨询医生"),
    ],
)
def test_general_remarks_matter_less(model: FactModel, question: str, main: str, general: str) -> None:
    weights = model.weigh(question, [main, general])
    assert 0 <= weights[1] < 0.5 < weights[0] <= 1


def test_capitals_change_nothing(model: FactModel) -> None:
    assert model.weigh("Why?", ["AVOID ASPIRIN"]).tolist() == model.weigh("Why?", ["Avoid aspirin"]).tolist()


def test_no_facts_give_empty_results(model: FactModel) -> None:
    assert model.weigh("Why?", []).shape == (0,)
    assert model.relate([], RESPONSE, np.zeros((0, len(RESPONSE)))).shape == (0, len(RESPONSE), len(RELATIONS))
    assert model.relate(REFERENCE, [], np.zeros((len(REFERENCE), 0))).shape == (len(REFERENCE), 0, len(RELATIONS))


def test_texts_of_any_kind_have_a_result(model: FactModel) -> None:
    texts = ["", " ", "\0", "\ud800", "🩺" * 3000, "x" * 10_000_000, "a\nb"]
    assert np.isfinite(model.weigh("", texts)).all()
    assert np.isfinite(model.relate(texts, texts, np.zeros((len(texts), len(texts))))).all()


def test_a_missing_model_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(_resources, "_PACKAGE", tmp_path / "imapeval")
    with pytest.raises(ResourceError, match=r"models/facts/encoder\.onnx"):
        FactModel()
