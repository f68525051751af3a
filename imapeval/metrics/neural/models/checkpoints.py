"""Encoders from checkpoints that transformers cannot load by itself.

COMET and AlignScore are Lightning checkpoints: they contain the weights of an encoder and a head, but only name the
encoder, whose configuration and vocabulary are on the hub under that name. BLEURT is a folder with a configuration of
its own.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import ResourceError
from imapeval.files import expand_user
from imapeval.metrics.neural.models.loading import LoadedModel
from imapeval.metrics.neural.models.sharing import SharedObjects
from imapeval.metrics.neural.models.weights import find_in_cache, first_line, hash_files, import_packages

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONFIG_FILES = ("*.json", "*.txt", "*.model")
"""Configuration and vocabulary of a model on the hub, as opposed to its weights."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class EncoderWithHead:
    """An encoder with a head that transformers does not know.

    Attributes:
        encoder: The encoder, with its tokenizer.
        head: Tensors, numbers and torch modules that map its vectors to a number, by name.
        settings: Settings of the head, by name.
    """

    encoder: LoadedModel
    head: Mapping[str, Any]
    settings: Mapping[str, Any]


get_shared = SharedObjects[tuple[str, ...], EncoderWithHead]().get
"""Return the network for a metric's name, files and device, loaded if nobody holds it."""


def find_config(model: str) -> Path | None:
    """Return the folder with a model's configuration and vocabulary, or None; the weights may be missing."""
    given = expand_user(model)
    folder = given if given.exists() else find_in_cache(model)
    return folder if folder is not None and (folder / "config.json").is_file() else None


def describe_missing_config(metric: str, model: str) -> str:
    """Return what is missing for an encoder's vocabulary; "" if nothing."""
    if find_config(model) is not None:
        return ""
    needed = f"configuration and vocabulary of {model}"
    return f"{needed}: --set {metric}.encoder=FOLDER, or let them be fetched from the Hugging Face hub"


def fetch_config(model: str) -> Path:
    """Return the folder with a model's configuration and vocabulary, downloaded from the hub if necessary.

    Raises:
        MissingExtraError: The packages of the extra `neural` are not installed.
        ResourceError: They are not available.
    """
    [hub] = import_packages("huggingface_hub", needed_for=f"the model {model!r}")
    if (found := find_config(model)) is not None:
        return found
    from httpx2 import HTTPError

    try:
        return Path(hub.snapshot_download(model, allow_patterns=list(_CONFIG_FILES)))
    # ValueError: huggingface_hub's own check of the name.
    except (OSError, HTTPError, ValueError) as error:
        raise ResourceError(
            f"configuration and vocabulary of {model!r} are neither a folder here nor in the hub's cache, and cannot "
            f"be fetched from the hub ({first_line(error)}). Give a folder that holds config.json and the tokenizer's "
            "files."
        ) from error


def load_config(model: str) -> tuple[Any, Any]:
    """Return a model's configuration and tokenizer, downloaded from the hub if necessary.

    Raises:
        MissingExtraError: The packages of the extra `neural` are not installed.
        ResourceError: They are not available, or damaged.
    """
    [transformers] = import_packages("transformers", needed_for=f"the model {model!r}")
    folder = fetch_config(model)
    try:
        return transformers.AutoConfig.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise ResourceError(f"configuration and vocabulary of {model!r} in {folder} cannot be read: {error}") from error


def identify_config(model: str) -> str:
    """Return "NAME#DIGEST" of a model's local configuration and vocabulary; see `identify_weights`.

    Raises:
        ResourceError: They are not on this computer.
    """
    folder = find_config(model)
    if folder is None:
        raise ResourceError(f"configuration and vocabulary of {model!r} are not on this computer.")
    files = {file.name: file for form in _CONFIG_FILES for file in folder.glob(form) if file.is_file()}
    return f"{expand_user(model).resolve().name}#{hash_files(files)}"


def read_state(file: Path) -> dict[str, Any]:
    """Return the tensors of a Lightning or torch checkpoint by name.

    Raises:
        ResourceError: It cannot be read, contains no named tensors, or contains objects other than tensors and plain
            values, which could execute code.
    """
    torch, safetensors = import_packages("torch", "safetensors", needed_for=f"the checkpoint {file}")
    try:
        if file.suffix == ".safetensors":
            return import_module("safetensors.torch").load_file(file)
        read = torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ResourceError(
            f"{file} holds more than tensors and plain values, or is damaged, and is not opened: what is pickled can "
            f"run any code. If you trust it, write its tensors alone: python -c \"import torch; f = '{file}'; "
            "torch.save({'state_dict': torch.load(f, weights_only=False)['state_dict']}, f)\""
        ) from error
    except (OSError, RuntimeError, EOFError, ValueError, safetensors.SafetensorError) as error:
        raise ResourceError(f"the checkpoint {file} cannot be read: {error}") from error
    state = cast("dict[Any, Any]", read).get("state_dict", read) if isinstance(read, dict) else read
    if isinstance(state, dict) and all(isinstance(name, str) for name in cast("dict[Any, Any]", state)):
        return cast("dict[str, Any]", state)
    raise ResourceError(f"the checkpoint {file} holds no tensors by name. Give the one that the authors published.")


def select_by_prefix(state: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the tensors whose names begin with the prefix, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}


def load_tensors(module: Any, state: Mapping[str, Any], *, source: str) -> Any:
    """Load tensors by name into a torch module and return it in evaluation mode; messages name their file, `source`.

    Raises:
        ResourceError: A tensor is missing, unexpected or of another shape.
    """
    try:
        module.load_state_dict(dict(state))
    except RuntimeError as error:
        raise ResourceError(f"the weights in {source} are not those of such a model: {error}") from error
    return module.eval()


def build_encoder(
    network: str, config: Any, state: Mapping[str, Any], *, tokenizer: Any, device: str, longest: int, source: str
) -> LoadedModel:
    """Return an encoder with the given configuration and tensors, with a pooler if they contain one.

    Args:
        network: The class in transformers.
        config: Its configuration in transformers.
        state: Tensors by their names in transformers.
        tokenizer: Its tokenizer, with `pad_token_id`.
        device: "cpu", "cuda" or "mps"; weights are in half precision except on the CPU.
        longest: Maximum number of tokens per text, special ones included.
        source: File of the tensors, for messages.

    Raises:
        ResourceError: A tensor is missing, unexpected or of another shape.
    """
    torch, transformers = import_packages("torch", "transformers", needed_for=f"the model in {source}")
    pooled = any(name.startswith("pooler.") for name in state)
    model = getattr(transformers, network)(config, add_pooling_layer=pooled)
    # A table of the numbers 0, 1, 2 ..., which transformers kept with the weights until version 4.31.
    load_tensors(
        model, {name: tensor for name, tensor in state.items() if not name.endswith("position_ids")}, source=source
    )
    return LoadedModel(
        tokenizer, model.to(device, torch.float32 if device == "cpu" else torch.float16), device, longest
    )
