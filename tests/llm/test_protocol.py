import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.llm.protocol import Message, Request, canonical_json

REQUEST = Request((Message("user", "头痛"),), schema={"type": "object"}, seed=1)

requests = st.builds(
    Request,
    st.lists(st.builds(Message, st.sampled_from(["system", "user"]), st.text(max_size=3)), max_size=2).map(tuple),
    schema=st.none() | st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    max_tokens=st.integers(1, 3),
    temperature=st.sampled_from([0.0, 0.9]),
    seed=st.none() | st.integers(0, 1),
    logprobs=st.integers(0, 1),
    given=st.sampled_from(["", "x"]),
)


def test_canonical_holds_the_whole_request():
    # As written before requests could ask for probabilities, or be about a given text: caches are found by it.
    assert json.loads(canonical_json(REQUEST, "openai:m")) == {
        "identity": "openai:m",
        "messages": [{"role": "user", "content": "头痛"}],
        "schema": {"type": "object"},
        "schema_name": "answer",
        "json": False,
        "max_tokens": 2048,
        "temperature": 0.0,
        "seed": 1,
    }


@given(requests)
def test_canonical_is_plain_json_of_all_fields(request_):
    fields = {"identity": "m", **dataclasses.asdict(request_)}
    for name in ("logprobs", "given"):
        if not fields[name]:
            del fields[name]
    assert canonical_json(request_, "m") == json.dumps(fields, sort_keys=True, separators=(",", ":"))


@given(requests, requests)
def test_canonical_differs_exactly_where_requests_differ(one, other):
    assert (canonical_json(one, "m") == canonical_json(other, "m")) == (one == other)
    assert canonical_json(one, "m") != canonical_json(one, "n")
    assert canonical_json(one, "m").isascii()


def test_a_request_that_is_no_json_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(Request((), temperature=float("nan")), "m")
