import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter
from imapeval.llm.middleware.budget import Ledger
from imapeval.llm.prices import Price
from imapeval.llm.protocol import Usage
from imapeval.report import run_page
from imapeval.report.explorer_data import collect_explorer_data, dump_for_script
from imapeval.report.run_page import describe_settings, write_report
from imapeval.report.summary import SummaryRow, format_mean_interval
from imapeval.study.systems.answers import read_systems
from imapeval.study.systems.differences import compare_systems
from imapeval.types import Failure, Imap, Match, Pair, Relation, Sample, Score


class Page(HTMLParser):
    """Elements, attributes and the text of script and style elements, as a browser's parser splits them."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.content: dict[str, str] = {}
        self._inside = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = f"{tag} {dict(attrs).get('type', '')}".strip()

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.content[self._inside] = self.content.get(self._inside, "") + data


@pytest.fixture
def page(run: Path) -> Page:
    return Page(write_report(run).read_text(encoding="utf-8"))


def test_characters_that_change_what_is_seen_are_not_on_the_page(tmp_path: Path):
    sample = Sample("a\x1b", "Q\u202e?", ("R\u2066.",), "not\u202e safe\x9b31m", system="s\u061c")
    with RunWriter(tmp_path, [sample], settings=RunSettings({"m": "m|v:1"})) as run:
        run.add(imaps=[], results=[Result(sample.id, "m", Score(0.5), "m|v:1")])
        run.finish()
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", page)
    assert "not\ufffd safe" in page


def test_contradictions_of_the_offline_reader_are_to_be_looked_at(tmp_path: Path):
    match = Match("t", "rest", "do not rest", Relation.CONTRADICTION, 0.0, "text")
    imap = Imap((Pair("t", "?"),), (), (Pair("t", "rest"),), (Pair("t", "do not rest"),))
    said: list[str] = []
    for extractor in ("lexicon|v:1", "llm|v:1"):
        sample, folder = Sample("a", "Q?", ("Rest.",), "Do not rest."), tmp_path / extractor[:3]
        with RunWriter(folder, [sample], settings=RunSettings({"m": "m|v:1"}, extractor=extractor)) as run:
            run.add(imaps=[ImapRecord("a", imap, (match,))], results=[Result("a", "m", Score(0.5), "m|v:1")])
            run.finish()
        page = write_report(folder).read_text(encoding="utf-8")
        said += re.findall(r"<li>((?:(?!</li>).)*outcome=contradictions.*?)</li>", page, flags=re.DOTALL)
    offline, by_model = said
    assert "1 answer" in offline
    assert "1 answer" in by_model
    assert len(offline) > len(by_model)


def test_nothing_is_loaded(page: Page):
    for tag, attributes in page.tags:
        assert tag not in {"img", "link", "iframe", "object", "embed"}
        assert not {"src", "srcset", "onerror", "onclick", "style"} & attributes.keys()
        assert (attributes.get("href") or "#").startswith("#")
    for content in page.content.values():
        assert not re.search(r"https?://|@import|url\(", content)


def test_policy_allows_only_our_script_and_style(page: Page):
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    for kind, element in (("script", "script module"), ("style", "style")):
        digest = base64.b64encode(hashlib.sha256(page.content[element].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_data_come_back_whole(page: Page):
    data = json.loads(page.content["script application/json"])
    first, hostile, chinese = data["samples"]
    assert (data["metrics"], data["axes"], data["columns"]) == (["m"], [[0.0, 1.0, 0]], ["task", "dataset"])
    assert (first["id"], first["system"], first["ratings"]) == ("a/1 ü", "D/one", {"accuracy": 4.5})
    assert (first["columns"], hostile["columns"]) == (["treatment", "D"], [None, None])
    assert data["texts"][first["reason"]].startswith("m 0.800 (recall 0.9, reference 1). The response has 1 of 2 facts")
    assert first["scores"] == [[0.8, {"recall": 0.9, "reference": 1.0}]]
    assert data["texts"][hostile["response"]].startswith("</script><img")
    assert hostile["response"] == hostile["question"]  # a text stands in the page once
    assert chinese["scores"][0][:3] == [None, "extraction", "no-query"]
    assert data["texts"][chinese["scores"][0][4]].startswith("raw </script><img")
    assert [imap["ref"] for imap in first["imaps"]] == [1]


@pytest.mark.parametrize("text", ["</script>", "<!--", "a\u2028b", "&lt;", "\\u003c", '"'])
def test_no_text_can_end_the_data(text: str):
    dumped = dump_for_script([text])
    assert json.loads(dumped) == [text]
    assert not set(dumped) & set("<>&\u2028\u2029")


def test_scores_failures_and_settings_are_there_without_a_script(run: Path):
    source = write_report(run).read_text(encoding="utf-8")
    static = re.sub(r"<script.*?</script>|<style.*?</style>", "", source, flags=re.DOTALL)
    for part in (
        "<h1>my data</h1>",
        "3 answers, 3 questions, 3 systems, 1 metric",
        "D/one",
        "0.525",  # the mean of .8 and .25
        "With fewer than 10 questions, intervals of means are too short",
        "extraction/no-query",
        "imapeval score",
        "lexicon|v:1",
        "m|v:1",
        '<a href="#sample=c">c</a>',
        "<summary>The text that could not be used</summary><pre>raw &lt;/script&gt;&lt;img",
    ):
        assert part in static
    assert "<img" not in static


def test_an_interval_has_two_different_ends(run: Path):
    """The ends are those that the terminal prints."""
    rows = [SummaryRow("m", "", 50, 0, 0.92425, 0.92402, 0.92441)]
    interval = format_mean_interval(0.92402, 0.92441)
    assert interval == "0.9240 to 0.9244"
    assert f"<small>{interval}, n 50</small>" in write_report(run, rows=rows).read_text(encoding="utf-8")


def test_intervals_are_on_the_scale_of_the_run(tmp_path: Path):
    samples = [Sample(str(n), f"q{n}", ("r",), "a") for n in range(20)]
    with RunWriter(tmp_path, samples, settings=RunSettings({"judge": "s"}, ranges={"judge": (0.0, 10.0)})) as writer:
        writer.add(imaps=[], results=[Result(sample.id, "judge", Score(10.0), "s") for sample in samples])
        writer.finish()
    # scipy 1.16: binomtest(20, 20).proportion_ci(method="wilson"), times 10
    assert "8.389 to 10.0, n 20" in write_report(tmp_path).read_text(encoding="utf-8")


@pytest.mark.parametrize("others", [0, 1, 2])
def test_further_messages_of_a_kind_of_failure_are_counted(others: int, tmp_path: Path):
    samples = [Sample(str(n), "q", ("r",), "a") for n in range(run_page._MESSAGES_SHOWN + others)]
    results = [Result(s.id, "m", Failure("llm", "odd", f"message {s.id}"), "m|v:1") for s in samples]
    with RunWriter(tmp_path, samples, settings=RunSettings({"m": "m|v:1"})) as writer:
        writer.add(imaps=[], results=results)
        writer.finish()
    found = re.findall(r"and (\d+) other (messages?)<", write_report(tmp_path).read_text(encoding="utf-8"))
    assert found == [[], [("1", "message")], [("2", "messages")]][others]


def test_a_run_without_failures_has_no_section_of_them(run: Path):
    results = run / "results.jsonl"
    results.write_text("".join(line for line in results.read_text().splitlines(True) if '"failure": null' in line))
    assert "failures-title" not in write_report(run).read_text(encoding="utf-8")


def test_an_unfinished_run_can_be_looked_at(run: Path):
    (run / "results.jsonl").write_bytes(b'{"id": "b", "met')
    (run / "imaps.jsonl").unlink()
    assert "3 answers" in write_report(run).read_text(encoding="utf-8")


def test_no_run(tmp_path: Path):
    with pytest.raises(InputError, match="manifest"):
        write_report(tmp_path)


def test_page_that_cannot_be_written(run: Path):
    (run / "report.html").mkdir()
    with pytest.raises(UsageError, match=r"cannot write .*report\.html"):
        write_report(run)


def test_what_the_model_cost_is_among_the_settings(run: Path):
    assert "language model" not in describe_settings(Run(run).manifest)
    ledger = Ledger(price=Price(1.0, 4.0))
    ledger.record_call(Usage(1000, 100))
    path = run / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8")) | {"usage": ledger.report()}
    path.write_text(json.dumps(manifest), encoding="utf-8")
    told = "1 call; 1,000 prompt and 100 completion tokens; USD 0.0014"
    assert describe_settings(Run(run).manifest)["language model"] == told


def test_systems_are_compared_first_and_histograms_are_folded(tmp_path: Path):
    """The sentence is that of `imapeval compare`."""
    samples = [
        Sample(f"{n}{system}", f"q{n}", ("r",), "a", system=system) for n in range(8) for system in ("good", "bad")
    ]
    results = [Result(s.id, "m", Score(0.1 * int(s.id[0]) + 0.1 * (s.system == "good")), "m") for s in samples]
    with RunWriter(tmp_path / "run", samples, settings=RunSettings({"m": "m"}, ranges={"m": (0.0, 1.0)})) as writer:
        writer.add(imaps=[], results=results)
        writer.finish()
    (row,) = compare_systems(read_systems([Run(tmp_path / "run")]))
    source = write_report(tmp_path / "run").read_text(encoding="utf-8")
    assert row.better == "good"
    assert f"<li>{row.sentence}</li>" in source
    assert source.index(row.sentence) < source.index('<details id="distributions"') < source.index("<svg")


@pytest.mark.parametrize(("scores", "axis"), [((0.004, 0.002), [0.0, 1.0, 0]), ((3.1, 41.0), [0.0, 50.0, 0])])
def test_a_metric_without_a_range_has_an_axis_that_ends_at_1_or_above(scores: tuple[float, float], axis: list[float]):
    samples = [Sample(str(n), "q", ("r",), "a") for n in range(2)]
    results = [Result(str(n), "theirs", Score(score), "s") for n, score in enumerate(scores)]
    assert collect_explorer_data(samples, results, [], metrics=["theirs"])["axes"] == [axis]


def test_a_metric_where_low_is_good_says_so():
    samples = [Sample("a", "q", ("r",), "a")]
    assert collect_explorer_data(samples, [], [], metrics=["perplexity", "bleu"])["axes"] == [
        [1.0, 2.0, 1],
        [0.0, 100.0, 0],
    ]


def test_the_page_of_a_large_run_lists_some_answers_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_page, "MAX_ANSWERS", 3)
    samples = [Sample(f"s{n}", f"Question {n}?", ("r",), "a", system="xy"[n % 2]) for n in range(9)]
    failure = Failure("extraction", "no-query", "nothing is asked")
    results = [Result(s.id, "m", failure if s.id == "s7" else Score(n / 9), "m|v:1") for n, s in enumerate(samples)]
    with RunWriter(tmp_path, samples, settings=RunSettings({"m": "m|v:1"}, ranges={"m": (0.0, 1.0)})) as writer:
        writer.add(imaps=[], results=results)
        writer.finish()
    page = run_page.write_report(tmp_path).read_text(encoding="utf-8")
    # Every third one, and the failure, to which there is a link.
    assert [n for n in range(9) if f'"id":"s{n}"' in page] == [0, 3, 6, 7]
    assert "4 of 9 answers" in page
    assert "9 answers, 9 questions, 2 systems" in page
    assert "1 of 9 answers could not be scored" in page


@pytest.mark.parametrize(
    ("number", "shown"),
    [(2**53, 2**53), (1234567890123456789, "1234567890123456789"), (-(10**400), f"-1{'0' * 400}"), (0.5, 0.5)],
    ids=["exact", "id", "beyond floats", "fraction"],
)
def test_numbers_that_a_browser_would_round_are_text(number: float, shown: object):
    sample = Sample("a", "q", ("r",), "a", meta={"patient": number})
    results = [Result("a", "m", Score(1.0), "s")]
    assert collect_explorer_data([sample], results, [], metrics=["m"])["samples"][0]["columns"] == [shown]
