"""Judges on imaps in place of texts, under the names of `imapeval.metrics.on_imaps`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from imapeval.metrics.base import Asking
from imapeval.metrics.judges.judge import show_fact
from imapeval.metrics.on_imaps import Form, OnImaps
from imapeval.types import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from imapeval.metrics.base import Case
    from imapeval.metrics.judges.judge import Judge
    from imapeval.types import Outcome, Pair


@dataclass(frozen=True, slots=True)
class AskedOnImaps(OnImaps):
    """A judge that sees question and inform values, or pairs, of reference and response."""

    async def ask(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score a batch; see `Asking.ask`."""
        metric = self.metric
        if not isinstance(metric, Asking):
            raise TypeError(f"{metric.name} asks no language model")
        views = [self.view(case) for case in cases]
        scored = iter(await metric.ask([view for view in views if not isinstance(view, Failure)]))
        return [view if isinstance(view, Failure) else next(scored) for view in views]

    def view(self, case: Case) -> Case | Failure:
        """Return the case as the judge sees it: of both imaps what `show_fact` leaves; see `OnImaps.view`."""
        if case.imap is not None:
            reference, response = _show(case.imap.reference), _show(case.imap.response)
            case = replace(case, imap=replace(case.imap, reference=reference, response=response))
        # Slots make another class of it, which the short form does not know.
        return OnImaps.view(self, case)


def put_judges_on_imaps(judges: Iterable[Judge]) -> list[AskedOnImaps]:
    """Return the judges that compare two texts on imaps, in both forms."""
    return [
        AskedOnImaps(replace(judge, on_imaps=True), form)
        for judge in judges
        if "reference" in judge.requires and "imap" not in judge.requires
        for form in get_args(Form)
    ]


def _show(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    return tuple(shown for pair in pairs if (shown := show_fact(pair)) is not None)
