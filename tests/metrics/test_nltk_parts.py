"""Parts of nltk without the whole."""

import re
import subprocess
import sys
from pathlib import Path

from nltk.stem.porter import PorterStemmer

from imapeval.evaluation.samples import read
from imapeval.metrics.nltk_parts import load_stemmer


def test_the_stemmer_is_the_one_of_nltk():
    texts = [text for sample in read("sample-en") for text in (sample.question, *sample.references, sample.response)]
    words = {word for text in texts for word in re.findall("[a-z]+", text.lower())} | {"dying", "skies", "news"}
    ours, stemmer = load_stemmer("en")(), PorterStemmer()
    assert {word: ours.stem(word) for word in words} == {word: stemmer.stem(word) for word in words}


def test_rouge_does_not_import_nltk(tmp_path: Path):
    """It would import pandas and scikit-learn as well."""
    code = (
        "import sys; from imapeval.metrics.lexical.tokens import split_for_rouge; "
        "split_for_rouge('resting feet', 'en', stem=True); "
        "print(sorted({'nltk', 'pandas', 'sklearn', 'scipy'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
