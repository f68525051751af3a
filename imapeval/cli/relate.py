"""`imapeval relate`: how two values relate, and why."""

import json
from typing import Annotated, Any

import typer

from imapeval.cli.options import Encoder, Json, Kg
from imapeval.cli.progress import show_indexing
from imapeval.errors import UsageError


def relate(
    reference: Annotated[str, typer.Argument(metavar="A", help="The reference's value.")],
    response: Annotated[str, typer.Argument(metavar="B", help="The response's value.")],
    lang: Annotated[str | None, typer.Option(help="en or zh.  [default: by script]")] = None,
    kg: Kg = None,
    encoder: Encoder = "use",
    json_output: Json = False,
) -> None:
    """Say how the reference value A relates to the response value B.

    exact: the same meaning. belonging: A is a kind or part of B. containment: B is a kind or part of A.
    """
    from imapeval.metrics.imapscore import credit
    from imapeval.pipeline import open_graph, open_matcher
    from imapeval.samples import detect_lang

    for value in (reference, response):
        if not value.strip():
            raise UsageError("a value is empty. Give two values, such as: imapeval relate penicillin antibiotics")
    language = detect_lang(reference + response) if lang is None else lang
    if language not in ("en", "zh"):
        raise UsageError(f"unknown --lang {lang!r}. Write en or zh.")
    with show_indexing(quiet=json_output) as progress:
        matcher = open_matcher(open_graph(kg), encoder=encoder, progress=progress)
    match = matcher.relate(reference, response, lang=language)
    if json_output:
        found = {
            "relation": match.relation.value,
            "credit": round(credit(match), 4),
            "decided_by": match.decided_by,
            "evidence": dict(match.evidence),
            "similarity": round(match.similarity, 4),
        }
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    typer.echo(f"{reference} -> {response}: {match.relation.value} (decided by {match.decided_by})")
    typer.echo(f"credit {credit(match):.2f}, similarity {match.similarity:.2f}")
    for name, reason in match.evidence.items():
        typer.echo(f"{name}: {_tell(reason)}")


def _tell(reason: Any) -> str:
    """Put evidence in words: a link by its concept, a path by its steps, anything else as it is."""
    match reason:
        case {"concept": concept, "label": label, "how": how}:
            return f"{label} ({concept}, {how})"
        case [*steps]:
            return " is a ".join(map(str, steps))
        case _:
            return str(reason)
