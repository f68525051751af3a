"""MoverScore (Zhao et al. 2019): how far the tokens of one text have to be moved to become those of the other.

The authors' package no longer runs (it needs pytorch_pretrained_bert, or transformers 2). This is its computation, with
any encoder in transformers: 1 - the earth mover's distance between the weighted tokens of reference and response.
Tokens that continue a word (##), ASCII punctuation and stop words do not count; [CLS] and [SEP] do.

- version 2 (moverscore_v2.py, the authors' later and faster program): vectors of the last layer, single tokens,
  Euclidean distance of unit vectors.
- version 1 (moverscore.py, the paper): minimum, mean and maximum of the last five layers, n-grams as weighted means of
  their tokens, squared distance.

The default models are distilbert-base-uncased for English, as in version 2, and bert-base-chinese for Chinese, for
which the authors name none. Only WordPiece marks continued words (##): with SentencePiece every token counts.

Part `truncated` is 1 if a text exceeds the model's maximum, so that only its beginning counts, as there. Empty cases:

- a response with special tokens only scores 0, as if it were at distance 1 from everything; the authors' code compares
  its [CLS] and [SEP];
- such a reference is `Failure("no-reference-tokens")`;
- a text in which no token has a weight, because of `stop_words` or `idf`, is `Failure("no-weight")`.
"""

from __future__ import annotations

import string
from dataclasses import dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any

from imapeval._optional import installed, require
from imapeval.errors import InputError
from imapeval.files import expand_user
from imapeval.metrics.base import TRUNCATED, BatchMetric, computed, option, require_prepared, resource
from imapeval.metrics.neural.models.embeddings import (
    EmbeddedText,
    Pooling,
    TokenEmbedder,
    group_by_language,
    open_embedder,
)
from imapeval.metrics.neural.models.weights import (
    EXTRA,
    INSTALL_HINT,
    describe_missing_weights,
    identify_file,
    identify_weights,
    import_packages,
)
from imapeval.types import Failure, Lang, Outcome, Score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.metrics.base import Case, Device, MetricResources, Range
    from imapeval.metrics.neural.models.idf import Side, TokenWeights
    from imapeval.signature import Value

DEFAULTS: dict[Lang, str] = {"en": "distilbert-base-uncased", "zh": "bert-base-chinese"}

_ITERATIONS = 1_000_000
"""Iterations of the network simplex: ten times POT's default; enough for every pair of 512 tokens tried."""

_PUNCTUATION = frozenset(string.punctuation)


@dataclass(frozen=True, slots=True)
class _PreparedLanguage:
    """Everything needed to score texts of one language.

    Attributes:
        embedder: Computes token vectors.
        weights: Weights of the tokens of reference and response; None if all are equal.
        skipped: Tokens that do not count.
        identity: Identity of the model, for the signature.
    """

    embedder: TokenEmbedder
    weights: Mapping[Side, TokenWeights] | None
    skipped: frozenset[str]
    identity: str


@dataclass(frozen=True, slots=True)
class MoverScore(BatchMetric):
    """MoverScore as a metric.

    Raises:
        ValueError: The version, or the length of n-grams for it, is invalid.
    """

    name = "moverscore"
    summary = "MoverScore: earth mover's distance of BERT's tokens"
    formula = "1 - the least total distance that the response's token vectors have to move to become the reference's"
    citation = "Zhao et al. 2019, MoverScore; as AIPHES/emnlp19-moverscore computes it"
    requires = frozenset({"reference", "weights"})
    part_ranges = TRUNCATED

    model: str = option(
        "model for both languages: a folder or a hub name. Empty: distilbert-base-uncased (English), "
        "bert-base-chinese (Chinese)",
        "",
    )
    version: int = option("2: last layer, single tokens; 1: the paper's, five layers, n-grams, squared distance", 2)
    ngram: int = option("length of the n-grams, 1 or 2; 2 with version 1 only", 1)
    idf: str = option("file of samples (JSON Lines) that gives the idf weights. Empty: no weights", "")
    stop_words: str = option("file of words to ignore, separated by white space. Empty: none", "")
    ready: Mapping[Lang, _PreparedLanguage] | None = resource()

    def __post_init__(self) -> None:
        if self.version not in (1, 2):
            raise ValueError(f"version={self.version}; there are 1 and 2")
        allowed = (1, 2) if self.version == 1 else (1,)
        if self.ngram not in allowed:
            raise ValueError(f"ngram={self.ngram}; version 1 has 1 and 2, version 2 has 1 only")

    @computed
    def range(self) -> Range:
        """The distance of two unit vectors is at most 2, its square 4."""
        return (-1.0, 1.0) if self.version == 2 else (-3.0, 1.0)

    @property
    def missing_requirements(self) -> str:
        if self.ready:
            return ""
        return (
            describe_missing_weights(self.name, *dict.fromkeys(self._models().values()))
            if installed("POT")
            else INSTALL_HINT
        )

    def get_signed(self) -> MoverScore:
        if self.ready is None:
            return self
        model = "+".join(f"{lang}={ready.identity}" for lang, ready in self.ready.items())
        return replace(self, model=model, idf=identify_file(self.idf), stop_words=identify_file(self.stop_words))

    def describe_state(self) -> Mapping[str, Value]:
        solver = metadata.version("POT") if installed("POT") else ""
        precision = {} if self.ready is None else {"precision": self.ready["en"].embedder.loaded.precision}
        return {**precision, "pot": solver}

    def prepare(self, resources: MetricResources) -> MoverScore:
        """Return it with its models; see `Metric.prepare`.

        Raises:
            InputError: The file of samples or of stop words cannot be read.
            MissingExtraError, UsageError, ResourceError: See `load_model`.
        """
        _require_solver()
        return replace(self, ready={lang: self._open(lang, resources.device) for lang in DEFAULTS})

    def score_batch(self, cases: Sequence[Case]) -> list[Outcome]:
        prepared = require_prepared(self.ready, self.name)
        outcomes: dict[int, Outcome] = {}
        for lang, indices in group_by_language(cases):
            ready = prepared[lang]
            batch = [cases[index] for index in indices]
            embedded = ready.embedder.embed(text for case in batch for text in (case.reference, case.response))
            for index, case in zip(indices, batch, strict=True):
                outcomes[index] = self._compare(ready, embedded[case.reference], embedded[case.response])
        return [outcomes[index] for index in range(len(cases))]

    def _models(self) -> dict[Lang, str]:
        return {lang: self.model or default for lang, default in DEFAULTS.items()}

    def _open(self, lang: Lang, device: Device) -> _PreparedLanguage:
        model = self._models()[lang]
        pool: Pooling = "last" if self.version == 2 else "power-means"
        embedder = open_embedder(model, None, pool=pool, device=device)
        weights: dict[Side, TokenWeights] | None = None
        if self.idf:
            from imapeval.metrics.neural.models.idf import SIDES, count_token_weights, read_collection

            path = expand_user(self.idf)
            weights = {
                side: count_token_weights(
                    text.ids for text in embedder.tokenize(read_collection(path, side, lang=lang))
                )
                for side in SIDES
            }
        return _PreparedLanguage(
            embedder, weights, _PUNCTUATION | _read_words(self.stop_words), identify_weights(model)
        )

    def _compare(self, ready: _PreparedLanguage, reference: EmbeddedText, response: EmbeddedText) -> Outcome:
        parts = {"truncated": float(reference.truncated or response.truncated)}
        if reference.is_empty:
            return Failure("metric", "no-reference-tokens", "the reference holds nothing to compare with")
        if response.is_empty:
            return Score(0.0, parts)
        [torch] = import_packages("torch", needed_for="moverscore")
        with torch.inference_mode():
            reference_units, masses = _make_ngrams(ready, reference, "references", self.ngram, torch=torch)
            response_units, other_masses = _make_ngrams(ready, response, "responses", self.ngram, torch=torch)
            if not len(reference_units) or not len(response_units):
                return _NO_WEIGHT
            # 2 - 2 cos is the squared distance of unit vectors.
            squares = (2 - 2 * (reference_units @ response_units.T)).clamp(0.0, 4.0)
            costs = (squares.sqrt() if self.version == 2 else squares).numpy()
        return Score(1.0 - _compute_earth_mover_distance(masses, other_masses, costs), parts)


def build() -> list[MoverScore]:
    """Return the metrics of this module, for the registry."""
    return [MoverScore()]


_NO_WEIGHT = Failure(
    "metric",
    "no-weight",
    "no token of a text has a weight: all are stop words, or occur in every text of the collection given as idf; give "
    "fewer stop words, or a larger collection",
)


def _make_ngrams(ready: _PreparedLanguage, text: EmbeddedText, side: Side, size: int, *, torch: Any) -> tuple[Any, Any]:
    """Return what is moved: float64 tensors of unit vectors, of shape (units, dimension), and of their weights, > 0."""
    tokens = ready.embedder.loaded.tokenizer.convert_ids_to_tokens(text.ids)
    kept = [index for index, token in enumerate(tokens) if "##" not in token and token not in ready.skipped]
    if not kept:
        return torch.empty(0, 1), torch.empty(0)
    all_weights = [1.0] * len(tokens) if ready.weights is None else ready.weights[side].weigh(text.ids)
    # Of a text shorter than an n-gram all tokens are one (moverscore.py, slide_window).
    windows = torch.tensor(kept).unfold(0, min(size, len(kept)), 1)
    weights = torch.tensor(all_weights, dtype=torch.float64)[windows]
    # On the processor, where the optimiser works too; Apple's GPUs have no float64.
    vectors = text.vectors.cpu().double()[windows]
    units = (weights.unsqueeze(-1) * vectors).sum(1)
    masses = weights.sum(1)
    return torch.nn.functional.normalize(units[masses > 0], dim=-1), masses[masses > 0]


def _compute_earth_mover_distance(masses: Any, other_masses: Any, costs: Any) -> float:
    """Return the least cost of moving one distribution to the other, each of total 1."""
    shares, other_shares = ((side / side.sum()).numpy() for side in (masses, other_masses))
    return float(_require_solver().emd2(shares, other_shares, costs, numItermax=_ITERATIONS))


def _require_solver() -> Any:
    return require("ot", distribution="POT", extra=EXTRA, needed_for="moverscore")


def _read_words(path: str) -> frozenset[str]:
    if not path:
        return frozenset()
    try:
        return frozenset(expand_user(path).read_text(encoding="utf-8-sig").split())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the stop words cannot be read ({error})", path=path, fix="Give a text file (UTF-8) of words."
        ) from error
