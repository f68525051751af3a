import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.types import Sample, Score
from tests.cli.conftest import Command


@pytest.fixture
def run(imapeval: Command, write_data: Callable[..., Path]) -> Path:
    reference = "Take paracetamol. Drink water and rest."
    samples = [
        Sample(f"{system}{n}", f"I have had a headache for {n} days. What helps?", (reference,), text, system=system)
        for n in range(2, 10)
        for system, text in (("good", "Take paracetamol, rest and drink water."), ("bad", "Eat <b>chocolate</b>."))
    ]
    path = write_data(samples)
    done = imapeval("score", path, "--metrics", "imapscore,rouge1", "--out", "run")
    assert done.returncode == 0, done.stderr
    return path.parent / "run"


def test_compare_for_people(imapeval: Command, run: Path):
    done = imapeval("compare", run)
    assert done.returncode == 0, done.stderr
    assert "good is better than bad by" in done.stdout
    assert "bad lost most" not in done.stdout
    assert "good gained most against bad on:" in done.stdout
    assert re.search(r"bad, bad\d: The response has 0 of", done.stdout)
    assert done.stdout.count("I have had a headache") == 5


def test_what_is_known_of_the_intervals_of_few_questions_stands_below_them(
    imapeval: Command, run: Path, write_data: Callable[..., Path]
):
    said = "With fewer than 10 questions, intervals of means are too short"
    # All answers of a system have one score: the interval is that of a share.
    assert said not in " ".join(imapeval("compare", run, "--metrics", "rouge1").stdout.split())
    samples = [
        Sample(f"{system}{n}", f"{n}?", ("Drink water and rest.",), text, system=system)
        for system, texts in (("a", ["Drink water.", "Rest."]), ("b", ["Rest.", "Walk."]))
        for n, text in enumerate(texts)
    ]
    imapeval("score", write_data(samples, "few.jsonl"), "--metrics", "rouge1", "--out", "few")
    shown = " ".join(imapeval("compare", run.parent / "few", "--table", "few.md", "--table", "few.tex").stdout.split())
    for text in (shown, (run.parent / "few.md").read_text(), (run.parent / "few.tex").read_text()):
        assert said in text
        assert "differ on fewer than 10 questions" in text


def test_intervals_are_on_the_scale_of_the_runs(imapeval: Command, tmp_path: Path):
    samples = [Sample(f"{system}{n}", f"q{n}", ("r",), "a", system=system) for n in range(20) for system in "ab"]
    settings = RunSettings({"judge": "s"}, ranges={"judge": (0.0, 10.0)})
    with RunWriter(tmp_path / "ten", samples, settings=settings) as writer:
        writer.add(imaps=[], results=[Result(sample.id, "judge", Score(10.0), "s") for sample in samples])
        writer.finish()
    found = json.loads(imapeval("compare", "ten", "--json").stdout)
    # scipy 1.16: binomtest(20, 20).proportion_ci(method="wilson"), times 10
    assert [row["low"] for row in found["leaderboard"]] == pytest.approx([8.389, 8.389], abs=1e-3)


def test_compare_as_json_and_tables(imapeval: Command, run: Path):
    files = [f"--table=t.{suffix}" for suffix in ("csv", "md", "tex")]
    done = imapeval("compare", run, "--against", "good", "--margin", ".05", "--changes", "2", "--json", *files)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [row["system"] for row in found["leaderboard"]] == ["good", "bad"] * 2
    row = found["differences"][0]
    assert (row["first"], row["second"], row["better"], row["losses"]) == ("bad", "good", "good", 8)
    assert row["equivalent"] is False
    assert len(found["changes"]) == 2
    assert found["changes"][0]["first_reasons"][0].startswith("The response has 0 of")
    table = list(csv.DictReader((run.parent / "t.csv").read_text(encoding="utf-8-sig").splitlines()))
    assert [float(line["difference"]) for line in table] == pytest.approx(
        [r["difference"] for r in found["differences"]]
    )
    assert "| imapscore | all | bad | good |" in (run.parent / "t.md").read_text()
    assert r"\begin{tabular}" in (run.parent / "t.tex").read_text()


def test_what_cannot_be_compared(imapeval: Command, run: Path):
    for *arguments, place in (
        ("--table", "t.xls", "t.xls"),
        ("--against", "x", "'x'"),
        ("--metrics", "bleu", "'bleu'"),
        ("--by", "ward", "'ward'"),
        ("--margin", "0", "margin"),
        ("--margin", "1", "between 0 and 1"),
    ):
        done = imapeval("compare", run, *arguments)
        assert (done.returncode, place in done.stderr) == (2, True), done.stderr


def test_an_interrupted_run_is_called_unfinished(imapeval: Command, run: Path):
    assert "unfinished" not in imapeval("compare", run).stderr
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | {"finished": None}))
    lines = (run / "results.jsonl").read_text().splitlines(keepends=True)
    (run / "results.jsonl").write_text("".join(lines[:20]))
    done = imapeval("compare", run, "--json")
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)
    assert "(12 of 16 answers not tried); resume it with: " in done.stderr
