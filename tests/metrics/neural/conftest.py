"""Small encoders with random weights, and real ones where a folder is given."""

import os
import runpy
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

WRITE = runpy.run_path(str(Path(__file__).parents[1] / "expected" / "small_encoders.py"))


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of 6 layers and 32 dimensions for texts of 40 tokens."""
    return WRITE["write_bert"](tmp_path_factory.mktemp("tiny-bert"), longest=40)


@pytest.fixture(scope="session")
def tiny_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A RoBERTa of 3 layers for texts of 38 tokens (40 positions)."""
    return WRITE["write_roberta"](tmp_path_factory.mktemp("tiny-roberta"), longest=38)


@pytest.fixture(scope="session")
def find_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the folder of a model of `expected/embeddings.json`.

    The small ones are made; minilm and e5 are folders in $IMAPEVAL_MODELS, made as make_embeddings.py says.
    """

    @cache
    def find(name: str) -> Path:
        if name in ("bert", "roberta"):
            return WRITE[f"write_{name}"](tmp_path_factory.mktemp(f"small-{name}"), longest=200)
        folder = Path(os.environ.get("IMAPEVAL_MODELS", "")) / name
        if not (folder / "config.json").is_file():
            pytest.skip(f"needs {name}/ in the folder $IMAPEVAL_MODELS (tests/metrics/expected/make_embeddings.py)")
        return folder

    return find
