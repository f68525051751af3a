"""Judges on imaps in place of texts, under the names of `imapeval.metrics.on_imaps`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from imapeval.metrics.base import Preparable
from imapeval.metrics.judges.judge import show_fact
from imapeval.metrics.on_imaps import AskedOnImaps, Form, OnImaps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from imapeval.metrics.base import Case, Parts
    from imapeval.metrics.judges.judge import Judge
    from imapeval.types import Failure, Pair


@dataclass(frozen=True, slots=True)
class JudgeOnImaps(AskedOnImaps):
    """A judge that sees question and inform values, or pairs, of reference and response."""

    def prepare(self, parts: Parts) -> JudgeOnImaps:
        """Return it with the judge prepared; see `Preparable`."""
        return replace(self, metric=self.metric.prepare(parts)) if isinstance(self.metric, Preparable) else self

    def view(self, case: Case) -> Case | Failure:
        """Return the case as the judge sees it: of both imaps what `show_fact` leaves; see `OnImaps.view`."""
        if case.imap is not None:
            reference, response = _show(case.imap.reference), _show(case.imap.response)
            case = replace(case, imap=replace(case.imap, reference=reference, response=response))
        # Slots make another class of it, which the short form does not know.
        return OnImaps.view(self, case)


def put_judges_on_imaps(judges: Iterable[Judge]) -> list[JudgeOnImaps]:
    """Return the judges that compare two texts on imaps, in both forms."""
    return [
        JudgeOnImaps(replace(judge, on_imaps=True), form)
        for judge in judges
        if "reference" in judge.requires and "imap" not in judge.requires
        for form in get_args(Form)
    ]


def _show(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    return tuple(shown for pair in pairs if (shown := show_fact(pair)) is not None)
