"""Where an interval was measured to hold more or less often than it says, that stands beside it."""

import pytest

from imapeval.study.data.findings import Agreement, Level, Units
from imapeval.study.interval_limits import describe_agreement_limits, describe_level_limits


@pytest.mark.parametrize(
    ("statistic", "n", "count"),
    [
        ("gwet_ac2_quadratic", 30, 1),
        ("gwet_ac2_quadratic", 100, 0),
        ("krippendorff_alpha_nominal", 100, 1),
        ("fleiss_kappa", 30, 1),
        ("icc_2_1", 30, 0),
    ],
)
def test_agreement(statistic: str, n: int, count: int):
    assert len(describe_agreement_limits([Agreement("accuracy", statistic, 0.5, 0.4, 0.6, n=n)])) == count
    assert describe_agreement_limits([Agreement("accuracy", statistic, n=n, reason="constant")]) == []


@pytest.mark.parametrize(
    ("level", "units", "count"),
    [
        ("within-question", "questions", 1),
        ("system", "questions", 1),
        ("system", "systems", 1),
        ("within-system", "questions", 0),
        ("within-question", "systems", 0),
    ],
)
def test_levels(level: Level, units: Units, count: int):
    assert len(describe_level_limits([level, level], units)) == count
