"""How a run and its command are written on pages and in reports."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from imapeval.evaluation.ids import list_first
from imapeval.evaluation.samples.files.formats import FORMATS_BY_SUFFIX
from imapeval.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from imapeval.evaluation.runs.reading import Run

_SUFFIXES = frozenset({*FORMATS_BY_SUFFIX, ".txt", ".eval"})
"""The suffixes of data files, without ".gz"."""

_PATTERN = re.compile(r"[*?]|\[(?!\d+\])")
"""Part of a pattern; "answers[1].csv" is the name that browsers give to a second download."""


def name_run(run: Run) -> str:
    """Return the names of the data of a run, without folders and suffixes, or that of its folder if they have none."""
    joined: str = run.manifest["data"]["source"]
    command: Sequence[str] = run.manifest.get("command", ())
    names = list(dict.fromkeys(name for source in _split_sources(joined, command) if (name := name_source(source))))
    return list_first(names) if len(names) > 1 else "".join(names) or run.folder.resolve().name


def _split_sources(joined: str, command: Sequence[str]) -> Iterator[str]:
    """Yield the sources of a run, which its manifest joins with spaces.

    Names may contain spaces, too, so the words of the command tell where one ends.
    """
    words = sorted((word for word in command if word), key=len, reverse=True)
    while joined:
        source = next((word for word in words if f"{joined} ".startswith(f"{word} ")), joined)
        yield source
        joined = joined[len(source) + 1 :]


def name_source(source: str) -> str:
    """Return the name of data without folders and suffixes, for a pattern that of its folder; "" if it has none."""
    if source == "-":
        return "stdin"
    path = Path(source.partition("?")[0] if "://" in source else source)
    if _PATTERN.search(path.name):
        # The folder of a pattern says more than its name.
        return next((parent.name for parent in path.parents if not _PATTERN.search(parent.name)), "")
    path = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    # Other text after a dot is part of the name: of "data.v1.2", a folder, and "hf:org/my.data:test".
    return path.stem if path.suffix.lower() in _SUFFIXES else path.name


def format_command(words: Sequence[str], *, out: str = "") -> str:
    """Return a command line as one would type it: the program by its name, not by its path.

    Args:
        words: The program and its arguments.
        out: The folder of a run that the command is to resume; without it, the command would begin another run.
    """
    given = not out or any(word.partition("=")[0] == "--out" for word in words)
    # The manifests of earlier versions hold the words as they were given.
    return shlex.join(["imapeval", *map(redact, (*words[1:], *(() if given else ("--out", out))))])
