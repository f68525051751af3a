"""Corrections of a run's imaps by people: `corrections.jsonl` in the run directory.

Lines are only appended, except that a last line that was left incomplete is overwritten.

Each line has `id`, `reference_index` and `reading` of an imap, `who` and `time`, and one `change`:

    {"kind": "fact", "side": "response", "before": {"term", "value"}, "after": {"term", "value"}}
        a fact was misread; without `before` it was overlooked, without `after` it is not in the text
    {"kind": "relation", "reference": {"term", "value"}, "response": {"term", "value"}, "before": "exact",
     "after": "contradiction"}
        the relation of two facts was wrong
    {"kind": "checked"}
        the imap was looked at; what has not been corrected is right
    {"kind": "reset"}
        all earlier corrections of the imap are withdrawn

The imaps of the run itself stay as they are.
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.imap_files import to_known_relation
from imapeval.evaluation.runs.reading import complete_lines
from imapeval.files import open_private
from imapeval.parsing import describe_validation_error, parse_json
from imapeval.text.phrases import annotate_pair
from imapeval.types import Failure, Pair, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.matching.protocol import Matcher
    from imapeval.types import Imap, Match, Sample

CORRECTIONS = "corrections.jsonl"

_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Fact(_Strict):
    """A term and a value."""

    term: _Text
    value: _Text


class FactChange(_Strict):
    """A fact that was misread (`before` and `after`), overlooked (`after` only) or invented (`before` only)."""

    kind: Literal["fact"] = "fact"
    side: Literal["reference", "response"]
    before: Fact | None = None
    after: Fact | None = None

    @model_validator(mode="after")
    def _require_fact(self) -> FactChange:
        if self.before is None and self.after is None:
            raise ValueError("a change of a fact has `before`, `after` or both")
        return self


class RelationChange(_Strict):
    """A relation that was wrong."""

    kind: Literal["relation"] = "relation"
    reference: Fact
    response: Fact
    before: Relation
    after: Relation


class Mark(_Strict):
    """The imap was checked, or its corrections are withdrawn."""

    kind: Literal["checked", "reset"]


Change = Annotated[FactChange | RelationChange | Mark, Field(discriminator="kind")]


class Correction(_Strict):
    """A line of the file; see the module's docstring."""

    id: str
    reference_index: int = Field(default=0, ge=0, strict=True)
    reading: int = Field(default=0, ge=0, strict=True)
    who: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    time: AwareDatetime = Field(default_factory=lambda: datetime.now().astimezone())
    change: Change

    @property
    def key(self) -> tuple[str, int, int]:
        """Identifies the imap."""
        return self.id, self.reference_index, self.reading


_MAX_PROBLEM = 200
"""Maximum length of what is wrong with a line in a message, which may quote the line."""

_Key: TypeAlias = tuple[str, str, str]
"""Side, term and value of a fact."""


def read_corrections(folder: Path) -> dict[Correction, int]:
    """Return the corrections of a run that have not been withdrawn, in their order, with the numbers of their lines.

    There are none if there is no file. A last line that was left incomplete and repeated lines are skipped.

    Raises:
        InputError: A line is not a correction.
    """
    path = folder / CORRECTIONS
    found: dict[tuple[str, int, int], dict[Correction, int]] = {}
    for number, line in enumerate(complete_lines(path), 1):
        try:
            correction = Correction.model_validate(parse_json(line, surrogates=False))
        except ValueError as error:
            raise InputError(
                f"not a correction: {describe_validation_error(error)[:_MAX_PROBLEM]}",
                path=path,
                line=number,
                fix="Correct the line or remove it.",
            ) from error
        if correction.change.kind == "reset":
            found.pop(correction.key, None)
        else:
            found.setdefault(correction.key, {}).setdefault(correction, number)
    lines = [pair for corrections in found.values() for pair in corrections.items()]
    return dict(sorted(lines, key=lambda pair: pair[1]))


def append_correction(folder: Path, correction: Correction) -> None:
    """Append a correction to the file of a run, and wait until it is on disk.

    Raises:
        OSError: The file cannot be written, or is a symbolic link.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(open_private(os.fspath(folder / CORRECTIONS), flags), "r+b") as file:
        # A line that was left incomplete is overwritten.
        file.seek(file.read().rfind(b"\n") + 1)
        file.truncate()
        file.write(f"{correction.model_dump_json()}\n".encode())
        file.flush()
        os.fsync(file.fileno())


async def apply_corrections(
    record: ImapRecord, changes: Iterable[Change], *, sample: Sample, matcher: Matcher
) -> ImapRecord:
    """Return an imap with its corrections.

    Recorded relations stay as they are unless they were corrected. The matcher relates new values to the others. A
    corrected relation stays with its facts if these are changed afterwards.

    Args:
        record: The imap as the run has it.
        changes: Its corrections, in their order.
        sample: The texts.
        matcher: Relates new values.

    Raises:
        UsageError: A change concerns a fact that the imap does not have, or adds one that it already has.
        ImapEvalError: The matcher failed.
    """
    imap = replace(record.imap, relations=None)
    # A fact keeps its number when it is changed.
    numbers = {key: number for number, key in enumerate(_list_keys(imap))}
    fresh = count(len(numbers))
    new: set[int] = set()
    recorded = {_number_pair(match, numbers): match for match in record.matches or ()}
    relations: dict[tuple[int, int], Relation] = {}
    for change in changes:
        if isinstance(change, FactChange):
            imap = _change_fact(imap, change)
            before, after = change.before, change.after
            number = next(fresh) if before is None else numbers.pop((change.side, before.term, before.value))
            if after is not None:
                numbers[change.side, after.term, after.value] = number
                if before is None or before.value != after.value:
                    new.add(number)
        elif isinstance(change, RelationChange):
            _find_fact(imap, "reference", change.reference)
            _find_fact(imap, "response", change.response)
            reference, response = change.reference, change.response
            pair = (
                numbers["reference", reference.term, reference.value],
                numbers["response", response.term, response.value],
            )
            relations[pair] = change.after
    if not imap.reference:
        return replace(record, imap=imap, matches=())
    compared = await _relate(imap, sample, matcher)
    kept = {
        pair: replace(recorded[pair], term=match.term, other_term=match.other_term)
        for match in compared
        if (pair := _number_pair(match, numbers)) in recorded and new.isdisjoint(pair)
    }
    # As the file with the corrections will be read again: it does not list all unmatched pairs.
    again = await _relate(replace(imap, relations=tuple(map(to_known_relation, kept.values()))), sample, matcher)
    plain = await _relate(replace(imap, relations=()), sample, matcher)
    judged = any(match.decided_by in ("llm", "recorded") for match in recorded.values())
    matches: list[Match] = []
    for match, same, alone in zip(compared, again, plain, strict=True):
        pair = _number_pair(match, numbers)
        if pair in relations:
            match = replace(alone, relation=relations[pair], decided_by="recorded", evidence={})
        elif pair in kept:
            match = kept[pair]
        elif new.isdisjoint(pair):
            match = same
        elif judged:
            match = replace(match, similarity=alone.similarity)
        matches.append(match)
    return replace(record, imap=imap, matches=tuple(matches))


async def _relate(imap: Imap, sample: Sample, matcher: Matcher) -> tuple[Match, ...]:
    (found,) = await matcher.match([imap], langs=[sample.lang], questions=[sample.question])
    if isinstance(found, Failure):
        raise UsageError(f"the facts of {sample.id[:60]!r} cannot be compared: {found.message}")
    return found


def _list_keys(imap: Imap) -> dict[_Key, None]:
    """Return the facts of both answers; a duplicate counts once."""
    sides = (("reference", imap.reference), ("response", imap.response))
    return dict.fromkeys((side, pair.term, pair.value) for side, pairs in sides for pair in pairs)


def _number_pair(match: Match, numbers: Mapping[_Key, int]) -> tuple[int, int]:
    return (
        numbers["reference", match.term, match.reference],
        numbers["response", match.response_term, match.response],
    )


def _change_fact(imap: Imap, change: FactChange) -> Imap:
    pairs: tuple[Pair, ...] = getattr(imap, change.side)
    after = change.after
    if after is not None and any((pair.term, pair.value) == (after.term, after.value) for pair in pairs):
        raise UsageError(f"the {change.side} already has the fact {after.term}: {after.value}.")
    index = len(pairs) if change.before is None else _find_fact(imap, change.side, change.before)
    old = None if change.before is None else pairs[index]
    changed = () if after is None else (_correct_pair(old, after),)
    # A duplicate of the fact is the same fact.
    others = [pair for pair in pairs[index:] if old is None or (pair.term, pair.value) != (old.term, old.value)]
    return replace(imap, **{change.side: (*pairs[:index], *changed, *others)})


def _correct_pair(old: Pair | None, fact: Fact) -> Pair:
    """Return a corrected fact with what is still known of it, or a new one with what its value says."""
    if old is not None and old.value == fact.value:
        return replace(old, term=fact.term)
    pair = annotate_pair(Pair(fact.term, fact.value))
    if old is None:
        return pair
    pair = replace(pair, importance=old.importance)
    # Certainty and condition may be stated outside the value, such as in a heading; then they still hold.
    said = annotate_pair(old)
    if pair.certainty == "certain" and said.certainty != old.certainty:
        pair = replace(pair, certainty=old.certainty)
    if not pair.condition and said.condition != old.condition:
        pair = replace(pair, condition=old.condition)
    return pair


def _find_fact(imap: Imap, side: str, fact: Fact) -> int:
    """Return the index of a fact.

    Raises:
        UsageError: It is not there.
    """
    pairs: tuple[Pair, ...] = getattr(imap, side)
    for index, pair in enumerate(pairs):
        if (pair.term, pair.value) == (fact.term, fact.value):
            return index
    raise UsageError(f"the {side} has no fact {fact.term}: {fact.value}.")
