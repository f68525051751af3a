from dataclasses import replace

import pytest

from imapeval.report.study.methods import list_sources
from imapeval.study.correlation.coefficients import all_coefficients, find_coefficient
from imapeval.study.summary.compute import Study


@pytest.mark.parametrize("name", all_coefficients())
def test_the_source_of_each_coefficient_is_named(small: Study, name: str):
    source = find_coefficient(name).source
    assert source
    study = replace(small, correlations=tuple(replace(row, coefficient=name) for row in small.correlations[:1]))
    assert source in list_sources(study).values()
