"""The forms in which a completion can be asked for, best first, and a task's prompt in each of them."""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING

from imapeval.extraction import line_format
from imapeval.llm.protocol import Message
from imapeval.llm.structured import templates

if TYPE_CHECKING:
    from imapeval.llm.structured.templates import PromptTemplate
    from imapeval.types import Lang

LINE_FORMAT = "line-format"
VERSION = 1
"""Of its prompt."""


class OutputFormat(IntEnum):
    """What a server can be asked to hold to, best first."""

    SCHEMA = 0
    """A JSON schema."""
    JSON = 1
    """Some JSON object."""
    LINES = 2
    """Nothing: free text, in the line format."""


@cache
def load(task: str, *, lang: Lang, version: int, form: OutputFormat) -> PromptTemplate:
    """Return the prompt of a task in a form.

    The prompts show JSON. For lines their examples are rewritten and an instruction is added to the system message, so
    that there is one prompt for a task.

    Raises:
        ResourceError: A prompt is absent, or is no template.
    """
    template = templates.load(task, lang=lang, version=version)
    if form is not OutputFormat.LINES:
        return template
    (instruction,) = templates.load(LINE_FORMAT, lang=lang, version=VERSION).messages
    messages: list[Message] = []
    for message in template.messages:
        content = message.content
        if message.role == "system":
            content = f"{content}\n\n{instruction.content}"
        elif message.role == "assistant":
            content = line_format.format_lines(content)
        messages.append(Message(message.role, content))
    return replace(template, messages=tuple(messages))
