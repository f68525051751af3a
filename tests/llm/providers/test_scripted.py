import pytest

from imapeval.errors import ProviderError
from imapeval.llm.protocol import Message, Request
from imapeval.llm.providers.scripted import ScriptedModel

REQUEST = Request((Message("user", "hello"),))


async def test_replies_in_order_and_records_requests():
    model = ScriptedModel(["one", ProviderError("busy", kind="rate-limit"), "two"])
    assert (await model.complete(REQUEST)).text == "one"
    with pytest.raises(ProviderError, match="busy"):
        await model.complete(REQUEST)
    assert (await model.complete(REQUEST)).text == "two"
    assert model.requests == [REQUEST] * 3
    with pytest.raises(IndexError):
        await model.complete(REQUEST)


async def test_replies_by_function():
    model = ScriptedModel(lambda request: request.messages[0].content.upper())
    completion = await model.complete(REQUEST)
    assert (completion.text, completion.finish_reason, completion.cached) == ("HELLO", "stop", False)
