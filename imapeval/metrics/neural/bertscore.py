"""BERTScore (Zhang et al. 2020): the similarity of each token to the most similar token of the other text.

The scores are those of the package bert_score 0.3.13 with the same weights; here every text is encoded once, however
many pairs contain it. The score is F1; the parts are `precision`, `recall`, `f1`, and `truncated`: 1 if a text exceeds
the model's maximum (512 tokens for roberta-large and bert-base-chinese), so that only its beginning counts, as there.

The default models are those of bert_score: roberta-large (layer 17) for English, bert-base-chinese (layer 8) for
Chinese. A model that is set is used for both languages.

- `idf` weights tokens by their rarity among the references of a file of samples; without it all weights are equal.
- `rescale` applies a baseline, the score of unrelated texts: (score - baseline) / (1 - baseline), which spreads the
  scores and may be negative.

Empty cases:

- a response with special tokens only scores 0 before rescaling, as in bert_score;
- such a reference is `Failure("no-reference-tokens")`; bert_score gives 0;
- with `idf`, a text whose tokens all have weight 0, because they occur in every text of the collection, or because it
  has no text in the language, is `Failure("no-weight")`; bert_score gives NaN;
- with `rescale=bert-score`, a text in a language for which the package has no baseline of the model is
  `Failure("no-baseline")`.

F1 is 0 if precision or recall is not positive, where the quotient is meaningless. In bert_score padding counts as a
token with cosine 0, which matters only if a token has no positive cosine at all; here padding does not count.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from imapeval.errors import InputError, UsageError
from imapeval.files import expand_user
from imapeval.metrics.base import TRUNCATED, BatchMetric, computed, option, require_prepared, resource
from imapeval.metrics.neural.base import NOT_FINITE, make_outcome
from imapeval.metrics.neural.models.embeddings import EmbeddedText, TokenEmbedder, group_by_language, open_embedder
from imapeval.metrics.neural.models.weights import (
    describe_missing_weights,
    identify_file,
    identify_weights,
    import_packages,
)
from imapeval.types import Failure, Lang, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.metrics.base import Case, Device, MetricResources, Range
    from imapeval.metrics.neural.models.idf import TokenWeights
    from imapeval.signature import Value

DEFAULTS: dict[Lang, str] = {"en": "roberta-large", "zh": "bert-base-chinese"}
"""Models by language: bert_score 0.3.13, utils.lang2model."""

LAYERS = {
    "roberta-large": 17,
    "roberta-base": 10,
    "bert-base-chinese": 8,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "bert-base-multilingual-cased": 9,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
    "distilbert-base-uncased": 5,
    "distilroberta-base": 5,
    "microsoft/deberta-base-mnli": 9,
    "microsoft/deberta-large-mnli": 18,
    "microsoft/deberta-xlarge-mnli": 40,
    "microsoft/deberta-v3-large": 12,
    "allenai/scibert_scivocab_uncased": 8,
}
"""Best layer by model, by correlation with ratings of translations: bert_score 0.3.13, utils.model2layers."""

PACKAGE = "bert-score"


@dataclass(frozen=True, slots=True)
class _PreparedLanguage:
    """Everything needed to score texts of one language.

    Attributes:
        embedder: Computes token vectors.
        weights: Weights of tokens; None if all are equal.
        baseline: Precision, recall and F1 of unrelated texts; None without rescaling.
        identity: Model, layer and baseline, for the signature.
    """

    embedder: TokenEmbedder
    weights: TokenWeights | None
    baseline: tuple[float, float, float] | None
    identity: str


@dataclass(frozen=True, slots=True)
class BertScore(BatchMetric):
    """BERTScore as a metric.

    Raises:
        ValueError: `layer` is below -1.
    """

    name = "bertscore"
    summary = "BERTScore F1: similar tokens by a BERT"
    formula = (
        "F1 = 2 P R / (P + R); P is the mean over the response's tokens of the highest cosine with a token of the "
        "reference, R the other way round; a BERT gives each token its vector"
    )
    citation = "Zhang et al. 2020, BERTScore; as bert_score 0.3.13 computes it"
    requires = frozenset({"reference", "weights"})

    model: str = option(
        "model for both languages: a folder or a hub name. Empty: roberta-large (English), bert-base-chinese (Chinese)",
        "",
    )
    layer: int = option("layer to compare, 0 for the embeddings; -1: the one that bert_score uses", -1)
    idf: str = option("file of samples (JSON Lines) whose references give the idf weights. Empty: no weights", "")
    rescale: str = option("baseline file (LAYER,P,R,F), or 'bert-score' for that of the package. Empty: raw cosine", "")
    ready: Mapping[Lang, _PreparedLanguage] | None = resource()

    def __post_init__(self) -> None:
        if self.layer < -1:
            raise ValueError(f"layer={self.layer} is not a layer: give 0 or more, or -1 for the one bert_score takes")

    @computed
    def range(self) -> Range:
        """F1 lies in 0..1; rescaled it may be anything below 1."""
        return (None, 1.0) if self.rescale else (0.0, 1.0)

    @computed
    def part_ranges(self) -> Mapping[str, Range]:
        """Precision and recall are means of cosines, F1 is the score."""
        cosine = (None if self.rescale else -1.0, 1.0)
        return {**TRUNCATED, "precision": cosine, "recall": cosine, "f1": self.range}

    @property
    def missing_requirements(self) -> str:
        return "" if self.ready else describe_missing_weights(self.name, *dict.fromkeys(self._models().values()))

    def get_signed(self) -> BertScore:
        if self.ready is None:
            return self
        model = "+".join(f"{lang}={ready.identity}" for lang, ready in self.ready.items())
        # The file of baselines is part of the identity of each model.
        return replace(self, model=model, idf=identify_file(self.idf), rescale=Path(self.rescale).name)

    def describe_state(self) -> Mapping[str, Value]:
        return {} if self.ready is None else {"precision": next(iter(self.ready.values())).embedder.loaded.precision}

    def prepare(self, resources: MetricResources) -> BertScore:
        """Return it with its models; see `Metric.prepare`.

        Raises:
            UsageError: There is no such layer, or in no language a baseline, for this model.
            InputError: The file of samples or the baseline file is invalid.
            MissingExtraError, ResourceError: See `load_model`.
        """
        baselines = self._choose_baselines()
        return replace(self, ready={lang: self._open(lang, file, resources.device) for lang, file in baselines.items()})

    def score_batch(self, cases: Sequence[Case]) -> list[Outcome]:
        prepared = require_prepared(self.ready, self.name)
        [torch] = import_packages("torch", needed_for="bertscore")
        outcomes: dict[int, Outcome] = {}
        with torch.inference_mode():
            for lang, indices in group_by_language(cases):
                if lang not in prepared:
                    outcomes |= dict.fromkeys(indices, _NO_BASELINE)
                    continue
                scored = _score_batch(prepared[lang], [cases[index] for index in indices], torch)
                outcomes |= zip(indices, scored, strict=True)
        return [outcomes[index] for index in range(len(cases))]

    def _models(self) -> dict[Lang, str]:
        return {lang: self.model or default for lang, default in DEFAULTS.items()}

    def _choose_baselines(self) -> dict[Lang, Path | None]:
        """Return the languages that can be scored, with their baseline files; None without rescaling.

        Raises:
            UsageError: The package of baselines is not installed, or has none of this model.
        """
        if self.rescale != PACKAGE:
            return dict.fromkeys(DEFAULTS, expand_user(self.rescale) if self.rescale else None)
        models = self._models()
        baselines: dict[Lang, Path | None] = {}
        for lang, model in models.items():
            # For most models there is one in one language only.
            if file := _find_baseline(model, lang):
                baselines[lang] = file
        if not baselines:
            names = " or ".join(map(repr, dict.fromkeys(models.values())))
            raise UsageError(
                f"the package {PACKAGE} has no baseline of the model {names}. Give a file of your own: "
                "--set bertscore.rescale=FILE."
            )
        return baselines

    def _open(self, lang: Lang, baseline: Path | None, device: Device) -> _PreparedLanguage:
        model = self._models()[lang]
        layer = self._choose_layer(model)
        try:
            embedder = open_embedder(model, layer, device=device)
        except ValueError as error:
            raise UsageError(f"bertscore.layer={layer}: {error}. Set another with --set bertscore.layer=N.") from error
        weights = None
        if self.idf:
            from imapeval.metrics.neural.models.idf import count_token_weights, read_collection

            texts = read_collection(expand_user(self.idf), "references", lang=lang)
            weights = count_token_weights(text.ids for text in embedder.tokenize(texts))
        identity = f"{identify_weights(model)}@{layer}"
        if baseline is None:
            return _PreparedLanguage(embedder, weights, None, identity)
        return _PreparedLanguage(
            embedder, weights, _read_baseline(baseline, layer), f"{identity}-{identify_file(str(baseline))}"
        )

    def _choose_layer(self, model: str) -> int:
        if self.layer >= 0:
            return self.layer
        name = _find_known_name(model)
        if name not in LAYERS:
            raise UsageError(
                f"bert_score names no layer of the model {model!r}. Say which one is compared: --set bertscore.layer=N."
            )
        return LAYERS[name]


def build() -> list[BertScore]:
    """Return the metrics of this module, for the registry."""
    return [BertScore()]


def match_tokens(
    reference: EmbeddedText, response: EmbeddedText, weights: tuple[Sequence[float], Sequence[float]], *, torch: Any
) -> Any:
    """Return precision and recall of a response, as a tensor of two (Zhang et al. 2020, section 3).

    `weights` has the weights of the tokens of the reference and of the response; some of each must be positive.
    """
    units = [torch.nn.functional.normalize(text.vectors, dim=-1) for text in (response, reference)]
    cosines = units[0] @ units[1].T
    shares = [torch.tensor(side, device=cosines.device) for side in reversed(weights)]
    best = [cosines.amax(1), cosines.amax(0)]
    return torch.stack([(top * share).sum() / share.sum() for top, share in zip(best, shares, strict=True)])


def _score_batch(ready: _PreparedLanguage, cases: Sequence[Case], torch: Any) -> list[Outcome]:
    embedded = ready.embedder.embed(text for case in cases for text in (case.reference, case.response))
    weights = {text: _weight_tokens(ready, tokens) for text, tokens in embedded.items()}
    outcomes: list[Outcome | None] = []
    scored: list[Any] = []
    for case in cases:
        reference, response = embedded[case.reference], embedded[case.response]
        if reference.is_empty:
            outcomes.append(_NO_TOKENS)
        elif response.is_empty:
            outcomes.append(_make_score(ready.baseline, 0.0, 0.0, truncated=reference.truncated))
        elif not any(weights[case.reference]) or not any(weights[case.response]):
            outcomes.append(_NO_WEIGHT)
        else:
            pair = (weights[case.reference], weights[case.response])
            scored.append(match_tokens(reference, response, pair, torch=torch))
            outcomes.append(None)
    # Once for all pairs: each transfer from a GPU waits for it.
    numbers = iter(torch.stack(scored).tolist() if scored else [])
    return [
        _make_score(
            ready.baseline,
            *next(numbers),
            truncated=embedded[case.reference].truncated or embedded[case.response].truncated,
        )
        if outcome is None
        else outcome
        for case, outcome in zip(cases, outcomes, strict=True)
    ]


_NO_TOKENS = Failure("metric", "no-reference-tokens", "the reference holds nothing to compare with")

_NO_WEIGHT = Failure(
    "metric",
    "no-weight",
    "no token of a text has a weight: the collection given as idf has no text in this language, or all its texts have "
    "all of these tokens; give a larger collection, or none",
)

_NO_BASELINE = Failure(
    "metric",
    "no-baseline",
    f"the package {PACKAGE} has no baseline of this model in this language; give a file of your own with "
    "--set bertscore.rescale=FILE",
)


def _weight_tokens(ready: _PreparedLanguage, text: EmbeddedText) -> list[float]:
    tokenizer = ready.embedder.loaded.tokenizer
    if ready.weights is not None:
        return ready.weights.weigh(text.ids)
    # Other special tokens count, as in bert_score (scorer.BERTScorer.score), such as the only one of T5.
    ignored = (tokenizer.cls_token_id, tokenizer.sep_token_id)
    return [0.0 if token in ignored else 1.0 for token in text.ids]


def _make_score(
    baseline: tuple[float, float, float] | None, precision: float, recall: float, *, truncated: bool
) -> Outcome:
    # Before `min`, which would hide NaN.
    if not (math.isfinite(precision) and math.isfinite(recall)):
        return NOT_FINITE
    f1 = 2 * precision * recall / (precision + recall) if min(precision, recall) > 0 else 0.0
    numbers = [min(1.0, number) for number in (precision, recall, f1)]
    if baseline is not None:
        numbers = [(number - base) / (1 - base) for number, base in zip(numbers, baseline, strict=True)]
    precision, recall, f1 = numbers
    return make_outcome(f1, {"precision": precision, "recall": recall, "f1": f1}, truncated=truncated)


def _find_known_name(model: str) -> str:
    """Return a model's name in bert_score: its own, or the one whose last part is the folder's name."""
    last = expand_user(model).resolve().name
    return next((name for name in LAYERS if last == name.rpartition("/")[2]), model)


def _find_baseline(model: str, lang: Lang) -> Path | None:
    """Return the file of the package that has the baselines of a model in a language, if there is one.

    Raises:
        UsageError: The package is not installed.
    """
    name = _find_known_name(model)
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError as error:
        raise UsageError(
            f"bertscore.rescale={PACKAGE} takes the files of that package, which is not installed. "
            f"Install it with: pip install --no-deps {PACKAGE}==0.3.13"
        ) from error
    for file in files:
        if file.as_posix().endswith(f"rescale_baseline/{lang}/{name}.tsv"):
            return Path(str(file.locate()))
    return None


def _read_baseline(path: Path, layer: int) -> tuple[float, float, float]:
    fix = "Give a file with the columns LAYER,P,R,F, one line per layer, as those of the package bert-score."
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                if int(row["LAYER"]) == layer:
                    precision, recall, f1 = (float(row[column]) for column in "PRF")
                    if not all(number < 1 for number in (precision, recall, f1)):
                        raise InputError(f"the baseline of layer {layer} is not below 1", path=path, fix=fix)
                    return precision, recall, f1
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"no file of baselines ({error!r})", path=path, fix=fix) from error
    raise InputError(f"there is no baseline of layer {layer}", path=path, fix=fix)
