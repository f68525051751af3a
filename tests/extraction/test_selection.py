"""Which values of a completion are taken (`selected.tsv`; answers and values written for this table).

Each value is one that a strong model might write, or make up, for one sentence, beside another that is a quotation:

- kept: in other words, forms, units or spellings than the answer's, but said by it;
- refused: from the prompts' examples, from the question or from nowhere;
- lost: said by the answer, but in words that nothing here knows (发热, 发烧). The price of refusing the made-up ones.
"""

from pathlib import Path

import pytest

from imapeval.extraction.selection import EXAMPLE_VALUES, select_inform
from imapeval.extraction.source import SourceText
from imapeval.llm.structured import templates
from imapeval.types import Pair, QuestionImap

ROWS = [line.split("\t") for line in (Path(__file__).parent / "selected.tsv").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("outcome", "term", "answer", "value"), ROWS, ids=[f"{row[0]} {row[3]}" for row in ROWS])
def test_only_pairs_in_the_answer_are_kept(outcome, term, answer, value):
    quoted = Pair(term, answer.rstrip(".。"))
    imap = QuestionImap((Pair(term, "?"),), ())
    # What fails here as "garbled" or "wrong-language" would cost the whole sample.
    parsed = select_inform([quoted, Pair(term, value)], SourceText(answer, under_evaluation=True), imap, "")
    assert [dropped.reason for dropped in parsed.dropped] == ([] if outcome == "kept" else ["not in the text"])


@pytest.mark.parametrize("value", sorted(EXAMPLE_VALUES))
def test_the_examples_values_are_those_of_the_prompt(value):
    template = templates.load("answer-inform", lang="zh", version=2)
    assert any(f'"{value}"' in message.content for message in template.messages)


@pytest.mark.parametrize("value", ["不要Graves病手术", "不要查eGFR", "不要查dsDNA"])
def test_a_name_with_capitals_is_not_damaged(value):
    source = SourceText("Graves病：不要手术。eGFR不要查。dsDNA抗体要查。", under_evaluation=True)
    imap = QuestionImap((Pair("建议", "?"),), ())
    assert select_inform([Pair("建议", value)], source, imap, value).found == (Pair("建议", value),)


def test_an_example_value_counts_if_the_answer_contains_it():
    imap = QuestionImap((Pair("检查", "?"),), ())
    parsed = select_inform([Pair("检查", "尿常规")], SourceText("查一下尿常规。", under_evaluation=True), imap, "")
    assert [pair.value for pair in parsed.found] == ["尿常规"]
