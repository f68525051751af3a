from dataclasses import replace

import pytest

from imapeval.report.study.methods import describe_families, list_sources
from imapeval.study.correlation.coefficients import all_coefficients, find_coefficient
from imapeval.study.summary.compute import Study


@pytest.mark.parametrize("name", all_coefficients())
def test_the_source_of_each_coefficient_is_named(small: Study, name: str):
    source = find_coefficient(name).source
    assert source
    study = replace(small, correlations=tuple(replace(row, coefficient=name) for row in small.correlations[:1]))
    assert source in list_sources(study).values()


def test_only_comparisons_with_a_p_value_are_corrected(small: Study):
    rows = small.comparisons
    assert describe_families(rows)
    assert describe_families([replace(row, p=None) for row in rows]) == ""
