"""A run as JUnit XML, which CI servers show as a table of tests: one test per answer and per threshold.

Elements and attributes are those that Jenkins allows (junit-10.xsd of its xUnit plugin); GitLab reads them too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from imapeval.explain.answers import describe_failure, format_score_with_parts
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from imapeval.explain.answers import ScoredAnswer
    from imapeval.report.thresholds import AnyVerdict

_NOT_XML = re.compile("[^\t\n\r\x20-\x7e\x80-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent (section 2.2), and the delete character."""

_NO_TIME = "0"
"""Some readers require a time per test; a run does not record how long one answer took."""

_PLACE_OF_ANSWERS = "answers"
"""The element that marks where the answers belong until they are written. No text can look like it: `<` is escaped."""


def iterate_junit(
    answers: Sequence[ScoredAnswer],
    verdicts: Sequence[AnyVerdict] = (),
    *,
    name: str,
    signatures: Mapping[str, str],
    started: str = "",
) -> Iterator[str]:
    """Yield the document in pieces, so that it need not be in memory.

    An answer that some metric could not score is an `<error>` with the reason; a threshold that is not met is a
    `<failure>`. The scores are in `<system-out>`, the signatures of the metrics in properties. `name` is that of the
    data, `started` the start of the run in ISO 8601.
    """
    errors = sum(bool(answer.unscored) for answer in answers)
    missed = sum(not verdict.met for verdict in verdicts)
    root = Element("testsuites", _make_attributes("imapeval", len(answers) + len(verdicts), missed, errors))
    suite = SubElement(root, "testsuite", _make_attributes(name, len(answers), 0, errors))
    if started:
        suite.set("timestamp", started)
    properties = SubElement(suite, "properties")
    for metric, signature in signatures.items():
        SubElement(properties, "property", name=metric, value=signature)
    SubElement(suite, _PLACE_OF_ANSWERS)
    if verdicts:
        suite = SubElement(root, "testsuite", _make_attributes("thresholds", len(verdicts), missed, 0))
        for verdict in verdicts:
            _add_verdict(suite, verdict)
    indent(root)
    before, after = _write(root).split(f"    <{_PLACE_OF_ANSWERS} />\n")
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n{before}'
    for answer in answers:
        case = _make_case(answer, name)
        indent(case, level=2)
        yield f"    {_write(case)}\n"
    yield f"{after}\n"


def _make_case(answer: ScoredAnswer, name: str) -> Element:
    # Readers take the part before a dot for a package.
    group = "/".join(part.replace(".", "_") for part in (name, answer.system) if part)
    case = Element("testcase", classname=group, name=answer.sample.id, time=_NO_TIME)
    if unscored := answer.unscored:
        first = next(iter(unscored.values()))
        error = SubElement(case, "error", type=f"{first.stage}/{first.kind}", message=describe_failure(first))
        error.text = "\n".join(f"{metric}: {describe_failure(failure)}" for metric, failure in unscored.items())
    said = [
        f"{metric} {format_score_with_parts(outcome)}"
        for metric, outcome in answer.outcomes.items()
        if isinstance(outcome, Score)
    ]
    if facts := answer.facts:
        said.append(facts)
    if said:
        SubElement(case, "system-out").text = "\n".join(said)
    return case


def _add_verdict(suite: Element, verdict: AnyVerdict) -> None:
    case = SubElement(suite, "testcase", classname="thresholds", name=verdict.name, time=_NO_TIME)
    if verdict.met:
        SubElement(case, "system-out").text = str(verdict)
    else:
        failure = SubElement(case, "failure", type="threshold", message=str(verdict))
        failure.text = str(verdict)


def _make_attributes(name: str, tests: int, failures: int, errors: int) -> dict[str, str]:
    return {"name": name, "tests": str(tests), "failures": str(failures), "errors": str(errors)}


def _write(element: Element) -> str:
    """Return an element as text, with characters that XML cannot represent in the style of pytest: "#x07"."""
    return _NOT_XML.sub(lambda found: f"#x{ord(found[0]):02X}", tostring(element, encoding="unicode"))
