"""METEOR with a small WordNet that is written here."""

from __future__ import annotations

import gc
import sys
import warnings
import zipfile
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import nltk
import pytest
from nltk.stem.porter import PorterStemmer

from imapeval.errors import ResourceError
from imapeval.evaluation.samples import read
from imapeval.metrics import nltk_parts
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.lexical import Meteor, meteor
from imapeval.metrics.lexical.tokens import split_for_bleu
from imapeval.metrics.on_imaps import MetricOnImaps
from imapeval.types import Failure, Lang, Outcome, Score

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).parents[2]
SYNONYMS: Mapping[str, Sequence[tuple[str, ...]]] = {
    "noun": [("doctor", "physician"), ("treatment", "therapy"), ("sign", "symptom"), ("hospital", "infirmary")],
    "verb": [("avoid", "escape"), ("take", "use", "have"), ("doctor", "fix")],
    "adj": [("severe", "bad"), ("typical", "common")],
    "adv": [("often", "frequently"), ("likely", "probably")],
}


def write_wordnet(folder: Path, *, end: str = "\n") -> None:
    """Write WordNet's files, as its man page wndb(5WN) describes them."""
    folder.mkdir(parents=True)
    for name, letter in (("noun", "n"), ("verb", "v"), ("adj", "a"), ("adv", "r")):
        data = f"  1 WordNet 0.1 Copyright by nobody{end}"
        offsets: dict[str, list[int]] = {}
        for words in SYNONYMS[name]:
            for word in words:
                # The offsets are those of a file with plain line ends, whatever the file has.
                offsets.setdefault(word, []).append(len(data.replace("\r", "")))
            frames = "00 " if name == "verb" else ""
            spelled = " ".join(f"{word} 0" for word in words)
            data += f"{offsets[words[0]][-1]:08} 00 {letter} {len(words):02x} {spelled} 000 {frames}| a meaning{end}"
        index = "".join(
            f"{word} {letter} {len(places)} 0 {len(places)} 0 {' '.join(f'{place:08}' for place in places)}{end}"
            for word, places in sorted(offsets.items())
        )
        for file, text in ((f"data.{name}", data), (f"index.{name}", index), (f"{name}.exc", "")):
            (folder / file).write_bytes(text.encode())
    (folder / "lexnames").write_text("00\tall\t3\n")
    for file in ("cntlist.rev", "index.sense"):
        (folder / file).write_text("")


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a machine without WordNet; returns an empty folder where it is looked for."""
    monkeypatch.setattr(nltk_parts, "_SYSTEM", ())
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "data"))
    # nltk reads the variable when it is imported, and reads no file elsewhere.
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "data")])
    gc.freeze()  # so that below only what is made from here on is searched for garbage
    yield tmp_path / "data" / "corpora"
    meteor._load_wordnet.cache_clear()
    with warnings.catch_warnings():
        # nltk's reader leaves its files open until it is collected.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def prepared(nowhere: Path) -> Meteor:
    write_wordnet(nowhere / "wordnet")
    return Meteor().prepare(MetricResources())


def score(metric: Meteor, reference: str, response: str, lang: Lang = "en") -> Outcome:
    (outcome,) = metric.score_batch([Case("a", "q", reference, response, lang)])
    return outcome


def value(outcome: Outcome) -> float:
    assert isinstance(outcome, Score)
    return outcome.value


def test_by_hand(prepared: Meteor):
    # Three of 4 words match in 2 runs (ask your | physician = doctor, through WordNet) of 3 words: precision 3/4,
    # recall 3/3; Banerjee and Lavie 2005: mean P R / (.9 P + .1 R), penalty .5 (runs / matches)^3.
    mean = (3 / 4) / (0.9 * 3 / 4 + 0.1)
    assert value(score(prepared, "ask your doctor", "ask your other physician")) == pytest.approx(
        mean * (1 - 0.5 * (2 / 3) ** 3)
    )
    # One match by stem, no penalty but the least: 1 run of 1.
    assert value(score(prepared, "tests", "testing")) == pytest.approx(0.5)
    # The same text: one run of 3.
    assert value(score(prepared, "ask your doctor", "Ask your doctor")) == pytest.approx(1 - 0.5 / 27)
    assert value(score(prepared, "ask your doctor", "sleep well")) == 0
    # What `imapeval metrics show meteor` computes.
    assert value(score(prepared, prepared.example.reference, prepared.example.response)) == pytest.approx(0.75)


def test_empty_and_foreign_answers(prepared: Meteor):
    assert value(score(prepared, "ask your doctor", "")) == 0
    assert value(score(prepared, "ask your doctor", "😀")) == 0
    for reference, response, lang, kind in (
        ("", "Rest.", "en", "no-reference-tokens"),
        ("看医生", "看医生", "zh", "language"),
    ):
        outcome = score(prepared, reference, response, lang)
        assert isinstance(outcome, Failure)
        assert outcome.kind == kind


@pytest.mark.slow
def test_a_long_answer_is_scored(prepared: Meteor):
    assert 0 < value(score(prepared, "severe signs often " * 6_000, "bad symptoms frequently " * 6_000)) <= 1


def reckon(reference: Sequence[str], response: Sequence[str]) -> float:
    """METEOR by the paper, matches taken from the end as nltk takes them, with our own look-up of synonyms."""
    stem = cache(PorterStemmer().stem)
    synonyms: dict[str, set[str]] = {}
    for words in (words for table in SYNONYMS.values() for words in table):
        for word in words:
            synonyms.setdefault(word, set()).update(words)

    @cache
    def inflected(word: str) -> set[str]:
        # WordNet looks words up without their endings too (morphy); of those here a plural and a past form matter.
        forms = {
            word,
            word.removesuffix("s"),
            word.removesuffix("d"),
            word.removesuffix("ed"),
            word.removesuffix("ing"),
        }
        forms.add(word.removesuffix("ing") + "e")
        return {synonym for form in forms for synonym in synonyms.get(form, ())} | {word}

    left, open_ = dict(enumerate(response)), dict(enumerate(reference))
    pairs: list[tuple[int, int]] = []
    for same in (
        lambda a, b: a == b,
        lambda a, b: stem(a) == stem(b),
        lambda a, b: stem(b) in inflected(stem(a)),
    ):
        for i in sorted(left, reverse=True):
            found = [j for j in open_ if same(left[i], open_[j])]
            if found:
                pairs.append((i, max(found)))
                del left[i], open_[max(found)]
    if not pairs:
        return 0.0
    pairs.sort()
    runs = 1 + sum((c - a, d - b) != (1, 1) for (a, b), (c, d) in pairwise(pairs))
    precision, recall = len(pairs) / len(response), len(pairs) / len(reference)
    mean = precision * recall / (0.9 * precision + 0.1 * recall)
    return mean * (1 - 0.5 * (runs / len(pairs)) ** 3)


def test_on_real_answers_it_is_what_the_paper_says(prepared: Meteor):
    cases = [
        Case(s.id, s.question, s.references[0], s.response, s.lang) for s in read(ROOT / "datasets/sample-en.jsonl")
    ]
    assert len(cases) >= 50
    expected = [
        reckon(*([token.lower() for token in split_for_bleu(text, "13a")] for text in (case.reference, case.response)))
        for case in cases
    ]
    assert [value(outcome) for outcome in prepared.score_batch(cases)] == pytest.approx(expected, abs=1e-6)


def test_its_signature_names_wordnet(prepared: Meteor):
    assert "|wordnet:0.1|" in prepared.signature
    assert "|wordnet:0.1|" in MetricOnImaps(Meteor()).prepare(MetricResources()).signature


def test_without_wordnet_it_says_what_to_install(nowhere: Path):
    assert Meteor().missing_requirements == "WordNet for English texts: python -m nltk.downloader wordnet"
    with pytest.raises(ResourceError, match=r"python -m nltk\.downloader wordnet"):
        score(Meteor().prepare(MetricResources()), "doctor", "physician")


def test_french_needs_no_wordnet(nowhere: Path):
    metric = Meteor().prepare(MetricResources())
    # traitement and chirurgical match by their stems: P = 2/2, R = 2/4, in 2 runs.
    expected = 0.5 / 0.95 * 0.5
    assert value(score(metric, "Le traitement est chirurgical.", "Traitement chirurgical", "fr")) == pytest.approx(
        expected
    )
    assert "|stages_fr:exact,stem|wordnet:none|" in metric.signature


def test_wordnet_as_nltk_downloads_it(nowhere: Path, tmp_path: Path):
    write_wordnet(tmp_path / "wordnet")
    nowhere.mkdir(parents=True)
    with zipfile.ZipFile(nowhere / "wordnet.zip", "w") as archive:
        for file in sorted((tmp_path / "wordnet").iterdir()):
            archive.write(file, f"wordnet/{file.name}")
    assert Meteor().missing_requirements == ""
    assert value(score(Meteor().prepare(MetricResources()), "doctor", "physician")) == 0.5


@pytest.mark.parametrize("damage", ["line ends", "a file", "a line"])
def test_damaged_wordnet(nowhere: Path, damage: str):
    folder = nowhere / "wordnet"
    write_wordnet(folder, end="\r\n" if damage == "line ends" else "\n")
    if damage == "a file":
        (folder / "index.verb").unlink()
    if damage == "a line":
        (folder / "index.noun").write_text("doctor n x\n")
    with pytest.raises(ResourceError, match=r"WordNet"):
        Meteor().prepare(MetricResources())


def test_nltks_example(nowhere: Path):
    write_wordnet(nowhere / "wordnet")
    # nltk 3.10, docstring of single_meteor_score: 0.6944.
    reference = "It is a guide to action that ensures that the military will forever heed Party commands"
    response = "It is a guide to action which ensures that the military always obeys the commands of the party"
    assert value(score(Meteor().prepare(MetricResources()), reference, response)) == pytest.approx(0.6944, abs=5e-5)
