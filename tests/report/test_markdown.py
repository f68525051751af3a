import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from imapeval.evaluation.runs import Result, Run
from imapeval.explain.answers import collect_answers
from imapeval.redaction import make_printable
from imapeval.report import markdown
from imapeval.report.markdown import write_markdown
from imapeval.report.summary import SummaryRow, summarise
from imapeval.report.thresholds import Threshold, Verdict
from imapeval.study.intervals.coverage import describe_mean_coverage
from imapeval.types import Failure, Sample, Score

HOSTILE = [
    "</td></table><script>alert(1)</script>",
    "a | b | c",
    "`code` **bold** _it_ ~~gone~~ \\",
    "[link](javascript:alert(1)) ![image](http://127.0.0.1/x.png)",
    "<!-- comment",
    "two\nlines\r\n\r\n# heading\n- list\n| a | b |\n|---|---|",
    "http://127.0.0.1/ www.example.org me@example.org @someone #1 $x$ &lt;b&gt; :smile:",
    "\u202eright to left \x1b[31mred \ud800",
]


def parse(text: str) -> list[Token]:
    return MarkdownIt("gfm-like", {"linkify": False}).parse(text)


def cells(text: str) -> list[list[str]]:
    """Return what is shown in the rows of all tables, and that nothing but text is there."""
    rows: list[list[str]] = []
    for token in parse(text):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            assert {child.type for child in token.children or ()} <= {"text", "text_special"}, token
            if token.level == 4 and rows:
                rows[-1].append("".join(child.content for child in token.children or ()))
        assert token.type not in ("html_block", "fence", "code_block"), token
    return rows


def show(samples: list[Sample], results: list[Result], verdicts: tuple[Verdict, ...] = (), **options: bool) -> str:
    metrics = options or {"m": True}
    answers = collect_answers(samples, results, [], metrics=list(metrics))
    rows = summarise(samples, results, metrics=list(metrics), ranges={}, seed=0)
    return write_markdown(answers, rows, verdicts, name="data", higher_is_better=metrics)


def test_a_run(run: Path):
    found = Run(run)
    answers = collect_answers(found.samples(), found.results(), found.imaps(), metrics=["m"])
    rows = summarise(found.samples(), found.results(), metrics=["m"], ranges={}, seed=0)
    verdicts = [Verdict(Threshold("m", 0.6), 0.525, 2), Verdict(Threshold("m", 0.5), 0.525, 2)]
    text = write_markdown(answers, rows, verdicts, name="my data", higher_is_better={"m": True})
    assert text.startswith("## imapeval: my data\n\n- ❌ m: the mean 0.525 of 2 scored is below 0.6.\n- ✅ m: ")
    table = cells(text)
    assert table[:2] == [
        ["metric", "system", "scored", "not scored", "mean", "95% interval"],
        ["m", "all", "2", "1", "0.525", "0.250 to 0.800"],
    ]
    reason = table[table.index(["reason", "answers", "such as"]) + 1]
    assert reason[0].startswith("</script>")
    assert reason[0].endswith("(extraction/no-query)")
    assert reason[1:] == ["1", "c"]
    worst = table[table.index(["answer", "system", "m", "facts"]) + 1 :]
    assert [row[0] for row in worst] == ["b", "a/1 ü"]


def test_without_failures_systems_and_thresholds():
    text = show([Sample("a", "q", ("r",), "x")], [Result("a", "m", Score(0.5), "m")])
    assert cells(text) == [
        ["metric", "scored", "not scored", "mean", "95% interval"],
        ["m", "1", "0", "0.500", "–"],
        ["answer", "m", "facts"],
        ["a", "0.500", ""],
    ]
    assert "Not scored" not in text


def test_what_is_known_of_intervals_of_few_questions_stands_below_them():
    samples = [Sample(str(n), f"q{n}", ("r",), "x") for n in range(8)]
    text = show(samples, [Result(s.id, "m", Score(n / 9), "m") for n, s in enumerate(samples)])
    (sentence,) = describe_mean_coverage([8])
    assert text.index("95% interval") < text.index(sentence) < text.index("Worst")


def test_nothing_scored():
    text = show([Sample("a", "q", ("r",), "x")], [Result("a", "m", Failure("llm", "refusal", "refused"), "m")])
    assert ["m", "0", "1", "–", "–"] in cells(text)
    assert ["refused (llm/refusal)", "1", "a"] in cells(text)
    assert "Worst" not in text


def test_answers_that_were_not_tried_are_counted_apart_from_those_without_a_score():
    samples = [Sample(str(n), f"q{n}", ("r",), "x", system="ab"[n % 2]) for n in range(6)]
    refused = Failure("llm", "refusal", "refused")
    text = show(samples, [Result("0", "m", Score(0.5), "m"), Result("1", "m", refused, "m")])
    assert cells(text)[:4] == [
        ["metric", "system", "scored", "not scored", "not tried", "mean", "95% interval"],
        ["m", "all", "1", "1", "4", "0.500", "–"],
        ["m", "a", "1", "0", "2", "0.500", "–"],
        ["m", "b", "0", "1", "2", "–", "–"],
    ]
    assert "### Not scored: 5 of 6 answers, 4 of which were not tried" in text


def test_nothing_tried_of_answers_without_a_system():
    text = show([Sample("a", "q", ("r",), "x")], [])
    assert ["m", "0", "0", "1", "–", "–"] in cells(text)
    assert "### Not scored: 1 of 1 answers, 1 of which was not tried" in text


@pytest.mark.parametrize(("higher_is_better", "first"), [(True, "0"), (False, "29")])
def test_the_worst_come_first_and_are_few(higher_is_better: bool, first: str):
    samples = [Sample(str(n), "q", ("r",), "x") for n in range(30)]
    results = [Result(str(n), "m", Score(n / 30), "m") for n in range(30)]
    table = cells(show(samples, results, m=higher_is_better))
    worst = table[table.index(["answer", "m", "facts"]) + 1 :]
    assert len(worst) == markdown.MAX_WORST
    assert worst[0][0] == first


def test_the_same_reason_is_told_once_with_its_count():
    samples = [Sample(str(n), "q", ("r",), "x") for n in range(9)]
    results = [Result(s.id, m, Failure("llm", "refusal", "refused"), m) for s in samples for m in ("m", "n")]
    text = show(samples, results, m=True, n=True)
    assert ["refused (llm/refusal)", "9", "0, 1, 2"] in cells(text)
    assert "### Not scored: 9 of 9 answers" in text


@pytest.mark.slow
def test_it_stays_below_what_a_job_may_show():
    samples = [Sample(f"{n} {'x' * 5000}", f"q{n}", ("r",), "x", system=f"{n} {'s' * 5000}") for n in range(3000)]
    results = [Result(s.id, "m", Failure("llm", "odd", f"{s.id} {'y' * 5000}"), "m") for s in samples]
    answers = collect_answers(samples, results, [], metrics=["m"])
    rows = [SummaryRow("m", s.system, 0, 1, None, None, None) for s in samples]
    text = write_markdown(answers, rows, name="data" * 5000, higher_is_better={"m": True})
    assert len(text.encode()) < 200_000
    assert "and 2800 more rows" in text
    assert "and 2980 more reasons" in text


def plain(text: str) -> str:
    """Return what is to be seen of a text: in one line, without what cannot be shown."""
    return re.sub("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]", "\ufffd", " ".join(text.split()))


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_from_outside_are_shown_as_they_are(text: str):
    samples = [Sample(text, "q", ("r",), "x", system=text), Sample("b", "q", ("r",), "x", system="b")]
    results = [
        Result(text, "m", Score(0.5), "m"),
        Result("b", "m", Failure("llm", "odd", text), "m"),
    ]
    written = show(samples, results)
    table = cells(written)
    assert ["m", plain(text), "1", "0", "0.500", "–"] in table
    assert [f"{plain(make_printable(text))} (llm/odd)", "1", "b"] in table
    assert [plain(text), plain(text), "0.500", ""] in table
    assert "<script" not in written
    assert "http://" not in written
    assert "www." not in written


@given(st.text(st.characters(exclude_categories=[]), min_size=1, max_size=200))
def test_any_text_stays_in_its_cell(text: str):
    table = cells(show([Sample("a", "q", ("r",), "x")], [Result("a", "m", Failure("llm", "odd", text), "m")]))
    assert [f"{plain(make_printable(text))} (llm/odd)".strip(), "1", "a"] in table
