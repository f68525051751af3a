"""The head of a prompt file: lines between two "---", in the part of YAML that such heads are written in. Pure.

    ---
    name: empathy
    scale: 1..5
    steps:
      - Read the question.
      - Assign a score.
    criteria: |
      What is rated,
      in several lines.
    ---

What YAML has beyond that is refused, or read as the text that it is. PyYAML would refuse heads that people write, such
as a value with a colon in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_FENCE = re.compile(r"-{3,}[ \t]*")
_KEY = re.compile(r"(?P<key>[A-Za-z_]+)[ \t]*:(?:[ \t]++(?P<value>.*))?")
_BLOCK = re.compile(r"[|>][+-]?")
_ITEM = re.compile(r"\s*(?:-|\d+[.)])[ \t]+(?P<text>.*)")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_QUOTED = re.compile(r"""(?P<text>"[^"]*"|'[^']*')(?:[ \t]+#.*)?""")


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands behind a key.

    Attributes:
        line: 1-based number of its line.
        lines: What it says, line by line, without the space around it.
    """

    line: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines)

    @property
    def items(self) -> tuple[str, ...]:
        """The items of a list, one in each line that begins with "-" or a number; other lines go on with the last."""
        items: list[str] = []
        for line in self.lines:
            if found := _ITEM.fullmatch(line):
                items.append(found["text"].strip())
            elif items:
                items[-1] = f"{items[-1]} {line}"
            else:
                items.append(line)
        return tuple(items)

    @property
    def words(self) -> tuple[str, ...]:
        """The items, or what commas divide in one line."""
        items = self.items
        if len(items) == 1:
            items = tuple(items[0].removeprefix("[").removesuffix("]").split(","))
        return tuple(word for item in items if (word := _unquote(item.strip())))


def split(text: str, *, keys: Sequence[str], path: Path) -> tuple[Mapping[str, Entry], str]:
    """Return what the head of a file says, by key, and the rest of the file.

    Args:
        text: Content of the file, with line breaks of one kind.
        keys: Those there may be.
        path: The file, for error messages.

    Raises:
        InputError: The head has no end, or an invalid line; names it.
    """
    lines = text.split("\n")
    if not _FENCE.fullmatch(lines[0]):
        return {}, text
    end = next((number for number, line in enumerate(lines[1:], 1) if _FENCE.fullmatch(line)), None)
    if end is None:
        raise InputError(
            "the head that begins with '---' has no end", path=path, line=1, fix="Put a line '---' after it."
        )
    return _read(lines[:end], keys, path), "\n".join(lines[end + 1 :])


def _read(lines: Sequence[str], keys: Sequence[str], path: Path) -> dict[str, Entry]:
    found: dict[str, tuple[int, list[str]]] = {}
    current: list[str] | None = None
    in_block = False
    for number, line in enumerate(lines[1:], 2):
        stripped = line.strip()
        # Within a text of several lines "#" begins a heading, no comment.
        if not stripped or (stripped.startswith("#") and not (in_block and line[0].isspace())):
            continue
        # What is indented, or an item, belongs to the key above.
        if line[0].isspace() or _ITEM.fullmatch(line):
            if current is None:
                raise InputError(f"{stripped!r} belongs to no key", path=path, line=number, fix=_suggest_fix(keys))
            current.append(stripped)
            continue
        match = _KEY.fullmatch(line)
        if match is None or match["key"].lower() not in keys:
            problem = f"{stripped!r} is no line of front matter" if match is None else f"unknown key {match['key']!r}"
            raise InputError(problem, path=path, line=number, fix=_suggest_fix(keys))
        key = match["key"].lower()
        if key in found:
            raise InputError(f"the key {key!r} is there twice", path=path, line=number, fix="Keep one of them.")
        value = (match["value"] or "").strip()
        in_block = _BLOCK.fullmatch(value) is not None
        current = [] if not value or in_block else [_read_value(value)]
        found[key] = number, current
    for key, (number, said) in found.items():
        if not "".join(said):
            raise InputError(f"the key {key!r} has no value", path=path, line=number, fix="Fill it in or remove it.")
    return {key: Entry(number, tuple(said)) for key, (number, said) in found.items()}


def _read_value(text: str) -> str:
    """Return what a line says behind its key, without the comment at its end."""
    found = _QUOTED.fullmatch(text)
    return _unquote(_COMMENT.sub("", text) if found is None else found["text"])


def _unquote(text: str) -> str:
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text


def _suggest_fix(keys: Sequence[str]) -> str:
    return f"Keys are: {', '.join(keys)}. Write each as 'key: value', a list as lines with '- ' below its key."
