"""Probabilities of the tokens of an answer: asked for, read, refused, kept; the last from a real server."""

import asyncio
import json
import math
import sqlite3
from dataclasses import replace
from types import SimpleNamespace

import pytest

from imapeval.llm.batch import BatchFolder
from imapeval.llm.middleware.cache import CachedModel, cache_key
from imapeval.llm.protocol import Completion, Message, Request, Token, Usage, canonical_json
from imapeval.llm.providers import chat_format, vllm
from imapeval.llm.providers.openai import OpenAIModel
from imapeval.llm.providers.scripted import ScriptedModel

PLAIN = Request((Message("user", "Rate it from 1 to 5."),), max_tokens=9)
REQUEST = replace(PLAIN, logprobs=3)
TOKENS = (Token("4", -0.5, (("4", -0.5), ("5", -1.25), ("热", -9999.0))), Token("\ud83d", -0.0))
COMPLETION = Completion("4\ud83d", "stop", "m", Usage(3, 2), tokens=TOKENS)

LOGPROBS = {
    "content": [
        {
            "token": "4",
            "logprob": -0.5,
            "bytes": [52],
            "top_logprobs": [
                {"token": "4", "logprob": -0.5, "bytes": [52]},
                {"token": "5", "logprob": -1.25, "bytes": None},
            ],
        }
    ],
    "refusal": None,
}
"""As in OpenAI's API reference, "chat completion object"."""


def reply(logprobs=None, **fields):
    choice = {"message": {"content": "4"}, "finish_reason": "stop", **fields}
    return {"model": "m", "choices": [choice if logprobs is None else {**choice, "logprobs": logprobs}]}


def test_keys_of_requests_without_are_what_they_were():
    """As of the revision before log-probabilities (b19510a): the paid completions of all users hang on it."""
    key = cache_key(canonical_json(PLAIN, "openai:m"))
    assert key == "5dca98f4e99c7a57f64a3dda2b5df5580b2cb7447f5c1b6abc74cd2ef4eba192"
    assert cache_key(canonical_json(REQUEST, "openai:m")) != key


def test_they_are_asked_for_where_they_are_wanted():
    assert chat_format.request_body(REQUEST, "m").items() >= {"logprobs": True, "top_logprobs": 3}.items()
    assert not chat_format.request_body(PLAIN, "m").keys() & {"logprobs", "top_logprobs"}
    assert chat_format.request_body(REQUEST, "m", refused=frozenset({"logprobs"})) == chat_format.request_body(
        PLAIN, "m"
    )


def test_they_are_read():
    completion = chat_format.parse_reply(json.dumps(reply(LOGPROBS)), REQUEST, sender="it")
    assert completion.tokens == (Token("4", -0.5, (("4", -0.5), ("5", -1.25))),)
    assert chat_format.parse_reply(json.dumps(reply(LOGPROBS)), PLAIN, sender="it").tokens == ()


def test_a_key_in_pieces_is_not_kept(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    tokens = [{"token": piece, "logprob": -0.1, "top_logprobs": []} for piece in ("sk-012", "345", "6789")]
    kept = chat_format.parse_reply(json.dumps(reply({"content": tokens})), REQUEST, sender="it")
    assert kept.tokens == ()


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        {"content": None},
        {"content": [{"token": "4"}]},
        # Together's, and OpenAI's own of completions without chat.
        {"tokens": ["4"], "token_logprobs": [-0.5], "top_logprobs": [{"4": -0.5}]},
        "none",
    ],
)
def test_an_answer_without_or_in_another_form_is_still_an_answer(logprobs):
    completion = chat_format.parse_reply(json.dumps(reply(logprobs)), REQUEST, sender="it")
    assert (completion.text, completion.tokens) == ("4", ())


@pytest.mark.parametrize(
    ("status", "message"),
    [
        # OpenAI's reasoning models; huggingface/lighteval, llm_as_judge and others catch this text
        (403, "You are not allowed to request logprobs from this model"),
        # Google's, mscraftsman/generative-ai#135
        (400, "Logprobs is not enabled for models/gemini-2.5-pro"),
        # Groq's, groq/groq-python#25
        (400, "`logprobs` is not supported with this model"),
        # vLLM's
        (400, "Requested sample logprobs of 20, which is greater than max allowed: 5"),
    ],
)
async def test_a_server_that_refuses_them_is_asked_without(faulty, status, message):
    faulty.script = [(status, {"error": {"message": message}}), reply()]
    model = OpenAIModel("stub", base_url=faulty.url)
    for _ in range(2):
        completion = await model.complete(REQUEST)
        assert (completion.text, completion.tokens) == ("4", ())
    assert [("logprobs" in body, "top_logprobs" in body) for body in faulty.bodies] == [
        (True, True),
        (False, False),
        (False, False),
    ]


async def test_a_forbidden_request_is_an_error(faulty):
    faulty.script = [(403, {"error": {"message": "You are not allowed to sample from this model"}})]
    with pytest.raises(Exception, match="You are not allowed to sample") as caught:
        await OpenAIModel("stub", base_url=faulty.url).complete(REQUEST)
    assert caught.value.kind == "auth"
    assert len(faulty.bodies) == 1


async def test_they_are_kept(tmp_path):
    path = tmp_path / "c.sqlite"
    model = ScriptedModel([COMPLETION])
    assert (await CachedModel(model, path).complete(REQUEST)).tokens == TOKENS
    assert await CachedModel(model, path).complete(REQUEST) == replace(COMPLETION, cached=True)


async def test_without_them_a_record_is_what_it_was(tmp_path):
    path = tmp_path / "c.sqlite"
    await CachedModel(ScriptedModel(["4"]), path).complete(PLAIN)
    with sqlite3.connect(path) as connection:
        (record,) = connection.execute("SELECT completion FROM completion").fetchone()
    connection.close()
    assert json.loads(record).keys() == {"text", "finish_reason", "model", "usage", "cached"}


async def test_batches_carry_them(tmp_path):
    folder = tmp_path / "batch"
    cache = CachedModel(ScriptedModel([], identity="openai:m"), tmp_path / "c.sqlite")
    with BatchFolder(folder, model=("openai:m", "m")) as batch:
        with batch.open_writer() as writer:
            writer.add(REQUEST)
            writer.add(PLAIN)
        lines = [json.loads(line) for line in batch.file_path(1).read_text(encoding="utf-8").splitlines()]
        assert [line["body"].get("top_logprobs") for line in lines] == [3, None]
        results = tmp_path / "results.jsonl"
        results.write_text(
            "\n".join(
                json.dumps({"custom_id": line["custom_id"], "response": {"status_code": 200, "body": reply(LOGPROBS)}})
                for line in lines
            ),
            encoding="utf-8",
        )
        assert batch.import_results([results], cache=cache).new == 2
    assert len((await cache.complete(REQUEST)).tokens) == 1
    assert (await cache.complete(PLAIN)).tokens == ()


def test_vllm_gives_them_by_the_number_of_the_token():
    """`Logprob` of vLLM has logprob, rank and decoded_token; a token that was drawn may be none of the likeliest."""

    def place(logprob, text):
        return SimpleNamespace(logprob=logprob, decoded_token=text)

    places = [{7: place(-2.0, "5"), 8: place(-0.3, "4")}, {9: place(0.0, None)}]
    assert vllm._read_tokens([7, 9], places, str) == (
        Token("5", -2.0, (("4", -0.3), ("5", -2.0))),
        Token("", 0.0, (("", 0.0),)),
    )
    assert vllm._read_tokens([7], None, str) == ()
    # Of a given text, whose first token has no probability.
    assert vllm._read_tokens([3, 9], [None, places[1]], str)[0] == Token("[3]", 0.0)


@pytest.mark.llm
def test_a_real_server_gives_them(llama_url):
    schema = {"type": "integer", "enum": [1, 2, 3, 4, 5]}
    request = replace(REQUEST, logprobs=20, schema=schema)
    completion = asyncio.run(OpenAIModel("smollm2", base_url=llama_url).complete(request))
    assert completion.text in "12345"
    assert "".join(token.text for token in completion.tokens).startswith(completion.text)
    for token in completion.tokens:
        assert len(token.top) == 20
        assert token.logprob <= 0
        assert sum(math.exp(logprob) for _, logprob in token.top) <= 1 + 1e-6
        assert list(token.top) == sorted(token.top, key=lambda top: -top[1])
