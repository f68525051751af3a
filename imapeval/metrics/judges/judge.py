"""`judge`: a rating of accuracy, completeness and specificity on the raters' own scale, by one request.

The model sees question, reference and response, and writes a short reason before each number. It does not see the facts
that were read from the texts: no design that showed them agreed better with clinicians (docs/judge-designs.md), and
without them the judge does not repeat the errors of imapScore, with which `blend` averages it.

Scores are weighted by their probabilities if the server returns these, else they are the mean of `samples`.

A response without a letter or digit gets the lowest score of the scale; no request is sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from imapeval.metrics.base import computed, option
from imapeval.metrics.judges.client import JudgeRequest, object_schema
from imapeval.metrics.judges.geval import DIMENSION_LABELS, DIMENSIONS
from imapeval.metrics.judges.parsing.scale import Scale
from imapeval.metrics.judges.parsing.scores import ReplyForm
from imapeval.metrics.judges.weighted import RATING_PARTS, WeightedJudge, average_scores
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.metrics.base import Case, Range
    from imapeval.types import Outcome

_TASK = "judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionJudge(WeightedJudge):
    """The mean of three dimensions, which are its parts, on the chosen scale.

    Further parts: `weighted`, 1 if the ratings are weighted by probabilities; then `mass`, the probability that the
    model writes a rating at all (the minimum over the dimensions), otherwise `samples`, the ratings per dimension.

    Attributes:
        scale: LOW:HIGH[:STEP]; see `Scale.parse`.
        weights, samples: See `WeightedJudge`.
    """

    name = "judge"
    formula = (
        "(accuracy + completeness + specificity) / 3; a language model rates them, and a rating is the mean of all "
        "ratings weighted by their probabilities, if the server returns them"
    )
    citation = "imapeval; dimensions of Wang et al. 2024, imapScore"
    prompt_names = (_TASK,)

    scale: str = option("scale of the ratings, LOW:HIGH[:STEP] with a step of 1 or 0.5", "0:5:0.5")
    samples: int = option("completions whose mean counts where there are no log-probabilities; one is greedy", 1)

    @computed
    def summary(self) -> str:
        return f"rating {self.score_scale}: {', '.join(DIMENSIONS)}"

    @property
    def score_scale(self) -> Scale:
        return Scale.parse(self.scale)

    @computed
    def part_ranges(self) -> Mapping[str, Range]:
        return {**RATING_PARTS, **dict.fromkeys(DIMENSIONS, self.range)}

    async def score(self, case: Case) -> Outcome:
        answer, scale = await self.clean_response(case), self.score_scale
        if answer is None:
            return Score(float(scale.low), dict.fromkeys(DIMENSIONS, float(scale.low)))
        texts = {
            "question": case.question,
            "reference": case.reference,
            "answer": answer,
            "low": str(scale.low),
            "high": str(scale.high),
            "step": "0.5" if scale.half_points else "1",
        }
        request = JudgeRequest(_TASK, case.lang, texts, schema=_make_schema(scale))
        form = ReplyForm(DIMENSION_LABELS, scale, texts=[f"{name}_reason" for name in DIMENSIONS])
        rated = await self.rate(request, form)
        return rated if isinstance(rated, Failure) else average_scores(rated)


def _make_schema(scale: Scale) -> Mapping[str, Any]:
    fields: dict[str, Any] = {}
    for name in DIMENSIONS:
        fields[f"{name}_reason"] = {"type": "string"}
        fields[name] = {"type": "number", "enum": scale.scores}
    return object_schema(fields)


def build() -> list[DimensionJudge]:
    """Return the judge."""
    return [DimensionJudge()]
