"""`imapeval extract`: texts to imaps, without scoring them."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.options import (
    BaseUrl,
    Data,
    Json,
    Kg,
    Limit,
    Llm,
    Loader,
    Map,
    MaxFailures,
    exit_code,
    name_of,
    parse_columns,
)
from imapeval.cli.progress import show_progress
from imapeval.errors import UsageError
from imapeval.types import Failure, Sample

if TYPE_CHECKING:
    from imapeval.extraction.extractor import Extractor


def extract(
    data: Data,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write.  [default: <data stem>-imaps.jsonl]")
    ] = None,
    loader: Loader = None,
    map_: Map = None,
    limit: Limit = None,
    llm: Llm = None,
    base_url: BaseUrl = None,
    kg: Kg = None,
    max_failures: MaxFailures = None,
    json_output: Json = False,
) -> None:
    """Write the imaps of all samples to a file that `imapeval score --imaps` takes."""
    from imapeval.pipeline import open_extractor, open_graph
    from imapeval.samples import read

    samples = read(data, loader=loader, columns=parse_columns(map_))[:limit]
    path = out or Path(f"{name_of(data)}-imaps.jsonl")
    if path.exists():
        raise UsageError(f"{path} exists. Choose another file with --out, or remove it.")
    extractor = open_extractor(open_graph(kg), llm=llm, base_url=base_url)
    with show_progress("extracting", total=len(samples), quiet=json_output) as advance:
        failures = asyncio.run(_write(samples, extractor, path, advance))
    if json_output:
        listed = [{"id": id_, "stage": f.stage, "kind": f.kind, "message": f.message} for id_, f in failures.items()]
        typer.echo(json.dumps({"imaps": str(path), "samples": len(samples), "failures": listed}, ensure_ascii=False))
    else:
        for id_, failure in failures.items():
            typer.echo(f"{id_}: {failure.message}", err=True)
        typer.echo(f"{len(samples) - len(failures)} of {len(samples)} samples: {path}")
    raise typer.Exit(exit_code(failed=len(failures), samples=len(samples), max_failures=max_failures))


async def _write(
    samples: Sequence[Sample], extractor: "Extractor", path: Path, advance: Callable[[int], None]
) -> dict[str, Failure]:
    from imapeval import imapfile
    from imapeval.evaluate import extract as extract_all
    from imapeval.imapfile import ImapRecord

    failures: dict[str, Failure] = {}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        with part.open("w", encoding="utf-8", newline="\n") as file:
            async for sample, imaps in extract_all(samples, extractor=extractor):
                if isinstance(imaps, Failure):
                    failures[sample.id] = imaps
                else:
                    file.writelines(imapfile.dump(ImapRecord(sample.id, imap, None)) + "\n" for imap in imaps)
                advance(1)
        part.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path} ({error.strerror}). Choose another file with --out.") from error
    return failures
