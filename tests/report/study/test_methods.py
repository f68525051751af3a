from collections.abc import Callable
from dataclasses import replace

import pytest

from imapeval.report.study.methods import describe_families, describe_methods, list_sources
from imapeval.study.agreement.measure import find_title
from imapeval.study.correlation.coefficients import all_coefficients, find_coefficient
from imapeval.study.data.rated import Rated
from imapeval.study.summary.compute import Study, compute_study


@pytest.mark.parametrize("name", all_coefficients())
def test_the_source_of_each_coefficient_is_named(small: Study, name: str):
    source = find_coefficient(name).source
    assert source
    study = replace(small, correlations=tuple(replace(row, coefficient=name) for row in small.correlations[:1]))
    assert source in list_sources(study).values()


@pytest.mark.parametrize("raters", [0, 1, 2, 3])
def test_only_methods_that_gave_a_result_are_named(raters: int, draw_answers: Callable[..., Rated]):
    """Agreement and ceilings need two raters, the alternative annotator test three (Calderon et al. 2025)."""
    rated = draw_answers(120, ("m",), raters=raters)
    study = compute_study(rated, title="", signatures={}, resamples=20)
    titles = list_sources(study)
    of_two = ("ceiling", "correction for attenuation", find_title("icc_2_k"))
    assert [title in titles for title in of_two] == [raters > 1] * 3
    assert ("alternative annotator test" in titles) == (raters > 2)
    assert any("of agreement and of ceilings" in said for said in describe_methods(study)) == (raters > 1)
    groups = replace(study.heterogeneities[0], p=None)
    assert "differences between groups of answers" not in list_sources(replace(study, heterogeneities=(groups,)))


def test_the_jackknife_of_systems_has_a_source_of_its_own(small: Study):
    """It leaves out one system after the other (Tukey 1958); that of questions is infinitesimal (Jaeckel 1972)."""
    one = replace(small.comparisons[0], interval="jackknife")
    rows = (replace(one, test="perm-systems"), replace(one, test="perm-inputs"))
    found = list_sources(replace(small, correlations=(), comparisons=rows))
    assert [source[:5] for title, source in found.items() if "jackknife" in title] == ["Tukey", "Jaeck"]


def test_only_comparisons_with_a_p_value_are_corrected(small: Study):
    rows = small.comparisons
    assert describe_families(rows)
    assert describe_families([replace(row, p=None) for row in rows]) == ""
