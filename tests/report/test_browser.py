"""The page in a real browser. CI installs Debian's `chromium`; without one these tests are skipped."""

import html
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.report.run_page import write_report
from imapeval.types import Failure, Imap, Match, Pair, Relation, Sample, Score

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH (Debian: apt-get install chromium)"),
]
# Root cannot use the sandbox; the rest keeps the browser from looking for its maker's hosts.
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def load(page: Path, tmp_path: Path, *, sample: str | None = None, flags: tuple[str, ...] = ()) -> str:
    """Return the document as it is after the script has run."""
    address = page.resolve().as_uri() + ("" if sample is None else f"#sample={quote(sample, safe='')}")
    command = [str(CHROMIUM), *FLAGS, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", address]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    return done.stdout.decode()


def inside(dom: str, element: str) -> str:
    """Return the markup between an element with this id and its end."""
    found = re.search(rf'<(\w+)[^>]* id="{element}"[^>]*>(.*?)</\1>', dom, flags=re.DOTALL)
    assert found, f"no element {element!r}"
    return found[2]


def words(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", markup))


def test_list_and_a_sample(run: Path, tmp_path: Path):
    dom = load(write_report(run), tmp_path, sample="a/1 ü")
    assert len(re.findall(r"<li><a href=\"#sample=", inside(dom, "list"))) == 3
    view = inside(dom, "sample")
    # The best reference is the second one, and the emoji before it shifts no mark.
    assert re.search(r'<mark class="containment"[^>]*>Incision and drainage</mark>', view)
    assert re.search(r'<mark class="unmatched"[^>]*>antibiotics</mark>', view)
    assert re.search(r'<mark class="containment"[^>]*>Surgical drainage</mark>', view)
    assert re.search(r'<mark class="unmatched"[^>]*>rest</mark>', view)
    assert re.search(r'aria-pressed="true">2 \(counts\)', view)
    said = " ".join(words(view).split())
    for part in ("How is 😀 an abscess treated?", "disease abscess", "0.80", "graph", "4.5"):
        assert part in said
    # The reference's concept first, and the way from it to the response's.
    way = "reference drainage C1 has the part opening C3 has the kind response incision 切开 C2"
    assert way in " ".join(words(re.search(r'<ol class="path".*?</ol>', view, flags=re.DOTALL)[0]).split())
    assert "nothing in the response comes close" in said


def test_hostile_text_stays_text(run: Path, tmp_path: Path):
    dom = load(write_report(run), tmp_path, sample="b")
    assert "<title>my data: imapeval report</title>" in dom
    assert "<img" not in re.sub(r"<script.*?</script>", "", dom, flags=re.DOTALL)
    assert "</script><img src=x onerror=" in words(inside(dom, "sample"))


def test_a_failure_says_why_and_an_empty_response_says_so(run: Path, tmp_path: Path):
    view = inside(load(write_report(run), tmp_path, sample="c"), "sample")
    assert "extraction/no-query" in view
    assert "no score" in view
    assert "The text that could not be used" in view
    assert "raw </script><img src=x onerror=" in words(view)
    assert "<img" not in view
    assert '<span class="empty">empty</span>' in view
    assert 'lang="zh"' in view


def test_five_thousand_samples(tmp_path: Path):
    """Below 30 MB with texts as long as those of the imapScore data, which hold 1,100 characters a sample."""
    folder, samples, results, imaps = tmp_path / "run", [], [], []
    for n in range(5000):
        values = [f"value {n} {k}" for k in range(3)]
        text = f"{n} " + ", ".join(values) + " and some more words that say nothing. " * 16
        samples.append(Sample(str(n), f"Question {n}? {text}"[:400], (text,), text, system=f"s{n % 4}"))
        pairs = tuple(Pair("treatment", value) for value in values)
        matches = tuple(
            Match(
                "treatment", v, w, Relation.EXACT if v == w else Relation.UNMATCHED, 0.5, "encoder", {"why": "nothing"}
            )
            for v in values
            for w in values
        )
        imaps.append(ImapRecord(str(n), Imap((Pair("treatment", "?"),), (), pairs, pairs), matches))
        parts = {"recall": n / 7, "precision": n / 9, "f1": n / 11}
        results += [Result(str(n), f"m{k}", Score(n % 101 / 101, parts), "v:1") for k in range(4)]
    with RunWriter(folder, samples, settings=RunSettings({f"m{k}": "v:1" for k in range(4)})) as writer:
        writer.add(imaps=imaps, results=results)
    page = write_report(folder)
    assert page.stat().st_size < 30_000_000
    dom = load(page, tmp_path, sample="4999")
    assert len(re.findall(r"<li><a href=\"#sample=", inside(dom, "list"))) == 50
    assert "value 4999 2" in inside(dom, "sample")


def test_a_dialogue_without_reference_that_was_read_several_times(tmp_path: Path):
    question = "Patient: My head hurts.\nDoctor: Since when?\nPatient: Monday. What helps?"
    samples = [Sample("a", question, (), "Rest."), Sample("b", question, ("Rest.",), "Rest.")]
    with RunWriter(tmp_path / "run", samples, settings=RunSettings({"m": "m|v:1"})) as writer:
        records = [ImapRecord(id_, Imap((), (), (), (Pair("t", "Rest", (0, 4)),)), ()) for id_ in "ab"]
        failure = Failure("metric", "no-reference", "there is none")
        outcomes = {"a": failure, "b": Score(0.5, {"stability": 0.75})}
        writer.add(imaps=records, results=[Result(id_, "m", outcome, "m|v:1") for id_, outcome in outcomes.items()])
        writer.finish()
    page = write_report(tmp_path / "run")
    free, other = (" ".join(words(inside(load(page, tmp_path, sample=id_), "sample")).split()) for id_ in "ab")
    assert "Reference" not in free.partition("Matches")[0]
    assert "no-reference" in free
    assert "stability 0.750" in other
    for shown in (free, other):
        assert "Doctor: Since when?" in shown


def test_contradictions_stand_first_and_facts_say_what_qualifies_them(tmp_path: Path):
    reference, response = "Rest. Take ibuprofen 400 mg.", "Rest. Possibly ibuprofen 200 mg if it hurts. No alcohol."
    dose = Pair("medicine", "ibuprofen 200 mg", (15, 31), "affirmed", "possible", "if it hurts", ("200 mg",))
    imap = Imap(
        (Pair("treatment", "?"),),
        (Pair("patient", "not pregnant", polarity="denied"),),
        (Pair("advice", "Rest", (0, 4)), Pair("treatment", "ibuprofen 400 mg", (11, 27))),
        (Pair("advice", "Rest", (0, 4)), dose, Pair("advice", "No alcohol", (45, 55), "denied")),
    )
    matches = (
        Match("advice", "Rest", "Rest", Relation.EXACT, 1.0, "text"),
        Match("treatment", "ibuprofen 400 mg", "ibuprofen 200 mg", Relation.CONTRADICTION, 0.9, "text", {}, "medicine"),
    )
    sample = Sample("a", "What helps?", (reference,), response)
    with RunWriter(tmp_path / "run", [sample], settings=RunSettings({"m": "m|v:1"})) as writer:
        writer.add(imaps=[ImapRecord("a", imap, matches)], results=[Result("a", "m", Score(0.5), "m|v:1")])
        writer.finish()
    view = inside(load(write_report(tmp_path / "run"), tmp_path, sample="a"), "sample")
    for value in ("ibuprofen 200 mg", "ibuprofen 400 mg"):
        assert re.search(rf'<mark class="contradiction"[^>]*>{value}</mark>', view)
    said = " ".join(words(view).split())
    matched = said.partition("Matches")[2]
    # Both terms are named: the heading is neither of them. The labels follow the value.
    row = "treatment: ibuprofen 400 mg medicine: ibuprofen 200 mg possible if it hurts 200 mg ≠ contradiction 0.00"
    assert row in matched
    assert matched.index("Contradictions") < matched.index(row) < matched.index("= exact")
    assert "patient not pregnant denied" in said
    assert "No alcohol denied" in matched
    tooltip = re.search(r'class="tag contradiction" title="([^"]*)"', view)
    assert tooltip
    assert tooltip[1] == "both speak of the same thing and cannot both hold"
