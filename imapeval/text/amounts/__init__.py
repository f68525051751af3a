"""Amounts: what a short English or Chinese phrase says in numbers, and how the numbers of two phrases compare."""
