"""Everything imapeval raises on purpose.

    ImapEvalError                  the one root: `except ImapEvalError` catches all of it
    ├── UsageError                 a call or a command line that cannot mean anything
    ├── InputError                 a file's content is at fault; names file, line and mend
    ├── ResourceError              a shipped or user-given resource (graph, index, prompt) is absent or does not fit
    ├── MissingExtraError          an optional package is not installed; says what to install
    ├── ServiceError               the language model cannot go on for anybody: server down, key refused, budget spent
    └── SampleError                one sample cannot be scored; becomes a `Failure` for that sample
        ├── ExtractionError        no imap could be made of a text
        └── ProviderError          the language model did not answer

A `SampleError` never ends a run: `evaluate` turns it into a `Failure` and goes on. A `ServiceError` ends it after what
is in flight has been kept: the next 100,000 answers would fail alike.
"""

from __future__ import annotations

from pathlib import Path

from imapeval.redaction import make_printable, redact


class ImapEvalError(Exception):
    """Root of all errors that imapeval raises on purpose. Secrets in a message are hidden from the start."""

    def __init__(self, message: str) -> None:
        super().__init__(make_printable(redact(message)))


class UsageError(ImapEvalError):
    """A call or a command line that cannot mean anything: names the value, the allowed ones and the mend."""


class InputError(ImapEvalError):
    """A file's content is at fault.

    Attributes:
        path: The file, or None where the data did not come from one.
        line: 1-based line (or row) number, or None where the whole file is meant.
        mend: What to do about it, as a sentence.
    """

    def __init__(self, problem: str, *, fix: str, path: Path | str | None = None, line: int | None = None) -> None:
        self.problem = problem
        self.fix = fix
        self.path = None if path is None else Path(path)
        self.line = line
        place = "" if self.path is None else f"{self.path}" + (f", line {line}" if line else "") + ": "
        super().__init__(f"{place}{problem}. {fix}")


class ResourceError(ImapEvalError):
    """A graph, index, prompt or other resource is absent, damaged or does not fit the others."""


class MissingExtraError(ImapEvalError):
    """An optional package is not installed."""

    def __init__(self, package: str, *, extra: str, needed_for: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(
            f"{needed_for} needs the package {package!r}. Install it with: pip install 'imapeval[{extra}]'"
        )


class ServiceError(ImapEvalError):
    """The language model cannot go on for any sample.

    Attributes:
        kind: "unreachable", "auth", "not-found", "over-budget", ...
    """

    def __init__(self, message: str, *, kind: str) -> None:
        self.kind = kind
        super().__init__(message)


class SampleError(ImapEvalError):
    """One sample cannot be scored; the others can.

    Attributes:
        stage: Where it happened: "extraction", "llm", "matching" or "metric".
        kind: A short machine-readable name of what went wrong, such as "no-query" or "rate-limit".
        raw: The raw text that could not be used, where there is one.
    """

    stage = "metric"

    def __init__(self, message: str, *, kind: str, raw: str | None = None) -> None:
        self.kind = kind
        self.raw = raw
        super().__init__(message)


class ExtractionError(SampleError):
    """No imap could be made of a text."""

    stage = "extraction"


class ProviderError(SampleError):
    """The language model did not answer, or answered nothing usable.

    Attributes:
        tokens: Of the prompt and of the completion, where the server said that it counts them although nothing usable
            came of them.
        retry_after: Seconds after which the server wants to be asked again, where it says so.
    """

    stage = "llm"

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        raw: str | None = None,
        tokens: tuple[int, int] | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.tokens = tokens
        self.retry_after = retry_after
        super().__init__(message, kind=kind, raw=raw)
