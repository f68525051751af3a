import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.study.comparison.holm import holm_adjust


def test_equals_statsmodels():
    # statsmodels 0.15.0: multipletests(p, method="holm")[1]
    p = [0.0421, 0.0008, 0.2301, 0.0125, 0.0125, 0.9, 0.0499, 0.0031]
    expected = [0.1684, 0.0064, 0.4602, 0.075, 0.075, 0.9, 0.1684, 0.0217]
    assert holm_adjust(p) == pytest.approx(expected, abs=1e-12)


def test_what_has_no_result_does_not_count():
    assert holm_adjust([0.01, None, 0.04, 0.03, 0.005]) == pytest.approx([0.03, None, 0.06, 0.06, 0.02])
    assert holm_adjust([]) == []
    assert holm_adjust([None]) == [None]


def test_no_p_value():
    with pytest.raises(ValueError, match=r"0.*1"):
        holm_adjust([1.2])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_order_and_bounds(p: list[float]):
    adjusted = [q for q in holm_adjust(p) if q is not None]
    assert all(before <= after <= 1 for before, after in zip(p, adjusted, strict=True))
    order = sorted(range(len(p)), key=p.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)
