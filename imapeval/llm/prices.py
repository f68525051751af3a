"""What a token costs: a table of known models at their makers' own addresses, or what the user says."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from imapeval.errors import UsageError

if TYPE_CHECKING:
    from imapeval.llm.protocol import Usage

TABLE = Path(__file__).with_name("prices.json")
"""Made by docs/write_prices.py, from a list that names its source and date."""

_PER = 1_000_000
"""Tokens that a price is for."""


@dataclass(frozen=True, slots=True)
class Price:
    """In USD per million tokens.

    Attributes:
        prompt: Of what is asked.
        completion: Of what comes back.
        reused: Of prompt tokens that the server had in its own cache; None where they cost like the others.
        source: Where the price is from.
    """

    prompt: float
    completion: float
    reused: float | None = None
    source: str = ""

    def cost_of(self, usage: Usage) -> float:
        """Return what the tokens cost, in USD."""
        reused = self.prompt if self.reused is None else self.reused
        fresh_tokens = usage.prompt_tokens - usage.reused_tokens
        return (
            fresh_tokens * self.prompt + usage.reused_tokens * reused + usage.completion_tokens * self.completion
        ) / _PER


def find_price(spec: str, *, base_url: str | None = None) -> Price | None:
    """Return the price of a model, or None where it is not known.

    Known is only the exact name at its maker's own address: the same model costs something else elsewhere, and what
    one's own server costs nobody knows.

    Args:
        spec: "PROVIDER:NAME", as for `open_model`.
        base_url: Address of the server, likewise.
    """
    provider, _, name = spec.partition(":")
    if provider != "openai":
        return None
    url = base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return None
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    source = table.pop("source")
    found = table.get(host, {}).get(name)
    return None if found is None else Price(**found, source=f"{source['package']}, read {source['read']}")


def parse_price(text: str) -> Price:
    """Read "IN,OUT", in USD per million tokens.

    Raises:
        UsageError: It is not of that form.
    """
    try:
        prompt, completion = map(float, text.split(","))
    except ValueError:
        prompt = completion = -1
    if not all(math.isfinite(part) and part >= 0 for part in (prompt, completion)):
        raise UsageError(
            f"--price {text!r} is not IN,OUT. Give the USD per million tokens of prompts and of completions, such as "
            "--price 0.40,1.60."
        )
    return Price(prompt, completion, source="--price")
