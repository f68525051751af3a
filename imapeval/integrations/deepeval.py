"""imapScore as a metric of DeepEval, optionally with one of DeepEval's models as the language model.

    from imapeval.integrations.deepeval import ImapScoreMetric

    evaluate(test_cases, [ImapScoreMetric(threshold=0.5)])
    assert_test(test_case, [ImapScoreMetric(threshold=0.5)])

If an answer cannot be scored, `error` is set and `score` is None: DeepEval shows the reason as an error, leaves the
answer out of means, and lets its test case fail. No exception is raised, so that one answer does not end `evaluate()`.
"""

from __future__ import annotations

import re
import socket
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import BaseModel, ConfigDict

from imapeval._optional import require
from imapeval.errors import ProviderError, ServiceError, UsageError
from imapeval.integrations.adapter import choose_scorer
from imapeval.llm.protocol import Completion, Usage
from imapeval.llm.providers import chat_format, openai
from imapeval.report.thresholds import judge_answer, make_threshold
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from imapeval.errors import ImapEvalError
    from imapeval.llm.protocol import Message, Request
    from imapeval.metrics.base import Metric
    from imapeval.scoring import Assessment, Scorer


def _import(module: str) -> Any:
    return require(module, distribution="deepeval", extra="deepeval", needed_for="A metric of DeepEval")


_metrics = _import("deepeval.metrics")
_utils = _import("deepeval.metrics.utils")
_cases = _import("deepeval.test_case")
_errors = _import("deepeval.errors")

CONCURRENCY = 20
"""Concurrent requests to a model of DeepEval: as many as its `evaluate()` runs test cases concurrently."""

_RICH_TAG = re.compile(r"\[(?=[a-z#/@])")
"""The start of a markup tag of Rich, with which DeepEval prints reasons: a tag that is not closed is an error."""

_CALL_COSTS: ContextVar[list[float | None]] = ContextVar("imapeval_deepeval_costs")
"""The cost of each call for the answer that is being scored, as the model reports it; None if it does not."""


class _MetricBase:
    """What the metrics for single answers and for dialogues have in common."""

    _case: ClassVar[Any]

    def __init__(
        self,
        metrics: str | Sequence[str | Metric] | None = None,
        *,
        threshold: float | None = 0.5,
        model: Any = None,
        name: str | None = None,
        include_reason: bool = True,
        verbose_mode: bool = False,
        flaky: bool = False,
        scorer: Scorer | None = None,
        **options: Any,
    ) -> None:
        given = {"metrics": metrics, "model": model, **options}
        if scorer is None and model is not None:
            if options.get("llm") is not None:
                raise UsageError("model and llm both name a language model. Give one of them.")
            given |= {"model": None, "llm": DeepEvalModel(model, concurrency=options.get("concurrency"))}
        # DeepEval makes a copy for every test case from the attributes that are named like parameters. `scorer`
        # stands for `metrics`, `model` and the options, which therefore need no attributes.
        self.scorer = choose_scorer(scorer, given)
        make_threshold(self.scorer.metrics[0], threshold)  # checks it
        self.threshold = threshold
        self.name = name or self.scorer.metrics[0].name
        self.include_reason = include_reason
        self.verbose_mode = verbose_mode
        self.flaky = flaky
        self.skipped = False
        self._reset()

    @property
    def __name__(self) -> str:
        """The name that DeepEval shows."""
        return self.name

    def measure(self, test_case: Any, *_: Any, **__: Any) -> float | None:
        """Score one test case, and store the result in this object, as DeepEval expects it.

        Returns:
            The score; None if there is none, and then `error` gives the reason.

        Raises:
            UsageError: It is a test case of another kind.
            ImapEvalError: Something affects all answers alike, such as a server that is down.
        """
        self._reset()
        fields = self._to_arguments(self._check_kind(test_case))
        with _collecting_costs() as costs:
            return self._store(self.scorer.score(**fields), costs)

    async def a_measure(self, test_case: Any, *_: Any, **__: Any) -> float | None:
        """Score one test case; see `measure`."""
        self._reset()
        fields = self._to_arguments(self._check_kind(test_case))
        with _collecting_costs() as costs:
            return self._store(await self.scorer.ascore(**fields), costs)

    def is_successful(self) -> bool | None:
        """Return whether the score reaches the threshold (or, if lower is better, does not exceed it).

        None without a threshold; False for an answer without a score.
        """
        limit = make_threshold(self.scorer.metrics[0], self.threshold)
        if limit is None:
            self.success = None
        else:
            self.success = self.error is None and self.score is not None and limit.is_met_by(self.score)
        return self.success

    def _explain(self, assessment: Assessment) -> str:
        verdict = judge_answer(assessment.outcomes, make_threshold(self.scorer.metrics[0], self.threshold))
        return assessment.reason if verdict is None else f"{assessment.reason} {verdict.doubt}".rstrip()

    def _check_kind(self, test_case: Any) -> Any:
        if not isinstance(test_case, self._case):
            raise UsageError(
                f"{type(self).__name__} measures {self._case.__name__}, not {type(test_case).__name__}. "
                "ImapScoreMetric is for single answers, ConversationalImapScoreMetric for dialogues."
            )
        return test_case

    def _to_arguments(self, test_case: Any) -> dict[str, Any]:
        raise NotImplementedError

    def _reset(self) -> None:
        """Discard the results of the previous test case, because DeepEval may reuse the object."""
        self.assessment: Assessment | None = None
        self.score: float | None = None
        self.score_breakdown: dict[str, float | None] | None = None
        self.reason: str | None = None
        self.error: str | None = None
        self.success: bool | None = None
        self.evaluation_cost: float | None = None
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.verbose_logs: str | None = None
        self.evaluation_model: str | None = None

    def _store(self, assessment: Assessment, costs: Sequence[float | None]) -> float | None:
        self.assessment = assessment
        self.score = assessment.value
        if self.score is None:
            self.error = _RICH_TAG.sub("［", assessment.reason)
        else:
            self.reason = _RICH_TAG.sub("［", self._explain(assessment)) if self.include_reason else None
            others = [(name, outcome) for name, outcome in assessment.outcomes.items() if name != assessment.metric]
            self.score_breakdown = {
                **assessment.parts,
                **{name: outcome.value if isinstance(outcome, Score) else None for name, outcome in others},
            }
        # With `use_cache`, DeepEval reuses an earlier score only if this is the same.
        self.evaluation_model = assessment.signatures[assessment.metric]
        if (spent := assessment.spent) is not None:
            known = [cost for cost in costs if cost is not None]
            self.evaluation_cost = sum(known) if costs and len(known) == len(costs) else spent.usd
            if not spent.estimated:
                self.input_tokens, self.output_tokens = spent.prompt_tokens, spent.completion_tokens
        self.verbose_logs = _utils.construct_verbose_logs(self, [assessment.table, assessment.reason]) or None
        self.success = self.is_successful()
        return self.score


class ImapScoreMetric(_MetricBase, _metrics.BaseMetric):
    """A metric for single answers: `input` is the question, `actual_output` the response.

    `expected_output` is the reference. `context` and `retrieval_context` are not read: they are sources of an answer,
    not reference answers.

    Args:
        metrics: Names separated by commas, or a list of names and `Metric` objects; by default "imapscore". The first
            one is the score; the others are in `score_breakdown`, with the parts of the score.
        threshold: What the score has to reach or, if lower is better, must not exceed; within the range of the metric.
            None for no verdict.
        model: A model of DeepEval that reads the texts, or its name as DeepEval's own metrics accept it. With None,
            texts are read by `llm`, or offline.
        name: The name that DeepEval shows and by which it computes means; by default that of the first metric.
        include_reason: Whether `reason` is set for scored answers.
        verbose_mode: Whether the facts are printed.
        flaky: Whether the metric has no influence on whether a test case passes.
        scorer: A scorer that is already open, in place of `metrics`, `model` and options.
        **options: Options of `imapeval.Scorer`: `llm`, `base_url`, `votes` and so on.

    Attributes:
        assessment: The full result for the last test case; in a notebook it shows the facts as a table.

    Raises:
        UsageError: A metric, model or file does not exist, or an option is invalid, also the threshold of 0.5 for a
            metric whose range is another.
    """

    _case = _cases.LLMTestCase

    def _to_arguments(self, test_case: Any) -> dict[str, Any]:
        return {
            "question": test_case.input,
            "response": test_case.actual_output,
            "reference": test_case.expected_output,
            "id": test_case.name or "",
        }


class ConversationalImapScoreMetric(_MetricBase, _metrics.BaseConversationalMetric):
    """A metric for the last answer of a dialogue: `turns` end with it, `expected_outcome` is the reference.

    The parameters are those of `ImapScoreMetric`.
    """

    _case = _cases.ConversationalTestCase

    def _to_arguments(self, test_case: Any) -> dict[str, Any]:
        return {
            "turns": [{"role": turn.role, "content": turn.content} for turn in test_case.turns],
            "response": None,
            "reference": test_case.expected_outcome,
            "id": test_case.name or "",
        }


class DeepEvalModel:
    """A `Model` that sends its requests to a model of DeepEval.

    Temperature, maximum number of tokens and seed are that model's own settings. It accepts a single text, so the
    messages of a request are joined. A schema is passed on if the model supports structured outputs; other models are
    asked for lines of text.

    Args:
        model: A `DeepEvalBaseLLM`, or a name as DeepEval's own metrics accept it.
        concurrency: See `Model`; None for `CONCURRENCY`.

    Raises:
        UsageError: It is not such a model, or DeepEval cannot open it.
    """

    def __init__(self, model: Any, *, concurrency: int | None = None) -> None:
        try:
            self._model, _ = _utils.initialize_model(model)
        except (_errors.DeepEvalError, TypeError) as error:
            raise UsageError(f"DeepEval cannot open the model {model!r}: {error}") from error
        self.concurrency = concurrency or CONCURRENCY
        self._identity = _make_identity(self._model)
        self._supports_schema = self._model.supports_structured_outputs() is True
        self._given = repr(model) if isinstance(model, str) else f"{type(model).__name__} at {id(model):#x}"

    def __repr__(self) -> str:
        # Part of the key of shared scorers: metrics with the same model share one, like metrics with the same `llm`.
        return f"<DeepEvalModel {self._identity} by {self._given}, concurrency {self.concurrency}>"

    @property
    def identity(self) -> str:
        """DeepEval's name of the model, and its server and temperature if the model has these attributes."""
        return self._identity

    async def complete(self, request: Request) -> Completion:
        """Ask the model; see `Model.complete`.

        Raises:
            ProviderError: See `Model.complete`.
            ServiceError: See `Model.complete`.
        """
        sender = f"the model {self._identity!r}"
        if request.given:
            raise ServiceError(f"{sender} does not return the probabilities of given texts.", kind="unsupported")
        if request.json or (request.schema is not None and not self._supports_schema):
            raise ProviderError(f"{sender} does not support this response format.", kind="unsupported")
        options = {} if request.schema is None else {"schema": _make_schema_class(request.schema)}
        try:
            made = await self._model.a_generate(write_prompt(request.messages), **options)
        except Exception as error:
            # It may come from any of many packages; an unknown error becomes the failure of the sample.
            if (known := _translate_error(error, request, sender=sender)) is not None:
                raise known from error
            raise
        said, cost = cast("tuple[Any, Any]", made) if isinstance(made, tuple) else (made, None)
        if (costs := _CALL_COSTS.get(None)) is not None:
            costs.append(getattr(cost, "value", cost))
        usage = Usage(getattr(cost, "input_tokens", None) or 0, getattr(cost, "output_tokens", None) or 0)
        text: str = said.model_dump_json() if isinstance(said, BaseModel) else said
        if not text or not text.strip():
            raise ProviderError(
                f"{sender} replied without any text.",
                kind="unreadable-reply",
                tokens=(usage.prompt_tokens, usage.completion_tokens),
            )
        return Completion(text, "stop", self._identity, usage)


def write_prompt(messages: Sequence[Message]) -> str:
    """Return messages as one text, each but the system's between markers that no sample's text can hold."""
    if len(messages) == 1:
        return messages[0].content
    written = [
        message.content if message.role == "system" else f"<{message.role}>\n{message.content}\n</{message.role}>"
        for message in messages
    ]
    return "\n\n".join([*written, "Write what the assistant says next, without a marker around it."])


@contextmanager
def _collecting_costs() -> Generator[list[float | None]]:
    costs: list[float | None] = []
    token = _CALL_COSTS.set(costs)
    try:
        yield costs
    finally:
        _CALL_COSTS.reset(token)


def _make_identity(model: Any) -> str:
    name = "_".join(str(model.get_model_name()).split())
    server = getattr(model, "base_url", None)
    if server:
        # In the same form as in the identity of `OpenAIModel`: without parts that may be secret.
        name = openai.model_identity(name, base_url=str(server)).removeprefix("openai:")
    temperature = getattr(model, "temperature", None)
    return f"deepeval:{name}" + (f";temperature={temperature:g}" if isinstance(temperature, int | float) else "")


def _make_schema_class(schema: Mapping[str, Any]) -> type[BaseModel]:
    """Return a class with that schema, as DeepEval's models require it; its objects accept any content."""

    class Answer(BaseModel):
        model_config = ConfigDict(extra="allow")

        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return dict(schema)

    return Answer


def _translate_error(error: BaseException, request: Request, *, sender: str) -> ImapEvalError | None:
    """Return our error for an error of a provider's package, judged by it or its causes; None if it is unknown."""
    cause: BaseException | None = error
    while cause is not None:
        status = getattr(cause, "status_code", None)
        said = f"{type(cause).__name__}: {cause}"
        if isinstance(status, int):
            response = getattr(cause, "response", None)
            fault = chat_format.ErrorReply.parse(status, str(getattr(response, "text", cause)))
            pause = openai.read_retry_after(getattr(response, "headers", None) or {})
            raised = chat_format.to_error(fault, request, sender=sender, retry_after=pause)
            # The key may be another than the OPENAI_API_KEY that the message names.
            refused = raised.kind == "auth"
            return ServiceError(f"{sender} refused the key ({said}). Check it.", kind="auth") if refused else raised
        if isinstance(cause, _errors.DeepEvalError):
            return ServiceError(f"{sender} cannot be used: {cause}", kind="auth")
        if isinstance(cause, TimeoutError):
            return ProviderError(f"{sender} did not answer in time ({said}).", kind="timeout")
        # anyio raises a plain OSError if no address of a server answers.
        if isinstance(cause, ConnectionRefusedError | socket.gaierror) or type(cause) is OSError:
            return ProviderError(f"{sender} cannot be reached ({said}). Is the server running?", kind="unreachable")
        if isinstance(cause, ConnectionError):
            return ProviderError(f"{sender} closed the connection ({said}).", kind="server")
        cause = cause.__cause__ or cause.__context__
    return None
