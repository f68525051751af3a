"""`Assessment`: the scores of one answer, or why there are none, and the facts behind them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from importlib import import_module
from statistics import fmean
from typing import TYPE_CHECKING, Any, overload

from imapeval.errors import UsageError
from imapeval.evaluation import imap_files
from imapeval.evaluation.runs import Result, result_to_dict
from imapeval.explain import answers
from imapeval.explain.comparison import FactRow, compare, describe_facts, write_html, write_markdown
from imapeval.explain.context import write_context
from imapeval.scoring.arguments import frame_library
from imapeval.study.number_format import format_decimal
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.llm.middleware.budget import UsageTotals
    from imapeval.types import Outcome, Sample

MAX_SHOWN = 100
"""Maximum number of answers that a notebook shows."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """One answer with its outcomes. In a notebook it is displayed as a table of its facts.

    `value`, `parts` and `failure` are those of the first metric; `outcomes` has all.

    Attributes:
        id: The id of the answer as it was given; "" if it has none.
        sample: The answer. If the input was invalid it has what could be read, and `fault`, which every outcome is.
        outcomes: A score, or why there is none, by metric.
        signatures: Everything that can change the score, by metric.
        records: The imaps, one per reference and reading; () if none are needed or extraction failed.
        spent: Usage of the language model; None without one, or if the answer was scored together with others.
    """

    id: str
    sample: Sample
    outcomes: Mapping[str, Outcome]
    signatures: Mapping[str, str]
    records: tuple[ImapRecord, ...] = ()
    spent: UsageTotals | None = None

    @property
    def metric(self) -> str:
        """The name of the first metric."""
        return next(iter(self.outcomes))

    @property
    def value(self) -> float | None:
        """The first metric's score; None if there is none, and then `failure` says why."""
        outcome = self.outcomes[self.metric]
        return outcome.value if isinstance(outcome, Score) else None

    @property
    def parts(self) -> Mapping[str, float]:
        """The parts of the first metric's score; empty if there is none."""
        outcome = self.outcomes[self.metric]
        return outcome.parts if isinstance(outcome, Score) else {}

    @property
    def failure(self) -> Failure | None:
        """Why the first metric has no score; None if it has one."""
        outcome = self.outcomes[self.metric]
        return outcome if isinstance(outcome, Failure) else None

    @property
    def record(self) -> ImapRecord | None:
        """The facts in the first reading, matched with the first reference, or with the best one if only that counts.

        imapScore decides which is best if it was requested; otherwise the first metric with a score does.
        """
        return answers.find_counted_record(self.sample, self.outcomes, self.records)

    @property
    def rows(self) -> list[FactRow]:
        """The facts of reference and response side by side; empty if there are none."""
        record = self.record
        return [] if record is None else compare(record)

    @property
    def reason(self) -> str:
        """The first metric's score and the facts that the response has and lacks; or why there is no score."""
        return answers.describe_outcome(self.metric, self.outcomes[self.metric], describe_facts(self.record))

    @property
    def table(self) -> str:
        """The facts side by side as a Markdown table; "" if there are none."""
        rows = self.rows
        return write_markdown(rows) if rows else ""

    @property
    def context(self) -> str:
        """Facts and matches as a text for the prompt of another judge; "" if there are none."""
        return "" if self.record is None else write_context(self.record, self.sample.lang)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values: `id`, `score`, `parts`, `failure`, `reason`, `metrics`, `imaps`, `usage`.

        `metrics` has the fields of `results.jsonl` by metric, `imaps` are lines of `imaps.jsonl`.
        """
        by_metric = {
            name: {
                field: value
                for field, value in result_to_dict(Result(self.id, name, outcome, self.signatures[name])).items()
                if field not in ("id", "metric")
            }
            for name, outcome in self.outcomes.items()
        }
        first = by_metric[self.metric]
        return {
            "id": self.id,
            **{name: first[name] for name in ("score", "parts", "failure")},
            "reason": self.reason,
            "metrics": by_metric,
            "imaps": [json.loads(imap_files.dump_record(record)) for record in self.records],
            "usage": None if self.spent is None else asdict(self.spent),
        }

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_format_outcome(outcome)}" for name, outcome in self.outcomes.items())
        return f"<Assessment{f' of {self.id}' if self.id else ''}: {shown}>"

    def _repr_html_(self) -> str:
        heads = "".join(
            f"<div><b>{escape(name)}</b> {escape(_describe_outcome(outcome))}</div>"
            for name, outcome in self.outcomes.items()
        )
        rows = self.rows
        return f"<div>{heads}{write_html(rows) if rows else ''}</div>"


class Assessments(Sequence[Assessment]):
    """The assessments of many answers, in order. In a notebook they are displayed as a table.

    Args:
        items: One assessment per answer.
        metrics: Names of the metrics in order; None for those of the first item.
        spent: Usage of the language model for all answers; None without one, and for a part of the answers.
        frame: The data frame that the answers come from, of pandas or polars; None without one, and for a part.
    """

    def __init__(
        self,
        items: Sequence[Assessment],
        *,
        metrics: Sequence[str] | None = None,
        spent: UsageTotals | None = None,
        frame: Any = None,
    ) -> None:
        self._items = tuple(items)
        self._metrics = list(self._items[0].outcomes if metrics is None and self._items else metrics or ())
        self._frame = frame
        self.spent = spent

    @overload
    def __getitem__(self, index: int) -> Assessment: ...
    @overload
    def __getitem__(self, index: slice) -> Assessments: ...
    def __getitem__(self, index: int | slice) -> Assessment | Assessments:
        if isinstance(index, slice):
            return self._take(self._items[index])
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    @property
    def means(self) -> dict[str, float | None]:
        """The mean of each metric over the answers that it scored; None if it scored none."""
        found: dict[str, float | None] = {}
        for name in self._metrics:
            values = [outcome.value for item in self if isinstance(outcome := item.outcomes[name], Score)]
            found[name] = fmean(values) if values else None
        return found

    @property
    def failed(self) -> Assessments:
        """The answers that some metric could not score."""
        return self._take([item for item in self if any(isinstance(o, Failure) for o in item.outcomes.values())])

    @property
    def missing(self) -> Assessments:
        """The answers that are not scored because there is no response. They are included in `failed`."""
        return self._take([item for item in self if not item.sample.answered])

    def to_rows(self) -> list[dict[str, Any]]:
        """Return rows for `pandas.DataFrame`: `id`, `system`, each metric (None if not scored) and `failure`."""
        return [
            {
                "id": item.id,
                "system": item.sample.system,
                **{name: o.value if isinstance(o, Score) else None for name, o in item.outcomes.items()},
                "failure": next((o.kind for o in item.outcomes.values() if isinstance(o, Failure)), None),
            }
            for item in self
        ]

    def to_frame(self) -> Any:
        """Return the data frame that was scored, of pandas or polars, with a column for each metric and `failure`.

        Rows, index and columns are as given; a score that is missing is the library's missing value. A column of the
        frame that is called like a metric, or `failure`, is replaced.

        Raises:
            UsageError: No data frame was scored, or these are a part of its answers.
        """
        if self._frame is None:
            raise UsageError(
                "these assessments have no data frame: none was scored, or they are a part of those that have it. Give "
                "to_rows() to pandas or polars."
            )
        rows = self.to_rows()
        names = [*self._metrics, "failure"]
        columns = {name: [row[name] for row in rows] for name in names}
        if frame_library(self._frame) == "polars":
            polars: Any = import_module("polars")
            kinds = {name: polars.String if name == "failure" else polars.Float64 for name in names}
            return self._frame.with_columns(
                [polars.Series(name, values, dtype=kinds[name]) for name, values in columns.items()]
            )
        # A column of None alone would be one of objects.
        return self._frame.assign(**columns).astype(dict.fromkeys(self._metrics, "float64"))

    def _take(self, items: Sequence[Assessment]) -> Assessments:
        return Assessments(items, metrics=self._metrics)

    def __repr__(self) -> str:
        means = ", ".join(
            f"{name}={'–' if mean is None else format_decimal(mean)}" for name, mean in self.means.items()
        )
        shown = f"; means {means}" if means else ""
        return f"<Assessments: answers={len(self)}, failed={len(self.failed)}{shown}>"

    def _repr_html_(self) -> str:
        rows = self[:MAX_SHOWN].to_rows()
        titles = "".join(f"<th>{escape(name)}</th>" for name in (rows[0] if rows else ()))
        body = "".join(
            f"<tr>{''.join(f'<td>{_format_cell(value)}</td>' for value in row.values())}</tr>" for row in rows
        )
        more = f"<div>and {len(self) - MAX_SHOWN} more</div>" if len(self) > MAX_SHOWN else ""
        return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>{more}"


def _format_outcome(outcome: Outcome) -> str:
    return format_decimal(outcome.value) if isinstance(outcome, Score) else f"not scored ({outcome.kind})"


def _describe_outcome(outcome: Outcome) -> str:
    if isinstance(outcome, Failure):
        return f"not scored: {outcome.message}"
    return answers.format_score_with_parts(outcome)


def _format_cell(value: object) -> str:
    if value is None:
        return "–"
    return format_decimal(value) if isinstance(value, float) else escape(str(value))
