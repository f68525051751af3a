"""Judges on imaps in place of texts, under the names of `imapeval.metrics.on_imaps`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from imapeval.metrics.base import Preparable
from imapeval.metrics.judges.facts import show_facts
from imapeval.metrics.on_imaps import AskedOnImaps, Form, OnImaps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from imapeval.metrics.base import Case, Parts
    from imapeval.metrics.judges.judge import Judge
    from imapeval.types import Failure


@dataclass(frozen=True, slots=True)
class JudgeOnImaps(AskedOnImaps):
    """A judge that sees question and inform values, or pairs, of reference and response."""

    def prepare(self, parts: Parts) -> JudgeOnImaps:
        """Return it with the judge prepared; see `Preparable`."""
        return replace(self, metric=self.metric.prepare(parts)) if isinstance(self.metric, Preparable) else self

    def view(self, case: Case) -> Case | Failure:
        """Return the case as the judge sees it: of both imaps what `show_facts` leaves; see `OnImaps.view`."""
        if case.imap is not None:
            reference, response = show_facts(case.imap.reference), show_facts(case.imap.response)
            case = replace(case, imap=replace(case.imap, reference=reference, response=response))
        # Slots make another class of it, which the short form does not know.
        return OnImaps.view(self, case)


def put_judges_on_imaps(judges: Iterable[Judge]) -> list[JudgeOnImaps]:
    """Return the judges that compare two texts on imaps, in both forms."""
    return [put_on_imaps(judge, form) for judge in judges if compares_texts(judge) for form in get_args(Form)]


def compares_texts(judge: Judge) -> bool:
    """Say whether a judge sees reference and response as texts, so that it can see imaps in their place."""
    return "reference" in judge.requires and "imap" not in judge.requires


def put_on_imaps(judge: Judge, form: Form) -> JudgeOnImaps:
    """Return a judge that compares two texts on imaps."""
    return JudgeOnImaps(replace(judge, on_imaps=True), form)
