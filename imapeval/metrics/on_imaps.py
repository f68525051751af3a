"""The same metric on imaps in place of texts (Table 2 of Wang et al. 2024).

`NAME+imap` sees the inform values of reference and response, `NAME+imap:pairs` the terms with them. The values of an
answer are joined by term: the reference's terms in their order, then those that only the response has.

Where nothing is asked, or the reference states no fact, there is no score, as for `imapscore`. A response that states
no fact is an empty text, of which each metric says what it is worth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from imapeval.metrics.base import Asking, Metric, MetricResources, Preparable
from imapeval.metrics.imapscore import check_scorable
from imapeval.types import Failure, Imap, Lang, Outcome, values_by_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from imapeval.metrics.base import Case, Requirement

ImapForm = Literal["values", "pairs"]
"""What of an imap becomes text: its values only, or each term with its values."""

_IMAP: frozenset[Requirement] = frozenset({"imap"})

_SUFFIXES: dict[ImapForm, str] = {"values": "+imap", "pairs": "+imap:pairs"}


@dataclass(frozen=True, slots=True)
class MetricOnImaps:
    """A metric of texts, on imaps.

    Attributes:
        metric: What scores.
        form: What of the imap it sees.
    """

    metric: Metric
    form: ImapForm = "values"

    @property
    def name(self) -> str:
        return f"{self.metric.name}{_SUFFIXES[self.form]}"

    @property
    def summary(self) -> str:
        return f"{self.metric.summary}; on imap {self.form}"

    @property
    def citation(self) -> str:
        return f"{self.metric.citation}; on imaps: Wang et al. 2024, imapScore, Table 2"

    @property
    def requires(self) -> frozenset[Requirement]:
        return self.metric.requires | _IMAP

    @property
    def languages(self) -> frozenset[Lang]:
        return self.metric.languages

    @property
    def range(self) -> tuple[float | None, float | None]:
        return self.metric.range

    @property
    def higher_is_better(self) -> bool:
        return self.metric.higher_is_better

    @property
    def missing_requirements(self) -> str:
        return self.metric.missing_requirements

    @property
    def signature(self) -> str:
        rest = self.metric.signature.removeprefix(self.metric.name)
        return f"{self.name}{rest}|join:{'space' if self.form == 'values' else 'line'}|order:terms"

    def prepare(self, resources: MetricResources) -> MetricOnImaps:
        """Return it with the metric of texts prepared; see `Preparable`."""
        if not isinstance(self.metric, Preparable):
            return self
        metric = self.metric.prepare(resources)
        return AskedOnImaps(metric, self.form) if isinstance(metric, Asking) else replace(self, metric=metric)

    def score(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score a batch; see `Metric.score`."""
        views = [self.make_text_case(case) for case in cases]
        shown = [view for view in views if not isinstance(view, Failure)]
        scored = iter(self.metric.score(shown) if shown else [])
        return [view if isinstance(view, Failure) else next(scored) for view in views]

    def make_text_case(self, case: Case) -> Case | Failure:
        """Return the case as the metric sees it, or why it is shown nothing."""
        if case.imap is None:
            raise TypeError(f"{self.name} needs an imap; case {case.id!r} has none")
        if failure := check_scorable(case.imap):
            return failure
        reference, response = render_imap_texts(case.imap, self.form)
        return replace(case, reference=reference, response=response, imap=None, matches=None)


@dataclass(frozen=True, slots=True)
class AskedOnImaps(MetricOnImaps):
    """A metric that asks a language model about two texts, on imaps."""

    async def ask(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score a batch; see `Asking.ask`."""
        metric = self.metric
        if not isinstance(metric, Asking):
            raise TypeError(f"{metric.name} asks no language model")
        views = [self.make_text_case(case) for case in cases]
        scored = iter(await metric.ask([view for view in views if not isinstance(view, Failure)]))
        return [view if isinstance(view, Failure) else next(scored) for view in views]


def render_imap_texts(imap: Imap, form: ImapForm) -> tuple[str, str]:
    """Return the inform pairs of reference and response as two texts (see the module's docstring)."""
    reference, response = values_by_term(imap.reference), values_by_term(imap.response)
    terms = dict.fromkeys([*reference, *response])

    def write(answer: dict[str, tuple[str, ...]]) -> str:
        if form == "values":
            return " ".join(value for term in terms for value in answer.get(term, ()))
        return "\n".join(f"{term}: {', '.join(answer[term])}" for term in terms if term in answer)

    return write(reference), write(response)


def make_imap_variants(metrics: Iterable[Metric]) -> list[MetricOnImaps]:
    """Return the metrics that compare two texts on imaps, in both forms.

    Those that ask a language model are not among them: their packages say which of them make sense there.
    """
    return [
        MetricOnImaps(metric, form)
        for metric in metrics
        if "reference" in metric.requires and not metric.requires & {"imap", "llm", "logprobs"}
        for form in get_args(ImapForm)
    ]
