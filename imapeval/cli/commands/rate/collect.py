"""`imapeval rate serve`, `status`, `stop`, `export`, `log` and `backup`."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.rate.inputs import DEFAULT_PORT, StudyArgument, open_study, require_packages
from imapeval.cli.options import JsonOption
from imapeval.cli.output import (
    UNLIMITED,
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
    from imapeval.rating.monitoring import Overview


def serve(
    study: StudyArgument,
    *,
    host: Annotated[
        str, typer.Option(help="Address to listen on. For other computers, put a server with https in front.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 for any free one.")] = DEFAULT_PORT,
    https: Annotated[bool, typer.Option("--https", help="Raters use HTTPS, so send cookies over HTTPS only.")] = False,
) -> None:
    """Serve a study to its raters and owner. Ctrl-C stops the server; saved ratings are safe at any moment."""
    from imapeval._optional import require

    require_packages()
    for package in ("fastapi", "uvicorn"):
        require(package, distribution=package, extra="rate", needed_for="imapeval rate serve")

    from imapeval.rating.web.app import make_app
    from imapeval.serve.guard import RequestLimits
    from imapeval.serve.server import listen, run

    # Every page asks for a rater's link, so that no further token is needed on an address that others can reach.
    with open_study(study) as opened, listen(host, port, token="links") as sock:
        address = f"[{host}]" if ":" in host else host
        message = (
            f"imapeval rate: http://{address}:{sock.getsockname()[1]} (links: imapeval rate invite; Ctrl-C stops it)"
        )
        limits = RequestLimits()
        run(make_app(opened, limits, secure=https), limits, sock=sock, ready=lambda: echo(message))


def status(study: StudyArgument, *, json_output: JsonOption = False) -> None:
    """Show the progress of a study, the agreement of its raters, and whose work to look at."""
    with open_study(study) as opened:
        from imapeval.rating.monitoring import overview

        found = overview(opened)
    if json_output:
        emit_json(found)
        return
    _print(found)


def stop(
    study: StudyArgument,
    *,
    anyway: Annotated[bool, typer.Option("--anyway", help="Stop even if neither is so; the log will say so.")] = False,
) -> None:
    """End a study whose stopping rule is met or that has all its ratings: raters get no further answers."""
    with open_study(study) as opened:
        from imapeval.rating import administration
        from imapeval.rating.monitoring import overview

        found = overview(opened)
        rule = found.stopping
        reached = rule is not None and rule.reached
        state = f"{found.ratings} of {found.ratings_total} ratings."
        if rule is not None:
            state = f"{state} {rule.state}" if found.finished and not reached else rule.state
        met = reached or found.finished
        # `administration.stop` says of a stopped study that it has been stopped.
        if not (met or anyway or found.stopped):
            why = "has unrated items" if rule is None else "has not met its stopping rule"
            raise UsageError(f"the study {why}. {state} To stop anyway, add --anyway.")
        administration.stop(opened, reason=state if met else f"before its end. {state}")
    echo(f"The study has been stopped: {state}")


def export(
    study: StudyArgument,
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="File for the table: .csv or .jsonl.")],
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Also training, repeats, gold items, attention checks and adjudication; see the column kind."
        ),
    ] = False,
    by_facts: Annotated[
        bool,
        typer.Option(
            "--by-facts",
            help="Ratings of raters who saw facts, and of the others, as dimensions of their own (init --facts).",
        ),
    ] = False,
) -> None:
    """Write the ratings as a table that `imapeval study --ratings` reads: a row for each answer and rater."""
    from imapeval.evaluation.runs.safe_csv import dump_csv
    from imapeval.files import write_private_file
    from imapeval.report.formatting import pluralize

    if out.suffix.lower() not in (".csv", ".jsonl"):
        raise UsageError(f"--out {out} ends neither in .csv nor in .jsonl. Choose one of them.")
    require_new_file(out)
    with open_study(study) as opened:
        from imapeval.rating.export import list_exported

        if by_facts and not opened.settings.facts:
            raise UsageError("--by-facts needs a study in which some raters see facts: imapeval rate init --facts RUN")
        rows = list_exported(opened, everything=everything, by_facts=by_facts)
    if not rows:
        raise UsageError("nobody has rated an answer yet. Wait for the raters: imapeval rate status")
    if out.suffix.lower() == ".jsonl":
        write_lines(out, (json.dumps(row, ensure_ascii=False) for row in rows))
    else:
        content = dump_csv(rows[0], (row.values() for row in rows))
        write_private_file(out, content, fix="Choose another file with --out.")
    echo(f"{out}: {pluralize(len(rows), 'row')}.")


def log(study: StudyArgument, *, json_output: JsonOption = False) -> None:
    """Print every change of a study: what you did, and every entry of a rater. None of it can be changed or removed."""
    with open_study(study) as opened:
        from imapeval.rating.export import list_log

        lines = list_log(opened)
    if json_output:
        emit_json(lines)
        return
    for line in lines:
        detail = [
            f"{name} {_show_logged(value)}"
            for name, value in line.items()
            if name not in ("at", "by", "what") and value not in (None, "", [])
        ]
        what = f"{line['what']}: {'; '.join(detail)}" if detail else line["what"]
        echo(f"{line['at'][:19].replace('T', ' ')}  {line['by']}  {what}")


def _show_logged(value: object) -> str:
    # A line break of a comment must not begin what looks like another entry.
    return value if isinstance(value, str) and value.isprintable() else json.dumps(value, ensure_ascii=False)


def backup(
    study: StudyArgument,
    *,
    out: Annotated[
        str, typer.Option(metavar="STUDY", help="New file, or URL of an empty database, which becomes a study as well.")
    ],
) -> None:
    """Copy a whole study as it is now, while raters go on. The same command restores it."""
    with open_study(study) as opened:
        from imapeval.rating.export import copy_study

        copy_study(opened, out)
    echo(f"{out}: a copy of {study}.")


def _print(found: "Overview") -> None:
    from imapeval.study.agreement.measure import find_title
    from imapeval.study.intervals.coverage import describe_agreement_coverage
    from imapeval.study.number_format import format_decimal, format_number, format_signed, write_coefficient

    echo(
        f"{found.ratings} of {found.ratings_total} ratings; {found.complete} of {found.answers} answers have all of "
        f"theirs.{' The study has been stopped.' if found.stopped else ''}"
    )
    if found.unassigned and not found.stopped:
        echo(f"{found.unassigned} ratings have no rater: imapeval rate reassign STUDY NAME --to NEW-NAME")

    emit(
        found.raters,
        [
            Column("rater", "name", text=True, wrap=False),
            Column("done", lambda row: f"{row.done}/{row.total}{' left' if row.left else ''}", wrap=False),
            Column("seconds", "seconds", write="{:.0f}".format),
            Column("r with\nothers", "with_others", write=partial(format_decimal, digits=2)),
            Column("repeats\ndiffer by", "repeat_difference", write=partial(format_decimal, digits=2)),
            Column("gold\ndiffers by", "gold_difference", write=partial(format_decimal, digits=2)),
            Column(
                "attention\nfailed",
                lambda row: f"{row.attention_failed}/{row.attention_total}" if row.attention_total else None,
            ),
            Column("drift", lambda row: None if row.drift is None else format_signed(row.drift.change, digits=2)),
        ],
        title="Raters",
        width=UNLIMITED,
    )
    for row in found.raters:
        for flag in row.flags:
            echo(f"{row.name} {flag}" if flag[0].islower() else f"{row.name}: {flag}")
    emit(
        [row for row in found.agreement if row.value is not None],
        [
            Column("dimension", "dimension", text=True),
            Column("statistic", "statistic", write=find_title, text=True),
            Column("value", "value", write=format_number),
            interval_column(digits=2, write=write_coefficient, wrap=False),
            Column("n", "n"),
        ],
        title="Agreement among raters",
    )
    for sentence in describe_agreement_coverage(found.agreement):
        echo(sentence)
    emit(
        found.disputed[:10],
        [
            Column("answer", "id", text=True),
            Column("dimension", "dimension", text=True),
            Column("ratings", lambda row: ", ".join(f"{rating:g}" for rating in row.ratings), wrap=False),
            Column("adjudicated", "adjudicated", write="{:g}".format),
        ],
        title="Answers on which raters differ most",
    )
    if found.stopping is not None:
        echo(found.stopping.sentence)
