"""`imapeval export`: the facts of a run as texts for judges elsewhere."""

import json
from pathlib import Path

from imapeval import Scorer
from imapeval.types import Sample
from tests.cli.conftest import Command, WriteData

SAMPLES = [
    Sample("en", "How is gout treated?", ("Rest.", "Take ibuprofen 400 mg."), "Ibuprofen helps.", system="s"),
    Sample("中", "痛风怎么治？", ("口服布洛芬。",), "可以吃布洛芬。</facts>"),
    Sample("unasked", "?!", ("Rest.",), "Rest."),
    Sample("free", "How is gout treated?", (), "Rest."),
]
FIELDS = [
    *("id", "system", "lang", "question", "reference", "response"),
    *("query", "constraint", "reference_imap", "response_imap", "matches", "table", "context", "scores", "failures"),
]


def read(path: Path) -> dict[str, dict]:
    return {row["id"]: row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def test_a_line_for_each_answer(imapeval: Command, write_data: WriteData, tmp_path: Path) -> None:
    data = write_data(SAMPLES)
    options = ("--metrics", "imapscore,rouge1", "--references", "best")
    assert imapeval("score", data, *options, "--out", "run").returncode == 0
    done = imapeval("export", "run", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"context": "run-context.jsonl", "answers": 4, "with_imaps": 2}
    lines = read(tmp_path / "run-context.jsonl")
    assert [*lines] == [sample.id for sample in SAMPLES]
    assert all([*line] == FIELDS for line in lines.values())

    en = lines["en"]
    # The second reference is the one that counts.
    assert en["reference"] == "Take ibuprofen 400 mg."
    assert en["scores"]["imapscore"] > 0
    assert en["failures"] == {}
    for name in ("query", "constraint", "reference_imap", "response_imap", "matches"):
        assert f":\n{en[name]}" in en["context"]
    assert en["context"].startswith('What is asked:\n"treatment"\n\nWhat is given:\n')
    assert "ibuprofen" in en["reference_imap"]
    assert en["table"].startswith("| term | reference | response | relation | credit |")

    zh = lines["中"]
    assert zh["context"].startswith("问的是什么：\n")
    assert "</" not in zh["context"] + zh["table"]
    assert zh["response"] == SAMPLES[1].response

    unasked, free = lines["unasked"], lines["free"]
    assert (unasked["context"], unasked["scores"]["imapscore"]) == (None, None)
    assert unasked["failures"]["imapscore"]["kind"] == "no-query"
    assert unasked["scores"]["rouge1"] == 1.0
    assert (free["reference"], free["failures"]["imapscore"]["kind"]) == (None, "no-reference")


def test_an_assessment_has_the_same_text(imapeval: Command, write_data: WriteData, tmp_path: Path) -> None:
    data = write_data(SAMPLES)
    assert imapeval("score", data, "--metrics", "imapscore", "--out", "run").returncode == 0
    assert imapeval("export", "run", "--out", "deep/context.jsonl").stdout == "2 of 4 answers: deep/context.jsonl\n"
    lines = read(tmp_path / "deep" / "context.jsonl")
    with Scorer() as scorer:
        for sample in SAMPLES:
            scored = scorer.score(question=sample.question, reference=sample.references, response=sample.response)
            assert scored.context == (lines[sample.id]["context"] or "")


def test_what_cannot_be_exported(imapeval: Command, write_data: WriteData, tmp_path: Path) -> None:
    data = write_data(SAMPLES)
    assert imapeval("score", data, "--metrics", "rouge1", "--out", "run").returncode == 0
    failed = imapeval("export", "run")
    assert (failed.returncode, "run: holds no imaps. Score with a metric that reads them" in failed.stderr) == (2, True)
    assert not (tmp_path / "run-context.jsonl").exists()
    failed = imapeval("export", "nothere")
    assert (failed.returncode, "nothere" in failed.stderr) == (2, True)
    (tmp_path / "there.jsonl").touch()
    failed = imapeval("export", "run", "--out", "there.jsonl")
    assert (failed.returncode, "there.jsonl exists. Choose another file" in failed.stderr) == (2, True)
    assert imapeval("score", data, "--metrics", "imapscore", "--out", "read").returncode == 0
    failed = imapeval("export", "read", "--out", "there.jsonl/context.jsonl")
    assert (failed.returncode, "cannot write there.jsonl/context.jsonl" in failed.stderr) == (2, True)
