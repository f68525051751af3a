"""UniEval (Zhong et al. 2022): a T5 model answers a yes-no question about the response.

A dimension is P(Yes) / (P(Yes) + P(No)) for the first word of the model's answer, with UniEval's questions about
summaries; the reference takes the place of the document. Consistency and fluency are the means over the sentences of
the response; coherence and relevance are asked of the whole response. "overall" is the mean of the four, as in the
authors' `SumEvaluator`.

- An empty response scores 0.
- Only the first 1,024 tokens of an input count: part "truncated".
- Inputs of more than `MAX_WORDS` words in total are `Failure("too-long")`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from imapeval.metrics.base import TRUNCATED, option, range_parts, require_prepared, resource
from imapeval.metrics.neural.base import MAX_WORDS, NeuralMetric, make_outcome, make_too_long
from imapeval.metrics.neural.models.inputs import ModelInput, run_in_batches, tokenize_texts
from imapeval.metrics.neural.models.loading import LoadedModel, load_model
from imapeval.metrics.neural.models.sentences import describe_missing_punkt, identify_splitter, split_sentences
from imapeval.metrics.neural.models.weights import describe_missing_weights, identify_weights
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from imapeval.metrics.base import Case, MetricResources
    from imapeval.types import Outcome

_MAX_TOKENS = 1024
"""max_length of UniEval's metric/scorer.py. T5 itself has no maximum: its positions are relative."""

# utils.py of maszhongming/UniEval, task "summarization", word for word: the model was trained on them.
_QUESTIONS = {
    "coherence": "Is this a coherent summary to the document? </s> summary: {response} </s> document: {reference}",
    "consistency": "Is this claim consistent with the document? </s> claim: {response} </s> document: {reference}",
    "fluency": "Is this a fluent paragraph? </s> paragraph: {response}",
    "relevance": "Is this summary relevant to the reference? </s> summary: {response} </s> reference: {reference}",
}

_BY_SENTENCE = ("consistency", "fluency")


@dataclass(frozen=True, slots=True)
class UniEval(NeuralMetric):
    """UniEval (0..1); its dimensions are parts."""

    name = "unieval"
    summary = "UniEval: coherent, consistent, fluent and relevant"
    formula = (
        "P(Yes) / (P(Yes) + P(No)) of a T5 model's answer to a question on each of four dimensions: coherence, "
        "consistency, fluency, relevance; the score is their mean"
    )
    citation = "Zhong et al. 2022, Towards a Unified Multi-Dimensional Evaluator for Text Generation"
    languages = frozenset({"en"})
    range = (0.0, 1.0)
    part_ranges = TRUNCATED | range_parts(shares=_QUESTIONS)
    empty_outcome = Score(0.0)

    model: str = option("UniEval's T5 model: a folder or a hub name", "MingZhong/unieval-sum")
    dimension: str = option("coherence, consistency, fluency, relevance, or overall (their mean)", "overall")
    sentences: str = field(default_factory=identify_splitter)
    loaded: LoadedModel | None = resource()

    def __post_init__(self) -> None:
        if self.dimension not in (*_QUESTIONS, "overall"):
            raise ValueError(f"dimension={self.dimension!r} is not one of {', '.join(_QUESTIONS)}, overall")

    @property
    def missing_requirements(self) -> str:
        return describe_missing_weights(self.name, self.model) or describe_missing_punkt()

    def prepare(self, resources: MetricResources) -> UniEval:
        """Return it with its model; see `Metric.prepare`.

        Raises:
            ResourceError: Also if nltk's sentence model is not installed.
        """
        split_sentences("")
        loaded = load_model(self.model, "seq2seq", device=resources.device)
        return replace(self, loaded=loaded, identity=identify_weights(self.model), precision=loaded.precision)

    def measure(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        loaded = require_prepared(self.loaded, self.name)
        asked = [
            _make_inputs(case, tuple(_QUESTIONS) if self.dimension == "overall" else (self.dimension,))
            for case in cases
        ]
        inputs = [text for each in asked if not isinstance(each, Failure) for texts in each.values() for text in texts]
        rows = tokenize_texts(loaded, inputs, longest=_MAX_TOKENS)
        answers = iter(zip(rows, _compute_yes_shares(loaded, rows), strict=True))
        for each in asked:
            if isinstance(each, Failure):
                yield each
                continue
            rated = {dimension: [next(answers) for _ in texts] for dimension, texts in each.items()}
            parts = {dimension: fmean(value for _, value in answers) for dimension, answers in rated.items()}
            yield make_outcome(
                fmean(parts.values()), parts, truncated=any(row.truncated for some in rated.values() for row, _ in some)
            )


def build() -> list[UniEval]:
    """Return the metrics of this module, for the registry."""
    return [UniEval()]


def _make_inputs(case: Case, dimensions: Sequence[str]) -> dict[str, list[str]] | Failure:
    """Return the model's inputs by dimension."""
    sentences = split_sentences(case.response)
    asked: dict[str, list[str]] = {}
    for dimension in dimensions:
        responses = sentences if dimension in _BY_SENTENCE else [case.response]
        asked[dimension] = [
            "question: " + _QUESTIONS[dimension].format(reference=case.reference, response=response)
            for response in responses
        ]
    words = sum(min(_MAX_TOKENS, len(text.split())) for texts in asked.values() for text in texts)
    return make_too_long(words) if words > MAX_WORDS else asked


def _compute_yes_shares(loaded: LoadedModel, rows: Sequence[ModelInput]) -> list[float]:
    """Return P(Yes) / (P(Yes) + P(No)) of each input."""
    if not rows:
        return []
    yes, no = (int(loaded.tokenizer(word)["input_ids"][0]) for word in ("Yes", "No"))
    start: int = loaded.model.config.decoder_start_token_id

    def forward(batch: dict[str, Any]) -> Any:
        first = batch["input_ids"].new_full((len(batch["input_ids"]), 1), start)
        logits = loaded.model(**batch, decoder_input_ids=first).logits[:, 0].float()
        # The quotient of the two softmax values, in which the rest of the vocabulary cancels out.
        return (logits[:, yes] - logits[:, no]).sigmoid()

    return run_in_batches(loaded, rows, forward, budget=loaded.batch_tokens).tolist()
