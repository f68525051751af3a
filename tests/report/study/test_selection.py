from collections.abc import Callable
from dataclasses import replace

from imapeval.report.study.selection import describe_selection, rank_metrics, select_top_metrics
from imapeval.study.data.rated import Rated
from imapeval.study.summary.compute import Study


def test_what_is_shown_is_called_what_it_is(build: Callable[..., Study], draw_answers: Callable[..., Rated]):
    study = build(draw_answers(80, tuple("abcdef"), raters=0))
    ranked = rank_metrics(study)
    assert describe_selection(study, select_top_metrics(study)) == "The metrics with the 4 highest coefficients"
    assert describe_selection(study, ranked) == "All metrics"
    assert describe_selection(study, ranked[:1]) == "The metric with the highest coefficient"
    last = replace(study, against=ranked[-1])
    said = f"The metrics with the 3 highest coefficients, and {ranked[-1]}"
    assert describe_selection(last, select_top_metrics(last)) == said
    second = replace(study, against=ranked[1])
    assert describe_selection(second, select_top_metrics(second)) == "The metrics with the 4 highest coefficients"
    assert describe_selection(study, ranked[2:4]) == ", ".join(ranked[2:4])
