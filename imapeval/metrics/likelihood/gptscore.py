"""GPTScore (Fu et al. 2023): the likelihood of one text as a rewording of the other.

The score is the mean log-probability of the tokens of the response after an instruction, the reference and "In other
words ,"; or of the reference after the response; or the mean of both directions (the authors' "avg_f"). Instructions,
template and directions are those of the authors' data-to-text code (jinlanfu/GPTScore, score_d2t.py and opt_score.py,
with "ist" and without "demo"): aspects informativeness, naturalness and quality, or none, without an instruction. The
Chinese ones are our translations. Unlike there, no full stop is added to texts, and all tokens of the text after the
template count.

Higher is better; 0 means certainty. Empty and long cases: a reference or response without text is a `Failure`
("no-reference-tokens", "no-response-tokens"); a text that exceeds the model's context is `Failure("too-long")`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from imapeval.metrics.base import Example, option
from imapeval.metrics.likelihood.base import LikelihoodMetric
from imapeval.metrics.likelihood.logprobs import Continuation
from imapeval.metrics.neural.base import NOT_FINITE
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from imapeval.metrics.base import Case
    from imapeval.metrics.likelihood.base import Measurement
    from imapeval.types import Lang

_ASPECTS: dict[str, dict[Lang, str]] = {
    "informativeness": {
        "en": "Convert the following text into another expression that preserves key information. \n",
        "zh": "将下面的文字改写成保留关键信息的另一种表达。\n",
    },
    "naturalness": {
        "en": "Convert the following text into another expression that is as natural as a native speaker. \n",
        "zh": "将下面的文字改写成像母语者一样自然的另一种表达。\n",
    },
    "quality": {
        "en": "Convert the following text into another expression that is fluent and grammatically correct. \n",
        "zh": "将下面的文字改写成通顺且合乎语法的另一种表达。\n",
    },
    "none": {"en": "", "zh": ""},
}
"""BAGEL_demos.json, "asp_definition", with the colon replaced as score_d2t.py does."""

_TEMPLATES: dict[Lang, tuple[str, str]] = {"en": ("{} In other words ,", " "), "zh": ("{}换句话说，", "")}
"""Prompt, and separator before the text whose likelihood is measured."""

_DIRECTIONS = {"response": ("response",), "reference": ("reference",), "both": ("response", "reference")}


@dataclass(frozen=True, slots=True, kw_only=True)
class GptScore(LikelihoodMetric):
    """GPTScore; parts `of_response` and `of_reference`, depending on `direction`.

    Raises:
        ValueError: The aspect or direction is unknown.
    """

    part_ranges = dict.fromkeys(("of_response", "of_reference"), (None, 0.0))

    aspect: str = option(f"what the instruction asks for: {', '.join(_ASPECTS)}", "informativeness")
    direction: str = option(
        "text whose likelihood counts, given the other: response, reference, both (mean)", "response"
    )

    def __post_init__(self) -> None:
        for name, value, known in (("aspect", self.aspect, _ASPECTS), ("direction", self.direction, _DIRECTIONS)):
            if value not in known:
                raise ValueError(f"{name}={value!r} is not one of {', '.join(known)}")

    def measure(self, case: Case) -> Measurement:
        texts = {"response": case.response.strip(), "reference": case.reference.strip()}
        for name, text in texts.items():
            if not text:
                return Failure("metric", f"no-{name}-tokens", f"the {name} is empty, so it has no likelihood")
        directions = _DIRECTIONS[self.direction]
        template, space = _TEMPLATES[case.lang]
        continuations: list[Continuation] = []
        for target in directions:
            source = texts["reference" if target == "response" else "response"]
            prefix = _ASPECTS[self.aspect][case.lang] + template.format(source)
            continuations.append(Continuation(prefix, space + texts[target], whole=True))
        readings = yield continuations
        parts = {f"of_{name}": fmean(reading.logprobs) for name, reading in zip(directions, readings, strict=True)}
        if not all(map(math.isfinite, parts.values())):
            return NOT_FINITE
        return Score(fmean(parts.values()), parts)


def build() -> list[LikelihoodMetric]:
    """Return the metrics of this module, for the registry."""
    return [
        GptScore(
            name="gptscore",
            summary="GPTScore: likelihood of the response as a paraphrase",
            citation="Fu et al. 2023, GPTScore: Evaluate as You Desire",
            formula=(
                "mean over the response's tokens of log p(token | instruction, reference, 'In other words ,', the "
                "tokens before)"
            ),
            example=Example(
                "Rest now",
                "Rest",
                (
                    "the model gives the response's two tokens 1/2 and 1/8",
                    "(log 1/2 + log 1/8) / 2 = -1.386",
                ),
                -2 * math.log(2),
                probabilities=(1 / 2, 1 / 8),
            ),
            range=(None, 0.0),
            higher_is_better=True,
        )
    ]
