"""`imapeval study`: runs x ratings, with statistics. One file per command; this one names them."""

import typer

from imapeval.cli.study.agreement import agreement
from imapeval.cli.study.calibrate import apply, calibrate
from imapeval.cli.study.compare import compare
from imapeval.cli.study.correlate import correlate
from imapeval.cli.study.disagreements import disagreements
from imapeval.cli.study.estimate import estimate
from imapeval.cli.study.matrix import matrix
from imapeval.cli.study.paraphrase import paraphrase
from imapeval.cli.study.power import power
from imapeval.cli.study.ratings import ratings
from imapeval.cli.study.replicate import replicate
from imapeval.cli.study.report import report
from imapeval.cli.study.robustness import robustness
from imapeval.cli.study.sensitivity import sensitivity
from imapeval.cli.study.slices import slices

app = typer.Typer(help="Compare metrics with what people said.", no_args_is_help=True, rich_markup_mode=None)


for _command in (
    *(report, ratings, agreement, correlate, compare, power, slices, disagreements, matrix),
    *(estimate, calibrate, apply, sensitivity, robustness, paraphrase, replicate),
):
    app.command()(_command)
