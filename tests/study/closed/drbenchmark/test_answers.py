"""How answers to DrBenchmark's tasks are read."""

import pytest

from imapeval.study.closed.drbenchmark.tasks import load_tasks, parse_answer

CHOICES = next(task for task in load_tasks() if task.name == "FrenchMedMCQA MCQA")


@pytest.mark.parametrize(
    ("given", "letters"), [("a", "a"), ("a ", "a"), (" ca\n", "ac"), ([" a "], "a"), (" ", ""), ("", "")]
)
def test_white_space_around_letters_is_none_of_them(given: str | list[str], letters: str):
    assert parse_answer(given, CHOICES) == frozenset(letters)
