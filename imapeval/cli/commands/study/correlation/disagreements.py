"""`imapeval study disagreements`."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from imapeval.cli.commands.study.inputs import RATINGS_FORMAT, MetricOption, RunFoldersArgument, StudyOptions
from imapeval.cli.options import JsonOption, expand_options
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.study.subgroups.disagreements import Disagreement
    from imapeval.types import Sample

_SHOWN = 400
"""Characters of a text that are printed: the start of a paragraph. --json has all."""


@expand_options
def disagreements(
    folders: RunFoldersArgument,
    *,
    metric: MetricOption,
    options: Annotated[StudyOptions, ("ratings", "scores", *RATINGS_FORMAT)],
    count: Annotated[int, typer.Option(min=1, metavar="N", help="Number of answers for each dimension.")] = 10,
    json_output: JsonOption = False,
) -> None:
    """List the answers on which a metric and the raters disagree most, with what matched in them."""
    from imapeval.study.subgroups.disagreements import find_disagreements

    rated = options.read(folders, metrics=metric).rated
    found = [row for name in rated.dimensions for row in find_disagreements(rated, metric, name, count=count)]
    samples, records = _read_texts(folders, {row.id for row in found})
    if json_output:
        emit_json([_disagreement_to_dict(row, samples[row.id], records.get(row.id, [])) for row in found])
        return
    for dimension in rated.dimensions:
        rows = [row for row in found if row.dimension == dimension]
        for title, side in (
            (f"{metric} is too high, relative to {dimension}", [r for r in rows if r.score_rank > r.rating_rank]),
            (f"{metric} is too low, relative to {dimension}", [r for r in rows if r.score_rank < r.rating_rank]),
        ):
            echo(f"{title}: {len(side)} of the {len(rows)} largest gaps\n")
            for row in side:
                _print(row, samples[row.id], records.get(row.id, []))
    echo("Ranks are among all answers with a score and a rating, from 0 (worst) to 1 (best).")


def _read_texts(folders: "Sequence[Path]", ids: "set[str]") -> "tuple[dict[str, Sample], dict[str, list[ImapRecord]]]":
    """Return the samples and imaps of these answers, from the first run that has them."""
    from imapeval.evaluation.runs import Run, group_by_id

    samples: dict[str, Sample] = {}
    records: dict[str, list[ImapRecord]] = {}
    for run in map(Run, folders):
        for sample in run.samples():
            if sample.id in ids:
                samples.setdefault(sample.id, sample)
        records = group_by_id(run.find_imaps(ids)) | records
    return samples, records


def _disagreement_to_dict(row: "Disagreement", sample: "Sample", records: "Sequence[ImapRecord]") -> dict[str, Any]:
    from imapeval.explain.evidence import explain_match
    from imapeval.metrics.imapscore import compute_credit

    return {
        **asdict(row),
        "system": sample.system,
        "question": sample.question,
        "references": list(sample.references),
        "response": sample.response,
        "imaps": [
            {
                "reference_index": record.imap.reference_index,
                "reading": record.imap.reading,
                "reference": [[pair.term, pair.value] for pair in record.imap.reference],
                "response": [[pair.term, pair.value] for pair in record.imap.response],
                "matches": [
                    {
                        "term": match.term,
                        "reference": match.reference,
                        "response": match.response,
                        "response_term": match.response_term,
                        "relation": match.relation,
                        "credit": compute_credit(match),
                        "decided_by": match.decided_by,
                        "evidence": list(explain_match(match)),
                    }
                    for match in record.matches or ()
                ],
            }
            for record in records
        ],
    }


def _print(row: "Disagreement", sample: "Sample", records: "Sequence[ImapRecord]") -> None:
    from imapeval.explain.comparison import compare
    from imapeval.report.markdown import shorten_line

    echo(
        f"{row.id}: score {row.score:.3g} (rank {row.score_rank:.2f}), {row.dimension} {row.rating:g} "
        f"(rank {row.rating_rank:.2f})"
    )
    texts = [("question", sample.question), *(("reference", text) for text in sample.references)]
    for name, text in (*texts, ("response", sample.response)):
        echo(f"  {name}: {shorten_line(text, _SHOWN)}")
    columns = [
        Column("term", "terms", text=True),
        Column("reference", lambda fact: fact.show("reference"), text=True),
        Column("response", lambda fact: fact.show("response"), text=True),
        Column("relation", "kind", text=True),
        Column("credit", "credit", "{:.2f}".format),
        Column("why", "why", text=True),
    ]
    for record in records:
        emit(compare(record), columns, width=UNLIMITED)
    echo("" if records else "  The run has no imaps. Score with imapscore to see what matched.\n")
