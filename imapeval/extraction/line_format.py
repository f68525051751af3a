"""Parse the line format of Wang et al. 2024, for servers that cannot guarantee JSON. Pure.

Its lines are `Query-treatment-?`, `Constraint-age-34 years`, `Inform-treatment-rest`. Unlike JSON, a list of lines has
no visible end, so ours ends with the line `End`: a completion without it was truncated.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from imapeval.llm.protocol import Message
from imapeval.llm.structured import templates
from imapeval.llm.structured.client import OutputFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.llm.structured.templates import PromptTemplate
    from imapeval.types import Lang

LINE_FORMAT = "line-format"
"""Name of the prompt with the instruction to write lines."""
VERSION = 1
"""Version of that prompt."""

END = "End"
"""The last line."""

_LINE = re.compile(
    r"[ \t>*•#\-\d.)]*(?P<kind>query|constraint|inform)[ \t]*(?P<sign>[-–—－:：])[ \t]*(?P<rest>\S.*)", re.IGNORECASE
)
_END = re.compile(r"[ \t*]*end[ \t*.。]*", re.IGNORECASE)
# The lookbehind keeps matching linear on a run of spaces.
_DIVIDER = re.compile(r"(?<![ \t])[ \t]*+[-–—－][ \t]*")
_DIVIDER_OR_COLON = re.compile(r"(?<![ \t])[ \t]*+[-–—－:：][ \t]*")
_ASKED = re.compile(r"(?<![ \t])[ \t]*+(?:[-–—－:：][ \t]*+)?[?？]$")
_JOINED_LINE = re.compile(r"(?:query|constraint|inform)[-–—－]", re.IGNORECASE)
"""The start of a line within another line: the line break was lost."""


@dataclass(frozen=True, slots=True)
class LineEntries:
    """Terms and values by kind, not yet cleaned; the value is None if the line has none.

    Attributes:
        query, constraint, inform: In order of appearance.
        complete: Whether it has the end, and only lines before it.
    """

    query: tuple[tuple[str, str | None], ...]
    constraint: tuple[tuple[str, str | None], ...]
    inform: tuple[tuple[str, str | None], ...]
    complete: bool


def parse_lines(completion: str, *, terms: Sequence[str] = ()) -> LineEntries | None:
    """Parse a completion in the line format; None if it is not in this format.

    Args:
        completion: The completion, without reasoning blocks.
        terms: Known terms, so that a hyphen in one of them is not taken for the separator from its value.
    """
    found: dict[str, list[tuple[str, str | None]]] = {"query": [], "constraint": [], "inform": []}
    begun = ended = False
    damaged = False
    texts = [text for line in completion.replace("```", "\n").splitlines() if (text := line.strip())]
    for text in texts:
        if line := _LINE.fullmatch(text):
            kind, rest = line["kind"].lower(), line["rest"]
            term = _ASKED.sub("", rest)
            divider = _DIVIDER_OR_COLON if line["sign"] in ":：" else _DIVIDER
            found[kind].append((term, None) if kind == "query" else _split_term_and_value(rest, terms, divider))
            damaged = damaged or ended or _JOINED_LINE.search(rest) is not None or (kind == "query" and term == rest)
            begun = True
        elif _END.fullmatch(text):
            ended = True
        elif not ended:
            # Prose before the lines is harmless; prose between them is a damaged line.
            damaged = damaged or begun or _DIVIDER.search(text) is not None
    # "End" alone means no facts; after prose it may be the end of a refusal.
    if not begun and (not ended or len(texts) > 1):
        return None
    query, constraint, inform = map(tuple, found.values())
    return LineEntries(query, constraint, inform, complete=ended and not damaged)


def has_only_lines(text: str) -> bool:
    """Return whether a text is in the line format from its first line to its end, with nothing beside it."""
    *lines, last = [line for line in text.splitlines() if line.strip()] or [""]
    return all(map(_LINE.fullmatch, lines)) and _END.fullmatch(last) is not None


def format_lines(record: str) -> str:
    """Convert the JSON of a prompt's example to the line format.

    Raises:
        ValueError: It is not valid JSON.
    """
    fields: dict[str, Any] = json.loads(record)
    written = [f"Query-{term}-?" for term in fields.get("query", [])]
    for kind in ("constraint", "inform"):
        written += [
            f"{kind.capitalize()}-{group['term']}-{value}"
            for group in fields.get(kind, [])
            for value in group["values"]
        ]
    return "\n".join([*written, END])


@cache
def load_template(task: str, *, lang: Lang, version: int, output_format: OutputFormat) -> PromptTemplate:
    """Return the prompt of a task for an output format.

    The prompts show JSON. For plain text their examples are rewritten as lines and an instruction is added to the
    system message, so that there is one prompt per task.

    Raises:
        ResourceError: A prompt is missing or malformed.
    """
    template = templates.load(task, lang=lang, version=version)
    if output_format is not OutputFormat.TEXT:
        return template
    (instruction,) = templates.load(LINE_FORMAT, lang=lang, version=VERSION).messages
    messages: list[Message] = []
    for message in template.messages:
        content = message.content
        if message.role == "system":
            content = f"{content}\n\n{instruction.content}"
        elif message.role == "assistant":
            content = format_lines(content)
        messages.append(Message(message.role, content))
    return replace(template, messages=tuple(messages))


def _split_term_and_value(rest: str, terms: Sequence[str], divider: re.Pattern[str]) -> tuple[str, str | None]:
    """Split the rest of a line, after its kind, into term and value."""
    for term in sorted(terms, key=len, reverse=True):
        if rest[: len(term)].casefold() == term.casefold() and (sign := divider.match(rest, len(term))):
            return term, rest[sign.end() :]
    if sign := divider.search(rest):
        return rest[: sign.start()], rest[sign.end() :]
    return rest, None
