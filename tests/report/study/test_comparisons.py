from dataclasses import replace

import pytest

from imapeval.report.study.comparisons import _decide_winners
from imapeval.study.comparison.compare import write_sentence
from imapeval.study.intervals import SIGNIFICANCE_LEVEL
from imapeval.study.summary.compute import Study


@pytest.mark.parametrize(("p", "winners"), [(SIGNIFICANCE_LEVEL, {0}), (SIGNIFICANCE_LEVEL - 1e-9, {1, -1})])
def test_matrix_and_sentence_draw_the_same_line(small: Study, p: float, winners: set[int]):
    row = next(row for row in small.comparisons if row.p_adjusted is not None)
    row = replace(row, p_adjusted=p, difference=0.1)
    found = _decide_winners((row.first, row.second), {(row.first, row.second): row})
    assert set(found.values()) == winners
    assert ("agrees better" in write_sentence(row, several=False)) == (0 not in winners)
