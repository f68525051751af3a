"""`imapeval kg build` and `imapeval kg index`: build a knowledge graph from your own ontologies."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.options import JsonOption
from imapeval.cli.output import echo, emit_json
from imapeval.cli.progress import show_indexing

if TYPE_CHECKING:
    from imapeval.graph.build.builder import BuildReport, Omission


def build(
    source: Annotated[
        list[str],
        typer.Option(
            metavar="PATH",
            help="An ontology: a file, or the folder of a release; FORMAT:PATH if the format is not recognised. "
            "Repeatable; earlier sources take precedence.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write, such as my.kg.")],
    json_output: JsonOption = False,
) -> None:
    """Build a knowledge graph from ontologies: OBO, OWL, UMLS, RxNorm, SNOMED CT, MeSH, KGX, tables and others."""
    from imapeval.graph.build.builder import build_graph
    from imapeval.graph.readers.formats import open_source

    with _show_stages(quiet=json_output) as advance:
        sources = [
            open_source(spec, progress=lambda done, total, spec=spec: advance(f"reading {spec}", done, total))
            for spec in source
        ]
        report = build_graph(sources, out, progress=advance)
    if json_output:
        emit_json(report)
    else:
        _print_report(report)


def index(
    kg: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a graph made by `imapeval kg build`.")],
    encoder: Annotated[str, typer.Option(metavar="SPEC", help="Encoder: use (shipped) or st:NAME_OR_PATH.")] = "use",
    json_output: JsonOption = False,
) -> None:
    """Build the index of a graph's names; if stopped, repeat the command to resume.

    Otherwise the first command that needs the index builds it, in the cache.
    """
    from imapeval.evaluation.pipeline import open_graph
    from imapeval.graph.encoder import open_encoder
    from imapeval.graph.index.names import INDEX_FILE, NameIndex

    with open_graph(kg) as graph, show_indexing(quiet=json_output) as progress:
        path = graph.path.with_name(INDEX_FILE)
        made = NameIndex.build(graph, open_encoder(encoder), path, progress=progress)
        size = path.stat().st_size
        found = {"path": path, "names": len(made), "bytes": size, "encoder": made.encoder.identity}
    if json_output:
        emit_json(found, compact=True)
    else:
        echo(f"{path}: {len(made):,} names, {size / 1e6:.1f} MB, encoder {made.encoder.identity}")


@contextmanager
def _show_stages(*, quiet: bool) -> Generator[Callable[[str, int, int], None]]:
    """Yield a function that shows a progress bar for each stage."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress, TaskID

    with Progress(console=Console(stderr=True), disable=quiet) as bar:
        tasks: dict[str, TaskID] = {}

        def advance(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(escape(what), total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield advance


def _print_report(report: "BuildReport") -> None:
    echo(
        f"{report.path}: {report.concepts:,} concepts, {report.names:,} names, {report.edges:,} is-a edges, "
        f"{report.parts:,} part-of edges, hash {report.hash[:12]}"
    )
    for source in report.sources:
        echo(f"{source.name} ({source.format}, {source.path}): {source.records:,} concepts, {source.names:,} names")
        for problem in source.problems:
            echo(f"  bad: {_format_left_out(problem)}")
        for skipped in source.skipped:
            echo(f"  left out: {_format_left_out(skipped)}")
    for merge in report.joined:
        echo(f"merged by {merge.why}: {merge.count:,} of {merge.source}, such as")
        for merged_id, label, target_id, target_label in merge.samples:
            echo(f"  {label} ({merged_id}) into {target_label} ({target_id})")
    for omission in report.left_out:
        echo(f"not in the graph: {_format_left_out(omission)}")
    for kind, cycles in (("is-a", report.cycles), ("part-of", report.part_cycles)):
        for cycle in cycles:
            echo(f"{kind} cycle cut at its first step: {' -> '.join(cycle)}")
    if report.inherited_types or report.other:
        echo(f"types: {report.inherited_types:,} concepts have that of one above them, {report.other:,} none (other)")


def _format_left_out(omission: "Omission") -> str:
    first = f" (first: {'; '.join(omission.first)})" if omission.first else ""
    return f"{omission.what}: {omission.count:,}{first}"
