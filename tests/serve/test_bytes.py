"""Whatever bytes come, the answer is a result or an error in the one form, and the server lives on."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from imapeval.serve import schema

if TYPE_CHECKING:
    from tests.serve.conftest import Running

JSON = {"Content-Type": "application/json"}
MODELS = {
    "/score": schema.Assessed,
    "/score-all": schema.AllAssessed,
    "/extract": schema.Extracted,
    "/relate": schema.Related,
}
# The server is the same for all examples; it is what is tested.
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

texts = st.one_of(st.text(max_size=20), st.text(st.characters(), max_size=20), st.sampled_from(["en", "zh", "user"]))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["role", "content", "response"]), inner)
    ),
    max_leaves=6,
)
names = ["response", "question", "reference", "turns", "lang", "id", "answers"]
objects = st.dictionaries(st.sampled_from([*names, "x"]), st.one_of(texts, values), max_size=5)


def check(server: Running, path: str, body: bytes) -> None:
    reply = server.ask("POST", path, body, JSON)
    if reply.status == 200:
        MODELS[path].model_validate_json(reply.body, strict=True)
    else:
        assert reply.error[0] in (400, 422)


@quick
@given(path=st.sampled_from([*MODELS]), body=st.binary(max_size=60))
def test_any_bytes(server: Running, path: str, body: bytes):
    check(server, path, body)


@quick
@given(path=st.sampled_from([*MODELS]), body=st.one_of(objects, values))
def test_any_json(server: Running, path: str, body: Any):
    check(server, path, json.dumps(body).encode())


@quick
@given(
    question=st.text(st.characters(), max_size=30),
    reference=st.one_of(st.none(), texts, st.lists(texts, max_size=3)),
    response=st.one_of(st.none(), texts),
)
def test_any_texts_are_a_result(server: Running, question: str, reference: Any, response: Any):
    reply = server.post("/score", {"question": question, "reference": reference, "response": response})
    assert reply.status == 200
    told = schema.Assessed.model_validate_json(reply.body, strict=True)
    assert (told.score is None) == (told.failure is not None)


@quick
@given(sent=st.one_of(st.binary(max_size=80), st.text(max_size=40).map(lambda path: f"GET /{path} HTTP/1.1".encode())))
def test_what_is_no_http(server: Running, sent: bytes):
    told = server.send(sent + b"\r\n\r\n")
    assert not told or told.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 ", b"HTTP/1.1 404 "))
    if told.startswith(b"HTTP/1.1 400 "):
        assert json.loads(told.partition(b"\r\n\r\n")[2])["error"]["kind"] == "bad-http"
    assert server.ask("GET", "/health").status == 200


def test_heads_that_are_too_long(server: Running):
    # What is not read any more may cost the client the answer.
    with contextlib.suppress(OSError):
        told = server.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000 + b"\r\n\r\n")
        assert told.startswith(b"HTTP/1.1 400 ")
    assert server.ask("GET", "/health").status == 200


def test_lengths_that_are_none(server: Running):
    for length in (b"-1", b"1e3", b"x", b"99999999999999999999"):
        head = b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
        told = server.send(head + length + b"\r\n\r\n{}")
        assert told.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 413 "))
