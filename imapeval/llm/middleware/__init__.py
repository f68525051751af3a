"""What is wrapped around a model: retries, rate limits, the completion cache and the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.llm.protocol import PortableModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.llm.protocol import Model


class ModelWrapper:
    """Base of models that wrap another model and keep its identity and concurrency.

    Args:
        model: The wrapped model.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def identity(self) -> str:
        """The wrapped model's identity: a wrapper does not change what the model answers."""
        return self._model.identity

    @property
    def concurrency(self) -> int:
        """The wrapped model's concurrency."""
        return self._model.concurrency

    def stop(self) -> None:
        """Send no further request; those in flight are finished. Call it in the event loop of the requests."""
        if isinstance(self._model, ModelWrapper):
            self._model.stop()

    def open_for_workers(self, *, concurrency: int, local: bool) -> Callable[[], Model | None] | None:
        """Return how workers open the wrapped model; see `PortableModel`."""
        if isinstance(self._model, PortableModel):
            return self._model.open_for_workers(concurrency=concurrency, local=local)
        return None
