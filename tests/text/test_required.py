import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.text.required import RarePattern, find_required

PATTERN = r"\bdo(?: not|n['’]t)\b|(?<=可)避免|[无未](?!来)|\bNo (?:doubt|risk)s?\b"
RARE, PLAIN = RarePattern(PATTERN), re.compile(PATTERN, re.IGNORECASE)
texts = st.lists(
    st.sampled_from(
        ["do", " not", "n't", "DON’T", " ", "可", "避免", "无", "未来", "no", " doubt", "NO RISK", "\u0131", "x"]
    )
).map("".join)


@given(texts)
def test_the_same_is_found_as_without_the_search_for_strings(text: str) -> None:
    for method in ("search", "match"):
        found, expected = getattr(RARE, method)(text), getattr(PLAIN, method)(text)
        assert (found and found.span()) == (expected and expected.span())
    assert RARE.subn("-", text) == PLAIN.subn("-", text)
    assert RARE.sub(lambda found: found[0].upper(), text) == PLAIN.sub(lambda found: found[0].upper(), text)


@pytest.mark.parametrize(
    ("pattern", "strings"),
    [
        (r"(?:very )?(?:acute|sudden(?:ly)?)", {"acute", "sudden"}),
        (r"a{2}|(?:bc)+d", {"a", "bc"}),
        (r"[急慢]性病", {"性病"}),
        ("[AB]", {"a", "b"}),
    ],
)
def test_each_match_contains_one_of_the_required_strings(pattern: str, strings: set[str]) -> None:
    assert find_required(pattern) == strings


@pytest.mark.parametrize("pattern", [r"\w+", "a?", r"rest|\d"])
def test_a_pattern_without_required_strings_is_rejected(pattern: str) -> None:
    with pytest.raises(ValueError, match=re.escape(pattern)):
        RarePattern(pattern)
