"""Reads the answers of systems from runs: what was asked, who answered, and the scores."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.samples import system_label
from imapeval.study.arrays import divide
from imapeval.study.data.joining import find_lower_is_better, read_signatures
from imapeval.study.intervals.bootstrap import number_clusters
from imapeval.text.identity import identify_question
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.evaluation.runs import Run
    from imapeval.study.arrays import Counts, Flags, Floats
    from imapeval.types import Sample

_COLUMNS = ("task", "dataset", "language")
"""Groups of questions that are compared if the data has them."""


@dataclass(frozen=True, slots=True)
class SystemAnswers:
    """The scored answers of several systems. Rows are answers.

    Attributes:
        samples: The answers, n of them.
        runs: Number of the run that each answer comes from, shape (n,).
        systems: Names of the systems, in the order of the runs, s of them.
        system: The system of each answer, as an index of `systems`, shape (n,).
        questions: The question of each answer, numbered from 0, shape (n,). Two answers are to the same question if
            the texts of the question and of its references are the same (`identify_question`).
        metrics: Names of the metrics, m of them.
        scores: Shape (n, m); NaN if there is no score.
        lower_is_better: Metrics for which a low score is good.
        groups: The group of each answer by column, such as "task"; "" where the data does not say.
        owners: For each run, the first run with the same answers (itself if there is no other), whose number `runs`
            has; empty where the answers are not from runs.
        sizes: How many questions each one counts as in a mean, shape (questions,); None for one each.
    """

    samples: tuple[Sample, ...]
    runs: Counts
    systems: tuple[str, ...]
    system: Counts
    questions: Counts
    metrics: tuple[str, ...]
    scores: Floats
    lower_is_better: frozenset[str]
    groups: Mapping[str, tuple[str, ...]]
    owners: tuple[int, ...] = ()
    sizes: Floats | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the answers; those of two runs may be the same."""
        return tuple(sample.id for sample in self.samples)

    def average(self, metric: str, *, group: tuple[str, str] | None = None) -> Floats:
        """Return each system's mean score by question, shape (s, questions); NaN without a score.

        Given a column and a group in it, only its answers count.
        """
        shape = (len(self.systems), int(self.questions.max(initial=-1)) + 1)
        scores = self.scores[:, self.metrics.index(metric)]
        used = np.isfinite(scores)
        if group is not None:
            used &= np.array([name == group[1] for name in self.groups[group[0]]])
        place = np.ravel_multi_index((self.system[used], self.questions[used]), shape)
        sums, sizes = (np.bincount(place, weights=w, minlength=shape[0] * shape[1]) for w in (scores[used], None))
        return divide(sums, sizes).reshape(shape)

    def find_weights(self, used: Flags) -> Floats:
        """Return the weights in a mean of the questions used, 1 on average."""
        if self.sizes is None or not used.any():
            return np.ones(int(used.sum()))
        sizes = self.sizes[used]
        return sizes / sizes.mean()


def read_systems(
    runs: Sequence[Run], *, metrics: Sequence[str] | None = None, by: Sequence[str] | None = None
) -> SystemAnswers:
    """Read the systems of one or more runs.

    The answers of a run without a system's name are those of a system that is named like the folder of the run. If two
    runs have answers of the same system, the folder is added to its name. If two runs hold the very same answers,
    scored by other metrics, they are joined.

    Args:
        runs: At least one.
        metrics: Metrics in the order of the result; None takes those of the runs.
        by: Columns of the data that group the questions; None takes `task`, `dataset` and `language` if there are
            several groups.

    Raises:
        UsageError: There are fewer than two systems, or no such metric or column.
        InputError: A run cannot be read, or two have the same metric with different signatures.
    """
    chosen = tuple(read_signatures(runs, metrics))
    contents = [run.samples() for run in runs]
    # The first run with the same answers.
    written = [repr(content) for content in contents]  # in which NaN is NaN
    owners = [written.index(content) for content in written]
    label = _name_systems(runs, contents, owners)
    row: dict[tuple[int, str], int] = {}
    samples: list[Sample] = []
    for number in dict.fromkeys(owners):
        for sample in contents[number]:
            row[number, sample.id] = len(samples)
            samples.append(sample)
    origins = [number for number, _ in row]
    named = [label[origin, system_label(sample)] for origin, sample in zip(origins, samples, strict=True)]
    systems = tuple(dict.fromkeys(named))
    if len(systems) < 2:
        raise UsageError(
            f"all answers are of one system, {systems[0]!r}. Give another run, or score data with a column `system`."
            if systems
            else "the runs have no answers. Give runs with answers of two systems."
        )
    return SystemAnswers(
        samples=tuple(samples),
        runs=np.array(origins, dtype=np.int64),
        systems=systems,
        system=np.array([systems.index(name) for name in named], dtype=np.int64),
        questions=number_clusters([identify_question(sample.question, sample.references) for sample in samples]),
        metrics=chosen,
        scores=_read_scores(runs, owners, row, chosen),
        lower_is_better=find_lower_is_better(chosen),
        groups=_read_groups(samples, by),
        owners=tuple(owners),
    )


def _name_systems(
    runs: Sequence[Run], contents: Sequence[Sequence[Sample]], owners: Sequence[int]
) -> dict[tuple[int, str], str]:
    """Return a name for each system of each run that owns its answers."""
    found = [(n, label) for n in dict.fromkeys(owners) for label in dict.fromkeys(map(system_label, contents[n]))]
    plain = {(n, label): label or runs[n].folder.resolve().name for n, label in found}
    often = Counter(plain.values())
    names = {key: name if often[name] == 1 else f"{name} ({runs[key[0]].folder})" for key, name in plain.items()}
    for (n, label), name in plain.items():
        if not label and (n, name) in plain:
            names[n, label] = f"{name} ({runs[n].folder}, without a name)"
    return names


def _read_scores(
    runs: Sequence[Run], owners: Sequence[int], row: Mapping[tuple[int, str], int], metrics: Sequence[str]
) -> Floats:
    scores = np.full((len(row), len(metrics)), np.nan)
    column = {name: n for n, name in enumerate(metrics)}
    for run, owner in zip(runs, owners, strict=True):
        for result in run.stream_results([id_ for number, id_ in row if number == owner]):
            if result.metric not in column or not isinstance(result.outcome, Score):
                continue
            cell = row[owner, result.id], column[result.metric]
            if np.isfinite(scores[cell]) and scores[cell] != result.outcome.value:
                raise InputError(
                    f"{result.metric!r} gives the answer {result.id[:60]!r} {result.outcome.value} here and "
                    f"{scores[cell]} in another run with the same answers and signature",
                    path=run.folder,
                    fix="Give one of the runs; `imapeval study robustness` compares repeated ones.",
                )
            scores[cell] = result.outcome.value
    return scores


_LANGUAGE = ("language", "lang")
"""Names of the language: that of the groups, and that of the column."""


def _read_groups(samples: Sequence[Sample], by: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """Return the group of each answer by column.

    Raises:
        UsageError: No answer has one of the columns.
    """
    groups: dict[str, tuple[str, ...]] = {}
    for name in _COLUMNS if by is None else by:
        values = [sample.lang if name in _LANGUAGE else sample.meta.get(name) for sample in samples]
        groups[name] = tuple("" if value is None else str(value) for value in values)
        if by is not None and not any(groups[name]):
            columns = dict.fromkeys(("language", *(key for sample in samples for key in sample.meta)))
            raise UsageError(f"the data has no column {name!r}. It has: {', '.join(columns)}.")
    return {name: given for name, given in groups.items() if by is not None or len(set(given) - {""}) > 1}
