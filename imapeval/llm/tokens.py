"""How many tokens a text has: exactly where the model's tokenizer lies on this computer, else a good guess."""

from __future__ import annotations

import hashlib
import os
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from imapeval._optional import installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from imapeval.llm.protocol import Request

_NARROW = 4.0
"""Characters a token, of Latin script. See `estimate` for where it comes from."""

_WIDE = 1.1
"""Characters a token, of Chinese."""


def estimate(text: str) -> int:
    """Return about how many tokens a text has in a current model, rounded up; 0 only for no text.

    Four Latin characters are one token, 1.1 Chinese ones are one. Measured on the 540 texts of the shipped samples
    (estimate / count, over all texts of a language; 95% of single texts lie within the error in brackets):

                      GPT-4o, GPT-4.1    DeepSeek-V3      Qwen2.5         SmolLM2
        English       1.12 (31%)         1.13 (32%)       1.09 (29%)      1.10 (35%)
        Chinese        .96 (20%)         1.30 (54%)       1.17 (44%)       .46 (58%)

    and .99 to 1.20 on our prompts for the first three. Older tokenizers (GPT-4: .64) and small English models have
    far more tokens for a Chinese text. The count of a whole run is better than that of a text: errors cancel out.
    """
    # In UTF-8 a Chinese character has two bytes more than a Latin one, a letter with an accent one more: so this
    # counts each by its width, without a look at every character.
    wide = (len(text.encode(errors="surrogatepass")) - len(text)) / 2
    return -int(-((len(text) - wide) / _NARROW + wide / _WIDE) // 1)


def estimate_prompt(request: Request) -> int:
    """Return about how many tokens are sent with a request."""
    return estimate(request.given) + sum(estimate(message.content) for message in request.messages)


def count(spec: str, texts: Iterable[str]) -> tuple[int, bool]:
    """Return how many tokens the texts have together, and whether that is exact. Nothing is downloaded for it.

    It is exact with `tokenizers` installed for a model that is a local folder, or the name of one that Hugging Face's
    cache holds, and with `tiktoken` for OpenAI's own models once its table has been downloaded. What a chat template
    puts around the texts is not counted.

    Args:
        spec: "PROVIDER:NAME", as for `open_model`.
        texts: What to count.
    """
    _, _, name = spec.partition(":")
    exact = _find_tokenizer(name)
    return sum(map(exact or estimate, texts)), exact is not None


def _find_tokenizer(name: str) -> Callable[[str], int] | None:
    file = _find_tokenizer_file(name) if installed("tokenizers") else None
    if file is not None:
        tokenizer = import_module("tokenizers").Tokenizer.from_file(str(file))
        # The file may also say that every text is filled up or cut to one length.
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
    if installed("tiktoken"):
        tiktoken = import_module("tiktoken")
        try:
            encoding = tiktoken.encoding_name_for_model(name)
        except KeyError:
            return None
        if _downloaded(encoding):
            table = tiktoken.get_encoding(encoding)
            return lambda text: len(table.encode_ordinary(text))
    return None


def _find_tokenizer_file(name: str) -> Path | None:
    file = Path(name) / "tokenizer.json"
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


def _downloaded(encoding: str) -> bool:
    """Say whether tiktoken has the table of an encoding; without it, it would fetch it (tiktoken/load.py)."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder == "":  # its word for "keep nothing"
        return False
    url = f"https://openaipublic.blob.core.windows.net/encodings/{encoding}.tiktoken"
    name = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    return (Path(folder or Path(tempfile.gettempdir()) / "data-gym-cache") / name).is_file()
