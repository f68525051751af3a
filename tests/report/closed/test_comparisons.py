"""What the section on comparisons says is true of any comparison."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from imapeval.report.closed.comparisons import render_comparisons
from imapeval.study.closed.choices import Choice
from imapeval.study.closed.findings import analyse_closed_answers
from imapeval.study.closed.logs import ClosedAnswer


def answer(models: Sequence[str], *, shared: bool = True) -> list[ClosedAnswer]:
    """Answers of the models to 30 questions, right in every second one and by the number of the model."""
    return [
        ClosedAnswer(
            *("t" if shared else model, model, str(n), "", "", ("A", "B"), (), frozenset("A"), None),
            choice=Choice("A" if n % 2 or n < 4 * place else "B", "read"),
        )
        for place, model in enumerate(models)
        for n in range(30)
    ]


def render(answers: Sequence[ClosedAnswer], *, against: str | None = None) -> str:
    found = analyse_closed_answers(answers, against=against)
    return render_comparisons(found.leaderboard, found.differences, found.runs, metric=found.metric)


@pytest.mark.parametrize(("against", "letters"), [(None, True), ("two", False)])
def test_letters_are_explained_where_there_are_some(against: str | None, letters: bool):
    """With --against not all pairs are compared, and models have no letters."""
    section = render(answer(["one", "two", "three"]), against=against)
    assert (">group<" in section) == letters
    assert ("letter" in section) == letters


def test_models_without_a_shared_question_are_not_said_to_share_any():
    shared, own = (render(answer(["one", "two"], shared=shared)) for shared in (True, False))
    assert ">not paired<" in own
    assert ">not paired<" not in shared
    for said, of_shared in (
        ("that all models answered", True),
        ("own questions", False),
        ("Not paired: the two", False),
    ):
        assert (said in shared, said in own) == (of_shared, not of_shared)


def test_one_pair_of_several_that_is_not_paired():
    """Of three models one answered other questions: no question has an answer of all, but two share some."""
    rows = answer(["one", "two", "three"])
    section = render([replace(row, task="u") if row.model == "three" else row for row in rows])
    assert "own questions" in section
    assert "Not paired: the two" in section


def test_a_task_that_one_model_did_not_answer_makes_no_pair_unpaired():
    rows = answer(["one", "two"])
    section = render(rows + [replace(row, task="u") for row in rows if row.model == "one"])
    assert "ot paired" not in section
