"""Joins runs with ratings by the answers' ids, and reports what did not match."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.ids import contrast_ids, describe_added_systems, list_first
from imapeval.evaluation.samples import system_label
from imapeval.evaluation.samples.rows import is_missing
from imapeval.metrics import registry
from imapeval.metrics.lexical.tokens import split_for_squad
from imapeval.study.data.join_report import JoinReport, describe_numbered_ids
from imapeval.study.data.rated import DIMENSION, SYSTEM, Rated, choose_names, round_score
from imapeval.study.data.ratings import Ratings, match_ids, ratings_of_samples
from imapeval.study.data.unfinished import describe_unfinished
from imapeval.study.intervals.bootstrap import number_clusters
from imapeval.text.identity import identify_question
from imapeval.types import Score, values_by_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from imapeval.evaluation.runs import Run
    from imapeval.study.arrays import Counts, Flags, Floats
    from imapeval.study.data.scales import RatingScale
    from imapeval.types import Sample

_FACETS = ("task", "dataset")
"""Columns of the data that become facets, besides the language."""

_UNSEEN = -1
"""Stands for a run's number if no run has an outcome."""


@dataclass(frozen=True, slots=True)
class _Answers:
    """The answers of all runs: one sample per id, in the order of the runs, and the row of each id."""

    samples: list[Sample]
    row: dict[str, int]
    ids: list[set[str]]


def join_ratings(
    runs: Sequence[Run],
    ratings: Ratings | None = None,
    *,
    metrics: Sequence[str] | None = None,
    dimensions: Sequence[str] | None = None,
    scales: Mapping[str, RatingScale] | None = None,
    columns: Sequence[str] = (),
    unrated: bool = False,
) -> tuple[Rated, JoinReport]:
    """Join the scores of runs with ratings, by the answers' ids, and by their systems where the ratings name them.

    Several runs may hold other metrics of the same answers, or other answers. A metric has one signature in all of
    them. If two runs have an outcome of the same metric for the same answer, a score replaces a failure.

    Compression is defined as in the paper (Wang et al. 2024, Figures 5 and 6): characters of the response's imap, every
    term once and every value of a term once, divided by the characters of the response. The first run given that has an
    imap counts. "words from the question" is the share of the response's words, as `token-f1` splits them, that the
    question has too: how far an answer repeats or adopts what is asked.

    Args:
        runs: At least one.
        ratings: The ratings; None takes those in the data (`Sample.ratings`), which are averages.
        metrics: Metrics in the order of the result; None takes those of the runs.
        dimensions: Dimensions in the order of the result; None takes those of the ratings.
        scales: Rating scales by dimension, if the ratings in the data are used; those of a file are checked when it
            is read.
        columns: Columns of the data that become facets besides task, dataset and language.
        unrated: Keep answers without a rating, with NaN; there may be no rated ones.

    Returns:
        A row per answer in the order of the runs, and the report. Questions are numbered by their texts.

    Raises:
        UsageError: A metric or dimension does not exist, no answer is rated, or one is rated with and without its
            system.
        InputError: Runs contradict each other.
    """
    chosen = tuple(read_signatures(runs, metrics))
    answers = _read_answers(runs)
    if ratings is None:
        if (dimensions or scales or not unrated) and not any(sample.ratings for sample in answers.samples):
            # A sample does not record which of its columns are empty.
            raise UsageError(
                "no sample of the run has a rating: its data have no columns ratings.<dimension>, or all of their "
                "cells were empty when it was scored. Give the ratings with --ratings, or score the data again with "
                "the columns filled in."
            )
        given = ratings_of_samples(answers.samples, scales=scales or {})
    else:
        given = match_ids(ratings, {sample.id: sample.system for sample in answers.samples})
    named = choose_names("dimension", dimensions, given.dimensions)
    place = np.array([answers.row.get(id_, -1) for id_ in given.ids], dtype=np.int64)
    rating = _align(given.average(), place, len(answers.samples))[:, [given.dimensions.index(name) for name in named]]
    is_rated: Flags = np.isfinite(rating).sum(axis=1) > 0
    if not (unrated or is_rated.any()):
        raise _refuse_unrated(given, answers, named)
    by_rater = {name: _align(given.split(name), place, len(answers.samples)) for name in named}
    # Raters who rated only other answers or other dimensions are left out.
    seen = [n for n in range(len(given.raters)) if any(np.isfinite(table[:, n]).any() for table in by_rater.values())]
    scores, found = _read_scores(runs, answers, chosen)
    kept = np.arange(len(answers.samples)) if unrated else np.flatnonzero(is_rated)
    samples = [answers.samples[row] for row in kept.tolist()]
    rated = Rated(
        ids=tuple(sample.id for sample in samples),
        questions=number_clusters([identify_question(sample.question) for sample in samples]),
        systems=tuple(map(system_label, samples)),
        metrics=chosen,
        scores=scores[kept],
        dimensions=named,
        ratings=rating[kept],
        raters=tuple(given.raters[n] for n in seen),
        by_rater={name: table[kept][:, seen] for name, table in by_rater.items()} if seen else {},
        scales={name: scale for name, scale in given.scales.items() if name in named},
        lower_is_better=find_lower_is_better(chosen),
        ranges={name: span for run in runs for name, span in run.ranges.items() if name in chosen},
        facets=_read_facets(samples, columns),
        covariates=_measure(samples, _read_imap_sizes(runs)),
    )
    strays = tuple(id_ for id_, row in zip(given.ids, place.tolist(), strict=True) if row < 0)
    added = describe_added_systems(strays, answers.samples)
    notes = () if ratings is None else (*([f"{added}."] if added else []), *describe_numbered_ids(runs))
    account = JoinReport(
        runs=tuple(str(run.folder) for run in runs),
        answers=len(answers.samples),
        rated=int(is_rated.sum()),
        not_rated=tuple(s.id for s, yes in zip(answers.samples, is_rated.tolist(), strict=True) if not yes),
        by_dimension={name: int(np.isfinite(rating[:, column]).sum()) for column, name in enumerate(named)},
        raters=len(seen),
        raters_per_answer={name: _count_raters(by_rater[name]) for name in named} if seen else {},
        rated_ids=len(given.ids),
        strays=strays,
        failures=_count(chosen, np.isnan(scores[kept]) & (found[kept] != _UNSEEN)),
        not_scored=_count(chosen, found[kept] == _UNSEEN),
        unknown_metrics=tuple(name for name in chosen if name not in registry.names()),
        unfinished=describe_unfinished(runs),
        left_out=given.left_out,
        unread=given.unread,
        notes=(*given.notes, *notes),
    )
    return rated, account


def read_signatures(runs: Sequence[Run], metrics: Sequence[str] | None = None) -> dict[str, str]:
    """Return the signatures of metrics by name, in the order asked for; None takes all that the runs have.

    Raises:
        UsageError: No run has the metric.
        InputError: Two runs have the same metric with different signatures: its scores cannot be compared.
    """
    found = dict.fromkeys(name for run in runs for name in run.manifest["settings"]["metrics"])
    who, has = ("the run has", "It has") if len(runs) == 1 else ("the runs have", "They have")
    for name in metrics or ():
        if name not in found:
            raise UsageError(f"{who} no metric {name!r}. {has}: {', '.join(found)}.")
    signatures: dict[str, str] = {}
    for name in found if metrics is None else metrics:
        given = {run.folder: run.manifest["settings"]["metrics"].get(name) for run in runs}
        (first, signature), *others = [(folder, text) for folder, text in given.items() if text is not None]
        for folder, other in others:
            if other != signature:
                raise _refuse_other_signature(name, (folder, other), (first, signature))
        signatures[name] = signature
    return signatures


def _refuse_other_signature(metric: str, here: tuple[Path, str], there: tuple[Path, str]) -> InputError:
    """Return the error about two runs whose signatures of a metric differ; it names the parts that do."""
    parts, others = here[1].split("|"), there[1].split("|")
    own = list_first([part for part in parts if part not in others])
    theirs = list_first([part for part in others if part not in parts])
    if not own and not theirs:
        own, theirs = here[1], there[1]
    return InputError(
        f"the metric {metric!r} was computed in another way here than in {there[0]}: {own or 'nothing'} instead of "
        f"{theirs or 'nothing'}",
        path=here[0],
        fix=f"To study both, copy the columns id and {metric} of its results.csv to a table, give {metric} another "
        "name there, and give the table to `imapeval study` with --scores in place of this run. Otherwise give one of "
        "the runs, or choose other metrics with --metrics.",
    )


def find_lower_is_better(metrics: Iterable[str]) -> frozenset[str]:
    """Return the metrics for which a low score is good; one that is not installed is taken for one of the others."""
    return frozenset(metrics) & {metric.name for metric in registry.all_metrics() if not metric.higher_is_better}


def _read_answers(runs: Sequence[Run]) -> _Answers:
    samples: list[Sample] = []
    row: dict[str, int] = {}
    folders: list[Path] = []
    ids: list[set[str]] = []
    for run in runs:
        own = run.samples()
        ids.append({sample.id for sample in own})
        for sample in own:
            place = row.setdefault(sample.id, len(samples))
            if place == len(samples):
                samples.append(sample)
                folders.append(run.folder)
                continue
            before = samples[place]
            # A run of data without ratings and one of the same data with ratings are compatible.
            if _texts(before) != _texts(sample) or any(
                value != before.ratings.get(name, value) for name, value in sample.ratings.items()
            ):
                what = "ratings" if _texts(before) == _texts(sample) else "texts"
                raise InputError(
                    f"the answer {sample.id[:60]!r} has different {what} here than in {folders[place]}",
                    path=run.folder,
                    fix="Make ids unique over all runs, for example by adding the system's name.",
                )
            samples[place] = replace(before, ratings={**before.ratings, **sample.ratings})
    return _Answers(samples, row, ids)


def _texts(sample: Sample) -> tuple[str, tuple[str, ...], str, str]:
    return (sample.question, sample.references, sample.response, system_label(sample))


def _read_scores(
    runs: Sequence[Run], answers: _Answers, metrics: Sequence[str]
) -> tuple[Floats, npt.NDArray[np.int16]]:
    """Return the scores, NaN where there is none, and the number of the run that each outcome comes from."""
    shape = (len(answers.samples), len(metrics))
    scores, found = np.full(shape, np.nan), np.full(shape, _UNSEEN, dtype=np.int16)
    column = {name: n for n, name in enumerate(metrics)}
    for number, run in enumerate(runs):
        for result in run.stream_results(answers.ids[number]):
            if result.metric not in column:
                continue
            cell = answers.row[result.id], column[result.metric]
            score = round_score(result.outcome.value) if isinstance(result.outcome, Score) else np.nan
            if found[cell] == _UNSEEN or np.isnan(scores[cell]):
                scores[cell], found[cell] = score, number
            elif score != scores[cell] and not np.isnan(score):
                raise InputError(
                    f"{result.metric!r} gives the answer {result.id[:60]!r} {score} here and {scores[cell]} in "
                    f"{runs[int(found[cell])].folder}, with the same signature",
                    path=run.folder,
                    fix="Give one of the runs; `imapeval study robustness` compares repeated ones.",
                )
    return scores, found


def _align(table: Floats, place: Counts, rows: int) -> Floats:
    """Align the rows of the ratings with the answers; NaN for answers without a rating."""
    spread = np.full((rows, table.shape[1]), np.nan)
    spread[place[place >= 0]] = table[place >= 0]
    return spread


def _refuse_unrated(given: Ratings, answers: _Answers, dimensions: Sequence[str]) -> UsageError:
    if any(id_ in answers.row for id_ in given.ids):
        return UsageError(
            f"no answer of the run is rated in {', '.join(dimensions)}. Choose other dimensions with --dimensions."
        )
    compared = contrast_ids("ratings", given.ids, "the run's", answers.samples)
    return UsageError(
        f"no answer of the run is rated: {compared}. Give the ratings the run's ids; --map id=<column> says which "
        "column holds them."
    )


def _read_facets(samples: Sequence[Sample], columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    languages = tuple(sample.lang for sample in samples)
    facets = {"language": languages}
    # Every study has these two, of its own making; a column of that name is none of them.
    own = (SYSTEM, DIMENSION)
    for name in (*_FACETS, *(name for name in columns if name not in own)):
        values = languages if name == "lang" else [sample.meta.get(name) for sample in samples]
        groups = tuple("" if is_missing(value) else str(value) for value in values)
        if any(groups):
            facets.setdefault(name, groups)
    return facets


def _measure(samples: Sequence[Sample], imap_sizes: Mapping[str, int]) -> dict[str, Floats]:
    response = np.array([len(sample.response) or np.nan for sample in samples])
    return {
        "response characters": np.array([float(len(sample.response)) for sample in samples]),
        "reference characters": np.array([len(s.references[0]) if s.references else np.nan for s in samples]),
        "compression": np.array([imap_sizes.get(sample.id, np.nan) for sample in samples]) / response,
        "words from the question": np.array([_repeat_question(sample) for sample in samples]),
    }


def _repeat_question(sample: Sample) -> float:
    """Return the share of the response's words that the question has too, 0..1; NaN without words."""
    words = split_for_squad(sample.response, sample.lang)
    asked = set(split_for_squad(sample.question, sample.lang))
    return sum(word in asked for word in words) / len(words) if words else np.nan


def _read_imap_sizes(runs: Sequence[Run]) -> dict[str, int]:
    """Return the characters of each response's imap: every term once, and every value of a term once."""
    sizes: dict[str, int] = {}
    for run in runs:
        for id_, pairs in run.stream_responses():
            if id_ not in sizes:
                terms = values_by_term(pairs)
                sizes[id_] = sum(len(term) + sum(map(len, values)) for term, values in terms.items())
    return sizes


def _count_raters(table: Floats) -> dict[int, int]:
    """Return the number of answers by their number of raters, in one dimension."""
    numbers: list[int] = np.isfinite(table).sum(axis=1).tolist()
    return {number: answers for number, answers in sorted(Counter(numbers).items()) if number}


def _count(metrics: Sequence[str], missing: Flags) -> dict[str, int]:
    return {name: n for name, n in zip(metrics, missing.sum(axis=0).tolist(), strict=True) if n}
