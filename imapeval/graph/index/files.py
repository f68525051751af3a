"""Writes the two files of a name index, and checks them before use.

`names.faiss` is in FAISS's format; `names.json` beside it has the graph and the encoder of the index, its recall, and
the mean vector of each language.
"""

from __future__ import annotations

import base64
import hashlib
import os
import sys
from typing import TYPE_CHECKING, Any, Self

import faiss
import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from imapeval.errors import ResourceError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from imapeval.graph.arrays import Floats32
    from imapeval.types import Lang


FORMAT = 2
"""Version of the two files; an index of another version is rejected."""

HOW_TO_BUILD = "To build it: imapeval kg index DIR for your own graph, python kg/build_index.py for the shipped one."
HOW_TO_FIX = f"Delete it and the .json file beside it; it is rebuilt when needed. {HOW_TO_BUILD}"

_HASHED_BYTES = 1 << 20
"""Bytes hashed at each end of the file: hashing 2 GB would take seconds at every opening."""

# FAISS memory-maps the lists of an IVF index, which are nearly all of the file; on Windows it reads the whole file.
_READ_FLAGS = 0 if sys.platform == "win32" else faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY


class Recall(BaseModel):
    """Recall of an approximate index relative to exact search.

    Attributes:
        share: Share of the `k` nearest names by exact search that the index finds, in 0..1.
        k: How many nearest names.
        probes: Cells of the index that are searched, chosen to reach the share.
        queries: Number of queries (names of the graph with one character removed) that `share` is averaged over.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    share: float
    k: int
    probes: int
    queries: int


class IndexDescription(BaseModel):
    """Content of `names.json`.

    Attributes:
        format: Version of the two files.
        graph: Hash of the graph.
        encoder: Identity of the encoder.
        recipe: Specification for FAISS's `index_factory`; "Flat" is exact.
        recall: Its recall; None where it is exact.
        faiss: Version of FAISS that wrote it.
        size: Bytes of `names.faiss`.
        digest: SHA-256 of its first and its last MiB.
        means: Language to the mean of its names' vectors: float32, little-endian, base64.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int
    graph: str
    encoder: str
    dimension: int
    names: int
    recipe: str
    recall: Recall | None
    faiss: str
    size: int
    digest: str
    means: dict[str, str]

    @model_validator(mode="after")
    def _check_means(self) -> Self:
        # Checked here, so that the error names the file and is not raised by the first query.
        for lang, mean in self.decode_means().items():
            if mean.shape != (self.dimension,):
                raise ValueError(f"the mean of {lang!r} has {len(mean)} of {self.dimension} numbers")
        return self

    def decode_means(self) -> dict[str, Floats32]:
        """Return the means as arrays, by language."""
        return {lang: np.frombuffer(base64.b64decode(mean), dtype="<f4") for lang, mean in self.means.items()}


def encode_means(means: Mapping[Lang, Floats32]) -> dict[str, str]:
    """Return means in the form of `IndexDescription.means`."""
    return {lang: base64.b64encode(mean.astype("<f4").tobytes()).decode() for lang, mean in sorted(means.items())}


def read_description(path: Path) -> IndexDescription | None:
    """Return the description of the index at this path; None if there is none.

    Raises:
        ResourceError: It is damaged or of another format.
    """
    description = path.with_suffix(".json")
    try:
        content = description.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ResourceError(f"{description} cannot be read ({error.strerror}). {HOW_TO_FIX}") from error
    try:
        found = _FormatOnly.model_validate_json(content).format
        if found != FORMAT:
            raise ResourceError(f"the name index {path} has format {found}; this version reads {FORMAT}. {HOW_TO_FIX}")
        return IndexDescription.model_validate_json(content)
    except ValidationError as error:
        raise ResourceError(f"{description} does not describe a name index ({error}). {HOW_TO_FIX}") from error


class _FormatOnly(BaseModel):
    """The field that all versions of the format have."""

    format: int


def open_index(path: Path, description: IndexDescription) -> Any:
    """Open a `.faiss` file, its lists mapped into memory, and check it against its description.

    Raises:
        ResourceError: It is missing, truncated, damaged or another index.
    """
    try:
        size, digest = fingerprint_file(path)
        if size != description.size:
            raise ResourceError(f"the name index {path} has {size} of {description.size} bytes. {HOW_TO_FIX}")
        if digest != description.digest:
            raise ResourceError(
                f"the name index {path} is damaged, or does not belong to its description. {HOW_TO_FIX}"
            )
        index: Any = faiss.read_index(str(path), _READ_FLAGS)
    except (OSError, RuntimeError) as error:
        raise ResourceError(f"the name index {path} cannot be read ({error}). {HOW_TO_FIX}") from error
    if (index.ntotal, index.d) != (description.names, description.dimension):
        raise ResourceError(
            f"the name index {path} holds {index.ntotal} names of {index.d} dimensions, but its description says "
            f"{description.names} and {description.dimension}. {HOW_TO_FIX}"
        )
    return index


def fingerprint_file(path: Path) -> tuple[int, str]:
    """Return the size of a file in bytes and the digest of its ends (see `IndexDescription`).

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest = hashlib.sha256(file.read(_HASHED_BYTES))
        file.seek(max(_HASHED_BYTES, size - _HASHED_BYTES))
        digest.update(file.read())
    return size, digest.hexdigest()


_faiss: Any = faiss  # its stubs are partly untyped


def write_index(index: Any, path: Path) -> None:
    """Write an index to a file, in FAISS's format.

    Raises:
        OSError: The file cannot be written, as on a full disk.
    """
    failure: OSError | None = None

    with path.open("wb") as file:

        def write(data: bytes) -> None:
            nonlocal failure
            try:
                file.write(data)
            except OSError as error:
                failure = error
                raise

        # FAISS itself does not report that the last bytes of a file did not fit on the disk.
        try:
            _faiss.write_index(index, _faiss.PyCallbackIOWriter(write))
        except RuntimeError:
            if failure is not None:
                raise failure from None
            raise
        file.flush()
        os.fsync(file.fileno())
