"""The assertion in promptfoo itself: its command, its states, its means."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.integrations.answers import ROWS

PROGRAM = (
    os.environ.get("IMAPEVAL_PROMPTFOO")
    or shutil.which("promptfoo", path=Path(sys.prefix) / "node_modules" / ".bin")
    or shutil.which("promptfoo")
)
if PROGRAM is None:
    pytest.skip("promptfoo is not installed here: python3 .ci/frameworks.py promptfoo", allow_module_level=True)

ASTHMA = {"question": "How is asthma treated?", "reference": "Salbutamol."}
DOWN = {"llm": "openai:stub", "base_url": "http://127.0.0.1:9/v1"}

# What is tried, by name: the variables, the assertion's settings.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    **{row["id"]: (row, {"config": {"metrics": "imapscore,rouge1"}}) for row in ROWS},
    "below": (ROWS[0], {"config": {"threshold": 0.9}}),
    "below promptfoo's own": (ROWS[0], {"threshold": 0.9}),
    "above": (ROWS[0], {"config": {"threshold": 0.1}}),
    "long": ({**ASTHMA, "response": "a " * 100_000}, {}),
    "an object": ({**ASTHMA, "response": {"text": "Salbutamol."}}, {}),
    "no output": ({**ASTHMA, "response": None}, {}),
    "emoji": ({**ASTHMA, "response": "\U0001f600 <b>'\"|%</b>"}, {}),
    "no reference": ({"question": ASTHMA["question"], "response": "Salbutamol."}, {}),
    "several references": (
        {"question": ASTHMA["question"], "references": ["Rest.", "Salbutamol."]},
        {"config": {"references": "best"}},
    ),
    "misspelt": (ROWS[0], {"config": {"treshold": 0.1}}),
    "server down": (ROWS[0], {"config": DOWN}),
}

PROVIDER = """
export default class {
  id() { return "recorded"; }
  async callApi(prompt, { vars }) { return { output: vars.response === undefined ? "Salbutamol." : vars.response }; }
}
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `promptfoo eval` writes of all cases."""
    folder = tmp_path_factory.mktemp("promptfoo")
    (folder / "provider.mjs").write_text(PROVIDER, encoding="utf-8")
    (folder / "imapscore.py").write_text("from imapeval.integrations.promptfoo import get_assert\n", encoding="utf-8")
    tests = [
        {
            "description": name,
            "vars": vars_,
            "options": {"disableVarExpansion": True},
            "assert": [{"type": "python", "value": "file://imapscore.py", **settings}],
        }
        for name, (vars_, settings) in CASES.items()
    ]
    # JSON is YAML, too.
    config = {"prompts": ["{{question}}"], "providers": ["file://provider.mjs"], "tests": tests}
    (folder / "promptfooconfig.yaml").write_text(json.dumps(config), encoding="utf-8")
    command = [str(PROGRAM), "eval", "--no-cache", "--no-write", "--no-table", "-o", "found.json"]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **settings_of(folder)}, capture_output=True, text=True
    )
    assert done.returncode == 100, done.stdout + done.stderr  # some assertion failed
    return json.loads((folder / "found.json").read_text(encoding="utf-8"))["results"]


def settings_of(folder: Path) -> dict[str, str]:
    return {
        "PROMPTFOO_PYTHON": sys.executable,
        "PROMPTFOO_CONFIG_DIR": str(folder / ".promptfoo"),
        "PROMPTFOO_DISABLE_UPDATE": "1",
        # That it is off, it tells its makers all the same: not from here.
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1,localhost",
        "PYTHONUTF8": "1",
    }


@pytest.fixture(scope="module")
def rows(found: dict[str, Any]) -> dict[str, Any]:
    return {row["testCase"]["description"]: row for row in found["results"]}


def test_the_same_numbers_as_the_command(rows, expected):
    for id_, score in expected.items():
        assert rows[id_]["namedScores"].get("imapscore") == score
        assert rows[id_]["success"] is (score is not None)


def test_its_mean_leaves_out_what_is_not_scored(found, rows):
    metrics = found["prompts"][0]["metrics"]
    scores = [row["namedScores"]["imapscore"] for row in rows.values() if "imapscore" in row["namedScores"]]
    unscored = {"nothing-asked", "long", "an object", "no output", "no reference", "misspelt", "server down"}
    assert metrics["namedScoresCount"]["imapscore"] == len(scores) == len(CASES) - len(unscored)
    assert metrics["namedScores"]["imapscore"] / len(scores) == pytest.approx(fmean(scores))
    # ROUGE needs no question.
    assert metrics["namedScoresCount"]["rouge1"] == len(ROWS)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing-asked", "not scored: the question has no words"),
        ("long", "not scored: a text has 200000 characters"),
        ("an object", "not scored: the response is not a text"),
        ("no reference", "not scored: the sample has no reference"),
        ("misspelt", "UsageError: "),
        ("server down", "ServiceError: "),
    ],
)
def test_what_is_not_scored_fails_with_the_reason(rows, name: str, said: str):
    row = rows[name]
    assert not row["success"]
    assert said in row["error"]
    assert "imapscore" not in row["namedScores"]
    (component,) = row["gradingResult"]["componentResults"]
    assert said in component["reason"]


def test_the_kind_is_there_for_programs(rows):
    (component,) = rows["nothing-asked"]["gradingResult"]["componentResults"]
    assert component["metadata"] == {"not_scored": {"imapscore": "extraction/no-query"}}


def test_a_provider_that_gave_nothing_is_promptfoos_own_failure(rows):
    assert (rows["no output"]["error"], rows["no output"]["namedScores"]) == ("No output", {})


def test_thresholds(rows):
    assert not rows["below"]["success"]
    assert not rows["below promptfoo's own"]["success"]
    assert rows["above"]["success"]
    assert "is less than threshold 0.9" in rows["below promptfoo's own"]["error"]


def test_others(rows):
    assert rows["emoji"]["namedScores"]["imapscore"] < 0.2
    assert rows["several references"]["namedScores"]["imapscore"] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="the page is run by bash")
def test_the_page_runs_as_printed(run_page, expected, tmp_path, monkeypatch):
    pytest.importorskip("uvicorn", reason="`imapeval serve` is not installed here: pip install 'imapeval[serve]'")
    for name, value in settings_of(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{Path(str(PROGRAM)).parent}{os.pathsep}{os.environ['PATH']}")
    told, printed = run_page("promptfoo")
    assert printed == told
    for score in expected.values():
        assert score is None or told.count(f"{score:.4f}") == 2
    assert told.count(f"mean {fmean(score for score in expected.values() if score is not None):.4f}") == 2
