"""Reproduces Table 2 of Wang et al. 2024 and puts its numbers beside ours.

The paper summarises its table in the abstract (https://aclanthology.org/2024.findings-acl.610):
imapScore correlates better with the human scores than other metrics by 79.8% on average, and imap improves n-gram,
embedding and LLM metrics by 89.9%, 81.7% and 32.6%. The paper does not say how these averages were taken; ours are the
ratio of mean correlations, minus 1. The numbers of the table itself are read from a file, if the user has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Literal, NamedTuple

from imapeval.errors import UsageError
from imapeval.evaluation.samples.files.formats import read_file
from imapeval.evaluation.samples.rows import error_at, list_columns, read_number
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import ALL
from imapeval.study.number_format import format_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from imapeval.study.data.findings import CoefficientName, Correlation
    from imapeval.study.data.rated import Rated

Group = Literal["n-gram", "embedding", "LLM", "QA and entailment"]

METRICS: Mapping[str, tuple[str, Group]] = {
    "ROUGE-1": ("rouge1", "n-gram"),
    "ROUGE-2": ("rouge2", "n-gram"),
    "ROUGE-L": ("rougeL", "n-gram"),
    "BLEU-4": ("bleu", "n-gram"),
    "BERTScore": ("bertscore", "embedding"),
    "MoverScore": ("moverscore", "embedding"),
    "BARTScore": ("bartscore", "embedding"),
    "G-EVAL": ("geval", "LLM"),
    "GPTScore": ("gptscore", "LLM"),
    "FActScore": ("factscore", "LLM"),
    "QuestEval": ("questeval:llm", "QA and entailment"),
    "QAFactEval": ("qafacteval:llm", "QA and entailment"),
    "UniEval": ("unieval", "QA and entailment"),
    "AlignScore": ("alignscore", "QA and entailment"),
}
"""The paper's metrics, each also computed on imaps: name in the paper to ours and its group."""

OURS: Mapping[str, str] = {"imapScore+KG": "imapscore:paper"}
"""The paper's score, by Eq. 1 and with a graph. Without a graph (`imapScore`) ours does not exist."""

EXTRA = ("imapscore:mean", "imapscore")
"""Ours that the paper does not have."""

COEFFICIENTS: Mapping[str, CoefficientName] = {"rho": "spearman", "tau": "kendall_tau_b"}
"""The coefficients of the table, by column."""

ROWS: Mapping[str, int] = {
    "HMedQA-GPT-4": 200,
    "HMedQA-PaLM-2": 199,
    "iCliniq-ChatGPT": 200,
    "iCliniq-PaLM-2": 200,
}
"""Answers in each of the public files, by the file's name (dataset card of `lavita/imapScore` on Hugging Face)."""

_IMAPSCORE_GAIN = 0.798
_GROUP_GAINS: Mapping[Group, float] = {"n-gram": 0.899, "embedding": 0.817, "LLM": 0.326}
"""The gains that the abstract reports: of imapScore over the other metrics, and of imap in each group of metrics."""

_ON_IMAPS = "+imap"


class PaperCell(NamedTuple):
    """A place in the table.

    Attributes:
        metric: Our name, or the paper's where we have no such metric.
        system: Whose answers: "HMedQA/GPT-4", "HMedQA" for the mean over a data set, `ALL` for the mean over all.
        dimension: The rating dimension; `ALL` in a mean.
    """

    metric: str
    system: str
    dimension: str
    coefficient: CoefficientName


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One number of the table.

    Attributes:
        metric, system, dimension, coefficient: See `PaperCell`.
        paper: The paper's number; None if unknown.
        value, low, high: Ours, with its 95% interval; None if undefined or not run.
        difference, difference_low, difference_high: Ours less the paper's, with the interval of ours; the paper's
            number counts as exact, because its answers cannot be paired with ours.
        reason: Why there is no value of ours.
    """

    metric: str
    system: str
    dimension: str
    coefficient: CoefficientName
    paper: float | None
    value: float | None
    low: float | None
    high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    n: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Gain:
    """An improvement that the paper's abstract reports.

    Attributes:
        what: In words.
        paper: The paper's, as a share of the other's correlation.
        value: Ours; None if it cannot be computed.
        reason: Why not.
    """

    what: str
    paper: float
    value: float | None
    reason: str | None = None


def read_paper_table(path: Path) -> dict[PaperCell, float]:
    """Read the paper's numbers: CSV with the columns metric, system, dimension, rho and tau.

    Metrics have the paper's names (`ROUGE-1`, `ROUGE-1+imap`); `*` stands for a mean over dimensions.

    Raises:
        InputError: A column is missing, a value is invalid, or an entry is repeated.
    """
    numbers: dict[PaperCell, float] = {}
    for row in read_file(str(path), kind="csv"):
        names: list[str] = []
        for column in ("metric", "system", "dimension"):
            value = row.fields.get(column)
            if column in row.fields and not value:
                raise error_at(row, path, f"the {column} is empty", fix=f"Write the {column}.")
            if not isinstance(value, str):
                raise error_at(
                    row,
                    path,
                    f"there is no {column}; the columns are {list_columns(row.fields)}",
                    fix=f"Give the columns metric, system, dimension, {' and '.join(COEFFICIENTS)}.",
                )
            names.append(value)
        for column, coefficient in COEFFICIENTS.items():
            number = read_number(row.fields.get(column))
            if number is None or not -1 <= number <= 1:
                raise error_at(
                    row, path, f"the {column} {row.fields.get(column)!r} is not a correlation", fix="Write -1 to 1."
                )
            cell = PaperCell(_translate(names[0]), names[1], names[2], coefficient)
            if cell in numbers:
                raise error_at(row, path, f"{' '.join(names)} is given twice", fix="Keep one.")
            numbers[cell] = number
    return numbers


def _translate(name: str) -> str:
    """Return our name of a metric of the paper; its own where we have none."""
    if name in OURS:
        return OURS[name]
    plain = name.removesuffix(_ON_IMAPS)
    return METRICS[plain][0] + name.removeprefix(plain) if plain in METRICS else name


def choose_metrics(missing: Mapping[str, str], *, llm: bool) -> tuple[list[str], dict[str, str]]:
    """Choose the metrics of the table that can be run here; return their names, and why the others are left out.

    `missing` is what each metric requires and lacks, "" if nothing; `llm` whether a language model is available.
    """
    asking = {name for name, group in METRICS.values() if group == "LLM" or name.endswith(":llm")}
    chosen: list[str] = []
    left_out = {"imapScore": "the paper's score without a graph; ours always has one"}
    for metric, _ in METRICS.values():
        for name in (metric, f"{metric}{_ON_IMAPS}"):
            if name not in missing:
                left_out[name] = "there is no such metric"
            elif metric in asking and not llm:
                left_out[name] = "needs a language model: --llm"
            elif missing[name]:
                left_out[name] = missing[name]
            else:
                chosen.append(name)
    return [*OURS.values(), *EXTRA, *chosen], left_out


def correlate_table(rated: Rated, *, seed: int, resamples: int) -> dict[PaperCell, Correlation]:
    """Return our correlations at every place of the table: by system, by data set and over all."""

    def compute(part: Rated) -> list[Correlation]:
        return correlate(part, coefficients=tuple(COEFFICIENTS.values()), seed=seed, resamples=resamples)

    found = {_find_cell(row): row for row in compute(rated)}
    sets = [system.partition("/")[0] for system in rated.systems]
    for name in dict.fromkeys(sets):
        part = compute(rated.take([row for row, other in enumerate(sets) if other == name]))
        found |= {_find_cell(row)._replace(system=name): row for row in part if row.dimension == ALL}
    return found


def _find_cell(row: Correlation) -> PaperCell:
    return PaperCell(row.metric, row.system, row.dimension, row.coefficient)


def compare_with_paper(
    ours: Mapping[PaperCell, Correlation], paper: Mapping[PaperCell, float], left_out: Mapping[str, str]
) -> tuple[list[PaperRow], list[Gain]]:
    """Compare our correlations (`correlate_table`) with the paper's (`read_paper_table`), if there are any.

    `left_out` says why metrics were not run.

    Raises:
        UsageError: The paper's table has a system or dimension that does not exist here.
    """
    for place in ("system", "dimension"):
        known = {getattr(cell, place) for cell in ours}
        if unknown := next((name for cell in paper if (name := getattr(cell, place)) not in known), None):
            raise UsageError(
                f"the paper's table has the {place} {unknown!r}, which does not exist here. Known: "
                f"{', '.join(sorted(known))}."
            )
    rows = [
        PaperRow(
            *cell,
            paper=(stated := paper.get(cell)),
            value=row.value,
            low=row.low,
            high=row.high,
            difference=_subtract(row.value, stated),
            difference_low=_subtract(row.low, stated),
            difference_high=_subtract(row.high, stated),
            n=row.n,
            reason=row.reason,
        )
        for cell, row in ours.items()
    ]
    rows += [
        PaperRow(*cell, value, None, None, None, None, None, None, 0, left_out.get(cell.metric, "was not run"))
        for cell, value in paper.items()
        if cell not in ours
    ]
    spearman = COEFFICIENTS["rho"]
    means = {cell.metric: row.value for cell, row in ours.items() if cell[1:] == (ALL, ALL, spearman)}
    return rows, _compute_gains(means)


def _subtract(ours: float | None, paper: float | None) -> float | None:
    return None if ours is None or paper is None else ours - paper


def _compute_gains(means: Mapping[str, float | None]) -> list[Gain]:
    others = _drop_missing(means.get(name) for name, _ in METRICS.values())
    gains = [
        _compute_gain(what, _IMAPSCORE_GAIN, _drop_missing([means.get(name)]), others)
        for what, name in (
            ("imapScore over the other metrics", "imapscore:paper"),
            ("imapScore (our default) over the other metrics", "imapscore"),
        )
    ]
    for group, gain in _GROUP_GAINS.items():
        members = [name for name, other in METRICS.values() if other == group]
        names = [name for name in members if None not in (means.get(name), means.get(f"{name}{_ON_IMAPS}"))]
        gains.append(
            _compute_gain(
                f"imap in {group} metrics ({', '.join(names) or 'none was run'})",
                gain,
                _drop_missing(means[f"{name}{_ON_IMAPS}"] for name in names),
                _drop_missing(means[name] for name in names),
            )
        )
    return gains


def _drop_missing(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _compute_gain(what: str, paper: float, ours: Sequence[float], others: Sequence[float]) -> Gain:
    if not ours or not others:
        return Gain(what, paper, None, "no coefficients to compare")
    if (base := fmean(others)) <= 0:
        shown = format_number(base, digits=3)
        return Gain(what, paper, None, f"the others' mean correlation is {shown}, so there is no ratio")
    return Gain(what, paper, fmean(ours) / base - 1)
