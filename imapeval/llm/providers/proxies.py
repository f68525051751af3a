"""The proxies that the environment names, which the HTTP client uses for connections to other machines."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx2

from imapeval.errors import ServiceError
from imapeval.redaction import register_url_secrets

if TYPE_CHECKING:
    from collections.abc import Generator

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
"""Environment variables, in either case, that name a proxy."""


@contextmanager
def naming_proxies() -> Generator[None]:
    """Redact the proxies' passwords from now on, and name proxies as the reason if a client cannot be opened.

    Raises:
        ServiceError: A proxy cannot be used; of kind "unreachable".
    """
    for proxy in [os.environ[name] for name in os.environ if name.lower() in _PROXIES]:
        register_url_secrets(proxy if "://" in proxy else f"http://{proxy}")
    try:
        yield
    except (ValueError, ImportError, httpx2.InvalidURL) as error:
        raise ServiceError(
            f"a proxy cannot be used ({error}). Check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY; an address such as "
            "http://USER:PASSWORD@HOST:3128 is expected.",
            kind="unreachable",
        ) from error
