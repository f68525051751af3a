"""Dimensions of what a value says, and the words that name their sides."""
