"""A judge with the user's own prompt from a file (`judges.prompts.custom_prompt`), named `geval-file:PATH`.

The score is weighted by probabilities or the mean of samples, as for G-Eval (`imapeval.metrics.judges.geval`). On a
scale with scores of several digits (0..10, 0..100) it is always the mean of samples, because such a number is several
tokens to many models, so that its probability is not that of a token. The reply may be a number alone. Otherwise it
ends, perhaps after reasons, with a line or tag with a label ("Score", the metric's name or one in the prompt) and a
number, or with a JSON object with such a field and others that the prompt shows
(`imapeval.metrics.judges.parsing.scores`).

A response that states nothing gets the lowest score of the scale, and no request is sent; so does a response without
facts if only facts are shown. If a prompt shows facts and nothing is asked, there is no score (`Failure("no-query")`),
nor if it needs the reference and that states no fact (`Failure("no-reference-facts")`).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.errors import UsageError
from imapeval.files import expand_user
from imapeval.metrics.base import computed, unsigned
from imapeval.metrics.imapscore import check_scorable, score_graded
from imapeval.metrics.judges.base import Judge
from imapeval.metrics.judges.client import JudgeRequest
from imapeval.metrics.judges.geval import DIMENSIONS
from imapeval.metrics.judges.on_imaps import compares_texts, make_judge_variant
from imapeval.metrics.judges.parsing.scores import LABELS, ReplyForm
from imapeval.metrics.judges.prompts.custom_prompt import FACTS, FORM, NOTE, read_prompt
from imapeval.metrics.judges.prompts.imap_text import NONE, render_imap
from imapeval.metrics.judges.weighted import WeightedJudge, score_schema
from imapeval.metrics.on_imaps import IMAP_SUFFIXES
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from imapeval.metrics.base import Case, Metric, Requirement
    from imapeval.metrics.judges.parsing.scale import Scale
    from imapeval.metrics.judges.prompts.custom_prompt import CustomPrompt
    from imapeval.signature import Value
    from imapeval.types import Lang, Outcome

TASK = "geval-own"
"""Name of its requests, to which the scale is appended: "geval-own-1-5"."""

_AMBIGUOUS_LABELS = frozenset({"answer", "response", "output", "result", "答案", "回答", "结果"})
"""Labels of forms that also occur in statements of responses: "Answer: 5"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomGEval(WeightedJudge):
    """G-Eval with the user's own prompt; its parts are those of `imapeval.metrics.judges.geval.GEval` on one criterion.

    Attributes:
        prompt: The prompt; the signature has its scale and the hash of its file.
    """

    prompt: CustomPrompt = unsigned()

    citation = "the prompt's author; Liu et al. 2023, G-Eval"

    @computed
    def name(self) -> str:
        return f"geval:{self.prompt.name}"

    @computed
    def summary(self) -> str:
        return f"G-Eval with the prompt {self.prompt.template.name}, {self.prompt.scale}"

    @computed
    def languages(self) -> frozenset[Lang]:
        return self.prompt.languages

    @property
    def score_scale(self) -> Scale:
        return self.prompt.scale

    @computed
    def requires(self) -> frozenset[Requirement]:
        needs: set[Requirement] = {"llm"}
        if self.prompt.variables & {"reference", "reference_imap", "matches", "imapscore"}:
            needs.add("reference")
        if self.prompt.variables & set(FACTS):
            needs.add("imap")
        return frozenset(needs)

    @computed
    def prompt_names(self) -> tuple[str, ...]:
        return (NOTE, FORM) if self.prompt.is_form else (NOTE,)

    def describe_state(self) -> Mapping[str, Value]:
        return {"scale": str(self.score_scale), "file": self.prompt.digest[:16], **Judge.describe_state(self)}

    async def score(self, case: Case) -> Outcome:
        if refused := self.refuse_language(case.lang):
            return refused
        texts = {"question": case.question, "reference": case.reference}
        if "imap" in self.requires:
            facts = await asyncio.to_thread(self._show_facts, case)
            if isinstance(facts, Failure):
                return facts
            texts |= facts
        answer = await self.clean_response(
            case, labels=tuple(label for label in self.prompt.labels if label.lower() not in _AMBIGUOUS_LABELS)
        )
        # A prompt that does not show the response shows its facts.
        factless = "response" not in self.prompt.variables and texts["response_imap"] == NONE
        if answer is None or factless:
            return Score(float(self.score_scale.low))
        texts["response"] = answer
        request = JudgeRequest(
            f"{TASK}-{self.score_scale.low}-{self.score_scale.high}",
            self.prompt.lang,
            {name: text for name, text in texts.items() if name in self.prompt.variables},
            schema=score_schema(self.score_scale) if self.prompt.is_form else None,
            template=self.prompt.template,
        )
        form = ReplyForm(
            {"": (*LABELS, *self.prompt.labels)},
            self.score_scale,
            fields=self.prompt.fields,
            reasons_first=not self.prompt.is_form,
        )
        rated = await self.rate(request, form)
        return rated if isinstance(rated, Failure) else rated[""]

    def _show_facts(self, case: Case) -> dict[str, str] | Failure:
        imap, matches = case.get_imap()
        failure = check_scorable(imap)
        if failure is not None and (failure.kind == "no-query" or "reference" in self.requires):
            return failure
        texts = render_imap(imap, matches, score_asked=self.is_score_asked(case))
        if "imapscore" in self.prompt.variables:
            scored = score_graded(imap, matches)
            if isinstance(scored, Failure):
                return scored
            texts["imapscore"] = f"{scored.value:.2f}"
        return texts


def load_geval(path: str | Path) -> CustomGEval:
    """Return the metric of a prompt file, for `Scorer(metrics=[...])`.

    Args:
        path: The file; see `imapeval.metrics.judges.prompts.custom_prompt` for its form.

    Raises:
        InputError: The file cannot be read, or is invalid; names the line and the fix.
        UsageError: It has the name of a built-in metric.
    """
    # Shells do not expand "~" after "geval-file:".
    prompt = read_prompt(expand_user(path))
    if prompt.name in DIMENSIONS:
        raise UsageError(
            f"the prompt {path} is called {prompt.name!r}, and so is a metric of ours, geval:{prompt.name}. "
            "Give it another name in its head: name: my-" + prompt.name
        )
    return CustomGEval(prompt=prompt)


def open_prompt_metric(named: str) -> Metric:
    """Return the metric named after `geval-file:`: the path of a prompt, on texts or with "+imap".

    Raises:
        ImapEvalError: See `load_geval`; or the prompt cannot be used on imaps.
    """
    form, suffix = next((item for item in IMAP_SUFFIXES.items() if named.endswith(item[1])), (None, ""))
    judge = load_geval(named.removesuffix(suffix))
    if form is None:
        return judge
    if not compares_texts(judge):
        why = (
            "shows facts already"
            if "imap" in judge.requires
            else "has no place for the reference, and +imap is for prompts that compare two texts. To show the "
            "response's facts, write {{response_imap}}"
        )
        raise UsageError(f"the prompt {judge.prompt.template.name} {why}. Name it without {suffix!r}.")
    return make_judge_variant(judge, form)
