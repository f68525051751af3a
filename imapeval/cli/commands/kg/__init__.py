"""`imapeval kg`: what the knowledge graph contains, and how it relates two values."""

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from imapeval.cli.commands.kg import build as kg_build
from imapeval.cli.options import (
    EncoderOption,
    JsonOption,
    KgOption,
    LanguageOption,
    choose_one,
    parse_lang,
    require_value,
)
from imapeval.cli.output import echo, emit_json
from imapeval.cli.progress import show_indexing
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from imapeval.graph.linking.linker import Linker
    from imapeval.graph.model import ConceptType
    from imapeval.graph.store.graph import Graph

app = typer.Typer(help="The knowledge graph.", no_args_is_help=True, rich_markup_mode=None)
app.command("build")(kg_build.build)
app.command("index")(kg_build.index)

_RELATIVES_SHOWN = 20
"""Related concepts of each kind, such as narrower ones, that `info` lists; the others are counted."""


@app.command()
def stats(kg: KgOption = None, json_output: JsonOption = False) -> None:
    """Count concepts, names and edges of the graph by type, language and source."""
    from imapeval.evaluation.pipeline import open_graph

    with open_graph(kg) as graph:
        found = {"path": str(graph.path), **graph.stats()}
    if json_output:
        emit_json(found)
        return
    echo(f"{found.pop('path')}: hash {found.pop('hash')[:12]}")
    for name, value in found.items():
        title = name.replace("_", " ")
        if isinstance(value, dict):
            counts = cast("dict[str, Any]", value)
            echo(f"{title}: " + ", ".join(f"{key} {_count(number)}" for key, number in counts.items()))
        else:
            echo(f"{title}: {_count(value)}")


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


@app.command()
def info(
    concept: Annotated[str, typer.Argument(metavar="CONCEPT", help="An id, such as DOID:2841, or a name.")],
    kg: KgOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show a concept: its names, what it is a kind or part of, and what is a kind or part of it."""
    from imapeval.evaluation.pipeline import open_graph

    require_value(concept)
    with open_graph(kg) as graph:
        ids = (graph.resolve(concept),) if concept in graph else graph.lookup(concept)
        if not ids:
            raise UsageError(
                f"the graph {graph.path} has no concept with the id or name {concept!r}. "
                f"Search for it with: imapeval kg search {shlex.quote(concept)}"
            )
        shown = [_describe(graph, concept_id) for concept_id in ids]
    if json_output:
        emit_json(shown)
        return
    echo("\n\n".join(map(_format_concept, shown)))


def _describe(graph: "Graph", concept_id: str) -> dict[str, Any]:
    concept = graph.concept(concept_id)

    def show(ids: Iterable[str]) -> list[dict[str, str]]:
        return [{"id": concept_id, "label": graph.concept(concept_id).label} for concept_id in ids]

    return {
        "id": concept.id,
        "label": concept.label,
        "type": concept.type,
        "general": graph.is_general(concept_id),
        "aliases": list(concept.aliases),
        "names": [name._asdict() for name in graph.names(concept_id)],
        "kind_of": show(concept.parents),
        "part_of": show(concept.wholes),
        "ancestors": show(graph.ancestors(concept_id)),
        "kinds": show(graph.children(concept_id)),
        "parts": show(graph.parts(concept_id)),
    }


def _format_concept(shown: dict[str, Any]) -> str:
    lines = [
        f"{shown['label']} ({shown['id']}), {shown['type']}" + (", too general to relate values" * shown["general"])
    ]
    names: dict[tuple[str, str], list[str]] = {}
    for name in shown["names"]:
        kind = name["kind"] if name["scope"] == "exact" else f"{name['scope']} {name['kind']}"
        names.setdefault((name["lang"], kind), []).append(f"{name['text']} [{name['source']}]")
    lines += [f"  {lang} {kind}: {'; '.join(texts)}" for (lang, kind), texts in names.items()]
    for key, title in (
        ("kind_of", "a kind of"),
        ("ancestors", "all broader"),
        ("part_of", "a part of"),
        ("kinds", "kinds of it"),
        ("parts", "parts of it"),
    ):
        related = [f"{relative['label']} ({relative['id']})" for relative in shown[key]]
        if related:
            more = f"; and {len(related) - _RELATIVES_SHOWN:,} more" if len(related) > _RELATIVES_SHOWN else ""
            lines.append(f"  {title}: {'; '.join(related[:_RELATIVES_SHOWN])}{more}")
    if shown["aliases"]:
        lines.append(f"  other ids: {', '.join(shown['aliases'])}")
    return "\n".join(lines)


@app.command()
def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A name, exact or approximate.")],
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of concepts.")] = 10,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="List this type only, such as drug. Repeatable."),
    ] = None,
    lang: LanguageOption = None,
    kg: KgOption = None,
    encoder: EncoderOption = "use",
    json_output: JsonOption = False,
) -> None:
    """List the concepts that a text may mean, the most likely first."""
    wanted = _check_types(types)
    language = parse_lang(lang, text)
    linker, graph = _open_linker(kg, encoder, quiet=json_output)
    found = [
        {
            "concept": candidate.concept,
            "label": graph.concept(candidate.concept).label,
            "type": graph.concept(candidate.concept).type,
            "name": candidate.name,
            "score": candidate.score,
            "evidence": dict(candidate.evidence),
        }
        for candidate in linker.search(text, lang=language, k=limit, types=wanted)
    ]
    if json_output:
        emit_json(found)
        return
    if not found:
        echo(f"nothing in {graph.path} resembles {text!r}")
    for row in found:
        # Two significant digits: the right concept of a misspelt text may have a score of .01.
        echo(f"{row['score']:#.2g}  {row['label']} ({row['concept']}), {row['type']}, by its name {row['name']!r}")


@app.command()
def relate(
    reference: Annotated[str, typer.Argument(metavar="A", help="The reference's value.")],
    response: Annotated[str, typer.Argument(metavar="B", help="The response's value.")],
    explain: Annotated[bool, typer.Option("--explain", help="Explain the links and the path between them.")] = False,
    lang: LanguageOption = None,
    kg: KgOption = None,
    encoder: EncoderOption = "use",
    json_output: JsonOption = False,
) -> None:
    """Show how the graph alone relates two values; `imapeval relate` also uses wording, encoder and model."""
    from imapeval.explain.evidence import explain_match
    from imapeval.matching.graph import explain_unrelated, relate_links
    from imapeval.types import Match, Relation

    language = parse_lang(lang, reference, response)
    linker, graph = _open_linker(kg, encoder, quiet=json_output)
    links = linker.link_many([reference, response], lang=language)
    relation, evidence = relate_links(graph, *links) or (Relation.UNMATCHED, explain_unrelated(graph, *links))
    sentences = explain_match(Match("", reference, response, relation, 0.0, "graph", evidence))
    if json_output:
        found = {"relation": relation.value, "evidence": evidence, "explanation": sentences}
        emit_json(found, compact=True)
        return
    echo(f"{reference} -> {response}: {relation.value}")
    for sentence in sentences if explain else ():
        echo(f"  {sentence}")


def _check_types(types: list[str] | None) -> "tuple[ConceptType, ...] | None":
    from imapeval.graph.model import ConceptType

    for kind in types or ():
        choose_one(kind, "--type", get_args(ConceptType))
    return cast("tuple[ConceptType, ...] | None", tuple(types) if types else None)


def _open_linker(kg: Path | None, encoder: str, *, quiet: bool) -> "tuple[Linker, Graph]":
    from imapeval.evaluation.pipeline import open_graph, open_linker

    graph = open_graph(kg)
    with show_indexing(quiet=quiet) as progress:
        return open_linker(graph, encoder=encoder, progress=progress), graph
