"""`imapeval relate`: how two values relate, and why."""

import asyncio
from typing import Annotated

import typer

from imapeval.cli.llm_options import LlmOptions
from imapeval.cli.options import EncoderOption, JsonOption, KgOption, LanguageOption, expand_options, parse_lang
from imapeval.cli.output import echo, emit_json
from imapeval.cli.progress import show_indexing
from imapeval.errors import UsageError
from imapeval.types import Failure


@expand_options
def relate(
    reference: Annotated[str, typer.Argument(metavar="A", help="The reference's value.")],
    response: Annotated[str, typer.Argument(metavar="B", help="The response's value.")],
    *,
    lang: LanguageOption = None,
    llm_options: Annotated[LlmOptions, ("relations", "llm", "base_url")],
    kg: KgOption = None,
    encoder: EncoderOption = "use",
    json_output: JsonOption = False,
) -> None:
    """Show how the reference value A relates to the response value B.

    exact: the same meaning. belonging: A is a kind or part of B. containment: B is a kind or part of A.
    contradiction: they cannot both hold. unmatched: none of these.
    """
    from imapeval.evaluation.pipeline import open_graph, open_llm, open_matcher
    from imapeval.explain.evidence import explain_match
    from imapeval.matching.protocol import relate_values
    from imapeval.metrics.imapscore import compute_credit

    language = parse_lang(lang, reference, response)
    settings = llm_options.make_settings()
    if settings is not None and not settings.relations:
        raise UsageError("--relations graph leaves the model of --llm nothing to do. Remove one of the two.")
    model = None if settings is None else open_llm(settings)
    with show_indexing(quiet=json_output) as progress:
        matcher = open_matcher(open_graph(kg), encoder=encoder, llm=model, progress=progress)
    match = asyncio.run(relate_values(matcher, reference, response, lang=language))
    if isinstance(match, Failure):
        echo(f"imapeval: {match.message}", err=True)
        raise typer.Exit(1)
    if json_output:
        content = {
            "relation": match.relation.value,
            "credit": round(compute_credit(match), 4),
            "decided_by": match.decided_by,
            "evidence": dict(match.evidence),
            "similarity": round(match.similarity, 4),
        }
        emit_json(content, compact=True)
        return
    echo(f"{reference} -> {response}: {match.relation.value} (decided by {match.decided_by})")
    echo(f"credit {compute_credit(match):.2f}, similarity {match.similarity:.2f}")
    for sentence in explain_match(match):
        echo(sentence)
