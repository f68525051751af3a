"""G-Eval (Liu et al. 2023): a form with a criterion and evaluation steps, filled in with a score from 1 to 5.

The score is weighted by the probabilities of all scores if the server returns them, else it is the mean of several
samples; the parts of every outcome show which. That the server returns none is found out with two requests, whose
completions do not count if there are several samples; `weights=samples` saves these.

Differences from the paper: the form is a JSON object with the score alone, the evaluation steps were written once and
are shipped (`prompts/geval-*.md`), and the criteria are those of clinical answers. `geval` is the mean of accuracy,
completeness and specificity, which are also metrics of their own and send the same requests.

A response without a letter or digit scores 1; no request is sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.llm.gathering import gather_results
from imapeval.llm.structured import templates
from imapeval.metrics.base import computed, unsigned
from imapeval.metrics.judges.client import PROMPT_VERSION, JudgeRequest
from imapeval.metrics.judges.parsing.scale import LOWEST, ONE_TO_FIVE
from imapeval.metrics.judges.parsing.scores import LABELS, ReplyForm
from imapeval.metrics.judges.weighted import RATING_PARTS, WeightedJudge, average_scores, score_schema
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.metrics.base import Case, Range, Requirement
    from imapeval.types import Outcome

DIMENSION_LABELS: Mapping[str, tuple[str, ...]] = {
    "accuracy": ("accuracy", "准确性"),
    "completeness": ("completeness", "完整性"),
    "specificity": ("specificity", "具体性"),
}
"""The labels of each criterion in completions: its names in the prompts."""

DIMENSIONS = tuple(DIMENSION_LABELS)
"""The criteria; those that clinicians rated in Wang et al. 2024."""

_SCHEMA = score_schema(ONE_TO_FIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class GEval(WeightedJudge):
    """G-Eval on one criterion, or the mean over several, 1..5.

    Parts: `weighted`, 1 if the scores are weighted by probabilities, 0 if they are means of samples; in the first case
    `mass`, the probability that the model writes a score at all, in the second `samples`, the number of samples (for
    several criteria the minimum); for several criteria also the score of each.

    Attributes:
        criteria: Names of the criteria; the prompts are "geval-NAME".
        with_reference: Whether the judge sees the reference (False: "w/o label" in the paper).
        weights, samples: See `WeightedJudge`.
    """

    criteria: tuple[str, ...] = unsigned()
    with_reference: bool = unsigned(default=True)

    citation = "Liu et al. 2023, G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment, EMNLP 2023"

    @computed
    def name(self) -> str:
        return self._prompt_name if self.criteria == DIMENSIONS else f"{self._prompt_name}:{', '.join(self.criteria)}"

    @computed
    def summary(self) -> str:
        variant = "" if self.with_reference else ", without reference"
        return f"G-Eval, 1..5{variant}: {', '.join(self.criteria)}"

    @computed
    def part_ranges(self) -> Mapping[str, Range]:
        return {**RATING_PARTS, **dict.fromkeys(DIMENSIONS, self.range)}

    @computed
    def requires(self) -> frozenset[Requirement]:
        return frozenset({"llm", "reference"} if self.with_reference else {"llm"})

    @computed
    def prompt_names(self) -> tuple[str, ...]:
        return (self._prompt_name, *(f"geval-{name}" for name in self.criteria))

    async def score(self, case: Case) -> Outcome:
        answer = await self.clean_response(case)
        if answer is None:
            return Score(float(LOWEST))
        scores: list[Score] = []
        for outcome in await gather_results(self._rate(name, case, answer) for name in self.criteria):
            if isinstance(outcome, Failure):
                return outcome
            scores.append(outcome)
        if len(scores) == 1:
            return scores[0]
        return average_scores(dict(zip(self.criteria, scores, strict=True)))

    @property
    def _prompt_name(self) -> str:
        return "geval" if self.with_reference else "geval-noref"

    async def _rate(self, criterion: str, case: Case, answer: str) -> Score | Failure:
        (described,) = templates.load(f"geval-{criterion}", lang=case.lang, version=PROMPT_VERSION).messages
        texts = {"criterion": described.content, "question": case.question, "answer": answer}
        if self.with_reference:
            texts["reference"] = case.reference
        request = JudgeRequest(self._prompt_name, case.lang, texts, schema=_SCHEMA)
        rated = await self.rate(request, ReplyForm({criterion: (*LABELS, *DIMENSION_LABELS[criterion])}))
        return rated if isinstance(rated, Failure) else rated[criterion]


def build() -> list[GEval]:
    """Return G-Eval on each criterion and on all, with and without reference."""
    return [
        GEval(criteria=criteria, with_reference=with_reference)
        for with_reference in (True, False)
        for criteria in (DIMENSIONS, *((name,) for name in DIMENSIONS))
    ]
