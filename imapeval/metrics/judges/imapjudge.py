"""`imapjudge`: a judge that sees question, reference, both imaps and how their values match.

It rates accuracy, completeness and specificity from 1 to 5 in one JSON object, with the reason first; the score is
their mean. The response itself is not shown, only the facts that were read out of it.

Empty cases are those of imapScore: nothing asked is `Failure("no-query")`, a reference without facts
`Failure("no-reference-facts")`; a response without facts scores 1 in all, without being asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from imapeval.metrics.base import option
from imapeval.metrics.imapscore import check_scorable
from imapeval.metrics.judges.base import Judge
from imapeval.metrics.judges.client import JudgeRequest
from imapeval.metrics.judges.geval import DIMENSION_LABELS, DIMENSIONS
from imapeval.metrics.judges.parsing.scores import HIGHEST, LOWEST, read_scores
from imapeval.metrics.judges.prompts.imap_text import render_facts, render_matches
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.metrics.base import Case
    from imapeval.types import Outcome

_TASK = "imap-judge"

_SCORE = {"type": "integer", "enum": list(range(LOWEST, HIGHEST + 1))}
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"why": {"type": "string"}, **dict.fromkeys(DIMENSIONS, _SCORE)},
    "required": ["why", *DIMENSIONS],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImapJudge(Judge):
    """The judge, 1..5; parts are the three dimensions and `samples`, how many ratings each is the mean of.

    Attributes:
        samples: See `JudgeClient.ask_repeatedly`.
    """

    name = "imapjudge"
    summary = "a judge that sees both imaps and their matches, 1..5: mean of accuracy, completeness, specificity"
    citation = "imapeval; after Wang et al. 2024, imapScore"
    requires = frozenset({"llm", "reference", "imap"})
    range = (float(LOWEST), float(HIGHEST))
    prompt_names = (_TASK,)

    samples: int = option("completions whose mean counts; one is greedy, several are sampled", 1)

    def __post_init__(self) -> None:
        """Check the options."""
        if self.samples < 1:
            raise ValueError(f"samples {self.samples} is less than 1")

    async def score(self, case: Case) -> Outcome:
        """Return the mean of the three dimensions."""
        imap, matches = case.get_imap()
        if failure := check_scorable(imap):
            return failure
        if not imap.response:
            return Score(float(LOWEST), dict.fromkeys(DIMENSIONS, float(LOWEST)))
        texts = {
            "question": case.question,
            "reference": case.reference,
            "expected": render_facts(imap.reference),
            "given": render_facts(imap.response),
            "matches": render_matches(matches),
        }
        question = JudgeRequest(_TASK, case.lang, texts, schema=_SCHEMA)
        rated = await self.get_client().ask_repeatedly(
            question, lambda completion: read_scores(completion.text, DIMENSION_LABELS), samples=self.samples
        )
        scores = {name: fmean(scores[name] for scores in rated) for name in DIMENSIONS}
        return Score(fmean(scores.values()), {**scores, "samples": float(len(rated))})


def build_imapjudge() -> list[ImapJudge]:
    """Return the judge."""
    return [ImapJudge()]
