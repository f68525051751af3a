import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from imapeval import __version__

Command = Callable[..., subprocess.CompletedProcess[str]]


def test_metrics_for_machines_and_people(imapeval: Command):
    listed = json.loads(imapeval("metrics", "--json").stdout)
    rouge = next(row for row in listed if row["name"] == "rouge1")
    assert (
        rouge.items()
        >= {
            "requires": ["reference"],
            "installed": True,
            "languages": ["en", "zh"],
            "higher_is_better": True,
            "range": [0.0, 1.0],
        }.items()
    )
    shown = imapeval("metrics").stdout
    assert all(row["name"] in shown for row in listed if "+imap" not in row["name"])
    assert "NAME+imap" in shown


def test_a_metric_is_explained(imapeval: Command):
    shown = imapeval("metrics", "show", "rouge1+imap").stdout
    for text in ("rouge1+imap: ROUGE-1", "Lin 2004", "needs:      imap, reference", "0 .. 1", "missing:    nothing"):
        assert text in shown
    told = json.loads(imapeval("metrics", "show", "imapscore", "--json").stdout)
    assert (told["name"], told["installed"], told["options"]) == ("imapscore", True, [])
    assert imapeval("metrics", "show", "rouge-1").returncode == 2


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
