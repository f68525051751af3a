"""What goes wrong with completions, each fault by its name, and how the request is changed before it is asked again.

Taken from completions of real models: small ones repeat a list without end or until the server cuts them off, copy the
question, answer in the prompt's language instead of the text's; guided decoding can loop on white space
(vllm#13260); hosted ones refuse.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast, get_args

from imapeval.errors import ExtractionError, ProviderError
from imapeval.llm.protocol import Message
from imapeval.llm.structured import templates
from imapeval.llm.structured.json_objects import strip_reasoning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.errors import SampleError
    from imapeval.llm.protocol import Request
    from imapeval.types import Lang

CompletionFault = Literal[
    "unreadable-completion",
    "truncated",
    "whitespace-loop",
    "repetition-loop",
    "only-thinking",
    "empty-object",
    "different-objects",
    "refusal",
    "garbled",
    "wrong-language",
    "not-in-text",
    "not-asked",
    "no-score",
    "off-scale",
    "different-scores",
]
"""What is wrong with a completion as a whole."""

RETRY_NOTE = "retry-note"
VERSION = 1
"""Of the note."""

MORE_TOKENS = 4
"""Times as many tokens for what was cut off without looping: 240 facts in place of 60."""

LOOP_TEMPERATURE = 0.3
"""Of the second attempt at what looped: greedy decoding would loop again."""

_WORDS: Mapping[Lang, Mapping[CompletionFault, str]] = {
    "en": {
        "unreadable-completion": "it did not have the form of the examples",
        "truncated": "it broke off before its end",
        "whitespace-loop": "it ended in white space without end",
        "repetition-loop": "it repeated itself without end",
        "only-thinking": "it was all thinking, without a result",
        "empty-object": "it was an empty object",
        "different-objects": "it gave several results that contradict each other",
        "refusal": "it refused, but nobody asks for medical advice here; only what a text says is to be written down",
        "garbled": "it held damaged words",
        "wrong-language": "it was not in the language of the text",
        "not-in-text": "what it wrote does not stand in the text",
        "not-asked": "its terms were not those asked for",
        "no-score": "it gave no score in the form that is asked for",
        "off-scale": "its score is not on the scale",
        "different-scores": "it gave several scores that differ",
    },
    "zh": {
        "unreadable-completion": "格式与示例不符",
        "truncated": "没有写完就中断了",
        "whitespace-loop": "结尾是无穷无尽的空白",
        "repetition-loop": "不停地重复同样的内容",
        "only-thinking": "只有思考，没有结果",
        "empty-object": "是空的对象",
        "different-objects": "给出了几个互相矛盾的结果",
        "refusal": "拒绝了任务，而这里不需要提供医疗建议，只需写下文字说了什么",
        "garbled": "有损坏的字词",
        "wrong-language": "没有使用原文的语言",
        "not-in-text": "写出的内容不在原文里",
        "not-asked": "term 不是所问的条目",
        "no-score": "没有按要求的格式给出分数",
        "off-scale": "分数不在评分范围内",
        "different-scores": "给出了几个不同的分数",
    },
}

_BLANK_RUN = re.compile(r"(?:\s|\\[nrt]){100}")
"""No completion that means something holds so much white space in one place, not even as escapes in a string."""

_REFUSAL = re.compile(
    r"\b(?:(?:I['’]?m|I am|we are) (?:\w+ )?(?:sorry|afraid)|my apologies|I apologi[sz]e"
    r"|I (?:can ?not|can['’]?t|could not|am unable|am not able|won['’]?t|will not|must decline)|as an AI\b)"
    r"|抱歉|对不起|很遗憾|我?(?:无法|不能|没法|不便)(?:提供|回答|协助|帮助|满足|给出|完成|处理)"
    r"|作为(?:一个|一名|一款)?(?:AI|人工智能|大?语言模型)",
    re.IGNORECASE,
)
_OPENING = 300
"""Characters within which a refusal says that it is one."""

_PERIOD = 400
"""Longest stretch whose repetition is looked for, in characters: a group of a term and a dozen values."""
_ROUNDS = 3
"""Repetitions in a row that make a loop."""
_LEAST_LOOPED = 60
"""Characters that the repetitions take at least; "ha ha ha" is none."""

_VALUE = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)(?P<key>\s*:)?|^(?:Inform|Constraint)-.+$', re.MULTILINE)
_MANY = 30
"""Values in a completion from which it counts how few of them differ."""
_DISTINCT = 1 / 3
"""Share of different ones up to which it is a loop that varies."""


def diagnose(completion: str, *, cut: bool = False) -> CompletionFault:
    """Name what is wrong with a completion that could not be read, or with one that was cut off."""
    body = strip_reasoning(completion).strip()
    if not body and completion.strip():
        return "only-thinking"
    if _BLANK_RUN.search(completion):
        return "whitespace-loop"
    if _repeats(body):
        return "repetition-loop"
    if cut:
        return "truncated"
    if re.fullmatch(r"(?:```\w*)?\s*\{\s*\}\s*(?:```)?", body):
        return "empty-object"
    if "{" not in body and _REFUSAL.search(body[:_OPENING]):
        return "refusal"
    return "unreadable-completion"


def fault_of(error: SampleError) -> CompletionFault | None:
    """Return what was wrong with the completion, or None for an error that asking again does not mend."""
    if isinstance(error, ProviderError):
        if error.kind == "truncated":
            return diagnose(error.raw or "", cut=True)
        return "refusal" if error.kind == "refusal" else None
    return cast("CompletionFault", error.kind) if error.kind in get_args(CompletionFault) else None


def refine_error(error: ExtractionError) -> ExtractionError:
    """Return the error of a completion that could not be read with a more precise name, where there is one."""
    if error.kind != "unreadable-completion" or error.raw is None:
        return error
    fault = diagnose(error.raw)
    return error if fault == error.kind else fault_error(fault, error.raw)


def fault_error(fault: CompletionFault, completion: str) -> ExtractionError:
    """Return the error of a completion with that fault; it holds the completion."""
    return ExtractionError(
        f"the model's completion cannot be used: {_WORDS['en'][fault]}. A stronger model does better.",
        kind=fault,
        raw=completion,
    )


def amend_request(request: Request, fault: CompletionFault, *, lang: Lang, note: str = RETRY_NOTE) -> Request:
    """Return the request for a second attempt: with a note at its end, so that the shared prefix stays.

    Args:
        request: The first one.
        fault: Of its completion.
        lang: Of the note.
        note: Its prompt.
    """
    said = templates.load(note, lang=lang, version=VERSION).render(fault=_WORDS[lang][fault])[-1]
    *earlier, last = request.messages
    changed = replace(request, messages=(*earlier, Message(last.role, f"{last.content}\n\n{said.content}")))
    if fault.endswith("loop"):
        return replace(changed, temperature=max(request.temperature, LOOP_TEMPERATURE))
    if fault == "truncated":
        return replace(changed, max_tokens=request.max_tokens * MORE_TOKENS)
    return changed


def _repeats(text: str) -> bool:
    """Say whether the text ends with the same stretch again and again, or says the same few things very often."""
    for period in range(1, min(_PERIOD, len(text) // _ROUNDS) + 1):
        looped = max((_ROUNDS - 1) * period, _LEAST_LOOPED)
        if len(text) >= looped + period and text[-looped:] == text[-looped - period : -period]:
            return True
    values = Counter(value.group() for value in _VALUE.finditer(text) if not value["key"])
    return values.total() >= _MANY and len(values) <= _DISTINCT * values.total()
