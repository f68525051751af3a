"""`imapeval study corrections`."""

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import SeedOption
from imapeval.cli.options import JsonOption, KgOption
from imapeval.cli.output import (
    Column,
    echo,
    emit,
    emit_json,
    interval_column,
    require_new_file,
    write_lines,
)
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from imapeval.study.robustness.corrections import CorrectionReport


def corrections(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run that was corrected.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the imaps of the run, with their corrections, for `imapeval score --imaps FILE`.",
        ),
    ] = None,
    kg: KgOption = None,
    seed: SeedOption = 0,
    json_output: JsonOption = False,
) -> None:
    """Report how often the reader erred, in what, and what corrections did to the scores."""
    from imapeval.evaluation.corrections import CORRECTIONS
    from imapeval.evaluation.imap_files import dump_record
    from imapeval.evaluation.pipeline import open_graph, open_matcher
    from imapeval.evaluation.rescoring import correct_run
    from imapeval.evaluation.runs import Run
    from imapeval.study.robustness.corrections import report_corrections

    run = Run(folder)
    if not (folder / CORRECTIONS).exists():
        raise UsageError(f"{folder} has no corrections. Make some with: imapeval review {shlex.quote(str(folder))}")
    if out is not None:
        require_new_file(out)
    corrected = asyncio.run(correct_run(run, open_matcher(open_graph(kg))))
    report = report_corrections(run, {id_: outcomes for id_, (_, outcomes) in corrected.items()}, seed=seed)
    if out is not None:
        new = {record.key: record for records, _ in corrected.values() for record in records}
        write_lines(out, (dump_record(new.get(record.key, record)) for record in run.imaps()))
    if json_output:
        emit_json(report)
    else:
        _print(report)


def _print(report: "CorrectionReport") -> None:
    from imapeval.report.formatting import pluralize
    from imapeval.study.intervals.coverage import describe_mean_coverage
    from imapeval.study.number_format import format_score

    echo(
        f"{pluralize(report.corrections, 'correction')} by {pluralize(len(report.people), 'reviewer')}; imaps checked: "
        f"{report.checked:,}"
        + (f", {report.unchecked} more were corrected but not marked as checked." if report.unchecked else ".")
    )
    emit(
        report.reading,
        [
            Column("side", "side", text=True),
            Column("language", "lang", text=True),
            Column("imaps", "imaps"),
            Column("facts", "facts"),
            Column("misread", "misread"),
            Column("invented", "invented"),
            Column("over-\nlooked", "overlooked"),
            Column("precision", "precision", write=format_score),
            interval_column(low="precision_low", high="precision_high"),
            Column("recall", "recall", write=format_score),
        ],
        title="Reading",
        width=120,
    )
    emit(
        report.relations,
        [
            Column("relation", "before", text=True),
            Column("corrected to", "after", text=True),
            Column("times", "count"),
        ],
        title="Relations",
    )
    emit(
        report.scores,
        [
            Column("metric", "metric", text=True),
            Column("system", lambda row: row.system or "all", text=True),
            Column("answers", "n"),
            Column("before", "before", write=format_score),
            Column("after", "after", write=format_score),
            Column("change", "change", write=format_score),
            interval_column(),
            Column("mean size", "absolute", write=format_score),
        ],
        title="Scores of the corrected answers",
        width=120,
    )
    shown = (row.questions for row in report.scores if row.low is not None)
    for sentence in describe_mean_coverage(shown, of="changes"):
        echo(sentence)
    if report.uneven:
        echo(
            f"Not comparable: the reference of {pluralize(report.uneven, 'question')} was corrected for some answers "
            "and not, or differently, for others. Make the corrections the same before you compare systems."
        )
    for metric, pairs in report.reversed.items():
        for better, worse in pairs:
            echo(f"By {metric}, {better} was ahead of {worse} and is now behind, over the whole run.")
