"""What the commands of `imapeval study` read: runs and ratings, and the options for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.options import parse_columns, parse_names
from imapeval.cli.output import echo
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from imapeval.evaluation.runs import Run
    from imapeval.study.arrays import Counts
    from imapeval.study.data.join_report import JoinReport
    from imapeval.study.data.rated import Rated
    from imapeval.study.data.ratings.collection import Ratings
    from imapeval.study.data.scores_file import ImportedScores


def list_coefficients(*accuracies: str) -> str:
    """Return the help of --coefficient: the coefficients that every command takes, and these accuracies.

    The names are written here because importing the coefficients would slow --help.
    """
    of_all = ("spearman", "kendall_tau_b", "kendall_tau_c", "pearson", "pairs_in_order")
    mean = "mediqa_eval (the mean of kendall_tau_b, pearson and spearman)"
    *most, last = *of_all, mean, *accuracies
    return f"{', '.join(most)} or {last}."


def take_one_metric(option: typer.CallbackParam, text: str | None) -> str | None:
    """Return the name in the text of an option for one metric; None for None.

    Raises:
        UsageError: It names nothing, or several.
    """
    name, *others = parse_names(text, option.opts[0]) or (None,)
    if others:
        raise UsageError(f"{option.opts[0]} {text!r} names several metrics. Name one.")
    return name


def label_dimension(dimension: str) -> str:
    """Return the name of a dimension as tables and sentences have it."""
    from imapeval.study.data.findings import ALL

    return "mean of all dimensions" if dimension == ALL else dimension


RunFoldersArgument = Annotated[
    list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, on the same or on different answers.")
]
AgainstOption = Annotated[
    str | None, typer.Option(metavar="METRIC", help="Compare every other metric with this one.  [default: all pairs]")
]
MetricOption = Annotated[str, typer.Option("--metric", metavar="METRIC", help="The metric.", callback=take_one_metric)]
CoefficientOption = Annotated[str, typer.Option(metavar="NAME", help=list_coefficients())]
DimensionOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Dimension of the ratings.  [default: the only one]")
]
SeedOption = Annotated[int, typer.Option(min=0, metavar="N", help="Random seed.")]
ResamplesOption = Annotated[
    int, typer.Option(min=1, metavar="N", help="Number of bootstrap resamples for an interval.")
]

AlteredOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=RUN",
        help="Compare with a run on the same answers (matched by id) in which something was changed, such as the "
        "order of the texts or the question. Repeatable.",
    ),
]

AboutOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="What no file contains about the study, for the reporting checklist.  [default: study.toml beside the "
        "ratings]",
    ),
]

RATINGS_FORMAT = ("dimensions", "scales", "mapping", "labels")
"""The `StudyOptions` of commands that read a file of ratings and no run."""

ONE_METRIC = ("ratings", "scores", "scales", "mapping", "labels")
"""The `StudyOptions` of commands about one metric and one dimension, which they have as options of their own."""


@dataclass(frozen=True, slots=True)
class JoinedData:
    """Scores joined with ratings.

    Attributes:
        rated: The answers with their scores and ratings.
        report: What could not be joined.
        signatures: Signatures of the metrics, by name.
    """

    rated: "Rated"
    report: "JoinReport"
    signatures: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """Which ratings, metrics and dimensions a study takes, and how a file of ratings is read."""

    ratings: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Ratings: a table (.xlsx, .csv, .tsv, .jsonl, .json, .parquet), an export of Label Studio or Argilla, "
            "or a study of `imapeval rate` (file or URL).  [default: those in the data]",
        ),
    ] = None
    metrics: Annotated[str | None, typer.Option(metavar="A,B", help="Metrics.  [default: all in the runs]")] = None
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Scores that another tool computed, as further metrics: a table with the columns id and one for each "
            "metric, or id, metric and value. Repeatable.",
        ),
    ] = None
    dimensions: Annotated[
        str | None, typer.Option(metavar="A,B", help="Dimensions of the ratings.  [default: all]")
    ] = None
    scales: Annotated[
        list[str] | None,
        typer.Option(
            "--scale",
            metavar="DIMENSION=LOW:HIGH[:STEP]",
            help="Possible ratings of a dimension; others are an error. Repeatable.",
        ),
    ] = None
    mapping: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="NAME=COLUMN",
            help="Read NAME (id, system, rater, dimension, rating or a dimension) of the ratings from COLUMN; or, as "
            "accuracy=li:li_accuracy,smith:smith_accuracy, a dimension from a column for each rater. Repeatable.",
        ),
    ] = None
    labels: Annotated[
        str | None,
        typer.Option(metavar="WORD=NUMBER,...", help="Numbers for ratings that are words, such as poor=1,good=2."),
    ] = None

    def read_ratings(self, file: str, *, dimensions: Sequence[str] | None = None, report: bool = False) -> "Ratings":
        """Return the ratings of a file; with `report` print to stderr what was read.

        Given dimensions take the place of --dimensions.

        Raises:
            UsageError: An option is malformed.
            InputError: The file is malformed.
        """
        from imapeval.study.data.join_report import describe_reading
        from imapeval.study.data.ratings import parse_scales, read_ratings

        given = read_ratings(
            file,
            columns=parse_columns(self.mapping),
            labels=_parse_labels(self.labels),
            scales=parse_scales(self.scales or ()),
            dimensions=dimensions or parse_names(self.dimensions, "--dimensions"),
        )
        for sentence in describe_reading(given.left_out, given.unread, given.notes) if report else ():
            echo(sentence, err=True)
        return given

    def read_scores(
        self, runs: Sequence["Run"], wanted: Sequence[str] | None
    ) -> tuple[list["ImportedScores"], list[str] | None]:
        """Return the files of --scores, and which of the wanted metrics are those of the runs; None for all.

        Unless ratings are given, whose report says the same, print to stderr which runs use row numbers as ids.

        Raises:
            UsageError: A metric is in neither.
            InputError: A file is malformed.
        """
        from imapeval.study.data.join_report import describe_numbered_ids
        from imapeval.study.data.rated import choose_names
        from imapeval.study.data.scores_file import read_scores

        imported = [read_scores(path) for path in self.scores or ()]
        elsewhere = {name for one in imported for name in one.scores}
        if imported:
            for sentence in () if self.ratings else describe_numbered_ids(runs):
                echo(sentence, err=True)
            of_runs = (name for run in runs for name in run.manifest["settings"]["metrics"])
            choose_names("metric", wanted, tuple(dict.fromkeys((*of_runs, *elsewhere))))
        return imported, None if wanted is None else [name for name in wanted if name not in elsewhere]

    def read(
        self,
        folders: Sequence[Path],
        *,
        metrics: str | None = None,
        dimensions: str | None = None,
        by: str | None = None,
        unrated: bool = False,
    ) -> JoinedData:
        """Read runs and ratings, join them, and print to stderr what was joined.

        Given names, separated by commas, take the place of --metrics and --dimensions; `by` is a column of the data
        that `divide` will group the answers by. With `unrated`, answers without ratings are kept.

        Raises:
            UsageError: An option is malformed or does not apply.
            InputError: A file is malformed.
        """
        from imapeval.evaluation.runs import Run
        from imapeval.study.data.joining import join_ratings, read_signatures
        from imapeval.study.data.rated import choose_metrics
        from imapeval.study.data.ratings import parse_scales
        from imapeval.study.data.scores_file import add_scores, describe_matching

        wanted = parse_names(metrics or self.metrics, "--metrics")
        runs = [Run(folder) for folder in folders]
        imported, named = self.read_scores(runs, wanted)
        if self.ratings is None:
            for option, value in (("--map", self.mapping), ("--labels", self.labels)):
                if value:
                    raise UsageError(f"{option} describes a file of ratings. Give that file with --ratings.")
        rated_for = parse_names(dimensions or self.dimensions, "--dimensions")
        given = None if self.ratings is None else self.read_ratings(self.ratings, dimensions=rated_for)
        rated, report = join_ratings(
            runs,
            given,
            metrics=named,
            dimensions=rated_for,
            scales=parse_scales(self.scales or ()),
            columns=() if by is None else (by,),
            unrated=unrated,
        )
        for sentence in report.to_sentences():
            echo(sentence, err=True)
        signatures = read_signatures(runs, rated.metrics)
        for one in imported:
            rated = add_scores(rated, one)
            for sentence in describe_matching(rated, one, unrated=report.not_rated):
                echo(sentence, err=True)
            signatures |= dict.fromkeys(one.scores, one.signature)
        if imported and wanted is not None:
            rated = choose_metrics(rated, wanted)
        return JoinedData(rated, report, {name: signatures[name] for name in rated.metrics})

    def read_dimension(
        self, folders: Sequence[Path], *, metric: str, dimension: str | None, by: str | None = None
    ) -> tuple[JoinedData, str]:
        """Read as `read` does, for a command about one metric and one dimension of the ratings.

        Without `dimension`, it is the only one.

        Raises:
            UsageError: As in `read`; or there are several dimensions.
            InputError: A file is malformed.
        """
        joined = self.read(folders, metrics=metric, dimensions=dimension, by=by)
        if len(joined.rated.dimensions) != 1:
            raise UsageError(
                f"there are ratings of: {', '.join(joined.rated.dimensions)}. Choose one with --dimension."
            )
        return joined, joined.rated.dimensions[0]


def divide(rated: "Rated", by: str) -> "Mapping[str, Counts]":
    """Return the rows of the groups that --by names.

    Raises:
        UsageError: There is no such column, or it is the dimensions, which are never put together.
    """
    from imapeval.study.subgroups.slices import DIMENSION, divide_answers

    if by == DIMENSION:
        raise UsageError("--by dimension: each dimension has numbers of its own anyway. Name a column of the answers.")
    return divide_answers(rated, facets=[by])[by]


def read_about_study(given: Path | None, folder: Path) -> dict[str, str]:
    """Return what `study.toml` says; nothing if none is given and the folder has none.

    Raises:
        InputError: The file is malformed.
    """
    from imapeval.study.data.about import find_about, read_about

    path = given or find_about(folder)
    return {} if path is None else read_about(path)


def read_altered(texts: Sequence[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the scores of the runs of NAME=RUN texts, by name, metric and id.

    Raises:
        UsageError: A text is malformed, or two have one name.
        InputError: A run is broken.
    """
    from imapeval.evaluation.runs import Run
    from imapeval.types import Score

    found: dict[str, dict[str, dict[str, float]]] = {}
    for text in texts:
        name, _, folder = text.partition("=")
        if not name.strip() or not folder.strip():
            raise UsageError(f"--altered {text!r} is not NAME=RUN. Example: --altered exchanged=runs/exchanged.")
        if name in found:
            raise UsageError(f"--altered names {name!r} twice. Give each run a name of its own.")
        scores = found[name] = {}
        for result in Run(Path(folder)).results():
            if isinstance(result.outcome, Score):
                scores.setdefault(result.metric, {})[result.id] = result.outcome.value
    return found


def _parse_labels(text: str | None) -> dict[str, float]:
    """Parse a text such as "poor=1,fair=2,good=3" into numbers by word.

    Raises:
        UsageError: It is malformed, or names a word twice.
    """
    from imapeval.evaluation.samples.rows import read_number

    labels: dict[str, float] = {}
    for part in parse_names(text, "--labels") or ():
        word, _, value = part.rpartition("=")
        number = read_number(value)
        if not word or number is None:
            raise UsageError(f"--labels: {part!r} is not WORD=NUMBER. Example: --labels poor=1,fair=2,good=3.")
        if word.strip() in labels:
            raise UsageError(f"--labels names {word.strip()!r} twice. Keep one.")
        labels[word.strip()] = number
    return labels
