"""Reading a run: the outcomes of samples and metrics in a folder that survives `kill -9`.

    manifest.json    versions, settings (they decide whether a run can be resumed), data, command, counts, usage
    usage.json       what the language model has cost, overwritten with every call; newer than the manifest if the run
                     was killed
    samples.jsonl    the samples, so that a run can be read without the original data; `response` is null if there is
                     none
    imaps.jsonl      the facts behind the scores (see `imapeval.evaluation.imap_files`)
    results.jsonl    append-only, one outcome a line:
                     {"id", "metric", "score" | null, "parts", "failure" | null, "signature"}, and "repetitions" (a
                     list of rows) for a mean of several judgements; a failure is {"stage", "kind", "message"}, and
                     optionally "raw", the first 20,000 characters of a text that could not be used

Lines are written one by one. A line that was incomplete when the process died is removed when the run is resumed. The
order of lines does not matter.
"""

from __future__ import annotations

from array import array
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic_core import from_json

from imapeval.errors import InputError
from imapeval.evaluation import imap_files
from imapeval.evaluation.ids import IdIndex
from imapeval.evaluation.runs.outcomes import RunContents
from imapeval.evaluation.runs.schema import Manifest, ResultLine, SampleLine
from imapeval.evaluation.runs.usage_file import read_usage
from imapeval.evaluation.samples import index_samples
from imapeval.evaluation.samples.spool import spool
from imapeval.llm.structured.faults import FAULTS
from imapeval.metrics.base import is_within_range
from imapeval.parsing import describe_validation_error, parse_json
from imapeval.types import Outcome, Sample, Score

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.metrics.base import Range
    from imapeval.types import Pair

MANIFEST, SAMPLES, IMAPS, RESULTS = "manifest.json", "samples.jsonl", "imaps.jsonl", "results.jsonl"
USAGE = "usage.json"

_FIX_USAGE = "Correct it, or remove it: then the usage in manifest.json is used."


@dataclass(frozen=True, slots=True)
class Result:
    """One outcome of a run.

    Attributes:
        id: The id of the sample.
        metric: The name of the metric.
        outcome: The score, or why there is none.
        signature: Everything that can change the score.
    """

    id: str
    metric: str
    outcome: Outcome
    signature: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Identifies the outcome: sample id, metric and signature."""
        return (self.id, self.metric, self.signature)

    @property
    def scored(self) -> bool:
        """Whether there is a score."""
        return isinstance(self.outcome, Score)

    @property
    def final(self) -> bool:
        """Whether a retry would give the same outcome; False if the program or the language model failed."""
        outcome = self.outcome
        return isinstance(outcome, Score) or not (
            outcome.kind == "internal" or outcome.stage in ("llm", "worker") or outcome.kind in FAULTS
        )


class Run:
    """A run on disk, for reading.

    Args:
        folder: The run directory.

    Raises:
        InputError: The folder is not a run directory, or has a pipe, a socket or a device in it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        _require_files(folder)
        path = folder / MANIFEST
        try:
            content = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError) as error:
            problem = "is a file" if folder.is_file() else "has no manifest.json"
            fix = "Give a run directory; `imapeval score FILE` makes one from a file of answers."
            raise InputError(f"is not a run directory: it {problem}", path=folder, fix=fix) from error
        except OSError as error:
            raise _unreadable_file_error(path, error) from error
        try:
            manifest = parse_json(content)
            Manifest.model_validate(manifest)
        except ValueError as error:
            raise InputError(
                f"is not a valid manifest of this version ({describe_validation_error(error)})",
                path=path,
                fix="Start a new run, or give another one.",
            ) from error
        self.manifest: dict[str, Any] = manifest
        if (usage := read_usage(folder / USAGE, fix=_FIX_USAGE)) is not None:
            self.manifest["usage"] = usage

    @property
    def ranges(self) -> Mapping[str, Range]:
        """The range of each metric with the options of the run, and of its parts as "METRIC.PART"."""
        return self.manifest["settings"].get("ranges", {})

    @cached_property
    def contents(self) -> RunContents:
        """Samples and outcomes, as they are when first asked for; see `RunContents.read`."""
        return RunContents.read(self)

    def samples(self) -> list[Sample]:
        """Return the samples in the order of the data.

        Raises:
            InputError: The file is absent, incomplete or not what was written.
        """
        return list(self.open_samples())

    def open_samples(self) -> Sequence[Sample]:
        """Return the samples in the order of the data; those after the first 10,000 are in a temporary file.

        Raises:
            InputError: See `samples`.
        """
        path = self.folder / SAMPLES
        fix = "Repeat the command that started the run."
        samples = spool(_parse_sample(line, path, number) for number, line in enumerate(complete_lines(path), 1))
        if repeated := index_samples(samples).repeated:
            first, again = repeated
            id_ = samples[first].id
            raise InputError(
                f"the sample {id_[:60]!r} is here and on line {first + 1}", path=path, line=again + 1, fix=fix
            )
        expected = self.manifest["data"]["samples"]
        if len(samples) != expected:
            raise InputError(f"holds {len(samples)} of {expected} samples", path=path, fix=fix)
        return samples

    def results(self) -> list[Result]:
        """Return the outcomes; see `stream_results`.

        Raises:
            InputError: See `stream_results` and `samples`.
        """
        return list(self.stream_results([sample.id for sample in self.samples()]))

    def stream_results(self, ids: Iterable[str] | IdIndex) -> Iterator[Result]:
        """Yield the outcomes one by one, for runs of millions.

        An incomplete last line and repeated lines are skipped.

        Args:
            ids: The ids of the samples of the run, or their index (`index_samples`), which takes less memory.

        Raises:
            InputError: A line is not an outcome, names an unknown sample or metric or another signature, or has a score
                or a part outside the range that the metric declares; or two lines disagree about a sample and metric.
        """
        path = self.folder / RESULTS
        settings = self.manifest["settings"]
        signatures: dict[str, str] = settings["metrics"]
        ranges = self.ranges
        index = ids if isinstance(ids, IdIndex) else {id_: number for number, id_ in enumerate(ids)}
        # By metric and sample, the offset of its line plus 1: eight bytes for each of millions of outcomes.
        line_offsets = {name: array("Q", bytes(8 * len(index))) for name in signatures}
        begin = 0
        for number, line in enumerate(complete_lines(path), 1):
            result = _parse_result(line, path, number)

            def invalid(problem: str, fix: str, number: int = number) -> InputError:
                return InputError(problem, path=path, line=number, fix=fix)

            position = index.get(result.id)
            if position is None:
                raise invalid(f"{result.id[:60]!r} is not a sample of this run", _FIX_FOREIGN_LINE)
            if signatures.get(result.metric) != result.signature:
                known = repr(signatures[result.metric]) if result.metric in signatures else "no such metric"
                raise invalid(
                    f"the metric is {result.metric[:60]!r} with {result.signature[:200]!r}; this run has {known}",
                    _FIX_FOREIGN_LINE,
                )
            for what, value, span in _list_numbers(result, ranges):
                if not is_within_range(value, span):
                    raise invalid(
                        f"the {what} {value:g} of {result.metric!r} is not {_describe_range(span)}", _FIX_BAD_LINE
                    )
            offsets = line_offsets[result.metric]
            if not offsets[position]:
                offsets[position] = begin + 1
                yield result
            elif (first := _read_line(path, offsets[position] - 1)) != line:
                if _parse_result(first, path, number) != result:
                    raise invalid(
                        f"the outcome of {result.id[:60]!r} and {result.metric!r} differs from line "
                        f"{_find_line_number(path, offsets[position] - 1)}",
                        "Remove the wrong line, or remove both and repeat the command.",
                    )
            begin += len(line) + 1

    def find_samples(self, ids: Container[str]) -> Iterator[Sample]:
        """Yield the samples with the given ids, in the order of the data, without checking the others.

        Raises:
            InputError: A line is not a sample.
        """
        return _find_by_id(self.folder / SAMPLES, ids, _parse_sample)

    def find_results(self, ids: Container[str]) -> Iterator[Result]:
        """Yield the outcomes of the given samples, repeated ones too, without checking those of the others.

        Raises:
            InputError: A line is not an outcome.
        """
        return _find_by_id(self.folder / RESULTS, ids, _parse_result)

    def imaps(self) -> list[ImapRecord]:
        """Return the imaps with their matches; see `find_imaps`."""
        return list(self.find_imaps())

    def find_imaps(self, ids: Container[str] | None = None) -> Iterator[ImapRecord]:
        """Yield the imaps of all samples one by one, or of the given ones without checking the matches of others.

        An incomplete last line and repeated lines are skipped.

        Raises:
            InputError: A line is not an imap, or two lines disagree about the same texts.
        """
        path = self.folder / IMAPS
        begins: dict[tuple[str, int, int], int] = {}
        end = 0
        for number, line in enumerate(complete_lines(path), 1):
            begin, end = end, end + len(line) + 1
            if ids is not None and imap_files.parse_response_pairs(line, path=path, number=number)[0] not in ids:
                continue
            record = imap_files.parse_record(line, path=path, number=number)
            first = begins.setdefault(record.key, begin)
            if first == begin:
                yield record
            elif (other := _read_line(path, first)) != line and imap_files.parse_record(
                other, path=path, number=number
            ) != record:
                raise InputError(
                    f"the imap of {record.id[:60]!r} differs from line {_find_line_number(path, first)}",
                    path=path,
                    line=number,
                    fix="Remove the wrong line.",
                )

    def stream_responses(self) -> Iterator[tuple[str, tuple[Pair, ...]]]:
        """Yield the sample's id and the response's pairs of every imap, without checking matches."""
        path = self.folder / IMAPS
        for number, line in enumerate(complete_lines(path), 1):
            yield imap_files.parse_response_pairs(line, path=path, number=number)


_Item = TypeVar("_Item", Sample, Result, "ImapRecord")


def group_by_id(items: Iterable[_Item]) -> dict[str, list[_Item]]:
    """Return results or imap records by the id of their sample, in their order."""
    groups: dict[str, list[_Item]] = {}
    for item in items:
        groups.setdefault(item.id, []).append(item)
    return groups


_FIX_FOREIGN_LINE = "Remove the lines of the other run that were mixed in."
_FIX_BAD_LINE = "Remove the line and repeat the command."


def complete_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines that end in a line break; a killed process may have left an incomplete one.

    Raises:
        InputError: The file exists and cannot be read.
    """
    try:
        with path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    yield line[:-1]
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unreadable_file_error(path, error) from error


def _require_files(folder: Path) -> None:
    """Refuse what is neither a file nor a folder: opening it could wait forever."""
    try:
        found = [path for path in folder.iterdir() if path.exists() and not (path.is_file() or path.is_dir())]
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise _unreadable_file_error(folder, error) from error
    if found:
        raise InputError("is not a file but a pipe, a socket or a device", path=found[0], fix="Remove it.")


def _unreadable_file_error(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot be read ({error.strerror})", path=path, fix="Make the file readable.")


def read_result(path: Path, begin: int) -> Result:
    """Return the outcome whose line begins at this offset."""
    return _parse_result(_read_line(path, begin), path, 0)


def _read_line(path: Path, begin: int) -> bytes:
    with path.open("rb") as file:
        file.seek(begin)
        return file.readline()[:-1]


def _find_line_number(path: Path, begin: int) -> int:
    """Return the 1-based number of the line that begins at this offset."""
    with path.open("rb") as file:
        return file.read(begin).count(b"\n") + 1


def _find_by_id(path: Path, ids: Container[str], parse: Callable[[bytes, Path, int], _Item]) -> Iterator[_Item]:
    """Yield the parsed lines with these ids; of the others, parse only those that are not plain JSON, for the error."""
    for number, line in enumerate(complete_lines(path), 1):
        # Not JSON, with a lone surrogate, or with a list as its id: the parser says what is wrong.
        with suppress(ValueError, TypeError):
            row = from_json(line)
            if isinstance(row, dict) and cast("dict[str, str]", row).get("id", "") not in ids:
                continue
        found = parse(line, path, number)
        if found.id in ids:
            yield found


def _parse_sample(line: bytes, path: Path, number: int) -> Sample:
    try:
        return SampleLine.model_validate(parse_json(line)).sample()
    except ValueError as error:
        raise InputError(
            f"not a sample ({describe_validation_error(error)})",
            path=path,
            line=number,
            fix="Repeat the command that started the run.",
        ) from error


def _parse_result(line: bytes, path: Path, number: int) -> Result:
    try:
        fields = ResultLine.model_validate(parse_json(line))
    except ValueError as error:
        raise InputError(
            f"not an outcome ({describe_validation_error(error)})", path=path, line=number, fix=_FIX_BAD_LINE
        ) from error
    return Result(fields.id, fields.metric, fields.outcome(), fields.signature)


def _list_numbers(result: Result, ranges: Mapping[str, Range]) -> Iterator[tuple[str, float, Range]]:
    """Yield the score, its repetitions and its parts: what each is, the number and its range, if one is declared."""
    if isinstance(result.outcome, Score):
        span = ranges.get(result.metric, (None, None))
        yield "score", result.outcome.value, span
        for number in chain.from_iterable(result.outcome.repetitions):
            yield "repetition", number, span
        for part, number in result.outcome.parts.items():
            yield f"part {part[:60]!r}", number, ranges.get(f"{result.metric}.{part}", (None, None))


def _describe_range(span: Range) -> str:
    low, high = span
    if low is not None and high is not None:
        return f"between {low:g} and {high:g}"
    return f"at {low:g} or above" if low is not None else f"at {high:g} or below"
