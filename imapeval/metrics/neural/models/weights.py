"""Weights of neural models: finding, downloading and identifying them.

A model is given by its name on the Hugging Face hub ("roberta-large") or by a path: a folder with weights and
configuration, or a single checkpoint file. Downloads are kept in the hub's cache ($HF_HUB_CACHE, $HF_HOME), which other
programs share.
"""

from __future__ import annotations

import hashlib
import json
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from imapeval._optional import installed, require
from imapeval.errors import ResourceError
from imapeval.files import expand_user
from imapeval.llm.providers.weights import sha256_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EXTRA = "neural"

INSTALL_HINT = f"pip install 'imapeval[{EXTRA}]'"
"""What to install if the packages of neural metrics are missing."""

_PACKAGES = ("torch", "transformers", "huggingface_hub")

# Best first: of several formats of the same weights the first is loaded, as transformers does. Lightning, with which
# COMET and AlignScore were trained, writes checkpoints.
_FORMATS = (
    re.compile(r"model(-\d+-of-\d+)?\.safetensors"),
    re.compile(r"pytorch_model(-\d+-of-\d+)?\.bin"),
    re.compile(r"(checkpoints/)?[^/]+\.ckpt"),
)

_PART = re.compile(r"-\d+-of-\d+\.(safetensors|bin)$")

_EXPECTED_FILES = (
    "model.safetensors, pytorch_model.bin or *.ckpt with all its parts, as a readable *.index.json names them"
)

_COMPANION_FILE = re.compile(r"[^/]+\.(json|txt|model|yaml)")
"""Files that are read besides the weights: configuration, vocabulary, hyperparameters of a checkpoint."""

# owner/name or name, as huggingface_hub.utils.validate_repo_id has it.
_HUB_NAME = re.compile(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)?")


def import_packages(*modules: str, needed_for: str) -> list[Any]:
    """Import packages of the extra `neural` whose module and distribution have the same name.

    Raises:
        MissingExtraError: One is not installed.
    """
    return [require(module, distribution=module, extra=EXTRA, needed_for=needed_for) for module in modules]


def find_weights(model: str) -> Path | None:
    """Return the location of a model's weights on this computer, or None.

    Args:
        model: A folder, a checkpoint file, or a hub name.

    Returns:
        The file, or a folder with complete weights: the user's, or one in the hub's cache.
    """
    given = expand_user(model)
    if given.is_file():
        return given
    folder = given if given.is_dir() else find_in_cache(model)
    return folder if folder is not None and _is_complete(folder) else None


def find_in_cache(model: str) -> Path | None:
    """Return the folder of a model in the hub's cache, which may lack some of its files, or None."""
    if _HUB_NAME.fullmatch(model) is None or not installed("huggingface_hub"):
        return None
    constants = import_module("huggingface_hub.constants")
    # Layout: huggingface.co/docs/huggingface_hub, "Understand caching". Asking snapshot_download would cost its import,
    # and refuse a snapshot of which another program fetched only what it needs.
    repository = Path(constants.HF_HUB_CACHE) / f"models--{model.replace('/', '--')}"
    try:
        commit = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    snapshot = repository / "snapshots" / commit
    return snapshot if snapshot.is_dir() else None


def fetch_weights(model: str) -> Path:
    """Return the location of a model's weights, downloaded from the hub if necessary.

    The hub is $HF_ENDPOINT, by default huggingface.co. If it has the weights in several formats, one is downloaded.

    Raises:
        MissingExtraError: The packages of the extra `neural` are not installed.
        ResourceError: There is no such folder, or the hub does not have it or cannot be reached.
    """
    [hub] = import_packages("huggingface_hub", needed_for=f"the model {model!r}")
    found = find_weights(model)
    if found is not None:
        return found
    if expand_user(model).exists():
        raise ResourceError(
            f"the folder {model} holds no complete weights: no {_EXPECTED_FILES}. Give a folder written by "
            "save_pretrained."
        )
    if _HUB_NAME.fullmatch(model) is None:
        raise ResourceError(f"there is no folder {model}. Give one with weights, or the name of a model at the hub.")
    from httpx2 import HTTPError

    try:
        hub.snapshot_download(model, allow_patterns=_select_files(hub.list_repo_files(model)))
    # ValueError: huggingface_hub's own check of the name.
    except (OSError, HTTPError, ValueError) as error:
        raise ResourceError(
            f"the weights of {model!r} are neither a folder here nor in the hub's cache, and cannot be fetched "
            f"from the hub ({first_line(error)}). Give a folder that holds them."
        ) from error
    found = find_weights(model)
    if found is None:
        raise ResourceError(f"what the hub has as {model!r} holds no weights that can be loaded: no {_EXPECTED_FILES}.")
    return found


def identify_weights(model: str) -> str:
    """Return "NAME#DIGEST" of a local model: the same on every computer, and for no other weights.

    NAME is the last part of the hub name or path. DIGEST is the first 12 hexadecimal digits of a SHA-256 over the files
    with weights, configuration and vocabulary. A file's digest is cached until the file changes.

    Raises:
        ResourceError: The model is not on this computer.
    """
    path = find_weights(model)
    if path is None:
        raise ResourceError(f"the weights of {model!r} are not on this computer.")
    files = {path.name: path} if path.is_file() else {name: path / name for name in _select_files(_list(path))}
    return f"{path.stem if path.is_file() else expand_user(model).resolve().name}#{hash_files(files)}"


def hash_files(files: Mapping[str, Path]) -> str:
    """Return the first 12 hexadecimal digits of a SHA-256 over the names and contents of files.

    Raises:
        OSError: A file cannot be read.
    """
    digest = hashlib.sha256()
    for name, file in sorted(files.items()):
        digest.update(f"{name} {sha256_of(file)}\n".encode())
    return digest.hexdigest()[:12]


def identify_file(path: str) -> str:
    """Return "NAME#DIGEST" of a file that a metric reads, for its signature; "" without one.

    Raises:
        OSError: It cannot be read.
    """
    if not path:
        return ""
    file = expand_user(path)
    return f"{file.name}#{sha256_of(file)[:12]}"


def describe_missing_weights(metric: str, *models: str) -> str:
    """Return what has to be installed or downloaded before a metric has all of its models; "" if nothing."""
    if not all(map(installed, _PACKAGES)):
        return INSTALL_HINT
    absent = [model for model in models if find_weights(model) is None]
    if not absent:
        return ""
    both = " (the models of both languages are needed, whichever the texts are in)" if len(models) > 1 else ""
    return (
        f"weights of {' and '.join(absent)}: --set {metric}.model=FOLDER, or let them be fetched from the Hugging Face "
        f"hub{both}"
    )


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or the name of its type if the message is empty."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _is_complete(folder: Path) -> bool:
    """Return whether a folder has weights, and of weights in parts their index and all of them.

    With an unreadable index they are not complete.
    """
    weights = set(_select_weights(_list(folder)))
    parts: set[str] = set()
    for index in folder.glob("*.index.json"):
        try:
            named = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        # ValueError: neither UTF-8 nor JSON; the last three: JSON of another shape.
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False
        # An index of another format says nothing about these.
        parts |= named if named & weights else set()
    # Parts are loaded by their index only.
    numbered = {name for name in weights if _PART.search(name)}
    return bool(weights) and numbered <= parts <= weights


def _list(folder: Path) -> list[str]:
    return sorted(
        file.relative_to(folder).as_posix()
        for candidate in (folder, folder / "checkpoints")
        for file in candidate.glob("*")
        if file.is_file()
    )


def _select_weights(files: Sequence[str]) -> list[str]:
    for form in _FORMATS:
        if found := [file for file in files if form.fullmatch(file)]:
            return found
    return []


def _select_files(files: Sequence[str]) -> list[str]:
    """Return the files of a folder or repository that are read to load its weights."""
    return [*_select_weights(files), *filter(_COMPANION_FILE.fullmatch, files)]
