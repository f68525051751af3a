"""Logs of Inspect where Inspect is not installed; with it, see tests/integrations/inspect_ai."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from imapeval._optional import installed
from imapeval.errors import MissingExtraError
from imapeval.evaluation.samples import read

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(installed("inspect-ai"), reason="inspect-ai is installed here")
@pytest.mark.parametrize(("name", "loader"), [("log.eval", None), ("log.json", "inspect")])
def test_it_says_what_to_install(tmp_path: Path, name: str, loader: str | None) -> None:
    (tmp_path / name).touch()
    with pytest.raises(MissingExtraError, match=r"pip install 'imapeval\[inspect\]'"):
        read(tmp_path / name, loader=loader)
