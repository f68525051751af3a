"""Prometheus (Kim et al. 2024): absolute grading with a rubric, in the prompt format of its models.

The prompt is Prometheus's, verbatim, in both languages; the rubric is our own (`prompts/prometheus-rubric.*.md`). It
works with any model, but only Prometheus's models were trained for it. If a completion does not end with "[RESULT]" and
a whole number from 1 to 5, the request is repeated once; after that, the outcome is a `Failure`, not a default score.

A response without a letter or digit scores 1; no request is sent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from imapeval.llm.structured import templates
from imapeval.metrics.base import computed, range_parts, unsigned
from imapeval.metrics.judges.base import SampledJudge
from imapeval.metrics.judges.client import PROMPT_VERSION, JudgeRequest
from imapeval.metrics.judges.parsing.scale import HIGHEST, LOWEST
from imapeval.metrics.judges.parsing.scores import read_result
from imapeval.types import Score

if TYPE_CHECKING:
    from imapeval.metrics.base import Case, Requirement
    from imapeval.types import Outcome

_RUBRIC = "prometheus-rubric"

_MARKER = re.compile(r"#(?=##)|\[(?=\s*(?:RESULT|SCORE)\s*\])", re.IGNORECASE)
"""Separators of the format, which has no closing markers around texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prometheus(SampledJudge):
    """Prometheus's absolute grade, 1..5; its part `samples` is the number of grades averaged.

    Attributes:
        with_reference: Whether the judge sees the reference.
    """

    formula = "the whole number from 1 to 5 that the language model gives by the rubric after its feedback"
    citation = "Kim et al. 2024, Prometheus 2, EMNLP 2024"
    range = (float(LOWEST), float(HIGHEST))
    part_ranges = range_parts(counts=("samples",))

    with_reference: bool = unsigned(default=True)

    @computed
    def name(self) -> str:
        return "prometheus" if self.with_reference else "prometheus-noref"

    @computed
    def summary(self) -> str:
        return f"Prometheus's absolute grade by a rubric, 1..5{'' if self.with_reference else ', without reference'}"

    @computed
    def requires(self) -> frozenset[Requirement]:
        needs: set[Requirement] = {"llm", "reference"} if self.with_reference else {"llm"}
        return frozenset(needs)

    @computed
    def prompt_names(self) -> tuple[str, ...]:
        return (self.name, _RUBRIC)

    async def score(self, case: Case) -> Outcome:
        answer = await self.clean_response(case)
        if answer is None:
            return Score(float(LOWEST))
        (rubric,) = templates.load(_RUBRIC, lang=case.lang, version=PROMPT_VERSION).messages
        texts = {
            "question": _neutralise_markers(case.question),
            "answer": _neutralise_markers(answer),
            "rubric": rubric.content,
        }
        if self.with_reference:
            texts["reference"] = _neutralise_markers(case.reference)
        request = JudgeRequest(self.name, case.lang, texts)
        grades = await self.get_client().ask_repeatedly(
            request, lambda completion: read_result(completion.text), samples=self.samples
        )
        return Score(fmean(grades), {"samples": float(len(grades))}, (tuple(grades),))


def build() -> list[Prometheus]:
    """Return Prometheus with and without reference."""
    return [Prometheus(), Prometheus(with_reference=False)]


def _neutralise_markers(text: str) -> str:
    """Return the text with the separators of the format replaced, at the same length."""
    return _MARKER.sub(lambda found: "＃" if found[0] == "#" else "［", text)
