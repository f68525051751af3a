"""The command `imapeval`: registers the subcommands and turns errors into one message and exit code 2."""

import errno
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from imapeval import __version__
from imapeval._resources import cache_folder
from imapeval.cli.commands import batch, closed, extract, kg, rate, relate, score, serve, study
from imapeval.cli.commands.inventory import cache, datasets, metrics, models, prompts
from imapeval.cli.commands.runs import compare, export, report, review
from imapeval.cli.config import read_config, walk_commands
from imapeval.cli.options import find_given
from imapeval.cli.output import echo
from imapeval.errors import ImapEvalError
from imapeval.redaction import redact_message, redact_warnings
from imapeval.remote import is_url

_UsageError: Any = typer.BadParameter.__base__
"""Of the click that typer uses, which may be its own."""


class _Commands(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for command in walk_commands(self):
            command.parse_args = partial(_report_options, command.parse_args)
            command.make_parser = partial(_refuse_repeated, command.make_parser)
            for parameter in command.params:
                if _is_local(command, parameter):
                    parameter.callback = _refuse_url

    def invoke(self, ctx: Any) -> Any:  # typer may bundle its own click, so the type of the context has no fixed name
        try:
            with warnings.catch_warnings():
                redact_warnings()
                return super().invoke(ctx)
        except ImapEvalError as error:
            echo(f"imapeval: {error}", err=True)
            raise typer.Exit(2) from error
        except _UsageError as error:
            # It may quote an argument.
            error.message = redact_message(error.message)
            raise
        except KeyboardInterrupt as error:
            echo("imapeval: stopped", err=True)
            raise typer.Exit(130) from error
        except OSError as error:
            # Of temporary files, which have no name, and of folders that may not even be looked into.
            if error.filename is None and error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOENT):
                raise
            where = f"{error.filename}: " if error.filename else ""
            echo(
                f"imapeval: {where}{error.strerror}. Free some space and make sure that files can be read and written "
                f"there, or use another place: --out for output, IMAPEVAL_CACHE (now {cache_folder()}) for the cache, "
                f"TMPDIR (now {os.environ.get('TMPDIR', 'the system default')}) for temporary files.",
                err=True,
            )
            raise typer.Exit(2) from error


app = typer.Typer(
    cls=_Commands,
    context_settings={"help_option_names": ["--help", "-h"]},
    help="Measure whether a generated medical answer agrees with a clinician's, fact by fact.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(value: bool) -> None:
    if value:
        echo(f"imapeval {__version__}")
        raise typer.Exit


@app.callback()
def _options(  # pyright: ignore[reportUnusedFunction]  # typer calls it
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    # Not where only help is asked for.
    if context.invoked_subcommand is None or context.resilient_parsing:
        return
    found = read_config(context.command, Path.cwd())
    if found is None:
        return
    context.obj, context.default_map = found


def _report_options(parse: Callable[[Any, list[str]], Any], context: Any, args: list[str]) -> Any:
    """Parse the arguments of a command, and print which options are from a file, also if one of them is wrong."""
    of_subcommand = any(arg in getattr(context.command, "commands", ()) for arg in args)
    try:
        return parse(context, args)
    finally:
        taken = [option.removeprefix("--") for option in find_given(context, source="DEFAULT_MAP").values()]
        if taken and not of_subcommand:
            echo(f"options from {context.obj}: {', '.join(taken)}", err=True)


_SECRET = ("token",)
"""Parameters whose values no message may show."""


def _refuse_repeated(make: Callable[[Any], Any], context: Any) -> Any:
    """Return the parser of a command; it refuses a second value of an option that takes one.

    Click would take the last one silently, also where the two were meant to be read together.
    """
    parser = make(context)
    single: dict[str, Any] = {}
    # Click has no public way to the options of its parser.
    for option in (*parser._long_opt.values(), *parser._short_opt.values()):
        if option.action == "store":
            option.action = "append"
            single[option.dest] = option.obj
    parse = parser.parse_args

    def parse_args(args: list[str]) -> tuple[dict[str, Any], list[str], list[Any]]:
        found, rest, order = parse(args=args)
        for name in single.keys() & found.keys():
            first, *others = found[name]
            if others and not context.resilient_parsing:
                values = "" if name in _SECRET else f": {first!r} and {others[0]!r}"
                context.fail(f"{single[name].opts[0]} takes one value and is given twice{values}. Keep one.")
            found[name] = first
        return found, rest, order

    parser.parse_args = parse_args
    return parser


_NAMED_RUN = "NAME=RUN"
"""Metavariable of folders of runs that are given names."""


def _is_local(command: Any, parameter: Any) -> bool:
    """Return whether a parameter names files of this computer only."""
    if parameter.name == "out" and command.name in ("score", "extract"):
        return False
    local = ("FILE", "STUDY", _NAMED_RUN)
    return parameter.type_descriptor.annotation in (Path, list[Path]) or parameter.metavar in local


def _refuse_url(_: Any, parameter: Any, value: object) -> object:
    values = cast("list[object]", value or []) if parameter.multiple or parameter.nargs != 1 else [value]
    # Studies of ratings may be in a database, whose URL is never a `Path`; reports never are.
    databases = ("postgresql://", "postgres://") if parameter.name not in ("junit", "summary") else ()
    if parameter.metavar == _NAMED_RUN:
        values = [str(item).partition("=")[2] for item in values]
    if any(is_url(str(item)) and not str(item).startswith(databases) for item in values):
        raise typer.BadParameter("this is a URL; give a file or folder of this computer", param=parameter)
    return value


app.command("score")(score.score)
app.command("extract")(extract.extract)
app.command("relate")(relate.relate)
app.command("serve")(serve.serve)
app.command("compare")(compare.compare)
app.command("report")(report.report)
app.command("review")(review.review)
app.command("export")(export.export)
app.add_typer(study.app, name="study")
app.add_typer(rate.app, name="rate")
app.command("closed")(closed.closed)
app.add_typer(kg.app, name="kg")
app.add_typer(batch.app, name="batch")
app.add_typer(metrics.app, name="metrics")
app.command("datasets")(datasets.datasets)
app.add_typer(prompts.app, name="prompts")
app.add_typer(cache.app, name="cache")
app.add_typer(models.app, name="models")


def run() -> None:
    """Entry point of the console script."""
    # Chinese text must be printed correctly in any locale.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    app()
