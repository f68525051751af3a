"""`blend`: the mean of a judge and imapScore, both on the scale 0..1.

On 200 answers with clinicians' scores a strong model that rated the answers directly correlated .54, the graded
imapScore .51, and their mean .57 (mean Spearman; the project's design notes), which is why the judge is G-Eval unless
set.

The judge has its own default options, whatever is set for it elsewhere: `--set geval.samples=20` is for `geval` alone.

Where either of the two is a `Failure`, so is the blend: half of it would be another metric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.metrics import imapscore
from imapeval.metrics.base import option
from imapeval.metrics.judges.base import Judge
from imapeval.metrics.judges.factscore import build_factscore
from imapeval.metrics.judges.geval import build_geval
from imapeval.metrics.judges.imapjudge import build_imapjudge
from imapeval.metrics.judges.prometheus import build_prometheus
from imapeval.metrics.judges.questions import build_questions
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from imapeval.metrics.base import Case, Requirement
    from imapeval.metrics.judges.client import JudgeClient
    from imapeval.types import Outcome


def list_judges() -> list[Judge]:
    """Return all judges that rate by themselves, as they are unless options are set."""
    return [*build_geval(), *build_prometheus(), *build_factscore(), *build_questions(), *build_imapjudge()]


_JUDGES = {judge.name: judge for judge in list_judges()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Blend(Judge):
    """The mean, 0..1; parts `judge` and `imapscore`, both 0..1.

    Attributes:
        judge: Name of a judge of this package, which has its default options.
    """

    judge: str = option(f"the judge, with its default options: {', '.join(_JUDGES)}", "geval")

    def __post_init__(self) -> None:
        """Check the options."""
        if self.judge not in _JUDGES:
            raise ValueError(f"judge {self.judge!r} is none of {', '.join(_JUDGES)}")

    @property
    def requires(self) -> frozenset[Requirement]:
        """What the judge and imapScore need."""
        needs: set[Requirement] = {"imap", "reference"}
        return self._judge.requires | needs

    @property
    def range(self) -> tuple[float | None, float | None]:
        """The common scale."""
        return 0.0, 1.0

    @property
    def prompt_names(self) -> tuple[str, ...]:
        """None of its own; the judge's stand in the judge's signature."""
        return ()

    @property
    def signature(self) -> str:
        """As of a judge, with the signatures of both halves."""
        graded, *_ = imapscore.build()
        return self.sign(rated=self._judge.signature, graded=graded.signature)

    async def judge_one(self, case: Case, jury: JudgeClient) -> Outcome:
        """Return the mean."""
        if case.imap is None or case.matches is None:
            raise TypeError(f"{self.name} needs imap and matches; case {case.id!r} has none")
        graded = imapscore.score_graded(case.imap, case.matches)
        if isinstance(graded, Failure):
            return graded
        rated = await self._judge.judge_one(case, jury)
        if isinstance(rated, Failure):
            return rated
        low, high = _get_bounds(self._judge)
        judged = (rated.value - low) / (high - low)
        return Score((judged + graded.value) / 2, {"judge": judged, "imapscore": graded.value})

    @property
    def _judge(self) -> Judge:
        return _JUDGES[self.judge]


def build_blend() -> list[Blend]:
    """Return the blend."""
    return [
        Blend(
            name="blend",
            summary="mean of a judge, with its default options, and imapScore, 0..1",
            citation="imapeval; after Wang et al. 2024, imapScore",
        )
    ]


def _get_bounds(judge: Judge) -> tuple[float, float]:
    low, high = judge.range
    if low is None or high is None:
        raise TypeError(f"the scale of {judge.name} has no ends")
    return low, high
