import pytest

from imapeval.evaluation.forecast.simulated_replies import simulate_reply
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.metrics import registry
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.judges.geval import DIMENSIONS
from imapeval.types import Score

CASE = Case("a", "What helps against a fever?", "Take ibuprofen.", "Take paracetamol.", "en")


@pytest.mark.parametrize(
    ("scale", "rating"), [("0:5:0.5", 3), ("1:5", 3), ("0:2", 1), ("5:10", 8), ("-1:1", 0), ("4:6:0.5", 5)]
)
async def test_a_rating_is_on_the_scale(scale: str, rating: float):
    """It is 3, or else in the middle of the scale; one off the scale would be asked for again."""
    (judge,) = registry.choose(["judge"], {"judge": {"scale": scale, "weights": "samples"}})
    model = ScriptedModel(simulate_reply)
    (outcome,) = await judge.prepare(MetricResources(llm=model)).ascore_batch([CASE])
    assert isinstance(outcome, Score)
    assert [outcome.parts[name] for name in DIMENSIONS] == [rating] * len(DIMENSIONS)
    assert len(model.requests) == 1
