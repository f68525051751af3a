"""docs/frameworks/deepeval.md does what it says."""

from __future__ import annotations

import pytest

pytest.importorskip("deepeval", reason="deepeval is not installed here: python3 .ci/frameworks.py deepeval")


def test_the_page_prints_what_it_says(run_page, expected):
    told, printed = run_page("deepeval")
    assert told == printed
    for name, score in expected.items():
        verdict = "passed" if score is not None and score >= 0.3 else "failed"
        assert f"{name} {verdict}: {'not scored: ' if score is None else round(score, 3)}" in printed
