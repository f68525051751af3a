from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from imapeval.evaluation.corrections import Correction, append_correction
from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter
from imapeval.evaluation.samples import UNNAMED_SYSTEM
from imapeval.study.robustness.corrections import report_corrections
from imapeval.types import Imap, Pair, Sample, Score


@pytest.fixture
def run(tmp_path: Path) -> Run:
    samples = [Sample(id_, f"q{id_}", ("r",), "a", system=id_[0]) for id_ in ("x1", "x2", "y1", "y2")]
    pairs = (Pair("t", "one"), Pair("t", "two"))
    records = [ImapRecord(sample.id, Imap((), (), pairs, pairs), ()) for sample in samples]
    scores = dict(zip(("x1", "x2", "y1", "y2"), (0.6, 0.6, 0.5, 0.5), strict=True))
    with RunWriter(tmp_path / "run", samples, settings=RunSettings({"imapscore": "imapscore|v:1"})) as writer:
        writer.add(
            imaps=records,
            results=[Result(id_, "imapscore", Score(value), "imapscore|v:1") for id_, value in scores.items()],
        )
        writer.finish()
    return Run(tmp_path / "run")


@pytest.fixture
def correct(run: Run) -> Callable[..., None]:
    def add(id_: str, who: str = "anna", **change: Any) -> None:
        append_correction(run.folder, Correction.model_validate({"id": id_, "who": who, "change": change}))

    return add


def test_rates_are_over_checked_imaps(run: Run, correct: Callable[..., None]):
    one, two, three = ({"term": "t", "value": value} for value in ("one", "two", "three"))
    correct("x1", kind="fact", side="response", before=one, after=three)
    correct("x1", kind="fact", side="response", before=two)
    correct("x1", who="ben", kind="checked")
    correct("x2", kind="checked")
    correct("y1", kind="fact", side="response", after=three)  # Not checked.
    report = report_corrections(run, {})
    assert (report.corrections, report.checked, report.unchecked) == (3, 2, 1)
    assert report.people == ("anna", "ben")
    reference, response = report.reading
    assert (reference.side, reference.facts, reference.precision, reference.recall) == ("reference", 4, 1.0, 1.0)
    assert (response.misread, response.invented, response.overlooked) == (1, 1, 0)
    assert response.precision == 0.5
    # Wilson's interval of 2 of 4, by statsmodels 0.14 proportion_confint(2, 4, method="wilson").
    assert (response.precision_low, response.precision_high) == pytest.approx((0.15003898915214952, 0.8499610108478505))
    assert response.recall == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("steps", "errors"),
    [
        ([("one", "three"), ("three", "one")], (2, 0, 0, 0)),
        ([(None, "three"), ("three", None)], (2, 0, 0, 0)),
        ([("one", None), (None, "one")], (2, 0, 0, 0)),
        ([("one", "three"), ("three", "four"), ("four", "five")], (2, 1, 0, 0)),
        ([(None, "three"), ("three", "four")], (2, 0, 0, 1)),
        ([("one", "three"), ("three", None)], (2, 0, 1, 0)),
    ],
)
def test_errors_are_what_is_corrected_in_the_end(
    run: Run, correct: Callable[..., None], steps: list[tuple[str | None, str | None]], errors: tuple[int, ...]
):
    for step in steps:
        before, after = (value and {"term": "t", "value": value} for value in step)
        correct("x1", kind="fact", side="response", before=before, after=after)
    correct("x1", kind="checked")
    _, response = report_corrections(run, {}).reading
    assert (response.facts, response.misread, response.invented, response.overlooked) == errors
    assert response.precision == 1 - (response.misread + response.invented) / 2


def test_relations_are_those_in_the_end(run: Run, correct: Callable[..., None]):
    one, two = ({"term": "t", "value": value} for value in ("one", "two"))
    undone, refined = ("exact", "contradiction", "exact"), ("unmatched", "contradiction", "exact")
    for response, relations in ((one, undone), (two, refined)):
        for before, after in pairwise(relations):
            correct("x1", kind="relation", reference=one, response=response, before=before, after=after)
    correct("x1", kind="checked")
    found = report_corrections(run, {}).relations
    assert [(row.before, row.after, row.count) for row in found] == [("unmatched", "exact", 1)]


def test_questions_whose_reference_was_corrected_differently_are_counted(tmp_path: Path):
    samples = [Sample(id_, "q?", references, "a", system=id_) for id_, references in (("x", ("r",)), ("y", ("r", "s")))]
    samples += [
        Sample("other", "q?", ("r2",), "a"),
        Sample("right", "q?", ("r",), "a"),
        Sample("long", "q?", ("r",), "a"),
    ]
    one, two, three, four, five = (Pair("t", value) for value in ("one", "two", "three", "four", "five"))
    read = {"x": (one, two), "y": (one, two), "other": (one, two), "right": (two, three)}
    with RunWriter(tmp_path, samples, settings=RunSettings({"imapscore": "imapscore|v:1"})) as writer:
        writer.add(
            imaps=[ImapRecord(id_, Imap((), (), facts, facts), ()) for id_, facts in read.items()],
            results=[Result(s.id, "imapscore", Score(0.5), "imapscore|v:1") for s in samples],
        )
        writer.finish()
    run = Run(tmp_path)

    def correct(id_: str, before: Pair | None, after: Pair | None, *, side: str = "reference") -> int:
        facts = {
            name: None if pair is None else {"term": pair.term, "value": pair.value}
            for name, pair in (("before", before), ("after", after))
        }
        made = {"id": id_, "who": "anna", "change": {"kind": "fact", "side": side, **facts}}
        append_correction(run.folder, Correction.model_validate(made))
        return report_corrections(run, {}).uneven

    assert correct("x", None, three, side="response") == 0
    assert correct("other", None, five) == 0
    assert correct("other", one, three) == 0
    assert correct("other", None, one) == 0
    # An answer whose reference was read rightly needs no correction; one without an imap can have none.
    assert correct("x", one, three) == 1
    assert correct("y", one, three) == 0
    # Deletion and change are not the same; by whatever steps they were made.
    assert correct("x", two, None) == 1
    assert correct("y", two, four) == 1
    assert correct("y", four, None) == 1
    assert correct("right", two, None) == 0
    # What was undone is no correction.
    assert correct("x", three, one) == 1
    assert correct("x", one, three) == 0
    assert correct("y", three, one) == 1
    assert correct("x", three, one) == 0


def test_answers_without_a_system_are_a_group_of_their_own(tmp_path: Path):
    samples = [Sample(id_, f"q{id_}", ("r",), "a", system=id_.strip("1")) for id_ in ("x1", "1")]
    with RunWriter(tmp_path, samples, settings=RunSettings({"imapscore": "imapscore|v:1"})) as writer:
        results = [Result(s.id, "imapscore", Score(0.6 - 0.1 * n), "imapscore|v:1") for n, s in enumerate(samples)]
        writer.add(imaps=[ImapRecord(s.id, Imap((), (), (), ()), ()) for s in samples], results=results)
        writer.finish()
    for sample in samples:
        made = {"id": sample.id, "who": "anna", "change": {"kind": "checked"}}
        append_correction(tmp_path, Correction.model_validate(made))
    report = report_corrections(Run(tmp_path), {"x1": {"imapscore": Score(0.1)}, "1": {"imapscore": Score(0.5)}})
    assert [(row.system, row.n) for row in report.scores] == [("", 2), ("x", 1), (UNNAMED_SYSTEM, 1)]
    assert report.scores[2].change == 0
    assert report.reversed == {"imapscore": [("x", UNNAMED_SYSTEM)]}


def test_one_changed_answer_of_thirty_is_no_change(tmp_path: Path):
    samples = [Sample(f"{n}", f"q{n}", ("r",), "a") for n in range(30)]
    with RunWriter(tmp_path, samples, settings=RunSettings({"m": "m"})) as writer:
        writer.add(
            imaps=[ImapRecord(s.id, Imap((), (), (), ()), ()) for s in samples],
            results=[Result(s.id, "m", Score(float(n % 2)), "m") for n, s in enumerate(samples)],
        )
        writer.finish()
    for sample in samples:
        append_correction(
            tmp_path, Correction.model_validate({"id": sample.id, "who": "anna", "change": {"kind": "checked"}})
        )
    outcomes = {f"{n}": {"m": Score(float(n % 2 or not n))} for n in range(30)}
    row, *_ = report_corrections(Run(tmp_path), outcomes).scores
    assert row.change == pytest.approx(1 / 30)
    assert row.low == 0


def test_relations_scores_and_the_order_of_systems(run: Run, correct: Callable[..., None]):
    one = {"term": "t", "value": "one"}
    correct("x1", kind="relation", reference=one, response=one, before="exact", after="contradiction")
    correct("x1", kind="checked")
    report = report_corrections(run, {"x1": {"imapscore": Score(0.2)}})
    assert [(row.before, row.after, row.count) for row in report.relations] == [("exact", "contradiction", 1)]
    (row,) = report.scores
    assert (row.n, row.before, row.after, row.low) == (1, 0.6, 0.2, None)
    assert row.change == pytest.approx(-0.4)
    assert report.reversed == {"imapscore": [("x", "y")]}
