"""Removes secrets, and characters that control a terminal, from texts that are shown or stored.

Errors, failures and log records are redacted when they are created, replies of servers when they arrive, command lines
when they are recorded, and the output of the program and warnings of packages when they are printed.
"""

from __future__ import annotations

import base64
import functools
import html
import json
import logging
import os
import re
import sys
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote

if TYPE_CHECKING:
    from collections.abc import Iterator

HIDDEN = "[redacted]"

_SECRET_VARIABLES = ("OPENAI_API_KEY", "HF_TOKEN", "IMAPEVAL_TOKEN")
"""Environment variables that hold secrets."""

_MIN_LENGTH = 6
_MIN_WORD_LENGTH = 16
_MIN_URL_VALUE_LENGTH = 16
"""Minimum length of a secret that is searched for in texts. Longer for single words, because servers without access
control get keys such as "EMPTY", "anything" or "ollama", which is also a host name; and for values in the query of a
URL, which are mostly versions or names."""

_MIN_LOGIN_LENGTH = 4
"""Minimum length of a user, password or value in a URL that is searched for as a word. Three characters are too often a
unit, an amount or an ordinary word."""

_OWN_NAME = "imapeval"
"""A word that messages need, and that is not searched for."""

_SECRET_NAME = re.compile("key|token|^sig$|signature|secret|pass|pwd|auth(?!or)|cred|^code$", re.I)
"""Part of the name of a URL's value that may be secret whatever its length."""

_USER_NAME = re.compile("user|login", re.I)
"""Part of the name of a URL's value that may be a user."""

_WORD_CHARACTER = r"[0-9A-Za-z\u00c0-\u024f]"
"""What continues a word; other scripts do not separate words, or not from Latin ones."""

_LOGIN = r"""[^\s/?#"'<>\\:@[]*:(?!\d+(?:[/?#\\\s]|$))(?:[^\s?#"'<>]{0,500}@|[^\s"'<>]{0,500}@)"""
"""User and password, where what follows the colon is no port. A password may hold "/", "?", "#" and "@", although these
should be written as %2F and so on. Bounded, so that the time stays linear."""

_ADDRESS = re.compile(
    rf"""(?P<scheme>\b[a-z][a-z0-9+.-]{{0,20}}:(?:/{{1,3}}|\\/\\/))"""
    rf"""(?P<authority>{_LOGIN}[^\s/?#"'<>\\]*|[^\s/?#"'<>\\]*)(?P<path>[^\s?#"'<>]*)"""
    r"""(?P<query>\?[^\s#"'<>]*)?(?P<fragment>\#[^\s"'<>]*)?""",
    re.I,
)
"""The parts of a URL (RFC 3986, section 3). Slashes may be escaped, as some servers do in JSON. A URL that was
taken for a path has one slash, and one with a slash too many three."""

_VALUE = re.compile(r"(?<==)[^&;]+")

_AUTHORIZATION = re.compile(
    r"""(\bauthorization["']?\s{0,5}[:=]\s{0,5}["']?(?:(?:bearer|basic|token)\s+)?+|\bbearer\s+(?=\S{0,200}\d))"""
    r"[\w.~+/=-]+",
    re.I,
)

_TERMINAL_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters (C0 but for line breaks and tabs, DEL, C1), and those that change the direction of writing."""

_URL_SAFE = str.maketrans("+/", "-_")
"""From Base64 to its variant for URLs (RFC 4648, section 5)."""

_registered: set[str] = set()
_logins: set[str] = set()
_users: set[str] = set()


def register_secret(secret: str) -> None:
    """Redact a secret from now on: each of its lines, in every spelling."""
    _registered.add(secret)


def register_url_secrets(url: str) -> None:
    """Redact the user, the password, and values in the query of a URL from now on.

    A short word is not searched for where host or path has the same word.
    """
    rest = url.partition("://")[2]
    # A password that is not quoted as it should be may hold any character, and begin like a port.
    found = re.match(r"[^/?#:@[]*:(?:[^?#]*@|.*@)|[^/?#]*@", rest, re.S)
    address = re.findall(r"\w+", rest[found.end() if found else 0 :].partition("?")[0])
    if found:
        user, _, password = found[0][:-1].partition(":")
        login = f"{unquote(user)}:{unquote(password)}"
        basic = base64.b64encode(login.encode(errors="surrogateescape")).decode()
        users, secrets = {user, unquote(user)}, {password, unquote(password), login, basic}
        _registered.update(users | secrets)
        # Without a password, the user is a key.
        (_users if password else _logins).update(users.difference(address))
        _logins.update(secrets.difference(address))
    for name, value in parse_qsl(rest.partition("?")[2].partition("#")[0]):
        if len(value) >= _MIN_URL_VALUE_LENGTH:
            register_secret(value)
        if value in address:
            continue
        if _SECRET_NAME.search(name):
            _logins.add(value)
        elif _USER_NAME.search(name):
            _users.add(value)


def hide_secrets(text: str) -> str:
    """Return the text without registered secrets and those in environment variables, except short words."""
    secrets = frozenset(_registered).union(filter(None, map(os.environ.get, _SECRET_VARIABLES)), _find_header_secrets())
    pattern = _compile_pattern(secrets)
    return text if pattern is None else pattern.sub(HIDDEN, text)


def hide_logins(text: str) -> str:
    """Return the text without the users, passwords and values of URLs that are short, where they stand as a word.

    For texts that a server or a package may have written. In others, such as paths and the names of fields, the same
    words have another meaning.
    """
    pattern = _compile_login_pattern(frozenset(_logins | _users))
    return text if pattern is None else pattern.sub(HIDDEN, text)


def repeats_password(text: str) -> bool:
    """Return whether a text repeats a short password or value of a URL. A user may be any word, such as "test"."""
    pattern = _compile_login_pattern(frozenset(_logins))
    return pattern is not None and pattern.search(text) is not None


def redact(text: str) -> str:
    """Return the text without known secrets and without possible secrets in URLs and Authorization headers."""
    return _AUTHORIZATION.sub(rf"\1{HIDDEN}", _ADDRESS.sub(_redact_address, hide_secrets(text)))


def redact_message(text: str) -> str:
    """Return a message, which may quote a server or a package, without secrets and control characters."""
    return make_printable(hide_logins(redact(text)))


def make_printable(text: str) -> str:
    """Return the text with control characters written as JSON escapes, so that JSON stays equivalent."""
    return _TERMINAL_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def replace_controls(text: str) -> str:
    """Return a page with control characters replaced by U+FFFD, and without carriage returns.

    In the JSON of a script, an escape would restore them.
    """
    return _TERMINAL_CONTROLS.sub(lambda found: "" if found[0] == "\r" else "\ufffd", text)


def get_logger(name: str) -> logging.Logger:
    """Return the logger of a module; its records are redacted."""
    logger = logging.getLogger(name)
    # Adding a filter twice has no effect.
    logger.addFilter(_redact_record)
    return logger


def redact_warnings() -> None:
    """Print warnings redacted from now on: those of packages may quote what they have read."""
    warnings.showwarning = _show_warning


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    # As in Python itself, a warning is lost where there is no stderr or it cannot be written.
    if sys.stderr is not None:
        with suppress(OSError):
            print(redact_message(f"{category.__name__}: {message}"), file=sys.stderr)


def _redact_record(record: logging.LogRecord) -> bool:
    record.msg, record.args = redact_message(record.getMessage()), ()
    if record.exc_info:
        record.exc_text = redact_message(logging.Formatter().formatException(record.exc_info))
    return True


def _redact_address(found: re.Match[str]) -> str:
    _, at, host = found["authority"].rpartition("@")
    login = f"{HIDDEN}@" if at else ""
    values = _hide_values(found["query"] or "") + _hide_values(found["fragment"] or "")
    return found["scheme"] + login + host + found["path"] + values


def _hide_values(part: str) -> str:
    """Redact the values in a query or fragment, but keep punctuation that ends a sentence."""
    said = part.rstrip(".,:;!)")
    nameless = said.startswith("?") and len(said) > 1 and "=" not in said
    hidden = f"?{HIDDEN}" if nameless else _VALUE.sub(HIDDEN, said)
    return hidden + part[len(said) :]


def _find_header_secrets() -> Iterator[str]:
    """Yield the values of the headers that the openai package adds to every request, and what follows a scheme."""
    for header in os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines():
        value = header.partition(":")[2].strip()
        yield value
        yield value.rpartition(" ")[2]


@functools.lru_cache(maxsize=8)
def _compile_pattern(secrets: frozenset[str]) -> re.Pattern[str] | None:
    lines = {line.strip() for secret in secrets for line in (secret, *secret.splitlines())}
    spellings = {
        spelling for line in lines if _is_secret(line) for spelling in (*_spellings(line), *_encode_base64(line))
    }
    # Longest first: one may be a prefix of another.
    return re.compile("|".join(map(re.escape, sorted(spellings, key=len, reverse=True)))) if spellings else None


@functools.lru_cache(maxsize=8)
def _compile_login_pattern(logins: frozenset[str]) -> re.Pattern[str] | None:
    words: set[str] = set()
    parts: set[str] = set()
    for login in logins:
        if len(login) >= _MIN_LOGIN_LENGTH and login not in HIDDEN and login != _OWN_NAME:
            encoded = base64.b64encode(login.encode(errors="surrogateescape")).decode()
            words |= {*_spellings(login), encoded, encoded.rstrip("=")}
            parts |= {part for part in _encode_base64(login) if len(part) >= _MIN_LENGTH}
    found = {part: re.escape(part) for part in parts} | {word: _match_word(word) for word in words - parts}
    return re.compile("|".join(found[text] for text in sorted(found, key=len, reverse=True))) if found else None


def _match_word(word: str) -> str:
    """Return a pattern for a text that no word character precedes or follows, other than those of an escape."""
    literal = re.escape(word)
    escapes = (r"\\[bfnrt]", r"\\u[0-9a-fA-F]{4}", "%[0-9a-fA-F]{2}")
    before = "|".join([f"(?<!{_WORD_CHARACTER}{literal})", *(f"(?<={escape}{literal})" for escape in escapes)])
    return f"{literal}(?!{_WORD_CHARACTER})(?:{before})"


def _is_secret(text: str) -> bool:
    return len(text) >= (_MIN_WORD_LENGTH if text.isalpha() else _MIN_LENGTH)


def _spellings(secret: str) -> set[str]:
    """Return the spellings of a secret in JSON, in Python reprs, in HTML and in URLs."""
    in_json = json.dumps(secret, ensure_ascii=False)[1:-1]
    plain = {secret, json.dumps(secret)[1:-1], in_json, repr(secret)[1:-1]}
    escaped = html.escape(secret)
    # Bytes of the command line that are not UTF-8 are surrogates.
    raw = secret.encode(errors="surrogateescape")
    quoted = quote(raw, safe="")
    return {
        *plain,
        *(text.replace("/", r"\/") for text in plain),
        "".join(f"\\u{ord(character):04x}" for character in secret),
        *(escaped, escaped.replace("&quot;", "&#34;").replace("&#x27;", "&#39;"), html.escape(secret, quote=False)),
        *(quoted, quote(raw), quote(quoted, safe=""), quote_plus(raw)),
        re.sub("%..", lambda found: found[0].lower(), quoted),
        _escape(in_json, "[<>&]", r"\u{:04x}"),  # Go
        _escape(secret, "[<>&'\"+`]|[^\x00-\x7f]", r"\u{:04X}"),  # .NET
        _escape(secret, "[<>&'\"]", "&#{};"),
    }


def _escape(text: str, characters: str, form: str) -> str:
    return re.sub(characters, lambda found: form.format(ord(found[0])), text)


def _encode_base64(secret: str) -> Iterator[str]:
    """Yield what all texts that contain the secret have in common in Base64: its place in three bytes decides."""
    raw = secret.encode(errors="surrogateescape")
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + raw)
        # A character holds six bits: without those that also hold bits of what stands around the secret.
        common = encoded[-(-8 * before // 6) : 8 * (before + len(raw)) // 6].decode()
        yield common
        yield common.translate(_URL_SAFE)
