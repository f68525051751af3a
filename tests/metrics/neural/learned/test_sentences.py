"""Sentences by nltk's Punkt, and what is said where its model is not there."""

from pathlib import Path

import pytest

from imapeval.errors import ResourceError
from imapeval.metrics import nltk_parts
from imapeval.metrics.neural.models import sentences

# Not for the splitter: the small models of the fixtures are torch's.
pytestmark = pytest.mark.neural


def test_sentences_and_abbreviations(punkt: Path) -> None:
    text = "See Dr. Smith, e.g. on Monday.  Rest!\nIs it better? Yes"
    assert sentences.split_sentences(text) == ["See Dr. Smith, e.g. on Monday.", "Rest!", "Is it better?", "Yes"]
    assert sentences.split_sentences("") == []
    assert sentences.split_sentences(" \n") == []
    assert sentences.describe_missing_punkt() == ""


def test_the_same_as_sent_tokenize(punkt: Path) -> None:
    from nltk.tokenize import sent_tokenize

    text = "Take 2.5 mg daily. Do not stop it (see below). It costs $3.50... Really? I.e. ask Mr. Lee."
    assert sentences.split_sentences(text) == sent_tokenize(text)


def test_without_its_model(punkt: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import nltk.data

    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(nltk_parts, "_SYSTEM", ())
    monkeypatch.setattr(nltk.data, "path", [])
    assert sentences.describe_missing_punkt() == "sentences: python -m nltk.downloader punkt_tab"
    with pytest.raises(ResourceError, match=r"python -m nltk\.downloader punkt_tab"):
        sentences.split_sentences("Rest.")


def test_a_damaged_model_is_refused(punkt: Path) -> None:
    (punkt / "tokenizers" / "punkt_tab" / "english" / "ortho_context.tab").unlink()
    with pytest.raises(ResourceError, match="damaged"):
        sentences.split_sentences("Rest.")


def test_the_splitter_is_named_with_its_version() -> None:
    assert sentences.identify_splitter().startswith("punkt-nltk-3.")
