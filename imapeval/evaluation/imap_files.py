"""Files of imaps, `imaps.jsonl`: reading, writing, and an extractor that takes imaps from such a file.

There is one line per sample, reference and reading:

    {"id": "...", "reference_index": 1, "texts_sha256": "...", "query": [{"term", "value"}], "constraint": [...],
     "reference": [...], "response": [...], "relations": [{"term", "reference", "response", "relation"}]}

`reference_index` is omitted for the first reference and `reading` for the first reading; `reference` is empty if the
sample has none. `texts_sha256`, which files from elsewhere need not have, is the hash of the texts that were read
(`hash_texts`): the imap is used for these only, whatever else has the same id. A pair may have `span`, its [start, end)
character offsets in the text that it was extracted from, and qualifiers: `polarity` ("denied"), `certainty`
("possible", "unlikely"), `condition` and `amounts`; and `importance`, its weight in the score (1). Without `relations`,
matching is still to be done; with it, pairs that are not listed are unmatched. `other_term` is the term of the
response's value if it differs. Files that imapeval writes add `texts_sha256`, and `similarity`, `decided_by` and
`evidence` to relations, and also list the unmatched pairs that are the most similar ones of a value, to show what came
closest.
"""

import codecs
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from imapeval.errors import ExtractionError, InputError
from imapeval.evaluation.extract import MAX_CHARACTERS, refuse_reading
from imapeval.evaluation.ids import contrast_ids, list_first
from imapeval.files import refuse_stream
from imapeval.parsing import describe_validation_error, parse_json
from imapeval.redaction import get_logger
from imapeval.signature import signature
from imapeval.text.identity import strip_invisible
from imapeval.types import Decider, Imap, KnownRelation, Match, Pair, Relation, Sample

_log = get_logger(__name__)

_FIX_TEXTS = "Extract the imaps of these texts, or give the data the ids that they had then."


@dataclass(frozen=True, slots=True)
class ImapRecord:
    """One line of `imaps.jsonl`.

    Attributes:
        id: The id of the sample.
        imap: The pairs, and `relations` as recorded.
        matches: The recorded relations as matches, with `similarity` 0 and `decided_by` "recorded" by default; None if
            matching is still to be done.
        texts_sha256: The hash of the texts that were read, by `hash_texts`; "" if unknown.
    """

    id: str
    imap: Imap
    matches: tuple[Match, ...] | None
    texts_sha256: str = ""

    @property
    def key(self) -> tuple[str, int, int]:
        """Identifies the imap."""
        return self.id, self.imap.reference_index, self.imap.reading


def hash_texts(sample: Sample, reference_index: int = 0) -> str:
    """Return a hash of the texts that an imap is read from: question, reference and response.

    White space, Unicode normalisation, byte-order marks and zero-width spaces make no difference.
    """
    texts = (sample.question, *sample.references[reference_index : reference_index + 1], sample.response)
    content = json.dumps([strip_invisible(text) for text in texts])
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def parse_record(line: str | bytes, *, path: Path | None = None, number: int | None = None) -> ImapRecord:
    """Parse one line.

    Args:
        line: The JSON text.
        path: The file, for the error message.
        number: 1-based line number, for the error message.

    Raises:
        InputError: The line does not have the form that the module's docstring describes.
    """
    try:
        parsed = _RecordLine.model_validate(parse_json(line, surrogates=False))
    except ValueError as error:
        raise _not_an_imap(error, path, number) from error
    reference, response = ({(p.term, p.value) for p in pairs} for pairs in (parsed.reference, parsed.response))
    known: dict[tuple[str, ...], Relation] = {}
    for relation in parsed.relations or ():
        response_term = relation.other_term or relation.term
        if (relation.term, relation.reference) not in reference or (response_term, relation.response) not in response:
            raise InputError(
                f"the relation of {relation.reference[:60]!r} to {relation.response[:60]!r} (term "
                f"{relation.term[:60]!r}) is between values that the imap does not have",
                path=path,
                line=number,
                fix="List both as pairs, or remove the relation.",
            )
        values = relation.term, relation.reference, response_term, relation.response
        if (first := known.setdefault(values, relation.relation)) is not relation.relation:
            raise InputError(
                f"{relation.reference[:60]!r} and {relation.response[:60]!r} (term {relation.term[:60]!r}) have two "
                f"relations, {first.value} and {relation.relation.value}",
                path=path,
                line=number,
                fix="Keep one of them.",
            )
    return parsed.record()


def parse_response_pairs(
    line: str | bytes, *, path: Path | None = None, number: int | None = None
) -> tuple[str, tuple[Pair, ...]]:
    """Parse the sample's id and the response's pairs only, in half the time of `parse_record`.

    Raises:
        InputError: The line has no id or no pairs of the response.
    """
    try:
        parsed = _ResponseLine.model_validate(parse_json(line, surrogates=False))
    except ValueError as error:
        raise _not_an_imap(error, path, number) from error
    return parsed.id, tuple(parsed.response)


def dump_record(record: ImapRecord) -> str:
    """Return one line, without the line break. Parsing it gives the same pairs, relations and listed matches."""
    imap = record.imap
    line = _RecordLine(
        id=record.id,
        reference_index=imap.reference_index,
        reading=imap.reading,
        texts_sha256=record.texts_sha256,
        query=list(imap.query),
        constraint=list(imap.constraint),
        reference=list(imap.reference),
        response=list(imap.response),
        relations=None
        if record.matches is None
        else [
            _RelationLine(
                term=match.term,
                reference=match.reference,
                other_term=match.other_term,
                response=match.response,
                relation=match.relation,
                similarity=round(match.similarity, 4),
                decided_by=match.decided_by,
                evidence=dict(match.evidence) or None,
            )
            for match in _select_informative(record.matches)
        ],
    )
    return line.model_dump_json(exclude_defaults=True)


def read_records(path: Path) -> Iterator[tuple[int, ImapRecord]]:
    """Yield the line numbers and records of a file; empty lines and a byte-order mark are skipped.

    Raises:
        InputError: The file is unreadable, no regular file, or a line is not an imap.
    """
    refuse_stream(path)
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
                if line.strip():
                    yield number, parse_record(line, path=path, number=number)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path, fix="Name a readable imap file.") from error


class RecordedImaps:
    """An `Extractor` that returns recorded imaps from a file, by sample id. Recorded relations are used unchanged.

    Raises:
        InputError: The file is unreadable, a line is invalid or has a value of more than `MAX_CHARACTERS`, or an imap
            is recorded twice.
    """

    concurrency = 1

    def __init__(self, path: Path) -> None:
        self._path = path
        # By id, then by reading and reference: the number of the line, and what it holds.
        self._lines: dict[str, dict[tuple[int, int], tuple[int, ImapRecord]]] = {}
        for number, record in read_records(path):
            imap = record.imap
            own, key = self._lines.setdefault(record.id, {}), (imap.reading, imap.reference_index)
            if key in own:
                raise InputError(
                    f"the imap of {_describe_key(record.id, *key)} is on line {own[key][0]} and again on line {number}",
                    path=path,
                    line=number,
                    fix="Keep one of them, or number them with the field `reading`.",
                )
            if any(len(pair.value) > MAX_CHARACTERS for pair in (*imap.reference, *imap.response)):
                raise InputError(
                    f"a value has more than {MAX_CHARACTERS:,} characters",
                    path=path,
                    line=number,
                    fix="Shorten it; longer texts are not scored.",
                )
            # Its matches would take as much memory as its relations; nobody asks for them.
            own[key] = number, replace(record, matches=None)
        if not self._lines:
            raise InputError("there are no imaps", path=path, fix="Give a file with at least one imap.")
        readings = max(len({reading for reading, _ in own}) for own in self._lines.values())
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        self.signature = signature("recorded", sha256=sha256[:12], readings=readings)

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        """Return the recorded imaps of the sample, for all of its readings.

        Raises:
            ExtractionError: There is none for a reference and reading (kind "no-imap"), or one was read from other
                texts (kind "other-texts").
        """
        return self._find(sample)

    def check(self, samples: Sequence[Sample]) -> None:
        """Log which samples have no imap, or that of other texts.

        Raises:
            InputError: None has an imap of its texts.
        """
        readable = [sample for sample in samples if refuse_reading(sample) is None]
        refused: dict[str, list[str]] = {}
        for sample in readable:
            try:
                self._find(sample)
            except ExtractionError as error:
                refused.setdefault(error.kind, []).append(sample.id)
        if readable and self._lines.keys().isdisjoint(sample.id for sample in readable):
            compared = contrast_ids("imaps", list(self._lines), "those of the data", readable)
            raise InputError(
                f"there is no imap of any answer: {compared}",
                path=self._path,
                fix="Give the data the ids of the imaps; --map id=<column> says which column holds them.",
            )
        if "other-texts" in refused and sum(map(len, refused.values())) == len(readable):
            raise InputError(
                f"no imap was read from the texts of its answer, such as that of {refused['other-texts'][0][:60]!r}",
                path=self._path,
                fix=_FIX_TEXTS,
            )
        for kind, problem in (("no-imap", "no imap"), ("other-texts", "an imap of other texts")):
            if ids := refused.get(kind):
                _log.warning(
                    "%s: %d of %d answers have %s: %s", self._path, len(ids), len(readable), problem, list_first(ids)
                )
        known = {sample.id for sample in samples}
        if "no-imap" in refused and (unused := [id_ for id_ in self._lines if id_ not in known]):
            _log.warning("%s: %d ids are not in the data: %s", self._path, len(unused), list_first(unused))

    def _find(self, sample: Sample) -> tuple[Imap, ...]:
        """Return the imaps of a sample; see `extract`."""
        own = self._lines.get(sample.id, {})
        readings = sorted({reading for reading, _ in own}) or [0]
        found: list[Imap] = []
        for key in product(readings, range(max(1, len(sample.references)))):
            if key not in own:
                raise ExtractionError(f"{self._path} has no imap of {_describe_key(sample.id, *key)}", kind="no-imap")
            (number, record), sha256 = own[key], hash_texts(sample, key[1])
            if record.texts_sha256 not in ("", sha256):
                # The references may have been in another order.
                same = [other for k, (_, other) in own.items() if (k[0], other.texts_sha256) == (key[0], sha256)]
                if not same:
                    raise ExtractionError(
                        f"{self._path}, line {number}: the imap of {_describe_key(sample.id, *key)} was read from "
                        f"other texts. {_FIX_TEXTS}",
                        kind="other-texts",
                    )
                record = same[0]
            found.append(replace(record.imap, reference_index=key[1]))
        return tuple(found)


class _RelationLine(BaseModel):
    model_config = ConfigDict(frozen=True)

    term: str
    reference: str
    other_term: str = ""
    response: str
    relation: Relation
    similarity: float = Field(default=0.0, ge=0, le=1)
    decided_by: Decider = "recorded"
    evidence: dict[str, Any] | None = None


class _ResponseLine(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: str
    response: list[Pair]


class _RecordLine(BaseModel):
    # Pairs that an extractor outside this package made are checked too.
    model_config = ConfigDict(frozen=True, revalidate_instances="always")

    # `id` and the four lists have no defaults: they are required, and always written.
    # Unknown fields are ignored, such as `stability`, which earlier versions wrote.
    id: str
    reference_index: int = Field(default=0, ge=0)
    reading: int = Field(default=0, ge=0)
    texts_sha256: str = ""
    query: list[Pair]
    constraint: list[Pair]
    reference: list[Pair]
    response: list[Pair]
    relations: list[_RelationLine] | None = None

    def record(self) -> ImapRecord:
        known: tuple[KnownRelation, ...] | None = None
        matches: tuple[Match, ...] | None = None
        if (lines := self.relations) is not None:
            matches = tuple(Match(**dict[str, Any](line, evidence=line.evidence or {})) for line in lines)
            known = tuple(map(to_known_relation, matches))
        imap = Imap(
            tuple(self.query),
            tuple(self.constraint),
            tuple(self.reference),
            tuple(self.response),
            reference_index=self.reference_index,
            reading=self.reading,
            relations=known,
        )
        return ImapRecord(self.id, imap, matches, self.texts_sha256)


def to_known_relation(match: Match) -> KnownRelation:
    """Return what a matcher is told of a match that was recorded."""
    return KnownRelation(
        match.term, match.reference, match.response, match.relation, match.other_term, match.decided_by
    )


def _not_an_imap(error: ValueError, path: Path | None, number: int | None) -> InputError:
    kind = "" if isinstance(error, ValidationError) else "Invalid JSON: "
    return InputError(
        f"not an imap: {kind}{describe_validation_error(error)}",
        path=path,
        line=number,
        fix="Write the fields id, query, constraint, reference, response and optionally relations.",
    )


def _select_informative(matches: Sequence[Match]) -> list[Match]:
    """Drop unmatched pairs that are not the most similar one of either value: their number grows quadratically."""
    closest: dict[tuple[str, str, str], Match] = {}
    for match in matches:
        for key in (("reference", match.term, match.reference), ("response", match.response_term, match.response)):
            if key not in closest or match.similarity > closest[key].similarity:
                closest[key] = match
    kept = {id(match) for match in closest.values() if match.similarity > 0}
    return [
        match
        for match in matches
        if match.relation is not Relation.UNMATCHED or match.decided_by in ("text", "graph") or id(match) in kept
    ]


def _describe_key(id_: str, reading: int, reference: int) -> str:
    return f"sample {id_!r}, reference {reference}" + (f", reading {reading}" if reading else "")
