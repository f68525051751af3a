"""`imapeval rate init`."""

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.rate.inputs import require_packages
from imapeval.cli.options import DataArgument, make_file_stem, name_data, parse_columns, parse_names
from imapeval.cli.output import echo
from imapeval.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.rating.model import Dimension, Fact
    from imapeval.types import Sample


def init(
    data: DataArgument,
    *,
    dimensions: Annotated[
        str, typer.Option(metavar="A,B", help="Dimensions of the ratings, such as accuracy,completeness.")
    ],
    scale: Annotated[
        list[str],
        typer.Option(
            metavar="[DIMENSION=]LOW:HIGH:STEP",
            help="Possible ratings, in all dimensions or in one. Repeatable.",
        ),
    ],
    raters: Annotated[int, typer.Option(min=1, metavar="N", help="Raters per answer.")] = 3,
    panel: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Total number of raters; each answer is rated by a subset.  [default: as --raters]"
        ),
    ] = None,
    training: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Practice answers with correct ratings (ratings.DIMENSION), shown as feedback with the column "
            "`explanation`.",
        ),
    ] = None,
    gold: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Answers with correct ratings, hidden among the others.")
    ] = None,
    attention: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Answers whose text says how to rate them, with those ratings."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=0, metavar="N", help="Number of answers each rater rates twice.")] = 0,
    stop: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="When to stop: answers:NUMBER, or a 95% interval's width as mean:DIMENSION:WIDTH or "
            "STATISTIC:DIMENSION:WIDTH, such as krippendorff_alpha_interval:accuracy:0.2.",
        ),
    ] = None,
    facts: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="Mark the facts that this run found in the responses, for half of the raters."
        ),
    ] = None,
    no_reference: Annotated[bool, typer.Option("--no-reference", help="Do not show the clinicians' answers.")] = False,
    side_by_side: Annotated[
        bool,
        typer.Option(
            "--side-by-side", help="Show the answers to a question one after another; by default they are kept apart."
        ),
    ] = False,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title for raters.  [default: DATA's name]")] = None,
    instructions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Instructions for raters, plain text.")
    ] = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="NAME=COLUMN", help="Read NAME of DATA from COLUMN. Repeatable."),
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="Treat a response equal to TEXT, such as N/A, as missing: not rated. Repeatable."
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="STUDY",
            help="File for the study, or URL of an empty database: postgresql://USER@HOST/NAME.  "
            "[default: DATA's name.study.db]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Random seed for blocks, orders and repeats.")] = 0,
) -> None:
    """Create a study: which answers are rated, on which scales, by how many raters, in which orders.

    None of this can be changed later. Then invite raters (`imapeval rate invite`) and start the server (`imapeval rate
    serve`). To plan how many answers and raters you need, run `imapeval study power --width` on a pilot.
    """
    require_packages()
    from imapeval.evaluation.samples import read
    from imapeval.rating.model import StudySettings
    from imapeval.rating.monitoring import parse_stopping_rule
    from imapeval.rating.setup import StudyContent, create_study
    from imapeval.report.formatting import pluralize

    rated = _parse_dimensions(dimensions, scale)
    samples = read(data, columns=parse_columns(mapping), missing=missing or ())
    answered = [sample for sample in samples if sample.answered and sample.fault is None]
    if not answered:
        raise InputError(
            "no row has a response to rate", path=data, fix="Give answers, or name their column with --map."
        )
    settings = StudySettings(
        title=title or name_data(data),
        instructions=_read_text(instructions),
        dimensions=tuple(rated),
        raters_per_answer=raters,
        panel=panel or raters,
        seed=seed,
        show_reference=not no_reference,
        side_by_side=side_by_side,
        facts=facts is not None,
        stopping=None if stop is None else parse_stopping_rule(stop, rated),
    )
    content = StudyContent(
        answered,
        training=_read_items(training, "--training", missing=missing or ()),
        gold=_read_items(gold, "--gold", missing=missing or ()),
        attention=_read_items(attention, "--attention", missing=missing or ()),
        repeats=repeats,
        facts={} if facts is None else _read_facts(facts, answered),
    )
    study = out or f"{make_file_stem(data)}.study.db"
    create_study(study, settings, content)
    if len(answered) < len(samples):
        echo(
            f"{len(samples) - len(answered)} of {len(samples)} rows are bad or have no response, and are not rated.",
            err=True,
        )
    if named := [sample.id for sample in answered if sample.system and _names_system(sample)]:
        echo(
            f"Responses that contain the name of their system, which raters will see ({len(named)}): "
            f"{', '.join(named[:3])}{' and others' if len(named) > 3 else ''}.",
            err=True,
        )
    each = len(answered) * raters / settings.panel
    load = f"{each:g}" if each == int(each) else f"{int(each)} or {int(each) + 1}"
    echo(
        f"{study}: {pluralize(len(answered), 'answer')}, each rated by {raters} of "
        f"{pluralize(settings.panel, 'rater')}; answers per rater: {load}. Next: imapeval rate invite "
        f"{shlex.quote(study)} NAME...\n"
        "How many answers and raters a study needs: imapeval study power RUN --ratings PILOT --width WIDTH"
    )


def _parse_dimensions(names: str, scales: "Sequence[str]") -> "list[Dimension]":
    from imapeval.rating.model import Dimension
    from imapeval.study.data.scales import parse_scales

    wanted = parse_names(names, "--dimensions") or []
    for text in scales:
        if "=" in text and text.rpartition("=")[0] not in wanted:
            raise UsageError(f"--scale {text!r} names no dimension. --dimensions names: {', '.join(wanted)}.")
    shared = [text for text in scales if "=" not in text]
    if len(shared) > 1:
        raise UsageError(
            f"--scale is given twice for all dimensions: {', '.join(shared)}. Keep one, or name a dimension."
        )
    own = parse_scales(text for text in scales if "=" in text)
    found = {**(parse_scales(f"{name}={shared[0]}" for name in wanted) if shared else {}), **own}
    if missing := [name for name in wanted if name not in found]:
        raise UsageError(f"no --scale for {missing[0]!r}. Write, for example, --scale {missing[0]}=0:5:0.5.")
    if free := [name for name, scale in found.items() if scale.step is None]:
        raise UsageError(f"the scale of {free[0]!r} has no step. Write, for example, --scale {free[0]}=0:5:0.5.")
    return [Dimension(name=name, low=found[name].low, high=found[name].high, step=found[name].step) for name in wanted]


def _read_items(path: Path | None, option: str, *, missing: "Sequence[str]") -> "Sequence[Sample]":
    """Return the items of a file; () without one.

    Raises:
        InputError: A row is bad or has no response: such items are few, made by hand, and rated by everybody.
    """
    if path is None:
        return ()
    from imapeval.evaluation.samples import read

    samples = read(path, missing=missing, strict=True)
    for sample in samples:
        if not sample.answered:
            raise InputError(
                f"the item {sample.id[:60]!r} has no response", path=path, fix=f"Correct the file of {option}."
            )
    return samples


def _read_text(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("cannot be read as UTF-8 text", path=path, fix="Check --instructions.") from error


def _read_facts(folder: Path, samples: "Sequence[Sample]") -> "dict[str, tuple[Fact, ...]]":
    """Return the facts that were located in the responses, by the answer's id.

    Where the run has scored another response under that id, or none, there are none, which is printed to stderr.

    Raises:
        UsageError: The run has none for these answers.
    """
    from imapeval.evaluation.runs import Run
    from imapeval.rating.model import Fact

    run = Run(folder)
    scored = {sample.id: sample.response for sample in run.open_samples()}
    responses = {sample.id: sample.response for sample in samples if scored.get(sample.id) == sample.response}
    if other := len(samples) - len(responses):
        echo(f"{other} of {len(samples)} answers have no marked facts: --facts {folder} did not score them.", err=True)
    found: dict[str, dict[Fact, None]] = {}
    for record in run.find_imaps(responses.keys()):
        for pair in record.imap.response:
            start, end = pair.span or (0, 0)
            if record.imap.reading == 0 and 0 <= start < end <= len(responses[record.id]):
                found.setdefault(record.id, {})[Fact(start, end, pair.term, pair.value)] = None
    if not found:
        raise UsageError(f"--facts {folder} has no facts located in these responses. Give the run that scored them.")
    return {id_: tuple(sorted(facts, key=lambda fact: (fact.start, fact.end))) for id_, facts in found.items()}


def _names_system(sample: "Sample") -> bool:
    from imapeval.text.language import HAN, has_chinese

    name, response = sample.system.casefold(), sample.response.casefold()
    if len(name) < 2:
        return False
    # Chinese has no spaces between words, nor around words of other languages.
    if has_chinese(name):
        return name in response
    letter = rf"[^\W_{HAN}]"
    return re.search(f"(?<!{letter}){re.escape(name)}(?!{letter})", response) is not None
