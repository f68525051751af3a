"""Gaming the score does not pay: the games of benchmarks/games.py, offline and with a scripted model."""

import runpy
from functools import cache
from pathlib import Path
from statistics import fmean

import pytest

from imapeval.evaluation.pipeline import open_graph, open_matcher
from imapeval.evaluation.samples import read

BENCHMARK = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "games.py"))
GAMES, HONEST, RIGHT, READERS, LANGS = (BENCHMARK[name] for name in ("GAMES", "HONEST", "RIGHT", "READERS", "LANGS"))
HIDING = ("zero-width spaces", "soft hyphens", "full-width letters", "look-alike letters")
DENIAL = "its own denial added"
EVERY_THIRD = slice(2, None, 3)
"""The answers with which other games are played (11 right ones in English, 12 in Chinese): the benchmark plays them
with all."""
SAME = 0.005
HARDLY = 0.02
"""What contradicts the reference throughout earns next to nothing, and some of its denial is right: offline, wrong
English answers gained .017 on 2026-11-29, from .248, and Chinese ones lost .092."""
MOST = 0.06
"""The largest gain of one answer with the scripted model was .053 on 2026-11-26: a wrong one that denies itself."""


@pytest.fixture(scope="module")
def change():
    """Return what gives the change of every sample's score by a game, with the quality of the honest response."""
    with open_graph() as graph:
        matcher = open_matcher(graph)

        @cache
        def score(reader: str, lang: str, name: str) -> list[float]:
            samples, game = read(f"sample-{lang}")[part_of(name)], GAMES.get(name, HONEST)
            return BENCHMARK["play"](samples, game, reader=reader, graph=graph, matcher=matcher)

        def part_of(name: str) -> slice:
            return slice(None) if name in ("honest", DENIAL) else EVERY_THIRD

        def compare(reader: str, lang: str, name: str) -> list[tuple[str, float]]:
            part = part_of(name)
            qualities = [sample.meta["quality"] for sample in read(f"sample-{lang}")[part]]
            scores = zip(qualities, score(reader, lang, "honest")[part], score(reader, lang, name), strict=True)
            return [(quality, played - honest) for quality, honest, played in scores]

        yield compare


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("game", GAMES)
def test_playing_for_the_score_does_not_pay(change, game: str, reader: str, lang: str):
    changes = change(reader, lang, game)
    assert fmean(gain for _, gain in changes) <= SAME
    right = [gain for quality, gain in changes if quality in RIGHT]
    assert fmean(right) <= SAME
    if game in HIDING:
        assert {gain for _, gain in changes} == {0.0}
    if reader == "scripted model":
        # What is read is certain then: no right answer gains by more than the last bits, and a wrong one hardly.
        assert max(gain for _, gain in changes) <= MOST
        assert max(right) <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("reader", READERS)
def test_wrong_answers_hardly_gain_by_denying_themselves(change, reader: str, lang: str):
    changes = change(reader, lang, DENIAL)
    assert fmean(gain for quality, gain in changes if quality == "wrong") <= HARDLY
