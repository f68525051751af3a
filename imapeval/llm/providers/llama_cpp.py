"""Models on this computer: a llama.cpp server that is started with the first request and ends with us."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import subprocess
import sys
import threading
import weakref
from collections import deque
from concurrent.futures import Future
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from imapeval._optional import installed
from imapeval.errors import MissingExtraError, ProviderError, ServiceError
from imapeval.llm.providers import weights
from imapeval.llm.providers.openai import OpenAIModel
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterable

    from imapeval.llm.protocol import Completion, Request

_CONTEXT = 8192
"""Tokens of a request and its completion: prompts take up to 2,000, a completion 1,024, the rest is for the texts."""

_CACHE_MIB = 2048
"""Memory for prompts that llama.cpp keeps computed: those of both steps in both languages of a model of 14B."""

_TIMEOUT = 3600.0
"""Seconds. A large model on few cores takes minutes for a long answer, and it is nobody else's server."""

_LOG_LINES = 40
"""Last lines of llama.cpp's log that are kept."""

_QUOTED = 4
"""Of their complaints, how many a message quotes: the first, because the others follow from it."""

_STAMP = re.compile(r"(?<![\d.])[\d.]++ (?P<level>[A-Z]) +")
"""Before a line of llama.cpp's log: time and level, of which E is an error."""

_LAST_WORDS = 2.0
"""Seconds that a dying process has to be gone and its log to be read after its connection broke."""

_log = get_logger(__name__)


class LlamaCppModel:
    """A model in a GGUF file, run by llama.cpp.

    The server is a process of its own: a crash of it is an error of ours, its log is not shown, and its memory is free
    again once it ends. It listens on 127.0.0.1 at a free port, and ends when this object is collected or this process
    ends, in whichever way. Models that would think before they answer are told not to.

    Args:
        name: Path of a GGUF file, or a name; see `imapeval.llm.providers.weights`.
        concurrency: Requests computed at the same time. On a processor more than one gains nothing: they share it.

    Raises:
        MissingExtraError: xllamacpp is not installed.
        UsageError: There is no such file, it is no GGUF file, or the name is not known.
        ResourceError: The name is known, but its file is not here.
    """

    def __init__(self, name: str, *, concurrency: int = 1) -> None:
        if not installed("xllamacpp"):
            raise MissingExtraError("xllamacpp", extra="local", needed_for=f"the model 'local:{name}'")
        self._path = weights.find_file(name).absolute()
        self._name = name
        self.concurrency = concurrency
        self._server = _Server(self._path, slots=concurrency)
        self._model: OpenAIModel | None = None
        self._identity: str | None = None
        weakref.finalize(self, self._server.stop)
        if name == "smollm2":
            _warn_of_weakness()

    @property
    def identity(self) -> str:
        """Name and short hash of the file: the same on every computer and at every port."""
        if self._identity is None:
            self._identity = f"local:{weights.name_of(self._path)}#{weights.sha256_of(self._path)[:8]}"
        return self._identity

    async def complete(self, request: Request) -> Completion:
        """Answer one request; the first starts the server. See `Model.complete`.

        Raises:
            ServiceError: The server does not start, or is gone (kind "unreachable"); says what llama.cpp said.
        """
        address = await asyncio.wrap_future(self._server.start())
        if self._model is None:
            self._model = OpenAIModel("local", base_url=f"{address}/v1", timeout=_TIMEOUT, concurrency=self.concurrency)
        try:
            return await self._model.complete(request)
        except (ProviderError, ServiceError) as error:
            # A request whose connection broke, where the reason may be that the server is no more.
            if error.kind in ("unreachable", "server", "unreadable-reply"):
                reason = await asyncio.to_thread(self._server.autopsy)
                if reason is not None:
                    raise ServiceError(f"the model 'local:{self._name}' {reason}", kind="unreachable") from error
            raise


class _Server:
    """The process. Knows nothing of the model object, so that it is no reason to keep that one alive.

    Args:
        path: The weights.
        slots: Requests at the same time.
    """

    def __init__(self, path: Path, *, slots: int) -> None:
        settings = {
            "path": str(path),
            "alias": "local",
            "slots": slots,
            "context": _CONTEXT,
            "threads": _count_cores(),
            "cache_mib": _CACHE_MIB,
        }
        # -P: beside the script lie modules with the names of packages, such as openai.py.
        script = str(Path(__file__).with_name("llama_server.py"))
        self._command = [sys.executable, "-P", script, json.dumps(settings)]
        self._path = path
        self._lock = threading.Lock()
        self._address: Future[str] | None = None
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._log: deque[str] = deque(maxlen=_LOG_LINES)
        self._logger: threading.Thread | None = None

    def start(self) -> Future[str]:
        """Start the process where it is not yet started, and return its address to come.

        The future's exception is a `ServiceError`: it does not start, and will not the next time.
        """
        with self._lock:
            if self._address is None:
                self._address = Future()
                # Running, so that who gives up waiting cannot cancel it for the others.
                self._address.set_running_or_notify_cancel()
                # Not in the loop's pool, whose threads are waited for when the loop ends.
                threading.Thread(target=self._run, args=(self._address,), daemon=True).start()
            return self._address

    def _run(self, address: Future[str]) -> None:
        try:
            with self._lock:
                if self._stopped:
                    raise OSError("it was stopped before")
                # In a session of its own, because Ctrl-C is for us: what is under way is finished.
                process = self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                    start_new_session=True,
                )
                self._logger = threading.Thread(target=self._keep_log, args=(process,), daemon=True)
                self._logger.start()
        except OSError as error:
            address.set_exception(ServiceError(f"llama.cpp does not start ({error}).", kind="unreachable"))
            return
        with cast("IO[str]", process.stdout) as stdout:
            line = stdout.readline().strip()
        if line:
            address.set_result(line)
        else:
            reason = self.autopsy() or "said nothing"
            address.set_exception(
                ServiceError(
                    f"llama.cpp cannot serve {self._path}: it {reason} Is the file whole, of a kind that it knows, and "
                    "is there memory for it?",
                    kind="unreachable",
                )
            )

    def _keep_log(self, process: subprocess.Popen[str]) -> None:
        with cast("IO[str]", process.stderr) as stderr:
            self._log.extend(stderr)

    def autopsy(self) -> str | None:
        """Return why the process is no more, after giving it a moment to end; None where it lives."""
        process, logger = self._process, self._logger
        if process is None or logger is None:
            return None
        try:
            status = process.wait(_LAST_WORDS)
        except subprocess.TimeoutExpired:
            return None
        logger.join(_LAST_WORDS)
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        if status == -9:
            how += " (as happens where memory runs out)"
        said = "; ".join(_pick_complaints(self._log))
        return f"{how}." + (f" It said: {said}." if said else "")

    def stop(self) -> None:
        """End the process, whatever it does; a later start fails."""
        with self._lock:
            self._stopped = True
            process = self._process
        if process is not None:
            process.kill()
            process.wait()
            cast("IO[str]", process.stdin).close()


def _pick_complaints(log: Iterable[str]) -> list[str]:
    """Return the first complaints of a log, without their stamps and what is said twice."""
    found: dict[str, None] = {}
    for line in log:
        stamp = _STAMP.match(line)
        if stamp is None or stamp["level"] == "E":
            found[" ".join(_STAMP.sub("", line, count=1).rstrip(" .\n").split())] = None
    return [complaint for complaint in found if complaint][:_QUOTED]


def _count_cores() -> int:
    """Return how many cores this process may use: fewer than the computer has, in most containers."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # where the system has no such thing
        return os.cpu_count() or 1


@functools.cache
def _warn_of_weakness() -> None:
    _log.warning(
        "local:smollm2 is far too weak to extract facts: it only shows that everything is connected. "
        "`imapeval models list` names better ones."
    )
