"""Models by name, as in "openai:gpt-4.1-mini".

A new provider is a file beside this one and an entry in `PROVIDERS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.errors import UsageError
from imapeval.llm.cache import Cached

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from imapeval.llm.client import Model


def _open_openai(name: str, base_url: str | None) -> Model:
    from imapeval.llm.openai import OpenAIModel

    return OpenAIModel(name, base_url=base_url)


PROVIDERS: Mapping[str, Callable[[str, str | None], Model]] = {"openai": _open_openai}
"""What opens a model, by the word before the colon: called with the model's name and the server's address."""


def open_model(spec: str, *, base_url: str | None = None, cache: Path | None = None) -> Model:
    """Open a model; nothing is sent yet.

    Args:
        spec: "PROVIDER:NAME", such as "openai:gpt-4.1-mini". The name may hold colons itself.
        base_url: Address of the server, where the provider's own is not meant.
        cache: File that keeps completions, made where it does not exist; None keeps nothing.

    Raises:
        UsageError: There is no such provider, or the name, address or key is missing or cannot be meant.
    """
    provider, _, name = spec.partition(":")
    if provider not in PROVIDERS or not name.strip():
        known = ", ".join(f"'{known}:NAME'" for known in PROVIDERS)
        raise UsageError(
            f"no model is called {spec!r}. Give a provider and a name: {known}; 'openai' is also right for every "
            "server with an OpenAI-compatible API, together with its address (--base-url)."
        )
    model = PROVIDERS[provider](name.strip(), base_url)
    return model if cache is None else Cached(model, cache)
