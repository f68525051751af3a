"""Models on this computer: a llama.cpp server that is started by the first request and ends with this process."""

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
from imapeval.errors import MissingExtraError, ProviderError, ServiceError, UsageError
from imapeval.llm.providers import weights
from imapeval.llm.providers.openai import OpenAIModel
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterable

    from imapeval.llm.protocol import Completion, Request

_CONTEXT = 8192
"""Tokens for a request and its completion: prompts take up to 2,000, a completion 1,024; the rest is for the texts."""

_CACHE_MIB = 2048
"""Size of llama.cpp's prompt cache: enough for both steps in both languages with a 14B model."""

_TIMEOUT = 3600.0
"""Seconds. A large model on few cores takes minutes for a long completion, and no one else uses this server."""

_LOG_LINES = 40
"""Number of the last lines of llama.cpp's log that are kept."""

_QUOTED = 4
"""Maximum number of log errors quoted in an error message: the first ones, because the others follow from them."""

_LOG_PREFIX = re.compile(r"(?<![\d.])[\d.]++ (?P<level>[A-Z]) +")
"""Time and level before a line of llama.cpp's log; level E is an error."""

_EXIT_SECONDS = 2.0
"""How long to wait for a process to end, and for its log, after its connection broke."""

_log = get_logger(__name__)


class LlamaCppModel:
    """A model in a GGUF file, run by llama.cpp.

    The server is a separate process: if it crashes, that is an ordinary error, which quotes the errors in its log (the
    rest is not shown); its memory is freed when it ends. It listens on 127.0.0.1 at a free port, and ends when this
    object is collected or this process ends, however that happens. Reasoning is switched off.

    Args:
        name: Path of a GGUF file, or a name; see `imapeval.llm.providers.weights`.
        base_url: Must be None.
        concurrency: Requests computed at the same time; None for 1. On a CPU, more than one gains nothing.

    Raises:
        MissingExtraError: xllamacpp is not installed.
        UsageError: There is no such file, it is not a GGUF file, or the name is unknown; or there is a `base_url`.
        ResourceError: The name is known, but its file is not on this computer.
    """

    def __init__(self, name: str, *, base_url: str | None = None, concurrency: int | None = None) -> None:
        if base_url is not None:
            raise UsageError(
                f"the model 'local:{name}' runs on a server that imapeval starts: leave --base-url out. For a server "
                "that is already running, use 'openai:NAME' with its address."
            )
        if not installed("xllamacpp"):
            raise MissingExtraError("xllamacpp", extra="local", needed_for=f"the model 'local:{name}'")
        self._path = weights.find_file(name).absolute()
        self._name = name
        self.concurrency = concurrency or 1
        self._server = _Server(self._path, slots=self.concurrency)
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
            ServiceError: The server does not start, or has ended (kind "unreachable"); quotes llama.cpp's log.
        """
        address = await asyncio.wrap_future(self._server.start())
        if self._model is None:
            self._model = OpenAIModel("local", base_url=f"{address}/v1", timeout=_TIMEOUT, concurrency=self.concurrency)
        try:
            return await self._model.complete(request)
        except (ProviderError, ServiceError) as error:
            # The connection may have broken because the server has ended.
            if error.kind in ("unreachable", "server", "unreadable-reply"):
                reason = await asyncio.to_thread(self._server.exit_reason)
                if reason is not None:
                    raise ServiceError(f"the model 'local:{self._name}' {reason}", kind="unreachable") from error
            raise


class _Server:
    """The server process. It holds no reference to the model object, which can thus be collected.

    Args:
        path: The weights.
        slots: Number of concurrent requests.
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
        # -P: the script's folder has modules named like packages, such as openai.py.
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
        """Start the process unless it is started, and return the future of its address.

        The future's exception is a `ServiceError`: the process does not start, and would not start the next time.
        """
        with self._lock:
            if self._address is None:
                self._address = Future()
                # Marked as running, so that a cancelled caller cannot cancel it for the others.
                self._address.set_running_or_notify_cancel()
                # Not in the event loop's pool: closing the loop would wait for its threads.
                thread = threading.Thread(target=self._run, args=(self._address,), daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:
                    self._address.set_exception(_explain_start(error))
            return self._address

    def _run(self, address: Future[str]) -> None:
        try:
            with self._lock:
                if self._stopped:
                    raise OSError("it was stopped")
                # In a new session, so that Ctrl-C does not reach it and requests in flight are finished.
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
        except (OSError, RuntimeError) as error:
            address.set_exception(_explain_start(error))
            return
        with cast("IO[str]", process.stdout) as stdout:
            line = stdout.readline().strip()
        if line:
            address.set_result(line)
        else:
            reason = self.exit_reason() or "printed nothing."
            address.set_exception(
                ServiceError(
                    f"llama.cpp cannot serve {self._path}: it {reason} Check that the file is complete, that llama.cpp "
                    "supports its architecture, and that there is enough memory.",
                    kind="unreachable",
                )
            )

    def _keep_log(self, process: subprocess.Popen[str]) -> None:
        with cast("IO[str]", process.stderr) as stderr:
            self._log.extend(stderr)

    def exit_reason(self) -> str | None:
        """Return why the process has ended, after giving it a moment to end; None if it is running."""
        process, logger = self._process, self._logger
        if process is None or logger is None:
            return None
        try:
            status = process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        # It has all that the process wrote soon after the end, but on a busy machine not at once.
        logger.join(5 * _EXIT_SECONDS)
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        if status == -9:
            how += " (typically because memory ran out)"
        errors = "; ".join(_find_errors(self._log))
        return f"{how}." + (f" Its log: {errors}." if errors else "")

    def stop(self) -> None:
        """Kill the process; a later start fails."""
        with self._lock:
            self._stopped = True
            process = self._process
        if process is not None:
            process.kill()
            process.wait()
            cast("IO[str]", process.stdin).close()


def _explain_start(error: Exception) -> ServiceError:
    """Return the error of a process that could not be made, such as at the limit of threads."""
    return ServiceError(f"llama.cpp does not start ({error}).", kind="unreachable")


def _find_errors(log: Iterable[str]) -> list[str]:
    """Return the first errors of a log, without prefixes and repetitions."""
    found: dict[str, None] = {}
    for line in log:
        prefix = _LOG_PREFIX.match(line)
        if prefix is None or prefix["level"] == "E":
            found[" ".join(_LOG_PREFIX.sub("", line, count=1).rstrip(" .\n").split())] = None
    return [message for message in found if message][:_QUOTED]


def _count_cores() -> int:
    """Return how many cores this process may use; in most containers fewer than the computer has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not available on this system
        return os.cpu_count() or 1


@functools.cache
def _warn_of_weakness() -> None:
    _log.warning(
        "local:smollm2 is far too weak to extract facts; it only shows that the set-up works. `imapeval models list` "
        "names better models."
    )
