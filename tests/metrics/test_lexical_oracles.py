"""Each metric beside an independent implementation, on real answers of both languages.

The counts of ROUGE and BLEU are our own, so the libraries whose tokens and formulas they use are such an
implementation; a second one is named at each test. Where a library computes the whole number (NIST, chrF), the second
one is written here from the paper. `expected/lexical.json` is made by `expected/make_lexical.py`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sacrebleu
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from rouge_score.rouge_scorer import RougeScorer

from imapeval.evaluation.samples import read
from imapeval.metrics import lexical
from imapeval.metrics.base import Case
from imapeval.metrics.lexical.tokens import split_for_bleu, split_for_rouge
from imapeval.metrics.options import set_options
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]
DEV = ROOT.parent / "shared" / "benchmark" / "imapscore-dev.jsonl"
METRICS = {metric.name: metric for metric in lexical.build()}


def read_cases(path: Path) -> list[Case]:
    return [Case(s.id, s.question, s.references[0], s.response, s.lang) for s in read(path)]


@pytest.fixture(scope="module", params=["sample-en", "sample-zh", "imapscore-dev"])
def cases(request: pytest.FixtureRequest) -> list[Case]:
    path = DEV if request.param == "imapscore-dev" else ROOT / "datasets" / f"{request.param}.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not here: the rated answers are no part of the project")
    # 60 answers of each of the four files that the rated answers come from.
    cases = [case for n, case in enumerate(read_cases(path)) if n % 100 < 60]
    assert len(cases) >= 50
    return cases


def score(name: str, cases: Sequence[Case], **options: str) -> list[Score]:
    outcomes = set_options(METRICS[name], options).score_batch(cases)
    return [outcome for outcome in outcomes if isinstance(outcome, Score)]


def close(values: Sequence[float]) -> object:
    return pytest.approx(values, abs=1e-6)


ROUGE = ("rouge1", "rouge2", "rougeL")


@pytest.fixture(scope="module")
def rouge_of_the_library(cases: list[Case]) -> list[dict[str, Any]]:
    class Split:
        def tokenize(self, text: str) -> list[str]:
            return list(split_for_rouge(text, "zh"))

    scorers = {"en": RougeScorer(ROUGE, use_stemmer=True), "zh": RougeScorer(ROUGE, tokenizer=Split())}
    return [scorers[case.lang].score(case.reference, case.response) for case in cases]


@pytest.mark.parametrize("name", ROUGE)
def test_rouge_is_the_librarys(cases: list[Case], rouge_of_the_library: list[dict[str, Any]], name: str):
    expected = [results[name] for results in rouge_of_the_library]
    found = [outcome.parts for outcome in score(name, cases)]
    for part in ("precision", "recall", "fmeasure"):
        assert [parts[part] for parts in found] == close([getattr(result, part) for result in expected])


def test_other_packages_on_our_samples():
    expected = json.loads((Path(__file__).parent / "expected" / "lexical.json").read_text(encoding="utf-8"))
    cases = {
        case.id: case
        for lang in ("en", "zh")
        for case in read_cases(ROOT / "datasets" / f"sample-{lang}.jsonl")
        if case.id in expected
    }
    assert Counter(case.lang for case in cases.values()) == {"en": 60, "zh": 60}
    for name in ("rouge1", "rouge2", "rougeL", "rougeS", "exact-match", "token-f1"):
        some = [case for id_, case in cases.items() if name in expected[id_]]
        assert Counter(case.lang for case in some)["zh"] >= 50
        assert [s.value for s in score(name, some)] == close([expected[case.id][name] for case in some]), name


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_bleu_is_the_librarys(cases: list[Case], order: int):
    by_lang = {
        lang: sacrebleu.BLEU(tokenize=tokens, effective_order=True, max_ngram_order=order)
        for lang, tokens in (("en", "13a"), ("zh", "zh"))
    }
    expected = [by_lang[case.lang].sentence_score(case.response, [case.reference]) for case in cases]
    found = score("bleu" if order == 4 else f"bleu{order}", cases)
    assert [s.value for s in found] == close([result.score for result in expected])
    for n in range(order):
        assert [s.parts[f"p{n + 1}"] for s in found] == close([result.precisions[n] for result in expected])
    assert [s.parts["bp"] for s in found] == close([result.bp for result in expected])


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_bleu_is_that_of_nltk(cases: list[Case], order: int):
    # nltk's third smoothing is sacrebleu's "exp" (Chen and Cherry 2014, NIST geometric sequence). It has no effective
    # order: answers of fewer tokens than the order are left out.
    smooth = SmoothingFunction().method3
    found = score("bleu" if order == 4 else f"bleu{order}", cases)
    compared = 0
    for case, outcome in zip(cases, found, strict=True):
        reference, response = (
            split_for_bleu(text, "zh" if case.lang == "zh" else "13a") for text in (case.reference, case.response)
        )
        if len(response) >= order and outcome.value:
            weights = [1 / order] * order
            expected = 100 * sentence_bleu([reference], response, weights, smoothing_function=smooth)
            assert outcome.value == pytest.approx(expected, abs=1e-6)
            compared += 1
    assert compared >= 50


def test_length_ratio_is_that_of_sacrebleu(cases: list[Case]):
    expected = [
        sacrebleu.sentence_bleu(
            case.response, [case.reference], tokenize="zh" if case.lang == "zh" else "13a", use_effective_order=True
        ).ratio
        for case in cases
    ]
    assert [s.value for s in score("length-ratio", cases)] == close(expected)


def nist(reference: Sequence[str], response: Sequence[str]) -> float:
    """Doddington 2002, Eq. 2 and 3, with exact counts."""
    total = 0.0
    for n in range(1, 6):
        grams = [tuple(response[i : i + n]) for i in range(len(response) - n + 1)]
        have = Counter(tuple(reference[i : i + n]) for i in range(len(reference) - n + 1))
        before = Counter(tuple(reference[i : i + n - 1]) for i in range(len(reference) - n + 2))
        if n == 1:
            before = Counter({(): len(reference)})
        gained = sum(
            min(count, have[gram]) * math.log2(Fraction(before[gram[:-1]], have[gram]))
            for gram, count in Counter(grams).items()
            if gram in have
        )
        total += gained / len(grams) if grams else 0.0
    beta = math.log(0.5) / math.log(1.5) ** 2
    return total * math.exp(beta * math.log(min(1.0, len(response) / len(reference))) ** 2)


def test_nist_is_that_of_the_paper(cases: list[Case]):
    expected = [
        nist(*(split_for_bleu(text, "zh" if c.lang == "zh" else "13a") for text in (c.reference, c.response)))
        for c in cases
    ]
    assert [s.value for s in score("nist", cases)] == close(expected)


def chrf(reference: str, response: str, *, words: int) -> float:
    """Popović 2015 and 2017 (chrF++), orders without n-grams left out: precision and recall are means over orders."""

    def count(text: str) -> list[Counter[tuple[str, ...]]]:
        letters = [letter for letter in text if not letter.isspace()]
        tokens: list[str] = []
        for word in text.split():
            if len(word) > 1 and word[-1] in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~":
                tokens += [word[:-1], word[-1]]
            elif len(word) > 1 and word[0] in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~":
                tokens += [word[0], word[1:]]
            else:
                tokens.append(word)
        return [
            Counter(tuple(units[i : i + n]) for i in range(len(units) - n + 1))
            for units, longest in ((letters, 6), (tokens, words))
            for n in range(1, longest + 1)
        ]

    pairs = [(a, b) for a, b in zip(count(reference), count(response), strict=True) if a and b]
    precision = sum((a & b).total() / b.total() for a, b in pairs) / len(pairs)
    recall = sum((a & b).total() / a.total() for a, b in pairs) / len(pairs)
    return 100 * 5 * precision * recall / (4 * precision + recall) if precision + recall else 0.0


@pytest.mark.parametrize("words", [0, 2])
def test_chrf_is_that_of_the_papers(cases: list[Case], words: int):
    expected = [chrf(case.reference, case.response, words=words) for case in cases]
    assert [s.value for s in score("chrf", cases, word_order=str(words))] == close(expected)
