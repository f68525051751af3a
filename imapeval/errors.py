"""The exceptions of imapeval.

    ImapEvalError                  the common base class
    ├── UsageError                 an invalid call or command line
    ├── InputError                 the content of a file is invalid; names file, line and fix
    ├── ResourceError              a shipped or user-given resource (graph, index, prompt) is missing or does not fit
    ├── MissingExtraError          an optional package is not installed; says what to install
    ├── ServiceError               every further sample would fail: server down, key refused, budget spent, workers died
    └── SampleError                one sample cannot be scored; becomes a `Failure` for that sample
        ├── ExtractionError        no imap could be extracted from a text
        └── ProviderError          the language model did not answer

A `SampleError` never ends a run: `evaluate` turns it into a `Failure` and continues. A `ServiceError` ends the run
after the work in flight has been saved, because every further request would fail as well.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from imapeval.redaction import redact_message

if TYPE_CHECKING:
    from collections.abc import Iterable


class ImapEvalError(Exception):
    """Base class of all errors that imapeval raises. Secrets in the message are redacted."""

    def __init__(self, message: str) -> None:
        super().__init__(redact_message(message))

    def __reduce__(self) -> tuple[Any, ...]:
        # By default an exception is unpickled from its message alone, and `__init__` takes more.
        return _restore, (type(self), self.args), self.__dict__


def _restore(kind: type[ImapEvalError], args: tuple[Any, ...]) -> ImapEvalError:
    return kind.__new__(kind, *args)


class UsageError(ImapEvalError):
    """A call or a command line is invalid. The message names the value, the allowed values and the fix."""


def unknown_name(kind: str, name: str, known: Iterable[str], *, fix: str) -> UsageError:
    """Return the error for a name that is not one of a closed list; it gives the three nearest.

    Args:
        kind: What the name is of, such as "metric".
        name: As it was given.
        known: The names that there are, at least two.
        fix: Where all of them are, as a sentence.
    """
    by_lower_case = {other.lower(): other for other in known}
    *others, last = difflib.get_close_matches(name.lower(), by_lower_case, n=3, cutoff=0)
    nearest = f"{', '.join(by_lower_case[other] for other in others)} or {by_lower_case[last]}"
    return UsageError(f"unknown {kind} {name!r}. Did you mean {nearest}? {fix}")


class InputError(ImapEvalError):
    """The content of a file is invalid.

    Attributes:
        problem: What is wrong, without file, line and fix.
        path: The file, or None where the data did not come from one.
        line: 1-based number of the line, or of what `unit` says, such as "row"; None for the whole file.
        unit: What `line` counts.
        fix: What to do about it, as a sentence.
    """

    def __init__(
        self,
        problem: str,
        *,
        fix: str,
        path: Path | str | None = None,
        line: int | None = None,
        unit: str = "line",
    ) -> None:
        self.problem = problem
        self.fix = fix
        self.path = None if path is None else Path(path)
        self.line = line
        self.unit = unit
        place = "" if path is None else f"{path}" + (f", {unit} {line}" if line else "") + ": "
        super().__init__(f"{place}{problem}. {fix}")


class ResourceError(ImapEvalError):
    """A graph, index, prompt or other resource is missing, damaged or does not match the others."""


class MissingExtraError(ImapEvalError):
    """An optional package is not installed."""

    def __init__(self, package: str, *, extra: str, needed_for: str) -> None:
        self.package = package
        super().__init__(
            f"{needed_for} needs the package {package!r}. Install it with: pip install 'imapeval[{extra}]'"
        )


class ServiceError(ImapEvalError):
    """The language model, or a pool of workers, cannot be used for any further sample.

    Attributes:
        kind: "unreachable", "auth", "not-found", "no-credit", "over-budget", "worker-died", ...
    """

    def __init__(self, message: str, *, kind: str) -> None:
        self.kind = kind
        super().__init__(message)


class SampleError(ImapEvalError):
    """One sample cannot be scored; the others can.

    Attributes:
        stage: Where it happened: "metric"; "extraction" or "llm" in the subclasses.
        kind: A short machine-readable name of the problem, such as "no-query" or "rate-limit".
        raw: The raw text that could not be used, or None.
    """

    stage = "metric"

    def __init__(self, message: str, *, kind: str, raw: str | None = None) -> None:
        self.kind = kind
        self.raw = raw
        super().__init__(message)


class ExtractionError(SampleError):
    """No imap could be extracted from a text."""

    stage = "extraction"


class ProviderError(SampleError):
    """The language model did not answer, or its answer could not be used.

    Attributes:
        tokens: Prompt and completion tokens that the server billed although the answer could not be used; or None.
        maybe_billed: Whether the server may have billed an answer that did not arrive.
        retry_after: Seconds to wait before the next attempt, if the server says so.
    """

    stage = "llm"

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        raw: str | None = None,
        tokens: tuple[int, int] | None = None,
        maybe_billed: bool = False,
        retry_after: float | None = None,
    ) -> None:
        self.tokens = tokens
        self.maybe_billed = maybe_billed
        self.retry_after = retry_after
        super().__init__(message, kind=kind, raw=raw)
