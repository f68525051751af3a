import re
import warnings
from xml.etree import ElementTree

import matplotlib
import pytest

from imapeval.report.study.charts.canvas import INK, SERIES, TEXT_SIZE, open_canvas, shorten

NAME = "<b>$x_1$ & 指标 😀"


def draw(name: str = "chart") -> str:
    with open_canvas(200, 100) as canvas:
        axes = canvas.add_axes(20, 10, width=160, height=70)
        axes.scatter([1, 2, 3], [1, 2, 3], color=SERIES[1], alpha=0.5, linewidths=0)
        axes.plot([1, 3], [3, 1], color=INK, gid=canvas.tooltip(f"hint: {NAME}"))
        axes.set_xlabel(canvas.placeholder(NAME))
        canvas.format_axis(axes.xaxis, lambda value: f"{value:g} points", most=3)
        return canvas.render(name, label=f"A chart of {NAME}")


def test_words_stand_as_they_are():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns of letters that its font lacks
        root = ElementTree.fromstring(draw())
    texts = [element.text for element in root.iter("text")]
    assert NAME in texts
    assert any(text and text.endswith(" points") for text in texts)
    assert f"hint: {NAME}" in [element.text for element in root.iter("title")]
    assert root.get("aria-label") == f"A chart of {NAME}"
    assert not re.search(r"(word|hint)-\d", draw())


def test_nothing_that_the_policy_forbids_or_the_page_would_feel():
    root = ElementTree.fromstring(draw())
    for element in root.iter():
        assert element.tag in {"svg", "g", "defs", "path", "use", "text", "title"}
        assert not {"style", "class", "clip-path"} & element.attrib.keys()
        assert not any(value.startswith(("http", "url(")) for value in element.attrib.values())


def test_colours_are_the_pages():
    drawn = draw()
    assert 'fill="var(--series-2)"' in drawn
    assert 'stroke="var(--ink)"' in drawn
    assert SERIES[1] not in drawn


def test_ids_are_unique_over_charts_and_each_is_referred_to():
    first, second = (ElementTree.fromstring(draw(name)) for name in ("one", "two"))
    ids = [element.get("id") for root in (first, second) for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids)) > 0
    for root, name in ((first, "one"), (second, "two")):
        own = {f"#{element.get('id')}" for element in root.iter() if element.get("id")}
        assert own == {element.get("href") for element in root.iter("use")}
        assert all(id_.startswith(f"#{name}-") for id_ in own)


def test_what_all_points_share_is_said_once():
    points = [use for use in ElementTree.fromstring(draw()).iter("use") if set(use.attrib) == {"href", "x", "y"}]
    assert len(points) >= 3


def test_the_same_each_time_whatever_the_reader_has_set():
    plain = draw()
    with matplotlib.rc_context({"font.size": 40, "svg.fonttype": "path", "axes.facecolor": "red"}):
        assert draw() == plain
        assert matplotlib.rcParams["font.size"] == 40
    assert draw() == plain


@pytest.mark.parametrize("text", ["imapscore", "geval:completeness+imap:pairs", "指标" * 20, "", " a\nb "])
def test_shortened_names_fit_and_keep_both_ends(text: str):
    short = shorten(text, 100)
    letters = sum(1.0 if ord(letter) > 0x2E80 else 0.6 for letter in short) * TEXT_SIZE
    assert letters <= 101
    whole = " ".join(text.split())
    head, cut, tail = short.partition("…")
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert bool(cut) == (short != whole)
