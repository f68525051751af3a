"""DeepEval without telemetry and with its files outside the checkout; and the real model server of `tests/llm`."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from pathlib import Path

import pytest

# Before DeepEval's plug-in begins its session. Processes that tests start inherit them.
os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="1", DEEPEVAL_DISABLE_DOTENV="1", DEEPEVAL_NO_INSPECT_PROMPT="1")
with contextlib.suppress(OSError):
    # Made by the plug-in as it was loaded; one that holds something stays.
    Path(".deepeval").rmdir()

_spec = importlib.util.spec_from_file_location("llm_conftest", Path(__file__).parents[2] / "llm" / "conftest.py")
assert _spec is not None
assert _spec.loader is not None
_llm = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_llm)
llama_url = _llm.llama_url
unused_url = _llm.unused_url


@pytest.fixture(autouse=True)
def _outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DeepEval writes `.deepeval/` where it runs, and we keep completions in a cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CONFIDENT_API_KEY"):
        monkeypatch.delenv(name, raising=False)
