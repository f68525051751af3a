"""Recognises logs of closed questions and reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import InputError
from imapeval.study.closed.logs.helm import read_helm
from imapeval.study.closed.logs.inspect import is_inspect, read_inspect
from imapeval.study.closed.logs.lm_eval import is_lm_eval, read_lm_eval
from imapeval.study.closed.logs.table import read_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from imapeval.study.closed.logs.answers import ClosedAnswer

_HELM = "per_instance_stats.json"


def read_logs(paths: Sequence[Path]) -> list[ClosedAnswer]:
    """Read the answers of logs: files or folders of lm-evaluation-harness, Inspect and HELM, and tables.

    A folder stands for all logs below it.

    Raises:
        InputError: A file is in no known format or damaged, a folder has no log, an answer occurs twice, an option has
            no label or that of another, or the right answer to a question is not among its options.
    """
    answers: list[ClosedAnswer] = []
    origin: dict[tuple[str, str, str, str], Path] = {}
    for path in [found for given in paths for found in _find_files(given)]:
        for answer in _read_file(path):
            asked = f"{answer.item!r} of {answer.task}" if answer.task else f"{answer.item!r}"
            key = (answer.task, answer.model, answer.item, answer.run)
            if key in origin:
                raise InputError(
                    f"has an answer of {answer.model} to {asked} that {origin[key]} has as well",
                    path=path,
                    fix="Give each log once; repeated runs of a table have a column `run`.",
                )
            if not all(map(str.strip, answer.labels)):
                raise InputError(f"an option of {asked} has no label", path=path, fix="Give it a label.")
            folded = [*map(str.casefold, answer.labels)]
            if twice := [label for place, label in enumerate(answer.labels) if folded[place] in folded[:place]]:
                raise InputError(
                    f"two options of {asked} have the label {twice[0]!r}",
                    path=path,
                    fix="Give each option a label of its own; upper and lower case are the same.",
                )
            if answer.labels and not answer.gold:
                raise InputError(
                    f"the right answer to {asked} is not one of its options",
                    path=path,
                    fix="Correct the log, or leave the question out.",
                )
            origin[key] = path
            answers.append(answer)
    if not answers:
        raise InputError(
            "holds no answers",
            path=paths[0],
            fix="Give the log of a finished run; HELM's has to ask for all options at once (multiple_choice_joint).",
        )
    return answers


def holds_logs(folder: Path) -> bool:
    """Return whether a harness's log is below a folder."""
    return bool(_find_logs(folder))


def _find_logs(folder: Path) -> list[Path]:
    helm = [file.parent for file in folder.rglob(_HELM)]
    inspect = filter(is_inspect, [*folder.rglob("*.eval"), *folder.rglob("*.json")])
    return sorted([*helm, *folder.rglob("samples_*.jsonl"), *inspect])


def _find_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = _find_logs(path)
    if not found:
        raise InputError(
            "holds no log of lm-evaluation-harness (samples_*.jsonl), Inspect (*.eval, *.json) or HELM "
            "(per_instance_stats.json)",
            path=path,
            fix="Give the folder that the harness wrote to, or a table.",
        )
    return found


def _read_file(path: Path) -> Iterator[ClosedAnswer]:
    if path.is_dir() or path.name == _HELM:
        return read_helm(path)
    if is_inspect(path):
        return read_inspect(path)
    if not path.is_file():
        raise InputError("no such file", path=path, fix="Check the path.")
    return read_lm_eval(path) if is_lm_eval(_read_head(path)) else read_table(path)


def _read_head(path: Path) -> dict[str, Any]:
    """Return the first record of a JSON Lines file; {} if it is not one."""
    try:
        with path.open(encoding="utf-8") as lines:
            head = json.loads(next((line for line in lines if line.strip()), ""))
    except (ValueError, OSError, RecursionError):
        return {}
    return cast("dict[str, Any]", head) if isinstance(head, dict) else {}
