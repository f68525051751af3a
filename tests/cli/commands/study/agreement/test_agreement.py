import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from imapeval.evaluation.runs import Run
from imapeval.study.agreement.measure import STATISTICS
from imapeval.types import Sample
from tests.cli.conftest import Command


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """40 answers, rated by three raters in halves (accuracy) and by two of them as safe or not."""
    generator = np.random.default_rng(0)
    worth = generator.normal(3, 1.2, size=40)
    lines = ["id,rater,accuracy,safe"]
    for row, true in enumerate(worth):
        for rater in ("ann", "bo", "cy"):
            accuracy = np.clip(np.round(2 * (true + generator.normal(0, 0.6))) / 2, 0, 5)
            safe = "" if rater == "cy" else int(true + generator.normal() > 2)
            lines.append(f"a{row},{rater},{accuracy:g},{safe}")
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_json(imapeval: Command, file: Path):
    done = imapeval("study", "agreement", file, "--scale", "accuracy=0:5:0.5", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert list(found) == ["agreement", "differences", "limits", "ceilings", "sentences"]
    rows = {(row["dimension"], row["statistic"]): row for row in found["agreement"]}
    assert list(rows["accuracy", "exact"]) == [
        *("dimension", "statistic", "value", "low", "high", "n", "raters", "reason"),
    ]
    assert rows["accuracy", "krippendorff_alpha_ordinal"]["n"] == 40
    assert 0.5 < rows["accuracy", "icc_2_k"]["value"] < 1
    assert {name for dimension, name in rows if dimension == "safe"} == {
        *("exact", "cohen_kappa", "gwet_ac1", "krippendorff_alpha_nominal"),
    }
    assert list(found["differences"][0]["bins"]) == ["0", "0.5, 1, 1.5", "2, 2.5", "3, 3.5", "4, 4.5", "5"]
    assert [row["coefficient"] for row in found["ceilings"]] == ["pearson", "spearman", "kendall_tau_b"] * 2
    assert found["sentences"][0].startswith("accuracy: two raters give the same rating on ")


def test_table_for_people(imapeval: Command, file: Path):
    done = imapeval("study", "agreement", file, "--scale", "accuracy=0:5:0.5")
    assert done.returncode == 0
    for words in (
        "Krippendorff's alpha (ordinal)",
        "all pairs",
        "limits of agreement",
        "What a perfect metric could reach",
        "a perfect metric",
    ):
        assert words.lower() in done.stdout.lower()
    assert "leaving out each answer in turn" in done.stdout
    assert "--scale safe=LOW:HIGH:STEP" in done.stdout


def test_all_statistics(imapeval: Command, file: Path):
    done = imapeval("study", "agreement", file, "--dimensions", "accuracy", "--all", "--json")
    rows = json.loads(done.stdout)["agreement"]
    assert [row["statistic"] for row in rows] == list(STATISTICS)
    reasons = {row["statistic"]: row["reason"] for row in rows if row["value"] is None}
    assert reasons["within_step"] == "no scale with a step is declared"
    assert "Cohen's kappa is between two" in reasons["cohen_kappa"]


def test_questions_of_a_run_are_drawn_together(
    imapeval: Command, write_run: Callable[..., Run], file: Path, tmp_path: Path
):
    samples = [Sample(f"a{n}", f"question {n // 2}?", ("r",), "a", numbered=True) for n in range(38)]
    write_run("run", samples, {"m": {}})
    alone, together = (
        imapeval("study", "agreement", file, "--dimensions", "accuracy", "--json", *more)
        for more in ((), ("--questions", tmp_path / "run"))
    )
    assert f"2 of 40 rated ids are not in {tmp_path / 'run'}: a38, a39." in together.stderr
    assert ("row numbers" in alone.stderr, "row numbers" in together.stderr) == (False, True)
    first, second = (json.loads(done.stdout)["agreement"] for done in (alone, together))
    assert [row["value"] for row in first] == [row["value"] for row in second]
    assert first != second


def test_averages_are_refused_with_the_reason(imapeval: Command, tmp_path: Path):
    file = tmp_path / "averages.csv"
    file.write_text("id,accuracy\na,1\nb,2.5\n", "utf-8")
    done = imapeval("study", "agreement", file)
    assert done.returncode == 0
    assert "accuracy: agreement among raters cannot be measured: only average ratings are known" in done.stdout
    rows = json.loads(imapeval("study", "agreement", file, "--json").stdout)
    assert [row["value"] for row in rows["agreement"] + rows["ceilings"]] == [None] * 4
    assert rows["differences"] == []


def test_a_rating_off_its_scale(imapeval: Command, file: Path):
    done = imapeval("study", "agreement", file, "--scale", "accuracy=0:4:0.5")
    assert done.returncode == 2
    assert "its scale is 0 to 4" in done.stderr.replace("\n", " ")
