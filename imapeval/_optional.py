"""Optional packages: whether one is installed, importing it with an error that names the extra, and what others offer.

`import datasets` succeeds in a checkout even without Hugging Face's package, because the repository has a
top-level folder of that name. So extras are detected by their distribution metadata, not by trying to import them.
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from importlib import metadata
from typing import TYPE_CHECKING, TypeVar

from imapeval.errors import ImapEvalError, MissingExtraError, ResourceError

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import ModuleType

_Offered = TypeVar("_Offered")


def installed(distribution: str) -> bool:
    """Return whether a distribution (by its PyPI name) is installed."""
    try:
        # `metadata.version` would also parse the distribution's metadata, which takes 1.8 ms instead of 0.05 ms.
        metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def require(module: str, *, distribution: str, extra: str, needed_for: str) -> ModuleType:
    """Import and return a module that an extra provides.

    Raises:
        MissingExtraError: The distribution is not installed.
    """
    if not installed(distribution):
        raise MissingExtraError(distribution, extra=extra, needed_for=needed_for)
    return importlib.import_module(module)


@contextmanager
def name_entry_point(entry: metadata.EntryPoint) -> Generator[None]:
    """Name the entry point and its package in the error if code of another package fails.

    Raises:
        ResourceError: It failed, with whatever error; our own errors stay the same.
    """
    try:
        yield
    except ImapEvalError:
        raise
    except Exception as error:  # the import of another package may raise anything
        package = "" if entry.dist is None else f" of the package {entry.dist.name} {entry.dist.version}"
        raise ResourceError(
            f"the entry point {entry.name} = {entry.value}{package} cannot be used ({type(error).__name__}: {error}). "
            "Repair, update or uninstall the package."
        ) from error


def check_offered(offered: object, kind: type[_Offered]) -> _Offered:
    """Return what an entry point offers, if it is of the right kind; for use within `name_entry_point`.

    Raises:
        TypeError: It is of another kind.
    """
    if not isinstance(offered, kind):
        raise TypeError(f"it offers an object of type {type(offered).__name__}, not {kind.__name__}")
    return offered
