import asyncio
import json
import time

import pytest

from imapeval.errors import ExtractionError, ProviderError, UsageError
from imapeval.extraction.extractor import TwoStep
from imapeval.extraction.prompted import PromptedReader
from imapeval.llm.cache import Cached
from imapeval.llm.client import Message, Request, Usage
from imapeval.llm.openai import OpenAIModel
from imapeval.types import Sample

REQUEST = Request((Message("system", "be brief"), Message("user", "头痛?")), max_tokens=9)


def reply(content="{}", *, finish_reason="stop", **message):
    return {
        "model": "stub-1",
        "choices": [{"finish_reason": finish_reason, "message": {"role": "assistant", "content": content, **message}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }


async def test_sends_the_request_and_reads_the_reply(faulty):
    faulty.script = [reply("text")]
    model = OpenAIModel("stub", base_url=faulty.url)
    completion = await model.complete(Request(REQUEST.messages, {"type": "object"}, "pairs", 9, 0.5, 7))
    assert (completion.text, completion.finish_reason, completion.model) == ("text", "stop", "stub-1")
    assert completion.usage == Usage(3, 2)
    assert faulty.bodies == [
        {
            "model": "stub",
            "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "头痛?"}],
            "max_tokens": 9,
            "temperature": 0.5,
            "seed": 7,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "pairs", "schema": {"type": "object"}, "strict": True},
            },
        }
    ]


async def test_the_key_is_sent_but_shown_nowhere(faulty, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    faulty.script = [(401, {"error": {"message": "wrong key"}})]
    url = faulty.url.replace("//", "//me:hidden@") + "?token=hidden"
    model = OpenAIModel("stub", base_url=url)
    with pytest.raises(ProviderError) as caught:
        await OpenAIModel("stub", base_url=faulty.url).complete(REQUEST)
    assert faulty.keys == ["Bearer sk-secret"]
    assert model.identity == f"openai:stub@{faulty.url}"
    assert "secret" not in str(caught.value) + model.identity


async def test_a_server_of_ones_own_needs_no_key(faulty):
    await OpenAIModel("stub", base_url=faulty.url).complete(REQUEST)


def test_openai_itself_needs_a_key(monkeypatch):
    with pytest.raises(UsageError, match=r"OPENAI_API_KEY is not set.*--base-url"):
        OpenAIModel("gpt-4.1-mini")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert OpenAIModel("gpt-4.1-mini").identity == "openai:gpt-4.1-mini"


def test_the_address_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1/")
    assert OpenAIModel("m").identity == "openai:m@http://127.0.0.1:8000/v1"


@pytest.mark.parametrize("url", ["localhost:8000/v1", "127.0.0.1", "ftp://x/v1", "http://", "http://x:port/v1"])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(UsageError, match=r"is not the address of a server.*http://127\.0\.0\.1:8000/v1"):
        OpenAIModel("m", base_url=url)


ERROR = {"error": {"message": "the server says why", "type": "x", "code": None, "param": None}}
FAULTS = [
    ((429, ERROR), "rate-limit", "raise the account's limit"),
    ((500, ERROR), "server", "Try again later"),
    ((503, ERROR), "server", "Try again later"),
    ((401, ERROR), "auth", "OPENAI_API_KEY"),
    ((403, ERROR), "auth", "OPENAI_API_KEY"),
    ((404, ERROR), "not-found", "model's name"),
    ((400, ERROR), "bad-request", "too long"),
    ("hang", "timeout", "said nothing for 0.3 s"),
    ("cut", "unreachable", "Is the server running"),
    ("cut-json", "unreadable-reply", "no chat completion"),
    ("html", "unreadable-reply", "login"),
    (ERROR, "unreadable-reply", "the server says why"),
    ({"choices": []}, "unreadable-reply", "no chat completion"),
    (reply(None), "unreadable-reply", "without any text"),
    (reply("a\ud800b"), "unreadable-reply", "no chat completion"),
    (reply(None, refusal="I won't"), "refusal", "I won't"),
    (reply("half", finish_reason="content_filter"), "refusal", "half"),
    (reply('{"inform": [', finish_reason="length"), "truncated", "9 tokens"),
]


@pytest.mark.parametrize(("fault", "kind", "says"), FAULTS)
async def test_each_fault_has_its_name_and_mend(faulty, fault, kind, says):
    faulty.script = [fault]
    model = OpenAIModel("stub", base_url=faulty.url, timeout=0.3, max_retries=1 if kind != "timeout" else 0)
    with pytest.raises(ProviderError) as caught:
        await model.complete(REQUEST)
    assert caught.value.kind == kind
    assert says in str(caught.value)
    assert "'stub'" in str(caught.value)
    assert faulty.url in str(caught.value)


@pytest.mark.parametrize("fault", [(429, ERROR), (500, ERROR), "cut"])
async def test_a_passing_fault_is_tried_again(faulty, fault):
    faulty.script = [fault, reply("text")]
    completion = await OpenAIModel("stub", base_url=faulty.url).complete(REQUEST)
    assert completion.text == "text"
    assert len(faulty.bodies) == 2


@pytest.mark.parametrize("fault", [fault for fault, *_ in FAULTS if fault != "hang"])
async def test_no_fault_becomes_an_imap_or_is_kept(faulty, fault, tmp_path):
    good = reply('{"query": ["treatment"], "constraint": []}')
    faulty.script = [fault]
    model = OpenAIModel("stub", base_url=faulty.url, max_retries=0)
    extractor = TwoStep(PromptedReader(Cached(model, tmp_path / "c.sqlite")))
    with pytest.raises(ProviderError):
        await extractor.extract(Sample("1", "What now?", ("Rest.",), "Rest."))
    faulty.script = [good, reply('{"inform": []}')]
    fresh = TwoStep(PromptedReader(Cached(model, tmp_path / "c.sqlite")))
    (imap,) = await fresh.extract(Sample("1", "What now?", ("Rest.",), "Rest."))
    assert imap.query[0].term == "treatment"


async def test_a_completion_cut_by_the_server_is_no_imap(faulty):
    """Some servers say "stop" where they mean "length"."""
    faulty.script = [reply('{"query": ["treatment"], "constraint": [{"te')]
    reader = PromptedReader(OpenAIModel("stub", base_url=faulty.url))
    with pytest.raises(ExtractionError) as caught:
        await reader.read_question("What now?", lang="en")
    assert caught.value.kind == "unreadable-completion"


async def test_broken_characters_in_a_request_are_refused(faulty):
    with pytest.raises(ProviderError, match="broken character"):
        await OpenAIModel("stub", base_url=faulty.url).complete(Request((Message("user", "a\ud800"),)))


async def test_a_server_that_is_not_there_is_told_quickly(unused_url):
    start = time.monotonic()
    with pytest.raises(ProviderError, match="Is the server running, and is the address right") as caught:
        await OpenAIModel("stub", base_url=unused_url).complete(REQUEST)
    assert caught.value.kind == "unreachable"
    assert unused_url in str(caught.value)
    assert time.monotonic() - start < 10


async def test_no_more_requests_than_allowed_are_sent_at_once(faulty):
    faulty.script = ["hang"]
    model = OpenAIModel("stub", base_url=faulty.url, concurrency=3)
    calls = [asyncio.create_task(model.complete(REQUEST)) for _ in range(8)]
    await asyncio.sleep(0.5)
    assert len(faulty.bodies) == 3
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


def test_works_in_one_event_loop_after_another(faulty):
    """Connections belong to a loop and are closed with it: a left-over one would be a ResourceWarning."""
    model = OpenAIModel("stub", base_url=faulty.url)
    for _ in range(2):
        assert asyncio.run(model.complete(REQUEST)).text == "{}"


EN = Sample(
    "en",
    "How is a mild ankle sprain treated?",
    ("Rest the ankle, cool it and keep it raised.",),
    "Put ice on it and rest. You do not need surgery.",
)
ZH = Sample("zh", "轻度脚踝扭伤怎么治疗？", ("休息，冷敷，抬高患肢。",), "冰敷并休息，不需要手术。", lang="zh")


@pytest.mark.llm
@pytest.mark.parametrize("sample", [EN, ZH], ids=["en", "zh"])
async def test_a_real_server_end_to_end(llama_url, tmp_path, sample):
    """Shape only: the model of 135M parameters is far too weak to extract facts."""
    model = Counting(OpenAIModel("smollm2", base_url=llama_url, max_retries=0))
    path = tmp_path / "completions.sqlite"
    imaps = await TwoStep(PromptedReader(Cached(model, path), max_tokens=400)).extract(sample)
    (imap,) = imaps
    assert imap.query
    assert all(pair.value == "?" for pair in imap.query)
    for pairs, text in ((imap.reference, sample.references[0]), (imap.response, sample.response)):
        assert all(text[slice(*pair.span)] == pair.value for pair in pairs if pair.span)
    assert model.calls == 3
    assert await TwoStep(PromptedReader(Cached(model, path), max_tokens=400)).extract(sample) == imaps
    assert model.calls == 3


@pytest.mark.llm
async def test_a_real_server_enforces_the_schema(llama_url):
    schema = {
        "type": "object",
        "properties": {"fruit": {"enum": ["apple", "pear"]}},
        "required": ["fruit"],
        "additionalProperties": False,
    }
    model = OpenAIModel("smollm2", base_url=llama_url)
    completion = await model.complete(Request((Message("user", "Say hello."),), schema, "fruit", 30))
    assert json.loads(completion.text)["fruit"] in ("apple", "pear")
    assert completion.usage.prompt_tokens > 0
    assert completion.usage.completion_tokens > 0


@pytest.mark.llm
async def test_a_real_server_cut_off_is_a_truncation(llama_url):
    model = OpenAIModel("smollm2", base_url=llama_url)
    with pytest.raises(ProviderError) as caught:
        await model.complete(Request((Message("user", "Count to one hundred."),), max_tokens=3))
    assert caught.value.kind == "truncated"
    assert caught.value.raw


@pytest.mark.llm
async def test_a_real_server_refuses_what_is_too_long(llama_url):
    model = OpenAIModel("smollm2", base_url=llama_url)
    with pytest.raises(ProviderError, match="too long") as caught:
        await model.complete(Request((Message("user", "word " * 20_000),), max_tokens=3))
    assert caught.value.kind == "bad-request"


class Counting:
    """Counts the calls that reach the model."""

    def __init__(self, model):
        self._model = model
        self.identity = model.identity
        self.calls = 0

    async def complete(self, request):
        self.calls += 1
        return await self._model.complete(request)
