"""Reads a judge's prompt from a user's file: criteria, steps and form, like those of G-Eval.

The file contains the prompt as it is sent, with a placeholder such as `{{response}}` for each text. Its front matter
(`front_matter`) may have `name` (default: that of the file), `scale` (default: the one that the text states as "(1-5)")
and `languages` (default: all). Sections `## system`, `## user` and `## assistant` are separate messages; without them,
the whole text is one message. For a file with `criteria` and `steps` in its front matter and no text, the built-in form
is used, and `given` lists the variables that it shows.

Every text is placed between markers that it cannot forge; a note says that it is data, and a line after the paragraph
of the last text repeats this.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.errors import InputError
from imapeval.llm.protocol import Message
from imapeval.llm.structured import templates
from imapeval.llm.structured.templates import PromptTemplate
from imapeval.metrics.judges.client import PROMPT_VERSION
from imapeval.metrics.judges.parsing.scale import ONE_TO_FIVE, Scale
from imapeval.metrics.judges.parsing.scores import LABELS, compile_key
from imapeval.metrics.judges.prompts import front_matter
from imapeval.text.language import FACT_LANGS, detect_lang

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from imapeval.metrics.judges.prompts.front_matter import Entry
    from imapeval.types import Lang

TEXTS = ("question", "reference", "response")
FACTS = ("query", "constraint", "reference_imap", "response_imap", "matches", "imapscore")
VARIABLES = (*TEXTS, *FACTS)
"""The variables of a prompt: the texts, and the facts that were read from them."""

ALIASES: Mapping[str, str] = {
    "document": "question",
    "input": "question",
    "fact": "reference",
    "expected_output": "reference",
    "summary": "response",
    "answer": "response",
    "actual_output": "response",
}
"""Names of these variables in G-Eval's prompts ("Document", "Fact", "Summary") and in DeepEval ("input",
"expected_output", "actual_output"), in lower case."""

NOTE, FORM = "geval-own-note", "geval-own-form"
"""Names of the built-in note that is added to a custom prompt, and of the built-in form."""

MAX_SCALE_SIZE = 101
"""Maximum number of scores of a scale, as in 0..100."""

_KEYS = ("name", "scale", "languages", "criteria", "steps", "given")
_RESPONSE_VARIABLES = frozenset({"response", "response_imap", "matches"})
"""A prompt needs at least one of them to show the response."""
_UNFENCED_VARIABLES = frozenset({"imapscore"})
"""Variables whose text is not from the data, so that it needs no markers."""

_PLACEHOLDER = re.compile(r"\{\{(?P<name>[^{}\n]*+)\}\}")
_NAME = re.compile(r"[\w-]{1,40}")
_SCALE = re.compile(r"(?P<low>-?\d{1,9})\s*(?:\.\.|-|–|—|to)\s*(?P<high>-?\d{1,9})")
_STATED = re.compile(
    r"[(（\[]\s*(?P<low>\d{1,9})\s*(?:[-–—~～至到]|to|\.\.)\s*(?P<high>\d{1,9})\s*[)）\]]", re.IGNORECASE
)
"""A scale as stated in forms: "Coherence (1-5)"."""
_LABEL = re.compile(r"[\s\-*•]*(?P<label>[^\W\d][^:：()（）\n]{0,39}?)\s*+(?:[(（][^()（）]*+[)）]\s*+)?[:：]")
"""The last line of a form to be completed with the score: "- Coherence:"."""
_BLANK = (
    r"[\"'(（\[]*(?:[NX](?!\w)|[#?_…]|\.\.\.|-?\d|<[^<>\n]{1,40}>|(?:score|rating|integer|number)\b|分数|评分|整数)"
)
_FIELD = re.compile(
    rf"[\"'](?P<key>[^\W\d][^\"'\n]{{0,39}})[\"']\s*:\s*{_BLANK}"
    rf"|<(?P<tag>[^\W\d]\w{{0,39}})>\s*{_BLANK}[^<>\n]{{0,40}}</(?P=tag)>",
    re.IGNORECASE,
)
"""A field or tag for the score, as shown in prompts: `{"grade": N}`, `<grade>1-5</grade>`."""
_KEY = re.compile(r"[\"'](?P<key>[^\W\d][^\"'\n]{0,39})[\"']\s*+:")
"""A field in JSON."""
_OBJECT = re.compile(r"\{[^{}]*+\}")
_NUMBER_FIELD = re.compile(
    rf"{_KEY.pattern}\s*+(?:-?\d{{1,9}} ?(?:-|–|to) ?\d{{1,9}}|[NX#](?!\w)|(?:score|rating|integer|number)\b"
    r"|<(?:-?\d{1,9} ?(?:-|–|to) ?\d{1,9}|int|integer|number|score|rating)>)",
    re.IGNORECASE,
)
"""A field in JSON with a place for a number: not "...", which may also be for a text, and not an example's number."""


@dataclass(frozen=True, slots=True)
class CustomPrompt:
    """A prompt read from a file.

    Attributes:
        name: The part of the metric's name after "geval:".
        digest: SHA-256 of the file, in hexadecimal.
        lang: Language of the prompt.
        languages: Languages of the texts that it rates.
        scale: Scale of its scores.
        template: The prompt as it is sent.
        variables: The variables that it uses.
        labels: Labels of the score in replies.
        fields: Fields of the objects that it shows, such as one for reasons, in lower case.
        is_form: Whether it is the built-in form, to which the reply is a JSON object.
    """

    name: str
    digest: str
    lang: Lang
    languages: frozenset[Lang]
    scale: Scale
    template: PromptTemplate
    variables: frozenset[str]
    labels: tuple[str, ...]
    fields: frozenset[str]
    is_form: bool


def read_prompt(path: Path) -> CustomPrompt:
    """Read a prompt.

    Raises:
        InputError: The file cannot be read or is invalid; names the line and the fix.
    """
    content, text = _read_text(path)
    text = _resolve_placeholders(text, path)
    head, body = front_matter.split(text, keys=_KEYS, path=path)
    name = _read_name(head, path)
    if "criteria" in head or "steps" in head:
        if body.strip():
            raise InputError(
                "has criteria or steps in its head and a text below it",
                path=path,
                fix="Put all into the text; or leave it empty, to have our form around criteria and steps.",
            )
        lang = detect_lang(f"{_require_key(head, 'criteria', path).text}{_require_key(head, 'steps', path).text}")
        scale = _read_scale(head, path) or ONE_TO_FIVE
        messages, labels, is_form = _fill_form(head, name, scale, lang, path), (), True
    else:
        if "given" in head:
            raise InputError(
                "'given' is for a file with criteria and steps alone",
                path=path,
                line=head["given"].line,
                fix="Remove it: the text says by {{response}} and the like where each stands.",
            )
        lang = detect_lang(_PLACEHOLDER.sub("", body))
        scale = _read_scale(head, path) or _find_scale(body, path)
        messages, labels, is_form = _split_messages(body, path), _find_labels(body, name, text, path), False
    variables = frozenset(found["name"] for message in messages for found in _PLACEHOLDER.finditer(message.content))
    if not variables & _RESPONSE_VARIABLES:
        single = ", with two braces on each side" if re.search(r"(?<!\{)\{\w+\}(?!\})", text) else ""
        fix = f"Write {{{{response}}}} where the answer goes{single}."
        raise InputError("has no place for the response", path=path, fix=fix)
    digest = hashlib.sha256(content).hexdigest()
    template = PromptTemplate(
        path.name, templates.delimit_texts(_add_note(_tag_placeholders(messages), lang), lang=lang)
    )
    return CustomPrompt(
        name,
        digest,
        lang,
        _read_languages(head, path),
        scale,
        template,
        variables,
        labels=tuple(dict.fromkeys((*labels, name))),
        fields=frozenset(found["key"].casefold() for found in _KEY.finditer(body)),
        is_form=is_form,
    )


def resolve_variable(name: str) -> str | None:
    """Return the variable with a name or alias; None if there is none."""
    folded = name.lower()
    return folded if folded in VARIABLES else ALIASES.get(folded)


def _read_text(path: Path) -> tuple[bytes, str]:
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise InputError(
            f"cannot be read ({reason})",
            path=path,
            fix="Name the file of a prompt; on a command line its path may hold no comma.",
        ) from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8", path=path, line=line, fix="Save the prompt as UTF-8.") from error
    if not text.strip():
        raise InputError("is empty", path=path, fix="Write the prompt into it; docs/geval.md has examples.")
    return content, text.replace("\r\n", "\n").replace("\r", "\n")


def _resolve_placeholders(text: str, path: Path) -> str:
    """Return the text with the names of variables in place of aliases."""

    def rename(found: re.Match[str]) -> str:
        alias = found["name"].strip(" \t")
        name = resolve_variable(alias)
        if name is None:
            raise _make_error(text, found.start(), f"{found[0]} is not a variable", _list_variables(alias), path)
        return f"{{{{{name}}}}}"

    named = _PLACEHOLDER.sub(rename, text)
    if (at := _PLACEHOLDER.sub(lambda found: " " * len(found[0]), text).find("{{")) >= 0:
        shown = text[at : at + 20].partition("\n")[0]
        fix = "Write {{response}} for a place, and single braces for braces."
        raise _make_error(text, at, f"{shown!r} begins a place and does not end it", fix, path)
    return named


def _list_variables(name: str) -> str:
    near = difflib.get_close_matches(name.lower(), (*VARIABLES, *ALIASES), n=1)
    hint = f"Did you mean {{{{{near[0]}}}}}? " if near else ""
    return f"{hint}Variables are: {', '.join(VARIABLES)}. Write single braces for braces."


def _make_error(text: str, at: int, problem: str, fix: str, path: Path) -> InputError:
    return InputError(problem, path=path, line=text.count("\n", 0, at) + 1, fix=fix)


def _read_name(head: Mapping[str, Entry], path: Path) -> str:
    entry = head.get("name")
    # The names of metrics appear on command lines and in names of columns.
    name = "_".join((path.stem if entry is None else entry.text).split())
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is not a valid metric name",
            path=path,
            line=None if entry is None else entry.line,
            fix="Write a name of at most 40 letters, digits, '-' and '_' into its head: name: empathy",
        )
    return name


def _read_scale(head: Mapping[str, Entry], path: Path) -> Scale | None:
    entry = head.get("scale")
    if entry is None:
        return None
    found = _SCALE.fullmatch(entry.text.strip())
    if found is None:
        raise InputError(
            f"the scale {entry.text!r} is not LOW..HIGH",
            path=path,
            line=entry.line,
            fix="Write two whole numbers, such as 1..5.",
        )
    return _check_scale(Scale(int(found["low"]), int(found["high"])), entry.line, path)


def _find_scale(body: str, path: Path) -> Scale:
    """Return the scale that the text of a prompt states."""
    stated = {Scale(int(found["low"]), int(found["high"])) for found in _STATED.finditer(body)}
    if len(stated) != 1:
        problem = "names no scale" if not stated else f"names several scales: {', '.join(sorted(map(str, stated)))}"
        raise InputError(
            problem, path=path, fix="State it in a head: the lines '---', 'scale: 1..5' and '---' at the top."
        )
    return _check_scale(stated.pop(), None, path)


def _check_scale(scale: Scale, line: int | None, path: Path) -> Scale:
    if 1 < scale.high - scale.low + 1 <= MAX_SCALE_SIZE:
        return scale
    problem, fix = f"has to have 2 to {MAX_SCALE_SIZE} scores", "Write another, such as 1..5 or 0..100."
    if scale.low > scale.high:
        problem, fix = "is reversed", "Write the lowest score first, such as 1..5; the highest has to be the best."
    raise InputError(f"the scale {scale} {problem}", path=path, line=line, fix=fix)


def _read_languages(head: Mapping[str, Entry], path: Path) -> frozenset[Lang]:
    if "languages" not in head:
        return frozenset(FACT_LANGS)
    entry = head["languages"]
    unknown = [word for word in entry.words if word not in FACT_LANGS]
    if unknown or not entry.words:
        raise InputError(
            f"unknown language {unknown[0]!r}" if unknown else "the key 'languages' has no value",
            path=path,
            line=entry.line,
            fix=f"Write one or more of: {', '.join(FACT_LANGS)}.",
        )
    return frozenset(lang for lang in FACT_LANGS if lang in entry.words)


def _require_key(head: Mapping[str, Entry], key: str, path: Path) -> Entry:
    if key not in head:
        raise InputError(
            f"has no {key!r}, which our form needs",
            path=path,
            fix="Write both criteria and steps into the head; steps are lines with '- ', one for each.",
        )
    return head[key]


def _fill_form(head: Mapping[str, Entry], name: str, scale: Scale, lang: Lang, path: Path) -> tuple[Message, ...]:
    """Return the built-in form with criteria and steps."""
    steps = head["steps"]
    if steps.text.startswith("["):
        fix = "Write each step as a line below its key: - Read the question."
        raise InputError("the steps are in brackets", path=path, line=steps.line, fix=fix)
    given = list(TEXTS)
    if "given" in head:
        entry = head["given"]
        given = list(dict.fromkeys(resolve_variable(word) or word for word in entry.words))
        if unknown := [word for word in given if word not in VARIABLES]:
            fix = _list_variables(unknown[0])
            raise InputError(f"{unknown[0]!r} is not a variable", path=path, line=entry.line, fix=fix)
    texts = {
        "name": name,
        "low": str(scale.low),
        "high": str(scale.high),
        "criteria": head["criteria"].text,
        "steps": "\n".join(f"{number}. {step}" for number, step in enumerate(steps.items, 1)),
        "given": "\n".join(f"{{{{{variable}}}}}" for variable in given),
    }
    form = templates.load(FORM, lang=lang, version=PROMPT_VERSION).messages
    # Not neutralised like the texts: the author of a prompt is trusted.
    return tuple(
        Message(message.role, _PLACEHOLDER.sub(lambda found: texts[found["name"]], message.content)) for message in form
    )


def _split_messages(body: str, path: Path) -> tuple[Message, ...]:
    before, messages = templates.split_sections(body)
    if not messages:
        return (Message("user", body.strip()),)
    if before.strip():
        raise InputError(
            "has a text before its first section, where nothing is sent",
            path=path,
            fix="Move it below '## system' or '## user'; or write no sections, and all of it is one message.",
        )
    if messages[-1].role == "system":
        raise InputError(
            "ends with the section '## system'", path=path, fix="Put what is asked into a section '## user' after it."
        )
    return messages


def _find_labels(body: str, name: str, text: str, path: Path) -> tuple[str, ...]:
    """Return the labels of the score in the prompt: at the end of the text, in JSON or as a tag.

    Raises:
        InputError: The form of the reply is an object, and every one that is shown has several places for the score.
    """
    found = _LABEL.fullmatch(body.rstrip().rpartition("\n")[2])
    ends = () if found is None else (found["label"].strip(),)
    fields = list(_FIELD.finditer(body))
    shown = [field["key"] or field["tag"] for field in fields]
    # Beside a field named "score" or like the metric, other numbers ("errors") are not the score.
    is_named = compile_key((*LABELS, name)).fullmatch
    labels = (*ends, *(list(filter(is_named, shown)) or shown))
    numbers = [at for object_ in _OBJECT.finditer(body) if (at := _find_numbers(body, object_, labels))]
    is_object = not ends and not any(field["tag"] for field in fields)
    if is_object and numbers and all(len(at) > 1 for at in numbers):
        (first, _), (second, at) = list(numbers[0].items())[:2]
        problem = f"each of the fields {first!r} and {second!r} could be the score"
        fix = "Name the one that is the score 'score', and no other number like a score or the prompt."
        raise _make_error(text, len(text) - len(body) + at, problem, fix, path)
    return labels


def _find_numbers(body: str, object_: re.Match[str], labels: Sequence[str]) -> dict[str, int]:
    """Return where the fields of an object begin that have one of these labels and a place for a number."""
    return {
        field["key"].casefold(): field.start()
        for field in _NUMBER_FIELD.finditer(body, *object_.span())
        if field["key"] in labels
    }


def _tag_placeholders(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Put markers around every placeholder of a text."""

    def mark(found: re.Match[str]) -> str:
        name = found["name"]
        return found[0] if name in _UNFENCED_VARIABLES else f"<{name}>\n{found[0]}\n</{name}>"

    return tuple(Message(message.role, _PLACEHOLDER.sub(mark, message.content)) for message in messages)


def _add_note(messages: tuple[Message, ...], lang: Lang) -> tuple[Message, ...]:
    (note,) = templates.load(NOTE, lang=lang, version=PROMPT_VERSION).messages
    if messages[0].role != "system":
        return (note, *messages)
    first, *others = messages
    return (Message("system", f"{first.content}\n\n{note.content}"), *others)
