"""`imapeval study latent`."""

import json
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import RATINGS_FORMAT, StudyOptions
from imapeval.cli.options import JsonOption, choose_one, expand_options
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json, require_new_file, write_lines
from imapeval.study.number_format import format_percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.agreement.latent_truth import LatentTruth, RaterErrors

_LEAST = 0.001
"""Smallest chance that is written as a number."""

_NEARLY_ALL = 0.9
"""Share of the answers with the same estimated category from which a sentence says so."""


@expand_options
def latent(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Ratings of individual raters, three or more, as for `imapeval study agreement`."
        ),
    ],
    *,
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="ordinal, or nominal for categories without order (Dawid and Skene).")
    ] = "ordinal",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the estimated ratings of the answers (.jsonl), for --ratings."),
    ] = None,
    options: Annotated[StudyOptions, RATINGS_FORMAT],
    json_output: JsonOption = False,
) -> None:
    """Estimate the true rating of each answer, and how each rater errs, from the ratings of three raters or more."""
    from imapeval.study.agreement.latent_truth import MODELS, estimate_truth
    from imapeval.study.data.scales import list_ratings

    kind = choose_one(model, "--model", MODELS)
    path = None if out is None else require_new_file(out)
    given = options.read_ratings(file, report=True)
    found = [
        estimate_truth(
            dimension,
            given.split(dimension),
            model=kind,
            ids=given.ids,
            raters=given.raters,
            possible=list_ratings(given.scales[dimension]) if dimension in given.scales else (),
        )
        for dimension in given.dimensions
    ]
    if path is not None:
        gold = {row.dimension: dict(zip(row.ids, row.gold, strict=True)) for row in found}
        rows = ({"id": id_} | {name: values.get(id_) for name, values in gold.items()} for id_ in given.ids)
        write_lines(path, (json.dumps(row, ensure_ascii=False) for row in rows))
    if json_output:
        emit_json(found)
        return
    for row in found:
        _print(row)
    if path is not None:
        echo(f"Written to {path}. Use it with: imapeval study report RUN --ratings {shlex.quote(str(path))}")


def _print(found: "LatentTruth") -> None:
    names = [f"{category:g}" for category in found.categories]

    rows: list[tuple[str, str, str, Sequence[float]]] = [("share of the answers", "", "", found.shares)]
    for rater in found.raters:
        rows += _list_rows(rater, names)
    columns = [
        Column("rater", lambda row: row[0], text=True),
        Column("right", lambda row: row[1]),
        Column("if true", lambda row: row[2]),
    ]
    columns += [
        Column(f"gives {name}", lambda row, place=place: row[3][place], write=_format_chance)
        for place, name in enumerate(names)
    ]
    emit(rows, columns, title=f"{found.dimension}: errors of the raters ({found.model} model)", width=UNLIMITED)
    unsure = sum(max(row) < 0.8 for row in found.posteriors)
    echo(
        f"{found.dimension}: {len(found.ids)} answers; for {unsure} no category has a probability of 80%. Errors count "
        "as independent between raters: a misconception that they share is taken for the truth. The "
        "shares hold only under this model, which these ratings cannot confirm; with three raters or few answers they "
        "are barely identified."
    )
    if found.left_out:
        who = ", ".join(found.left_out)
        echo(f"{found.dimension}: left out, because they gave every answer the same rating: {who}.")
    likeliest = Counter(max(range(len(names)), key=row.__getitem__) for row in found.posteriors)
    [(place, count)] = likeliest.most_common(1)
    if count >= _NEARLY_ALL * len(found.ids):
        echo(
            f"{found.dimension}: {count} of {len(found.ids)} answers get the same rating, {names[place]}. If the mean "
            "ratings vary more from answer to answer, use the mean ratings instead."
        )
    if not found.converged:
        echo(f"{found.dimension}: the estimation did not converge; more ratings, or fewer categories, would help.")


def _format_chance(share: float) -> str:
    if 0 < share < _LEAST:
        return f"< {format_percent(_LEAST)}"
    return f"> {format_percent(1 - _LEAST, digits=3)}" if 1 - _LEAST < share < 1 else format_percent(share)


def _list_rows(rater: "RaterErrors", names: "Sequence[str]") -> "list[tuple[str, str, str, Sequence[float]]]":
    return [
        ("" if place else f"{rater.rater} ({rater.n})", "" if place else format_percent(rater.right), name, cells)
        for place, (name, cells) in enumerate(zip(names, rater.matrix, strict=True))
    ]
