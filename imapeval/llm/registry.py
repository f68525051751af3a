"""Models by name, as in "openai:gpt-4.1-mini".

A new provider is a file beside this one and an entry in `PROVIDERS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.errors import UsageError
from imapeval.llm.middleware.budget import BudgetedModel, CountingModel
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.middleware.retry import RetryingModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from imapeval.llm.middleware.budget import Ledger
    from imapeval.llm.protocol import Model


def _open_openai(name: str, base_url: str | None, concurrency: int | None) -> Model:
    from imapeval.llm.providers.openai import OpenAIModel

    return OpenAIModel(name, base_url=base_url, **({} if concurrency is None else {"concurrency": concurrency}))


def _open_local(name: str, base_url: str | None, concurrency: int | None) -> Model:
    from imapeval.llm.providers.llama_cpp import LlamaCppModel

    if base_url is not None:
        raise UsageError(
            f"the model 'local:{name}' has a server of its own, started here: leave --base-url out. A server that runs "
            "already is asked as 'openai:NAME' with its address."
        )
    return LlamaCppModel(name, **({} if concurrency is None else {"concurrency": concurrency}))


def _open_vllm(name: str, base_url: str | None, concurrency: int | None) -> Model:
    from imapeval.llm.providers.vllm import VLLMModel

    if base_url is not None:
        raise UsageError(
            f"the model 'vllm:{name}' runs in this process: leave --base-url out. A vLLM server is asked as "
            "'openai:NAME' with its address."
        )
    return VLLMModel(name) if concurrency is None else VLLMModel(name, concurrency=concurrency)


PROVIDERS: Mapping[str, Callable[[str, str | None, int | None], Model]] = {
    "openai": _open_openai,
    "local": _open_local,
    "vllm": _open_vllm,
}
"""What opens a model, by the word before the colon: called with its name, the server's address and the concurrency."""


def open_model(
    spec: str,
    *,
    base_url: str | None = None,
    concurrency: int | None = None,
    rpm: int | None = None,
    tpm: int | None = None,
    cache: Path | None = None,
    ledger: Ledger | None = None,
) -> Model:
    """Open a model; nothing is sent yet.

    Args:
        spec: "PROVIDER:NAME", such as "openai:gpt-4.1-mini". The name may hold colons itself.
        base_url: Address of the server, where the provider's own is not meant.
        concurrency: Most requests at a time; None for the provider's own default.
        rpm: Most requests a minute; None for no limit.
        tpm: Most tokens a minute, of prompts and completions together; None for no limit.
        cache: File that keeps completions, made where it does not exist; None keeps nothing.
        ledger: Where the calls are entered, and what limits their cost.

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
    model = PROVIDERS[provider](name.strip(), base_url, concurrency)
    return add_middleware(model, rpm=rpm, tpm=tpm, cache=cache, ledger=ledger)


def add_middleware(
    model: Model,
    *,
    rpm: int | None = None,
    tpm: int | None = None,
    cache: Path | None = None,
    ledger: Ledger | None = None,
) -> Model:
    """Return a bare model with patience, limits, ledger and cache around it; see `open_model`."""
    model = RetryingModel(model, rpm=rpm, tpm=tpm, ledger=ledger)
    if ledger is not None:
        model = BudgetedModel(model, ledger)
    if cache is not None:
        model = CachedModel(model, cache)
    return model if ledger is None else CountingModel(model, ledger)


def model_identity(spec: str, *, base_url: str | None = None) -> str:
    """Return the identity of a model that is not to be asked now, so that no key is needed.

    Args:
        spec: As of `open_model`.
        base_url: As of `open_model`.

    Raises:
        UsageError: There is no such provider, or the name or address is missing or cannot be meant.
    """
    provider, _, name = spec.partition(":")
    if provider == "openai" and name.strip():
        from imapeval.llm.providers import openai

        return openai.model_identity(name.strip(), base_url=base_url)
    return open_model(spec, base_url=base_url).identity
