"""Loads logs of Inspect AI (`.eval`, or `.json` with `--loader inspect`): one row per sample and epoch."""

from __future__ import annotations

import math
import re
import struct
import sys
import zlib
from copy import copy
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo, is_zipfile

from imapeval._optional import require
from imapeval.errors import InputError
from imapeval.evaluation.samples.rows import DEFAULT_OPTIONS, ReadOptions, Row, read_lang
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SKIPPED_FIELDS = {"messages", "events", "events_data", "store", "timelines"}
"""Fields that make up most of a log and are not needed."""

_READER_ERRORS = (("zstandard", "ZstdError"), ("ijson.common", "JSONError"))

_MAX_MEMBER = 256 * 2**20
"""Maximum length of a sample in an archive, in bytes: it is held in memory."""

_MAX_RATIO = 100
"""Largest ratio of unpacked to packed bytes of an archive of more than `_MAX_MEMBER`; logs have about 10."""

_ZIP_ZSTANDARD = 93

_MAX_DEPTH = 1000
"""Nested brackets in a sample; Inspect's reader takes a time that grows with their square."""

_MAX_PROBLEM = 300
"""Maximum length of an error of Inspect's reader in a message, which may quote the log."""

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")

_log = get_logger(__name__)


def load_inspect(source: str, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Row]:
    """Yield the answers of a log.

    Ids are those of the samples, followed by "/" and the epoch if there are several epochs. `system` is the model, and
    `lang` is taken from the sample's metadata. Further columns are `sample_id`, `epoch`, `task`, `metadata.NAME`,
    `choices` and `chosen.NAME` (what a scorer read) of multiple-choice questions, `stop_reason` of an answer that did
    not stop by itself, and existing scores as `score.NAME` or `score.NAME.KEY`; human scores become ratings by
    `--map ratings.accuracy=score.NAME`. Samples that ended in an error or were invalidated are skipped with a warning.
    `response` is None if no model answered.

    Raises:
        InputError: The file is not a log of Inspect.
        MissingExtraError: `inspect-ai` is not installed.
    """
    inspect_log: Any = require(
        "inspect_ai.log", distribution="inspect-ai", extra="inspect", needed_for="Reading Inspect's logs"
    )
    if not Path(source).is_file():
        raise InputError("no such file", path=source, fix="Check the path.")
    try:
        _check_archive(source)
        log = inspect_log.read_eval_log(source, resolve_attachments="core", exclude_fields=_SKIPPED_FIELDS)
    except _damaged_log_errors() as error:
        problem = " ".join(str(error).split())[:_MAX_PROBLEM]
        raise InputError(
            f"is not a log that Inspect can read ({problem})", path=source, fix="Give an .eval or .json log of Inspect."
        ) from error
    samples = cast("list[Any]", log.samples or [])
    whole = [sample for sample in samples if not (sample.error or sample.invalidation)]
    if left_out := len(samples) - len(whole):
        _log.warning(
            "%s: skipped %d of %d samples, which ended in an error or were invalidated",
            source,
            left_out,
            len(samples),
        )
    epochs = any(sample.epoch > 1 for sample in samples)
    for number, sample in enumerate(whole, 1):
        fields: dict[str, Any] = {
            "id": f"{sample.id}/{sample.epoch}" if epochs else str(sample.id),
            **read_question(sample.input),
            "references": read_references(sample.target),
            "response": None if is_unanswered(sample.output) else sample.output.completion,
            "system": log.eval.model,
            "lang": read_lang(sample.metadata),
            "sample_id": sample.id,
            "epoch": sample.epoch,
            "task": log.eval.task,
            **_read_choices(sample),
            **{f"metadata.{name}": value for name, value in sample.metadata.items()},
            **_read_scores(sample.scores or {}),
        }
        yield Row(number, number, fields, unit="record")


def _check_archive(source: str) -> None:
    """Raise `ValueError` or `BadZipFile` for an archive that would take Inspect's reader all memory or many minutes."""
    if not is_zipfile(source):
        return  # a .json log, or one that Inspect refuses
    with ZipFile(source) as archive:
        total = sum(member.file_size for member in archive.infolist())
        if total > max(_MAX_MEMBER, _MAX_RATIO * Path(source).stat().st_size):
            raise ValueError(f"it has {total:,} bytes when unpacked, more than {_MAX_RATIO} times its packed size")
        for member in archive.infolist():
            if member.file_size > _MAX_MEMBER:
                raise ValueError(f"{member.filename[:60]} has more than {_MAX_MEMBER:,} bytes when unpacked")
            if member.flag_bits & 1:
                raise ValueError(f"{member.filename[:60]} is encrypted")
            content = _unpack(archive, member)
            brackets = _STRING.sub(b"", content).translate(None, _NO_BRACKETS)
            depths = accumulate(1 if bracket in b"[{" else -1 for bracket in brackets)
            if max(depths, default=0) > _MAX_DEPTH:
                raise ValueError(f"{member.filename[:60]} has more than {_MAX_DEPTH} nested brackets")


def _unpack(archive: ZipFile, member: ZipInfo) -> bytes:
    """Return the content of a member; raise `ValueError` where it is longer than the archive says."""
    if member.compress_type in (ZIP_STORED, ZIP_DEFLATED):  # otherwise what Python reads has the length that is said
        with archive.open(member) as file:
            return file.read(_MAX_MEMBER)
    if member.compress_type != _ZIP_ZSTANDARD:
        raise ValueError(f"{member.filename[:60]} is packed in another way than Inspect packs")
    # Python's `zipfile` cannot unpack it before 3.14; Inspect needs the package.
    packed = copy(member)
    packed.compress_type, packed.file_size = ZIP_STORED, member.compress_size
    packed.CRC = None  # pyright: ignore[reportAttributeAccessIssue]  # that of the content
    zstandard: Any = import_module("zstandard")
    unpacker = zstandard.ZstdDecompressor()
    # Inspect's reader goes through all frames, too.
    with archive.open(packed) as file, unpacker.stream_reader(file, read_across_frames=True) as stream:
        content = stream.read(member.file_size + 1)
    if len(content) > member.file_size:
        raise ValueError(f"{member.filename[:60]} is longer than the archive says")
    return content


def is_unanswered(output: Any) -> bool:
    """Return whether no model answered, as opposed to an empty answer."""
    return output.empty and not output.completion


def read_question(given: Any) -> dict[str, Any]:
    """Return a sample's input as the column `question`, or as `turns` if it is a list of messages.

    Messages of tools are dropped, and assistant messages that only call tools.
    """
    if isinstance(given, str):
        return {"question": given}
    return {
        "turns": [
            {"role": message.role, "content": message.text}
            for message in given
            if message.role != "tool" and (message.role != "assistant" or message.text.strip())
        ]
    }


def read_references(target: str | Sequence[str]) -> list[str]:
    """Return a sample's targets as references; Inspect writes "" if there is none."""
    return [text for text in ([target] if isinstance(target, str) else target) if text.strip()]


def _read_choices(sample: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if sample.choices:
        found["choices"] = list(sample.choices)
        scores = cast("dict[str, Any]", sample.scores or {})
        found |= {f"chosen.{name}": score.answer for name, score in scores.items() if score.answer}
    if not sample.output.empty and sample.output.stop_reason not in {"stop", "unknown"}:
        found["stop_reason"] = sample.output.stop_reason
    return found


def _damaged_log_errors() -> tuple[type[Exception], ...]:
    """Return the errors that Inspect, or a package that it reads with, raises for a damaged log."""
    package_errors = (getattr(sys.modules.get(module), name, None) for module, name in _READER_ERRORS)
    own_errors = (OSError, ValueError, KeyError, NotImplementedError, struct.error, BadZipFile, zlib.error)
    return *own_errors, *filter(None, package_errors)


def _read_scores(scores: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, score in scores.items():
        value: Any = score.value
        if isinstance(value, dict):
            found |= {f"score.{name}.{key}": part for key, part in cast("dict[str, Any]", value).items()}
        else:
            found[f"score.{name}"] = value
    # NaN is how Inspect writes "unscored".
    return {name: value for name, value in found.items() if not (isinstance(value, float) and math.isnan(value))}
