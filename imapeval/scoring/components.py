"""The models, metrics, extractor and matcher of a scorer, opened when they are first needed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.evaluation import pipeline
from imapeval.llm.middleware.budget import Ledger

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from imapeval.evaluation.pipeline import LlmSettings, Pipeline
    from imapeval.extraction.protocols import Extractor
    from imapeval.llm.protocol import Model
    from imapeval.matching.protocol import Matcher
    from imapeval.metrics.base import Device, Metric


@dataclass(slots=True)
class _Opened:
    """What is open in the process `pid`; `imap_parts` is set once imaps are needed that no metric needs."""

    pid: int
    model: Model | None
    pipeline: Pipeline
    imap_parts: tuple[Extractor, Matcher] | None = None


class Components:
    """Opens the parts of a scorer once per process. `open` and `open_imap_parts` are called from one thread only.

    Args:
        metrics: The chosen metrics.
        llm: The language model, by name or as an object; None without one.
        settings: The name of the model, where it is given by name, and how it is used.
        kg: A graph in place of the shipped one.
        encoder: "use", or "st:" and the name of a sentence-transformers model.
        device: Where metrics put their models.

    Attributes:
        ledger: What the model has cost so far; None without a model.

    Raises:
        UsageError: The name, address or key of the model is invalid, or its price is needed and unknown.
    """

    def __init__(
        self,
        metrics: Sequence[Metric],
        llm: str | Model | None,
        settings: LlmSettings,
        *,
        kg: Path | None,
        encoder: str,
        device: Device,
    ) -> None:
        self._metrics = metrics
        self._llm = llm
        self._settings = settings
        self._kg = kg
        self._encoder = encoder
        self._device: Device = device
        self._opened: _Opened | None = None
        self.ledger: Ledger | None = None
        if isinstance(llm, str):
            self.ledger = pipeline.open_ledger(settings)
        elif llm is not None:
            self.ledger = Ledger(price=settings.price, max_cost=settings.max_cost)
        # Opened here so that a wrong name or key is reported at once.
        self._open_model()

    def open(self) -> _Opened:
        """Return the model and the metrics, ready for use."""
        pid = os.getpid()
        # After a fork the parent's connections must not be shared.
        if self._opened is None or self._opened.pid != pid:
            model = self._open_model()
            opened = pipeline.open_pipeline(
                self._metrics,
                llm=model,
                votes=self._settings.votes,
                relations=self._settings.relations,
                kg=self._kg,
                encoder=self._encoder,
                device=self._device,
            )
            self._opened = _Opened(pid, model, opened)
        return self._opened

    def open_imap_parts(self) -> tuple[Extractor, Matcher]:
        """Return the extractor and the matcher, whether or not a metric needs them."""
        opened = self.open()
        extractor, matcher = opened.pipeline.extractor, opened.pipeline.matcher
        if extractor is not None and matcher is not None:
            return extractor, matcher
        if opened.imap_parts is None:
            graph = pipeline.open_graph(self._kg)
            relating = opened.model if self._settings.relations else None
            opened.imap_parts = (
                pipeline.open_extractor(graph, llm=opened.model, votes=self._settings.votes),
                pipeline.open_matcher(graph, encoder=self._encoder, llm=relating),
            )
        return opened.imap_parts

    def close(self) -> None:
        """Drop everything; the next `open` opens it anew."""
        self._opened = None

    def _open_model(self) -> Model | None:
        if self._llm is None:
            return None
        if isinstance(self._llm, str):
            return pipeline.open_llm(self._settings, ledger=self.ledger)
        from imapeval.llm.registry import add_middleware

        # Not cached: a model of the caller's may answer equal requests differently.
        return add_middleware(self._llm, rpm=self._settings.rpm, tpm=self._settings.tpm, ledger=self.ledger)
