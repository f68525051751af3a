"""The identity of a model of vLLM: its name, or the content of its files, and the arguments that change its answers."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from imapeval.files import expand_user

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_PERFORMANCE_ARGUMENTS = frozenset(
    {
        "enable_prefix_caching",
        "enforce_eager",
        "gpu_memory_utilization",
        "kv_cache_memory_bytes",
        "max_model_len",
        "max_num_batched_tokens",
        "max_num_seqs",
        "pipeline_parallel_size",
        "swap_space",
        "tensor_parallel_size",
    }
)
"""Arguments that affect where and how fast the model runs, not what it computes. They are not part of the identity, so
that completions from one GPU are not requested again on two."""

_PATH_ARGUMENTS = frozenset({"chat_template", "hf_config_path", "tokenizer"})
"""Arguments that may be a path. Others, such as a revision, are not looked up: a folder that happens to be called
"main" would change the identity with the working directory."""

_MODEL_FILES = frozenset({".json", ".jinja", ".txt", ".model", ".safetensors", ".bin", ".pt", ".gguf"})
_HASHED_WHOLE = 32 * 2**20
_SAMPLES = 256
_SAMPLE = 4096
"""Of a file of more than `_HASHED_WHOLE` bytes only `_SAMPLES` samples of `_SAMPLE` bytes are hashed: half a million
weights suffice to distinguish two trainings of the same model, and a 70B model is identified without delay."""


def identify_model(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the model's identity, without spaces.

    Files and folders, of the model or in the arguments (a chat template, a tokenizer), are identified by their names
    and content, not by their paths.

    Args:
        name: Name or folder of the model.
        arguments: Arguments of `vllm.LLM`.
    """
    telling = {
        key: _name_content(arguments[key]) if key in _PATH_ARGUMENTS else arguments[key]
        for key in sorted(arguments.keys() - _PERFORMANCE_ARGUMENTS)
    }
    tail = json.dumps(telling, separators=(",", ":")) if telling else ""
    return re.sub(r"\s+", "_", f"vllm:{_name_content(name)}{tail}")


def _name_content(value: Any) -> Any:
    """Return name and hash of a file or folder in place of its path; other values as they are."""
    if not isinstance(value, str) or not value:
        return value
    try:
        path = expand_user(value)
        if path.is_dir():
            files = sorted(file for file in path.iterdir() if file.suffix in _MODEL_FILES)
            return f"{path.resolve().name}#{_digest(files)}"
        return f"{path.name}#{_digest([path])}" if path.is_file() else value
    except OSError:
        # A template written out is too long for the name of a file.
        return value


def _digest(files: Iterable[Path]) -> str:
    """Return a short hash of the names and content of files."""
    found = hashlib.sha256()
    for path in files:
        size = path.stat().st_size
        found.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as file:
            if size <= _HASHED_WHOLE:
                found.update(file.read())
                continue
            for index in range(_SAMPLES):
                file.seek((size - _SAMPLE) * index // (_SAMPLES - 1))
                found.update(file.read(_SAMPLE))
    return found.hexdigest()[:8]
