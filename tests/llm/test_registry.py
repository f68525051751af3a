import asyncio
import re
import sys
import time
from importlib import metadata
from types import SimpleNamespace

import pytest

from imapeval.cli.llm_options import MODEL_SPECS
from imapeval.errors import ResourceError, UsageError
from imapeval.llm import registry
from imapeval.llm.middleware import retry
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.protocol import Message, Request
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.llm.registry import ENTRY_POINT_GROUP, model_identity, open_model


@pytest.mark.parametrize("spec", ["gpt-4.1-mini", "anthropic:claude", "openai:", "openai", "", ":x"])
def test_an_unknown_model_is_an_error_that_lists_the_providers(spec):
    with pytest.raises(UsageError, match="openai:NAME") as caught:
        open_model(spec)
    assert repr(spec) in str(caught.value)


def test_a_name_may_contain_colons():
    model = open_model("openai:qwen3:8b", base_url="http://127.0.0.1:11434/v1")
    assert model.identity == "openai:qwen3:8b@http://127.0.0.1:11434/v1"


@pytest.mark.parametrize("provider", registry.PROVIDERS)
def test_our_providers_can_be_imported(provider):
    assert callable(registry._registered()[provider].load())


def test_the_help_of_llm_names_our_providers():
    named = set(re.findall(r"(\w+):NAME", MODEL_SPECS))
    assert named == set(registry.PROVIDERS), "enter it in MODEL_SPECS (cli/llm_options.py)"


@pytest.mark.parametrize("provider", ["local", "vllm"])
def test_providers_without_a_server_reject_an_address(provider):
    with pytest.raises(UsageError, match="--base-url"):
        open_model(f"{provider}:m", base_url="http://127.0.0.1:1/v1")


def open_other(name, *, base_url, concurrency):
    """The provider of another package."""
    return ScriptedModel(["hello"], identity=f"other:{name}@{base_url}", concurrency=concurrency or 3)


@pytest.fixture
def entry_points(monkeypatch):
    """Install entry points of other packages: the fixture is a dict from their name to their value."""
    entries = {}

    def find(*, group):
        assert group == ENTRY_POINT_GROUP == "imapeval.providers"
        return [metadata.EntryPoint(name, value, group) for name, value in entries.items()]

    monkeypatch.setattr(registry.metadata, "entry_points", find)
    registry._registered.cache_clear()
    yield entries
    registry._registered.cache_clear()


async def test_another_package_adds_a_provider(entry_points, monkeypatch):
    monkeypatch.setitem(sys.modules, "other_package", SimpleNamespace(open=open_other))
    entry_points["other"] = "other_package:open"
    model = open_model("other:grey:1", base_url="http://x/v1")
    assert (model.identity, model.concurrency) == ("other:grey:1@http://x/v1", 3)
    assert model_identity("other:grey") == "other:grey@None"
    assert open_model("other:grey", concurrency=5).concurrency == 5
    assert (await model.complete(Request((Message("user", "x"),)))).text == "hello"
    with pytest.raises(UsageError, match="'other:NAME'"):
        open_model("unknown:x")


def test_a_provider_that_cannot_be_loaded_is_named(entry_points):
    entry_points["absent"] = "absent_package:open"
    with pytest.raises(ResourceError, match="absent = absent_package:open"):
        open_model("absent:m")
    assert open_model("openai:m", base_url="http://127.0.0.1:1/v1").identity == "openai:m@http://127.0.0.1:1/v1"


def open_number(name, *, base_url, concurrency):
    return 42


def open_nothing(name, *, base_url, concurrency):
    return {}[name]


@pytest.mark.parametrize("provider", [open_number, open_nothing])
def test_a_provider_that_opens_no_model_is_named(entry_points, monkeypatch, provider):
    monkeypatch.setitem(sys.modules, "other_package", SimpleNamespace(open=provider))
    entry_points["other"] = "other_package:open"
    for opened in (open_model, model_identity):
        with pytest.raises(ResourceError, match="other = other_package:open"):
            opened("other:m")


def test_two_providers_of_one_name_are_an_error(entry_points):
    entry_points["openai"] = "other_package:open"
    with pytest.raises(ResourceError, match="other_package:open"):
        open_model("openai:m", base_url="http://127.0.0.1:1/v1")


def test_the_cache_is_outermost_and_created_on_first_use(tmp_path):
    model = open_model("openai:m", base_url="http://127.0.0.1:1/v1", cache=tmp_path / "c.sqlite")
    assert isinstance(model, CachedModel)
    assert not list(tmp_path.iterdir())


async def test_rate_limits_apply_to_the_model(faulty):
    model = open_model("openai:m", base_url=faulty.url, rpm=600)
    started = time.monotonic()
    await asyncio.gather(*(model.complete(Request((Message("user", str(number)),))) for number in range(4)))
    assert time.monotonic() - started > 0.29


async def test_transient_failures_are_retried(faulty, monkeypatch):
    monkeypatch.setattr(retry, "_FIRST_PAUSE", 0.01)
    faulty.script = ["drop", *faulty.script]
    model = open_model("openai:m", base_url=faulty.url)
    assert (await model.complete(Request((Message("user", "x"),)))).text == "{}"
