"""Faults of completions: detect and name them, and amend the request for a second attempt.

Based on completions of real models: small ones repeat a list until the server cuts them off, copy the question, or
answer in the prompt's language instead of the text's; guided decoding can loop on white space (vllm#13260); hosted ones
refuse.
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
    from collections.abc import Iterable, Mapping

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
"""Faults of a completion as a whole."""

FAULTS = frozenset(get_args(CompletionFault))

RETRY_NOTE = "retry-note"
VERSION = 1
"""Name and version of the prompt with the note on what was wrong."""

MORE_TOKENS = 4
"""Factor on `max_tokens` for the second attempt at a truncated completion: room for 240 facts instead of 60."""

LOOP_TEMPERATURE = 0.3
"""Temperature of the second attempt after a loop; greedy decoding would loop again."""

# These texts are part of the prompt of a second request: like those in prompts/, they never change.
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
"""No meaningful completion has this much consecutive white space, not even as escapes in a string."""

_REFUSAL = re.compile(
    r"\b(?:(?:I['’]?m|I am|we are) (?:\w+ )?(?:sorry|afraid|unable|not able)|my apologies|I apologi[sz]e"
    r"|I (?:can ?not|can['’]?t|could not|won['’]?t|will not|must decline)|as an AI\b)"
    r"|抱歉|对不起|很遗憾|我?(?:无法|不能|没法|不便)(?:[为给向][您你]们?)?(?:提供|回答|解答|协助|帮助|满足|给出|完成|处理)"
    r"|作为(?:一个|一名|一款)?(?:AI|人工智能|大?语言模型)"
    r"|\bje (?:suis d[ée]sol[ée]e?|ne peux pas|ne suis pas en mesure)\b",
    re.IGNORECASE,
)
_OPENING = 300
"""Characters at the beginning in which to look for a refusal."""

_SHOWN = 60
"""Characters at the beginning that an error shows."""

_PERIOD = 400
"""Longest period of a repetition in characters: a group of a term and a dozen values."""
_ROUNDS = 3
"""Consecutive repetitions that make a loop."""
_LEAST_LOOPED = 60
"""Minimum total length of the repetitions in characters; "ha ha ha" is not a loop."""

_VALUE = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)(?P<key>\s*:)?|^(?:Inform|Constraint)-.+$', re.MULTILINE)
_MANY = 30
"""Minimum number of values in a completion for which the share of distinct ones is checked."""
_DISTINCT = 1 / 3
"""Largest share of distinct values that counts as a loop with variations."""


def diagnose(completion: str, *, cut: bool = False) -> CompletionFault:
    """Return the fault of a completion that could not be read, or (`cut`) that was truncated."""
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
    if "{" not in body and looks_like_refusal(body):
        return "refusal"
    return "unreadable-completion"


def looks_like_refusal(text: str) -> bool:
    """Return whether a text begins by declining the task, in English, Chinese or French."""
    return _REFUSAL.search(text[:_OPENING]) is not None


def are_refusals(texts: Iterable[str], *, source: str) -> bool:
    """Return whether all texts (at least one) begin by declining, and the source that they were read from does not.

    Models asked for JSON put their refusal into it.
    """
    declining = [_REFUSAL.match(text) is not None for text in texts]
    return bool(declining) and all(declining) and _REFUSAL.search(source) is None


def fault_of(error: SampleError) -> CompletionFault | None:
    """Return the fault of the completion, or None for an error that a second request cannot avoid."""
    if isinstance(error, ProviderError):
        if error.kind == "truncated":
            return diagnose(error.raw or "", cut=True)
        return "refusal" if error.kind == "refusal" else None
    return cast("CompletionFault", error.kind) if error.kind in FAULTS else None


def refine_error(error: ExtractionError) -> ExtractionError:
    """Return the error of an unreadable completion with a more precise kind, if there is one."""
    if error.kind != "unreadable-completion" or error.raw is None:
        return error
    fault = diagnose(error.raw)
    return error if fault == error.kind else fault_error(fault, error.raw)


def fault_error(fault: CompletionFault, completion: str) -> ExtractionError:
    """Return the error for a completion with that fault; it holds the completion."""
    what = _WORDS["en"][fault].partition(", but")[0]  # the rest is addressed to the model
    opening = " ".join(completion[:_OPENING].split())[:_SHOWN]
    return ExtractionError(
        f"the model's completion cannot be used: {what}. It begins {opening!r}. A stronger model does better.",
        kind=fault,
        raw=completion,
    )


def advise(error: SampleError) -> SampleError:
    """Return the error of both attempts, with advice if the server cut the completions off."""
    if not isinstance(error, ProviderError) or error.kind != "truncated":
        return error
    advice = "Shorten the text, give the server a larger context, or switch the model's thinking off."
    return ProviderError(f"{error}. {advice}", kind=error.kind, raw=error.raw, tokens=error.tokens)


def amend_request(request: Request, fault: CompletionFault, *, lang: Lang, note: str = RETRY_NOTE) -> Request:
    """Return the request for a second attempt, with a note at its end, so that the shared prefix stays the same.

    Args:
        request: The first request.
        fault: The fault of its completion.
        lang: Language of the note.
        note: Name of the note's prompt.
    """
    rendered = templates.load(note, lang=lang, version=VERSION).render(fault=_WORDS[lang][fault])[-1]
    *earlier, last = request.messages
    changed = replace(request, messages=(*earlier, Message(last.role, f"{last.content}\n\n{rendered.content}")))
    if fault.endswith("loop"):
        return replace(changed, temperature=max(request.temperature, LOOP_TEMPERATURE))
    if fault == "truncated":
        return replace(changed, max_tokens=request.max_tokens * MORE_TOKENS)
    return changed


def _repeats(text: str) -> bool:
    """Return whether the text ends with repetitions, or repeats the same few values many times."""
    for period in range(1, min(_PERIOD, len(text) // _ROUNDS) + 1):
        looped = max((_ROUNDS - 1) * period, _LEAST_LOOPED)
        if len(text) >= looped + period and text[-looped:] == text[-looped - period : -period]:
            return True
    values = Counter(value.group() for value in _VALUE.finditer(text) if not value["key"])
    return values.total() >= _MANY and len(values) <= _DISTINCT * values.total()
