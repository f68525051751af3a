import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from imapeval.cli.commands.runs.review import review
from imapeval.errors import InputError, UsageError
from imapeval.evaluation.corrections import (
    CORRECTIONS,
    Correction,
    Fact,
    FactChange,
    Mark,
    RelationChange,
    append_correction,
    apply_corrections,
    read_corrections,
)
from imapeval.evaluation.evaluate import evaluate_to_store, make_run_settings
from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.pipeline import Pipeline, open_extractor, open_graph, open_matcher
from imapeval.evaluation.rescoring import correct_run, find_rescored_metrics
from imapeval.evaluation.runs import Run, RunWriter
from imapeval.matching.protocol import Matcher
from imapeval.metrics import registry
from imapeval.serve import server
from imapeval.serve.review import ReviewSession
from imapeval.types import Imap, Match, Pair, Relation, Sample, Score

SAMPLES = [
    Sample("a", "What helps against gout?", ("Take naproxen. Avoid beer.",), "Take ibuprofen. Avoid beer.", system="x"),
    Sample("b", "What helps against gout?", ("Take naproxen. Avoid beer.",), "Take naproxen.", system="y"),
]


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return open_matcher(open_graph(None))


@pytest.fixture
def run(tmp_path: Path, matcher: Matcher) -> Run:
    metrics = [registry.get("imapscore"), registry.get("rouge1")]
    extractor = open_extractor(open_graph(None))
    parts = Pipeline(metrics, extractor, matcher)
    with RunWriter(tmp_path / "run", SAMPLES, settings=make_run_settings(parts, seed=0)) as writer:
        asyncio.run(evaluate_to_store(SAMPLES, parts, run=writer))
    return Run(tmp_path / "run")


def correct(run: Run, id_: str, **change: Any) -> Correction:
    correction = Correction.model_validate({"id": id_, "who": "anna", "change": change})
    append_correction(run.folder, correction)
    return correction


def find_record(run: Run, id_: str) -> ImapRecord:
    return next(record for record in run.imaps() if record.id == id_)


def fact(term: str, value: str) -> dict[str, str]:
    return {"term": term, "value": value}


def test_only_metrics_of_imaps_without_a_model_are_scored_again(run: Run):
    assert [metric.name for metric in find_rescored_metrics(run)] == ["imapscore"]


def test_without_a_change_the_score_stays(run: Run, matcher: Matcher):
    correct(run, "a", kind="checked")
    (_, outcomes) = asyncio.run(correct_run(run, matcher))["a"]
    before = {result.id: result.outcome for result in run.results() if result.metric == "imapscore"}
    assert isinstance(outcomes["imapscore"], Score)
    assert isinstance(before["a"], Score)
    assert outcomes["imapscore"].value == pytest.approx(before["a"].value, abs=1e-3)


def test_a_misread_fact_is_replaced_and_related_anew(run: Run, matcher: Matcher):
    record = find_record(run, "a")
    ours = next(pair for pair in record.imap.response if "ibuprofen" in pair.value)
    theirs = next(pair for pair in record.imap.reference if "naproxen" in pair.value)
    correct(
        run,
        "a",
        kind="fact",
        side="response",
        before=fact(ours.term, ours.value),
        after=fact(theirs.term, theirs.value),
    )
    ((corrected,), outcomes) = asyncio.run(correct_run(run, matcher))["a"]
    assert theirs.value in [pair.value for pair in corrected.imap.response]
    assert ours.value not in [pair.value for pair in corrected.imap.response]
    score = outcomes["imapscore"]
    assert isinstance(score, Score)
    assert score.value == pytest.approx(1)
    assert find_record(run, "a") == record  # The run keeps what was read.


NAPROXEN = Pair(
    "medicine", "naproxen if kidneys are healthy", (5, 13), "affirmed", "possible", "if kidneys are healthy"
)
IBUPROFEN = Pair("medicine", "ibuprofen 400 mg", (5, 21), "affirmed", "possible", amounts=("400 mg",))
READ = ImapRecord(
    "a",
    Imap((Pair("medicine", "?"),), (), (NAPROXEN,), (IBUPROFEN, Pair("advice", "avoid beer"))),
    (Match(NAPROXEN.term, NAPROXEN.value, IBUPROFEN.value, Relation.CONTAINMENT, 0.5, "llm"),),
)


def change_fact(before: Pair | None, after: tuple[str, str] | None, side: str = "response") -> FactChange:
    return FactChange.model_validate(
        {
            "side": side,
            "before": before and fact(before.term, before.value),
            "after": after and fact(*after),
        }
    )


def change_relation(response: str, after: str) -> RelationChange:
    return RelationChange(
        reference=Fact(term=NAPROXEN.term, value=NAPROXEN.value),
        response=Fact(term=IBUPROFEN.term, value=response),
        before=Relation.CONTAINMENT,
        after=Relation(after),
    )


def apply(matcher: Matcher, *changes: FactChange | RelationChange) -> ImapRecord:
    return asyncio.run(apply_corrections(READ, changes, sample=SAMPLES[0], matcher=matcher))


def test_a_corrected_term_leaves_the_fact_and_its_relations_as_they_were_read(matcher: Matcher):
    corrected = apply(
        matcher,
        change_fact(IBUPROFEN, ("drug", IBUPROFEN.value)),
        change_fact(NAPROXEN, ("drug", NAPROXEN.value), "reference"),
    )
    assert corrected.imap.response[0] == replace(IBUPROFEN, term="drug")
    assert corrected.imap.reference[0] == replace(NAPROXEN, term="drug")
    assert corrected.matches is not None
    assert corrected.matches[0] == replace((READ.matches or ())[0], term="drug")
    assert corrected.matches[1].relation is Relation.UNMATCHED


def test_what_follows_from_a_corrected_value_is_read_again(matcher: Matcher):
    # The text says "possible" elsewhere, such as in a heading; it says the rest in the value.
    corrected = apply(matcher, change_fact(IBUPROFEN, ("medicine", "no ibuprofen 200 mg if it hurts")))
    assert corrected.imap.response[0] == Pair(
        *("medicine", "no ibuprofen 200 mg if it hurts", None, "denied", "possible", "if it hurts", ("200 mg",))
    )
    corrected = apply(matcher, change_fact(IBUPROFEN, ("medicine", "ibuprofen is unlikely to help")))
    assert corrected.imap.response[0].certainty == "unlikely"
    corrected = apply(matcher, change_fact(NAPROXEN, ("medicine", "naproxen"), "reference"))
    assert corrected.imap.reference[0] == Pair("medicine", "naproxen", certainty="possible")
    corrected = apply(matcher, change_fact(None, ("medicine", "possibly aspirin 100 mg")))
    assert corrected.imap.response[2] == Pair(
        "medicine", "possibly aspirin 100 mg", certainty="possible", amounts=("100 mg",)
    )


@pytest.mark.parametrize("last", [IBUPROFEN.value, "ibuprofen 200 mg"])
def test_a_corrected_relation_stays_with_its_facts_whatever_is_corrected_afterwards(matcher: Matcher, last: str):
    renamed = replace(IBUPROFEN, value="ibuprofen 600 mg")
    facts = [change_fact(IBUPROFEN, (renamed.term, renamed.value)), change_fact(renamed, (renamed.term, last))]
    values = [IBUPROFEN.value, renamed.value, last]
    for position in range(3):
        changes: list[FactChange | RelationChange] = [*facts]
        changes.insert(position, change_relation(values[position], "exact"))
        matches = apply(matcher, *changes).matches or ()
        assert [match.relation for match in matches if match.response == last] == [Relation.EXACT]


def test_a_fact_that_is_there_twice_is_corrected_once(matcher: Matcher):
    twice = replace(READ, imap=replace(READ.imap, response=(IBUPROFEN, NAPROXEN, IBUPROFEN)))
    change = change_fact(IBUPROFEN, ("medicine", "aspirin"))
    corrected = asyncio.run(apply_corrections(twice, [change], sample=SAMPLES[0], matcher=matcher))
    assert [pair.value for pair in corrected.imap.response] == ["aspirin", NAPROXEN.value]


def test_a_corrected_relation_is_not_that_of_another_fact_with_the_former_value(matcher: Matcher):
    matches = apply(
        matcher,
        change_relation(IBUPROFEN.value, "exact"),
        change_fact(IBUPROFEN, ("medicine", "aspirin")),
        change_fact(None, (IBUPROFEN.term, IBUPROFEN.value)),
    ).matches
    relations = {match.response: match.relation for match in matches or ()}
    assert relations["aspirin"] is Relation.EXACT
    assert relations[IBUPROFEN.value] is not Relation.EXACT


def test_facts_can_be_added_and_deleted(run: Run, matcher: Matcher):
    record = find_record(run, "b")
    first = record.imap.response[0]
    correct(run, "b", kind="fact", side="response", before=fact(first.term, first.value))
    correct(run, "b", kind="fact", side="response", after=fact("advice", "drink water"))
    ((corrected,), _) = asyncio.run(correct_run(run, matcher))["b"]
    assert [(pair.term, pair.value) for pair in corrected.imap.response] == [("advice", "drink water")]


def test_a_corrected_relation_counts(run: Run, matcher: Matcher):
    record = find_record(run, "a")
    ours = next(pair for pair in record.imap.response if "ibuprofen" in pair.value)
    theirs = next(pair for pair in record.imap.reference if "naproxen" in pair.value)
    change = {
        "reference": fact(theirs.term, theirs.value),
        "response": fact(ours.term, ours.value),
        "before": "unmatched",
        "after": "exact",
    }
    correct(run, "a", kind="relation", **change)
    (_, outcomes) = asyncio.run(correct_run(run, matcher))["a"]
    score = outcomes["imapscore"]
    assert isinstance(score, Score)
    assert score.value == pytest.approx(1)


def test_a_reset_withdraws_what_came_before(run: Run):
    correct(run, "a", kind="checked")
    kept = correct(run, "b", kind="checked")
    correct(run, "a", kind="reset")
    assert list(read_corrections(run.folder)) == [kept]


def test_a_change_of_what_is_not_there_is_refused(run: Run, matcher: Matcher):
    correct(run, "a", kind="fact", side="response", before=fact("x", "y"))
    with pytest.raises(InputError) as caught:
        asyncio.run(correct_run(run, matcher))
    assert caught.value.path == run.folder / CORRECTIONS
    record = find_record(run, "a")
    twice = record.imap.response[0]
    change = Correction.model_validate(
        {
            "id": "a",
            "who": "anna",
            "change": {"kind": "fact", "side": "response", "after": fact(twice.term, twice.value)},
        }
    ).change
    with pytest.raises(UsageError, match="already"):
        asyncio.run(apply_corrections(record, [change], sample=SAMPLES[0], matcher=matcher))


async def test_a_page_with_a_correction_that_does_not_fit_opens_and_can_withdraw_it(run: Run, matcher: Matcher):
    correct(run, "a", kind="fact", side="response", before=fact("x", "y"))
    session = ReviewSession(Run(run.folder), matcher, who="anna")
    assert "x: y" in await session.render()
    with pytest.raises(UsageError):
        await session.correct("a", 0, 0, Mark(kind="checked"), texts=0)
    shown = await session.correct("a", 0, 0, Mark(kind="reset"), texts=0)
    assert shown["sample"]["imaps"][0]["review"] == {"corrections": 0, "checked": False, "problem": ""}
    assert not read_corrections(run.folder)


@pytest.mark.parametrize("error", [KeyError("uid not found"), OSError("no name"), ImportError("pwd")])
def test_a_review_without_a_name_asks_for_one(run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception):
    def find_nobody() -> str:
        raise error

    monkeypatch.setattr("getpass.getuser", find_nobody)
    with pytest.raises(UsageError, match="--who"):
        review(run.folder)


def test_only_one_review_corrects_a_run(run: Run, monkeypatch: pytest.MonkeyPatch):
    served: list[int] = []

    def serve(*_: Any, **__: Any) -> None:
        served.append(1)
        if len(served) == 1:
            with pytest.raises(UsageError):
                review(run.folder, who="berta")

    monkeypatch.setattr(server, "run", serve)
    review(run.folder, who="anna")
    review(run.folder, who="berta")
    assert len(served) == 2


def test_an_incomplete_line_is_skipped_and_overwritten(run: Run):
    correct(run, "a", kind="checked")
    path = run.folder / CORRECTIONS
    path.write_bytes(path.read_bytes() + b'{"id": "b", "who')
    assert len(read_corrections(run.folder)) == 1
    correct(run, "b", kind="checked")
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == ["a", "b"]


def test_a_repeated_line_counts_once(tmp_path: Path):
    line = {"id": "a", "who": "anna", "time": "2026-11-01T10:00:00Z", "change": {"kind": "checked"}}
    (tmp_path / CORRECTIONS).write_text(f"{json.dumps(line)}\n" * 2)
    assert len(read_corrections(tmp_path)) == 1


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "a"}',
        '{"id": "a", "who": "anna", "change": {"kind": "checked", "kind": "reset"}}',
        '{"id": "a", "who": "anna", "reading": true, "change": {"kind": "checked"}}',
        '{"id": "a", "who": "anna", "change": {"kind": "fact", "side": "response"}}',
        '{"id": "\\ud800", "who": "anna", "change": {"kind": "checked"}}',
        '{"id": "a", "who": "anna", "change": {"kind": "%s"}}' % ("x" * 10_000),
        "[" * 100_000,
        "\0" * 100,
    ],
    ids=["fields", "key twice", "reading", "no fact", "surrogate", "long", "nested", "zero bytes"],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str):
    good = '{"id": "a", "who": "anna", "change": {"kind": "checked"}}'
    (tmp_path / CORRECTIONS).write_text(f"{good}\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_corrections(tmp_path)
    assert caught.value.line == 2
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("other", [{"id": "c"}, {"reading": 1}, {"reference_index": 1}])
def test_a_correction_of_what_is_not_in_the_run(run: Run, matcher: Matcher, other: dict[str, Any]):
    line = {"id": "a", "who": "anna", "change": {"kind": "checked"}}
    lines = [json.dumps(one) + "\n" for one in (line, line | other)]
    (run.folder / CORRECTIONS).write_text("".join(lines))
    with pytest.raises(InputError) as caught:
        asyncio.run(correct_run(run, matcher))
    assert caught.value.line == 2
