"""The examples in docstrings of text, graph, extraction and matching are correct."""

import doctest
import importlib
from pathlib import Path

import pytest

import imapeval

PACKAGE = Path(imapeval.__file__).parent
MODULES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for folder in ("text", "graph", "extraction", "matching")
    for path in sorted((PACKAGE / folder).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", MODULES)
def test_examples_are_correct(module: str) -> None:
    failed, attempted = doctest.testmod(importlib.import_module(module))
    assert attempted > failed == 0
