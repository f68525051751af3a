import asyncio
import contextlib
import json
import pickle
from collections import Counter
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from random import Random
from urllib.parse import quote

import pytest

from imapeval.errors import ExtractionError, ProviderError, ServiceError, UsageError
from imapeval.extraction.llm_reader import LLMReader
from imapeval.extraction.protocols import TwoStepExtractor
from imapeval.llm.middleware import retry
from imapeval.llm.middleware.budget import BudgetedModel, Ledger
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.middleware.retry import RetryingModel
from imapeval.llm.prices import Price
from imapeval.llm.protocol import Message, Request, Usage
from imapeval.llm.providers.connection import ClientPool
from imapeval.llm.providers.openai import OpenAIModel, model_identity
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
    completion = await model.complete(
        Request(REQUEST.messages, {"type": "object"}, "pairs", max_tokens=9, temperature=0.5, seed=7)
    )
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
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret\n")
    faulty.script = [(401, {"error": {"message": "wrong key"}})]
    url = faulty.url.replace("//", "//me:hidden@") + "?token=hidden"
    model = OpenAIModel("stub", base_url=url)
    with pytest.raises(ServiceError) as caught:
        await OpenAIModel("stub", base_url=faulty.url).complete(REQUEST)
    assert faulty.keys == ["Bearer sk-secret"]
    assert model.identity == f"openai:stub@{faulty.url}"
    assert "secret" not in str(caught.value) + model.identity


async def test_a_server_of_ones_own_needs_no_key(faulty):
    await OpenAIModel("stub", base_url=faulty.url).complete(REQUEST)
    assert faulty.keys == [None]


def test_openai_itself_needs_a_key(monkeypatch):
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        OpenAIModel("gpt-4.1-mini")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert OpenAIModel("gpt-4.1-mini").identity == "openai:gpt-4.1-mini"


def open_in_a_worker(model, *, local=False):
    opener = model.open_for_workers(concurrency=5, local=local)
    return opener and pickle.loads(pickle.dumps(opener))


def test_workers_open_the_same_model():
    model = OpenAIModel("m", base_url="http://me:secret@model.example/v1?a=b", timeout=3.0)
    copy = open_in_a_worker(model)()
    assert (copy.identity, copy.concurrency, copy._address, copy._timeout) == (model.identity, 5, model._address, 3.0)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"])
def test_a_worker_with_another_account_does_not_open_it(monkeypatch, name):
    monkeypatch.setenv(name, "sk-mine")
    opener = OpenAIModel("m", base_url="http://model.example/v1").open_for_workers(concurrency=5, local=False)
    assert b"sk-mine" not in pickle.dumps(opener)
    monkeypatch.setenv(name, "sk-other")
    assert opener() is None


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost.", "model.localhost", "127.0.0.1", "127.0.0.2", "[::1]", "0.0.0.0"]
)
def test_workers_on_other_machines_do_not_open_a_model_of_this_one(host):
    model = OpenAIModel("m", base_url=f"http://{host}:8000/v1")
    assert open_in_a_worker(model) is None
    assert open_in_a_worker(model, local=True) is not None


def test_workers_do_not_open_a_model_that_another_class_changes():
    class Signing(OpenAIModel):
        def request_body(self, request):
            return {**super().request_body(request), "signature": "s"}

    assert open_in_a_worker(Signing("m", base_url="http://model.example/v1")) is None


def test_the_address_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1/")
    assert OpenAIModel("m").identity == "openai:m@http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1",
        "https://api.openai.com/v1/",
        "HTTPS://API.OpenAI.com/v1",
        " https://api.openai.com/v1 ",
    ],
)
@pytest.mark.parametrize("variable", [False, True])
def test_openai_s_own_address_is_no_other_server(monkeypatch, url, variable):
    if variable:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
    given = None if variable else url
    assert model_identity("m", base_url=given) == "openai:m"
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        OpenAIModel("m", base_url=given)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    model = OpenAIModel("m", base_url=given)
    assert model.identity == "openai:m"
    assert "max_completion_tokens" in model.request_body(REQUEST)


@pytest.mark.parametrize(
    "url", ["http://api.openai.com/v1", "https://api.openai.com/v2", "https://eu.api.openai.com/v1"]
)
def test_other_addresses_are_other_servers(url):
    assert model_identity("m", base_url=url) == f"openai:m@{url}"


def test_space_around_an_address_is_no_part_of_it():
    assert model_identity("m", base_url=" http://127.0.0.1:8000/v1 \n") == "openai:m@http://127.0.0.1:8000/v1"


@pytest.mark.parametrize("url", ["localhost:8000/v1", "127.0.0.1", " ", "ftp://x/v1", "http://", "http://x:port/v1"])
def test_an_invalid_address_is_rejected(url):
    with pytest.raises(UsageError, match="--base-url"):
        OpenAIModel("m", base_url=url)


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "localhost:8000/v1", "ann:s3cret@host/v1"])
def test_a_missing_scheme_is_named(url):
    with pytest.raises(UsageError, match="--base-url does not begin with http:// or https://") as caught:
        OpenAIModel("m", base_url=url)
    assert "redacted" not in str(caught.value)
    assert "s3cret" not in str(caught.value)


ERROR = {"error": {"message": "the server says why", "type": "x", "code": None, "param": None}}
FAULTS = [
    ((429, ERROR), "rate-limit", "the server says why"),
    ((429, ERROR, {"Retry-After": "7"}), "rate-limit", "the server says why"),
    ((500, ERROR), "server", "the server says why"),
    ((503, ERROR), "server", "the server says why"),
    ((400, ERROR), "bad-request", "the server says why"),
    ("hang", "timeout", "0.3 s"),
    ("drip", "timeout", "0.3 s"),
    ("drop", "server", "Error"),
    ("cut", "server", "Error"),
    ("cut-json", "unreadable-reply", "/v1"),
    ("html", "unreadable-reply", "login"),
    (ERROR, "unreadable-reply", "the server says why"),
    ({"choices": []}, "unreadable-reply", "/v1"),
    (reply(None), "unreadable-reply", "stop"),
    (reply(None, refusal="I won't"), "refusal", "I won't"),
    (reply("half", finish_reason="content_filter"), "refusal", "half"),
    (reply('{"inform": [', finish_reason="length"), "truncated", "9 tokens"),
    ((401, ERROR), "auth", "OPENAI_API_KEY"),
    ((403, ERROR), "auth", "OPENAI_API_KEY"),
    ((404, ERROR), "not-found", "404"),
    ((404, "<html>"), "not-found", "404"),
]


@pytest.mark.parametrize(("fault", "kind", "quoted"), FAULTS)
async def test_each_fault_has_a_kind_and_names_model_server_and_cause(faulty, fault, kind, quoted):
    faulty.script = [fault]
    model = OpenAIModel("stub", base_url=faulty.url, timeout=0.3 if kind == "timeout" else 10)
    with pytest.raises(ServiceError if kind in ("auth", "not-found") else ProviderError) as caught:
        await model.complete(REQUEST)
    assert caught.value.kind == kind
    assert quoted in str(caught.value)
    assert "'stub'" in str(caught.value)
    assert faulty.url in str(caught.value)
    assert len(faulty.bodies) == 1


@pytest.mark.parametrize("fault", [(429, ERROR, {"retry-after-ms": "1"}), (500, ERROR), "cut", "drop", "html"])
async def test_a_passing_fault_is_tried_again(faulty, fault, monkeypatch):
    monkeypatch.setattr(retry, "_FIRST_PAUSE", 0.01)
    faulty.script = [fault, reply("text")]
    completion = await RetryingModel(OpenAIModel("stub", base_url=faulty.url), random=Random(2)).complete(REQUEST)
    assert completion.text == "text"
    assert len(faulty.bodies) == 2


@pytest.mark.parametrize(
    ("fault", "billed"),
    [
        *(((status, ERROR), True) for status in (502, 504, 524)),
        *((how, True) for how in ("drop", "cut", "cut-json", "html")),
        *(((status, ERROR), False) for status in (400, 429, 500, 503)),
    ],
)
async def test_requests_without_a_reply_may_have_been_billed_and_rejected_ones_not(faulty, fault, billed):
    """As docs/cost.md says of `uncertain_usd`."""
    faulty.script = [fault]
    ledger = Ledger(price=Price(1.0, 1.0))
    with pytest.raises(ProviderError):
        await BudgetedModel(OpenAIModel("stub", base_url=faulty.url), ledger).complete(REQUEST)
    assert (ledger.report()["uncertain_usd"] > 0) is billed


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "7", "retry-after-ms": "1500"}, 1.5),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "-3"}, 0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
    ],
)
async def test_retry_after_is_reported(faulty, headers, seconds):
    faulty.script = [(429, ERROR, headers)]
    with pytest.raises(ProviderError) as caught:
        await OpenAIModel("stub", base_url=faulty.url).complete(REQUEST)
    assert caught.value.retry_after == seconds


async def test_a_date_to_come_is_a_pause(faulty):
    faulty.script = [(429, ERROR, {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=60))})]
    with pytest.raises(ProviderError) as caught:
        await OpenAIModel("stub", base_url=faulty.url).complete(REQUEST)
    assert caught.value.retry_after == pytest.approx(60, abs=5)


async def test_what_a_model_refuses_is_left_out_from_then_on(faulty):
    def refusal(name):
        said = f"Unsupported parameter: '{name}' is not supported with this model."
        return 400, {"error": {"message": said, "param": name, "code": "unsupported_parameter"}}

    faulty.script = [refusal("temperature"), refusal("max_tokens"), reply("text")]
    model = OpenAIModel("stub", base_url=faulty.url)
    for _ in range(2):
        assert (await model.complete(REQUEST)).text == "text"
    *_, third, last = faulty.bodies
    assert len(faulty.bodies) == 4
    assert third == last
    assert last.keys() == {"model", "messages", "max_completion_tokens"}


async def test_the_servers_name_of_the_model_is_reported(faulty):
    faulty.script = [{**reply("text"), "model": "another"}]
    assert (await OpenAIModel("stub", base_url=faulty.url).complete(REQUEST)).model == "another"


async def test_a_foreign_page_ends_a_run_only_before_the_first_answer(faulty):
    faulty.script = [reply("text"), (404, "<html>default backend</html>")]
    model = OpenAIModel("stub", base_url=faulty.url)
    await model.complete(REQUEST)
    with pytest.raises(ProviderError) as caught:
        await model.complete(REQUEST)
    assert caught.value.kind == "server"


@pytest.mark.parametrize("fault", [fault for fault, kind, _ in FAULTS if kind != "timeout"])
async def test_no_fault_becomes_an_imap_or_is_kept(faulty, fault, tmp_path):
    good = reply('{"query": ["treatment"], "constraint": []}')
    faulty.script = [fault]
    model = OpenAIModel("stub", base_url=faulty.url)
    extractor = TwoStepExtractor(LLMReader(CachedModel(model, tmp_path / "c.sqlite")))
    with pytest.raises((ProviderError, ServiceError)):
        await extractor.extract(Sample("1", "What now?", ("Rest.",), "Rest."))
    faulty.script = [good, reply('{"inform": []}')]
    fresh = TwoStepExtractor(LLMReader(CachedModel(model, tmp_path / "c.sqlite")))
    (imap,) = await fresh.extract(Sample("1", "What now?", ("Rest.",), "Rest."))
    assert imap.query[0].term == "treatment"


async def test_a_completion_cut_by_the_server_is_no_imap(faulty):
    """Some servers say "stop" where they mean "length"."""
    faulty.script = [reply('{"query": ["treatment"], "constraint": [{"te')]
    reader = LLMReader(OpenAIModel("stub", base_url=faulty.url))
    with pytest.raises(ExtractionError) as caught:
        await reader.read_question("What now?", lang="en")
    assert caught.value.kind == "truncated"


async def test_broken_characters_in_a_request_are_refused(faulty):
    with pytest.raises(ProviderError, match="surrogates"):
        await OpenAIModel("stub", base_url=faulty.url).complete(Request((Message("user", "a\ud800"),)))


async def test_an_unreachable_server(unused_url):
    with pytest.raises(ProviderError) as caught:
        await OpenAIModel("stub", base_url=unused_url).complete(REQUEST)
    assert caught.value.kind == "unreachable"
    assert unused_url in str(caught.value)


async def test_as_many_requests_as_are_asked_are_under_way(faulty):
    """The limit is `RetryingModel`'s: a request that waited in here would run into the timeout."""
    faulty.script = ["hang"]
    model = OpenAIModel("stub", base_url=faulty.url, concurrency=3)
    calls = [asyncio.create_task(model.complete(REQUEST)) for _ in range(8)]
    while len(faulty.bodies) < 8:
        await asyncio.sleep(0.01)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


async def test_connections_are_used_again(faulty):
    model = OpenAIModel("stub", base_url=faulty.url, concurrency=20)
    for _ in range(3):
        await asyncio.gather(*(model.complete(REQUEST) for _ in range(20)))
    assert len(faulty.bodies) == 60
    assert len(faulty.connections) <= 20


def test_requests_are_spread_evenly_over_the_clients(unused_url):
    clients = ClientPool(unused_url, login=None, key=None, connections=20)
    with contextlib.ExitStack() as lent:
        first = [lent.enter_context(clients.borrow()) for _ in range(12)]
    with contextlib.ExitStack() as lent:
        again = [lent.enter_context(clients.borrow()) for _ in range(24)]
    assert set(Counter(first).values()) == {4}
    assert set(Counter(again).values()) == {8}


def test_works_in_one_event_loop_after_another(faulty):
    """Connections belong to a loop and are closed with it: a left-over one would be a ResourceWarning."""
    model = OpenAIModel("stub", base_url=faulty.url)
    for _ in range(2):
        assert asyncio.run(model.complete(REQUEST)).text == "{}"


@pytest.mark.llm
async def test_a_real_server_enforces_the_schema(llama_url):
    schema = {
        "type": "object",
        "properties": {"fruit": {"enum": ["apple", "pear"]}},
        "required": ["fruit"],
        "additionalProperties": False,
    }
    model = OpenAIModel("smollm2", base_url=llama_url)
    completion = await model.complete(Request((Message("user", "Say hello."),), schema, "fruit", max_tokens=30))
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
    with pytest.raises(ProviderError) as caught:
        await model.complete(Request((Message("user", "word " * 20_000),), max_tokens=3))
    assert caught.value.kind == "too-long"


@pytest.mark.llm
async def test_a_real_server_says_which_form_it_does_not_know(llama_url):
    model = OpenAIModel("smollm2", base_url=llama_url)
    with pytest.raises(ProviderError) as caught:
        await model.complete(Request((Message("user", "hello"),), {"type": "nonsense"}, max_tokens=3))
    assert caught.value.kind == "unsupported"


@pytest.mark.llm
async def test_a_real_server_keeps_to_json_where_there_is_no_schema(llama_url):
    model = OpenAIModel("smollm2", base_url=llama_url)
    request = Request((Message("user", 'Answer with {"a": 1}.'),), json=True, max_tokens=60)
    # A weak model may not come to an end.
    with contextlib.suppress(ProviderError):
        assert isinstance(json.loads((await model.complete(request)).text), dict)


@pytest.fixture
def without_proxies(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.usefixtures("without_proxies")
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY", "http_proxy"])
async def test_a_server_elsewhere_is_asked_through_the_proxy_of_the_environment(faulty, monkeypatch, variable):
    monkeypatch.setenv(variable, faulty.url.removesuffix("/v1"))
    faulty.script = [reply("text")]
    # Of the loopback addresses, only those below are known as such.
    for address in ("http://model.invalid/v1", "http://127.0.0.2:9/v1"):
        assert (await OpenAIModel("stub", base_url=address).complete(REQUEST)).text == "text"
    assert len(faulty.bodies) == 2
    monkeypatch.setenv("NO_PROXY", "127.0.0.2")
    with pytest.raises(ProviderError, match="127") as caught:
        await OpenAIModel("stub", base_url="http://127.0.0.2:9/v1").complete(REQUEST)
    assert (caught.value.kind, len(faulty.bodies)) == ("unreachable", 2)


def test_a_key_in_place_of_the_name_of_a_model_is_refused(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    with pytest.raises(UsageError) as caught:
        OpenAIModel("sk-0123456789", base_url="http://127.0.0.1:9/v1")
    assert "0123456789" not in str(caught.value)


@pytest.mark.usefixtures("without_proxies")
@pytest.mark.parametrize("password", ["proxy/word-1", "zebra"])
async def test_the_password_of_a_proxy_is_not_shown_if_the_proxy_repeats_it(faulty, monkeypatch, password):
    login = f"//quark:{quote(password, safe='')}@"
    monkeypatch.setenv("HTTP_PROXY", faulty.url.removesuffix("/v1").replace("//", login))
    faulty.script = [(407, {"error": {"message": f"no access for quark with {password}"}})]
    with pytest.raises(ProviderError) as caught:
        await OpenAIModel("stub", base_url="http://model.invalid/v1").complete(REQUEST)
    assert "no access for [redacted] with [redacted]" in str(caught.value)


@pytest.mark.usefixtures("without_proxies")
@pytest.mark.parametrize("address", ["htp://me:{}@h:1", "http://me:{}@h:port", "http://me:{}@[::1"])
async def test_a_proxy_that_cannot_be_used_ends_the_run(monkeypatch, address):
    monkeypatch.setenv("HTTP_PROXY", address.format("proxy-word-1"))
    with pytest.raises(ServiceError) as caught:
        await OpenAIModel("stub", base_url="http://model.invalid/v1").complete(REQUEST)
    assert caught.value.kind == "unreachable"
    assert "HTTP_PROXY" in str(caught.value)
    assert "word-1" not in str(caught.value)


@pytest.mark.usefixtures("without_proxies")
async def test_https_goes_through_a_tunnel(monkeypatch):
    asked = []

    async def refuse(reader, writer):
        asked.append((await reader.readline()).decode())
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        port = proxy.sockets[0].getsockname()[1]
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        with pytest.raises(ProviderError):
            await OpenAIModel("stub", base_url="https://model.invalid/v1").complete(REQUEST)
    assert asked == ["CONNECT model.invalid:443 HTTP/1.1\r\n"]


@pytest.mark.usefixtures("without_proxies")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_a_server_on_this_computer_is_asked_without_a_proxy(faulty, unused_url, monkeypatch, host):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, faulty.url.removesuffix("/v1"))
    with pytest.raises(ProviderError) as caught:
        await OpenAIModel("stub", base_url=unused_url.replace("127.0.0.1", host)).complete(REQUEST)
    assert (caught.value.kind, faulty.bodies) == ("unreachable", [])


def test_64_requests_at_a_time_unless_told_otherwise():
    address = "http://127.0.0.1:9/v1"
    assert OpenAIModel("stub", base_url=address).concurrency == 64
    assert OpenAIModel("stub", base_url=address, concurrency=7).concurrency == 7
