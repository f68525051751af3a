"""`imapeval rate`: ratings by people. This module names the commands."""

import typer

from imapeval.cli.commands.rate.collect import backup, export, log, serve, status, stop
from imapeval.cli.commands.rate.init import init
from imapeval.cli.commands.rate.raters import adjudicate, invite, reassign, revoke

app = typer.Typer(help="Collect ratings from people.", no_args_is_help=True, rich_markup_mode=None)

for _command in (init, invite, serve, status, export, revoke, reassign, adjudicate, stop, log, backup):
    app.command()(_command)
