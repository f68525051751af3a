"""`blend`: the mean of `judge` and imapScore, both on the scale 0..1.

Their errors differ: on held-out answers their mean agreed better with clinicians than either (docs/judges.md). The
weights are equal and were never fitted to rated answers. If one of the two is a `Failure`, so is the blend.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.metrics import imapscore
from imapeval.metrics.base import computed, range_parts
from imapeval.metrics.judges.judge import DimensionJudge
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.metrics.base import Case, Range
    from imapeval.signature import Value
    from imapeval.types import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Blend(DimensionJudge):
    """The mean, 0..1; parts `judge` and `imapscore`, both 0..1. Options are those of `judge`."""

    name = "blend"
    summary = "mean of judge and imapscore, 0..1 (default with --llm)"
    formula = "(judge / 5 + imapscore) / 2; with another scale of the judge (judge - lowest) / (highest - lowest)"
    citation = "imapeval; after Wang et al. 2024, imapScore"
    requires = frozenset({"llm", "reference", "imap"})

    @computed
    def range(self) -> Range:
        """Always 0..1, whatever the scale of the judge."""
        return 0.0, 1.0

    @computed
    def part_ranges(self) -> Mapping[str, Range]:
        return range_parts(shares=("judge", "imapscore"))

    def describe_state(self) -> Mapping[str, Value]:
        return {"graded": imapscore.GradedImapScore().signature, **DimensionJudge.describe_state(self)}

    async def score(self, case: Case) -> Outcome:
        graded = imapscore.score_graded(*case.get_imap())
        if isinstance(graded, Failure):
            return graded
        rated = await DimensionJudge.score(self, case)
        if isinstance(rated, Failure):
            return rated
        scale = self.score_scale

        def scale_down(rating: float) -> float:
            return (rating - scale.low) / (scale.high - scale.low)

        judged = scale_down(rated.value)
        repetitions = tuple(
            tuple((scale_down(rating) + graded.value) / 2 for rating in row) for row in rated.repetitions
        )
        return Score((judged + graded.value) / 2, {"judge": judged, "imapscore": graded.value}, repetitions)


def build() -> list[Blend]:
    """Return the blend."""
    return [Blend()]
