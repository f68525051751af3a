"""Rated answers for the tests of statistics, made as the benchmarks make them."""

from benchmarks.rated_answers import make_rated as make_rated
