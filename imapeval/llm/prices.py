"""Prices of tokens: from a table of known models at their makers' own addresses, or given by the user."""

from __future__ import annotations

import json
import math
import numbers
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from imapeval.errors import UsageError
from imapeval.llm.providers.openai import OPENAI_URL

if TYPE_CHECKING:
    from imapeval.llm.protocol import Usage

TABLE = Path(__file__).with_name("prices.json")
"""Written by docs/write_prices.py, with its source and date."""


@dataclass(frozen=True, slots=True)
class Price:
    """Prices in USD per million tokens.

    Attributes:
        prompt: Price of prompt tokens.
        completion: Price of completion tokens.
        reused: Price of prompt tokens from the server's own cache; None if they cost as much as the others.
        source: Where the prices are from.

    Raises:
        UsageError: A price is not a number, not finite, or negative.
    """

    prompt: float
    completion: float
    reused: float | None = None
    source: str = ""

    def __post_init__(self) -> None:
        for field in ("prompt", "completion", "reused"):
            price: object = getattr(self, field)
            if field == "reused" and price is None:
                continue
            # Callers without a type checker may pass a text, and those with a table numbers of numpy.
            if isinstance(price, bool) or not isinstance(price, numbers.Real):
                raise UsageError(f"the price {price!r} is not a number. Give the USD per million tokens, 0 or more.")
            number = float(price)  # those of numpy cannot be written as JSON
            if not (math.isfinite(number) and number >= 0):
                raise UsageError(f"the price {price!r} is invalid. Give the USD per million tokens, 0 or more.")
            object.__setattr__(self, field, number)

    def cost_of(self, usage: Usage) -> float:
        """Return the cost of the tokens in USD."""
        reused = self.prompt if self.reused is None else self.reused
        fresh_tokens = usage.prompt_tokens - usage.reused_tokens
        return (
            fresh_tokens * self.prompt + usage.reused_tokens * reused + usage.completion_tokens * self.completion
        ) / 1_000_000


def find_price(spec: str, *, base_url: str | None = None) -> Price | None:
    """Return the price of a model, or None if it is unknown.

    Only exact names at the maker's own address are known: the same model has other prices elsewhere.

    Args:
        spec: "PROVIDER:NAME", as for `open_model`.
        base_url: Address of the server, as for `open_model`.
    """
    provider, _, name = spec.partition(":")
    if provider != "openai":
        return None
    url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return None
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    source = table.pop("source")
    found = table.get(host, {}).get(name.strip())
    return None if found is None else Price(**found, source=f"{source['package']}, read {source['read']}")


def parse_price(text: str) -> Price:
    """Parse "IN,OUT", in USD per million tokens.

    Raises:
        UsageError: It does not have that form.
    """
    try:
        prompt, completion = map(float, text.split(","))
        return Price(prompt, completion, source="--price")
    except (ValueError, UsageError) as error:
        raise UsageError(
            f"--price {text!r} is not IN,OUT. Give the USD per million tokens of prompts and of completions, such as "
            "--price 0.40,1.60."
        ) from error
