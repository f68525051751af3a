"""The options of a language model, declared and put together once for all commands."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.options import choose_one
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from imapeval.evaluation.pipeline import LlmSettings

MODEL_SPECS = "openai:NAME, vllm:NAME or local:NAME"
"""What --llm takes: our providers, named here because importing the registry would slow --help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmOptions:
    """Which language model is used, for what, and within which limits. See `imapeval.cli.options.expand_options`."""

    llm: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help=f"Read the texts with a language model: {MODEL_SPECS}."),
    ] = None
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of an OpenAI-compatible server for --llm.")
    ] = None
    votes: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Read each text N times and have each judge rate it N times; the mean score counts.",
        ),
    ] = 1
    relations: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="How relations between facts are decided: llm (the model may overrule wording and graph) or graph "
            "(without a model).  [default: llm with --llm, otherwise graph]",
        ),
    ] = None
    concurrency: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Maximum number of simultaneous requests to the model.")
    ] = None
    rpm: Annotated[
        int | None, typer.Option("--rpm", min=1, metavar="N", help="Maximum requests to the model per minute.")
    ] = None
    tpm: Annotated[
        int | None, typer.Option("--tpm", min=1, metavar="N", help="Maximum tokens of the model per minute.")
    ] = None
    price: Annotated[
        str | None,
        typer.Option(
            metavar="IN,OUT",
            help="Price of the model in USD per million input and output tokens, such as 0.40,1.60, if imapeval does "
            "not know it.",
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, metavar="USD", help="Stop before the model costs more. The run can be resumed."),
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the number of calls, their tokens and cost; send nothing.")
    ] = False
    batch: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Send nothing; use the results imported into this `imapeval batch` folder."),
    ] = None

    def make_settings(
        self, *, imaps: Path | None = None, judging: bool = False, relating: bool = True
    ) -> "LlmSettings | None":
        """Return the settings of the model, or None if no model is named.

        Args:
            imaps: A file of ready-made imaps, which leaves nothing to read.
            judging: Whether metrics ask the model.
            relating: Whether the model decides relations unless --relations says otherwise.

        Raises:
            UsageError: An option needs a model and none is named, or the model would have nothing to do.
        """
        from imapeval.evaluation.pipeline import LlmSettings
        from imapeval.llm.prices import parse_price

        relations = choose_one(
            self.relations or ("graph" if self.llm is None or not relating else "llm"), "--relations", ("graph", "llm")
        )
        if self.llm is not None and imaps is not None and relations == "graph" and not judging:
            raise UsageError(
                "--imaps and --relations graph leave the model of --llm nothing to do. Remove one of the three, or add "
                "metrics that ask the model."
            )
        if imaps is not None and self.votes > 1 and not judging:
            raise UsageError(
                "--imaps replaces reading the texts, so --votes has nothing to repeat. Remove one of them."
            )
        if self.llm is None:
            idle = {"--base-url": self.base_url, "--concurrency": self.concurrency, "--rpm": self.rpm}
            idle |= {"--tpm": self.tpm, "--price": self.price, "--max-cost": self.max_cost, "--batch": self.batch}
            given = [name for name, value in idle.items() if value is not None] + ["--votes"] * (self.votes > 1)
            given += ["--relations llm"] * (relations == "llm")
            if given:
                raise UsageError(f"{given[0]} needs a language model, and none is named. Add --llm openai:<model>.")
            return None
        return LlmSettings(
            self.llm,
            base_url=self.base_url,
            votes=self.votes,
            concurrency=self.concurrency,
            rpm=self.rpm,
            tpm=self.tpm,
            price=None if self.price is None else parse_price(self.price),
            max_cost=self.max_cost,
            batch=self.batch,
            relations=relations == "llm",
        )
