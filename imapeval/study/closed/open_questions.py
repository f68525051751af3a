"""Compares open with closed answers: the same questions without and with options (CareQA, Arias-Duart et al. 2025).

Items are joined by model and id. Whether a model chose a right option takes the place of a rating, so that every
coefficient and interval of a study applies: how well does an open score tell whether the model knows the answer?
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import compress
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.samples import system_label
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.joining import find_lower_is_better
from imapeval.study.data.rated import Rated, round_score
from imapeval.study.intervals.bootstrap import number_clusters
from imapeval.study.robustness.repeats import find_original, tabulate_repeats
from imapeval.study.systems.answers import SystemAnswers
from imapeval.study.systems.differences import compare_systems
from imapeval.study.systems.ranking import rank_systems
from imapeval.types import Sample, Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from imapeval.evaluation.runs import Run
    from imapeval.study.closed.logs import ClosedAnswer
    from imapeval.study.data.findings import Correlation
    from imapeval.study.robustness.repeats import RepeatKind, Repeats, Unit
    from imapeval.study.systems.ranking import Standing

RIGHT_CHOICE = "right choice"
"""Name of the rating: 1 for a right option, 0 for a wrong one or none; the mean over several runs."""

_Key = tuple[str, str]
"""A model, and the id of an answer or of an item."""


@dataclass(frozen=True, slots=True)
class OpenAnswers:
    """Open answers to closed items.

    Attributes:
        rated: The answers with their scores and, as ratings, the choices; questions are numbered by item.
        repeats: Rewordings of the answers, and several answers of a model to one item; may be empty.
    """

    rated: Rated
    repeats: tuple[Repeats, ...]


@dataclass(frozen=True, slots=True)
class FormCounts:
    """Counts of questions that one model answers rightly in either form.

    Attributes:
        items: Number of questions asked in both forms.
        mean_choice: Share of right choices.
        mean_score: Mean open score.
        both, closed_only, open_only, neither: Numbers of questions: right with options, right without (a score that
            reaches the threshold). Over several runs, right means right in more than half of them; over several open
            answers to an item, their mean score counts.
        closed_only_ids, open_only_ids: The open answers, the first of each item, to the items of these counts.
    """

    model: str
    items: int
    mean_choice: float
    mean_score: float
    both: int
    closed_only: int
    open_only: int
    neither: int
    closed_only_ids: tuple[str, ...]
    open_only_ids: tuple[str, ...]


def join_open_answers(
    answers: Sequence[ClosedAnswer], runs: Sequence[Run], *, item_column: str | None = None
) -> OpenAnswers:
    """Join open answers' scores with the choices of the same model on the same item.

    Several runs may hold other metrics of the same answers, other answers, or answers in other words (a column
    `original`, as `imapeval study paraphrase` writes); their systems have the names of the models. A metric has one
    signature for all answers of a model. `item_column` is the column of the open data that has the closed item's id;
    None takes the answers' ids.

    Raises:
        UsageError: There are no closed answers, no run has the column, nothing can be joined, or an id stands for
            different closed questions.
        InputError: Runs contradict each other.
    """
    if not answers:
        raise UsageError("the logs have no closed questions to compare open answers with. Leave out --open.")
    choices = _read_choices(answers)
    samples, scores = _read_runs(runs)
    if item_column is not None and not any(item_column in sample.meta for sample in samples.values()):
        raise UsageError(f"the open data has no column {item_column!r}. Name another with --open-item.")
    items = {
        (model, id_): (model, str(id_ if item_column is None else sample.meta.get(item_column, "")))
        for (model, id_), sample in samples.items()
        if find_original(sample) is None
    }
    shared = [key for key, item in items.items() if item in choices]
    if not shared:
        raise _refuse_unjoined(runs, next(iter(choices)), next(iter(items.values()), None))
    metrics = tuple(dict.fromkeys(name for run in runs for name in run.manifest["settings"]["metrics"]))
    rated = Rated(
        ids=tuple(id_ for _, id_ in shared),
        questions=number_clusters([items[key][1] for key in shared]),
        systems=tuple(model for model, _ in shared),
        metrics=metrics,
        scores=np.array([[scores.get((key, metric), np.nan) for metric in metrics] for key in shared]),
        dimensions=(RIGHT_CHOICE,),
        ratings=np.array([[fmean(choices[items[key]])] for key in shared]),
        lower_is_better=find_lower_is_better(metrics),
        ranges={name: span for run in runs for name, span in run.ranges.items() if name in metrics},
    )
    reworded: dict[_Key, list[_Key]] = {key: [key] for key in shared}
    for (model, id_), sample in samples.items():
        named = find_original(sample)
        if named is not None and (model, named) in reworded:
            reworded[model, named].append((model, id_))
    again: dict[_Key, list[_Key]] = {}
    for key in shared:
        again.setdefault(items[key], []).append(key)
    groups: dict[RepeatKind, Iterable[list[_Key]]] = {"rewording": reworded.values(), "sampling": again.values()}
    units: dict[RepeatKind, list[Unit[_Key]]] = {
        kind: [(samples[keys[0]], items[keys[0]][1], keys) for keys in of_kind] for kind, of_kind in groups.items()
    }
    return OpenAnswers(rated, tuple(tabulate_repeats(units, metrics, scores)))


def _read_choices(answers: Sequence[ClosedAnswer]) -> dict[_Key, list[float]]:
    choices: dict[_Key, list[float]] = {}
    asked: dict[_Key, ClosedAnswer] = {}
    for answer in answers:
        key = (answer.model, answer.item)
        before = asked.setdefault(key, answer)
        if before.task != answer.task and before.question and answer.question and before.question != answer.question:
            raise UsageError(
                f"the item {answer.item!r} is one question in {before.task} and another in {answer.task}. Give the "
                "logs of the task that has an open form."
            )
        choices.setdefault(key, []).append(float(answer.right or False))
    return choices


def _read_runs(runs: Sequence[Run]) -> tuple[dict[_Key, Sample], dict[tuple[_Key, str], float]]:
    """Return the answers by model and id, and their scores by these and the metric."""
    samples: dict[_Key, Sample] = {}
    scores: dict[tuple[_Key, str], float] = {}
    signatures: dict[tuple[str, str], tuple[str, Run]] = {}
    for run in runs:
        models = {sample.id: system_label(sample) for sample in run.samples()}
        for sample in run.samples():
            before = samples.setdefault((models[sample.id], sample.id), sample)
            if (before.question, before.response) != (sample.question, sample.response):
                raise InputError(
                    f"the answer {sample.id!r} of {models[sample.id] or 'an unnamed system'} is another one here than "
                    "in a run before",
                    path=run.folder,
                    fix="Make ids unique over all runs; a rewording has the column `original`.",
                )
        for metric, signature in run.manifest["settings"]["metrics"].items():
            for model in dict.fromkeys(models.values()):
                first, where = signatures.setdefault((model, metric), (signature, run))
                if first != signature:
                    raise InputError(
                        f"{metric} of {model or 'an unnamed system'} is {signature} here, and {first} in "
                        f"{where.folder}",
                        path=run.folder,
                        fix="Score all answers of a model in the same way.",
                    )
        for result in run.results():
            if isinstance(result.outcome, Score) and result.id in models:
                scores[(models[result.id], result.id), result.metric] = round_score(result.outcome.value)
    return samples, scores


def _refuse_unjoined(runs: Sequence[Run], closed: _Key, opened: _Key | None) -> UsageError:
    folders = ", ".join(str(run.folder) for run in runs)
    if opened is None:
        return UsageError(f"{folders} has no answers. Give another run with --open.")
    return UsageError(
        f"no answer in {folders} is to an item of the logs, such as {closed[1]!r} by {closed[0]!r}; it has, for "
        f"example, {opened[1]!r} by {opened[0] or 'no system'!r}. Name systems as the logs name models, and the column "
        "with the item's id by --open-item."
    )


def correlate_forms(rated: Rated, *, seed: int = 0) -> list[Correlation]:
    """Correlate open scores with right choices: Spearman's rho over all answers, per model and between models."""
    several = len(set(rated.systems)) > 1
    levels = ("within-system", "global", "system") if several else ("within-system",)
    return correlate(rated, coefficients=["spearman"], levels=levels, seed=seed)


def rank_forms(rated: Rated, *, seed: int = 0) -> list[Standing]:
    """Rank models by right choices and by each open metric, over the same items.

    Returns:
        The leaderboards, with that of right choices first.
    """
    models = tuple(dict.fromkeys(rated.systems))
    systems = SystemAnswers(
        samples=tuple(
            Sample(id_, id_, (), "", system=model) for id_, model in zip(rated.ids, rated.systems, strict=True)
        ),
        runs=np.zeros(len(rated.ids), dtype=np.int64),
        systems=models,
        system=np.array([models.index(model) for model in rated.systems], dtype=np.int64),
        questions=rated.questions,
        metrics=(RIGHT_CHOICE, *rated.metrics),
        scores=np.hstack([rated.ratings, rated.scores]),
        lower_is_better=rated.lower_is_better,
        groups={},
    )
    differences = compare_systems(systems, seed=seed) if len(models) > 1 else []
    return rank_systems(systems, differences, ranges={**rated.ranges, RIGHT_CHOICE: (0.0, 1.0)}, seed=seed)


def count_forms(rated: Rated, metric: str, *, threshold: float) -> list[FormCounts]:
    """Count the questions that each model answers rightly with options, without, in both forms and in neither.

    An open answer counts as right from the threshold on, or up to it if low scores are good; without a score it is left
    out.
    """
    scores, choices = rated.scores_of(metric), rated.ratings_of(RIGHT_CHOICE)
    sign = -1.0 if metric in rated.lower_is_better else 1.0
    by_item: dict[str, dict[int, list[int]]] = defaultdict(dict)
    for row in np.flatnonzero(np.isfinite(scores)).tolist():
        by_item[rated.systems[row]].setdefault(int(rated.questions[row]), []).append(row)
    found: list[FormCounts] = []
    for model, items in by_item.items():
        ids = [rated.ids[rows[0]] for rows in items.values()]
        means = np.array([(choices[rows].mean(), scores[rows].mean()) for rows in items.values()])
        closed, opened = means[:, 0] > 0.5, means[:, 1] >= sign * threshold
        found.append(
            FormCounts(
                model,
                items=len(means),
                mean_choice=float(means[:, 0].mean()),
                mean_score=sign * float(means[:, 1].mean()),
                both=int((closed & opened).sum()),
                closed_only=int((closed & ~opened).sum()),
                open_only=int((~closed & opened).sum()),
                neither=int((~closed & ~opened).sum()),
                closed_only_ids=tuple(compress(ids, closed & ~opened)),
                open_only_ids=tuple(compress(ids, ~closed & opened)),
            )
        )
    return found
