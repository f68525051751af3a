import json
from pathlib import Path

import pytest

from imapeval.evaluation.samples import read
from tests.cli.conftest import Command

QUALITY = {"right": 5.0, "partial": 3.0, "wrong": 0.5}


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    """Two files in the benchmark's format, of the shipped sample's answers; the ratings follow its quality labels."""
    folder = tmp_path / "upstream"
    folder.mkdir()
    for name, column, half in (("HMedQA-GPT-4", "gpt4_prediction", 0), ("iCliniq-PaLM-2", "palm2_prediction", 1)):
        rows = [
            {
                "Question": sample.question,
                "Doctor_Response": sample.references[0],
                column: sample.response,
                "Average_accuracy_score": QUALITY.get(str(sample.meta["quality"]), 2.0) + 0.01 * number,
                "Average_completeness_score": QUALITY.get(str(sample.meta["quality"]), 2.0) - 0.01 * number,
                "Average_specific_scores": 3,
            }
            for number, sample in enumerate(read("sample-en")[half::2][:8])
        ]
        (folder / f"{name}.txt").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return folder


@pytest.mark.slow
def test_replicate(imapeval: Command, upstream: Path, tmp_path: Path):
    table = tmp_path / "paper.csv"
    table.write_text(
        "metric,system,dimension,rho,tau\nROUGE-1,HMedQA/GPT-4,accuracy,.123,.1\nBERTScore,HMedQA,*,.3,.2\n"
    )
    arguments = ("study", "replicate", "imapscore", "--data", upstream, "--out", tmp_path / "run", "--resamples", "50")
    done = imapeval(*arguments, "--paper-table", table, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["answers"] == {"HMedQA/GPT-4": 8, "iCliniq/PaLM-2": 8}
    rows = {
        (row["metric"], row["system"], row["dimension"]): row
        for row in found["rows"]
        if row["coefficient"] == "spearman"
    }
    first = rows["rouge1", "HMedQA/GPT-4", "accuracy"]
    assert first["paper"] == 0.123
    assert first["difference"] == pytest.approx(first["value"] - 0.123)
    assert rows["imapscore", "HMedQA/GPT-4", "accuracy"]["value"] > 0
    constant = rows["imapscore", "HMedQA/GPT-4", "specificity"]
    assert (constant["value"], constant["reason"]) == (None, "the rating is constant (3)")
    assert (rows["bertscore", "HMedQA", "*"]["paper"], rows["bertscore", "HMedQA", "*"]["value"]) == (0.3, None)
    assert found["left_out"]["geval"] == "needs a language model: --llm"

    shown = imapeval(*arguments).stdout  # goes on with the run that is there
    assert "Spearman's rho, HMedQA/GPT-4" in shown
    assert "HMedQA-GPT-4: 8 answers here, 200 in the public file." in shown
    assert "HMedQA-PaLM-2: 0 answers here, 199 in the public file." in shown
    assert "imapScore over the other metrics: paper +79.8%, here " in shown
    assert "Left out (needs a language model: --llm): geval" in shown
    assert "--paper-table" in shown


@pytest.mark.slow
def test_on_ready_imaps_raw_metrics_are_on_the_same_answers(imapeval: Command, upstream: Path, tmp_path: Path):
    pairs = {"query": [{"term": "a", "value": "?"}], "constraint": [], "relations": []}
    imaps = [
        {
            "id": f"{file.stem}:{number}",
            **pairs,
            "reference": [{"term": "a", "value": "rest and fluids"}],
            "response": said,
        }
        for file in upstream.iterdir()
        for number, said in enumerate([[{"term": "a", "value": "rest"}], [{"term": "a", "value": "surgery"}]] * 3)
    ]
    (tmp_path / "imaps.jsonl").write_text("".join(json.dumps(imap) + "\n" for imap in imaps))
    arguments = ("study", "replicate", "imapscore", "--data", upstream, "--out", tmp_path / "run", "--resamples", "50")
    done = imapeval(*arguments, "--imaps", tmp_path / "imaps.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["answers"] == {"HMedQA/GPT-4": 6, "iCliniq/PaLM-2": 6}
    counts = {row["metric"]: row["n"] for row in found["rows"] if row["system"] == "HMedQA/GPT-4"}
    assert {counts[name] for name in ("rouge1", "rouge1+imap", "imapscore:paper")} == {6}


@pytest.mark.slow
def test_imaps_of_other_answers_are_named(imapeval: Command, upstream: Path, tmp_path: Path):
    facts = [{"term": "a", "value": "rest"}]
    imap = {"id": "other", "query": [], "constraint": [], "relations": [], "reference": facts, "response": facts}
    (tmp_path / "imaps.jsonl").write_text(json.dumps(imap) + "\n")
    arguments = ("study", "replicate", "imapscore", "--data", upstream, "--out", tmp_path / "run")
    done = imapeval(*arguments, "--imaps", tmp_path / "imaps.jsonl")
    assert done.returncode == 2
    assert "imaps.jsonl" in done.stderr.splitlines()[-1]


def test_what_cannot_be_replicated(imapeval: Command, tmp_path: Path):
    done = imapeval("study", "replicate", "bleu", "--data", tmp_path)
    assert (done.returncode, "unknown paper 'bleu'" in done.stderr) == (2, True)
    done = imapeval("study", "replicate", "imapscore", "--data", tmp_path / "nothing", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "nothing" in done.stderr
