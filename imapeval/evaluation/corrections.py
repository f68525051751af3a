"""Corrections of a run's imaps by people: `corrections.jsonl` in the run directory, append-only.

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
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, count
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.combine import References
from imapeval.evaluation.evaluate import evaluate
from imapeval.evaluation.runs.reading import complete_lines, group_by_id
from imapeval.evaluation.runs.schema import describe_validation_error
from imapeval.files import open_private
from imapeval.metrics import registry
from imapeval.parsing import parse_json
from imapeval.text.phrases import annotate_pair
from imapeval.types import Failure, KnownRelation, Pair, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.evaluation.runs import Run
    from imapeval.matching.protocol import Matcher
    from imapeval.metrics.base import Metric
    from imapeval.types import Imap, Lang, Match, Outcome, Sample

CORRECTIONS = "corrections.jsonl"

_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]


class Fact(BaseModel):
    """A term and a value."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    term: _Text
    value: _Text


class FactChange(BaseModel):
    """A fact that was misread (`before` and `after`), overlooked (`after` only) or invented (`before` only)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["fact"] = "fact"
    side: Literal["reference", "response"]
    before: Fact | None = None
    after: Fact | None = None

    @model_validator(mode="after")
    def _require_fact(self) -> FactChange:
        if self.before is None and self.after is None:
            raise ValueError("a change of a fact has `before`, `after` or both")
        return self


class RelationChange(BaseModel):
    """A relation that was wrong."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["relation"] = "relation"
    reference: Fact
    response: Fact
    before: Relation
    after: Relation


class Mark(BaseModel):
    """The imap was checked, or its corrections are withdrawn."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["checked", "reset"]


Change = Annotated[FactChange | RelationChange | Mark, Field(discriminator="kind")]


class Correction(BaseModel):
    """A line of the file; see the module's docstring."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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


def read_corrections(folder: Path) -> list[Correction]:
    """Return the corrections of a run that have not been withdrawn, in their order; none if there is no file.

    A last line that was left incomplete and repeated lines are skipped.

    Raises:
        InputError: A line is not a correction.
    """
    return list(_read_lines(folder))


def _read_lines(folder: Path) -> dict[Correction, int]:
    """Return the corrections with the numbers of their lines."""
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
    (compared,) = await matcher.match([imap], langs=[sample.lang], questions=[sample.question])
    if isinstance(compared, Failure):
        raise UsageError(f"the facts of {record.id[:60]!r} cannot be compared: {compared.message}")
    kept = {
        pair: replace(recorded[pair], term=match.term, other_term=match.other_term)
        for match in compared
        if (pair := _number_pair(match, numbers)) in recorded and new.isdisjoint(pair)
    }
    known = tuple(
        KnownRelation(*facts, match.relation, match.other_term, match.decided_by)
        for match in kept.values()
        for facts in [(match.term, match.reference, match.response)]
    )
    # As the file with the corrections will be read again: it does not list all unmatched pairs.
    (again,) = await matcher.match([replace(imap, relations=known)], langs=[sample.lang])
    if isinstance(again, Failure):
        raise UsageError(f"the facts of {record.id[:60]!r} cannot be compared: {again.message}")
    (plain,) = await matcher.match([replace(imap, relations=())], langs=[sample.lang])
    if isinstance(plain, Failure):
        raise UsageError(f"the facts of {record.id[:60]!r} cannot be compared: {plain.message}")
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
    raise UsageError(f"the {side} has no fact {fact.term}: {fact.value}. Reload the page.")


@dataclass(frozen=True, slots=True)
class _FixedRecords:
    """An `Extractor` and a `Matcher` that return these imaps and their matches."""

    records: Sequence[ImapRecord]
    signature: str = "corrected"
    concurrency: int = 1

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        del sample
        return tuple(record.imap for record in self.records)

    async def match(
        self, imaps: Sequence[Imap], *, langs: Sequence[Lang], questions: Sequence[str] | None = None
    ) -> list[tuple[Match, ...] | Failure]:
        del langs, questions
        return [next(record.matches or () for record in self.records if record.imap is imap) for imap in imaps]


def find_rescored_metrics(run: Run) -> list[Metric]:
    """Return the metrics of a run that can be computed again from imaps, without a language model, as they were."""
    found: list[Metric] = []
    for name, signature in run.manifest["settings"]["metrics"].items():
        if name not in registry.names():
            continue
        metric = registry.get(name)
        if "imap" in metric.requires and "llm" not in metric.requires and signature.startswith(f"{metric.signature}|"):
            found.append(metric)
    return found


def find_references_option(run: Run) -> References:
    """Return how a run combines the scores against several references."""
    options: tuple[References, ...] = get_args(References)
    signatures = "".join(run.manifest["settings"]["metrics"].values())
    named: list[References] = [option for option in options if f"|references:{option}" in signatures]
    return named[0] if named else "mean"


async def rescore(
    sample: Sample,
    records: Sequence[ImapRecord],
    *,
    metrics: Sequence[Metric],
    references: References,
) -> dict[str, Outcome]:
    """Score a sample by its corrected imaps, and return the outcomes by metric.

    Args:
        sample: The sample.
        records: All of its imaps: of every reference and reading.
        metrics: From `find_rescored_metrics`.
        references: From `find_references_option`.
    """
    fixed = _FixedRecords(records)
    results = await evaluate([sample], metrics=metrics, extractor=fixed, matcher=fixed, references=references)
    return {result.metric: result.outcome for result in results}


async def correct_run(run: Run, matcher: Matcher) -> dict[str, tuple[list[ImapRecord], dict[str, Outcome]]]:
    """Return the imaps and new outcomes of every sample of a run that has corrections, by id.

    Raises:
        InputError: A file of the run is broken, or a correction does not fit its imap.
        ImapEvalError: The matcher failed.
    """
    path = run.folder / CORRECTIONS
    lines: dict[tuple[str, int, int], dict[Correction, int]] = {}
    for correction, number in _read_lines(run.folder).items():
        lines.setdefault(correction.key, {})[correction] = number
    ids = {id_ for id_, _, _ in lines}
    samples = {sample.id: sample for sample in run.samples() if sample.id in ids}
    records = group_by_id(run.find_imaps(ids))
    known = {(r.id, r.imap.reference_index, r.imap.reading) for r in chain.from_iterable(records.values())}
    if unknown := next((key for key in lines if key not in known or key[0] not in samples), None):
        raise InputError(
            f"the run has no such imap of {unknown[0][:60]!r}",
            path=path,
            line=min(lines[unknown].values()),
            fix="Remove the line, or give the run that was corrected.",
        )
    metrics, references = find_rescored_metrics(run), find_references_option(run)
    corrected: dict[str, tuple[list[ImapRecord], dict[str, Outcome]]] = {}
    for id_ in samples:
        corrected_records: list[ImapRecord] = []
        for record in records.get(id_, []):
            of_imap = lines.get((id_, record.imap.reference_index, record.imap.reading), {})
            changes = [correction.change for correction in of_imap]
            try:
                corrected_records.append(await apply_corrections(record, changes, sample=samples[id_], matcher=matcher))
            except UsageError as error:
                numbers = ", ".join(map(str, of_imap.values()))
                raise InputError(
                    f"a correction of {id_[:60]!r} (lines: {numbers}) does not fit: {error}",
                    path=path,
                    fix="Remove it, or reset the corrections of that answer.",
                ) from error
        outcomes = await rescore(samples[id_], corrected_records, metrics=metrics, references=references)
        corrected[id_] = corrected_records, outcomes
    return corrected
