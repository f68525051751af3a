"""Models compared, and the same questions with options in other orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.report.formatting import NO_VALUE, format_coefficient, format_interval, format_measure, format_p
from imapeval.report.markup import (
    Markup,
    render_details,
    render_heading,
    render_note,
    render_section,
    render_table,
)
from imapeval.study.intervals.coverage import (
    OVER_ITEMS,
    describe_difference_coverage,
    describe_mean_coverage,
    describe_test_coverage,
)
from imapeval.study.number_format import format_percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.closed.comparison import RunTest
    from imapeval.study.closed.models import OrderEffect
    from imapeval.study.systems.differences import Difference
    from imapeval.study.systems.ranking import Standing


_EQUIVALENT: Mapping[bool | None, str] = {None: NO_VALUE, True: "yes", False: "no"}


def name_task(task: str) -> str:
    """Return the label of a task, which a table need not name."""
    return task or "all questions"


def render_comparisons(
    leaderboard: Sequence[Standing], differences: Sequence[Difference], runs: Sequence[RunTest], *, metric: str
) -> Markup:
    """Return the section on differences between models; "" for a single model."""
    if not leaderboard:
        return Markup("")
    over = (
        "the questions that all models answered"
        if leaderboard[0].shared
        else "each model's own questions, because no question has an answer of every model"
    )
    letters = (
        " Models that share a letter cannot be told apart: no difference between them is significant after Holm's "
        "correction."
        if any(row.groups for row in leaderboard)
        else ""
    )
    unpaired = (
        ""
        if not any(row.apart for row in differences)
        else " Not paired: the two share no question, and each mean is over other questions."
    )
    parts = [
        render_note(
            f"Which models differ? Mean {metric} over {over}, with its 95% interval: Wilson's for a share of right "
            f"answers, from a bootstrap of questions otherwise.{letters}"
        ),
        _render_leaderboard(leaderboard),
        *map(render_note, describe_mean_coverage(row.resampled for row in leaderboard)),
        *([render_note(OVER_ITEMS)] if runs else []),
        render_heading("Differences"),
        render_note(
            f"Each pair on the questions that both answered: the first model's mean less the second's, with "
            "an interval from a bootstrap of questions. p is from McNemar's exact test where answers are right or "
            "wrong, else from permutations. Where models have several runs, interval and p are over questions and "
            "runs. p is corrected by Holm's method over the pairs, the interval is not. Won, tied, lost: questions on "
            f"which the first is better, as good, worse.{unpaired}"
        ),
        _render_differences([row for row in differences if not row.column]),
    ]
    if by_task := [row for row in differences if row.column]:
        parts.append(render_details("Differences by task", _render_differences(by_task)))
    parts += map(render_note, describe_difference_coverage(differences, runs))
    if runs:
        parts += [render_heading("Several runs"), *_render_runs(runs)]
    return render_section("comparisons", "Comparisons", *parts)


def _render_leaderboard(rows: Sequence[Standing]) -> Markup:
    lines = [
        [
            row.system,
            f"{row.rank}",
            format_measure(row.mean),
            "" if row.low is None or row.high is None else f"{format_measure(row.low)} to {format_measure(row.high)}",
            f"{row.questions:,}",
            row.groups,
        ]
        for row in rows
    ]
    return render_table(["model", "rank", "mean", "95% interval", "questions", "group"], lines, texts=(0, 5))


def _render_differences(rows: Sequence[Difference]) -> Markup:
    with_equivalence = any(row.equivalent is not None for row in rows)
    lines = [
        [
            row.first,
            row.second,
            name_task(row.group),
            format_coefficient(row.difference),
            format_interval(row.low, row.high),
            format_p(row.p_adjusted),
            row.describe_pairs() or NO_VALUE,
            f"{row.questions:,}",
            NO_VALUE if row.better is None else row.better,
            *([_EQUIVALENT[row.equivalent]] if with_equivalence else []),
        ]
        for row in rows
    ]
    heads = ["first", "second", "task", "difference", "95% interval", "p after Holm", "won, tied, lost", "questions"]
    heads += ["better", "equivalent"] if with_equivalence else ["better"]
    return render_table(heads, lines, texts=(0, 1, 2, 8, 9))


def _render_runs(rows: Sequence[RunTest]) -> list[Markup]:
    lines = [
        [
            row.first,
            row.second,
            name_task(row.task),
            f"{row.runs[0]}, {row.runs[1]}",
            format_coefficient(row.difference),
            format_interval(row.low, row.high),
            format_p(row.p),
            format_p(row.p_over_runs),
        ]
        for row in rows
    ]
    return [
        render_note(
            "Questions and runs are both samples: the variance of a difference is that over questions plus that over "
            "runs (crossed random effects), with Satterthwaite's degrees of freedom. Student's t-test over the runs' "
            "accuracies, as papers report it, says nothing of other questions."
        ),
        render_table(
            ["first", "second", "task", "runs", "difference", "95% interval", "p", "t-test over runs: p"],
            lines,
            texts=(0, 1, 2),
        ),
        *map(render_note, describe_test_coverage((row.items for row in rows), several=True)),
    ]


def render_orders(rows: Sequence[OrderEffect]) -> Markup:
    """Return the section on questions with options in several orders; "" without any."""
    if not rows:
        return Markup("")
    places = sorted({place for row in rows for place in row.by_place})

    def show(share: float | None) -> str:
        return NO_VALUE if share is None else format_percent(share, digits=3)

    lines = [
        [
            row.model,
            name_task(row.task),
            f"{row.items:,}",
            f"{row.pairs:,}",
            show(row.same_option),
            show(row.same_place),
            *(show(row.by_place.get(place)) for place in places),
        ]
        for row in rows
    ]
    return render_section(
        "orders",
        "Options in other orders",
        render_note(
            "Does a model choose the option, or the place? Questions that the logs have with their options in several "
            "orders. Of pairs of answers to one question in different orders: how often both choose the same option, "
            "and how often the same place and so another option. Then the accuracy by the place of the right option: "
            "a model that follows the place is best where its favourite place is right."
        ),
        render_table(
            ["model", "task", "questions", "pairs", "same option", "same place"]
            + [f"right, if it is no. {place}" for place in places],
            lines,
            texts=(0, 1),
        ),
        render_details(
            "Accuracy by order of the options",
            render_note("1 2 3 is the order in which a question was first seen; 2 1 3 has its second option first."),
            render_table(
                ["model", "task", "order", "right"],
                [
                    [row.model, name_task(row.task), order, format_percent(share, digits=3)]
                    for row in rows
                    for order, share in row.by_order.items()
                ],
                texts=(0, 1, 2),
            ),
        ),
    )
