import asyncio
import time

import pytest

from imapeval.errors import UsageError
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.protocol import Message, Request
from imapeval.llm.registry import open_model


@pytest.mark.parametrize("spec", ["gpt-4.1-mini", "anthropic:claude", "openai:", "openai", "", ":x"])
def test_unknown_models_are_refused_by_naming_the_known(spec):
    with pytest.raises(UsageError, match=r"'openai:NAME'.*--base-url"):
        open_model(spec)


def test_a_name_may_hold_colons():
    model = open_model("openai:qwen3:8b", base_url="http://127.0.0.1:11434/v1")
    assert model.identity == "openai:qwen3:8b@http://127.0.0.1:11434/v1"


def test_a_cache_is_put_before_the_model_and_made_when_used(tmp_path):
    model = open_model("openai:m", base_url="http://127.0.0.1:1/v1", cache=tmp_path / "c.sqlite")
    assert isinstance(model, CachedModel)
    assert not list(tmp_path.iterdir())


async def test_limits_by_the_minute_reach_the_model(faulty):
    model = open_model("openai:m", base_url=faulty.url, rpm=600)
    begun = time.monotonic()
    await asyncio.gather(*(model.complete(Request((Message("user", str(number)),))) for number in range(4)))
    assert time.monotonic() - begun > 0.29


async def test_what_passes_is_tried_again(faulty):
    faulty.script = ["drop", *faulty.script]
    model = open_model("openai:m", base_url=faulty.url)
    assert (await model.complete(Request((Message("user", "x"),)))).text == "{}"
