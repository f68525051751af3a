"""Amounts: the quantities in a short English or Chinese phrase, and how those of two phrases compare."""
