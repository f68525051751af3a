from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from imapeval.evaluation.runs import Result, Run
from imapeval.explain.answers import collect_answers
from imapeval.report.junit import iterate_junit
from imapeval.report.thresholds import Threshold, Verdict
from imapeval.types import Failure, Sample, Score

ALLOWED = {
    "testsuites": ({"testsuite"}, {"name", "time", "tests", "failures", "errors"}),
    "testsuite": (
        {"properties", "testcase", "system-out", "system-err"},
        {"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname", "id", "package", "file"},
    ),
    "properties": ({"property"}, set[str]()),
    "property": (set[str](), {"name", "value"}),
    "testcase": ({"skipped", "error", "failure", "system-out", "system-err"}, {"name", "time", "classname", "group"}),
    "error": (set[str](), {"type", "message"}),
    "failure": (set[str](), {"type", "message"}),
    "system-out": (set[str](), set[str]()),
}
"""Children and attributes by element: what we use of junit-10.xsd (jenkinsci/xunit-plugin)."""


def check(root: ET.Element) -> None:
    for element in root.iter():
        children, attributes = ALLOWED[element.tag]
        assert {child.tag for child in element} <= children
        assert set(element.keys()) <= attributes
    suites = list(root)
    for count in ("tests", "failures", "errors"):
        assert int(root.attrib[count]) == sum(int(suite.attrib[count]) for suite in suites)
    for suite in suites:
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
        assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error"))


def read(parts: Iterable[str]) -> ET.Element:
    root = ET.fromstring("".join(parts).encode())
    check(root)
    return root


def test_a_run(run: Path):
    found = Run(run)
    signatures = found.manifest["settings"]["metrics"]
    answers = collect_answers(found.samples(), found.results(), found.imaps(), metrics=list(signatures))
    verdicts = [Verdict(Threshold("m", 0.6), 0.525, 2), Verdict(Threshold("m", 0.5), 0.525, 2)]
    parts = iterate_junit(answers, verdicts, name="my data", signatures=signatures, started="2026-01-01T00:00:00+00:00")
    root = read(parts)
    answered, thresholds = root
    assert answered.attrib["name"] == "my data"
    assert [(p.attrib["name"], p.attrib["value"]) for p in answered.iter("property")] == [("m", "m|v:1")]
    first, second, third = answered.findall("testcase")
    assert (first.attrib["classname"], first.attrib["name"]) == ("my data/D/one", "a/1 ü")
    assert first.findtext("system-out") == (
        "m 0.800 (recall 0.9, reference 1)\nThe response has 1 of 2 facts of the reference; it lacks rest (advice). "
        "Of its own facts 1 is not in the reference: antibiotics (treatment)."
    )
    assert second.find("error") is None
    error = third.find("error")
    assert error is not None
    assert error.attrib["type"] == "extraction/no-query"
    assert error.attrib["message"].startswith("not scored: </script>")
    assert third.find("system-out") is None
    missed, met = thresholds
    failure = missed.find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "m: the mean 0.525 of 2 scored is below 0.6."
    assert met.find("failure") is None
    assert missed.attrib["name"] == "mean of m at least 0.6"


def test_the_facts_are_those_beside_the_reference_that_counts(run: Path):
    found = Run(run)
    (record,) = found.imaps()
    assert record.imap.reference_index == 1
    sample = found.samples()[0]
    counts = {index: Score(0.8, {"reference": index}) for index in (0.0, 1.0)}
    told = {
        index: collect_answers([sample], [Result(sample.id, "imapscore", score, "s")], [record], metrics=["imapscore"])[
            0
        ].facts
        for index, score in counts.items()
    }
    assert told[0.0] == ""
    assert told[1.0].startswith("The response has 1 of 2 facts of the reference; it lacks rest (advice).")


def test_an_answer_that_the_run_has_stopped_before_is_not_passed():
    sample = Sample("a", "q", ("r",), "x", system="gpt-4.1")
    (answer,) = collect_answers([sample], [], [], metrics=["m"])
    root = read(iterate_junit([answer], name="data", signatures={"m": "m"}))
    (case,) = root.iter("testcase")
    error = case.find("error")
    assert error is not None
    assert error.attrib["type"] == "metric/pending"
    # Readers would take "data/gpt-4" for a package.
    assert case.attrib["classname"] == "data/gpt-4_1"


def test_one_error_of_an_answer_with_several_reasons():
    sample = Sample("a", "q", ("r",), "x")
    outcomes = {"m": Failure("llm", "refusal", "refused"), "n": Failure("metric", "too-long", "long"), "o": Score(1.0)}
    results = [Result("a", name, outcome, name) for name, outcome in outcomes.items()]
    root = read(iterate_junit(collect_answers([sample], results, [], metrics=list(outcomes)), name="d", signatures={}))
    (error,) = root.iter("error")
    assert error.text == "m: not scored: refused (llm/refusal)\nn: not scored: long (metric/too-long)"
    assert root.findtext(".//system-out") == "o 1.000"


TEXTS = st.text(st.characters(exclude_categories=[]), min_size=1)  # control characters and half characters, too


@given(id_=TEXTS, system=TEXTS, name=TEXTS, message=TEXTS)
def test_any_text_makes_a_document(id_: str, system: str, name: str, message: str):
    samples = [Sample(id_, "q", ("r",), "x", system=system)]
    results = [Result(id_, "m", Failure("llm", message, message), "m")]
    answers = collect_answers(samples, results, [], metrics=["m"])
    verdicts = [Verdict(Threshold(name, 1.0), None, 0)]
    root = read(iterate_junit(answers, verdicts, name=name, signatures={"m": message}))
    (case, _) = root.iter("testcase")
    printable = all(character.isprintable() for character in id_)
    assert not printable or case.attrib["name"] == id_


def test_control_characters_are_shown():
    samples = [Sample("bell\a \x1b[31m \ud800 \ufffe", "q", ("r",), "x")]
    text = "".join(iterate_junit(collect_answers(samples, [], [], metrics=["m"]), name="d", signatures={}))
    assert 'name="bell#x07 #x1B[31m #xD800 #xFFFE"' in text
