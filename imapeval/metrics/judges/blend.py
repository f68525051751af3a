"""`blend`: the mean of a judge and imapScore, both on the scale 0..1.

On 200 answers with clinicians' scores a strong model that rated the answers directly correlated .54, the graded
imapScore .51, and their mean .57 (mean Spearman; the project's design notes), which is why the judge is G-Eval unless
set.

The judge has its own default options, whatever is set for it elsewhere: `--set geval.samples=20` is for `geval` alone.

Where either of the two is a `Failure`, so is the blend: half of it would be another metric.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from imapeval.metrics import imapscore
from imapeval.metrics.base import computed, option, to_outcome
from imapeval.metrics.judges.base import Judge
from imapeval.metrics.judges.factscore import build_factscore
from imapeval.metrics.judges.geval import build_geval
from imapeval.metrics.judges.imapjudge import build_imapjudge
from imapeval.metrics.judges.prometheus import build_prometheus
from imapeval.metrics.judges.questions import build_questions
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.metrics.base import Case, Requirement
    from imapeval.signature import Value
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

    name = "blend"
    summary = "mean of a judge, with its default options, and imapScore, 0..1"
    citation = "imapeval; after Wang et al. 2024, imapScore"
    range = (0.0, 1.0)

    judge: str = option(f"the judge, with its default options: {', '.join(_JUDGES)}", "geval")

    def __post_init__(self) -> None:
        """Check the options."""
        if self.judge not in _JUDGES:
            raise ValueError(f"judge {self.judge!r} is none of {', '.join(_JUDGES)}")

    @computed
    def requires(self) -> frozenset[Requirement]:
        """What the judge and imapScore need."""
        return frozenset({*self._judge.requires, "imap", "reference"})

    def describe_state(self) -> Mapping[str, Value]:
        """Return the signatures of both halves, the model and the prompts."""
        graded = imapscore.GradedImapScore()
        return {"rated": self._judge.signature, "graded": graded.signature, **Judge.describe_state(self)}

    async def score(self, case: Case) -> Outcome:
        """Return the mean."""
        graded = imapscore.score_graded(*case.get_imap())
        if isinstance(graded, Failure):
            return graded
        rated = to_outcome(await replace(self._judge, client=self.get_client()).score(case))
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
    return [Blend()]


def _get_bounds(judge: Judge) -> tuple[float, float]:
    low, high = judge.range
    if low is None or high is None:
        raise TypeError(f"the scale of {judge.name} has no ends")
    return low, high
