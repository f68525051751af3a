"""`imapeval study`: metrics compared with ratings, with statistics. This module names the commands."""

import typer

from imapeval.cli.commands.study.agreement.agreement import agreement
from imapeval.cli.commands.study.agreement.latent import latent
from imapeval.cli.commands.study.agreement.limits import limits
from imapeval.cli.commands.study.agreement.preferences import preferences
from imapeval.cli.commands.study.agreement.raters import raters
from imapeval.cli.commands.study.calibration.calibrate import apply, calibrate
from imapeval.cli.commands.study.calibration.cutoff import cutoff
from imapeval.cli.commands.study.calibration.estimate import estimate
from imapeval.cli.commands.study.checklist import checklist
from imapeval.cli.commands.study.comparison.compare import compare
from imapeval.cli.commands.study.comparison.power import power
from imapeval.cli.commands.study.corrections import corrections
from imapeval.cli.commands.study.correlation.correlate import correlate
from imapeval.cli.commands.study.correlation.disagreements import disagreements
from imapeval.cli.commands.study.correlation.matrix import matrix
from imapeval.cli.commands.study.ratings import ratings
from imapeval.cli.commands.study.replicate import replicate
from imapeval.cli.commands.study.report import report
from imapeval.cli.commands.study.robustness.abstain import abstain
from imapeval.cli.commands.study.robustness.paraphrase import paraphrase
from imapeval.cli.commands.study.robustness.repeat import repeat
from imapeval.cli.commands.study.robustness.robustness import robustness
from imapeval.cli.commands.study.robustness.sensitivity import sensitivity
from imapeval.cli.commands.study.subgroups.bias import bias
from imapeval.cli.commands.study.subgroups.slices import slices

app = typer.Typer(help="Compare metrics with ratings by people.", no_args_is_help=True, rich_markup_mode=None)


for _command in (
    *(report, ratings, agreement, limits, latent, preferences, checklist),
    *(raters, correlate, compare, power, slices, bias, disagreements, matrix),
    *(estimate, calibrate, apply, cutoff, sensitivity, robustness, paraphrase, repeat, abstain, corrections, replicate),
):
    app.command()(_command)
