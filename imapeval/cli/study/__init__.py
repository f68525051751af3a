"""`imapeval study`: runs x ratings, with statistics. One file per command; this one names them."""

import typer

from imapeval.cli.study.correlate import correlate

app = typer.Typer(help="Compare metrics with what people said.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:  # pyright: ignore[reportUnusedFunction]  # without it typer drops the subcommand's name
    pass


app.command()(correlate)
