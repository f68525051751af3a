from dataclasses import replace

import pytest

from imapeval.report.study.correlations import render_correlations
from imapeval.study.data.findings import Level
from imapeval.study.summary.compute import Study


@pytest.mark.parametrize(("level", "counted"), [("within-system", "answers"), ("system", "systems")])
def test_n_counts_what_the_level_correlates(small: Study, level: Level, counted: str):
    """`Correlation.n`: between systems it is their number."""
    rows = tuple(replace(row, level=level) for row in small.correlations if row.level == "within-system")
    assert f"number of {counted} with a rating and a score" in render_correlations(
        replace(small, level=level, correlations=rows)
    )
