"""Lexical metrics of French, and of German, which has no resources of its own (`other`): each beside an independent
implementation, or worked out by hand."""

from __future__ import annotations

import re
from collections import Counter

import pytest
import sacrebleu
import snowballstemmer
from nltk.stem.snowball import FrenchStemmer
from nltk.translate.meteor_score import single_meteor_score
from nltk.translate.nist_score import sentence_nist
from rouge_score.rouge_scorer import RougeScorer

from imapeval.metrics import lexical
from imapeval.metrics.base import Case
from imapeval.metrics.lexical.tokens import split_for_squad, split_words
from imapeval.metrics.nltk_parts import load_stemmer
from imapeval.types import Failure, Lang, Outcome, Score

METRICS = {metric.name: metric for metric in lexical.build()}
PAIRS = [
    (
        "Prenez l'ibuprofène 400 mg pendant les repas et buvez beaucoup d'eau.",
        "Il faut prendre de l’ibuprofène au cours du repas ; buvez de l'eau.",
    ),
    (
        "L'œdème aigu du poumon est traité par 40 mg de furosémide intraveineux.",
        "Un oedème pulmonaire aigu se traite par le furosémide (40 mg par voie intraveineuse).",
    ),
    ("Le traitement est chirurgical.", "Traitement chirurgical"),
    ("Antibiotiques pendant 7 à 10 jours, en l'absence d'allergie.", "Aucun antibiotique n'est nécessaire."),
]

GERMAN_PAIRS = [
    ("Das Lungenödem wird mit 40 mg Furosemid behandelt.", "Die Behandlung des Lungenödems: 2,5 mg Furosemid."),
    ("Antibiotika für 7 Tage, außer bei Allergie", "Keine Antibiotika; die Ärztin behandelt die Allergie."),
]
ALL_PAIRS = [*(("fr", *pair) for pair in PAIRS), *(("other", *pair) for pair in GERMAN_PAIRS)]
of_each_pair = pytest.mark.parametrize(("lang", "reference", "response"), ALL_PAIRS)


def score(name: str, reference: str, response: str, lang: Lang = "fr") -> Outcome:
    (outcome,) = METRICS[name].score_batch([Case("a", "q", reference, response, lang)])
    return outcome


def value(outcome: Outcome) -> float:
    assert isinstance(outcome, Score)
    return outcome.value


def split_german(text: str) -> list[str]:
    return re.findall(r"\d+,\d+|\w+", text.lower())


def test_french_words_by_hand():
    text = "L’œdème : 1 500 mg, puis 2,5 mg d'un anti-inflammatoire à l'hôpital"
    words = "l oedème 1500 mg puis 2.5 mg d un anti inflammatoire à l hôpital"
    assert split_words(text.replace("1 500", "1\u202f500")) == tuple(words.split())
    # Without articles, elided ones as well; "l" is a litre where no apostrophe follows.
    assert " ".join(split_for_squad("Les 2 l d'eau, l'œdème et des comprimés", "fr")) == "2 l d eau oedème et comprimés"
    # Words keep their accents, composed or not.
    assert split_for_squad("ge\u0301ne\u0301ral", "fr") == ("général",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("हिन्दी में दवा", ["हिन्दी", "में", "दवा"]),  # the vowels are combining marks
        ("مُحَمَّد שָׁלוֹם", ["مُحَمَّد", "שָׁלוֹם"]),
        ("İstanbul", ["i\u0307stanbul"]),
        ("1\ufe0f\u20e3 mg/m² ½ ❤\ufe0f", ["1", "mg", "m²", "½"]),  # marks of signs belong to no word
    ],
)
def test_letters_keep_their_marks(text: str, words: list[str]):
    assert split_for_squad(text, "other") == tuple(words)


def test_a_space_in_a_number_joins_only_where_it_is_typographic():
    """ "2 500 mg" may be two tablets of 500 mg."""
    assert split_for_squad("2\u00a0500", "fr") == ("2500",)
    assert split_for_squad("2 500", "fr") == ("2", "500")
    # A number is one word: 2,5 shares nothing with 5.
    assert value(score("token-f1", "2,5 mg", "2.5 mg")) == 1
    assert value(score("token-f1", "2,5", "5")) == 0


def test_stems_are_those_of_nltk():
    words = {word for pair in PAIRS for text in pair for word in split_words(text)}
    ours, theirs = load_stemmer("fr")(), FrenchStemmer()
    assert {word: ours.stem(word) for word in words} == {word: theirs.stem(word) for word in words}


def test_stems_join_what_snowball_joins():
    """snowballstemmer 3.1 revised the algorithm: the stems may differ, the words that share one do not."""
    groups = [
        ("antibiotique", "antibiotiques"),
        ("intraveineux", "intraveineuse"),
        ("traité", "traitée", "traitées", "traiter"),
        ("chirurgical", "chirurgicale", "chirurgicales"),
        ("douloureux", "douloureuse", "douloureusement"),
    ]
    ours, theirs = load_stemmer("fr")(), snowballstemmer.stemmer("french")
    for group in groups:
        assert len({ours.stem(word) for word in group}) == len({theirs.stemWord(word) for word in group}) == 1
    assert len({ours.stem(group[0]) for group in groups}) == len(groups)


@pytest.mark.parametrize("name", ["rouge1", "rouge2", "rougeL"])
@of_each_pair
def test_rouge_is_that_of_rouge_score(name: str, lang: Lang, reference: str, response: str):
    class Split:
        def tokenize(self, text: str) -> list[str]:
            if lang == "other":
                return split_german(text)
            words = split_words(text)
            return [FrenchStemmer().stem(word) if len(word) > 3 else word for word in words]

    expected = RougeScorer([name], tokenizer=Split()).score(reference, response)[name]
    assert value(score(name, reference, response, lang)) == pytest.approx(expected.fmeasure)


def test_rouge_by_hand():
    # traitements chirurgicaux -> trait, chirurgical; both words of "Traitement chirurgical", and of the 4 of the other
    # "est" and "le" are left: P = 2/2, R = 2/4.
    assert value(score("rouge1", *PAIRS[2])) == pytest.approx(2 * 1 * 0.5 / 1.5)


@of_each_pair
def test_bleu_nist_chrf_and_length_ratio_are_those_of_sacrebleu(lang: Lang, reference: str, response: str):
    library = sacrebleu.BLEU(effective_order=True, trg_lang="fr" if lang == "fr" else "de")
    assert value(score("bleu", reference, response, lang)) == pytest.approx(
        library.sentence_score(response, [reference]).score
    )
    assert value(score("chrf", reference, response, lang)) == sacrebleu.sentence_chrf(response, [reference]).score
    theirs, ours = (library.tokenizer(text).split() for text in (reference, response))
    expected = sentence_nist([theirs], ours, n=min(5, len(ours)))
    assert value(score("nist", reference, response, lang)) == pytest.approx(expected)
    assert value(score("length-ratio", reference, response, lang)) == pytest.approx(len(ours) / len(theirs))


@of_each_pair
def test_token_f1_and_exact_match_by_bags(lang: Lang, reference: str, response: str):
    given, expected = (
        Counter(split_for_squad(text, "fr") if lang == "fr" else split_german(text)) for text in (response, reference)
    )
    found = score("token-f1", reference, response, lang)
    assert value(found) == pytest.approx(2 * (given & expected).total() / (given.total() + expected.total()))
    assert value(score("exact-match", reference, response, lang)) == 0


def test_exact_match_leaves_out_articles():
    assert value(score("exact-match", "L'amoxicilline 1,5 g.", "amoxicilline 1.5 g")) == 1
    assert value(score("exact-match", "une amoxicilline", "la clarithromycine")) == 0
    # Only of languages whose articles are known.
    assert value(score("exact-match", "Das Ödem.", "das Ödem", "other")) == 1
    assert value(score("exact-match", "Das Ödem.", "Ödem", "other")) == 0


@pytest.mark.parametrize(("reference", "response"), PAIRS)
def test_meteor_matches_words_and_stems(reference: str, response: str):
    """METEOR for French has no synonyms: WordNet's are English (README of METEOR 0.8.2)."""

    class NoSynonyms:
        def synsets(self, word: str) -> list[object]:
            return []

    given, expected = (split_words(text) for text in (response, reference))
    wanted = single_meteor_score(expected, given, stemmer=FrenchStemmer(), wordnet=NoSynonyms())
    assert value(score("meteor", reference, response)) == pytest.approx(wanted)


@pytest.mark.parametrize("name", METRICS)
def test_every_lexical_metric_scores_french(name: str):
    assert METRICS[name].languages >= {"en", "fr"}
    assert value(score(name, *PAIRS[0])) > 0 or name == "exact-match"


def test_meteor_needs_stems():
    outcome = score("meteor", *GERMAN_PAIRS[0], "other")
    assert isinstance(outcome, Failure)
    assert outcome.kind == "language"
