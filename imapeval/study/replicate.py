"""Reproduces Table 2 of Wang et al. 2024 and puts its numbers beside ours.

The paper summarises its table in the abstract (https://aclanthology.org/2024.findings-acl.610):
imapScore correlates better with the human scores than other metrics by 79.8% on average, and imap improves n-gram,
embedding and LLM metrics by 89.9%, 81.7% and 32.6%. The paper does not say how these averages were taken; ours are the
ratio of mean correlations, minus 1. The numbers of the table itself are read from a file, if the user has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Literal, get_args

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.samples.rows import list_columns, read_csv, read_number
from imapeval.study.data.findings import ALL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from imapeval.study.data.findings import Correlation

Group = Literal["n-gram", "embedding", "LLM"]

METRICS: Mapping[str, Group] = {
    "rouge1": "n-gram",
    "rouge2": "n-gram",
    "rougeL": "n-gram",
    "bleu": "n-gram",
    "meteor": "n-gram",
    "chrf": "n-gram",
    "cosine": "embedding",
    "bertscore": "embedding",
    "moverscore": "embedding",
    "bartscore": "embedding",
    "geval": "LLM",
    "gptscore": "LLM",
}
"""The metrics in the paper's three groups, each also computed on imaps."""

OURS = ("imapscore:paper", "imapscore:mean", "imapscore")

ROWS: Mapping[str, int] = {
    "HMedQA-GPT-4": 200,
    "HMedQA-PaLM-2": 199,
    "iCliniq-ChatGPT": 200,
    "iCliniq-PaLM-2": 200,
}
"""Answers in each of the public files, by the file's name (dataset card of `lavita/imapScore` on Hugging Face)."""

_ABSTRACT: Mapping[str, float] = {"imapscore": 0.798, "n-gram": 0.899, "embedding": 0.817, "LLM": 0.326}


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One number of the table.

    Attributes:
        metric: Name of the metric.
        system: Whose answers; `ALL` in the mean.
        dimension: Of the ratings; `ALL` in the mean.
        paper: The paper's number; None if unknown.
        value, low, high: Ours, with its 95% interval; None if undefined or not run.
        n: Number of answers.
        reason: Why there is no value of ours.
    """

    metric: str
    system: str
    dimension: str
    paper: float | None
    value: float | None
    low: float | None
    high: float | None
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


def read_paper_table(path: Path) -> dict[tuple[str, str, str], float]:
    """Read the paper's numbers: CSV with the columns metric, system, dimension and value.

    Names are ours: `rouge1`, `rouge1+imap`, `HMedQA/GPT-4`, `accuracy`; `*` stands for a mean.

    Raises:
        InputError: A column is missing, a value is invalid, or an entry is repeated.
    """
    numbers: dict[tuple[str, str, str], float] = {}
    for row in read_csv(str(path)):
        key: list[str] = []
        for name in ("metric", "system", "dimension"):
            value = row.fields.get(name)
            if not isinstance(value, str) or not value:
                raise InputError(
                    f"there is no {name}; the columns are {list_columns(row.fields)}",
                    path=path,
                    line=row.line,
                    fix="Give the columns metric, system, dimension and value.",
                )
            key.append(value)
        number = read_number(row.fields.get("value"))
        if number is None or not -1 <= number <= 1:
            raise InputError(
                f"{row.fields.get('value')!r} is not a correlation", path=path, line=row.line, fix="Write -1 to 1."
            )
        place = (key[0], key[1], key[2])
        if place in numbers:
            raise InputError(f"{' '.join(key)} is given twice", path=path, line=row.line, fix="Keep one.")
        numbers[place] = number
    return numbers


def choose_metrics(missing: Mapping[str, str], *, llm: bool) -> tuple[list[str], dict[str, str]]:
    """Choose the metrics of the table that can be run here.

    Args:
        missing: What each metric requires and lacks, by name; "" if nothing.
        llm: Whether a language model is available.

    Returns:
        Their names, and for the others the reason why they are left out.
    """
    chosen: list[str] = []
    left_out: dict[str, str] = {}
    for metric, group in METRICS.items():
        for name in (metric, f"{metric}+imap"):
            if name not in missing:
                left_out[name] = "there is no such metric"
            elif group == "LLM" and not llm:
                left_out[name] = "needs a language model: --llm"
            elif missing[name]:
                left_out[name] = missing[name]
            else:
                chosen.append(name)
    return [*OURS, *chosen], left_out


def compare_with_paper(
    correlations: Sequence[Correlation], paper: Mapping[tuple[str, str, str], float]
) -> tuple[list[PaperRow], list[Gain]]:
    """Compare our correlations with the paper's.

    Args:
        correlations: One coefficient, within systems, with their means.
        paper: As `read_paper_table` gives them; may be empty.

    Raises:
        UsageError: A name in the paper's table does not exist here.
    """
    ours = {(row.metric, row.system, row.dimension): row for row in correlations}
    known = [{key[place] for key in ours} for place in range(3)]
    for key in paper:
        for place, what in enumerate(("system", "dimension"), 1):
            if key[place] not in known[place]:
                names = ", ".join(sorted(known[place]))
                raise UsageError(
                    f"the paper's table has the {what} {key[place]!r}, which does not exist here. Known: {names}."
                )
    rows = [
        PaperRow(*key, paper.get(key), row.value, row.low, row.high, row.n, row.reason) for key, row in ours.items()
    ]
    rows += [
        PaperRow(*key, value, None, None, None, 0, "was not run") for key, value in paper.items() if key not in ours
    ]
    means = {row.metric: row.value for row in correlations if (row.system, row.dimension) == (ALL, ALL)}
    return rows, _compute_gains(means)


def _compute_gains(means: Mapping[str, float | None]) -> list[Gain]:
    others = [value for name in METRICS if (value := means.get(name)) is not None]
    gains = [
        _gain("imapScore over the other metrics", _ABSTRACT["imapscore"], [means.get("imapscore:paper")], others),
        _gain(
            "imapScore (our default) over the other metrics", _ABSTRACT["imapscore"], [means.get("imapscore")], others
        ),
    ]
    for group in get_args(Group):
        names = [n for n, g in METRICS.items() if g == group and None not in (means.get(n), means.get(f"{n}+imap"))]
        gains.append(
            _gain(
                f"imap in {group} metrics ({', '.join(names) or 'none was run'})",
                _ABSTRACT[group],
                [means[f"{name}+imap"] for name in names],
                [value for name in names if (value := means[name]) is not None],
            )
        )
    return gains


def _gain(what: str, paper: float, ours: Sequence[float | None], others: Sequence[float]) -> Gain:
    values = [value for value in ours if value is not None]
    if not values or not others:
        return Gain(what, paper, None, "one of the two was not run")
    if (base := fmean(others)) <= 0:
        return Gain(what, paper, None, f"the others' mean correlation is {base:.3f}, so there is no ratio")
    return Gain(what, paper, fmean(values) / base - 1)
