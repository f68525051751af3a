"""`imapeval relate`: how two values relate, and why."""

import asyncio
import json
from typing import Annotated

import typer

from imapeval.cli.llm_options import make_llm_settings
from imapeval.cli.options import BaseUrl, Encoder, Json, Kg, Language, Llm, Relations, parse_lang
from imapeval.cli.output import echo
from imapeval.cli.progress import show_indexing
from imapeval.errors import UsageError
from imapeval.types import Failure


def relate(
    reference: Annotated[str, typer.Argument(metavar="A", help="The reference's value.")],
    response: Annotated[str, typer.Argument(metavar="B", help="The response's value.")],
    lang: Language = None,
    relations: Relations = None,
    llm: Llm = None,
    base_url: BaseUrl = None,
    kg: Kg = None,
    encoder: Encoder = "use",
    json_output: Json = False,
) -> None:
    """Say how the reference value A relates to the response value B.

    exact: the same meaning. belonging: A is a kind or part of B. containment: B is a kind or part of A.
    contradiction: they cannot both hold. unmatched: none of these.
    """
    from imapeval.evaluation.pipeline import open_graph, open_llm, open_matcher
    from imapeval.explain.evidence import explain_match
    from imapeval.matching.matcher import relate as relate_values
    from imapeval.metrics.imapscore import credit

    language = parse_lang(lang, reference, response)
    settings = make_llm_settings(
        llm,
        base_url=base_url,
        votes=1,
        concurrency=None,
        rpm=None,
        tpm=None,
        price=None,
        max_cost=None,
        relations=relations,
    )
    if settings is not None and not settings.relations:
        raise UsageError("With --relations graph the model of --llm is asked nothing. Leave one of the two out.")
    model = None if settings is None else open_llm(settings)
    with show_indexing(quiet=json_output) as progress:
        matcher = open_matcher(open_graph(kg), encoder=encoder, llm=model, progress=progress)
    match = asyncio.run(relate_values(matcher, reference, response, lang=language))
    if isinstance(match, Failure):
        echo(f"imapeval: {match.message}", err=True)
        raise typer.Exit(1)
    if json_output:
        found = {
            "relation": match.relation.value,
            "credit": round(credit(match), 4),
            "decided_by": match.decided_by,
            "evidence": dict(match.evidence),
            "similarity": round(match.similarity, 4),
        }
        echo(json.dumps(found, ensure_ascii=False))
        return
    echo(f"{reference} -> {response}: {match.relation.value} (decided by {match.decided_by})")
    echo(f"credit {credit(match):.2f}, similarity {match.similarity:.2f}")
    for sentence in explain_match(match):
        echo(sentence)
