"""A run on disk: samples x metrics in a folder that survives `kill -9`.

    manifest.json    versions, settings (they decide whether a run can be continued), data, command, counts, usage
    usage.json       what the language model's work cost, written over with every call: of a run that was killed it is
                     newer than the manifest's
    samples.jsonl    the samples as they were read, so that a run can be read without the data it came from; of one
                     without a response, `response` is null
    imaps.jsonl      the facts behind the scores (see `imapeval.imapfile`)
    results.jsonl    append-only, one outcome a line:
                     {"id", "metric", "score" | null, "parts", "failure" | null, "signature"}; a failure is
                     {"stage", "kind", "message"}, and "raw" where there is a text that could not be used, of which
                     the first 20,000 characters are kept

Lines go to the operating system one by one. What was not written whole when a process died is cut off when the run
is continued; the order of lines does not matter.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from pydantic_core import from_json

from imapeval import imapfile
from imapeval.errors import InputError
from imapeval.extraction.faults import Fault
from imapeval.types import Failure, Outcome, Sample, Score, Turn

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from pathlib import Path

    from imapeval.imapfile import ImapRecord
    from imapeval.types import Pair

MANIFEST, SAMPLES, IMAPS, RESULTS = "manifest.json", "samples.jsonl", "imaps.jsonl", "results.jsonl"
USAGE = "usage.json"

_FAULTS = frozenset(get_args(Fault))

_HALF_CHARACTER = b"\\ud"
"""How the escape of a lone surrogate begins."""


@dataclass(frozen=True, slots=True)
class Result:
    """One outcome of a run.

    Attributes:
        id: The sample's.
        metric: The metric's name.
        outcome: The score, or why there is none.
        signature: Everything that can change the number.
    """

    id: str
    metric: str
    outcome: Outcome
    signature: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes an outcome the same one."""
        return (self.id, self.metric, self.signature)

    @property
    def scored(self) -> bool:
        """Whether there is a score."""
        return isinstance(self.outcome, Score)

    @property
    def final(self) -> bool:
        """Whether trying again would give the same: not so where the program failed, or the language model."""
        outcome = self.outcome
        return isinstance(outcome, Score) or not (
            outcome.kind == "internal" or outcome.stage == "llm" or outcome.kind in _FAULTS
        )


class Run:
    """A run to be read.

    Args:
        folder: The run's folder.

    Raises:
        InputError: There is no run in the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / MANIFEST
        try:
            manifest = json.loads(path.read_bytes())
        except FileNotFoundError as error:
            raise InputError("is no run: it has no manifest.json", path=folder, mend="Name a run's folder.") from error
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be read ({error})", path=path, mend="Start a new run.") from error
        if not _is_manifest(manifest):
            raise InputError(
                "is not a run's manifest, or one of another version",
                path=path,
                mend="Start a new run, or name another.",
            )
        self.manifest: dict[str, Any] = manifest
        if (usage := _read_usage(folder)) is not None:
            self.manifest["usage"] = usage

    def samples(self) -> list[Sample]:
        """Return the samples in the order of the data.

        Raises:
            InputError: The file is absent, incomplete or not what was written.
        """
        path = self.folder / SAMPLES
        samples = [_parse_sample(line, path, number) for number, line in enumerate(whole_lines(path), 1)]
        expected = self.manifest["data"]["samples"]
        if len(samples) != expected:
            raise InputError(
                f"holds {len(samples)} of {expected} samples", path=path, mend="Repeat the command that began the run."
            )
        return samples

    def results(self) -> list[Result]:
        """Return the outcomes; an unfinished last line is left out.

        Raises:
            InputError: An outcome is of no sample of this run.
        """
        return list(self.stream_results({sample.id for sample in self.samples()}))

    def stream_results(self, ids: Container[str]) -> Iterator[Result]:
        """Yield the outcomes one by one, for runs of millions; an unfinished last line is left out.

        Args:
            ids: Of the run's samples.

        Raises:
            InputError: An outcome is of no sample of this run.
        """
        path = self.folder / RESULTS
        for result in read_results(path):
            if result.id not in ids:
                raise InputError(
                    f"speaks of {result.id!r}, which is no sample of this run",
                    path=path,
                    mend="Remove its lines: another run's were mixed in.",
                )
            yield result

    def imaps(self) -> list[ImapRecord]:
        """Return the imaps and what was judged about them; an unfinished last line is left out."""
        path = self.folder / IMAPS
        return [imapfile.parse(line, path=path, number=n) for n, line in enumerate(whole_lines(path), 1)]

    def find_imaps(self, ids: Container[str]) -> Iterator[ImapRecord]:
        """Yield the imaps of some samples, one by one; what was judged about the others is not read."""
        path = self.folder / IMAPS
        for number, line in enumerate(whole_lines(path), 1):
            id_, _ = imapfile.parse_response(line, path=path, number=number)
            if id_ in ids:
                yield imapfile.parse(line, path=path, number=number)

    def stream_responses(self) -> Iterator[tuple[str, tuple[Pair, ...]]]:
        """Yield the sample's id and the response's pairs of every imap, without what was judged about them."""
        path = self.folder / IMAPS
        for number, line in enumerate(whole_lines(path), 1):
            yield imapfile.parse_response(line, path=path, number=number)


def whole_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines that end in a line break: a process that was killed may have left half of one."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line[:-1]


def _is_manifest(manifest: object) -> bool:
    """Say whether everything is there that is read of a manifest."""
    match manifest:
        case {
            "imapeval": str(),
            "started": str(),
            "data": {"source": str(), "samples": int(), "sha256": str()},
            "settings": {"metrics": dict(), "extractor": str(), "matcher": str(), "seed": int(), "resources": dict()},
        }:
            return True
        case _:
            return False


def _read_usage(folder: Path) -> dict[str, Any] | None:
    """Return what `usage.json` tells; None where it is absent or damaged."""
    try:
        usage = json.loads((folder / USAGE).read_bytes())
    except (OSError, ValueError):
        return None
    match usage:
        case {
            "calls": int(),
            "cached": int(),
            "failed": int(),
            "estimated": int(),
            "prompt_tokens": int(),
            "completion_tokens": int(),
            "reused_tokens": int(),
            "usd": int() | float() | None,
            "price": dict() | None,
        }:
            return usage
        case _:
            return None


def _parse_sample(line: bytes, path: Path, number: int) -> Sample:
    try:
        fields: dict[str, Any] = json.loads(line)
        fields["references"] = tuple(fields["references"])
        fields["turns"] = tuple(Turn(**turn) for turn in fields.get("turns", ()))
        if fields["response"] is None:
            fields |= {"response": "", "answered": False}
        return Sample(**fields)
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"not a sample ({error})", path=path, line=number, mend="Repeat the command that began the run."
        ) from error


def read_results(path: Path) -> Iterator[Result]:
    """Yield the outcomes of a results file, those of whole lines.

    Raises:
        InputError: A line is not an outcome.
    """
    for number, line in enumerate(whole_lines(path), 1):
        try:
            # Several times as fast as json, but half a character, which a failure's text may hold, is an error to it.
            fields = json.loads(line) if _HALF_CHARACTER in line else from_json(line)
            failure = fields["failure"]
            outcome = Score(fields["score"], fields["parts"]) if failure is None else Failure(**failure)
            result = Result(fields["id"], fields["metric"], outcome, fields["signature"])
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"not an outcome ({error})",
                path=path,
                line=number,
                mend="Remove the line and repeat the command.",
            ) from error
        yield result
