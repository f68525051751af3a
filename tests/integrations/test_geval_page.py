"""docs/geval.md as it is printed; its prompts are asked in tests/metrics/judges/test_custom.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import RunPage


@pytest.mark.slow
def test_the_page_prints_what_it_says(run_page: RunPage) -> None:
    told, printed = run_page("../geval")
    assert printed == told
