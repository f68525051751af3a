"""Metrics of texts on imaps: what they see, and what they are called."""

import pytest

from imapeval.metrics import registry
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.on_imaps import MetricOnImaps, render_imap_texts
from imapeval.types import Failure, Imap, Outcome, Pair, Score

IMAP = Imap(
    query=(Pair("drug", "?"),),
    constraint=(),
    reference=(Pair("drug", "ibuprofen"), Pair("dose", "400 mg"), Pair("drug", "fluids"), Pair("drug", "fluids")),
    response=(Pair("time", "at night"), Pair("dose", "400 mg"), Pair("drug", "paracetamol")),
)
VALUES = ("ibuprofen fluids 400 mg", "paracetamol 400 mg at night")
PAIRS = ("drug: ibuprofen, fluids\ndose: 400 mg", "drug: paracetamol\ndose: 400 mg\ntime: at night")


def score(name: str, imap: Imap | None) -> Outcome:
    (outcome,) = registry.get(name).score_batch([Case("a", "q", "ignored", "ignored", "en", imap, ())])
    return outcome


def test_values_and_pairs_are_joined_by_the_references_terms() -> None:
    assert render_imap_texts(IMAP, "values") == VALUES
    assert render_imap_texts(IMAP, "pairs") == PAIRS


@pytest.mark.parametrize("name", ["rouge1", "rouge2", "rougeL", "bleu", "chrf"])
@pytest.mark.parametrize(("suffix", "texts"), [("+imap", VALUES), ("+imap:pairs", PAIRS)])
def test_the_metric_sees_these_texts(name: str, suffix: str, texts: tuple[str, str]) -> None:
    metric = registry.get(name + suffix)
    assert metric.requires == {"imap", "reference"}
    (expected,) = registry.get(name).score_batch([Case("a", "q", *texts, "en")])
    assert score(name + suffix, IMAP) == expected
    assert isinstance(expected, Score)
    assert expected.value > 0


@pytest.mark.parametrize(
    ("imap", "kind"),
    [(Imap((), (), IMAP.reference, IMAP.response), "no-query"), (Imap(IMAP.query, (), (), ()), "no-reference-facts")],
)
def test_undefined_as_imapscore_is(imap: Imap, kind: str) -> None:
    outcome = score("rouge1+imap", imap)
    assert isinstance(outcome, Failure)
    assert outcome.kind == kind


def test_outcomes_stay_with_their_cases() -> None:
    good, bad = Case("a", "q", "", "", "en", IMAP, ()), Case("b", "q", "", "", "en", Imap((), (), (), ()), ())
    outcomes = registry.get("rouge1+imap").score_batch([bad, good, bad])
    assert [isinstance(outcome, Failure) for outcome in outcomes] == [True, False, True]


def test_a_response_without_facts_is_an_empty_text() -> None:
    assert score("rouge1+imap", Imap(IMAP.query, (), IMAP.reference, ())) == Score(
        0.0, {"precision": 0.0, "recall": 0.0, "fmeasure": 0.0}
    )


def test_a_case_without_imap_is_a_fault_of_the_caller() -> None:
    with pytest.raises(TypeError, match=r"rouge1\+imap.*'a'"):
        score("rouge1+imap", None)


def test_the_signature_says_what_it_sees() -> None:
    text = registry.get("rouge1").signature
    assert registry.get("rouge1+imap").signature == text.replace("rouge1", "rouge1+imap", 1) + "|join:space|order:terms"
    assert registry.get("rouge1+imap:pairs").signature.endswith("|join:line|order:terms")
    signatures = [metric.signature for metric in registry.all_metrics()]
    assert len(set(signatures)) == len(signatures)


class _Prepared:
    """A metric of texts that knows whether it was prepared."""

    def __init__(self, *, ready: bool) -> None:
        self.ready = ready

    def prepare(self, parts: MetricResources) -> "_Prepared":
        return _Prepared(ready=True)


def test_the_metric_inside_is_prepared() -> None:
    prepared = MetricOnImaps(_Prepared(ready=False)).prepare(MetricResources())  # pyright: ignore[reportArgumentType]
    assert isinstance(prepared.metric, _Prepared)
    assert prepared.metric.ready
    plain = registry.get("rouge1+imap")
    assert isinstance(plain, MetricOnImaps)
    assert plain.prepare(MetricResources()) == plain
