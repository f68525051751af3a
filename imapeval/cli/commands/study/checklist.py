"""`imapeval study checklist`."""

from pathlib import Path
from typing import Annotated

import typer

from imapeval.cli.commands.study.inputs import RATINGS_FORMAT, AboutOption, StudyOptions, read_about_study
from imapeval.cli.options import JsonOption, expand_options
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json


@expand_options
def checklist(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Ratings, as for `imapeval study agreement`.")],
    options: Annotated[StudyOptions, RATINGS_FORMAT],
    about: AboutOption = None,
    json_output: JsonOption = False,
) -> None:
    """List what a paper on these ratings should report (GRRAS, HEDS): what the data says, and what is missing."""
    from imapeval.study.agreement.measure import measure_agreement
    from imapeval.study.data.rated import rated_without_scores
    from imapeval.study.summary.checklist import fill_checklist

    stated = read_about_study(about, Path(file).parent)
    given = options.read_ratings(file, report=True)
    rated = rated_without_scores(given)
    items = fill_checklist(rated, measure_agreement(rated), stated)
    if json_output:
        emit_json(items)
        return
    columns = [
        Column("guideline", "guideline", text=True, wrap=False),
        Column("topic", "topic", text=True, wrap=False),
        Column("reported", lambda item: " ".join(part for part in (item.stated, item.data) if part), text=True),
    ]
    emit([item for item in items if item.stated or item.data], columns, title="Reported", width=UNLIMITED)
    missing = [item for item in items if item.missing]
    echo(f"{len(items) - len(missing)} of {len(items)} items are reported in full." + (" Missing:" if missing else ""))
    for item in missing:
        where = "" if item.key is None or item.stated else f"  [study.toml: {item.key}]"
        echo(f"- {item.topic} ({item.guideline}): {item.missing}{where}")
