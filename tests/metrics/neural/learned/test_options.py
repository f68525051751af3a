"""What users may set of the learned metrics."""

import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from imapeval.errors import UsageError
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.neural import bartscore, entailment, unieval
from imapeval.metrics.options import list_options, set_options
from imapeval.types import Score

CASE = Case("1", "What helps?", "Drink fluids. Rest.", "Rest well. Sleep.", "en")
CPU = MetricResources(device="cpu")


@pytest.mark.parametrize(
    ("module", "option"), [(bartscore, "direction"), (entailment, "direction"), (unieval, "dimension")]
)
def test_other_values_are_refused(module: Any, option: str) -> None:
    (metric,) = module.build()
    with pytest.raises(UsageError, match=f"{option}='sideways'"):
        set_options(metric, {option: "sideways"})
    assert [found.name for found in list_options(metric)] == ["model", option]


@pytest.mark.neural
def test_bartscore_computes_the_directions_that_are_asked_for(small_models: ModuleType, tmp_path: Any) -> None:
    model = str(small_models.save_bart(tmp_path))
    (both,) = bartscore.BartScore(model=model).prepare(CPU).score_batch([CASE])
    assert isinstance(both, Score)
    for direction in ("precision", "recall"):
        (one,) = bartscore.BartScore(model=model, direction=direction).prepare(CPU).score_batch([CASE])
        assert isinstance(one, Score)
        assert one.parts == {direction: one.value, "truncated": 0.0}
        assert one.value == pytest.approx(both.parts[direction], abs=1e-5)
    assert both.value == pytest.approx((both.parts["precision"] + both.parts["recall"]) / 2)


@pytest.mark.neural
def test_bartscore_takes_t5_too(small_models: ModuleType, tmp_path: Any) -> None:
    """Against a token-by-token computation."""
    import torch

    metric = bartscore.BartScore(model=str(small_models.save_t5(tmp_path)), direction="precision").prepare(CPU)
    assert metric.loaded is not None
    tokenizer, model = metric.loaded.tokenizer, metric.loaded.model
    source, target = (tokenizer(text)["input_ids"] for text in (CASE.reference, CASE.response))
    total = 0.0
    with torch.no_grad():
        for place, token in enumerate(target):
            begun = torch.tensor([[0, *target[:place]]])
            logits = model(input_ids=torch.tensor([source]), decoder_input_ids=begun).logits[0, -1]
            total += float(logits.log_softmax(-1)[token])
    (outcome,) = metric.score_batch([CASE])
    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(total / len(target), abs=1e-5)


@pytest.mark.neural
def test_entailment_has_directions(small_models: ModuleType, tmp_path: Any) -> None:
    model = str(small_models.save_nli(tmp_path))
    (both,) = entailment.Entailment(model=model, direction="both").prepare(CPU).score_batch([CASE])
    (precision,) = entailment.Entailment(model=model).prepare(CPU).score_batch([CASE])
    (recall,) = entailment.Entailment(model=model, direction="recall").prepare(CPU).score_batch([CASE])
    assert isinstance(both, Score)
    assert isinstance(precision, Score)
    assert isinstance(recall, Score)
    assert list(precision.parts) == ["precision", "neutral", "contradiction", "truncated"]
    assert sum(precision.parts.values()) == pytest.approx(1.0)
    assert precision.value != pytest.approx(recall.value, abs=1e-3)
    assert both.value == pytest.approx((precision.value + recall.value) / 2, abs=1e-6)


@pytest.mark.neural
def test_unieval_asks_one_dimension(small_models: ModuleType, tmp_path: Any, punkt: Any) -> None:
    model = str(small_models.save_t5(tmp_path))
    (overall,) = unieval.UniEval(model=model).prepare(CPU).score_batch([CASE])
    (fluency,) = unieval.UniEval(model=model, dimension="fluency").prepare(CPU).score_batch([CASE])
    assert isinstance(overall, Score)
    assert isinstance(fluency, Score)
    assert list(overall.parts) == ["coherence", "consistency", "fluency", "relevance", "truncated"]
    assert fluency.parts == {"fluency": fluency.value, "truncated": 0.0}
    assert fluency.value == pytest.approx(overall.parts["fluency"], abs=1e-6)
    assert "dimension:fluency" in unieval.UniEval(model=model, dimension="fluency").signature


@pytest.mark.slow
@pytest.mark.neural
def test_bartscore_with_a_real_model(learned: Any, to_cases: Any) -> None:
    """Against bart_score.py on the flan-t5-small of traceforge-title-model."""
    folder = Path(os.environ.get("IMAPEVAL_FLAN_T5", ""))
    if not (folder / "config.json").is_file():
        pytest.skip("needs $IMAPEVAL_FLAN_T5, the folder that benchmarks/flan_t5_to_hf.py makes")
    outcomes = bartscore.BartScore(model=str(folder)).prepare(CPU).score_batch(to_cases("en"))
    for part, expected in learned["bartscore-flan"]["en"].items():
        assert [outcome.parts[part] for outcome in outcomes] == pytest.approx(expected, abs=1e-4)
