"""Reads the front matter of a prompt file: its first lines, between two "---", in a subset of YAML. Pure.

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

Other YAML is refused or read as plain text. PyYAML would refuse front matter that people write, such as a value with a
colon in it.
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
    """The value of a key.

    Attributes:
        line: 1-based number of the key's line.
        lines: The lines of the value, without surrounding white space.
    """

    line: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The lines joined by line breaks."""
        return "\n".join(self.lines)

    @property
    def items(self) -> tuple[str, ...]:
        """The items of a list, each begun by a line with "-" or a number and continued by lines without."""
        items: list[str] = []
        for line in self.lines:
            if found := _ITEM.fullmatch(line):
                items.append(_unquote(found["text"].strip()))
            elif items:
                items[-1] = f"{items[-1]} {line}"
            else:
                items.append(line)
        return tuple(items)

    @property
    def words(self) -> tuple[str, ...]:
        """The items, or the comma-separated parts of a single line."""
        items = self.items
        if len(items) == 1:
            items = tuple(items[0].removeprefix("[").removesuffix("]").split(","))
        return tuple(word for item in items if (word := _unquote(item.strip())))


def split(text: str, *, keys: Sequence[str], path: Path) -> tuple[Mapping[str, Entry], str]:
    """Return the entries of the front matter by key, and the rest of the file.

    Args:
        text: Content of the file, with line feeds as line breaks; it may begin with empty lines.
        keys: The allowed keys.
        path: The file, for error messages.

    Raises:
        InputError: The head has no end, or an invalid line; names it.
    """
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines, 1) if line.strip()), 1)
    if not _FENCE.fullmatch(lines[start - 1]):
        return {}, text
    end = next((number for number, line in enumerate(lines[start:], start) if _FENCE.fullmatch(line)), None)
    if end is None:
        raise InputError(
            "the head that begins with '---' has no end", path=path, line=start, fix="Put a line '---' after it."
        )
    return _read(lines[start:end], start + 1, keys, path), "\n".join(lines[end + 1 :])


def _read(lines: Sequence[str], first: int, keys: Sequence[str], path: Path) -> dict[str, Entry]:
    """Return the entries of the lines, of which the first has the number `first` in the file."""
    found: dict[str, tuple[int, list[str]]] = {}
    current: list[str] | None = None
    in_block = False
    for number, line in enumerate(lines, first):
        stripped = line.strip()
        # Within a block of text, "#" begins a heading, not a comment.
        if not stripped or (stripped.startswith("#") and not (in_block and line[0].isspace())):
            continue
        # Indented lines and items belong to the key above.
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
        written = (match["value"] or "").strip()
        bare, unquoted = _COMMENT.sub("", written).strip(), _unquote(written)
        value = bare if unquoted == written else unquoted.strip()
        # A "|" in quotation marks is a value.
        in_block = _BLOCK.fullmatch(bare) is not None
        current = [] if not value or in_block else [value]
        found[key] = number, current
    for key, (number, values) in found.items():
        if not "".join(values):
            raise InputError(f"the key {key!r} has no value", path=path, line=number, fix="Fill it in or remove it.")
    return {key: Entry(number, tuple(values)) for key, (number, values) in found.items()}


def _unquote(text: str) -> str:
    """Return what is in quotation marks, without a comment behind them; '"Good" or "bad"' stays as it is."""
    found = _QUOTED.fullmatch(text)
    return found["text"][1:-1] if found else text


def _suggest_fix(keys: Sequence[str]) -> str:
    return f"Keys are: {', '.join(keys)}. Write each as 'key: value', a list as lines with '- ' below its key."
