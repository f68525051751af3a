"""Judges whose score is weighted by the probabilities of all scores of the scale (Liu et al. 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from imapeval.metrics.base import computed, option, range_parts
from imapeval.metrics.judges.base import SampledJudge
from imapeval.metrics.judges.client import object_schema
from imapeval.metrics.judges.parsing.scale import ONE_TO_FIVE, Scale
from imapeval.metrics.judges.parsing.scores import ReplyForm, find_scores, read_scores
from imapeval.metrics.judges.parsing.weights import weight_by_logprobs
from imapeval.types import Failure, Score, average_repetitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.llm.protocol import Completion
    from imapeval.metrics.base import Range
    from imapeval.metrics.judges.client import JudgeRequest

TOP_TOKENS = 20
"""Alternatives requested for each token: the maximum of OpenAI and vLLM."""

WEIGHTS = ("auto", "logprobs", "samples")

RATING_PARTS = range_parts(shares=("weighted", "mass"), counts=("samples",))
"""The ranges of the parts of `WeightedJudge.rate`."""


def score_schema(scale: Scale) -> Mapping[str, Any]:
    """Return the JSON schema of a reply with the score alone."""
    return object_schema({"score": {"type": "integer", "enum": scale.scores}})


def average_scores(scores: Mapping[str, Score]) -> Score:
    """Return the mean of several scores by name. Its parts are these scores, and the minimum of each shared part.

    The shared part is "mass" if all are weighted by probabilities, and "samples" if none is.
    """
    first, *others = scores.values()
    shared = [part for part in first.parts if all(part in score.parts for score in others)]
    values = {name: score.value for name, score in scores.items()}
    least = {part: min(score.parts[part] for score in scores.values()) for part in shared}
    return Score(fmean(values.values()), {**values, **least}, average_repetitions(scores.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedJudge(SampledJudge):
    """A judge whose score is weighted by probabilities if the server returns them, else the mean of samples.

    Attributes:
        weights: See `WEIGHTS`.
        samples: See `JudgeClient.ask_repeatedly`.
    """

    formula = (
        "sum over the scores s of the scale of s x p(s), p(s) the probability that the language model fills s into the "
        "form; the mean of several completions if the server returns no probabilities. For several criteria, their mean"
    )

    part_ranges = RATING_PARTS

    weights: str = option(
        "how scores are weighted: by log-probabilities (logprobs), as the mean of samples (samples), or by "
        "log-probabilities where the server gives any (auto)",
        "auto",
    )
    samples: int = option("completions whose mean counts where there are no log-probabilities; the paper has 20", 5)

    def __post_init__(self) -> None:
        if self.weights not in WEIGHTS:
            raise ValueError(f"weights {self.weights!r} is not one of {', '.join(WEIGHTS)}")
        SampledJudge.__post_init__(self)
        scale = self.score_scale
        if self.weights == "logprobs" and not scale.has_single_digits:
            raise ValueError(
                f"weights 'logprobs' needs a scale within 0..9, and this one is {scale}: a sign or a second digit may "
                "be a token of its own. Use weights=samples or weights=auto"
            )

    @property
    def score_scale(self) -> Scale:
        """Scale of the form."""
        return ONE_TO_FIVE

    @computed
    def range(self) -> Range:
        return float(self.score_scale.low), float(self.score_scale.high)

    async def rate(self, request: JudgeRequest, form: ReplyForm) -> dict[str, Score] | Failure:
        """Return a score for each label of the form, which is on the judge's scale, all from the same completions.

        Their parts are `weighted` and `mass` or `samples` (see `imapeval.metrics.judges.geval`).

        Raises:
            SampleError, ServiceError: See `JudgeClient.ask`.
        """
        client, scale = self.get_client(), self.score_scale

        def read(completion: Completion) -> dict[str, float]:
            return read_scores(completion.text, form)

        def read_weighted(completion: Completion) -> tuple[dict[str, float], dict[str, Score]]:
            # `find_scores` rejects a score off the scale; the weights would hide it.
            found = find_scores(completion.text, form)
            weighted = {name: weight_by_logprobs(completion, stated.at, scale=scale) for name, stated in found.items()}
            return {name: stated.score for name, stated in found.items()}, {
                name: Score(score.value, {"weighted": 1.0, "mass": score.mass})
                for name, score in weighted.items()
                if score is not None
            }

        rated: list[dict[str, float]] = []
        if self.weights != "samples" and scale.has_single_digits:
            # Where there are no log-probabilities, the one sample is a greedy completion, which this is.
            counts_anyway = self.samples == 1 or self.weights == "logprobs"
            ask = client.ask if counts_anyway else client.ask_weighted
            stated, weighted = await ask(request, read_weighted, logprobs=TOP_TOKENS) or ({}, {})
            if len(weighted) == len(form.labels):
                return weighted
            if self.weights == "logprobs":
                return Failure(
                    "metric",
                    "no-logprobs",
                    "the server gives no log-probabilities of the scores. Use another server, or --set "
                    f"{self.name}.weights=auto. If the server returns them by now, run `imapeval cache clear --model "
                    "NAME` first: completions without them are cached.",
                )
            if self.samples == 1:
                rated = [stated]
        rated = rated or await client.ask_repeatedly(request, read, samples=self.samples)
        parts = {"weighted": 0.0, "samples": float(len(rated))}
        by_name = {name: tuple(scores[name] for scores in rated) for name in form.labels}
        return {name: Score(fmean(stated), parts, (stated,)) for name, stated in by_name.items()}
