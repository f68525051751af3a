import hashlib
import json
from pathlib import Path

from tests.cli.conftest import Command

PROMPTS = Path(__file__).parents[4] / "prompts"


def test_every_prompt_is_listed_with_its_hash(imapeval: Command):
    listed = {row["name"]: row for row in json.loads(imapeval("prompts", "list", "--json").stdout)}
    assert listed.keys() == {path.stem for path in PROMPTS.glob("*.md")}
    row = listed["answer-inform.zh.v2"]
    content = (PROMPTS / "answer-inform.zh.v2.md").read_bytes()
    assert row == {
        "name": "answer-inform.zh.v2",
        "task": "answer-inform",
        "language": "zh",
        "version": 2,
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    shown = imapeval("prompts", "list").stdout
    assert all(row["name"] in shown and row["sha256"] in shown for row in listed.values())


def test_a_prompt_is_shown_as_it_is(imapeval: Command):
    text = (PROMPTS / "answer-inform.zh.v2.md").read_text(encoding="utf-8")
    assert imapeval("prompts", "show", "answer-inform.zh.v2").stdout == text
    assert json.loads(imapeval("prompts", "show", "answer-inform.zh.v2", "--json").stdout)["text"] == text


def test_an_unknown_prompt_names_those_there_are(imapeval: Command):
    failed = imapeval("prompts", "show", "answer-inform")
    assert failed.returncode == 2
    assert "answer-inform.en.v2" in failed.stderr
