"""METEOR (Banerjee and Lavie 2005), by nltk with WordNet.

Words are matched exactly, then by stem, then as synonyms in WordNet; the number of chunks that the matched words form
accounts for order. WordNet does not ship with nltk. It is looked for where nltk looks: in `corpora/wordnet` or
`corpora/wordnet.zip` under $NLTK_DATA, ~/nltk_data or one of nltk's system folders. Without it English texts have no
score, because METEOR without synonyms would be another metric. METEOR has no French synonyms (README of METEOR 0.8.2):
exact words and Snowball stems are matched, on the words of ROUGE.

Java METEOR 1.5 gives other scores: it has paraphrases, weights function words less and minimises the number of chunks.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from imapeval.errors import ResourceError
from imapeval.metrics.base import Example, Metric
from imapeval.metrics.lexical.tokens import (
    EXAMPLE_TEXTS,
    NO_REFERENCE_TOKENS,
    TOKENIZERS,
    open_stemmer,
    split_for_bleu,
    split_words,
)
from imapeval.metrics.nltk_parts import list_nltk_folders
from imapeval.types import Outcome, Score

if TYPE_CHECKING:
    from pathlib import Path

    from imapeval.metrics.base import Case, MetricResources

_COMMAND = "python -m nltk.downloader wordnet"
_INSTALL = f"Install WordNet: {_COMMAND}"


@dataclass(frozen=True, slots=True)
class Meteor(Metric):
    """Sentence METEOR (0..1, below 1 even for identical texts), on BLEU's tokens in lower case, for French on words.

    Attributes:
        stages_fr: How French words are matched.
        wordnet: Version of WordNet, once prepared; None if it is not installed, which only English texts need.
    """

    name = "meteor"
    summary = "METEOR: words, stems and synonyms, and their order"
    formula = (
        "P R / (0.9 P + 0.1 R) x (1 - 0.5 (runs / matches)^3); P and R are the shares of matched words (same word, "
        "stem or synonym) in response and reference, runs the stretches of neighbours that they form"
    )
    example = Example(
        *EXAMPLE_TEXTS,
        (
            "4 matches (take, the, tablets, food), P = R = 4/5; 2 runs: take the tablets | food",
            "0.8 x (1 - 0.5 x (2/4)^3) = 0.75",
        ),
        0.75,
    )
    range = (0.0, 1.0)
    citation = "Banerjee and Lavie 2005, METEOR; package nltk"
    languages = frozenset({"en", "fr"})

    alpha: float = 0.9
    beta: float = 3.0
    gamma: float = 0.5
    tokens: str = TOKENIZERS["en"]
    stages_fr: str = "exact,stem"
    wordnet: str | None = None
    sacrebleu: str = field(default_factory=lambda: metadata.version("sacrebleu"))
    nltk: str = field(default_factory=lambda: metadata.version("nltk"))

    @property
    def missing_requirements(self) -> str:
        return "" if _find_wordnet() else f"WordNet for English texts: {_COMMAND}"

    def prepare(self, resources: MetricResources) -> Meteor:
        """Return it with WordNet's version; loads WordNet, which takes some seconds and 200 MB.

        Raises:
            ResourceError: WordNet is damaged.
        """
        return replace(self, wordnet=_open_wordnet().get_version()) if _find_wordnet() else self

    def score(self, case: Case) -> Outcome:
        """Score one case; see `Metric.score`.

        Raises:
            ResourceError: The case is English, and WordNet is missing or damaged.
        """
        if refused := self.refuse_language(case.lang):
            return refused
        from nltk.translate.meteor_score import single_meteor_score  # pyright: ignore[reportMissingTypeStubs]

        if case.lang == "fr":
            expected, given = split_words(case.reference), split_words(case.response)
            resources: dict[str, Any] = {"stemmer": open_stemmer("fr"), "wordnet": _NoSynonyms()}
        else:
            expected, given = split_for_bleu(case.reference, self.tokens), split_for_bleu(case.response, self.tokens)
            resources = {"wordnet": _open_wordnet()}
        if not expected:
            return NO_REFERENCE_TOKENS
        score = single_meteor_score(expected, given, alpha=self.alpha, beta=self.beta, gamma=self.gamma, **resources)
        return Score(float(score))


class _NoSynonyms:
    """Stands in for WordNet."""

    def synsets(self, word: str) -> list[Any]:
        return []


def _find_wordnet() -> Path | None:
    """Return WordNet's folder or zip file, the first in nltk's search path."""
    for folder in list_nltk_folders():
        corpora = folder / "corpora"
        if (corpora / "wordnet" / "data.noun").is_file():
            return corpora / "wordnet"
        if (corpora / "wordnet.zip").is_file():
            return corpora / "wordnet.zip"
    return None


def _open_wordnet() -> Any:
    found = _find_wordnet()
    if found is None:
        raise ResourceError(f"METEOR of English texts needs WordNet, which is not where nltk looks for it. {_INSTALL}")
    return _load_wordnet(found)


@lru_cache(maxsize=1)
def _load_wordnet(path: Path) -> Any:
    from nltk.corpus.reader.wordnet import WordNetCorpusReader, WordNetError  # pyright: ignore[reportMissingTypeStubs]
    from nltk.data import ZipFilePathPointer  # pyright: ignore[reportMissingTypeStubs]

    root: Any = ZipFilePathPointer(str(path), "wordnet/") if path.suffix == ".zip" else str(path)
    try:
        with warnings.catch_warnings():
            # Of languages that are not asked for here, of files that nltk leaves open, and of each look-up in damaged
            # files, which is found out below.
            warnings.simplefilter("ignore")
            wordnet: Any = WordNetCorpusReader(root, None)
            synsets = wordnet.synsets("doctor")
    except (OSError, ValueError, LookupError, WordNetError) as error:
        raise ResourceError(f"WordNet in {path} cannot be read ({error}). {_INSTALL}") from error
    if not any(lemma.name() == "physician" for synset in synsets if synset for lemma in synset.lemmas()):
        # Where line ends were changed, as in the package wn 0.0.23, every look-up fails with no more than a warning.
        raise ResourceError(f"WordNet in {path} is damaged: it does not know doctor = physician. {_INSTALL}")
    return wordnet
