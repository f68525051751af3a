"""The SQLite schema of a compiled graph, shared by reader and writer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from imapeval.graph.model import NameKind, Scope

APPLICATION_ID = 0x696D6170
"""SQLite application id ("imap" in ASCII), which distinguishes our files from other SQLite files."""

SCHEMA_VERSION = 2
"""SQLite user version; files of other versions are rejected."""

KIND_RANKS: dict[NameKind, int] = {"name": 0, "synonym": 1, "lay": 2, "brand": 3, "abbreviation": 4}
"""Kinds of names, best first: where several concepts share a name, the best kind decides."""

KINDS: tuple[NameKind, ...] = tuple(KIND_RANKS)
"""By rank: `name.kind` holds the rank."""

SCOPES: tuple[Scope, ...] = ("exact", "narrow", "broad", "related")
"""`name.scope` holds the index into this."""

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE concept (
    id INTEGER PRIMARY KEY, curie TEXT NOT NULL, label TEXT NOT NULL, type TEXT NOT NULL, general INTEGER NOT NULL
);
CREATE TABLE name (
    id INTEGER PRIMARY KEY, concept INTEGER NOT NULL, text TEXT NOT NULL, norm TEXT NOT NULL, lang TEXT NOT NULL,
    kind INTEGER NOT NULL, source TEXT NOT NULL, scope INTEGER NOT NULL, stopped INTEGER NOT NULL
);
CREATE TABLE edge (child INTEGER NOT NULL, parent INTEGER NOT NULL, PRIMARY KEY (child, parent)) WITHOUT ROWID;
CREATE TABLE part (part INTEGER NOT NULL, whole INTEGER NOT NULL, PRIMARY KEY (part, whole)) WITHOUT ROWID;
CREATE TABLE alias (alias TEXT PRIMARY KEY, concept INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE word (word TEXT PRIMARY KEY, before INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE stop (norm TEXT PRIMARY KEY) WITHOUT ROWID;
"""

INDEXES = """
CREATE UNIQUE INDEX concept_curie ON concept (curie);
CREATE INDEX name_norm ON name (norm, scope, kind, concept); -- all that a look-up reads of a name
CREATE INDEX name_concept ON name (concept);
CREATE INDEX edge_parent ON edge (parent);
CREATE INDEX part_whole ON part (whole);
CREATE INDEX alias_concept ON alias (concept);
"""

_LATIN_OR_NUMBER = re.compile(r"[\d .%+]*|[a-z0-9+%]{1,2}")


def is_too_short(norm: str) -> bool:
    """Return whether a normal form is too short to be a mention in running text.

    It is empty, has only digits, fewer than three Latin letters or digits, or one character of another script.
    """
    return len(norm) < 2 or _LATIN_OR_NUMBER.fullmatch(norm) is not None


def is_storable(text: str) -> bool:
    """Return whether a text can be encoded: not if it has lone surrogates, which JSON can contain."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
