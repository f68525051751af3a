"""Models by name, as in "openai:gpt-4.1-mini": the providers, and the middleware around every model.

A provider is a callable `(name, *, base_url, concurrency) -> Model`, where `base_url` and `concurrency` may be None.
Our own are listed in `PROVIDERS`. Another package adds providers through the entry-point group `imapeval.providers`;
the name of the entry is the word before the colon:

    [project.entry-points."imapeval.providers"]
    parrot = "my_package.models:Parrot"
"""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Protocol, cast

from imapeval._optional import check_offered, name_entry_point
from imapeval.errors import ResourceError, UsageError
from imapeval.llm.middleware.budget import BudgetedModel, CountingModel
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.middleware.retry import RetryingModel
from imapeval.llm.protocol import Model
from imapeval.llm.sharing import DelegatingModel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from imapeval.llm.middleware.budget import Ledger

ENTRY_POINT_GROUP = "imapeval.providers"

PROVIDERS: Mapping[str, str] = {
    "openai": "imapeval.llm.providers.openai:OpenAIModel",
    "local": "imapeval.llm.providers.llama_cpp:LlamaCppModel",
    "vllm": "imapeval.llm.providers.vllm:VLLMModel",
}
"""Our own providers by name, each as the value of an entry point."""


class Provider(Protocol):
    """Opens the models of a provider."""

    def __call__(self, name: str, *, base_url: str | None, concurrency: int | None) -> Model:
        """Return a model; nothing is sent yet.

        Args:
            name: The model's name, without the provider.
            base_url: Address of the server; None for the provider's own.
            concurrency: Maximum number of concurrent requests; None for the provider's default.

        Raises:
            UsageError: The name or address is invalid. A provider of another package should report a missing key in
                `Model.complete`, because dry runs and exports of batches open the model only to learn its identity.
                (`openai` reports it here; `model_identity` does without the model.)
        """
        ...


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
    """Open a model with middleware around it; nothing is sent yet.

    Args:
        spec: "PROVIDER:NAME", such as "openai:gpt-4.1-mini". The name may contain colons.
        base_url: Address of the server; None for the provider's own.
        concurrency: Maximum number of concurrent requests; None for the provider's default.
        rpm: Maximum number of requests per minute; None for no limit.
        tpm: Maximum number of tokens per minute, of prompts and completions together; None for no limit.
        cache: File of the completion cache, created if it does not exist; None for no cache.
        ledger: Records the calls and limits their cost.

    Raises:
        UsageError: There is no such provider, or the name, address or key is missing or invalid.
    """
    model = _open_bare(spec, base_url=base_url, concurrency=concurrency)
    return add_middleware(model, rpm=rpm, tpm=tpm, cache=cache, ledger=ledger)


def add_middleware(
    model: Model,
    *,
    rpm: int | None = None,
    tpm: int | None = None,
    cache: Path | None = None,
    ledger: Ledger | None = None,
) -> Model:
    """Return a bare model with retries, limits, ledger and cache around it; see `open_model`."""
    model = DelegatingModel(model)
    if ledger is not None:
        model = BudgetedModel(model, ledger)
    model = RetryingModel(model, rpm=rpm, tpm=tpm, ledger=ledger)
    if cache is not None:
        model = CachedModel(model, cache)
    return model if ledger is None else CountingModel(model, ledger)


def model_identity(spec: str, *, base_url: str | None = None) -> str:
    """Return the identity of a model without opening it for requests, so that no key is needed.

    Args:
        spec: See `open_model`.
        base_url: See `open_model`.

    Raises:
        UsageError: There is no such provider, or the name or address is missing or invalid.
    """
    provider, _, name = spec.partition(":")
    if provider == "openai" and name.strip():  # `OpenAIModel` cannot be created without a key
        from imapeval.llm.providers import openai

        return openai.model_identity(name.strip(), base_url=base_url)
    return _open_bare(spec, base_url=base_url, concurrency=None).identity


def _open_bare(spec: str, *, base_url: str | None, concurrency: int | None) -> Model:
    provider, _, name = spec.partition(":")
    providers = _registered()
    if provider not in providers or not name.strip():
        known = ", ".join(f"'{known}:NAME'" for known in providers)
        raise UsageError(
            f"unknown model {spec!r}. Give a provider and a name: {known}. 'openai' also works with any server that "
            "has an OpenAI-compatible API, together with its address (--base-url)."
        )
    with name_entry_point(providers[provider]):
        open_bare = cast("Provider", providers[provider].load())
        return check_offered(open_bare(name.strip(), base_url=base_url, concurrency=concurrency), Model)


@cache
def _registered() -> dict[str, metadata.EntryPoint]:
    providers = {name: metadata.EntryPoint(name, value, ENTRY_POINT_GROUP) for name, value in PROVIDERS.items()}
    for entry in metadata.entry_points(group=ENTRY_POINT_GROUP):
        if entry.name in providers:
            raise ResourceError(
                f"the provider {entry.name!r} of {entry.value} has the name of another provider. Uninstall one of the "
                "packages."
            )
        providers[entry.name] = entry
    return providers
