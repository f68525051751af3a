"""`imapeval study paraphrase`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from imapeval.cli.interrupt import Interrupted, run_until_interrupted
from imapeval.cli.llm_options import MODEL_SPECS, LlmOptions
from imapeval.cli.options import (
    DataArgument,
    DataOptions,
    JsonOption,
    MaxFailuresOption,
    choose_exit_code,
    expand_options,
    make_file_stem,
)
from imapeval.cli.output import echo, emit_json, require_new_file, write_lines
from imapeval.cli.progress import show_progress
from imapeval.errors import UsageError
from imapeval.types import Failure


@expand_options
def paraphrase(
    data: DataArgument,
    *,
    llm: Annotated[str, typer.Option(metavar="SPEC", help=f"The language model that rewords: {MODEL_SPECS}.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write.  [default: <data stem>-reworded.jsonl]")
    ] = None,
    count: Annotated[int, typer.Option(min=1, metavar="N", help="Number of rewordings of each answer.")] = 1,
    data_options: DataOptions,
    llm_options: Annotated[LlmOptions, ("base_url", "concurrency", "rpm", "tpm", "price", "max_cost")],
    max_failures: MaxFailuresOption = None,
    json_output: JsonOption = False,
) -> None:
    """Write the answers in other words, to be scored and compared with `imapeval study robustness`.

    Read a few of them: no program can check that the meaning is kept.
    """
    from imapeval.evaluation.pipeline import open_ledger, open_llm
    from imapeval.evaluation.runs.usage_file import add_up_usage
    from imapeval.llm.middleware.budget import format_report
    from imapeval.study.robustness.rewording import reword_answers, rewording_signature, sample_to_json_line

    settings = replace(llm_options, llm=llm).make_settings(relating=False)
    if settings is None:
        raise UsageError(f"--llm is empty. Give {MODEL_SPECS}.")
    samples = data_options.read(data)
    path = require_new_file(out or Path(f"{make_file_stem(data)}-reworded.jsonl"))
    ledger = open_ledger(settings)
    model = open_llm(settings, ledger=ledger)
    with add_up_usage(path, ledger):
        try:
            with show_progress("rewording", total=len(samples), quiet=json_output) as advance:
                made = run_until_interrupted(
                    lambda stop: reword_answers(samples, model=model, count=count, stop=stop, progress=advance),
                    llm=model,
                )
        except Interrupted as interrupted:
            echo("Stopped. Completed rewordings are cached: repeat the command to resume.", err=True)
            raise typer.Exit(interrupted.code) from interrupted
        reworded = [item for sample in samples for item in made[sample.id] if not isinstance(item, Failure)]
        failures = [(s.id, n, f) for s in samples for n, f in enumerate(made[s.id], 1) if isinstance(f, Failure)]
        write_lines(path, map(sample_to_json_line, reworded))
        if json_output:
            content = {
                "file": path,
                "samples": len(samples),
                "reworded": len(reworded),
                "failures": [{"id": id_, "number": number, **failure.to_dict()} for id_, number, failure in failures],
                "by": rewording_signature(model),
                "usage": ledger.report(),
            }
            emit_json(content, compact=True)
        else:
            for id_, number, failure in failures:
                echo(f"{id_}, rewording {number}: {failure.message}", err=True)
            echo(f"{len(reworded)} rewordings of {len(samples)} answers: {path}\nby:    {rewording_signature(model)}")
            echo(f"usage: {format_report(ledger.report())}")
    failed = len({id_ for id_, _, _ in failures})
    raise typer.Exit(choose_exit_code(failed=failed, samples=len(samples), max_failures=max_failures))
