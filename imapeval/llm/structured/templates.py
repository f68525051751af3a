"""Prompt templates from `prompts/`, rendered so that inserted texts remain data.

A template is a Markdown file `TASK.LANG.vVERSION.md`. Each section `## system`, `## user` or `## assistant` is one
message; text before the first section is a comment. `{{name}}` is a placeholder for a text.

A text between tags, as in `<answer>{{answer}}</answer>`, is sent between `<answer-7f3a9c2e>` and `</answer-7f3a9c2e>`,
and a line after the last of them says that whatever is between markers with this id is data. The id is a hash of all
texts of the request that none of them contains: no author can write it, and the same texts give the same request, as
the cache, batches and resumed runs require.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, cast

from imapeval import _resources
from imapeval.errors import ResourceError
from imapeval.llm.protocol import Message
from imapeval.text.language import FACT_LANGS, HAN
from imapeval.text.markup import fold_confusables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.llm.protocol import Role
    from imapeval.types import Lang

_SECTION = re.compile(r"^## (system|user|assistant)[ \t]*$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_TAGGED = re.compile(r"<(?P<tag>[\w-]++)>(?P<text>\s*+\{\{\w++\}\}\s*+)</(?P=tag)>")

_MARKED = re.compile(
    r"<(?P<tag>[\w-]+)-(?P<id>[0-9a-f]{8})>\n?(?P<text>.*?)\n?</(?P=tag)-(?P=id)>", re.DOTALL | re.ASCII
)

_NOTE, _NOTE_VERSION = "data-note", 1
"""Name and version of the prompt with the line after the texts."""
_ID = "id"
"""Name of the placeholder for the id."""
_DIGITS = 8
"""Length of an id, in hexadecimal digits."""
_NO_DIGITS = bytes(set(range(128)) - set(b"0123456789abcdef"))

_UNSEEN = (
    r"\s\x00-\x1f\x7f-\x9f\u00ad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u20d0-\u20ff\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
"""Blanks, controls, combining marks and characters without a shape (Unicode: Default_Ignorable_Code_Point)."""

_BRACKET = re.compile(rf"[<＜﹤](?=[{_UNSEEN}]*+(?P<next>.))")
_MARKER_BEGINS = re.compile(rf"[/|A-Za-z{HAN}]")
"""What follows the bracket of a marker, a chat template's control token or a reasoning block; not "< 0.05"."""

_CONTROL_WORD = re.compile(
    r"\[(?=/?(?i:INST)\b|/?(?:SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK)\]|[gs]MASK\])"
    r"|\](?=~!?b[\[\]])|\[(?=e~\[)"
)
"""Start of a control word of the chat templates of Llama 2, Mistral, GLM or MiniMax."""

_SIMILAR = {"[": "［", "]": "］"}

_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True)
class PromptTemplate:
    """A prompt with placeholders.

    Attributes:
        name: Task, language and version, as in "answer-inform.en.v1".
        messages: The messages, with placeholders such as `{{answer}}` for texts and `{{id}}` for the id in markers.
    """

    name: str
    messages: tuple[Message, ...]

    def render(self, **texts: str) -> tuple[Message, ...]:
        """Return the messages with the texts inserted and neutralised.

        Raises:
            ResourceError: The placeholders do not match the given texts.
        """
        expected = self._placeholders - {_ID}
        if expected != texts.keys():
            raise ResourceError(
                f"the prompt {self.name} has placeholders for {sorted(expected)}, but is given {sorted(texts)}. "
                "The prompts do not match this version of imapeval: reinstall it."
            )
        safe = {name: neutralise(text) for name, text in texts.items()}
        safe[_ID] = _make_id(safe)
        # In one pass, so that "{{question}}" within a text is not replaced.
        return tuple(
            Message(message.role, _PLACEHOLDER.sub(lambda found: safe[found[1]], message.content))
            for message in self.messages
        )

    @cached_property
    def _placeholders(self) -> frozenset[str]:
        return frozenset(found for message in self.messages for found in _PLACEHOLDER.findall(message.content))


def neutralise(text: str) -> str:
    """Return the text, at the same length, without anything that could end its section of a prompt.

    The bracket of anything that looks like a marker or a chat template's control token is replaced by a similar one.
    """
    text = _BRACKET.sub(lambda found: "‹" if _begins_marker(found["next"]) else found[0], text)
    text = _CONTROL_WORD.sub(lambda found: _SIMILAR[found[0]], text)
    return _SURROGATE.sub("\ufffd", text)


def _begins_marker(char: str) -> bool:
    """Return whether a character after a bracket, or one that it resembles, begins a marker."""
    if char.isalpha() or char in "／｜":  # not Ⅲ, which is compatible with III
        char = fold_confusables(unicodedata.normalize("NFKC", char))
    return _MARKER_BEGINS.match(char) is not None


def _make_id(texts: Mapping[str, str]) -> str:
    """Return an id that does not occur in the texts, in any spelling, and is the same for the same texts."""
    digest = hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()
    written = [_keep_digits(text) for text in texts.values()]
    # Authors of a text who know the others can compute the id, but a text that contains its own id gets another.
    while any(digest[:_DIGITS] in digits for digits in written):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return digest[:_DIGITS]


def _keep_digits(text: str) -> str:
    """Return the hexadecimal digits of a text in any form and case, joined."""
    # One by one, so that no accent hides a letter; sorting the accents of one letter takes quadratic time.
    plain = text if text.isascii() else text.translate({ord(c): unicodedata.normalize("NFKD", c) for c in set(text)})
    return fold_confusables(plain).casefold().encode("ascii", "ignore").translate(None, _NO_DIGITS).decode()


def delimit_texts(messages: Sequence[Message], *, lang: Lang) -> tuple[Message, ...]:
    """Return the messages with the id in the tags around each text, followed by a line on what is data.

    The line follows the paragraph of the last text, so that the end of a form remains its end. Messages without texts
    between tags are not changed.
    """
    tagged = [number for number, message in enumerate(messages) if _TAGGED.search(message.content)]
    if not tagged:
        return tuple(messages)
    fenced = list(messages)
    for number in tagged:
        role, content = messages[number].role, messages[number].content
        *_, last = _TAGGED.finditer(content)
        if number == tagged[-1]:
            paragraph, blank, remainder = content[last.end() :].partition("\n\n")
            (note,) = load(_NOTE, lang=lang, version=_NOTE_VERSION).messages
            content = f"{content[: last.end()]}{paragraph}\n\n{note.content}{blank}{remainder}"
        marked = _TAGGED.sub(rf"<\g<tag>-{{{{{_ID}}}}}>\g<text></\g<tag>-{{{{{_ID}}}}}>", content)
        fenced[number] = Message(role, marked)
    return tuple(fenced)


def find_texts(content: str) -> dict[str, str]:
    """Return the texts between markers in a rendered message, by tag."""
    return {found["tag"]: found["text"] for found in _MARKED.finditer(content)}


def _delimit_examples(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages with ids in the tags of worked examples, so that these look like real requests."""
    tags = {found["tag"] for message in messages for found in _TAGGED.finditer(message.content)}
    if not tags:
        return tuple(messages)
    tag = re.compile(rf"<(/?(?:{'|'.join(map(re.escape, sorted(tags)))}))>")

    def mark(message: Message) -> Message:
        if message.role != "user" or _PLACEHOLDER.search(message.content):
            return message
        return Message("user", tag.sub(rf"<\1-{_make_id({'': message.content})}>", message.content))

    return tuple(map(mark, messages))


def split_sections(text: str) -> tuple[str, tuple[Message, ...]]:
    """Return the text before the first section, and the sections as messages."""
    head, *parts = _SECTION.split(text)
    return head, tuple(
        Message(cast("Role", role), part.strip()) for role, part in zip(parts[::2], parts[1::2], strict=True)
    )


@cache
def load(task: str, *, lang: Lang, version: int) -> PromptTemplate:
    """Return a shipped prompt.

    Raises:
        ResourceError: It is missing or malformed.
    """
    name = f"{task}.{lang}.v{version}"
    path = _resources.find("prompts", f"{name}.md")
    content = path.read_bytes()
    try:
        _, messages = split_sections(content.decode().replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        raise ResourceError(f"the prompt {path} is not UTF-8. Reinstall imapeval.") from error
    if not messages:
        raise ResourceError(f"the prompt {path} has no section such as '## user'. Reinstall imapeval.")
    return PromptTemplate(name, delimit_texts(_delimit_examples(messages), lang=lang))


@cache
def prompt_identity(task: str, version: int) -> str:
    """Return a task's name, version and a short hash of its prompts in all languages, as they are sent."""
    sent = [[lang, *map(asdict, load(task, lang=lang, version=version).messages)] for lang in FACT_LANGS]
    return f"{task}.v{version}#{hashlib.sha256(json.dumps(sent).encode()).hexdigest()[:8]}"
