"""Connects host frameworks to a scorer: finds the texts in the values that a host passes, and reports the scores.

Some hosts pass values as their users supply them (`FieldKeys`): a text, a dict with the text under some key, chat
messages, or the return value of a model's client. Others pass a row of data with known columns (`RowColumns`). Nothing
here raises an error because of a single answer: a value without a text is passed on unchanged, and the scorer reports
why it is not scored.
"""

from __future__ import annotations

import inspect
import math
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import UsageError
from imapeval.evaluation.samples.rows import read_lang
from imapeval.report.thresholds import judge_answer, make_threshold
from imapeval.scoring import Scorer
from imapeval.types import Failure

if TYPE_CHECKING:
    from imapeval.report.thresholds import Threshold
    from imapeval.scoring import Assessment

QUESTION_KEYS = ("question", "query", "input", "prompt", "messages")
RESPONSE_KEYS = ("response", "answer", "output", "messages", "choices")
REFERENCE_KEYS = (
    *("reference", "references", "expected_response", "expected_output", "expected", "ground_truth"),
    *("answer", "output", "response", "messages"),
)
"""Keys under which question, response and reference are looked up in a dict; the first one that is not None counts."""

_ROLES = {
    **{"user": "user", "system": "system", "assistant": "assistant"},
    **{"human": "user", "HumanMessageChunk": "user", "ai": "assistant", "AIMessageChunk": "assistant"},
}
"""Chat roles by name, including LangChain's, whose streamed messages are chunks. Messages of other roles, such as
tools, are not part of the dialogue."""


@dataclass(frozen=True, slots=True)
class FieldKeys:
    """Keys of the texts in users' own dicts; None tries the usual ones.

    Attributes:
        question: Key of the question.
        response: Key of the answer.
        reference: Key of the clinician's answer, or of several.
    """

    question: str | None = None
    response: str | None = None
    reference: str | None = None

    def read(self, *, question: Any, response: Any, reference: Any) -> dict[str, Any]:
        """Return the arguments of `Scorer.score`."""
        asked = _find_text(question, QUESTION_KEYS if self.question is None else (self.question,))
        said = _last_assistant_text(_find_text(response, RESPONSE_KEYS if self.response is None else (self.response,)))
        found = _find_text(reference, REFERENCE_KEYS if self.reference is None else (self.reference,))
        fields: dict[str, Any] = {"response": said, "reference": _last_assistant_text(found)}
        messages = _list_messages(asked)
        if messages is None:
            return {"question": asked, **fields}
        turns = _read_turns(messages)
        # A dialogue of a single turn by another speaker contains no question. Without a response, the last turn of a
        # dialogue would be taken for it.
        if said is None or [turn["role"] for turn in turns] == ["user"]:
            return {"question": turns[-1]["content"] if turns else None, **fields}
        return {"turns": turns, **fields}


@dataclass(frozen=True, slots=True)
class RowColumns:
    """Reads the texts and `lang` of a row of data, for hosts that pass the response separately.

    Attributes:
        question: Column of the question; None for "question".
        reference: Column of the clinician's answer, or of several; None for "reference" or "references".
    """

    question: str | None = None
    reference: str | None = None

    def read(self, row: Mapping[str, Any], response: Any) -> dict[str, Any]:
        """Return an item of `Scorer.score_all`.

        Raises:
            UsageError: The row lacks a named column.
        """
        for key in (self.question, self.reference):
            if key is not None and key not in row:
                raise UsageError(f"the data has no {key!r}. It has: {', '.join(map(str, row))}.")
        references = (
            {name: row.get(name) for name in ("reference", "references")}
            if self.reference is None
            else {"reference": row[self.reference]}
        )
        return {
            "question": row.get(self.question or "question"),
            **references,
            "response": response,
            "lang": read_lang(row),
        }


_SCORERS: dict[str, Scorer] = {}
_LOCK = threading.Lock()


def shared_scorer(**options: Any) -> Scorer:
    """Return the process-wide scorer with these options, for hosts that call a bare function for every answer.

    With another key or server in the environment, it is another one.

    Args:
        **options: Options of `Scorer`; None means that an option is not given.

    Raises:
        UsageError: See `Scorer`.
    """
    given = {name: value for name, value in options.items() if value is not None}
    # Otherwise a notebook would have to be started again once its key or server is corrected.
    server = [os.environ.get(name) for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL")]
    # Two models may have the same `repr`, such as one that leaves out their servers.
    key = repr((sorted(given.items()), getattr(given.get("llm"), "identity", None), server))
    with _LOCK:
        if key not in _SCORERS:
            known = inspect.signature(Scorer).parameters
            if unknown := [name for name in given if name not in known]:
                raise UsageError(f"imapeval.Scorer has no option {unknown[0]!r}. It has: {', '.join(known)}.")
            _SCORERS[key] = Scorer(**given)
        return _SCORERS[key]


def choose_scorer(scorer: Scorer | None, options: Mapping[str, Any]) -> Scorer:
    """Return the given scorer, or the shared one with these options; options that are None are not given.

    Raises:
        UsageError: A scorer and options are both given, or one of them is invalid.
    """
    if scorer is None:
        return shared_scorer(**options)
    # Options from a command line are always strings.
    if not isinstance(scorer, Scorer):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"scorer is {scorer!r}, which is not an imapeval.Scorer. Give metrics and options instead.")
    if given := [name for name, value in options.items() if value is not None]:
        raise UsageError(f"both a scorer and the option {min(given)!r} are given. Give one of the two.")
    return scorer


def explain(assessment: Assessment, threshold: Threshold | None) -> str:
    """Return the reason of an assessment, followed by the verdict if there is one."""
    verdict = judge_answer(assessment.outcomes, threshold)
    return assessment.reason if verdict is None else f"{assessment.reason} {verdict}"


class HostScorer:
    """Scores values as hosts give them, one assessment per metric.

    Args:
        scorer: A scorer that is already open, in place of `options`.
        threshold: A limit on the score of the first metric; see `make_threshold`.
        name: Another name for the metric; for a single metric only.
        question_key, response_key, reference_key: Keys of the texts in the host's dicts; None tries the usual names.
        **options: Options of `imapeval.Scorer`.

    Attributes:
        scorer: The scorer.
        threshold: The limit; None if there is none.
        name: The name of the first metric.
        keys: Where the texts are in dicts.

    Raises:
        UsageError: See `imapeval.Scorer` and `make_threshold`; or a scorer and options are both given, or one name for
            several metrics.
    """

    def __init__(
        self,
        *,
        scorer: Scorer | None = None,
        threshold: float | None = None,
        name: str | None = None,
        question_key: str | None = None,
        response_key: str | None = None,
        reference_key: str | None = None,
        **options: Any,
    ) -> None:
        self.scorer = choose_scorer(scorer, options)
        self.threshold = make_threshold(self.scorer.metrics[0], threshold)
        metrics = self.scorer.metrics
        if name is not None and len(metrics) > 1:
            raise UsageError(
                f"{name!r} names one metric, but there are {len(metrics)}. Leave the name out, or make one for each."
            )
        self.name = name or metrics[0].name
        self.keys = FieldKeys(question=question_key, response=response_key, reference=reference_key)

    def score(self, *, question: Any, response: Any, reference: Any) -> list[Assessment]:
        """Score one answer."""
        fields = self.keys.read(question=question, response=response, reference=reference)
        return self._split(self.scorer.score(**fields))

    async def ascore(self, *, question: Any, response: Any, reference: Any) -> list[Assessment]:
        """Score one answer; see `score`."""
        fields = self.keys.read(question=question, response=response, reference=reference)
        return self._split(await self.scorer.ascore(**fields))

    def _split(self, assessment: Assessment) -> list[Assessment]:
        """Return an assessment per metric, with the imaps if the metric needs them; the first has the cost of all."""
        return [
            replace(
                assessment,
                outcomes={metric.name: assessment.outcomes[metric.name]},
                records=assessment.records if "imap" in metric.requires else (),
                # Hosts add up what stands beside each score.
                spent=None if place else assessment.spent,
            )
            for place, metric in enumerate(self.scorer.metrics)
        ]


def describe_score(assessment: Assessment, threshold: Threshold | None = None) -> dict[str, Any]:
    """Return the details of the first metric's score other than its value and reason, as JSON values.

    Keys are `signature`, `parts`, `table` (of the facts, Markdown), `failure` (stage/kind), `verdict` ("pass", "fail"
    or "too close to call"), and `tokens` and `usd` of a language model, which the first of several metrics has for all
    of them; those that do not apply are absent.
    """
    verdict = judge_answer(assessment.outcomes, threshold)
    spent, outcome = assessment.spent, assessment.outcomes[assessment.metric]
    told = {
        "signature": assessment.signatures[assessment.metric],
        "parts": dict(assessment.parts),
        "table": assessment.table,
        "failure": f"{outcome.stage}/{outcome.kind}" if isinstance(outcome, Failure) else "",
        "verdict": None if verdict is None else verdict.word,
        "tokens": None if spent is None else spent.prompt_tokens + spent.completion_tokens,
        "usd": None if spent is None else spent.usd,
    }
    return {name: value for name, value in told.items() if value not in (None, "", {})}


def _find_text(value: Any, keys: Sequence[str]) -> Any:
    value = _to_plain(value)
    if not isinstance(value, Mapping):
        return value
    fields = cast("Mapping[str, Any]", value)
    # LangSmith passes an empty dict if there is nothing.
    if not fields:
        return None
    found = [_to_plain(fields[key]) for key in keys if key in fields]
    if not found:
        return fields
    return next((value for value in found if value is not None), None)


def _to_plain(value: Any) -> Any:
    """Return objects of model clients as dicts, and NaN, a data frame's missing value, as None."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump()
    return None if isinstance(value, float) and math.isnan(value) else value


def _list_messages(value: Any) -> list[Mapping[str, Any]] | None:
    """Return a value as a list of chat messages; None if it is something else."""
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, (list, tuple)):
        return None
    items = [_to_plain(item) for item in cast("Sequence[Any]", value)]
    messages = [cast("Mapping[str, Any]", item) for item in items if isinstance(item, Mapping)]
    unwrapped = [_unwrap_choice(message) for message in messages]
    whole = len(messages) == len(items) and any("content" in message and _speaker(message) for message in unwrapped)
    if not whole:
        return None
    # The choices of a chat completion are alternatives, not turns.
    alternatives = all(
        _speaker(inner) == "assistant" and inner is not outer for inner, outer in zip(unwrapped, messages, strict=True)
    )
    return unwrapped[:1] if alternatives else unwrapped


def _unwrap_choice(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message of a choice of a chat completion; other messages as they are."""
    inner = message.get("message")
    return cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else message


def _speaker(message: Mapping[str, Any]) -> str | None:
    role = message.get("role") or message.get("type")
    return _ROLES.get(role) if isinstance(role, str) else None


def _read_content(message: Mapping[str, Any]) -> Any:
    """Return the text of a message, which may come in blocks."""
    content = message.get("content")
    if not isinstance(content, (list, tuple)):
        return content
    blocks = cast("Sequence[Any]", content)
    texts = [cast("Mapping[str, Any]", block).get("text") if isinstance(block, Mapping) else block for block in blocks]
    return "".join(text for text in texts if isinstance(text, str))


def _read_turns(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    turns = [{"role": _speaker(message), "content": _read_content(message)} for message in messages]
    # An assistant message that only calls a tool has no text.
    return [turn for turn in turns if turn["role"] and turn["content"] not in (None, "")]


def _last_assistant_text(value: Any) -> Any:
    """Return the text of the last assistant message if the value is a list of messages; otherwise the value."""
    messages = _list_messages(value)
    if messages is None:
        return value
    said = [_read_content(message) for message in messages if _speaker(message) == "assistant"]
    return said[-1] if said else None
