"""Prompt templates out of `prompts/`, and texts put into them so that they stay data.

A template is a Markdown file `TASK.LANG.vVERSION.md`. Each section `## system`, `## user` or `## assistant` is one
message; what stands before the first section is for people. `{{name}}` is where a text goes.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, cast, get_args

from imapeval import _resources
from imapeval.errors import ResourceError
from imapeval.llm.client import Message
from imapeval.text.language import HAN
from imapeval.types import Lang

if TYPE_CHECKING:
    from imapeval.llm.client import Role

_SECTION = re.compile(r"^## (system|user|assistant)[ \t]*$", re.MULTILINE)
_PLACE = re.compile(r"\{\{(\w+)\}\}")

_MARKER = re.compile(rf"[<＜](?=[\s\u200b-\u200f\u2060\ufeff]*[/／|｜A-Za-z{HAN}])")
"""What may begin one of our markers, a chat template's control token or a thinking block; not "<5" or "p < 0.05"."""

_INSTRUCTION = re.compile(r"\[(?=/?INST\b)", re.IGNORECASE)
"""What begins the control words of Llama's and Mistral's chat templates."""

_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True)
class Template:
    """One prompt.

    Attributes:
        name: Task, language and version, as in "answer-inform.en.v1".
        digest: SHA-256 of the file, in hexadecimal.
        messages: With places such as `{{answer}}` for the texts.
    """

    name: str
    digest: str
    messages: tuple[Message, ...]

    def render(self, **texts: str) -> tuple[Message, ...]:
        """Return the messages with each text in its place, neutralised.

        Raises:
            ResourceError: The template's places are not the given texts.
        """
        if self._places != texts.keys():
            raise ResourceError(
                f"the prompt {self.name} has places for {sorted(self._places)}, but is given {sorted(texts)}. "
                "The prompts do not fit this imapeval: reinstall it."
            )
        safe = {name: neutralise(text) for name, text in texts.items()}
        # In one pass: a text that itself holds "{{question}}" stays as it is.
        return (
            *self.messages[: self._varying],
            *(
                Message(message.role, _PLACE.sub(lambda place: safe[place[1]], message.content))
                for message in self.messages[self._varying :]
            ),
        )

    @cached_property
    def _places(self) -> frozenset[str]:
        return frozenset(place for message in self.messages for place in _PLACE.findall(message.content))

    @cached_property
    def _varying(self) -> int:
        """Number of the first message with a place: those before it are the same for every text."""
        return next(
            (n for n, message in enumerate(self.messages) if _PLACE.search(message.content)), len(self.messages)
        )


def neutralise(text: str) -> str:
    """Return the text without anything that could end its place in a prompt, character for character as long.

    The bracket of whatever looks like a marker or a chat template's control token becomes one that means nothing.
    """
    text = _MARKER.sub("‹", text)
    text = _INSTRUCTION.sub("［", text)
    return _SURROGATE.sub("\ufffd", text)


def split(text: str) -> tuple[str, tuple[Message, ...]]:
    """Return what stands before the first section, and each section as a message."""
    head, *parts = _SECTION.split(text)
    return head, tuple(
        Message(cast("Role", role), part.strip()) for role, part in zip(parts[::2], parts[1::2], strict=True)
    )


@cache
def load(task: str, *, lang: Lang, version: int) -> Template:
    """Return a shipped prompt.

    Raises:
        ResourceError: It is absent, or is no template.
    """
    name = f"{task}.{lang}.v{version}"
    path = _resources.find("prompts", f"{name}.md")
    content = path.read_bytes()
    try:
        _, messages = split(content.decode().replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        raise ResourceError(f"the prompt {path} is not UTF-8. Reinstall imapeval.") from error
    if not messages:
        raise ResourceError(f"the prompt {path} has no section such as '## user'. Reinstall imapeval.")
    return Template(name, hashlib.sha256(content).hexdigest(), messages)


def identify(task: str, version: int) -> str:
    """Return name and short hash of a task's prompts, all languages together."""
    digests = "".join(load(task, lang=lang, version=version).digest for lang in get_args(Lang))
    return f"{task}.v{version}#{hashlib.sha256(digests.encode()).hexdigest()[:8]}"
