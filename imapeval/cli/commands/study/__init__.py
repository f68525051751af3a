"""`imapeval study`: runs x ratings, with statistics. One file per command; this one names them."""

import typer

from imapeval.cli.commands.study.abstain import abstain
from imapeval.cli.commands.study.agreement import agreement
from imapeval.cli.commands.study.bias import bias
from imapeval.cli.commands.study.calibrate import apply, calibrate
from imapeval.cli.commands.study.checklist import checklist
from imapeval.cli.commands.study.compare import compare
from imapeval.cli.commands.study.corrections import corrections
from imapeval.cli.commands.study.correlate import correlate
from imapeval.cli.commands.study.cutoff import cutoff
from imapeval.cli.commands.study.disagreements import disagreements
from imapeval.cli.commands.study.estimate import estimate
from imapeval.cli.commands.study.latent import latent
from imapeval.cli.commands.study.limits import limits
from imapeval.cli.commands.study.matrix import matrix
from imapeval.cli.commands.study.paraphrase import paraphrase
from imapeval.cli.commands.study.power import power
from imapeval.cli.commands.study.preferences import preferences
from imapeval.cli.commands.study.raters import raters
from imapeval.cli.commands.study.ratings import ratings
from imapeval.cli.commands.study.repeat import repeat
from imapeval.cli.commands.study.replicate import replicate
from imapeval.cli.commands.study.report import report
from imapeval.cli.commands.study.robustness import robustness
from imapeval.cli.commands.study.sensitivity import sensitivity
from imapeval.cli.commands.study.slices import slices

app = typer.Typer(help="Compare metrics with what people said.", no_args_is_help=True, rich_markup_mode=None)


for _command in (
    *(report, ratings, agreement, limits, latent, preferences, checklist),
    *(raters, correlate, compare, power, slices, bias, disagreements, matrix),
    *(estimate, calibrate, apply, cutoff, sensitivity, robustness, paraphrase, repeat, abstain, corrections, replicate),
):
    app.command()(_command)
