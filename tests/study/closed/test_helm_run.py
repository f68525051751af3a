"""A run that HELM 0.5.16 wrote, with replies of every sort: `imapeval closed` has its exact matches, to the item."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from imapeval.study.closed.logs import read_logs

RUN = Path(__file__).parent / "helm"
METRICS = ("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match")


def test_scores_are_helms_to_the_item():
    theirs: dict[str, dict[str, float]] = {}
    for entry in json.loads((RUN / "per_instance_stats.json").read_bytes()):
        own = {stat["name"]["name"]: stat["mean"] for stat in entry["stats"] if stat["name"]["name"] in METRICS}
        theirs.setdefault(entry["instance_id"], {}).update(own)
    answers = read_logs([RUN])
    assert {answer.item: answer.scores for answer in answers} == theirs
    assert len(theirs) == 10


def test_replies_land_where_they_belong():
    found = {answer.text: (answer.choice.reading, answer.choice.label) for answer in read_logs([RUN])}
    assert found == {
        "I'm sorry, but I cannot give medical advice.": ("refused", None),
        "抱歉，我无法回答这个问题。": ("refused", None),
        "A and C": ("several", None),
        "The answer is A. The answer is C.": ("several", None),
        # HELM logs that this one ended at the limit.
        "Let us think about what the patient needs first: since": ("cut", None),
        # HELM counts the bare letter only as right, of these four.
        "The answer is (B) because it helps.": ("read", "B"),
        "B": ("read", "B"),
        "b.": ("read", "B"),
        "B. Rest": ("read", "B"),
        "C": ("read", "C"),
    }


def test_the_command_prints_helms_accuracy():
    command = [sys.executable, "-m", "imapeval", "closed", str(RUN), "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    (row,) = json.loads(done.stdout)["models"]
    means = {stat["name"]["name"]: stat["mean"] for stat in json.loads((RUN / "stats.json").read_bytes())}
    assert row["by_log"] == pytest.approx(means)
    assert (row["task"], row["model"], row["items"], row["accuracy"]) == ("medqa", "local/smollm2", 10, 0.4)
