"""The wire format: what servers say, in the words that they use."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.errors import ProviderError, ServiceError
from imapeval.llm.protocol import Message, Request, Usage
from imapeval.llm.providers import chat_format
from imapeval.redaction import register_url_secrets

SCHEMA = {"type": "object"}
REQUEST = Request((Message("user", "头痛?"),), SCHEMA, max_tokens=9)
SENDER = "the model 'm' at http://x/v1"


def error(message="no", **fields):
    return {"error": {"message": message, **fields}}


# (what it is, status, body, kind). Bodies as measured on vLLM 0.32.0 and llama.cpp (xllamacpp 2026.10), and as quoted
# in the issues named.
FAULTS = [
    (
        "OpenAI, THUDM/LongBench#104",
        400,
        error("This model's maximum context length is 8192 tokens. However, ...", code="context_length_exceeded"),
        "too-long",
    ),
    (
        "vLLM",
        400,
        error("This model's maximum context length is 8192 tokens. ...", param="input_tokens", code=400),
        "too-long",
    ),
    ("vLLM", 400, error("max_tokens=9000 cannot be greater than max_model_len=8192. ...", code=400), "too-long"),
    (
        "SGLang, QwenLM/Qwen3#1321",
        400,
        {
            "object": "error",
            "message": "The input (61709 tokens) is longer than the model's context length ...",
            "code": 400,
        },
        "too-long",
    ),
    (
        "llama.cpp, oobabooga/textgen#7257",
        400,
        error("the request exceeds the available context size", type="exceed_context_size_error", code=400),
        "too-long",
    ),
    (
        "llama.cpp at first, ggml-org/llama.cpp#15780",
        500,
        error("the request exceeds the available context size", type="exceed_context_size_error", code=500),
        "too-long",
    ),
    ("a proxy", 413, "<html>413 Request Entity Too Large</html>", "too-long"),
    ("vLLM", 400, error("Grammar error: Invalid type: nonsense", type="BadRequestError", code=400), "unsupported"),
    (
        "vLLM",
        400,
        error("6 validation errors: {'loc': 'body.response_format.type'}", param="body.response_format.type", code=400),
        "unsupported",
    ),
    (
        "OpenAI",
        400,
        error("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."),
        "unsupported",
    ),
    (
        "LM Studio, bhimrazy/receipt-ocr#20",
        400,
        {"error": "'response_format.type' must be 'json_schema'"},
        "unsupported",
    ),
    ("DeepSeek, crewAIInc/crewAI#6357", 400, error("This response_format type is unavailable now"), "unsupported"),
    (
        "Azure, compl-ai/compl-ai#20",
        400,
        error("The response was filtered due to the prompt ...", param="prompt", code="content_filter"),
        "refusal",
    ),
    ("OpenRouter", 403, error("Your input was flagged", code=403, metadata={"reasons": ["violence"]}), "refusal"),
    ("any", 400, error("messages: field required"), "bad-request"),
    ("any", 401, error("Incorrect API key provided: sk-***"), "auth"),
    ("any", 403, error("You are not allowed to sample from this model"), "auth"),
    ("OpenRouter", 402, error("Insufficient credits", code=402), "no-credit"),
    ("OpenAI", 429, error("You exceeded your current quota", code="insufficient_quota"), "no-credit"),
    ("OpenAI", 429, error("Rate limit reached", code="rate_limit_exceeded"), "rate-limit"),
    (
        "vLLM",
        404,
        error("The model `nope` does not exist.", type="NotFoundError", param="model", code=404),
        "not-found",
    ),
    ("vLLM, wrong path", 404, {"detail": "Not Found"}, "not-found"),
    ("Azure, BerriAI/litellm#8572", 404, error("Resource not found", code="404"), "not-found"),
    ("OpenRouter, dnakov/anon-kode#2", 404, error("No endpoints found for x/y.", code=404), "not-found"),
    ("llama.cpp while it loads", 503, error("Loading model", type="unavailable_error", code=503), "server"),
    ("a proxy", 502, "<html>502 Bad Gateway</html>", "server"),
    ("a proxy", 504, "", "timeout"),
    ("nobody", 418, "[]", "bad-request"),
    ("nobody", 500, "[" * 100_000, "server"),
]


@pytest.mark.parametrize(("who", "status", "body", "kind"), FAULTS)
def test_each_servers_words_are_understood(who, status, body, kind):
    text = body if isinstance(body, str) else json.dumps(body)
    raised = chat_format.to_error(chat_format.ErrorReply.parse(status, text), REQUEST, sender=SENDER)
    assert raised.kind == kind, who
    assert isinstance(raised, ServiceError if kind in ("auth", "not-found", "no-credit") else ProviderError)
    assert SENDER in str(raised)
    if isinstance(body, dict) and "error" in body:
        said = body["error"]
        assert (said if isinstance(said, str) else said["message"]) in str(raised)


def test_only_a_request_with_a_form_can_be_refused_its_form():
    fault = chat_format.ErrorReply.parse(400, json.dumps(error("Grammar error: x")))
    plain = Request(REQUEST.messages)
    assert chat_format.to_error(fault, plain, sender=SENDER).kind == "bad-request"
    assert chat_format.to_error(fault, Request(REQUEST.messages, json=True), sender=SENDER).kind == "unsupported"


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (404, "<html>404 default backend</html>", "server"),
        (403, "<html>403 blocked by the firewall</html>", "bad-request"),
        (404, json.dumps(error("The model `m` does not exist.")), "not-found"),
        (404, json.dumps([error("models/m is not found", code=404, status="NOT_FOUND")]), "not-found"),
        (401, "<html>401</html>", "auth"),
    ],
)
def test_a_foreign_page_from_a_server_that_answered_before_does_not_end_the_run(status, body, kind):
    assert (
        chat_format.to_error(chat_format.ErrorReply.parse(status, body), REQUEST, sender=SENDER, answered=True).kind
        == kind
    )


def test_a_refused_key_is_named():
    for body in (error("Incorrect API key provided"), "<html>401</html>"):
        fault = chat_format.ErrorReply.parse(401, body if isinstance(body, str) else json.dumps(body))
        assert f"{SENDER} refused the key (status 401" in str(chat_format.to_error(fault, REQUEST, sender=SENDER))


def test_a_missing_key_is_named():
    raised = chat_format.to_error(chat_format.ErrorReply.parse(401, "{}"), REQUEST, sender=SENDER, keyed=False)
    assert "OPENAI_API_KEY" in str(raised)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (Request(REQUEST.messages, json=True), {"type": "json_object"}),
        (Request(REQUEST.messages), None),
        (
            REQUEST,
            {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}},
        ),
    ],
)
def test_the_form_that_is_asked_for(request_, expected):
    assert chat_format.request_body(request_, "m").get("response_format") == expected


FORBIDDEN = {
    "detail": [
        {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": 1},
    ]
}

REFUSALS = [
    # OpenAI's reasoning models; Mai-with-u/MaiBot#1406, decolua/9router#560
    (
        error(
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is "
            "supported.",
            param="temperature",
            code="unsupported_value",
        ),
        {"max_tokens": 9, "seed": 1},
    ),
    (
        error(
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        ),
        {"temperature": 0.0, "max_completion_tokens": 9, "seed": 1},
    ),
    (error("Unrecognized request argument supplied: 'seed'"), {"temperature": 0.0, "max_tokens": 9}),
    (error("`temperature` is not supported with this model"), {"max_tokens": 9, "seed": 1}),
    # Mistral: editor-code-assistant/eca#231, and as a text, mistralai/platform-docs-public#7.
    ({"object": "error", "message": FORBIDDEN, "param": None}, {"temperature": 0.0, "max_tokens": 9}),
    ({"object": "error", "message": json.dumps(FORBIDDEN), "param": None}, {"temperature": 0.0, "max_tokens": 9}),
    # Google: Vali-98/ChatterUI#227.
    (
        [error('Invalid JSON payload received. Unknown name "seed": Cannot find field.', code=400)],
        {"temperature": 0.0, "max_tokens": 9},
    ),
]


@pytest.mark.parametrize(("said", "sent"), REFUSALS)
def test_what_a_model_refuses_is_left_out(said, sent):
    request = Request((), max_tokens=9, seed=1)
    body = chat_format.request_body(request, "m")
    name = chat_format.find_unsupported_parameter(
        chat_format.ErrorReply.parse(400, json.dumps(said)), body, frozenset()
    )
    assert name is not None
    assert chat_format.request_body(request, "m", refused=frozenset({name})) == {"model": "m", "messages": [], **sent}


@pytest.mark.parametrize(
    "said",
    [
        error("max_tokens is too large: 9000. This model supports at most 4096 completion tokens.", param="max_tokens"),
        error("temperature must be non-negative, got -1.0.", param="temperature", code=400),
        error("'max_tokens' is too large. This model's maximum context length is 9; not supported", param="max_tokens"),
    ],
)
def test_a_wrong_value_is_not_left_out(said):
    body = chat_format.request_body(REQUEST, "m")
    assert (
        chat_format.find_unsupported_parameter(chat_format.ErrorReply.parse(400, json.dumps(said)), body, frozenset())
        is None
    )


@pytest.mark.parametrize(
    "said",
    [
        error('tool calls not supported; request {"model":"m","temperature":0}'),
        error("tool calls not supported; request {'seed': None, 'temperature': 0.0, 'logprobs': True}"),
        # The format of FastAPI, in which the input is part of the request.
        {
            "detail": [
                {
                    "type": "literal_error",
                    "loc": ["body", "response_format"],
                    "msg": "unexpected",
                    "input": {"temperature": 0, "seed": 1},
                }
            ]
        },
    ],
)
def test_what_an_error_quotes_of_the_request_is_not_left_out(said):
    body = chat_format.request_body(Request((), max_tokens=9, seed=1), "m")
    fault = chat_format.ErrorReply.parse(422, json.dumps(said))
    assert chat_format.find_unsupported_parameter(fault, body, frozenset()) is None


def test_the_limit_is_never_left_out_altogether():
    said = json.dumps(error("Unknown parameter: 'max_completion_tokens'", param="max_completion_tokens"))
    refused = frozenset({"max_tokens"})
    body = chat_format.request_body(REQUEST, "m", refused=refused)
    assert chat_format.find_unsupported_parameter(chat_format.ErrorReply.parse(400, said), body, refused) is None


def test_what_the_error_advises_to_send_is_not_refused():
    said = json.dumps(error("Unsupported parameter: 'max_completion_tokens'. Use 'max_tokens' instead."))
    fault = chat_format.ErrorReply.parse(400, said)
    body = chat_format.request_body(REQUEST, "m")
    assert "max_tokens" in body
    assert chat_format.find_unsupported_parameter(fault, body, frozenset()) is None


def reply(content="{}", *, finish_reason="stop", usage=None, **message):
    return json.dumps(
        {"choices": [{"finish_reason": finish_reason, "message": {"content": content, **message}}], "usage": usage}
    )


def test_thinking_is_no_part_of_the_answer():
    completion = chat_format.parse_reply(reply("text", reasoning_content="hm", reasoning="hm"), REQUEST, sender=SENDER)
    assert completion.text == "text"
    with pytest.raises(ProviderError, match="'m'"):
        chat_format.parse_reply(reply(None, reasoning_content="hm"), REQUEST, sender=SENDER)


def test_usage_is_read_in_every_form():
    full = {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    assert chat_format.parse_reply(reply(usage=full), REQUEST, sender=SENDER).usage == Usage(5, 2, 4)
    bare = {"prompt_tokens": 5, "completion_tokens": None, "prompt_tokens_details": None}
    assert chat_format.parse_reply(reply(usage=bare), REQUEST, sender=SENDER).usage == Usage(5, 0)
    assert chat_format.parse_reply(reply(), REQUEST, sender=SENDER).usage == Usage(0, 0)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": '{"score"'}, {"type": "text", "text": ": 4}"}], '{"score": 4}'),
        ([{"type": "output_text", "text": "four"}], "four"),
        ([{"text": "four"}], "four"),
        (["fo", "ur"], "four"),
        ({"type": "text", "text": "four"}, "four"),
        # Mistral's reasoning models.
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "5?"}]}, {"type": "text", "text": "4"}], "4"),
        ([{"type": "image_url", "image_url": {"url": "x"}}, None, 3, {"type": "text", "text": "four"}], "four"),
    ],
)
def test_a_content_of_parts_is_joined(content, text):
    assert chat_format.parse_reply(reply(content), REQUEST, sender=SENDER).text == text


@pytest.mark.parametrize("content", [None, "", " ", [], [{"type": "text"}], [{"type": "text", "text": 4}], {}, 4, True])
def test_a_reply_without_text_reports_its_usage(content):
    with pytest.raises(ProviderError) as caught:
        chat_format.parse_reply(
            reply(content, usage={"prompt_tokens": 5, "completion_tokens": 2}), REQUEST, sender=SENDER
        )
    assert (caught.value.kind, caught.value.tokens) == ("unreadable-reply", (5, 2))


def test_a_reply_without_a_choice_may_cost_something():
    said = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 0}}
    for bill, tokens in ((said, (5, 0)), ({"choices": []}, None), ({"usage": "much"}, None)):
        with pytest.raises(ProviderError) as caught:
            chat_format.parse_reply(json.dumps(bill), REQUEST, sender=SENDER)
        assert (caught.value.kind, caught.value.tokens) == ("unreadable-reply", tokens)


@pytest.mark.parametrize(
    ("extra", "kind"),
    [
        ('"error": {"message": "overloaded"}', "unreadable-reply"),
        ('"error": {"message": "overloaded", "code": 502}', "server"),
        ('"choices": [{"message": {"content": "4"}}]', "unreadable-reply"),
    ],
)
def test_an_error_or_a_second_text_beside_a_text(extra, kind):
    said = f'{{"usage": {{"prompt_tokens": 5}}, "choices": [{{"message": {{"content": "3"}}}}], {extra}}}'
    with pytest.raises(ProviderError) as caught:
        chat_format.parse_reply(said, REQUEST, sender=SENDER)
    assert (caught.value.kind, caught.value.tokens) == (kind, (5, 0))


def test_a_text_that_looks_like_a_second_one():
    text = '"content": "content": 4'
    said = json.loads(reply(text))
    said["choices"][0]["logprobs"] = {"content": []}
    said |= {"error": None, "prompt": {"content": "q"}}
    assert chat_format.parse_reply(json.dumps(said), REQUEST, sender=SENDER).text == text


def test_a_refusal_may_be_a_part():
    with pytest.raises(ProviderError) as caught:
        chat_format.parse_reply(reply([{"type": "refusal", "refusal": "I won't."}]), REQUEST, sender=SENDER)
    assert (caught.value.kind, caught.value.raw) == ("refusal", "I won't.")


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"prompt_tokens": 5.0, "completion_tokens": 2.0}, Usage(5, 2)),
        ({"prompt_tokens": "5", "completion_tokens": "2"}, Usage(5, 2)),
        ({"prompt_tokens": "5.0", "completion_tokens": 2}, Usage(5, 2)),
        (
            {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": "4"}},
            Usage(5, 2, 4),
        ),
        # More cannot be reused than was asked; else the price would be negative.
        ({"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 9}}, Usage(5, 2, 5)),
        ({"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": "none"}, Usage(5, 2)),
        # Half of it would be too cheap.
        ({"prompt_tokens": 5, "completion_tokens": "many"}, Usage(0, 0)),
        ({"prompt_tokens": -5, "completion_tokens": 2}, Usage(0, 0)),
        ({"prompt_tokens": 1e300, "completion_tokens": 2}, Usage(0, 0)),
        ({"prompt_tokens": "9" * 5000, "completion_tokens": 2}, Usage(0, 0)),
        ({"prompt_tokens": float("nan"), "completion_tokens": 2}, Usage(0, 0)),
        ({"prompt_tokens": True, "completion_tokens": [2]}, Usage(0, 0)),
        ("12 tokens", Usage(0, 0)),
        ([5, 2], Usage(0, 0)),
    ],
)
def test_no_usage_costs_a_completion(usage, read):
    completion = chat_format.parse_reply(reply("text", usage=usage), REQUEST, sender=SENDER)
    assert (completion.text, completion.usage) == ("text", read)


def test_invalid_unused_fields_do_not_lose_the_completion():
    said = {"choices": [{"finish_reason": 1, "message": {"content": "text", "refusal": False}}], "model": None}
    completion = chat_format.parse_reply(json.dumps(said), REQUEST, sender=SENDER)
    assert (completion.text, completion.finish_reason, completion.model) == ("text", "", "")


def test_a_byte_order_mark_and_half_an_emoji_do_not_lose_the_completion():
    said = reply("rest ?").encode().replace(b"?", b"\\ud83d")
    assert chat_format.parse_reply(said, REQUEST, sender=SENDER).text == "rest ?"
    assert chat_format.parse_reply(b"\xef\xbb\xbf" + reply("rest").encode(), REQUEST, sender=SENDER).text == "rest"


def test_a_byte_order_mark_changes_nothing_else():
    mark = b"\xef\xbb\xbf"
    # A second field of the name of the text is looked for by parsing the reply again.
    said = {**json.loads(reply("rest")), "extra": {"content": 1}}
    assert chat_format.parse_reply(mark + json.dumps(said).encode(), REQUEST, sender=SENDER).text == "rest"
    nothing = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}
    with pytest.raises(ProviderError) as caught:
        chat_format.parse_reply(mark + json.dumps(nothing).encode(), REQUEST, sender=SENDER)
    assert caught.value.tokens == (3, 1)
    with pytest.raises(ProviderError) as caught:
        chat_format.parse_reply(mark + json.dumps(error("upstream", code=429)).encode(), REQUEST, sender=SENDER)
    assert caught.value.kind == "rate-limit"


def test_a_truncation_reports_its_usage():
    with pytest.raises(ProviderError) as caught:
        chat_format.parse_reply(
            reply("ha", finish_reason="length", usage={"prompt_tokens": 5, "completion_tokens": 9}),
            REQUEST,
            sender=SENDER,
        )
    assert (caught.value.kind, caught.value.raw, caught.value.tokens) == ("truncated", "ha", (5, 9))


@pytest.mark.parametrize(("code", "kind"), [(429, "rate-limit"), (502, "server"), ("oops", "unreadable-reply")])
def test_an_error_with_status_200_is_still_an_error(code, kind):
    """OpenRouter, once it has begun to reply."""
    with pytest.raises(ProviderError) as caught:
        chat_format.parse_reply(json.dumps(error("upstream", code=code)), REQUEST, sender=SENDER)
    assert caught.value.kind == kind


@given(
    st.binary()
    | st.recursive(
        st.none() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(st.sampled_from(["error", "choices", "message", "code", "content", "usage"]), x)
        ),
    ).map(lambda x: json.dumps(x).encode())
)
def test_no_reply_crashes_the_reader(content):
    # Anything else that is raised, or a completion without text, is a fault.
    with contextlib.suppress(ProviderError, ServiceError):
        assert chat_format.parse_reply(content, REQUEST, sender=SENDER).text.strip()
    chat_format.to_error(chat_format.ErrorReply.parse(400, content.decode(errors="replace")), REQUEST, sender=SENDER)


@pytest.mark.parametrize("text", ["Take a rest.", "\\u0072\\u0065\\u0073\\u0074", "(rest)"])
def test_a_completion_that_repeats_a_password_is_a_failure(text):
    """A word that is missing might change what is read."""
    reply = f'{{"choices": [{{"message": {{"content": "{text}"}}}}], "usage": {{"prompt_tokens": 5}}}}'
    register_url_secrets("http://rest:7Kx2@h/v1?user=rest")
    assert chat_format.parse_reply(reply, REQUEST, sender=SENDER).text
    # Without a password, the user is a key.
    register_url_secrets("http://rest@h/v1")
    with pytest.raises(ProviderError) as failed:
        chat_format.parse_reply(reply, REQUEST, sender=SENDER)
    assert failed.value.kind == "repeats-password"
    assert failed.value.tokens == (5, 0)
    assert "[redacted]" in str(failed.value.raw)


@pytest.mark.parametrize("damaged", [float("nan"), float("inf"), 2.0])
def test_numbers_that_are_no_log_probabilities_are_not_used(damaged):
    request = Request((Message("user", "头痛?"),), logprobs=1)
    for own, other, count in ((-0.1, -2.0, 1), (damaged, -2.0, 0), (-0.1, damaged, 0)):
        said = json.loads(reply("3"))
        top = [{"token": "4", "logprob": other}]
        said["choices"][0]["logprobs"] = {"content": [{"token": "3", "logprob": own, "top_logprobs": top}]}
        completion = chat_format.parse_reply(json.dumps(said), request, sender=SENDER)
        assert (completion.text, len(completion.tokens)) == ("3", count)
