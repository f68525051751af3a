"""A ceiling stands only beside coefficients of its own level."""

from dataclasses import replace

import pytest

from imapeval.report.study.page import render_study
from imapeval.study.agreement.noise_ceiling import Ceiling
from imapeval.study.data.findings import Level
from imapeval.study.summary.compute import Study


def ceilings(study: Study) -> tuple[Ceiling, ...]:
    values: dict[Level, float] = {"global": 0.951, "within-system": 0.772}
    return tuple(
        Ceiling(name, study.coefficient, 0.8, value, value - 0.02, value + 0.02, 80, 3.0, level=level)
        for name in study.rated.dimensions
        for level, value in values.items()
    )


@pytest.mark.parametrize(
    ("level", "drawn", "other"), [("within-system", ".77", ".95"), ("global", ".95", ".77"), ("system", None, None)]
)
def test_the_ceiling_of_the_level_is_drawn(small: Study, level: Level, drawn: str | None, other: str | None):
    rows = tuple(replace(row, level=level) for row in small.correlations)
    study = replace(small, level=level, correlations=rows, ceilings=ceilings(small), comparisons=())
    page = render_study(study)
    if drawn is None:
        assert "Dashed: the ceiling" not in page
    else:
        assert f"Dashed: the ceiling {drawn}" in page
        assert f"Dashed: the ceiling {other}" not in page
