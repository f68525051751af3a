"""Which cells of the table of all scores are marked."""

import pytest

from imapeval.study.closed.choices import Choice
from imapeval.study.closed.findings import analyse_closed_answers
from imapeval.study.closed.logs import ClosedAnswer


def answer(model: str, right: int) -> list[ClosedAnswer]:
    """Answers to 40 questions, of which the first ones are right."""
    return [
        ClosedAnswer(
            *("t", model, str(n), "", "", ("A", "B"), (), frozenset("A"), None),
            choice=Choice("A" if n < right else "B", "read"),
        )
        for n in range(40)
    ]


@pytest.mark.parametrize(("against", "marks"), [(None, "*==."), ("two", "....")])
def test_nothing_is_marked_unless_all_models_were_compared_with_the_best(against: str | None, marks: str):
    """As the page says of both marks. One and two are equally good; with one, the first, only two was compared."""
    answers = [
        row for name, right in (("one", 30), ("two", 30), ("three", 29), ("four", 12)) for row in answer(name, right)
    ]
    cells = analyse_closed_answers(answers, against=against).scores
    assert "".join("*" if row.best else "=" if row.as_best else "." for row in cells) == marks
