"""Parts of nltk without the whole."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from nltk.stem.porter import PorterStemmer

from imapeval._resources import cache_folder
from imapeval.errors import UsageError
from imapeval.evaluation.samples import read
from imapeval.metrics.nltk_parts import list_nltk_folders, load_stemmer


def test_the_stemmer_is_the_one_of_nltk():
    texts = [text for sample in read("sample-en") for text in (sample.question, *sample.references, sample.response)]
    words = {word for text in texts for word in re.findall("[a-z]+", text.lower())} | {"dying", "skies", "news"}
    ours, stemmer = load_stemmer("en")(), PorterStemmer()
    assert {word: ours.stem(word) for word in words} == {word: stemmer.stem(word) for word in words}


def test_rouge_does_not_import_nltk(tmp_path: Path):
    """It would import pandas and scikit-learn as well."""
    code = (
        "import sys; from imapeval.metrics.lexical.tokens import split_for_rouge; "
        "split_for_rouge('resting feet', 'en'); "
        "print(sorted({'nltk', 'pandas', 'sklearn', 'scipy'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(sys.platform == "win32", reason="needs the user ids of POSIX systems")
def test_a_user_without_a_home_folder(monkeypatch: pytest.MonkeyPatch):
    """As in a container with an arbitrary user id."""
    import pwd

    def find_user(number: int) -> object:
        raise KeyError(number)

    for name in ("HOME", "XDG_CACHE_HOME", "IMAPEVAL_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", find_user)
    assert list_nltk_folders()
    with pytest.raises(UsageError, match="IMAPEVAL_CACHE"):
        cache_folder()
    monkeypatch.setenv("IMAPEVAL_CACHE", "/elsewhere")
    assert cache_folder() == Path("/elsewhere")
