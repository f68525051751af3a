"""Lexical metrics of languages without resources of their own (`other`), on German, each beside another package."""

from __future__ import annotations

import re
from collections import Counter

import pytest
import sacrebleu
from nltk.translate.nist_score import sentence_nist
from rouge_score.rouge_scorer import RougeScorer

from imapeval.metrics import lexical
from imapeval.metrics.base import Case
from imapeval.types import Failure, Outcome, Score

METRICS = {metric.name: metric for metric in lexical.build()}
PAIRS = [
    ("Das Lungenödem wird mit 40 mg Furosemid behandelt.", "Die Behandlung des Lungenödems: 2,5 mg Furosemid."),
    ("Antibiotika für 7 Tage, außer bei Allergie", "Keine Antibiotika; die Ärztin behandelt die Allergie."),
]


def score(name: str, reference: str, response: str) -> Outcome:
    (outcome,) = METRICS[name].score_batch([Case("a", "q", reference, response, "other")])
    return outcome


def value(outcome: Outcome) -> float:
    assert isinstance(outcome, Score)
    return outcome.value


def split(text: str) -> list[str]:
    return re.findall(r"\d+,\d+|\w+", text.lower())


@pytest.mark.parametrize(("reference", "response"), PAIRS)
def test_rouge_is_that_of_rouge_score_on_words_without_stems(reference: str, response: str):
    class Split:
        def tokenize(self, text: str) -> list[str]:
            return split(text)

    for name in ("rouge1", "rouge2", "rougeL"):
        expected = RougeScorer([name], tokenizer=Split()).score(reference, response)[name]
        assert value(score(name, reference, response)) == pytest.approx(expected.fmeasure)


@pytest.mark.parametrize(("reference", "response"), PAIRS)
def test_bleu_nist_chrf_and_length_are_sacrebleus_for_german(reference: str, response: str):
    library = sacrebleu.BLEU(effective_order=True, trg_lang="de")
    assert value(score("bleu", reference, response)) == pytest.approx(
        library.sentence_score(response, [reference]).score
    )
    assert value(score("chrf", reference, response)) == sacrebleu.sentence_chrf(response, [reference]).score
    theirs, ours = (library.tokenizer(text).split() for text in (reference, response))
    assert value(score("nist", reference, response)) == pytest.approx(sentence_nist([theirs], ours))
    assert value(score("length-ratio", reference, response)) == pytest.approx(len(ours) / len(theirs))


@pytest.mark.parametrize(("reference", "response"), PAIRS)
def test_token_f1_keeps_all_words(reference: str, response: str):
    given, expected = Counter(split(response)), Counter(split(reference))
    shared = (given & expected).total()
    assert value(score("token-f1", reference, response)) == pytest.approx(
        2 * shared / (given.total() + expected.total())
    )
    assert value(score("exact-match", "Das Ödem.", "das Ödem")) == 1
    assert value(score("exact-match", "Das Ödem.", "Ödem")) == 0


def test_meteor_needs_stems():
    outcome = score("meteor", *PAIRS[0])
    assert isinstance(outcome, Failure)
    assert outcome.kind == "language"
