"""Meaning before wording, end to end: denials, rewordings, layout and attempts at a higher score.

The floors are what the offline reader reached on 2026-11-22, rounded down; docs/agreement.md has the figures and what a
strong model makes of the same answers. They keep an improvement from being lost and claim no more.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

import pytest

from imapeval.metrics.imapscore import graded
from imapeval.pipeline import open_extractor, open_graph, open_matcher
from imapeval.samples import read
from imapeval.text.language import detect_lang
from imapeval.types import Sample, Score

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.types import Lang

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
"""Of the issue on meaning: each inversion scored .4 to 1.0 before, each rewording less than its inversion."""

_DISEASES = {
    "en": (
        "pneumonia, asthma, bronchitis, gout, migraine, sinusitis, appendicitis, cystitis, hepatitis, "
        "gastritis, eczema, psoriasis, anemia, diabetes, hypertension, stroke, epilepsy, tuberculosis, "
        "malaria, measles, mumps, rubella, chickenpox, shingles, influenza, tonsillitis, otitis, "
        "conjunctivitis, glaucoma, cataract, arthritis, osteoporosis, lupus, lymphoma, leukemia, melanoma, "
        "pancreatitis, cholecystitis, diverticulitis, hemorrhoids, hernia, scoliosis, sciatica, vertigo, "
        "tinnitus, depression, anxiety disorder, schizophrenia, dementia, Parkinson's disease, multiple "
        "sclerosis, hypothyroidism, hyperthyroidism, endometriosis, prostatitis, nephritis, sepsis, "
        "meningitis, scabies, ringworm"
    ),
    "zh": (
        "肺炎、哮喘、支气管炎、痛风、偏头痛、鼻窦炎、阑尾炎、膀胱炎、肝炎、胃炎、湿疹、银屑病、贫血、"
        "糖尿病、高血压、中风、癫痫、结核、疟疾、麻疹、腮腺炎、风疹、水痘、带状疱疹、流感、扁桃体炎、"
        "中耳炎、结膜炎、青光眼、白内障、关节炎、骨质疏松、狼疮、淋巴瘤、白血病、黑色素瘤、胰腺炎、"
        "胆囊炎、憩室炎、痔疮、疝气、脊柱侧弯、坐骨神经痛、眩晕、耳鸣、抑郁症、焦虑症、精神分裂症、"
        "痴呆、帕金森病、多发性硬化、甲减、甲亢、子宫内膜异位症、前列腺炎、肾炎、败血症、脑膜炎、"
        "疥疮、体癣"
    ),
}


def split_sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+|(?<=[。！？])", text) if part.strip()]


def deny(text: str, lang: Lang) -> str:
    return " ".join(f"{'Do not: ' if lang == 'en' else '不要：'}{part}" for part in split_sentences(text))


def list_diseases(sample: Sample) -> str:
    listed = _DISEASES[sample.lang]
    return f"{sample.response} {f'It could be {listed}.' if sample.lang == 'en' else f'可能是{listed}。'}"


def hedge(sample: Sample) -> str:
    hedge = "Possibly, it may be that " if sample.lang == "en" else "可能也许"
    return " ".join(f"{hedge}{part}" for part in split_sentences(sample.response))


GAMES: dict[str, Callable[[Sample], str]] = {
    "sixty diagnoses": list_diseases,
    "its own denial besides": lambda sample: f"{sample.response} {deny(sample.response, sample.lang)}",
    "the question repeated": lambda sample: f"{sample.question} {sample.response}",
    "said twice": lambda sample: f"{sample.response} {sample.response}",
    "everything hedged": hedge,
}
LAYOUTS: dict[str, Callable[[Sample], str]] = {
    "bold": lambda sample: re.sub(r"(\w{4,}|[\u4e00-\u9fff]{2})", r"**\1**", sample.response, count=1),
    "html": lambda sample: "<p>" + re.sub(r"([A-Za-z]{4,})", r"<b>\1</b>", sample.response) + "</p>",
    "soft hyphens": lambda sample: re.sub(r"(?<=\w)(?=\w)", "\u00ad", sample.response),
    "zero width": lambda sample: "\u200b".join(sample.response),
}


@pytest.fixture(scope="module")
def score():
    """Return what scores samples offline, in their order; None where there is no score."""
    with open_graph() as graph:
        extractor, matcher = open_extractor(graph), open_matcher(graph)

        def compute(samples: Sequence[Sample]) -> list[float | None]:
            async def work():
                imaps = [(await extractor.extract(sample))[0] for sample in samples]
                return imaps, await matcher.match(imaps, langs=[sample.lang for sample in samples])

            outcomes = [graded(*pair) for pair in zip(*asyncio.run(work()), strict=True)]
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


@pytest.mark.parametrize(("name", "floor"), [("sample-en", 0.8), ("sample-zh", 0.85)])
def test_a_reworded_answer_ranks_above_wrong_ones(score, name: str, floor: float):
    samples = read(name)
    by_quality: dict[str, list[float]] = defaultdict(list)
    for sample, value in zip(samples, score(samples), strict=True):
        by_quality[sample.meta["quality"]].append(value)
    pairs = [(good, bad) for good in by_quality["reworded"] for bad in by_quality["wrong"]]
    assert fmean(good > bad for good, bad in pairs) >= floor


@pytest.mark.parametrize(("name", "floor"), [("contrast-en", 0.75), ("contrast-zh", 0.7)])
def test_reworded_above_wrong_in_the_references_words(score, name: str, floor: float):
    samples = [sample for sample in read(name) if sample.meta["quality"] in ("reworded", "wrong")]
    assert len(samples) == 60
    values = dict(zip([sample.id for sample in samples], score(samples), strict=True))
    questions = {id_.partition(":")[0] for id_ in values}
    assert fmean(values[f"{q}:reworded"] > values[f"{q}:wrong"] for q in questions) >= floor


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("game", GAMES)
def test_playing_for_the_score_does_not_pay(score, lang: str, game: str):
    samples = read(f"sample-{lang}")
    honest = score(samples)
    played = score([change(sample, GAMES[game](sample)) for sample in samples])
    assert fmean(played) <= fmean(honest) + 0.005
    # A good answer never gains; a wrong one may come upon something right among sixty.
    good = [place for place, sample in enumerate(samples) if sample.meta["quality"] in ("right", "reworded")]
    assert fmean(played[place] for place in good) <= fmean(honest[place] for place in good) + 0.005


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_changes_no_score(score, lang: str, layout: str):
    samples = read(f"sample-{lang}")[::3]
    assert score([change(sample, LAYOUTS[layout](sample)) for sample in samples]) == score(samples)
