"""The options of a language model put together, the same for every command that takes them."""

from pathlib import Path
from typing import TYPE_CHECKING

from imapeval.errors import UsageError

if TYPE_CHECKING:
    from imapeval.evaluation.pipeline import LlmSettings


def make_llm_settings(
    llm: str | None,
    *,
    base_url: str | None,
    votes: int,
    concurrency: int | None,
    rpm: int | None,
    tpm: int | None,
    price: str | None,
    max_cost: float | None,
    batch: Path | None = None,
    imaps: Path | None = None,
    relations: str | None = "graph",
    judging: bool = False,
) -> "LlmSettings | None":
    """Return the settings, or None where no model is named; `judging` says whether metrics ask it.

    Where `relations` is None a model that is named relates as well.

    Raises:
        UsageError: An option is about a model, but none is named; or the model would have nothing to do.
    """
    from imapeval.evaluation.pipeline import LlmSettings
    from imapeval.llm.prices import parse_price

    relations = relations or ("graph" if llm is None else "llm")
    check_llm_is_used(imaps=imaps, votes=votes, relations=relations, asked=llm is not None, judging=judging)
    if llm is None:
        idle = {"--base-url": base_url, "--concurrency": concurrency, "--rpm": rpm, "--tpm": tpm}
        idle |= {"--price": price, "--max-cost": max_cost, "--batch": batch}
        given = [name for name, value in idle.items() if value is not None] + (["--votes"] if votes > 1 else [])
        given += ["--relations llm"] if relations == "llm" else []
        if given:
            raise UsageError(f"{given[0]} is about a language model, but none is named. Add --llm openai:<model>.")
        return None
    return LlmSettings(
        llm,
        base_url=base_url,
        votes=votes,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        price=None if price is None else parse_price(price),
        max_cost=max_cost,
        batch=batch,
        relations=relations == "llm",
    )


def check_llm_is_used(*, imaps: Path | None, votes: int, relations: str, judging: bool, asked: bool = True) -> None:
    """Make sure that a model that is `asked` would have something to do.

    Raises:
        UsageError: It would have nothing, or an option says nothing that can be meant.
    """
    if relations not in ("graph", "llm"):
        raise UsageError(f"unknown --relations {relations!r}. Write graph or llm.")
    if asked and imaps is not None and relations == "graph" and not judging:
        raise UsageError(
            "--imaps and --llm leave the model nothing to do with --relations graph: imaps are either read or made. "
            "Leave one of the three out, or add metrics that ask the model."
        )
    if imaps is not None and votes > 1:
        raise UsageError("--votes is about reading texts, but --imaps are read already. Leave one out.")
