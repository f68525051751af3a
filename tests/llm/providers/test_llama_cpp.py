import asyncio
import contextlib
import gc
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

import pytest

from imapeval._optional import installed
from imapeval.errors import MissingExtraError, ProviderError, ResourceError, ServiceError, UsageError
from imapeval.llm.protocol import Message, Request
from imapeval.llm.providers import llama_cpp, weights
from imapeval.llm.providers.llama_cpp import LlamaCppModel
from imapeval.llm.providers.openai import OpenAIModel
from imapeval.llm.registry import open_model

needs_llama = pytest.mark.skipif(not installed("xllamacpp"), reason="needs the extra 'local'")
needs_weights = pytest.mark.skipif(
    not installed("xllamacpp") or weights.get("smollm2").locate() is None,
    reason="needs what CONTRIBUTING.md names: the extra 'local' and the weights of SmolLM2",
)

WORD = Request((Message("user", "Say yes."),), max_tokens=4)


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    """Threads of a server that shares its processors with other tests wait for each other, busily."""
    monkeypatch.setattr(llama_cpp, "_count_cores", lambda: 1)


@pytest.fixture
def gguf(tmp_path):
    """A file with the right beginning, and nothing after it."""
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(1000))
    return path


async def answer(model):
    """Ask the least; a weak model may come to no end, which is an answer as well."""
    with contextlib.suppress(ProviderError):
        await model.complete(WORD)


def listens(address):
    parts = urlsplit(address)
    with socket.socket() as probe:
        return probe.connect_ex((parts.hostname, parts.port)) == 0


def wait_until_silent(address):
    deadline = time.monotonic() + 15
    while listens(address):
        assert time.monotonic() < deadline, f"a server still listens at {address}"
        time.sleep(0.05)


def test_without_the_package_the_extra_is_named(gguf, monkeypatch):
    monkeypatch.setattr(llama_cpp, "installed", lambda _: False)
    with pytest.raises(MissingExtraError, match=r"pip install 'imapeval\[local\]'"):
        open_model(f"local:{gguf}")


@needs_llama
def test_missing_weights_are_an_error_at_once(tmp_path):
    with pytest.raises(ResourceError, match="qwen3-8b"):
        open_model("local:qwen3-8b")
    with pytest.raises(UsageError, match=r"\.gguf"):
        open_model(f"local:{tmp_path / 'absent.gguf'}")


@needs_llama
def test_the_identity_is_of_the_file_and_not_of_its_place(gguf, tmp_path):
    before = LlamaCppModel(str(gguf)).identity
    # By `(printf GGUF; head -c 1000 /dev/zero) | sha256sum`.
    assert before == "local:broken#08421f85"
    (tmp_path / "elsewhere").mkdir()
    moved = gguf.rename(tmp_path / "elsewhere" / gguf.name)
    assert LlamaCppModel(str(moved)).identity == before
    gguf.write_bytes(b"GGUF")
    assert LlamaCppModel(str(gguf)).identity != before


@needs_llama
def test_nothing_starts_before_the_first_request(gguf, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("started"))
    assert open_model(f"local:{gguf}").concurrency == 1
    assert open_model(f"local:{gguf}", concurrency=3).concurrency == 3


@pytest.mark.llm
@needs_llama
async def test_weights_that_llama_cannot_read_end_the_run(gguf):
    model = LlamaCppModel(str(gguf))
    for _ in range(2):
        with pytest.raises(ServiceError, match=r"broken\.gguf.* status 1\..*GGUF") as caught:
            await model.complete(WORD)
        assert caught.value.kind == "unreachable"


async def test_a_process_that_cannot_be_made_ends_the_run(gguf, monkeypatch):
    monkeypatch.setattr(llama_cpp, "installed", lambda _: True)
    monkeypatch.setattr(sys, "executable", "/absent/python")
    with pytest.raises(ServiceError, match=r"llama\.cpp"):
        await LlamaCppModel(str(gguf)).complete(WORD)


@pytest.mark.parametrize("refused", ["_run", "_keep_log"])
async def test_a_thread_that_cannot_be_started_ends_the_run(gguf, monkeypatch, refused):
    start = threading.Thread.start

    def refuse(thread):
        if f"({refused})" in thread.name:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(llama_cpp, "installed", lambda _: True)
    monkeypatch.setattr(sys, "executable", shutil.which("true"))
    monkeypatch.setattr(threading.Thread, "start", refuse)
    model = LlamaCppModel(str(gguf))
    for _ in range(2):
        with pytest.raises(ServiceError) as caught:
            await asyncio.wait_for(model.complete(WORD), 5)
        assert caught.value.kind == "unreachable"


async def test_no_proxy_is_asked_for_a_server_on_this_computer(faulty, unused_url, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, unused_url)
    assert (await OpenAIModel("stub", base_url=faulty.url).complete(WORD)).text == "{}"


@pytest.mark.llm
@needs_weights
async def test_one_server_answers_all_and_ends_with_the_model(capfd, caplog):
    llama_cpp._warn_of_weakness.cache_clear()
    model = open_model("local:smollm2")
    assert model.identity == "local:smollm2#b179c952"
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "far too weak" in caplog.text

    # What it reads is tested with the same model behind an address: test_imaps_llama.py.
    await asyncio.gather(answer(model), answer(model))

    started = [part for part in gc.get_objects() if isinstance(part, llama_cpp._Server) and part._process is not None]
    (server,) = [part for part in started if part._process.poll() is None]
    address = server.start().result()
    assert address.startswith("http://127.0.0.1:")
    assert listens(address)
    if hasattr(os, "getsid"):
        assert os.getsid(server._process.pid) != os.getsid(0), "Ctrl-C would reach it"
    assert capfd.readouterr() == ("", "")
    del model
    gc.collect()
    assert not listens(address)


@pytest.mark.llm
@needs_weights
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_a_server_that_dies_ends_the_run():
    model = LlamaCppModel("smollm2")
    await answer(model)
    os.kill(model._server._process.pid, signal.SIGKILL)
    with pytest.raises(ServiceError, match=r"'local:smollm2'.* signal 9 ") as caught:
        await model.complete(WORD)
    assert caught.value.kind == "unreachable"


PARENT = """
import asyncio, sys
from imapeval.errors import ProviderError
from imapeval.llm.protocol import Message, Request
from imapeval.llm.providers import llama_cpp

async def main():
    try:
        await model.complete(Request((Message("user", "Say yes."),), max_tokens=1))
    except ProviderError:
        pass

llama_cpp._count_cores = lambda: 1
model = llama_cpp.LlamaCppModel("smollm2")
asyncio.run(main())
print(model._server.start().result(), flush=True)
sys.stdin.read()
"""


@pytest.mark.llm
@needs_weights
@pytest.mark.parametrize("how", ["killed", "ends"])
def test_no_server_is_left_behind(how):
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        address = process.stdout.readline().strip()
        assert listens(address)
        if how == "killed":
            process.kill()
    wait_until_silent(address)
