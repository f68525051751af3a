"""FActScore (Min et al. 2023): the share of a response's atomic facts that a source supports.

The response is broken down into independent facts, each of which is compared with the source: the reference, or the
most relevant passages of a user's file (option `knowledge`; no reference is needed then).

Differences from the paper: a language model breaks down the response as a whole, not sentence by sentence, with one
example of our own, not eight selected ones; the source is the reference or the user's file, not Wikipedia; passages
are ranked by BM25 alone; facts are judged by the model of --llm, not by ChatGPT or LLaMA with a nonparametric model.

As in the paper, a response that states no fact, such as an empty one, abstains and is not scored:
`Failure("abstained")`. The package's penalty on short responses, exp(1 - gamma / facts) below gamma facts, is off
unless `gamma` is set.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from imapeval.llm.gathering import gather_results
from imapeval.metrics.base import computed, option, range_parts
from imapeval.metrics.judges.base import MultiStepJudge
from imapeval.metrics.judges.client import MAX_LIST_TOKENS, JudgeRequest
from imapeval.metrics.judges.parsing.lists import FACTS_SCHEMA, SUPPORT_SCHEMA, read_facts, read_support
from imapeval.metrics.judges.prompts import knowledge_source as source
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.metrics.base import Case, Requirement
    from imapeval.metrics.judges.client import JudgeClient
    from imapeval.signature import Value
    from imapeval.types import Outcome

_FACTS, _SUPPORT = "atomic-facts", "fact-support"

_ABSTAINED = Failure("metric", "abstained", "the response states no fact, so that no share of its facts is supported")


@dataclass(frozen=True, slots=True, kw_only=True)
class FActScore(MultiStepJudge):
    """FActScore, 0..1; parts `facts` and `supported` (their numbers), `precision`, and `penalty` (1: none).

    Attributes:
        knowledge: File of the knowledge source; "" for the reference.
        gamma: Number of facts below which a response is penalised for being short; 0 for no penalty.
    """

    name = "factscore"
    summary = "FActScore, 0..1: share of facts that are supported"
    formula = (
        "supported facts / facts of the response; a language model breaks the response down and says of each fact "
        "whether the reference supports it"
    )
    citation = "Min et al. 2023, FActScore, EMNLP 2023"
    range = (0.0, 1.0)
    part_ranges = range_parts(shares=("precision", "penalty"), counts=("facts", "supported"))
    prompt_names = (_FACTS, _SUPPORT)
    empty = _ABSTAINED

    # The signature holds the file's content, not its path.
    knowledge: str = option(
        "file of passages that facts are held against (.jsonl with title and text, or text); the reference where none "
        "is named",
        "",
        signed=False,
    )
    gamma: int = option("facts below which a response is penalised for being short; the package has 10, 0 is off", 0)

    def __post_init__(self) -> None:
        MultiStepJudge.__post_init__(self)
        if self.gamma < 0:
            raise ValueError(f"gamma {self.gamma} is negative")

    @computed
    def requires(self) -> frozenset[Requirement]:
        needs: set[Requirement] = {"llm"} if self.knowledge else {"llm", "reference"}
        return frozenset(needs)

    def describe_state(self) -> Mapping[str, Value]:
        name = source.load(self.knowledge).name if self.knowledge else "reference"
        return {"source": name, **MultiStepJudge.describe_state(self)}

    async def judge_once(self, case: Case, answer: str, client: JudgeClient) -> Outcome:
        texts = {"question": case.question, "answer": answer}
        request = JudgeRequest(_FACTS, case.lang, texts, schema=FACTS_SCHEMA, max_tokens=MAX_LIST_TOKENS)
        facts = await client.ask(request, lambda completion: read_facts(completion.text, text=answer))
        if not facts:
            return _ABSTAINED
        # The share is unknown if there is no verdict on one of the facts.
        verdicts = await gather_results(self._is_supported(fact, case, client) for fact in facts)
        precision, penalty = fmean(verdicts), _compute_length_penalty(len(facts), self.gamma)
        parts = {"facts": len(facts), "supported": sum(verdicts), "precision": precision, "penalty": penalty}
        return Score(precision * penalty, {name: float(value) for name, value in parts.items()})

    async def _is_supported(self, fact: str, case: Case, client: JudgeClient) -> bool:
        shown = case.reference
        if self.knowledge:
            passages = await asyncio.to_thread(source.load(self.knowledge).search, fact)
            if not passages:
                # No passage shares a word with the fact.
                return False
            shown = "\n\n".join(passages)
        texts = {"question": case.question, "source": shown, "fact": fact}
        request = JudgeRequest(_SUPPORT, case.lang, texts, schema=SUPPORT_SCHEMA)
        return await client.ask(request, lambda completion: read_support(completion.text))


def build() -> list[FActScore]:
    """Return FActScore."""
    return [FActScore()]


def _compute_length_penalty(facts: int, gamma: int) -> float:
    """Return the length penalty of FActScore's package: 1 for more than gamma facts, or if gamma is 0."""
    return 1.0 if not gamma or facts > gamma else math.exp(1 - gamma / facts)
