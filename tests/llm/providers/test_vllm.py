"""The `vllm:` provider: its bookkeeping against an engine that does as it is told, the rest against vLLM itself.

What needs vLLM runs where it is installed and $IMAPEVAL_VLLM_MODEL names a folder with a small model: `.ci/vllm`.
"""

import asyncio
import gc
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
import weakref

import pytest

from imapeval.errors import MissingExtraError, ProviderError, ServiceError, UsageError
from imapeval.evaluation import extract
from imapeval.extraction.llm_reader import LLMReader
from imapeval.extraction.protocols import TwoStepExtractor
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.middleware.retry import RetryingModel
from imapeval.llm.protocol import Completion, Message, Request, Usage
from imapeval.llm.providers.echo_logprobs import token_ends
from imapeval.llm.providers.openai import OpenAIModel
from imapeval.llm.providers.vllm import VLLMModel
from imapeval.llm.registry import open_model
from imapeval.metrics.judges.parsing.weights import weight_by_logprobs
from imapeval.types import Failure, Sample
from tests.llm.conftest import free_port, wait_until_up

INSTALLED = importlib.util.find_spec("vllm") is not None


def ask(text, **settings):
    return Request((Message("user", text),), **settings)


class ScriptedEngine:
    """Finishes a request after as many steps as its text says; "?" is refused, "!" breaks the engine."""

    def __init__(self):
        self.admitted = []
        self.most = 0
        self.threads = set()
        self._left = {}
        self.hold = threading.Event()
        self.hold.set()

    def admit(self, request):
        text = request.messages[0].content
        self.threads.add(threading.get_ident())
        if text == "?":
            raise ProviderError("no", kind="too-long")
        self.admitted.append(text)
        key = str(len(self.admitted))
        self._left[key] = text
        self.most = max(self.most, len(self._left))
        return key

    def step(self):
        self.hold.wait(10)
        for key, text in list(self._left.items()):
            if text == "!":
                raise RuntimeError("CUDA error: an illegal memory access was encountered")
            self._left[key] = str(int(text) - 1)
            if text == "1":
                del self._left[key]
                yield key, Completion(self.admitted[int(key) - 1], "stop", "m", Usage(1, 1))


@pytest.fixture
def engine():
    return ScriptedEngine()


def model_of(engine, **settings):
    return VLLMModel("m", build=lambda _name, _arguments: engine, **settings)


async def test_requests_that_come_together_are_computed_together_and_each_gets_its_own_answer(engine):
    model = model_of(engine)
    texts = [str(1 + index % 7) for index in range(300)]
    engine.hold.clear()
    asked = [asyncio.ensure_future(model.complete(ask(text))) for text in texts]
    await asyncio.sleep(0)
    engine.hold.set()
    assert [completion.text for completion in await asyncio.gather(*asked)] == texts
    assert engine.most > 200
    assert len(engine.threads) == 1


async def test_up_to_1024_requests_are_in_the_engine(engine):
    model = RetryingModel(model_of(engine))
    engine.hold.clear()
    asked = [asyncio.ensure_future(model.complete(ask("100"))) for _ in range(1100)]
    await asyncio.sleep(0.1)
    engine.hold.set()
    await asyncio.gather(*asked)
    assert engine.most == 1024


async def test_a_later_short_request_overtakes_a_long_one_and_is_stored_at_once(engine, tmp_path):
    model = CachedModel(model_of(engine), tmp_path / "c.sqlite")
    engine.hold.clear()
    long = asyncio.ensure_future(model.complete(ask("100000")))
    while not engine.admitted:
        await asyncio.sleep(0.001)
    short = asyncio.ensure_future(model.complete(ask("2")))
    await asyncio.sleep(0)
    engine.hold.set()
    assert (await short).text == "2"
    assert model.get(ask("2")) is not None
    assert not long.done()
    assert (await long).text == "100000"


async def test_a_refused_request_harms_no_other(engine):
    model = model_of(engine)
    told = await asyncio.gather(*(model.complete(ask(text)) for text in "3?2?1"), return_exceptions=True)
    assert [one.kind if isinstance(one, ProviderError) else one.text for one in told] == [
        "3",
        "too-long",
        "2",
        "too-long",
        "1",
    ]


async def test_a_broken_engine_fails_all_under_way_and_is_not_asked_again(engine):
    model = model_of(engine)
    told = await asyncio.gather(*(model.complete(ask(text)) for text in ("9", "!", "9")), return_exceptions=True)
    assert {type(one) for one in told} == {ServiceError}
    assert "illegal memory access" in str(told[0])
    assert told[0].kind == "unreachable"
    before = len(engine.admitted)
    with pytest.raises(ServiceError, match="illegal memory access"):
        await model.complete(ask("1"))
    assert len(engine.admitted) == before


@pytest.mark.parametrize(
    ("error", "kind", "quoted"),
    [
        (ValueError("No available memory for the cache blocks."), "unreachable", "max_model_len=8192"),
        (OSError("'x' is not a valid model identifier listed on 'https://huggingface.co/models'"), "not-found", "Hub"),
        (RuntimeError("something\n   new"), "unreachable", "something new"),
        (SystemExit(2), "unreachable", "SystemExit"),
    ],
)
async def test_an_engine_that_does_not_start_says_why_and_is_built_once(error, kind, quoted):
    built = []

    def build(_name, _arguments):
        built.append(1)
        raise error

    model = VLLMModel("m", build=build)
    told = await asyncio.gather(*(model.complete(ask("1")) for _ in range(3)), return_exceptions=True)
    assert {type(one) for one in told} == {ServiceError}
    assert {one.kind for one in told} == {kind}
    with pytest.raises(ServiceError, match=quoted):
        await model.complete(ask("1"))
    assert len(built) == 1


def test_several_event_loops_share_the_engine(engine):
    model = model_of(engine)
    texts = {}

    def run(text):
        async def all_of_them():
            return await asyncio.gather(*(model.complete(ask(text)) for _ in range(50)))

        texts[text] = {completion.text for completion in asyncio.run(all_of_them())}

    threads = [threading.Thread(target=run, args=(text,)) for text in ("3", "5", "8")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == {"3": {"3"}, "5": {"5"}, "8": {"8"}}
    assert len(engine.threads) == 1


async def test_a_request_cancelled_in_the_queue_is_not_computed(engine):
    model = model_of(engine)
    engine.hold.clear()
    first = asyncio.ensure_future(model.complete(ask("2")))
    while not engine.admitted:
        await asyncio.sleep(0.001)
    second = asyncio.ensure_future(model.complete(ask("3")))
    await asyncio.sleep(0.01)
    second.cancel()
    await asyncio.sleep(0)
    engine.hold.set()
    assert (await first).text == "2"
    assert engine.admitted == ["2"]


async def test_the_engine_goes_with_the_model():
    made = []

    def build(_name, _arguments):
        engine = ScriptedEngine()
        made.append(weakref.ref(engine))
        return engine

    model = VLLMModel("m", build=build)
    await model.complete(ask("1"))
    assert made[0]() is not None
    del model
    deadline = time.monotonic() + 5
    while made[0]() is not None and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
        gc.collect()
    assert made[0]() is None


@pytest.mark.skipif(INSTALLED, reason="vLLM is installed")
async def test_without_vllm_it_says_what_to_install(monkeypatch):
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "INFO")
    monkeypatch.setenv("VLLM_NO_USAGE_STATS", "")  # So that what is set below is undone.
    monkeypatch.delenv("VLLM_NO_USAGE_STATS")
    model = open_model("vllm:Qwen/Qwen3-8B")
    assert model.identity == "vllm:Qwen/Qwen3-8B"
    with pytest.raises(MissingExtraError, match=r"vllm:Qwen/Qwen3-8B.*imapeval\[gpu\]"):
        await model.complete(ask("1"))
    # Set before vLLM is loaded, which reports nothing to its makers then; what the user has set stays.
    assert (os.environ["VLLM_NO_USAGE_STATS"], os.environ["VLLM_LOGGING_LEVEL"]) == ("1", "INFO")


def test_arguments_are_json_or_text_and_those_that_tell_are_part_of_the_identity():
    given = {}

    def build(name, arguments):
        given.update(arguments, name=name)
        return ScriptedEngine()

    spec = 'Qwen/Qwen3-8B?max_model_len=8192&dtype=bfloat16&enforce_eager=true&hf_overrides={"a": 1}'
    model = VLLMModel(spec, build=build)
    asyncio.run(model.complete(ask("1")))
    assert given == {
        "name": "Qwen/Qwen3-8B",
        "max_model_len": 8192,
        "dtype": "bfloat16",
        "enforce_eager": True,
        "hf_overrides": {"a": 1},
    }
    assert model.identity == 'vllm:Qwen/Qwen3-8B{"dtype":"bfloat16","hf_overrides":{"a":1}}'
    assert VLLMModel("Qwen/Qwen3-8B?tensor_parallel_size=2").identity == "vllm:Qwen/Qwen3-8B"


@pytest.mark.parametrize("query", ["max_model_len", "a=1&", "=", "a=", "=1", "a=1&b"])
def test_unreadable_arguments_are_refused(query):
    with pytest.raises(UsageError, match="vllm:"):
        VLLMModel(f"m?{query}")


# From here on vLLM itself.

MODEL = os.environ.get("IMAPEVAL_VLLM_MODEL")
real = [
    pytest.mark.slow,
    pytest.mark.skipif(not INSTALLED, reason="vLLM is not installed; .ci/vllm makes an environment with it"),
    pytest.mark.skipif(not MODEL, reason="$IMAPEVAL_VLLM_MODEL names no model folder; .ci/vllm makes one"),
    # vLLM's dependencies warn at length.
    pytest.mark.filterwarnings("ignore"),
]
ARGUMENTS = {"dtype": "bfloat16", "enforce_eager": True, "max_model_len": 8192, "gpu_memory_utilization": 0.3}
SCHEMA = {
    "type": "object",
    "properties": {"drug": {"type": "string", "maxLength": 20}, "known": {"type": "boolean"}},
    "required": ["drug", "known"],
    "additionalProperties": False,
}
SAMPLES = [
    Sample("en", "How is oral stomatitis treated?", ("Rinse with chlorhexidine.",), "Vitamin C and rest."),
    Sample("zh", "口腔炎怎么治疗？", ("用氯己定含漱。",), "多喝水，补充维生素C。", lang="zh"),
]


def query(arguments):
    return "&".join(f"{key}={json.dumps(value)}" for key, value in arguments.items())


@pytest.fixture(scope="module")
def in_process():
    return VLLMModel(f"{MODEL}?{query(ARGUMENTS)}")


@pytest.fixture(scope="module")
def server_url(tmp_path_factory):
    """Address of a real vLLM server with the model, called "small"."""
    port = free_port()
    log = tmp_path_factory.mktemp("vllm") / "log"
    # Not `vllm serve`: in the build for processors it does not find itself ("No package metadata was found for vllm").
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", MODEL]
    command += ["--served-model-name", "small"]
    for key, value in ARGUMENTS.items():
        option = "--" + key.replace("_", "-")
        command += [option] if value is True else [option, str(value)]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            wait_until_up(f"http://127.0.0.1:{port}/health", process, log, seconds=600)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


@pytest.fixture(params=["in_process", "server"])
def model(request):
    if request.param == "in_process":
        return request.getfixturevalue("in_process")
    return OpenAIModel("small", base_url=request.getfixturevalue("server_url"))


class TestReal:
    pytestmark = real

    async def test_a_schema_and_json_mode_are_enforced(self, model):
        shaped, loose = await asyncio.gather(
            model.complete(ask("Is aspirin a drug?", schema=SCHEMA, max_tokens=40)),
            model.complete(ask("Write a JSON object with the key drug.", json=True, max_tokens=40)),
            return_exceptions=True,
        )
        record = json.loads(shaped.text)
        assert record.keys() == {"drug", "known"}
        assert isinstance(record["known"], bool)
        assert shaped.finish_reason == "stop"
        assert shaped.usage.prompt_tokens > 10
        assert 0 < shaped.usage.completion_tokens <= 40
        # A small model may go on for ever, in JSON.
        assert (loose.raw if isinstance(loose, ProviderError) else loose.text).lstrip().startswith("{")

    async def test_one_bad_request_harms_no_other(self, model):
        told = await asyncio.gather(
            model.complete(ask("Is aspirin a drug?", schema=SCHEMA, max_tokens=40)),
            model.complete(ask("fever cough " * 6000, max_tokens=5)),
            model.complete(ask("Tell me a story.", max_tokens=5)),
            model.complete(ask("hi", schema={"type": "nonsense"}, max_tokens=5)),
            model.complete(ask("Is ibuprofen a drug?", schema=SCHEMA, max_tokens=40)),
            return_exceptions=True,
        )
        assert [one.kind for one in told if isinstance(one, ProviderError)] == ["too-long", "truncated", "unsupported"]
        assert json.loads(told[0].text)
        assert json.loads(told[4].text)
        assert "8192" in str(told[1])
        assert told[2].raw

    async def test_a_seed_gives_the_same_text_again_and_another_seed_another(self, model):
        async def tell(seed):
            try:
                return (await model.complete(ask("Tell a story.", temperature=0.9, seed=seed, max_tokens=12))).text
            except ProviderError as error:
                return error.raw

        first, again, other = [await tell(seed) for seed in (1, 1, 2)]
        assert first == again
        assert first != other

    async def test_probabilities_come_with_the_tokens(self, model):
        score = {"type": "object", "properties": {"score": {"enum": [1, 2, 3]}}, "required": ["score"]}
        score["additionalProperties"] = False
        request = ask("Rate it from 1 to 3.", schema=score, max_tokens=20, logprobs=20)
        completion = await model.complete(request)
        assert "".join(token.text for token in completion.tokens).startswith(completion.text)
        weighed = weight_by_logprobs(completion)
        assert 1 <= weighed.value <= 3
        assert 0 < weighed.mass <= 1
        assert all(len(token.top) >= 20 and token.logprob <= 0 for token in completion.tokens)

    async def test_probabilities_of_a_given_text(self, model):
        text = "问题：What helps? 休息 🩺"
        completion = await model.complete(Request((), given=text, max_tokens=1))
        ends = token_ends([token.text for token in completion.tokens], text)
        assert ends is not None
        assert (len(ends), ends[-1]) == (len(completion.tokens), len(text))
        assert completion.tokens[0].logprob == 0
        assert all(token.logprob < 0 for token in completion.tokens[1:])

    async def test_samples_of_both_languages_are_read(self, model):
        extractor = TwoStepExtractor(LLMReader(model, max_tokens=32))
        outcomes = {sample.id: made async for sample, made in extract.extract(SAMPLES, extractor=extractor)}
        assert outcomes.keys() == {"en", "zh"}
        # The model is far too weak to be right; what it says is nevertheless an imap, or a failure of its own.
        assert all(not isinstance(made, Failure) or made.kind != "internal" for made in outcomes.values())

    async def test_what_prompts_have_in_common_is_computed_once(self, in_process):
        shared = "Aspirin lowers fever. " * 100
        await in_process.complete(ask(f"{shared} Is it a drug?", schema=SCHEMA, max_tokens=40))
        second = await in_process.complete(ask(f"{shared} Is it known?", schema=SCHEMA, max_tokens=40))
        assert second.usage.reused_tokens > second.usage.prompt_tokens / 2

    async def test_a_broken_character_is_the_requests_own_fault(self, in_process):
        with pytest.raises(ProviderError, match="TextEncodeInput"):
            await in_process.complete(ask("\ud800"))

    async def test_a_folder_without_a_model(self, tmp_path):
        (tmp_path / "empty").mkdir()
        with pytest.raises(ServiceError, match="vLLM") as caught:
            await VLLMModel(str(tmp_path / "empty")).complete(ask("1"))
        assert caught.value.kind == "not-found"
        with pytest.raises(UsageError, match="dtyp"):
            await VLLMModel(f"{MODEL}?dtyp=bfloat16").complete(ask("1"))

    async def test_a_model_that_the_server_does_not_have_ends_the_run(self, server_url):
        with pytest.raises(ServiceError) as caught:
            await OpenAIModel("other", base_url=server_url).complete(ask("1"))
        assert caught.value.kind == "not-found"

    def test_the_command_prints_nothing_but_its_own(self, tmp_path):
        data = tmp_path / "data.jsonl"
        data.write_text(json.dumps({"id": "a", "question": "Why?", "reference": "So.", "response": "Because."}))
        # Too small for the prompts: a sample that fails, at once.
        spec = f"vllm:{MODEL}?" + query(ARGUMENTS | {"max_model_len": 256})
        done = subprocess.run(
            [sys.executable, "-m", "imapeval", "extract", str(data), "--llm", spec, "--json"],
            cwd=tmp_path,
            env=os.environ | {"IMAPEVAL_CACHE": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            timeout=900,
        )
        (failure,) = json.loads(done.stdout)["failures"]
        assert failure["kind"] == "too-long"
        assert done.returncode == 1
