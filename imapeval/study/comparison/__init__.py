"""Tests which of two metrics agrees better with the raters, and plans sample sizes for such tests."""
