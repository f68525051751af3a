"""What the section on groups of answers says is true of studies of any shape."""

from dataclasses import replace

import pytest

from imapeval.report.study.slices import render_slices
from imapeval.study.data.findings import ALL, Level
from imapeval.study.subgroups.heterogeneity import Heterogeneity
from imapeval.study.summary.compute import Study

OF_MEAN = Heterogeneity("m", "task", ALL, "spearman", 2, 0.3, 0.4, 0.5, 1, 0.5, 0.9, 80, None, "Of the mean.")
OF_ONE = replace(OF_MEAN, dimension="accuracy", p=0.0001, p_adjusted=0.0002, sentence="Of accuracy.")
NONE = "No difference between groups is significant"


@pytest.fixture(scope="module")
def by_task(small: Study) -> Study:
    return replace(small, slices=tuple(row for row in small.slices if row.facet == "task"))


def test_a_difference_that_the_mean_over_dimensions_hides_is_told(by_task: Study):
    """A metric may follow one dimension in some answers and another one in the others."""
    section = render_slices(replace(by_task, heterogeneities=(OF_MEAN, OF_ONE)))
    assert f"<li>{OF_ONE.sentence}" in section
    assert NONE not in section


def test_what_the_mean_shows_is_not_repeated_for_each_dimension(by_task: Study):
    other = replace(OF_ONE, facet="system", sentence="Of systems.")
    section = render_slices(replace(by_task, heterogeneities=(replace(OF_MEAN, p_adjusted=0.01), OF_ONE, other)))
    assert [f"<li>{row.sentence}" in section for row in (OF_MEAN, OF_ONE, other)] == [True, False, True]


def test_what_was_not_tested_is_not_said_to_be_insignificant(by_task: Study):
    untested = replace(OF_MEAN, p=None, p_adjusted=None, reason="too few questions")
    assert NONE not in render_slices(replace(by_task, heterogeneities=(untested,)))
    assert NONE in render_slices(replace(by_task, heterogeneities=(OF_MEAN,)))


@pytest.mark.parametrize(
    ("several", "level", "in_groups", "above"),
    [(True, "within-system", True, True), (True, "global", True, False), (False, "global", False, False)],
)
def test_how_systems_count(by_task: Study, several: bool, level: Level, in_groups: bool, above: bool):
    """Within systems the coefficients of a study are means in which each system counts once; at other levels not."""
    rated = by_task.rated if several else replace(by_task.rated, systems=("one",) * len(by_task.rated.ids))
    section = render_slices(replace(by_task, rated=rated, level=level))
    assert ("counts by its answers" in section, "counts once" in section) == (in_groups, above)
