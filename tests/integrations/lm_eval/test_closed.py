"""Logs that lm-evaluation-harness writes, read by `imapeval closed`: the same accuracy, item by item."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("lm_eval", reason="lm_eval is not installed here: python3 .ci/frameworks.py lm_eval")

from typing import TYPE_CHECKING

from imapeval.study.closed.logs import read_logs
from imapeval.study.closed.models import summarise_models

if TYPE_CHECKING:
    from pathlib import Path

TASK = """
task: helps_mc
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: "{{{{options}}}}"
doc_to_target: answer_idx
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}]
"""


def test_accuracy_is_that_of_the_harness(tmp_path: Path):
    rows = [
        {"id": f"q{n}", "question": f"{n}?", "options": ["aspirin", "rest", "tea"], "answer_idx": n % 3}
        for n in range(40)
    ]
    data = tmp_path / "items.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "helps.yaml").write_text(TASK.format(data=data), encoding="utf-8")
    # Its own model for tests, which draws likelihoods at random.
    command = [sys.executable, "-m", "lm_eval", "run", "--model", "dummy", "--tasks", "helps_mc", "--log_samples"]
    paths = ["--include_path", str(tmp_path / "tasks"), "--output_path", str(tmp_path / "out" / "results.json")]
    done = subprocess.run([*command, *paths], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads(next((tmp_path / "out").rglob("results*.json")).read_text(encoding="utf-8"))
    answers = read_logs([tmp_path / "out"])
    assert [answer.item for answer in answers] == [row["id"] for row in rows]
    assert [float(answer.right is True) for answer in answers] == [answer.scores["acc"] for answer in answers]
    (found,) = summarise_models(answers)
    assert found.accuracy == pytest.approx(results["results"]["helps_mc"]["acc,none"])
    assert (found.task, found.readings) == ("helps_mc", {"read": 40})
