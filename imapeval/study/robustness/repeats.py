"""Finds repetitions in runs: texts scored again, texts reworded, questions answered again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.runs.reading import SAMPLES
from imapeval.evaluation.samples import system_label
from imapeval.evaluation.samples.rows import is_missing
from imapeval.study.intervals.bootstrap import number_clusters
from imapeval.text.identity import identify_question, strip_invisible
from imapeval.types import Lang, Score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.evaluation.runs import Run
    from imapeval.study.arrays import Counts, Floats
    from imapeval.types import Sample

RepeatKind = Literal["rewording", "repetition", "sampling"]
"""What was done again:

- rewording: the same answer in other words; the first column is the original;
- repetition: the scoring of the very same text, in several runs;
- sampling: answering, the same question by the same system.
"""

ORIGINAL_COLUMN = "original"
"""The column of a reworded sample that names the id of what it rewords."""

Key = TypeVar("Key")
Unit: TypeAlias = "tuple[Sample, str, Sequence[Key]]"
"""What was done again: the first sample, its question, and the keys of all its scores, such as runs and ids."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """Scores of what should score alike.

    Attributes:
        kind: What was done again.
        lang: Language of the texts. Languages are kept apart, because the differences between them would hide all
            others.
        ids: Ids of the n units: the original, the text, or the first answer to the question.
        questions: A number per question from 0, shape (n,).
        systems: System of each answer, shape (n,).
        metrics: Names, m of them.
        scores: Shape (n, r, m); NaN where there is no such repetition or its score failed.
        there: Where there is a repetition, shape (n, r).
    """

    kind: RepeatKind
    lang: Lang
    ids: tuple[str, ...]
    questions: Counts
    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    scores: Floats
    there: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class _Wording:
    """One wording of an answer, and where it was scored: numbers of runs, ids there."""

    sample: Sample
    scored: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])


def gather_repeats(runs: Sequence[Run], *, metrics: Sequence[str] | None = None) -> list[Repeats]:
    """Find what was done again within one run or over several.

    - A sample that names another in its column `original` is a rewording of it. So is a sample of another run with
      the same id, question and references, and another response.
    - The same id with the same response in several runs is one text scored again; so is a rewording that says nothing
      in other words.
    - Different samples of one run with the same question, references and system are answers sampled again.
    Without `metrics`, those that all runs have are taken.

    Returns:
        What there is of each kind and language, in the order of `RepeatKind`; perhaps nothing.

    Raises:
        UsageError: A run lacks one of the metrics, or there is none that all have.
        InputError: An id stands for different questions or systems, an original is missing, or a metric was computed
            one way for the originals and another way for their rewordings.
    """
    chosen = _choose(runs, metrics)
    answers = _read_answers(runs)
    scores = _read_scores(runs, chosen)
    reworded = [list(texts.values()) for texts in answers.values() if len(texts) > 1]
    _check_signatures(reworded, runs, chosen)
    again = [text for texts in answers.values() for text in texts.values() if len(text.scored) > 1]
    sampled: dict[tuple[object, ...], list[_Wording]] = {}
    for texts in answers.values():
        first = next(iter(texts.values()))
        # The run, because another may have scored in another way.
        asked = identify_question(first.sample.question, first.sample.references)
        key = (first.scored[0][0], asked, system_label(first.sample))
        sampled.setdefault(key, []).append(first)

    def pick_first(texts: Sequence[_Wording]) -> Unit[tuple[int, str]]:
        sample = texts[0].sample
        return sample, strip_invisible(sample.question), [text.scored[0] for text in texts]

    units: dict[RepeatKind, list[Unit[tuple[int, str]]]] = {
        "rewording": [*map(pick_first, reworded)],
        "repetition": [(text.sample, strip_invisible(text.sample.question), text.scored) for text in again],
        "sampling": [*map(pick_first, sampled.values())],
    }
    return tabulate_repeats(units, chosen, scores)


def find_original(sample: Sample) -> str | None:
    """Return the id of what the sample rewords; None if it is an original, whose cell may be empty."""
    value = sample.meta.get(ORIGINAL_COLUMN)
    return None if is_missing(value) else str(value)


def _choose(runs: Sequence[Run], metrics: Sequence[str] | None) -> tuple[str, ...]:
    known = [tuple(run.manifest["settings"]["metrics"]) for run in runs]
    if metrics is None:
        common = tuple(name for name in known[0] if all(name in names for names in known))
        if not common:
            raise UsageError("the runs have no metric in common. Score them with the same --metrics.")
        return common
    for name in metrics:
        for run, names in zip(runs, known, strict=True):
            if name not in names:
                raise UsageError(f"the run {run.folder} has no metric {name!r}. It has: {', '.join(names)}.")
    return tuple(dict.fromkeys(metrics))


def _read_answers(runs: Sequence[Run]) -> dict[str, dict[str, _Wording]]:
    """Return the wordings of each answer, the original first, by the original's id and by the wording."""
    samples = [(number, sample) for number, run in enumerate(runs) for sample in run.samples() if sample.answered]
    answers: dict[str, dict[str, _Wording]] = {}
    for number, sample in samples:
        if find_original(sample) is None:
            _add(answers.setdefault(sample.id, {}), sample, number, runs)
    for number, sample in samples:
        if (named := find_original(sample)) is not None:
            if named not in answers:
                raise InputError(
                    f"the sample {sample.id!r} rewords {named!r}, which is not an answered original in these runs",
                    path=runs[number].folder / SAMPLES,
                    fix=f"Name the run of the originals, too, and in {ORIGINAL_COLUMN!r} the id of the first wording.",
                )
            _add(answers[named], sample, number, runs)
    return answers


def _add(texts: dict[str, _Wording], sample: Sample, number: int, runs: Sequence[Run]) -> None:
    first = next(iter(texts.values()), None)
    asked = identify_question(sample.question, sample.references)
    if first is not None and identify_question(first.sample.question, first.sample.references) != asked:
        raise InputError(
            f"the sample {sample.id!r} has another question or other references than {first.sample.id!r} in "
            f"{runs[first.scored[0][0]].folder}",
            path=runs[number].folder / SAMPLES,
            fix="Compare runs of the same questions.",
        )
    # Runs of different systems often number their answers alike.
    same_id = first is not None and first.sample.id == sample.id and first.sample.system and sample.system
    if first is not None and same_id and system_label(first.sample) != system_label(sample):
        raise InputError(
            f"the sample {sample.id!r} is an answer by {system_label(sample)!r}, but by {system_label(first.sample)!r} "
            f"in {runs[first.scored[0][0]].folder}",
            path=runs[number].folder / SAMPLES,
            fix="Compare runs of the same systems, or give the answers of each system ids of their own.",
        )
    texts.setdefault(sample.response, _Wording(sample)).scored.append((number, sample.id))


def _read_scores(runs: Sequence[Run], metrics: Sequence[str]) -> dict[tuple[tuple[int, str], str], float]:
    """Return the scores, by run and id, and metric."""
    wanted = frozenset(metrics)
    return {
        ((number, result.id), result.metric): result.outcome.value
        for number, run in enumerate(runs)
        for result in run.results()
        if result.metric in wanted and isinstance(result.outcome, Score)
    }


def _check_signatures(reworded: Sequence[Sequence[_Wording]], runs: Sequence[Run], metrics: Sequence[str]) -> None:
    """Refuse rewordings that were scored in another way: what differs then is not the wording alone."""
    settings = [run.manifest["settings"]["metrics"] for run in runs]
    for one, other in sorted({(texts[0].scored[0][0], text.scored[0][0]) for texts in reworded for text in texts}):
        for metric in metrics:
            if settings[one][metric] != settings[other][metric]:
                raise InputError(
                    f"{metric} is {settings[other][metric]} here, but {settings[one][metric]} in "
                    f"{runs[one].folder}, of which this run rewords answers",
                    path=runs[other].folder,
                    fix="Score both in the same way, or name other --metrics.",
                )


def tabulate_repeats(
    units: Mapping[RepeatKind, Sequence[Unit[Key]]],
    metrics: tuple[str, ...],
    scores: Mapping[tuple[Key, str], float],
) -> list[Repeats]:
    """Return the scores of what was done again, for each kind and language; units with a single score are left out."""
    return [
        _tabulate(kind, lang, kept, metrics, scores)
        for kind, of_kind in units.items()
        for lang in get_args(Lang)
        if (kept := [unit for unit in of_kind if len(unit[2]) > 1 and unit[0].lang == lang])
    ]


def _tabulate(
    kind: RepeatKind,
    lang: Lang,
    units: Sequence[Unit[Key]],
    metrics: tuple[str, ...],
    scores: Mapping[tuple[Key, str], float],
) -> Repeats:
    most = max(len(keys) for _, _, keys in units)
    table = np.full((len(units), most, len(metrics)), np.nan)
    for row, (_, _, keys) in enumerate(units):
        table[row, : len(keys)] = [[scores.get((key, metric), np.nan) for metric in metrics] for key in keys]
    return Repeats(
        kind=kind,
        lang=lang,
        ids=tuple(sample.id for sample, _, _ in units),
        questions=number_clusters([question for _, question, _ in units]),
        systems=tuple(system_label(sample) for sample, _, _ in units),
        metrics=metrics,
        scores=table,
        there=np.arange(most) < np.array([[len(keys)] for _, _, keys in units]),
    )
