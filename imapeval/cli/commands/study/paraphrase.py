"""`imapeval study paraphrase`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.interrupt import Interrupted, run_until_interrupted
from imapeval.cli.llm_options import make_llm_settings
from imapeval.cli.options import (
    BaseUrl,
    Concurrency,
    Data,
    Json,
    Limit,
    Loader,
    Map,
    MaxCost,
    MaxFailures,
    Missing,
    Price,
    Rpm,
    Tpm,
    exit_code,
    make_file_stem,
    parse_columns,
)
from imapeval.cli.output import echo
from imapeval.cli.progress import show_progress
from imapeval.errors import UsageError
from imapeval.files import replace_file
from imapeval.types import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.types import Sample


def paraphrase(
    data: Data,
    llm: Annotated[
        str, typer.Option(metavar="SPEC", help="The language model that rewords: openai:NAME, vllm:NAME or local:NAME.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write.  [default: <data stem>-reworded.jsonl]")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="How many rewordings of each answer.")] = 1,
    loader: Loader = None,
    map_: Map = None,
    missing: Missing = None,
    limit: Limit = None,
    base_url: BaseUrl = None,
    concurrency: Concurrency = None,
    rpm: Rpm = None,
    tpm: Tpm = None,
    price: Price = None,
    max_cost: MaxCost = None,
    max_failures: MaxFailures = None,
    json_output: Json = False,
) -> None:
    """Write the answers in other words, to be scored and compared with `imapeval study robustness`.

    Read some of them: whether the meaning is kept, no program can tell.
    """
    from imapeval.evaluation.pipeline import open_ledger, open_llm
    from imapeval.evaluation.samples import read
    from imapeval.llm.middleware.budget import format_report
    from imapeval.study.robustness.rewording import reword_answers, rewording_signature

    settings = make_llm_settings(
        llm,
        base_url=base_url,
        votes=1,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        price=price,
        max_cost=max_cost,
    )
    if settings is None:
        raise UsageError("rewording needs a language model. Name one: --llm openai:NAME.")
    samples = read(data, loader=loader, columns=parse_columns(map_), missing=missing or (), limit=limit)
    path = out or Path(f"{make_file_stem(data)}-reworded.jsonl")
    if path.exists():
        raise UsageError(f"{path} exists. Choose another file with --out, or remove it.")
    ledger = open_ledger(settings)
    model = open_llm(settings, ledger=ledger)
    try:
        with show_progress("rewording", total=len(samples), quiet=json_output) as advance:
            made = run_until_interrupted(
                lambda stop: reword_answers(samples, model=model, count=count, stop=stop, progress=advance)
            )
    except Interrupted as interrupted:
        echo("Stopped. What the model has written is kept: the same command goes on.", err=True)
        raise typer.Exit(interrupted.code) from interrupted
    reworded = [item for sample in samples for item in made[sample.id] if not isinstance(item, Failure)]
    failures = [(s.id, n, f) for s in samples for n, f in enumerate(made[s.id], 1) if isinstance(f, Failure)]
    _write(reworded, path)
    if json_output:
        told = {
            "file": str(path),
            "samples": len(samples),
            "reworded": len(reworded),
            "failures": [
                {"id": id_, "number": n, "stage": f.stage, "kind": f.kind, "message": f.message}
                for id_, n, f in failures
            ],
            "by": rewording_signature(model),
            "usage": ledger.report(),
        }
        echo(json.dumps(told, ensure_ascii=False))
    else:
        for id_, number, failure in failures:
            echo(f"{id_}, rewording {number}: {failure.message}", err=True)
        echo(f"{len(reworded)} rewordings of {len(samples)} answers: {path}\nby:    {rewording_signature(model)}")
        echo(f"usage: {format_report(ledger.report())}")
    failed = len({id_ for id_, _, _ in failures})
    raise typer.Exit(exit_code(failed=failed, samples=len(samples), max_failures=max_failures))


def _write(samples: "Sequence[Sample]", path: Path) -> None:
    from imapeval.study.robustness.rewording import sample_to_json_line

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, "".join(f"{sample_to_json_line(sample)}\n" for sample in samples).encode())
    except OSError as error:
        raise UsageError(f"cannot write {path} ({error.strerror}). Choose another file with --out.") from error
