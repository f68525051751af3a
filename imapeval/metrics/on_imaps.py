"""Metrics of two texts, computed on imaps instead (Table 2 of Wang et al. 2024).

`NAME+imap` sees the inform values of reference and response, `NAME+imap:pairs` terms and values. The values of an
answer are joined by term: the reference's terms in their order, then those that only the response has.

If the question asks nothing, or the reference states no fact, there is no score, as for `imapscore`. A response that
states no fact is an empty text; each metric defines its own score for that.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, get_args

from imapeval.metrics.base import BatchMetric, Case, Metric, computed
from imapeval.metrics.imapscore import check_scorable
from imapeval.text.language import FACT_LANGS
from imapeval.types import Failure, Imap, Lang, Outcome, values_by_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from imapeval.metrics.base import MetricResources, Requirement

ImapForm = Literal["values", "pairs"]
"""What of an imap becomes text: the values alone, or each term with its values."""

_IMAP: frozenset[Requirement] = frozenset({"imap"})

IMAP_SUFFIXES: dict[ImapForm, str] = {"values": "+imap", "pairs": "+imap:pairs"}
"""What follows the name of the metric of texts."""


@dataclass(frozen=True, slots=True)
class MetricOnImaps(BatchMetric):
    """A metric of two texts, computed on the texts of an imap.

    Attributes:
        metric: The metric of texts.
        form: What of the imap it sees.
    """

    metric: Metric
    form: ImapForm = "values"

    @computed
    def name(self) -> str:
        return f"{self.metric.name}{IMAP_SUFFIXES[self.form]}"

    @computed
    def summary(self) -> str:
        return f"{self.metric.summary}; on imap {self.form}"

    @computed
    def citation(self) -> str:
        return f"{self.metric.citation}; on imaps: Wang et al. 2024, imapScore, Table 2"

    @computed
    def formula(self) -> str:
        return f"that of {self.metric.name}, on {self.form} of the facts: {self.metric.formula}"

    @computed
    def requires(self) -> frozenset[Requirement]:
        return self.metric.requires | _IMAP

    @computed
    def languages(self) -> frozenset[Lang]:
        return self.metric.languages & frozenset(FACT_LANGS)

    range = computed(attrgetter("metric.range"))
    part_ranges = computed(attrgetter("metric.part_ranges"))
    higher_is_better = computed(attrgetter("metric.higher_is_better"))
    mean_of = computed(attrgetter("metric.mean_of"))

    @property
    def missing_requirements(self) -> str:
        return self.metric.missing_requirements

    @property
    def is_async(self) -> bool:
        return self.metric.is_async

    @property
    def signature(self) -> str:
        """That of the metric of texts, and how the texts are made."""
        rest = self.metric.signature.removeprefix(self.metric.name)
        return f"{self.name}{rest}|join:{'space' if self.form == 'values' else 'line'}|order:terms"

    def prepare(self, resources: MetricResources) -> Metric:
        return replace(self, metric=self.metric.prepare(resources))

    def score_batch(self, cases: Sequence[Case]) -> list[Outcome]:
        views, shown = self._make_text_cases(cases)
        return _merge(views, self.metric.score_batch(shown) if shown else [])

    async def ascore_batch(self, cases: Sequence[Case]) -> list[Outcome]:
        views, shown = await asyncio.to_thread(self._make_text_cases, cases)
        return _merge(views, await self.metric.ascore_batch(shown) if shown else [])

    def make_text_case(self, case: Case) -> Case | Failure:
        """Return the case as the metric of texts sees it, or why it has no score."""
        if case.imap is None:
            raise TypeError(f"{self.name} needs an imap; case {case.id!r} has none")
        if failure := check_scorable(case.imap):
            return failure
        reference, response = render_imap_texts(case.imap, self.form)
        return replace(case, reference=reference, response=response, imap=None, matches=None)

    def _make_text_cases(self, cases: Sequence[Case]) -> tuple[list[Case | Failure], list[Case]]:
        views = [self.make_text_case(case) for case in cases]
        return views, [view for view in views if isinstance(view, Case)]


def _merge(views: Sequence[Case | Failure], outcomes: Sequence[Outcome]) -> list[Outcome]:
    scored = iter(outcomes)
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
    """Return the metrics that compare two texts, on imaps and in both forms.

    Metrics that call a language model are left out: their packages choose which of them make sense on imaps.
    """
    return [
        MetricOnImaps(metric, form)
        for metric in metrics
        if "reference" in metric.requires and not metric.requires & {"imap", "llm", "logprobs"}
        for form in get_args(ImapForm)
    ]
