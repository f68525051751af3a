from typing import Any

import pytest

from imapeval.evaluation.samples.rows import read_number


@pytest.mark.parametrize(("value", "number"), [(3, 3.0), ("3.5", 3.5), (" -2e1 ", -20.0), ("４", 4.0)])
def test_numbers(value: Any, number: float):
    assert read_number(value) == number


@pytest.mark.parametrize("value", [True, None, "", "x", "1_000", "nan", "inf", 10**400, [1], "3,5"])
def test_what_is_no_number(value: Any):
    assert read_number(value) is None
