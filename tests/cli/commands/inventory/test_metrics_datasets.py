import inspect
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from imapeval import __version__
from imapeval.cli.commands.inventory.metrics import _print_group
from imapeval.metrics import registry
from imapeval.metrics.lexical import overlap
from imapeval.metrics.lexical.overlap import TokenF1
from tests.cli.conftest import Command


def test_metrics_for_machines_and_people(imapeval: Command):
    listed = json.loads(imapeval("metrics", "--json").stdout)
    rouge = next(row for row in listed if row["name"] == "rouge1")
    expected = {
        "requires": ["reference"],
        "installed": True,
        "languages": ["en", "fr", "other", "zh"],
        "higher_is_better": True,
        "range": [0.0, 1.0],
    }
    assert {name: rouge[name] for name in expected} == expected


def test_a_package_that_cannot_be_used_is_named(imapeval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "broken_metric.py").write_text("def build(:\n")
    about = tmp_path / "their_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[imapeval.metrics]\ntheirs = broken_metric:build\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry._registered.cache_clear()
    try:
        listed = imapeval("metrics", "--json")
        shown = imapeval("metrics", "show", "theirs")
    finally:
        registry._registered.cache_clear()
    assert (listed.returncode, shown.returncode) == (0, 2)
    assert any(row["name"] == "rouge1" for row in json.loads(listed.stdout))
    for said in (listed.stderr, shown.stderr):
        assert "theirs = broken_metric:build of the package their-package 1.0" in said
        assert "SyntaxError" in said


def test_the_list_of_metrics_fits_a_screen(imapeval: Command):
    lines = imapeval("metrics").stdout.splitlines()
    # A line for each metric that has one, and few others.
    assert sum(line[:2] not in ("  ", "* ") for line in lines) <= 15
    cut = [line for line in lines if line.endswith("…")]
    assert not cut, "the summary of a metric may have at most 55 characters"
    # A metric has a line, or is a variant that its first one leads to: bleu +3 to bleu1, bleu2, bleu3.
    first = [line[2:].split()[0] for line in lines if line[:2] in ("  ", "* ")]
    names = {row["name"] for row in json.loads(imapeval("metrics", "--json").stdout) if "+imap" not in row["name"]}
    assert names - set(first) == {
        *("bleu1", "bleu2", "bleu3", "geval:accuracy", "geval:completeness", "geval:specificity"),
        *("geval-noref", "geval-noref:accuracy", "geval-noref:completeness", "geval-noref:specificity"),
        "prometheus-noref",
    }
    assert "bleu1, bleu2, bleu3" in imapeval("metrics", "show", "bleu").stdout
    assert "Language model as a judge (runnable here: no, needs --llm)" in lines
    assert "NAME+imap" in lines[-2]


@pytest.mark.parametrize(
    ("missing", "state", "starred"),
    [
        (["", ""], "yes", 0),
        (["", "weights of a"], "yes, except *", 1),
        (["weights of a", "weights of b"], "no, needs weights", 0),
        (["weights of a", "pip install b"], "no", 0),
    ],
)
def test_whether_a_group_can_be_computed_here(
    missing: list[str], state: str, starred: int, capsys: pytest.CaptureFixture[str]
):
    group = [
        SimpleNamespace(name=name, summary="s", missing_requirements=needs, requires=frozenset())
        for name, needs in zip("ab", missing, strict=True)
    ]
    _print_group("Title", group)  # pyright: ignore[reportArgumentType]
    title, *lines = capsys.readouterr().out.splitlines()
    assert title == f"Title (runnable here: {state})"
    assert sum(line.startswith("*") for line in lines) == starred


def test_a_metric_is_explained(imapeval: Command):
    shown = imapeval("metrics", "show", "rouge1+imap").stdout
    for text in ("rouge1+imap: ROUGE-1", "Lin 2004", "imap, reference", "0 .. 1", "runnable here: yes"):
        assert text in shown
    shown = imapeval("metrics", "show", "rouge2").stdout
    for text in ("F = 2 P R / (P + R)", 'reference "take the tablets with food"', "P = 2/4, R = 2/4", "F = 0.5"):
        assert text in shown
    assert "runnable here: no, needs --llm" in imapeval("metrics", "show", "judge").stdout
    # What the class says, and then what the module says, unless that is all the same.
    shown = imapeval("metrics", "show", "token-f1").stdout
    assert -1 < shown.find(inspect.getdoc(TokenF1) or "-") < shown.find(inspect.getdoc(overlap) or "-")
    told = json.loads(imapeval("metrics", "show", "imapscore", "--json").stdout)
    assert (told["name"], told["installed"], told["options"]) == ("imapscore", True, [])
    assert told["formula"].startswith("(recall + precision) / 2")
    assert told["example"]["score"] == pytest.approx(1.6 / 3)


@pytest.mark.parametrize(
    ("command", "nearest"),
    [
        (("metrics", "show", "rouge-1"), "rouge1"),
        (("metrics", "show", "BLEU+imap"), "bleu+imap"),
        (("score", "sample-en", "--metrics", "bert"), "bleurt"),
        (("prompts", "show", "judge"), "judge.zh.v1"),
        (("models", "path", "qwen"), "qwen3-8b"),
    ],
)
def test_a_wrong_name_gives_the_three_nearest(imapeval: Command, command: tuple[str, ...], nearest: str):
    done = imapeval(*command)
    assert done.returncode == 2
    assert re.search(rf"{re.escape(repr(command[-1]))}\. Did you mean {re.escape(nearest)}, \S+ or \S+\?", done.stderr)


def test_offline_metrics_only(imapeval: Command):
    listed = json.loads(imapeval("metrics", "--offline", "--json").stdout)
    assert {"imapscore", "rouge1+imap:pairs"} <= {row["name"] for row in listed}
    assert all(row["installed"] and not {"llm", "logprobs"} & set(row["requires"]) for row in listed)


def test_datasets_for_machines_and_people(imapeval: Command):
    listed = {row["name"]: row for row in json.loads(imapeval("datasets", "--json").stdout)}
    assert listed["sample-en"]["samples"] >= 80
    assert Path(listed["sample-zh"]["path"]).exists()
    assert "sample-en" in imapeval("datasets").stdout


def test_version(imapeval: Command):
    assert imapeval("--version").stdout == f"imapeval {__version__}\n"
