"""Token counts: exact if the model's tokenizer is on this computer, else estimated."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from imapeval._optional import installed
from imapeval.files import expand_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from imapeval.llm.protocol import Request

_NARROW = 4.0
"""Characters per token in Latin script; see `estimate`."""

_WIDE = 1.1
"""Characters per token in Chinese."""

_FILES = {"o200k_harmony": "o200k_base", "p50k_edit": "p50k_base"}
"""Files of tiktoken's encodings that are named otherwise (tiktoken_ext/openai_public.py)."""

_TEMPLATE_TOKENS, _MESSAGE_TOKENS = 256, 16
"""Tokens that a chat template may add: a default system message, and control tokens around each message."""


def estimate(text: str) -> int:
    """Return the estimated number of tokens of a text in a current model, rounded up; 0 only for "".

    A token is four Latin or 1.1 Chinese characters. Measured on the 540 texts of the shipped samples (estimate / count
    over all texts of a language; in brackets the error that 95% of single texts stay within):

                      GPT-4o, GPT-4.1    DeepSeek-V3      Qwen2.5         SmolLM2
        English       1.12 (31%)         1.13 (32%)       1.09 (29%)      1.10 (35%)
        Chinese        .96 (20%)         1.30 (54%)       1.17 (44%)       .46 (58%)

    and .99 to 1.20 on our prompts for the first three. Older tokenizers (GPT-4: .64) and small English models need far
    more tokens for Chinese. The estimate for a run is better than for a single text, because errors cancel out.
    """
    # In UTF-8 a Chinese character takes two bytes more than a Latin one, an accented letter one more: the length in
    # bytes gives the number of wide characters without examining each of them.
    wide = (len(text.encode(errors="surrogatepass")) - len(text)) / 2
    return math.ceil((len(text) - wide) / _NARROW + wide / _WIDE)


def estimate_prompt(request: Request) -> int:
    """Return the estimated number of prompt tokens of a request."""
    return estimate(request.given) + sum(estimate(message.content) for message in request.messages)


def bound_prompt(request: Request) -> int:
    """Return more prompt tokens than a request can have: no tokenizer makes more tokens than there are bytes."""
    texts = [request.given, *(message.content for message in request.messages)]
    if request.schema is not None:
        texts.append(json.dumps(request.schema, ensure_ascii=False))
    size = sum(len(text.encode(errors="surrogatepass")) for text in texts)
    return size + _TEMPLATE_TOKENS + _MESSAGE_TOKENS * len(request.messages)


def count(spec: str, texts: Iterable[str]) -> tuple[int, bool]:
    """Return the total number of tokens of the texts, and whether it is exact. Nothing is downloaded.

    It is exact if `tokenizers` is installed and the model is a local folder or in the Hugging Face cache, or if
    `tiktoken` is installed, the model is OpenAI's and its encoding has been downloaded. The tokens that a chat template
    adds are not counted.

    Args:
        spec: "PROVIDER:NAME", as for `open_model`.
        texts: The texts to count.
    """
    # The arguments of a model of vLLM follow its name.
    name = spec.partition(":")[2].partition("?")[0].strip()
    exact = _find_tokenizer(name)
    return sum(map(exact or estimate, texts)), exact is not None


def _find_tokenizer(name: str) -> Callable[[str], int] | None:
    file = _find_tokenizer_file(name) if installed("tokenizers") else None
    if file is not None:
        try:
            tokenizer = import_module("tokenizers").Tokenizer.from_buffer(file.read_bytes())
        except (OSError, ValueError):  # no tokenizer, such as the pointer that `git clone` leaves without LFS
            return None
        # The file may enable padding or truncation to a fixed length.
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
    if installed("tiktoken"):
        tiktoken = import_module("tiktoken")
        try:
            encoding = tiktoken.encoding_name_for_model(name)
        except KeyError:
            return None
        if _is_downloaded(encoding):
            table = tiktoken.get_encoding(encoding)
            return lambda text: len(table.encode_ordinary(text))
    return None


def _find_tokenizer_file(name: str) -> Path | None:
    file = expand_user(name) / "tokenizer.json"
    if file.is_file():
        return file
    if installed("huggingface-hub"):
        hub = import_module("huggingface_hub")
        try:
            cached = hub.try_to_load_from_cache(name, "tokenizer.json")
        except hub.errors.HFValidationError:
            return None
        return Path(cached) if isinstance(cached, str) else None
    return None


def _is_downloaded(encoding: str) -> bool:
    """Return whether tiktoken has an encoding in its cache; otherwise it would download it (tiktoken/load.py)."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder == "":  # disables its cache
        return False
    url = f"https://openaipublic.blob.core.windows.net/encodings/{_FILES.get(encoding, encoding)}.tiktoken"
    name = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    return (Path(folder or Path(tempfile.gettempdir()) / "data-gym-cache") / name).is_file()
