"""A metric of another package: a real wheel, installed with pip into a folder of its own."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

MODULE = '''
from dataclasses import dataclass

from imapeval.metrics.base import Metric, option


@dataclass(frozen=True)
class Shouting(Metric):
    """How much of a response is in capitals."""

    name = "shouting"
    summary = "share of capitals"
    higher_is_better = False

    weight: float = option("what all capitals are worth", 1.0)

    def score(self, case):
        return self.weight * sum(map(str.isupper, case.response)) / max(1, len(case.response))


def build():
    return [Shouting()]
'''
FILES = {
    "shouting.py": MODULE,
    "shouting-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n",
    "shouting-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "shouting-1.0.dist-info/entry_points.txt": "[imapeval.metrics]\nshouting = shouting:build\n",
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("package")
    wheel = folder / "shouting-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        for name, text in FILES.items():
            file.writestr(name, text)
        record = "shouting-1.0.dist-info/RECORD"
        file.writestr(record, "".join(f"{name},,\n" for name in (*FILES, record)))
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", str(folder / "site")]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    return {**os.environ, "PYTHONPATH": str(folder / "site")}


def call(environment: dict[str, str], *args: str | Path) -> str:
    command = [sys.executable, "-m", "imapeval", *map(str, args)]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def test_it_is_listed_with_its_form_on_imaps(environment: dict[str, str]) -> None:
    listed = {row["name"]: row for row in json.loads(call(environment, "metrics", "--json"))}
    assert listed["shouting"]["options"][0]["description"] == "what all capitals are worth"
    assert listed["shouting+imap"]["requires"] == ["imap", "reference"]


def test_it_scores_with_its_option_set(environment: dict[str, str], tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    row = {"id": "a", "question": "What helps?", "reference": "Rest.", "response": "REST now"}
    data.write_text(json.dumps(row) + "\n")
    call(environment, "score", data, "--metrics", "shouting", "--set", "shouting.weight=2", "--out", tmp_path / "run")
    result = json.loads((tmp_path / "run" / "results.jsonl").read_text())
    assert (result["score"], result["signature"]) == (1.0, "shouting|weight:2|v:1|references:mean")
