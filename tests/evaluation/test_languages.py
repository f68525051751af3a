"""French and other languages: scored by metrics of words and characters, and by no other."""

from __future__ import annotations

import pytest

from imapeval import Scorer
from imapeval.errors import UsageError
from imapeval.evaluation.extract import refuse_reading
from imapeval.metrics import lexical, registry
from imapeval.scoring.arguments import make_samples
from imapeval.types import Failure, Sample, Score

FRENCH = {
    "question": "Comment traiter ?",
    "reference": "Furosémide 40 mg, oxygène.",
    "response": "De l'oxygène.",
    "lang": "fr",
}


def test_metrics_of_words_score_and_the_others_say_why_not():
    with Scorer(metrics=["imapscore", "rouge1", "chrf", "rouge1+imap"]) as scorer:
        (found,) = scorer.score_all([FRENCH])
        outcomes = {name: found.outcomes[name] for name in ("imapscore", "rouge1", "chrf", "rouge1+imap")}
        failed = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Failure)}
        assert {name: (failure.stage, failure.kind) for name, failure in failed.items()} == {
            "imapscore": ("metric", "language"),
            "rouge1+imap": ("metric", "language"),
        }
        extracted = scorer.extract(response="Oxygène.", question="Comment traiter ?", lang="fr")
        assert isinstance(extracted, Failure)
        assert (extracted.stage, extracted.kind) == ("extraction", "language")
        with pytest.raises(UsageError, match="fr"):
            scorer.relate("fièvre", "infection", lang="fr")


def test_facts_are_read_in_the_other_languages():
    assert refuse_reading(Sample("a", "q", (), "r", lang="zh")) is None


def test_only_metrics_of_words_know_french_and_other_languages():
    french, others = (
        {metric.name for metric in registry.all_metrics() if lang in metric.languages} for lang in ("fr", "other")
    )
    assert french == {metric.name for metric in lexical.build()}
    assert others == french - {"meteor"}


def test_other_languages_have_a_name_and_a_code_says_which():
    """A code such as "de" may as well be a slip of the pen, as "cn" for Chinese."""
    german = FRENCH | {"reference": "Sauerstoff und Furosemid.", "response": "Sauerstoff!"}
    with Scorer(metrics=["imapscore", "rouge1"]) as scorer:
        refused, found = scorer.score_all([german | {"lang": lang} for lang in ("de", "other")])
    fault = refused.outcomes["rouge1"]
    assert isinstance(fault, Failure)
    assert (fault.stage, fault.kind) == ("sample", "bad-input")
    score, failure = found.outcomes["rouge1"], found.outcomes["imapscore"]
    assert isinstance(score, Score)
    assert score.value == pytest.approx(2 * 1 / 4)
    assert isinstance(failure, Failure)
    assert (failure.stage, failure.kind) == ("metric", "language")


def test_dialogues_name_their_speakers_in_french():
    turns = [("user", "J'ai mal."), ("assistant", "Où ?"), ("user", "À la tête."), ("assistant", "Buvez.")]
    row = {"lang": "fr", "turns": [{"role": role, "content": text} for role, text in turns]}
    (sample,) = make_samples([row])
    assert sample.question == "Patient : J'ai mal.\nMédecin : Où ?\nPatient : À la tête."
