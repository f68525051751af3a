"""What must not be shown is found neither in what commands print nor in any file that they leave, nor are files open to
others: a real server that repeats all that it was sent, and a real terminal.

What a process adds, its streams and its last word about errors, is tried once; else commands run in this process."""

import base64
import json
import os
import pty
import re
import stat
import subprocess
import sys
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from imapeval.errors import UsageError
from imapeval.evaluation.pipeline import Pipeline
from imapeval.evaluation.workers import BatchScorer
from imapeval.types import Sample
from tests.cli.conftest import Command, WriteData

KEY = "sk-echo-0123456789"
PASSWORD = "pass-word-1"
SIGNATURE = "long-value-0123456789"
BASIC = base64.b64encode(f"somebody:{PASSWORD}".encode()).decode()
SECRETS = (KEY, PASSWORD, SIGNATURE, BASIC)
SHORT = ("quark", "zebra", "47k1")  # no digits of a hash or of a time
"""User, password and value of a query."""
ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e"
COMMAND = (sys.executable, "-m", "imapeval")


class EchoServer(ThreadingHTTPServer):
    """Repeats the head of a request, with escape sequences, in the way that `form` says."""

    daemon_threads = True
    form = "completion"
    escaped = False
    """Whether secrets are written as the escapes of JSON."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.paths: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: EchoServer

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.paths.append(self.path)
        login = self.headers.get("Authorization") or ""
        plain = base64.b64decode(login[6:]).decode() if login.startswith("Basic ") else ""
        sent = f"{self.path} {login} {plain} {' and '.join(plain.split(':'))} {ESCAPES}"
        match self.server.form:
            case "completion":
                status, reply = 200, _complete(f"I was sent {sent}.")
            case "facts":
                status, reply = 200, _complete(json.dumps({"query": [{"term": sent, "value": "?"}], "constraint": []}))
            case "refused key":
                status, reply = 401, {"error": {"message": f"the key is wrong: {sent}"}}
            case "bad request":
                status, reply = 400, {"error": {"message": "x" * 262 + sent}}
            case _:
                status, reply = 200, {"unknown": sent}
        content = json.dumps(reply, ensure_ascii=False).encode()
        if self.server.escaped:
            for secret in (*SECRETS, *SHORT):
                content = content.replace(secret.encode(), "".join(f"\\u{ord(each):04x}" for each in secret).encode())
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def _complete(text: str) -> dict[str, object]:
    return {"choices": [{"finish_reason": "stop", "message": {"content": text}}]}


@pytest.fixture
def echo(run_server: Callable[..., EchoServer]) -> EchoServer:
    return run_server(EchoServer())


@pytest.fixture
def data(write_data: WriteData) -> Path:
    return write_data([Sample("a", "What helps?", ("Rest.",), "Ice.")])


@pytest.fixture
def run(imapeval: Command, monkeypatch: pytest.MonkeyPatch, apart: None) -> Iterator[Command]:
    """Run a command here as a process with the usual umask would."""

    def call(*args: str | Path) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["imapeval", *map(str, args)])
        # A process knows no secrets of those before it.
        monkeypatch.setattr("imapeval.redaction._registered", set())
        monkeypatch.setattr("imapeval.redaction._logins", set())
        monkeypatch.setattr("imapeval.redaction._users", set())
        return imapeval(*args)

    before = os.umask(0o022)
    yield call
    os.umask(before)


def run_process(folder: Path, *args: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return subprocess.run(
        [*COMMAND, *map(str, args)],
        cwd=folder,
        env=kept | {"IMAPEVAL_CACHE": str(folder / "cache"), **environment},
        capture_output=True,
        encoding="utf-8",
        umask=0o022,
    )


def check(folder: Path, done: subprocess.CompletedProcess[str], secrets: Iterable[str] = SECRETS) -> None:
    """Look for secrets and escape sequences, and at the modes of all files but the data."""
    printed = done.stdout + done.stderr
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", printed)
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in ("data.jsonl", ".lock")]
    assert files
    for secret in secrets:
        assert secret[:10] not in printed
        assert [path for path in files if secret[:10].encode() in path.read_bytes()] == []
    assert {path: oct(path.stat().st_mode) for path in files if path.stat().st_mode & 0o077} == {}


FORMS = ["completion", "facts", "refused key", "bad request"]
SCORE = ("score", "data.jsonl", "--out", "run", "--llm", "openai:m", "--metrics", "imapscore,rouge1")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("escaped", [False, True])
def test_a_key_that_the_server_repeats_is_nowhere(
    form: str, escaped: bool, echo: EchoServer, data: Path, run: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    echo.form, echo.escaped = form, escaped
    done = run(*SCORE, "--base-url", echo.url)
    assert echo.paths
    assert "[redacted]" in done.stderr or "[redacted]" in (data.parent / "run/results.jsonl").read_text()
    check(data.parent, done)
    monkeypatch.delenv("OPENAI_API_KEY")
    check(data.parent, run("report", "run"))


@pytest.mark.slow
def test_a_process_shows_no_key_either(echo: EchoServer, data: Path):
    echo.form = "refused key"
    done = run_process(data.parent, *SCORE, "--base-url", echo.url, OPENAI_API_KEY=KEY)
    assert echo.paths
    check(data.parent, done)


@pytest.mark.parametrize("form", FORMS)
def test_user_password_and_query_of_an_address_are_nowhere(form: str, echo: EchoServer, data: Path, run: Command):
    echo.form = form
    address = f"{echo.url.replace('//', f'//somebody:{PASSWORD}@')}?version=1&sig={SIGNATURE}"
    done = run(*SCORE, "--base-url", address)
    assert echo.paths[0] == f"/v1/chat/completions?version=1&sig={SIGNATURE}"
    command = json.loads((data.parent / "run/manifest.json").read_text())["command"]
    assert echo.url.replace("//", "//[redacted]@") + "?version=[redacted]&sig=[redacted]" in command
    if form == "refused key":
        assert "To resume: imapeval score" in done.stderr
    check(data.parent, done)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("escaped", [False, True])
def test_a_login_of_short_words_is_nowhere(form: str, escaped: bool, echo: EchoServer, data: Path, run: Command):
    user, password, value = SHORT
    encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
    echo.form, echo.escaped = form, escaped
    done = run(*SCORE, "--base-url", f"{echo.url.replace('//', f'//{user}:{password}@')}?key={value}")
    assert echo.paths[0] == f"/v1/chat/completions?key={value}"
    check(data.parent, done, (*SHORT, encoded))
    check(data.parent, run("report", "run"), (*SHORT, encoded))


def test_batches_are_their_owners_and_keep_no_secret(data: Path, run: Command, monkeypatch: pytest.MonkeyPatch):
    address = f"http://somebody:{PASSWORD}@127.0.0.1:9/v1?sig={SIGNATURE}"
    done = run("batch", "export", "data.jsonl", "--llm", "openai:m", "--base-url", address, "--out", "b")
    assert done.returncode == 0
    (requests,) = (data.parent / "b").glob("requests-*.jsonl")
    key = json.loads(requests.read_text().splitlines()[0])["custom_id"]
    result = {"custom_id": key, "response": {"status_code": 400, "body": {"error": {"message": f"key {KEY}"}}}}
    (data.parent / "results").write_text(json.dumps(result))
    (data.parent / "results").chmod(0o600)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    done = run("batch", "import", "b", "results")
    assert "[redacted]" in done.stderr
    (data.parent / "results").unlink()
    check(data.parent, done)


@pytest.mark.parametrize(
    ("address", "secret"),
    [
        (f"somebody:{PASSWORD}@127.0.0.1:9/v1", PASSWORD),
        (f"htp://somebody:{PASSWORD}@127.0.0.1:9/v1", PASSWORD),
        ("http://somebody:1234/word-of-pass@127.0.0.1:9/v1", "word-of-pass"),
        ("http://somebody:12#word-of-pass@127.0.0.1:9/v1", "word-of-pass"),
        ("http://127.0.0.1:9/v1#word-of-pass", "word-of-pass"),
    ],
)
@pytest.mark.parametrize("model", ["openai:m", "local:m.gguf"])
def test_what_is_no_address_is_not_repeated(address: str, secret: str, model: str, data: Path, run: Command):
    done = run("score", "data.jsonl", "--llm", model, "--base-url", address)
    assert done.returncode == 2
    assert "--base-url" in done.stderr
    assert secret not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments", [("relate", "a", "b", "{}"), ("metrics", "{}", "b"), ("{}",), ("score", "a", "--combine={}")]
)
def test_no_argument_that_is_out_of_place_is_repeated_with_its_password(arguments: tuple[str, ...], run: Command):
    done = run(*(argument.format(f"http://quark:zebra@h?sig={SIGNATURE}{ESCAPES}") for argument in arguments))
    assert done.returncode == 2
    assert done.stderr
    assert not re.search(f"quark|zebra|{SIGNATURE}|[\x1b\x07\x9b\u202e]", done.stdout + done.stderr)


@pytest.mark.parametrize("key", ["sk-first-line-1\nsk-second-line-2", "sk-\u201cquoted\u201d-1", "sk-a\tb-123456"])
def test_a_key_that_no_header_can_carry_is_refused(
    key: str, echo: EchoServer, data: Path, run: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    done = run(*SCORE, "--base-url", echo.url)
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in done.stderr
    assert not re.search("sk-|line-2|123456", done.stderr)
    assert echo.paths == []


def test_a_file_that_is_there_keeps_its_mode(data: Path, run: Command):
    run("score", "data.jsonl", "--out", "run", "--metrics", "rouge1", "--junit", "j.xml")
    for path in [data.parent / "j.xml", *(data.parent / "run").glob("[a-z]*")]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o640)
    run("score", "data.jsonl", "--out", "run", "--metrics", "rouge1", "--junit", "j.xml")
    for path in [data.parent / "j.xml", *(data.parent / "run").glob("[a-z]*")]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.slow
@pytest.mark.parametrize("form", ["completion", "refused key"])
def test_serve_tells_clients_nothing_secret(form: str, echo: EchoServer, tmp_path: Path):
    echo.form = form
    address = echo.url.replace("//", f"//somebody:{PASSWORD}@")
    command = [*COMMAND, "serve", "--port", "0", "--llm", "openai:m", "--base-url", address]
    with subprocess.Popen(
        command,
        env=os.environ | {"IMAPEVAL_CACHE": str(tmp_path), "OPENAI_API_KEY": KEY},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            assert process.stdout is not None
            (url,) = re.findall(r"http://\S+", process.stdout.readline())
            body = json.dumps({"question": "What helps?", "reference": "Rest.", "response": "Ice."}).encode()
            request = urllib.request.Request(f"{url}/score", body, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request) as response:
                    told = response.read().decode()
            except urllib.error.HTTPError as error:
                told = error.read().decode()
        finally:
            process.terminate()
        printed = "".join(process.communicate())
    assert "[redacted]" in told
    assert [secret for secret in SECRETS if secret in told + printed] == []


def test_a_page_of_a_run_of_an_earlier_version_shows_no_password(data: Path, run: Command):
    run("score", "data.jsonl", "--out", "run", "--metrics", "rouge1")
    manifest = data.parent / "run/manifest.json"
    content = json.loads(manifest.read_text())
    content["command"] += ["--base-url", f"http://somebody:{PASSWORD}@h/v1"]
    manifest.write_text(json.dumps(content))
    run("report", "run")
    page = (data.parent / "run/report.html").read_text()
    assert "[redacted]@h/v1" in page
    assert PASSWORD not in page


@pytest.mark.slow
def test_a_terminal_obeys_nothing_that_the_data_say(tmp_path: Path):
    row = {"question": "?", "reference": "Rest.", "response": "Rest."}
    rows = [{"id": name, "system": f"{name}[link=http://x]{ESCAPES}[/link]"} | row for name in "ab"]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "score", "data.jsonl", "--out", "run", "--metrics", "rouge1"],
        cwd=tmp_path,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "200"},
    ):
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 1 << 16)
            except OSError:  # as Linux says that everybody has closed it
                break
    os.close(ours)
    text = shown.decode()
    assert "u001b[2J" in text
    assert not re.search("\x1b(?!\\[[0-9;]*m)|[\x07\x9b\u202e]", text)


@pytest.mark.filterwarnings("default")
def test_a_warning_of_a_package_is_printed_as_everything_is(
    imapeval: Command, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def warn() -> dict[str, Path]:
        warnings.warn(f"{ESCAPES} https://h?key={SIGNATURE} {KEY}", stacklevel=1)
        return {}

    monkeypatch.setattr("imapeval.evaluation.samples.shipped_samples", warn)
    shown = imapeval("datasets").stderr + capfd.readouterr().err
    assert "u001b[2J" in shown
    assert not re.search(f"{KEY}|{SIGNATURE}|[\x1b\x07\x9b\u202e]", shown)


@pytest.mark.filterwarnings("default")
def test_a_warning_in_a_worker_is_printed_likewise(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def warn() -> Pipeline:
        warnings.warn(f"{ESCAPES} https://h?key={SIGNATURE} {KEY}", stacklevel=1)
        raise UsageError("no pipeline")

    BatchScorer(warn, "mean").score([], {})
    shown = capfd.readouterr().err
    assert "u001b[2J" in shown
    assert not re.search(f"{KEY}|{SIGNATURE}|[\x1b\x07\x9b\u202e]", shown)


def test_there_is_one_way_to_print():
    folder = Path(__file__).parents[2] / "imapeval" / "cli"
    wrong = [
        path.name
        for path in folder.rglob("*.py")
        if path.name != "output.py" and re.search(r"typer\.echo|[^_]print\(|[cC]onsole\S*\.print", path.read_text())
    ]
    assert wrong == []
