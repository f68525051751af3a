from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from imapeval.report.study.bias import render_bias
from imapeval.study.data.rated import Rated
from imapeval.study.subgroups.bias import measure_bias
from imapeval.study.subgroups.shifts import measure_shifts
from imapeval.study.summary.compute import Study
from tests.report.study.conftest import DIMENSIONS


def test_what_was_altered(small: Study):
    study = replace(small, biases=tuple(measure_bias(small.rated)))
    assert "altered" not in render_bias(study)

    metric = small.rated.metrics[0]
    scores = {
        name: score + (0.25 if number % 4 else -0.15)
        for number, (name, score) in enumerate(zip(small.rated.ids, small.rated.scores_of(metric), strict=True))
    }
    few = dict.fromkeys(small.rated.ids[:3], 0.0)
    shifts = measure_shifts(small.rated, {"order & texts": {metric: scores}, "few": {metric: few}})
    section = render_bias(replace(study, shifts=tuple(shifts)))
    assert "order &amp; texts" in section
    assert ">0.150<" in section
    assert f">{shifts[0].low:.3f} to {shifts[0].high:.3f}<" in section
    assert ">75%<" in section
    assert ">25%<" in section
    assert shifts[0].shown
    assert "the same answers score higher" in section
    assert section.count(shifts[1].reason or "?") == 1


@pytest.mark.parametrize("known", [(), ("accuracy",), DIMENSIONS])
def test_noise_is_said_to_be_removed_where_it_is(
    small: Study, draw_answers: Callable[..., Rated], known: tuple[str, ...]
):
    """Two raters show the noise of their mean, one rater does not; averages may be those of one rater."""
    rated = draw_answers(80, small.rated.metrics, raters=2)
    tables = {name: table if name in known else table * [1.0, np.nan] for name, table in rated.by_rater.items()}
    rated = replace(rated, by_rater=tables)
    section = render_bias(replace(small, rated=rated, biases=tuple(measure_bias(rated))))
    assert ("Corrected for the noise" in section) == (known == DIMENSIONS)
    assert ("not known in every dimension" in section) == (known != DIMENSIONS)
    assert "averages" not in section


def test_the_table_that_holds_each_dimension_equal_is_named_where_the_page_does_not(small: Study, alike: Study):
    for study, together in ((replace(small, biases=tuple(measure_bias(small.rated))), True), (alike, False)):
        assert ("biases.csv" in render_bias(study)) == together


@pytest.fixture
def alike(small: Study) -> Study:
    """A study of two dimensions that are one, and a metric that long answers mislead."""
    rated = small.rated
    one = rated.ratings[:, [0]]
    length = np.arange(len(rated.ids)) % 7.0
    rated = replace(
        rated,
        metrics=("m",),
        scores=one + length[:, None],
        dimensions=("a", "b"),
        ratings=np.hstack([one, one]),
        by_rater={},
        covariates={"response characters": length},
    )
    return replace(small, rated=rated, biases=tuple(measure_bias(rated)))


def test_where_dimensions_are_too_much_alike_each_is_held_equal_by_itself(alike: Study):
    section = render_bias(alike)
    assert section.count("--dimensions") == 1
    shown = [row.sentence for row in alike.biases if row.shown]
    assert len(shown) >= 2
    assert all(sentence in section for sentence in shown)
    assert "No bias is shown" not in section


def test_what_was_not_measured_is_not_said_to_be_unbiased(alike: Study):
    few = alike.rated.take(np.arange(3))
    section = render_bias(replace(alike, rated=few, biases=tuple(measure_bias(few))))
    assert "No bias is shown" not in section
    assert "Not measured" in section
