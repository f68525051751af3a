"""Small encoders, and where tests of neural metrics skip.

Tests that need torch carry the mark `neural` and import it inside functions, so that they skip where it is absent:
`pip install 'imapeval[neural]'`, as CI does.
"""

import os
import runpy
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from imapeval._optional import installed

# Before huggingface_hub is imported, which reads it then.
os.environ["HF_HUB_OFFLINE"] = "1"

WRITE = runpy.run_path(str(Path(__file__).parents[1] / "expected" / "small_encoders.py"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    # Before the fixtures, which make models.
    if item.get_closest_marker("neural") and not (installed("torch") and installed("transformers")):
        pytest.skip("needs pip install 'imapeval[neural]'")


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
