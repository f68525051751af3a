"""Scores follow meaning rather than wording, end to end: denials, rewordings and layout.

The floors are the results of the offline reader on 2026-11-22, rounded down; docs/agreement.md has the figures, and
those of a strong model on the same answers. They only guard against regressions.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

import pytest

from imapeval.evaluation.pipeline import open_extractor, open_graph, open_matcher
from imapeval.evaluation.samples import read
from imapeval.metrics.imapscore import score_graded
from imapeval.text.language import detect_lang
from imapeval.types import Sample, Score

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


QUESTION = {"en": "What should I do?", "zh": "我该怎么办？"}

INVERSIONS = [
    ("NSAIDs and smoking should be avoided.", "Take NSAIDs and keep smoking."),
    ("No biopsy or surgery is needed.", "Surgery is needed."),
    ("No. Avoid aspirin; use paracetamol.", "Yes. Take aspirin; avoid paracetamol."),
    ("48小时内不要热敷、按摩或饮酒。", "可以热敷、按摩，也可以饮酒。"),
    *(("Take paracetamol.", f"{word} paracetamol.") for word in ("Stop", "Avoid", "Do not take", "Discontinue")),
    ("Take paracetamol.", "Paracetamol is contraindicated."),
    *(("服用布洛芬。", f"{word}布洛芬。") for word in ("避免", "禁用", "停用", "别用", "不要服用")),
    ("服用布洛芬。", "布洛芬禁用。"),
]
REWORDINGS = [
    ("NSAIDs and smoking should be avoided.", "Do not take NSAIDs and do not smoke."),
    ("48小时内不要热敷、按摩或饮酒。", "别热敷，别按摩，别喝酒。"),
    ("Trigeminal neuralgia.", "This fits tic douloureux."),
]
"""From the issue on meaning: each inversion scored .4 to 1.0 before, each rewording less than its inversion."""

LAYOUTS: dict[str, Callable[[Sample], str]] = {
    "bold": lambda sample: re.sub(r"(\w{4,}|[\u4e00-\u9fff]{2})", r"**\1**", sample.response, count=1),
    "html": lambda sample: "<p>" + re.sub(r"([A-Za-z]{4,})", r"<b>\1</b>", sample.response) + "</p>",
}


@pytest.fixture(scope="module")
def score():
    """Return a function that scores samples offline, in order; None for a sample without a score."""
    with open_graph() as graph:
        extractor, matcher = open_extractor(graph), open_matcher(graph)

        def compute(samples: Sequence[Sample]) -> list[float | None]:
            async def work():
                imaps = [(await extractor.extract(sample))[0] for sample in samples]
                return imaps, await matcher.match(imaps, langs=[sample.lang for sample in samples])

            outcomes = [score_graded(*pair) for pair in zip(*asyncio.run(work()), strict=True)]
            return [outcome.value if isinstance(outcome, Score) else None for outcome in outcomes]

        yield compute


def make(reference: str, response: str) -> Sample:
    lang = detect_lang(reference)
    return Sample("x", QUESTION[lang], (reference,), response, lang)


def change(sample: Sample, response: str) -> Sample:
    return Sample(sample.id, sample.question, sample.references, response, sample.lang)


@pytest.mark.parametrize(("reference", "response"), INVERSIONS)
def test_the_opposite_earns_next_to_nothing(score, reference: str, response: str):
    assert score([make(reference, response)])[0] <= 0.2


@pytest.mark.parametrize(("reference", "response"), REWORDINGS)
def test_the_same_in_other_words_earns_most(score, reference: str, response: str):
    assert score([make(reference, response)])[0] >= 0.7


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sample-en", "sample-zh", "contrast-en", "contrast-zh"])
def test_a_copy_of_the_reference_earns_everything(score, name: str):
    first = {sample.references: sample for sample in read(name)}
    copies = [change(sample, sample.references[0]) for sample in first.values()]
    assert score(copies) == [1.0] * len(copies)


YES_OR_NO = [
    ("Can I breastfeed with mastitis?", "Yes, you can continue breastfeeding.", "You can breastfeed.", "No."),
    ("Is ibuprofen safe in pregnancy?", "No, ibuprofen should be avoided.", "No.", "Yes, ibuprofen is safe."),
    ("孕妇可以吃阿司匹林吗？", "不可以，孕妇禁用阿司匹林。", "不可以。", "可以吃阿司匹林。"),
]


@pytest.mark.parametrize(("question", "reference", "right", "wrong"), YES_OR_NO)
def test_a_short_answer_to_a_yes_no_question_counts(score, question, reference, right, wrong):
    samples = [Sample("x", question, (reference,), answer, detect_lang(question)) for answer in (right, wrong)]
    above, below = score(samples)
    assert above >= 0.5
    assert below <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "floor"), [("sample-en", 0.88), ("sample-zh", 0.88)])
def test_a_reworded_answer_ranks_above_wrong_ones(score, name: str, floor: float):
    samples = read(name)
    by_quality: dict[str, list[float]] = defaultdict(list)
    for sample, value in zip(samples, score(samples), strict=True):
        by_quality[sample.meta["quality"]].append(value)
    pairs = [(good, bad) for good in by_quality["reworded"] for bad in by_quality["wrong"]]
    assert fmean(good > bad for good, bad in pairs) >= floor


@pytest.mark.slow
@pytest.mark.parametrize(("name", "floor"), [("contrast-en", 0.85), ("contrast-zh", 0.85)])
def test_reworded_above_wrong_in_the_references_words(score, name: str, floor: float):
    samples = [sample for sample in read(name) if sample.meta["quality"] in ("reworded", "wrong")]
    assert len(samples) == 60
    values = dict(zip([sample.id for sample in samples], score(samples), strict=True))
    questions = {id_.partition(":")[0] for id_ in values}
    assert fmean(values[f"{q}:reworded"] > values[f"{q}:wrong"] for q in questions) >= floor


@pytest.fixture(scope="module", params=["en", "zh"])
def plain(score, request):
    """A third of the samples of a language, and their scores."""
    samples = read(f"sample-{request.param}")[::3]
    return samples, score(samples)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_changes_no_score(score, plain, layout: str):
    samples, scores = plain
    assert score([change(sample, LAYOUTS[layout](sample)) for sample in samples]) == scores
