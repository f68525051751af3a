"""Options of metrics: declared as fields, set as users write them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from imapeval.errors import UsageError
from imapeval.metrics.base import Case, Metric, option
from imapeval.metrics.on_imaps import MetricOnImaps
from imapeval.metrics.options import Option, list_options, set_options


@dataclass(frozen=True, slots=True)
class Length(Metric):
    """How long a response is."""

    model: str = option("which model", "small")
    layer: int = option("which layer", 3)
    weight: float = option("how much it counts", 0.5)
    idf: bool = option("whether rare tokens count more", False)

    name = "length"
    summary = "characters"
    range = (0.0, None)

    def __post_init__(self) -> None:
        if self.layer < 0:
            raise ValueError(f"layer {self.layer} is negative")

    def score(self, case: Case) -> float:
        return self.weight * len(case.response)


def test_options_are_listed_and_set_by_type() -> None:
    assert list_options(Length())[:2] == [Option("model", "which model", "small"), Option("layer", "which layer", 3)]
    assert set_options(Length(), {}) == Length()
    metric = set_options(Length(), {"model": "large", "layer": "17", "weight": "1", "idf": "yes"})
    assert metric == Length("large", 17, 1.0, True)
    assert metric.signature == "length|model:large|layer:17|weight:1|idf:yes|v:1"


def test_different_numbers_have_different_signatures() -> None:
    numbers = (0.5, 0.12345678, 0.12345679, 1e-7, float("inf"))
    assert len({Length(weight=number).signature for number in numbers}) == len(numbers)
    assert "|weight:0.5|" in Length().signature


def test_options_of_a_metric_on_imaps_are_those_of_the_metric() -> None:
    metric = MetricOnImaps(Length())
    assert list_options(metric) == list_options(Length())
    assert set_options(metric, {"layer": "5"}) == MetricOnImaps(Length(layer=5))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"layers": "3"}, r"'layers'.*model, layer, weight, idf"),
        ({"layer": "3.5"}, r"length.layer='3.5'"),
        ({"weight": "much"}, r"length.weight='much'"),
        ({"weight": "nan"}, r"length.weight='nan'"),
        ({"idf": "maybe"}, r"length.idf='maybe'"),
        ({"layer": "-1"}, r"'length'.*-1"),
    ],
)
def test_what_cannot_be_set(values: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        set_options(Length(), values)
