"""The page of a run in a real browser."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter
from imapeval.explain.answers import collect_answers
from imapeval.report.run_page import write_report
from imapeval.types import Failure, Imap, Match, Outcome, Pair, Relation, Sample, Score

pytestmark = pytest.mark.slow

OpenPage = Callable[..., Page]


def link(id_: str) -> str:
    return f"#sample={quote(id_, safe='')}"


def said(page: Page, selector: str = "#sample") -> str:
    return " ".join(page.locator(selector).inner_text().split())


def write_run(folder: Path, samples: list[Sample], outcomes: list[Outcome], **given: list[ImapRecord]) -> Path:
    """Write a run of one metric and its page."""
    settings = RunSettings({"m": "m|v:1"}, ranges={"m": (0.0, 1.0)})
    results = [Result(sample.id, "m", outcome, "m|v:1") for sample, outcome in zip(samples, outcomes, strict=True)]
    with RunWriter(folder, samples, settings=settings) as writer:
        writer.add(imaps=given.get("imaps", []), results=results)
        writer.finish()
    return write_report(folder)


@pytest.fixture
def compared(tmp_path: Path) -> Path:
    """The page of three systems and four questions, of which one answer failed and one has hardly any score."""
    failure = Failure("metric", "no-reference", "there is none")
    scores: list[Outcome] = [Score(0.9), Score(0.2), Score(0.5), Score(0.004), failure, Score(0.6)]
    scores += [Score(0.3), Score(0.7), Score(1.0), Score(0.8), Score(0.1), Score(0.4)]
    samples = [
        Sample(
            f"q{question}:{system}",
            f"Question {question}: what helps against fever?",
            ("Rest.",),
            f"Rest {question} and drink, says {system}.",
            system=system,
            meta={"task": ("treatment", "advice")[question % 2], "ward": f"ward {question}", "age": 20 + 10 * question},
        )
        for question in range(4)
        for system in ("alpha", "beta", "gamma")
    ]
    return write_run(tmp_path / "run", samples, scores)


def test_list_and_an_answer(run: Path, open_page: OpenPage):
    page = open_page(write_report(run), link("a/1 ü"))
    assert page.locator("#list li").count() == 3
    # The best reference is the second one, and the emoji before it shifts no mark.
    marks = {mark.inner_text(): mark.get_attribute("class") for mark in page.locator("#sample mark").all()}
    assert marks == {
        "Incision and drainage": "containment",
        "antibiotics": "unmatched",
        "Surgical drainage": "containment",
        "rest": "unmatched",
    }
    expect(page.get_by_role("button", name="2 (counts)", pressed=True)).to_be_visible()
    text = said(page)
    for part in ("How is 😀 an abscess treated?", "disease abscess", "0.80", "graph", "4.5"):
        assert part in text
    # The reference's concept first, and the way from it to the response's.
    page.get_by_text("in the graph").click()
    assert said(page, ".path") == "reference drainage C1 has the part opening C3 has the kind response incision 切开 C2"


def test_hostile_text_stays_text(run: Path, open_page: OpenPage):
    page = open_page(write_report(run), link("b"))
    assert page.title() == "my data: imapeval report"
    assert page.locator("img").count() == 0
    assert "</script><img src=x onerror=" in said(page)
    page.get_by_role("button", name="Matrix").click()
    assert "</script><img src=x onerror=" in said(page, "#matrix")


def test_a_failure_says_why_and_an_empty_response_says_so(run: Path, open_page: OpenPage):
    page = open_page(write_report(run), link("c"))
    expect(page.get_by_text("extraction/no-query:")).to_be_visible()
    expect(page.get_by_text("no score").first).to_be_visible()
    page.locator("#sample").get_by_text("The text that could not be used").click()
    assert "raw </script><img src=x onerror=" in said(page)
    assert page.locator("#sample .empty").inner_text() == "empty"
    assert page.locator("#sample .text[lang=zh]").count() == 3


def test_an_answer_says_why_before_its_texts_and_these_before_its_facts(run: Path, open_page: OpenPage):
    page = open_page(write_report(run), link("a/1 ü"))
    opened = Run(run)
    answers = collect_answers(opened.samples(), opened.results(), opened.imaps(), metrics=["m"])
    assert said(page, "#sample .reason") == " ".join(answers[0].reason.split())
    text = said(page)
    parts = ["0.800", "m 0.800 (recall", "Question", "Reference", "Response", "Facts"]
    assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)


def test_contradictions_and_missing_facts_come_first_and_pairs_that_do_not_count_are_folded(
    tmp_path: Path, open_page: OpenPage
):
    reference, response = "Rest. Take ibuprofen 400 mg.", "Rest. Possibly ibuprofen 200 mg if it hurts. No alcohol."
    dose = Pair("medicine", "ibuprofen 200 mg", (15, 31), "affirmed", "possible", "if it hurts", ("200 mg",))
    imap = Imap(
        (Pair("treatment", "?"),),
        (Pair("patient", "not pregnant", polarity="denied"),),
        (
            Pair("advice", "Rest", (0, 4)),
            Pair("place", "home"),
            Pair("treatment", "fluids"),
            Pair("treatment", "ibuprofen 400 mg", (11, 27)),
        ),
        (Pair("advice", "Rest", (0, 4)), dose, Pair("advice", "No alcohol", (45, 55), "denied")),
    )
    matches = (
        Match("advice", "Rest", "Rest", Relation.EXACT, 1.0, "text"),
        Match("advice", "Rest", "No alcohol", Relation.UNMATCHED, 0.01, "encoder"),
        Match("treatment", "ibuprofen 400 mg", "ibuprofen 200 mg", Relation.CONTRADICTION, 0.9, "text", {}, "medicine"),
    )
    sample = Sample("a", "What helps?", (reference,), response)
    page = open_page(
        write_run(
            tmp_path / "run",
            [sample],
            [Score(0.5, {"recall": 0.25, "precision": 0.5})],
            imaps=[ImapRecord("a", imap, matches)],
        )
    )
    marks = page.locator("#sample mark.contradiction").all_inner_texts()
    assert sorted(marks) == ["ibuprofen 200 mg", "ibuprofen 400 mg"]
    rows = [" ".join(text.split()) for text in page.locator(".matches tbody tr").all_inner_texts()]
    # Both terms are named: a contradiction may join two. The labels follow the value.
    against = "treatment: ibuprofen 400 mg medicine: ibuprofen 200 mg possible if it hurts 200 mg ≠ contradiction 0.00"
    assert [rows[0], rows[2], rows[4], rows[6], rows[8]] == [
        "Contradictions (1)",
        "Missing, and asked for (1)",
        "Missing (1)",
        "Found (1)",
        "Only in the response (1)",
    ]
    assert rows[1].startswith(against)
    assert rows[3].startswith("treatment: fluids – × unmatched 0.00 nothing in the response comes close")
    assert rows[7].startswith("advice: Rest advice: Rest = exact 1.00")
    assert rows[9].startswith("– advice: No alcohol denied × unmatched")
    folded = page.locator(".others li")
    assert folded.count() == 1
    expect(folded).not_to_be_visible()
    page.get_by_text("1 other pair compared").click()
    expect(folded).to_contain_text("Rest ↔ No alcohol")
    assert "patient not pregnant denied" in said(page)
    tooltip = page.locator(".tag.contradiction").first.get_attribute("title")
    assert tooltip == "both speak of the same thing and cannot both hold"
    assert said(page, ".parts-of").startswith("recall how much of the reference is in the response 0.250")


def test_what_earned_credit_without_a_relation_is_shown(tmp_path: Path, open_page: OpenPage):
    said_, missing = Pair("t", "use acetaminophen"), (Pair("t", "paracetamol is preferred"), Pair("t", "no alcohol"))
    matches = tuple(
        Match("t", pair.value, said_.value, Relation.UNMATCHED, similarity, "encoder", {"why": "unlike"})
        for pair, similarity in zip(missing, (0.34, 0.2), strict=True)
    )
    record = ImapRecord("a", Imap((Pair("t", "?"),), (), missing, (said_,)), matches)
    sample = Sample("a", "What helps?", ("Paracetamol.",), "Acetaminophen.")
    page = open_page(write_run(tmp_path / "run", [sample], [Score(0.5)], imaps=[record]))
    near, far = (page.locator(".matches tbody tr", has_text=pair.value).first.inner_text() for pair in missing)
    assert "nearest: use acetaminophen" in near
    assert "similarity 0.34" in near
    expect(page.locator("#count")).to_contain_text("1 answer;")
    assert "nearest" not in far


def test_negative_scores_have_one_sign(tmp_path: Path, open_page: OpenPage):
    samples = [Sample(str(n), f"q{n}", ("r",), "a") for n in range(2)]
    with RunWriter(tmp_path, samples, settings=RunSettings({"m": "m|v:1"}, ranges={"m": (None, 0.0)})) as writer:
        scores = zip(samples, (-12.34, -0.5), strict=True)
        writer.add(imaps=[], results=[Result(sample.id, "m", Score(score), "m|v:1") for sample, score in scores])
        writer.finish()
    shown = said(open_page(write_report(tmp_path)), "#list")
    assert "−12.3" in shown
    assert "−0.500" in shown


def test_a_bar_is_on_the_scale_of_its_metric_and_a_failure_has_none(compared: Path, open_page: OpenPage):
    page = open_page(compared)
    bars = {
        row.locator(".who").inner_text().partition(" ")[0]: [
            bar.evaluate("bar => bar.getBoundingClientRect().width / bar.parentElement.getBoundingClientRect().width")
            for bar in row.locator(".meter i").all()
        ]
        for row in page.locator("#list li").all()
    }
    assert bars["q0:alpha"] == [pytest.approx(0.9, abs=0.01)]
    assert bars["q1:alpha"] == [pytest.approx(0.004, abs=0.004)]
    assert bars["q1:beta"] == []


def test_the_matrix_has_a_row_for_each_question_and_opens_answers(compared: Path, open_page: OpenPage):
    page = open_page(compared)
    page.get_by_role("button", name="Matrix").click()
    rows = page.locator("#matrix tbody tr").all()
    assert [[cell.strip() for cell in row.locator("td").all_inner_texts()] for row in rows] == [
        ["0.900", "0.200", "0.500"],
        ["0.004", "–", "0.600"],
        ["0.300", "0.700", "1.000"],
        ["0.800", "0.100", "0.400"],
    ]
    shades = [cell.get_attribute("class") for cell in page.locator("#matrix tbody tr").nth(1).locator("a").all()]
    assert shades == ["shade-0", "none", "shade-3"]
    page.get_by_role("link", name="q2:gamma: 1.000").click()
    assert page.locator("#sample .id").inner_text() == "q2:gamma"
    expect(page.locator("#matrix [aria-current]")).to_have_text("1.000")
    # Up and down go through the answers; left and right to other systems' answers to the question.
    for key, id_ in (("ArrowLeft", "q2:beta"), ("ArrowDown", "q2:gamma"), ("j", "q3:alpha"), ("ArrowUp", "q2:gamma")):
        page.keyboard.press(key)
        expect(page.locator("#sample .id")).to_have_text(id_)
    page.go_back()
    expect(page.locator("#sample .id")).to_have_text("q3:alpha")


def test_filter_search_and_order_decide_what_is_shown_and_what_comes_next(compared: Path, open_page: OpenPage):
    page = open_page(compared, link("q0:alpha"))
    shown = page.locator("#sample .id")
    page.get_by_label("task").select_option("advice")
    expect(shown).to_have_text("q1:alpha")  # the first of those found, since the one before is hidden
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(shown).to_have_text("q1:gamma")
    page.get_by_role("button", name="Next").click()
    expect(shown).to_have_text("q3:alpha")
    expect(page.get_by_role("button", name="Next")).to_be_focused()
    page.get_by_label("order").select_option("lowest")
    expect(shown).to_have_text("q3:alpha")
    ids = [text.partition(" ")[0] for text in page.locator("#list .who").all_inner_texts()]
    assert ids == ["q1:alpha", "q3:beta", "q3:gamma", "q1:gamma", "q3:alpha", "q1:beta"]
    assert page.locator("#count").inner_text() == "6 of 12 answers; the number is m"
    page.get_by_role("button", name="Next").click()
    expect(shown).to_have_text("q1:beta")
    assert page.get_by_role("button", name="Next").is_disabled()
    expect(page.locator("#sample")).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("SAYS Gamma")
    expect(shown).to_have_text("q3:gamma")
    assert page.evaluate("[...CSS.highlights.get('search')].map(String)").count("gamma") >= 2
    # The address holds all of it.
    page.reload()
    assert page.locator("#list li").count() == 2
    expect(shown).to_have_text("q3:gamma")
    page.get_by_role("searchbox", name="search").fill("nobody says this")
    assert "No answer is like this" in said(page)


def test_the_address_is_followed(compared: Path, open_page: OpenPage):
    """Back to that of the page as it was opened; to words to search; to an answer that a filter hides."""
    page = open_page(compared)
    shown, count = page.locator("#sample .id"), page.locator("#count")
    page.keyboard.press("j")
    expect(shown).to_have_text("q0:beta")
    page.go_back()
    expect(shown).to_have_text("q0:alpha")
    page.evaluate("location.hash = 'search=gamma'")
    expect(count).to_contain_text("4 of 12")
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("#filters").get_by_label("system").select_option("gamma")
    page.get_by_role("button", name="Back to the list").click()
    expect(page.locator("#explorer")).to_be_in_viewport()
    page.reload()
    expect(count).to_contain_text("4 of 12")
    page.locator(".rivals a", has_text="beta").click()
    expect(shown).to_have_text("q0:beta")
    expect(page.locator("#list [aria-current]")).to_contain_text("q0:beta")
    expect(count).to_contain_text("12 answers")


def test_every_column_is_a_filter(tmp_path: Path, open_page: OpenPage):
    columns = [{"ward": f"W{n % 3}", "note": f"note {n}", "age": n} for n in range(40)]
    samples = [
        Sample(str(n), f"Q{n // 20}", ("r",), "a", ratings={"accuracy": n / 2}, meta=columns[n]) for n in range(40)
    ]
    page = open_page(write_run(tmp_path / "run", samples, [Score(n / 40) for n in range(40)]))
    # There is one system, so no matrix; of the 19 other answers to the question, 12 are named.
    expect(page.locator("#views")).not_to_be_visible()
    assert said(page, ".rivals").endswith("7 more")
    page.get_by_text("More filters").click()
    count = page.locator("#count")
    page.get_by_label("ward").select_option("W1")
    expect(count).to_contain_text("13 of 40")
    page.get_by_label("age from").fill("20")
    expect(count).to_contain_text("6 of 40")
    page.get_by_role("searchbox", name="note").fill("note 2")
    expect(count).to_contain_text("3 of 40")
    page.get_by_label("m to", exact=True).fill("0.6")
    expect(count).to_contain_text("1 of 40")
    page.get_by_label("rating: accuracy to").fill("1")
    expect(count).to_contain_text("0 of 40")


def test_what_was_found_leads_to_the_answers_meant(compared: Path, open_page: OpenPage):
    page = open_page(compared)
    page.locator("#findings li", has_text="could not be scored").get_by_role("link").click()
    expect(page.locator("#sample .id")).to_have_text("q1:beta")
    expect(page.locator("#list li")).to_have_count(1)
    page.get_by_role("link", name="q1:beta").last.click()
    page.locator("#failures").get_by_role("link", name="q1:beta").click()
    expect(page.locator("#list li")).to_have_count(12)


def test_of_many_answers_only_the_rows_in_view_are_drawn(tmp_path: Path, open_page: OpenPage):
    """Below 3 kB an answer with texts as long as those of the imapScore data, which hold 1,100 characters a sample."""
    samples: list[Sample] = []
    imaps: list[ImapRecord] = []
    for n in range(2_000):
        values = [f"value {n} {k}" for k in range(3)]
        text = f"{n} " + ", ".join(values) + " and some more words that say nothing. " * 14
        samples.append(Sample(str(n), f"Question {n // 4}? {text}"[:400], (text,), text, system=f"s{n % 4}"))
        pairs = tuple(Pair("treatment", value) for value in values)
        matches = tuple(
            Match(
                "treatment", v, w, Relation.EXACT if v == w else Relation.UNMATCHED, 0.5, "encoder", {"why": "nothing"}
            )
            for v in values
            for w in values
        )
        imaps.append(ImapRecord(str(n), Imap((Pair("treatment", "?"),), (), pairs, pairs), matches))
    path = write_run(tmp_path / "run", samples, [Score(n % 101 / 101) for n in range(2_000)], imaps=imaps)
    assert path.stat().st_size < 6_000_000
    page = open_page(path, link("1999"))
    assert page.locator("#sample .id").inner_text() == "1999"
    assert page.locator("#list [aria-current] .who").inner_text() == "1999 · s3"
    assert page.locator("#list li").count() < 60
    assert page.locator("#list li").last.get_attribute("aria-posinset") == "2000"
    page.locator("#view > div").evaluate("list => { list.scrollTop = 0 }")
    expect(page.locator("#list li").first).to_have_attribute("aria-posinset", "1")
    page.get_by_role("button", name="Matrix").click()
    assert page.locator("#matrix tbody tr").count() < 60
    assert page.locator("#matrix").get_attribute("aria-rowcount") == "2001"


def test_a_dialogue_without_reference_that_was_read_several_times(tmp_path: Path, open_page: OpenPage):
    question = "Patient: My head hurts.\nDoctor: Since when?\nPatient: Monday. What helps?"
    samples = [Sample("a", question, (), "Rest."), Sample("b", question, ("Rest.",), "Rest.")]
    records = [ImapRecord(id_, Imap((), (), (), (Pair("t", "Rest", (0, 4)),)), ()) for id_ in "ab"]
    outcomes = [Failure("metric", "no-reference", "there is none"), Score(0.9996, {"stability": 0.75})]
    path = write_run(tmp_path / "run", samples, outcomes, imaps=records)
    page = open_page(path, link("a"))
    assert "Reference" not in said(page).partition("Facts")[0]
    assert "no-reference" in said(page)
    assert "Doctor: Since when?" in said(page)
    page.keyboard.press("j")
    page.get_by_text("All scores and their parts").click()
    # Only 1 is written as 1 (imapeval/study/number_format.py).
    assert "m 0.9996 stability 0.750" in said(page)
