"""`imapeval study corrections`."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import Seed
from imapeval.cli.options import Json, Kg
from imapeval.cli.output import Column, echo, emit, emit_json, format_interval, require_new_file, write_lines
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from imapeval.evaluation.imap_files import ImapRecord
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
    kg: Kg = None,
    seed: Seed = 0,
    json_output: Json = False,
) -> None:
    """Report how often the reader erred, in what, and what corrections did to the scores."""
    from imapeval.evaluation.corrections import CORRECTIONS, correct_run
    from imapeval.evaluation.imap_files import dump_record
    from imapeval.evaluation.pipeline import open_graph, open_matcher
    from imapeval.evaluation.runs import Run
    from imapeval.study.robustness.corrections import report_corrections

    run = Run(folder)
    if not (folder / CORRECTIONS).exists():
        raise UsageError(f"{folder} has no corrections. Make some with: imapeval review {folder}")
    corrected = asyncio.run(correct_run(run, open_matcher(open_graph(kg))))
    report = report_corrections(run, {id_: outcomes for id_, (_, outcomes) in corrected.items()}, seed=seed)
    if out is not None:
        new = {_key(record): record for records, _ in corrected.values() for record in records}
        write_lines(require_new_file(out), (dump_record(new.get(_key(record), record)) for record in run.imaps()))
    if json_output:
        emit_json(report)
    else:
        _print(report)


def _key(record: "ImapRecord") -> tuple[str, int, int]:
    return record.id, record.imap.reference_index, record.imap.reading


def _print(report: "CorrectionReport") -> None:
    from imapeval.study.number_format import format_score

    def show(number: float | None) -> str | None:
        return None if number is None else format_score(number)

    echo(
        f"{report.corrections} corrections by {len(report.people)} people; {report.checked} imaps were checked"
        + (f", {report.unchecked} more were corrected but not marked as checked." if report.unchecked else ".")
    )
    emit(
        report.reading,
        [
            Column("side", lambda row: row.side, text=True),
            Column("language", lambda row: row.lang, text=True),
            Column("imaps", lambda row: row.imaps),
            Column("facts", lambda row: row.facts),
            Column("misread", lambda row: row.misread),
            Column("invented", lambda row: row.invented),
            Column("over-\nlooked", lambda row: row.overlooked),
            Column("precision", lambda row: show(row.precision)),
            Column("95% interval", lambda row: format_interval(row.precision_low, row.precision_high)),
            Column("recall", lambda row: show(row.recall)),
        ],
        title="Reading",
        width=120,
    )
    emit(
        report.relations,
        [
            Column("relation", lambda row: row.before, text=True),
            Column("corrected to", lambda row: row.after, text=True),
            Column("times", lambda row: row.count),
        ],
        title="Relations",
    )
    emit(
        report.scores,
        [
            Column("metric", lambda row: row.metric, text=True),
            Column("system", lambda row: row.system or "all", text=True),
            Column("answers", lambda row: row.n),
            Column("before", lambda row: show(row.before)),
            Column("after", lambda row: show(row.after)),
            Column("change", lambda row: show(row.change)),
            Column("95% interval", lambda row: format_interval(row.low, row.high)),
            Column("mean size", lambda row: show(row.absolute)),
        ],
        title="Scores of the corrected answers",
        width=120,
    )
    for metric, pairs in report.reversed.items():
        for better, worse in pairs:
            echo(f"By {metric}, {better} was ahead of {worse} and is now behind, over the whole run.")
