import json
from pathlib import Path

import pytest

from imapeval.evaluation import rescoring
from imapeval.evaluation.corrections import Correction, append_correction
from imapeval.evaluation.runs import Run
from imapeval.study.intervals.coverage import describe_mean_coverage
from imapeval.types import Sample
from tests.cli.conftest import Command, WriteData


def test_changes_of_scores_have_what_is_known_of_their_intervals(
    imapeval: Command, write_data: WriteData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    questions = ("How is gout treated?", "How is a migraine treated?")
    samples = [
        Sample(str(n), question, ("Take ibuprofen.",), "Take ibuprofen.") for n, question in enumerate(questions)
    ]
    done = imapeval("score", write_data(samples), "--metrics", "imapscore", "--out", "run")
    assert done.returncode == 0, done.stderr
    for record, after in zip(Run(tmp_path / "run").imaps(), ("Take paracetamol", "Ibuprofen"), strict=True):
        (pair, *_) = record.imap.response
        fact = {"term": pair.term, "value": pair.value}
        change = {"kind": "fact", "side": "response", "before": fact, "after": fact | {"value": after}}
        for made in (change, {"kind": "checked"}):
            append_correction(
                tmp_path / "run", Correction.model_validate({"id": record.id, "who": "anna", "change": made})
            )
    (row,) = json.loads(imapeval("study", "corrections", "run", "--json").stdout)["scores"]
    assert (row["metric"], row["n"], row["questions"]) == ("imapscore", 2, 2)
    assert row["low"] < row["high"] <= 0
    (sentence,) = describe_mean_coverage([2], of="changes")
    assert sentence in imapeval("study", "corrections", "run").stdout
    (tmp_path / "there.jsonl").write_text("")
    monkeypatch.setattr(rescoring, "correct_run", pytest.fail)
    done = imapeval("study", "corrections", "run", "--out", "there.jsonl")
    assert done.returncode == 2
    assert "there.jsonl" in done.stderr
