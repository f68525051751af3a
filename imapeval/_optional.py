"""Optional packages, asked for by name and found without importing anything by accident.

`import datasets` succeeds in a checkout even without Hugging Face's package, because the repository has a
top-level folder of that name. So extras are detected by distribution metadata, not by trying an import.
"""

from __future__ import annotations

import importlib
from importlib import metadata
from typing import TYPE_CHECKING

from imapeval.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType


def installed(distribution: str) -> bool:
    """Say whether a distribution (the PyPI name) is installed."""
    try:
        metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def require(module: str, *, distribution: str, extra: str, needed_for: str) -> ModuleType:
    """Import a module of an extra.

    Raises:
        MissingExtraError: The distribution is not installed; names the extra.
    """
    if not installed(distribution):
        raise MissingExtraError(distribution, extra=extra, needed_for=needed_for)
    return importlib.import_module(module)
