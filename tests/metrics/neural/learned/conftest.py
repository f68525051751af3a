"""The small models of `tests/metrics/expected/small_models.py`, the numbers made with them, and where to split."""

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from imapeval.metrics.base import Case
from imapeval.metrics.neural.models import sentences
from imapeval.types import Lang

EXPECTED = Path(__file__).parents[2] / "expected"


@pytest.fixture(scope="session")
def small_models() -> ModuleType:
    """What saves the small models with which the expected numbers were made."""
    return importlib.import_module("tests.metrics.expected.small_models")


@pytest.fixture(scope="session")
def learned() -> dict[str, Any]:
    """The expected numbers of the learned metrics, by metric and language."""
    return json.loads((EXPECTED / "learned.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def to_cases(small_models: ModuleType) -> Callable[[Lang], list[Case]]:
    """Return the sample answers of a language of which learned.json has the expected numbers."""
    return lambda lang: [
        Case(str(number), row["question"], row["reference"], row["response"], lang)
        for number, row in enumerate(small_models.read_answers(lang))
    ]


@pytest.fixture
def punkt(small_models: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small model of English sentences where nltk looks for one."""
    import nltk.data

    folder = small_models.save_punkt(tmp_path / "nltk_data")
    monkeypatch.setenv("NLTK_DATA", str(folder))
    monkeypatch.setattr(nltk.data, "path", [str(folder)])
    sentences._open.cache_clear()
    yield folder
    sentences._open.cache_clear()
