"""`imapeval study disagreements`."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from imapeval.cli.commands.study.inputs import Dimensions, Labels, Mapping, RatingsFile, RunFolders, Scales, read_rated
from imapeval.cli.options import Json
from imapeval.cli.output import echo, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.study.data.findings import Disagreement
    from imapeval.types import Match, Sample

_SHOWN = 400
"""Most characters of a text that are printed: the start of a paragraph. --json has all."""


def disagreements(
    folders: RunFolders,
    metric: Annotated[str, typer.Option(metavar="METRIC", help="Whose scores.")],
    ratings: RatingsFile = None,
    dimensions: Dimensions = None,
    count: Annotated[int, typer.Option(min=1, help="How many answers, for each dimension.")] = 10,
    scales: Scales = None,
    mapping: Mapping = None,
    labels: Labels = None,
    json_output: Json = False,
) -> None:
    """List the answers that a metric and the raters place furthest apart, with what matched in them."""
    from imapeval.study.subgroups.disagreements import find_disagreements

    rated = read_rated(
        folders, ratings, metrics=metric, dimensions=dimensions, scales=scales, mapping=mapping, labels=labels
    ).rated
    found = [row for name in rated.dimensions for row in find_disagreements(rated, metric, name, count=count)]
    samples, records = _read_texts(folders, {row.id for row in found})
    if json_output:
        content = [_disagreement_to_dict(row, samples[row.id], records.get(row.id, [])) for row in found]
        echo(json.dumps(content, ensure_ascii=False, indent=2))
        return
    for dimension in rated.dimensions:
        rows = [row for row in found if row.dimension == dimension]
        for title, side in (
            (f"{metric} is too high, beside {dimension}", [r for r in rows if r.score_rank > r.rating_rank]),
            (f"{metric} is too low, beside {dimension}", [r for r in rows if r.score_rank < r.rating_rank]),
        ):
            echo(f"{title}: {len(side)} of the {len(rows)} largest gaps\n")
            for row in side:
                _print(row, samples[row.id], records.get(row.id, []))
    echo("Places are among all answers with a score and a rating, from 0 (worst) to 1 (best).")


def _read_texts(folders: "Sequence[Path]", ids: "set[str]") -> "tuple[dict[str, Sample], dict[str, list[ImapRecord]]]":
    """Return the samples and imaps of these answers; of several runs the first that has them."""
    from imapeval.evaluation.runs import Run

    samples: dict[str, Sample] = {}
    records: dict[str, list[ImapRecord]] = {}
    for run in map(Run, folders):
        for sample in run.samples():
            if sample.id in ids:
                samples.setdefault(sample.id, sample)
        here: dict[str, list[ImapRecord]] = {}
        for record in run.imaps():
            if record.id in ids:
                here.setdefault(record.id, []).append(record)
        records = here | records
    return samples, records


def _disagreement_to_dict(row: "Disagreement", sample: "Sample", records: "Sequence[ImapRecord]") -> dict[str, Any]:
    from imapeval.explain.evidence import explain_match
    from imapeval.metrics.imapscore import credit

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
                        "credit": credit(match),
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
    from rich.table import Table
    from rich.text import Text

    echo(
        f"{row.id}: score {row.score:.3g} (place {row.score_rank:.2f}), {row.dimension} {row.rating:g} "
        f"(place {row.rating_rank:.2f})"
    )
    texts = [("question", sample.question), *(("reference", text) for text in sample.references)]
    for name, text in (*texts, ("response", sample.response)):
        echo(f"  {name}: {_shorten(text)}")
    for record in records:
        table = Table("term", "reference", "best in the response", "relation", "credit", "why")
        for cells in _list_best(record):
            table.add_row(*map(Text, cells))
        # Where nobody looks at a terminal nothing is cut off.
        print_table(table, width=200)
    echo("" if records else "  There is no imap in the run: score with imapscore to see what matched.\n")


def _list_best(record: "ImapRecord") -> list[tuple[str, str, str, str, str, str]]:
    """Return a line for each value of the reference with its best match, then the other values of the response.

    What contradicts comes first.
    """
    from imapeval.explain.evidence import explain_match
    from imapeval.explain.facts import find_best_matches
    from imapeval.metrics.imapscore import credit
    from imapeval.types import Relation

    def show(match: "Match") -> tuple[str, str, str, str, str, str]:
        terms = f"{match.term} / {match.other_term}" if match.other_term else match.term
        why = "; ".join(explain_match(match))
        return terms, match.reference, match.response, match.relation, f"{credit(match):.2f}", why

    best = find_best_matches(record.matches or ())
    others = dict.fromkeys((pair.term, pair.value) for pair in record.imap.response)
    lines: list[tuple[str, str, str, str, str, str]] = []
    for term, value in dict.fromkeys((pair.term, pair.value) for pair in record.imap.reference):
        match = best.get(("reference", term, value))
        if match is None:
            lines.append((term, value, "-", "unmatched", "0.00", ""))
        else:
            others.pop((match.response_term, match.response), None)
            lines.append(show(match))
    for term, value in others:
        match = best.get(("response", term, value))
        if match is not None and match.relation is Relation.CONTRADICTION:
            lines.append(show(match))
        else:
            lines.append((term, "-", value, "", "", ""))
    return sorted(lines, key=lambda line: line[3] != Relation.CONTRADICTION)


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."
