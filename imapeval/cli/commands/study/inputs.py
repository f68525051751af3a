"""What all commands of `imapeval study` read, and the options that say so."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.options import parse_columns, split_commas
from imapeval.cli.output import echo
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from imapeval.study.data.join_report import JoinReport
    from imapeval.study.data.rated import Rated

RunFolders = Annotated[
    list[Path], typer.Argument(metavar="RUN...", help="Folders of runs: of the same answers, or of others.")
]
RatingsFile = Annotated[
    Path | None,
    typer.Option(
        "--ratings",
        metavar="FILE",
        help="Ratings: a table (.csv, .jsonl, .json, .parquet), or an export of Label Studio or Argilla.  "
        "[default: the data's]",
    ),
]
Metrics = Annotated[str | None, typer.Option(metavar="A,B", help="Which metrics.  [default: the runs']")]
Dimensions = Annotated[str | None, typer.Option(metavar="A,B", help="Which dimensions of the ratings.  [default: all]")]
Scales = Annotated[
    list[str] | None,
    typer.Option(
        "--scale", metavar="DIMENSION=LOW:HIGH[:STEP]", help="What raters could give; others are an error. Repeatable."
    ),
]
Mapping = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="NAME=COLUMN",
        help="Take NAME (id, rater, dimension, rating or a dimension) of the ratings from COLUMN. Repeatable.",
    ),
]
Labels = Annotated[
    str | None, typer.Option(metavar="WORD=NUMBER,...", help="What ratings that are words are worth: poor=1,good=2.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of the random draws.")]
Resamples = Annotated[int, typer.Option(min=1, help="How many are drawn for an interval.")]


@dataclass(frozen=True, slots=True)
class JoinedData:
    """Scores beside ratings, and how they came together.

    Attributes:
        rated: The answers.
        account: What did not join.
        signatures: By metric.
    """

    rated: "Rated"
    account: "JoinReport"
    signatures: dict[str, str]


def read_rated(
    folders: Sequence[Path],
    ratings: Path | None = None,
    *,
    metrics: str | None = None,
    dimensions: str | None = None,
    scales: Sequence[str] | None = None,
    mapping: Sequence[str] | None = None,
    labels: str | None = None,
    unrated: bool = False,
) -> JoinedData:
    """Read runs and ratings, join them, and tell on stderr what came of it.

    Args:
        folders: Of the runs.
        ratings: A file; None takes the ratings that came with the data.
        metrics: Names with commas between; None takes the runs'.
        dimensions: Names with commas between; None takes all.
        scales: As --scale on the command line.
        mapping: As --map.
        labels: As --labels.
        unrated: Keep answers that nobody rated.

    Raises:
        UsageError: An option means nothing here.
        InputError: The content of a file is at fault.
    """
    from imapeval.evaluation.runs import Run
    from imapeval.study.data.joining import join_ratings, read_signatures
    from imapeval.study.data.ratings import parse_scales, read_ratings

    named = parse_names(metrics, "--metrics"), parse_names(dimensions, "--dimensions")
    declared = parse_scales(scales or ())
    if ratings is None:
        for option, value in (("--map", mapping), ("--labels", labels)):
            if value:
                raise UsageError(f"{option} says how a file of ratings is read. Give it with --ratings.")
        given = None
    else:
        given = read_ratings(
            ratings,
            columns=parse_columns(list(mapping or ())),
            labels=parse_labels(labels),
            scales=declared,
            dimensions=named[1],
        )
    runs = [Run(folder) for folder in folders]
    rated, account = join_ratings(runs, given, metrics=named[0], dimensions=named[1], scales=declared, unrated=unrated)
    for sentence in account.to_sentences():
        echo(sentence, err=True)
    return JoinedData(rated, account, read_signatures(runs, rated.metrics))


def parse_names(text: str | None, option: str) -> list[str] | None:
    """Return the names of a text with commas between; None for none given.

    Raises:
        UsageError: It names nothing.
    """
    if text is None:
        return None
    names = split_commas(text)
    if not names:
        raise UsageError(f"{option} {text!r} names nothing. Separate names by commas.")
    return list(dict.fromkeys(names))


def parse_labels(text: str | None) -> dict[str, float]:
    """Return the number by word, of a text such as "poor=1,fair=2,good=3".

    Raises:
        UsageError: It is not of that form, or a word stands there twice.
    """
    from imapeval.evaluation.samples.rows import read_number

    labels: dict[str, float] = {}
    for part in parse_names(text, "--labels") or ():
        word, _, value = part.rpartition("=")
        number = read_number(value)
        if not word or number is None:
            raise UsageError(
                f"--labels: {part!r} is not WORD=NUMBER. Write, for example, --labels poor=1,fair=2,good=3."
            )
        if word.strip() in labels:
            raise UsageError(f"--labels names {word.strip()!r} twice. Keep one.")
        labels[word.strip()] = number
    return labels
