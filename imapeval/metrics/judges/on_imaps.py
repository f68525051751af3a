"""Judges on imaps, named as in `imapeval.metrics.on_imaps`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from imapeval.extraction.injection_filter import is_about_score
from imapeval.metrics.judges.prompts.imap_text import clean_facts
from imapeval.metrics.on_imaps import ImapForm, MetricOnImaps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from imapeval.metrics.base import Case
    from imapeval.metrics.judges.base import Judge
    from imapeval.types import Failure


@dataclass(frozen=True, slots=True)
class JudgeOnImaps(MetricOnImaps):
    """A judge that sees the question, and values or pairs of reference and response."""

    def make_text_case(self, case: Case) -> Case | Failure:
        """Return the case as the judge sees it, with cleaned facts (`clean_facts`)."""
        if case.imap is not None:
            score_asked = is_about_score(case.question, case.reference)
            reference, response = (
                clean_facts(pairs, score_asked=score_asked) for pairs in (case.imap.reference, case.imap.response)
            )
            case = replace(case, imap=replace(case.imap, reference=reference, response=response))
        # Not super(): `slots=True` creates a second class, which super() without arguments does not know.
        return MetricOnImaps.make_text_case(self, case)


def make_judge_variants(judges: Iterable[Judge]) -> list[JudgeOnImaps]:
    """Return the variants on imaps, in both forms, of the judges that compare two texts."""
    return [make_judge_variant(judge, form) for judge in judges if compares_texts(judge) for form in get_args(ImapForm)]


def compares_texts(judge: Judge) -> bool:
    """Return whether a judge sees reference and response as texts, which imaps can replace."""
    return "reference" in judge.requires and "imap" not in judge.requires


def make_judge_variant(judge: Judge, form: ImapForm) -> JudgeOnImaps:
    """Return the variant on imaps of a judge that compares two texts."""
    return JudgeOnImaps(replace(judge, on_imaps=True), form)
