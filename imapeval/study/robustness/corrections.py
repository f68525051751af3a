"""What people corrected in the imaps of a run: how often the reader erred, in what, and what that did to the scores."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

from imapeval.evaluation.corrections import FactChange, Mark, RelationChange, read_corrections
from imapeval.evaluation.runs.reading import group_by_id
from imapeval.evaluation.samples import name_system_group
from imapeval.study.intervals import ends_of
from imapeval.study.intervals.bootstrap import mean_interval
from imapeval.study.intervals.quantiles import normal_quantile
from imapeval.study.intervals.shares import wilson_interval
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set

    from imapeval.evaluation.corrections import Correction
    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.evaluation.runs import Run
    from imapeval.types import Outcome, Pair, Relation, Sample


@dataclass(frozen=True, slots=True)
class ReadingErrors:
    """Errors of the reader on one side of the imaps that were checked.

    Attributes:
        side: "reference" or "response".
        lang: Language of the texts.
        imaps: Number of imaps.
        facts: Facts that were read.
        misread: Of these, facts that people changed.
        invented: Of these, facts that people deleted.
        overlooked: Facts that people added.
        precision: Share of the facts read that are right; None without facts.
        precision_low, precision_high: Ends of its 95% interval (Wilson; facts count as independent).
        recall: Share of all facts of the texts that were read rightly; None without facts.
    """

    side: str
    lang: str
    imaps: int
    facts: int
    misread: int
    invented: int
    overlooked: int
    precision: float | None
    precision_low: float | None
    precision_high: float | None
    recall: float | None


@dataclass(frozen=True, slots=True)
class RelationErrors:
    """How often people changed one relation into another, in the imaps that were checked."""

    before: str
    after: str
    count: int


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """What corrections did to the scores of a metric.

    Attributes:
        system: From `name_system_group`; "" for all.
        n: Answers with a score before and after.
        questions: Different questions among them.
        before, after: Means over these.
        change: Mean of the changes.
        low, high: Ends of its 95% bootstrap interval; None with one question.
        absolute: Mean size of the changes.
    """

    metric: str
    system: str
    n: int
    questions: int
    before: float
    after: float
    change: float
    low: float | None
    high: float | None
    absolute: float


_Fact: TypeAlias = tuple[str, str]
"""Term and value."""


@dataclass(frozen=True, slots=True)
class _Corrected:
    """The facts of one side as they were read and as corrected, and what was changed into what, None for nothing."""

    read: Set[_Fact]
    facts: Set[_Fact]
    changes: Set[tuple[_Fact | None, _Fact | None]]


@dataclass(frozen=True, slots=True)
class CorrectionReport:
    """All findings about the corrections of a run.

    Attributes:
        corrections: Number of corrections, marks aside.
        checked: Imaps marked as checked.
        unchecked: Imaps with corrections that nobody marked as checked: they are not in the rates.
        people: Who corrected.
        reading: Errors of the reader.
        relations: Errors of the relations.
        scores: What changed.
        reversed: By metric, pairs of systems (better, worse before) whose order the corrections reverse.
        uneven: Questions with a reference that was corrected for some answers and not, or differently, for others that
            need it, so that answers are no longer compared with the same facts.
    """

    corrections: int
    checked: int
    unchecked: int
    people: tuple[str, ...]
    reading: tuple[ReadingErrors, ...]
    relations: tuple[RelationErrors, ...]
    scores: tuple[ScoreChange, ...]
    reversed: dict[str, list[tuple[str, str]]]
    uneven: int = 0


def report_corrections(run: Run, outcomes: Mapping[str, Mapping[str, Outcome]], *, seed: int = 0) -> CorrectionReport:
    """Report the corrections of a run; `outcomes` are the new ones, by id and metric (see `rescoring.correct_run`).

    Raises:
        InputError: A file of the run is broken.
    """
    corrections = read_corrections(run.folder)
    by_imap: dict[tuple[str, int, int], list[Correction]] = {}
    for correction in corrections:
        by_imap.setdefault(correction.key, []).append(correction)
    checked = {key for key, own in by_imap.items() if any(isinstance(each.change, Mark) for each in own)}
    samples = {sample.id: sample for sample in run.samples()}
    records = group_by_id(run.find_imaps({id_ for id_, _, _ in by_imap}))
    looked_at = [
        (record, by_imap[record.key], samples[record.id].lang)
        for of_sample in records.values()
        for record in of_sample
        if record.key in checked
    ]
    before = {
        (result.id, result.metric): result.outcome.value
        for result in run.results()
        if result.id in outcomes and isinstance(result.outcome, Score)
    }
    scores: list[ScoreChange] = []
    reversed_: dict[str, list[tuple[str, str]]] = {}
    for metric in dict.fromkeys(name for of_sample in outcomes.values() for name in of_sample):
        rows = [
            (name_system_group(samples[id_]), samples[id_].question, before[id_, metric], outcome.value)
            for id_, of_sample in outcomes.items()
            if isinstance(outcome := of_sample.get(metric), Score) and (id_, metric) in before
        ]
        systems = list(dict.fromkeys(row[0] for row in rows))
        groups = ["", *systems] if len(systems) > 1 else [""]
        scores += [
            _summarise(metric, name, [r for r in rows if name in ("", r[0])], seed=seed) for name in groups if rows
        ]
        reversed_[metric] = _find_reversals(
            run, samples={id_: name_system_group(s) for id_, s in samples.items()}, metric=metric, outcomes=outcomes
        )
    return CorrectionReport(
        corrections=sum(not isinstance(correction.change, Mark) for correction in corrections),
        checked=len(checked),
        unchecked=len(by_imap.keys() - checked),
        people=tuple(dict.fromkeys(correction.who for correction in corrections)),
        reading=tuple(
            _count_reading_errors(side, lang, [(record, own) for record, own, of in looked_at if of == lang])
            for lang in dict.fromkeys(lang for _, _, lang in looked_at)
            for side in ("reference", "response")
        ),
        relations=_count_relation_errors((record, own) for record, own, _ in looked_at),
        scores=tuple(scores),
        reversed={metric: pairs for metric, pairs in reversed_.items() if pairs},
        uneven=_count_uneven(run, by_imap, samples),
    )


def _count_uneven(
    run: Run, by_imap: Mapping[tuple[str, int, int], Sequence[Correction]], samples: Mapping[str, Sample]
) -> int:
    """Return how many questions have a reference that was corrected for some imaps and not for all that need it."""
    changes = {
        key: [c.change for c in own if isinstance(c.change, FactChange) and c.change.side == "reference"]
        for key, own in by_imap.items()
    }
    questions = {samples[id_].question for (id_, _, _), own in changes.items() if own}
    groups: dict[tuple[str, str, int, int], list[_Corrected]] = {}
    for record in run.find_imaps({id_ for id_, sample in samples.items() if sample.question in questions}):
        sample, place = samples[record.id], (record.imap.reference_index, record.imap.reading)
        corrected = _correct_facts(record.imap.reference, changes.get((record.id, *place), ()))
        groups.setdefault((sample.question, sample.references[place[0]], *place), []).append(corrected)
    uneven = {
        key[0]
        for key, group in groups.items()
        for before, after in {change for each in group for change in each.changes}
        for each in group
        # Where a fact was read differently, its correction is not missing.
        if (before is None or before in each.read)
        and (before in each.facts or not (after is None or after in each.facts))
    }
    return len(uneven)


def _correct_facts(pairs: Sequence[Pair], changes: Iterable[FactChange]) -> _Corrected:
    read = {(pair.term, pair.value) for pair in pairs}
    origins: dict[_Fact, _Fact | None] = {fact: fact for fact in read}
    for change in changes:
        before, after = ((fact.term, fact.value) if fact else None for fact in (change.before, change.after))
        origin = origins.pop(before, None) if before else None
        if after:
            origins[after] = origin
    # A fact that was changed or deleted, and then added again, is as it was.
    changed = {(None if origin in origins else origin, fact) for fact, origin in origins.items() if fact not in read}
    deleted = read - origins.keys() - {origin for origin, _ in changed}
    return _Corrected(read, set(origins), {*changed, *((fact, None) for fact in deleted)})


def _count_reading_errors(
    side: str, lang: str, looked_at: Sequence[tuple[ImapRecord, Sequence[Correction]]]
) -> ReadingErrors:
    corrected = [
        _correct_facts(
            getattr(record.imap, side),
            [c.change for c in own if isinstance(c.change, FactChange) and c.change.side == side],
        )
        for record, own in looked_at
    ]
    facts = sum(len(each.read) for each in corrected)
    changes = [change for each in corrected for change in each.changes]
    misread = sum(before is not None and after is not None for before, after in changes)
    invented = sum(after is None for _, after in changes)
    overlooked = sum(before is None for before, _ in changes)
    right = facts - misread - invented
    precision = right / facts if facts else None
    interval = None if precision is None else wilson_interval(precision, facts, quantile=normal_quantile())
    true = right + misread + overlooked
    return ReadingErrors(
        side,
        lang,
        len(looked_at),
        facts,
        misread,
        invented,
        overlooked,
        precision,
        *ends_of(interval),
        right / true if true else None,
    )


def _count_relation_errors(looked_at: Iterable[tuple[ImapRecord, Sequence[Correction]]]) -> tuple[RelationErrors, ...]:
    ends: dict[tuple[object, ...], tuple[Relation, Relation]] = {}
    for record, own in looked_at:
        for change in (c.change for c in own if isinstance(c.change, RelationChange)):
            key = (*record.key, change.reference, change.response)
            first, _ = ends.get(key, (change.before, None))
            ends[key] = (first, change.after)
    changed = Counter((first.value, last.value) for first, last in ends.values() if first is not last)
    return tuple(RelationErrors(first, last, count) for (first, last), count in changed.most_common())


def _summarise(metric: str, system: str, rows: Sequence[tuple[str, str, float, float]], *, seed: int) -> ScoreChange:
    changes = [after - before for _, _, before, after in rows]
    questions = [question for _, question, _, _ in rows]
    interval = mean_interval(changes, clusters=questions, differences=True, seed=seed)
    return ScoreChange(
        metric,
        system,
        len(rows),
        len(set(questions)),
        fmean(before for _, _, before, _ in rows),
        fmean(after for _, _, _, after in rows),
        fmean(changes),
        *ends_of(interval),
        fmean(map(abs, changes)),
    )


def _find_reversals(
    run: Run, *, samples: Mapping[str, str], metric: str, outcomes: Mapping[str, Mapping[str, Outcome]]
) -> list[tuple[str, str]]:
    """Return the pairs of systems whose order by mean score over the whole run the corrections reverse."""
    before: dict[str, list[float]] = {}
    after: dict[str, list[float]] = {}
    for result in run.stream_results(samples):
        if result.metric == metric and isinstance(result.outcome, Score):
            new = outcomes.get(result.id, {}).get(metric, result.outcome)
            if isinstance(new, Score):
                before.setdefault(samples[result.id], []).append(result.outcome.value)
                after.setdefault(samples[result.id], []).append(new.value)
    means = {system: (fmean(values), fmean(after[system])) for system, values in before.items()}
    return [
        (one, other)
        for one, (was, is_) in means.items()
        for other, (other_was, other_is) in means.items()
        if was > other_was and is_ < other_is
    ]
