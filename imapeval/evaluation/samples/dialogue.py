"""Dialogues: parses turns in the formats of datasets, and joins those before the response into one question."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, cast

from imapeval.errors import InputError
from imapeval.evaluation.samples.rows import short_repr
from imapeval.types import Turn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.types import Lang

    Speaker = Literal["user", "assistant"]

_SPEAKERS: Mapping[str, Speaker | None] = {
    **dict.fromkeys(("user", "patient", "human", "患者", "病人"), "user"),
    **dict.fromkeys(("assistant", "doctor", "gpt", "医生"), "assistant"),
    # Instructions to the model are not part of the dialogue.
    "system": None,
}
_SPEAKER_PREFIXES: Mapping[Lang, Mapping[Speaker, str]] = {
    "en": {"user": "Patient: ", "assistant": "Doctor: "},
    "zh": {"user": "患者：", "assistant": "医生："},
    "fr": {"user": "Patient : ", "assistant": "Médecin : "},
    "other": {"user": "Patient: ", "assistant": "Doctor: "},
}
_EXPECTED_FORM = 'Write a list such as [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}].'


def read_turns(value: Any) -> tuple[Turn, ...]:
    """Parse turns from a list of {"role", "content"} or {"from", "value"}, or from such a list as JSON text.

    System turns are dropped.

    Raises:
        InputError: The value is not such a list, a role is unknown, or a turn other than a final one of the
            assistant is empty.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InputError(f"the turns are not valid JSON ({error})", fix=_EXPECTED_FORM) from error
    if not isinstance(value, list):
        raise InputError(
            f"the turns are not a list but {short_repr(value)}", fix=f"{_EXPECTED_FORM} Or rename the column."
        )
    records = cast("list[Any]", value)
    turns: list[Turn] = []
    for number, record in enumerate(records, 1):
        role, content = _read_turn(number, record)
        speaker = _SPEAKERS[role]
        if speaker is None:
            continue
        if not content.strip() and not (number == len(records) and speaker == "assistant"):
            raise InputError(f"turn {number} ({role}) is empty", fix="Fill it in or remove the turn.")
        turns.append(Turn(speaker, content))
    return tuple(turns)


def _read_turn(number: int, record: Any) -> tuple[str, str]:
    if not isinstance(record, dict):
        raise InputError(f"turn {number} is not an object but {short_repr(record)}", fix=_EXPECTED_FORM)
    fields = cast("dict[str, Any]", record)
    # Parquet has all four columns, with None in the pair that is not used.
    role, content = (
        fields.get(other) if fields.get(name) is None else fields[name]
        for name, other in (("role", "from"), ("content", "value"))
    )
    if not isinstance(role, str) or role.casefold() not in _SPEAKERS:
        raise InputError(
            f"turn {number} has the role {short_repr(role)}", fix=f"Write one of {', '.join(map(repr, _SPEAKERS))}."
        )
    if not isinstance(content, str):
        raise InputError(f"the content of turn {number} is not a text but {short_repr(content)}", fix="Write a text.")
    return role.casefold(), content


def join_turns(turns: Sequence[Turn], *, lang: Lang) -> str:
    """Join the turns before the response into one text with a line per turn, each with its speaker.

    White space within a turn, line breaks included, becomes single spaces, so that no turn can imitate another speaker.
    A single turn is returned unchanged.

    >>> turns = [Turn("user", "My head hurts."), Turn("assistant", "Since when?"), Turn("user", "Monday.")]
    >>> join_turns(turns, lang="en").splitlines()
    ['Patient: My head hurts.', 'Doctor: Since when?', 'Patient: Monday.']
    """
    if len(turns) == 1:
        return turns[0].content
    return "\n".join(_SPEAKER_PREFIXES[lang][turn.role] + " ".join(turn.content.split()) for turn in turns)


def split_response(
    turns: tuple[Turn, ...], response: str | None, *, may_be_absent: bool = False
) -> tuple[tuple[Turn, ...], str | None]:
    """Return the turns before the response, and the response: the last turn, or the separate column.

    Args:
        turns: The dialogue.
        response: The value of a separate column `response`, or None.
        may_be_absent: Whether there is such a column; then None means that the dialogue has no response.

    Raises:
        InputError: There is no response, or two different ones, or no user turn before it.
    """
    if turns and turns[-1].role == "assistant":
        *before, last = turns
        if response and response != last.content:
            raise InputError(
                "the dialogue ends with an answer that is not the response",
                fix="End the turns with a user turn, or leave out the column: the last turn is the response.",
            )
        turns, response = tuple(before), last.content
    if response is None and not (turns and may_be_absent):
        raise InputError(
            "the dialogue ends with the user's turn, and there is no response" if turns else "the dialogue is empty",
            fix="End the turns with an assistant turn, which is the response, or add a column 'response'.",
        )
    if not any(turn.role == "user" for turn in turns):
        raise InputError("there is no user turn before the response", fix="Add the turn that asks.")
    return turns, response
