"""Formats numbers in sentences and tables the way journals do."""

from __future__ import annotations


def format_number(value: float, *, digits: int = 2) -> str:
    """Write a coefficient without a leading zero: .57, -.02, 1.00. What is only rounded to 0 is .00, not 0."""
    if value == 0:
        return "0"
    text = f"{value:z.{digits}f}"
    return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text


def format_p(p: float) -> str:
    """Write a p-value: "p = .031", "p = .31", "p < .001", "p > .99"."""
    if p < 0.001:
        return "p < .001"
    if p > 0.99:
        return "p > .99"
    return f"p = {format_number(p, digits=3 if p < 0.1 else 2)}"
