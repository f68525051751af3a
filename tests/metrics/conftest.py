"""The table of edge cases, docs/edge-cases.md, which the tests of the metrics keep true.

`IMAPEVAL_WRITE_TABLES=1 pytest tests/metrics tests/test_golden.py -k "edge_cases or golden"` writes both tables anew.

Tests that need torch carry the mark `neural` and import it inside functions, so that they skip where it is absent:
`pip install 'imapeval[neural]'`, as CI does.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from imapeval._optional import installed
from imapeval.metrics.base import Case
from imapeval.types import Failure, Imap, Match, Outcome, Pair, Relation, Score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from imapeval.metrics.base import Metric

# Before huggingface_hub is imported, which reads it then.
os.environ["HF_HUB_OFFLINE"] = "1"

TABLE = Path(__file__).parents[2] / "docs" / "edge-cases.md"
ROW = re.compile(r"^\| `([^`]+)` \|.*$", re.MULTILINE)

REFERENCE = "Take ibuprofen 400 mg with food, drink plenty of fluids, and see a doctor if the fever lasts."
SENTENCE = "Take ibuprofen 400 mg with food. "
CASES = {
    "empty response": (REFERENCE, ""),
    "one word": (REFERENCE, "ibuprofen"),
    "20,000 words": (REFERENCE, SENTENCE * 3_334),
    "English and Chinese": (REFERENCE, "Take 布洛芬 400 mg, 多喝水, and rest."),
    "only emoji": (REFERENCE, "😀😀"),
    "reference of one word": ("ibuprofen", REFERENCE),
    "reference only emoji": ("😀😀", REFERENCE),
}

_FACTS = (Pair("drug", "ibuprofen"),)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    # Before the fixtures, which make models.
    if item.get_closest_marker("neural") and not (installed("torch") and installed("transformers")):
        pytest.skip("needs pip install 'imapeval[neural]'")


def make_case(reference: str, response: str) -> Case:
    """Return a case whose imap states one fact for every text with a letter in it."""
    ours, theirs = (_FACTS if any(map(str.isalpha, text)) else () for text in (reference, response))
    matches = tuple(Match("drug", "ibuprofen", "ibuprofen", Relation.EXACT, 1.0, "text") for _ in ours and theirs)
    return Case(
        "a", "How is fever treated?", reference, response, "en", Imap((Pair("drug", "?"),), (), ours, theirs), matches
    )


@pytest.fixture
def check_edge_cases() -> Callable[[Iterable[Metric]], None]:
    """Compare what metrics say to the edge cases with their rows in the docs, or write these."""

    def check(metrics: Iterable[Metric]) -> None:
        rows = {metric.name: _describe(metric) for metric in metrics}
        text = TABLE.read_text(encoding="utf-8")
        documented = {found[1]: found[0] for found in ROW.finditer(text)}
        if os.environ.get("IMAPEVAL_WRITE_TABLES"):
            head = text[: text.index("| metric |")]
            table = [f"| metric | {' | '.join(CASES)} |", f"|---{'|---' * len(CASES)}|"]
            table += [row for _, row in sorted({**documented, **rows}.items())]
            TABLE.write_text(head + "\n".join(table) + "\n", encoding="utf-8")
        else:
            assert {name: documented.get(name) for name in rows} == rows, (__doc__ or "").splitlines()[2]

    return check


def _describe(metric: Metric) -> str:
    cases = [make_case(*texts) for texts in CASES.values()]
    outcomes = metric.score_batch(cases)
    assert len(outcomes) == len(cases)
    parts = {part for outcome in outcomes if isinstance(outcome, Score) for part in outcome.parts}
    assert parts <= metric.part_ranges.keys(), f"{metric.name} declares no range of some of its parts"
    return f"| `{metric.name}` | {' | '.join(_show(outcome, metric.range) for outcome in outcomes)} |"


def _show(outcome: Outcome, range_: tuple[float | None, float | None]) -> str:
    if isinstance(outcome, Failure):
        return f"*{outcome.kind}*"
    low, high = range_
    assert low is None or outcome.value >= low - 1e-6
    assert high is None or outcome.value <= high + 1e-6
    # Numbers between the ends depend on weights and libraries; the ends do not.
    ends = [end for end in range_ if end is not None and abs(end - outcome.value) < 1e-6]
    told = f"{ends[0]:g}" if ends else "score"
    return f"{told}, truncated" if outcome.parts.get("truncated") else told
