"""Matplotlib figures as SVG elements for a page.

The content security policy of the page forbids inline styles, so styles become presentation attributes. Colours become
CSS variables of the page, so that one drawing works in light and dark mode and in print. Texts are drawn as
placeholders and inserted afterwards: the browser has fonts for Chinese and emoji that matplotlib lacks, and no name is
parsed as a formula.
"""

from __future__ import annotations

import io
import re
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width
from xml.etree import ElementTree

from imapeval._optional import require

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

INK, SOFT, LINE, FAINT = "#22262b", "#5d646d", "#e2dfd8", "#f2f0eb"
"""Text and marks; secondary text; axes and grids; backgrounds."""

SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Colours that colour-blind readers can distinguish (Okabe and Ito 2008, "Color Universal Design")."""

MARKERS = ("o", "s", "^", "D", "v", "P")
"""A shape for each colour, for colour-blind readers and grey print."""

BETTER, WORSE = SERIES[0], SERIES[1]

TEXT_SIZE = 10.5
"""Font size in units of the drawing. With 420 units on the 328 pixels of a phone, text is 8 pixels high."""

_MAX_SCALE = 1.35
"""Maximum pixels per unit: text is then as large as that around the drawing."""

_VARIABLES = {
    INK: "var(--ink)",
    SOFT: "var(--soft-ink)",
    LINE: "var(--line)",
    FAINT: "var(--faint)",
    **{colour: f"var(--series-{number})" for number, colour in enumerate(SERIES, 1)},
}

_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    # Ids in the file are hashes with this salt; without it they would differ in each file.
    "svg.hashsalt": "imapeval",
    "font.size": TEXT_SIZE,
    "text.color": SOFT,
    "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelsize": TEXT_SIZE,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": SOFT,
    "xtick.labelsize": TEXT_SIZE - 1,
    "ytick.labelsize": TEXT_SIZE - 1,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}

_NAMESPACE = re.compile(r"^\{[^}]*\}")
_NUMBER = re.compile(r"-?(?<!\d)\d++\.\d{3,}")
_REFERENCE = "href"


class Canvas:
    """A drawing with a width and height in units, which shrink on narrow pages."""

    def __init__(self, width: float, height: float) -> None:
        figures = require_matplotlib("figure")
        # matplotlib measures in inches of 72 points; a unit is a point.
        self.figure: Any = figures.Figure(figsize=(width / 72, height / 72))
        self.width, self.height = width, height
        self._texts: dict[str, str] = {}

    def add_axes(self, left: float, top: float, *, width: float, height: float) -> Any:
        """Return matplotlib axes at a position in units from the left and upper edge."""
        return self.figure.add_axes(
            (left / self.width, 1 - (top + height) / self.height, width / self.width, height / self.height)
        )

    def add_overlay(self) -> Any:
        """Return invisible axes over the whole canvas, in units from the left and upper edge."""
        page = self.add_axes(0, 0, width=self.width, height=self.height)
        page.set(xlim=(0, self.width), ylim=(self.height, 0))
        page.axis("off")
        return page

    def format_axis(self, axis: Any, write: Callable[[float], str], *, most: int) -> None:
        """Label an axis with about `most` round numbers, formatted by `write`."""
        axis.set_major_locator(require_matplotlib("ticker").MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))

        def format_tick(value: float, _: int | None) -> str:
            return self.placeholder(write(value))

        axis.set_major_formatter(format_tick)

    def placeholder(self, text: str) -> str:
        """Return a placeholder for matplotlib, which `render` replaces with the text."""
        return self._store("word", " ".join(text.split()))

    def tooltip(self, text: str) -> str:
        """Return the `gid` of an element that shows a text on hover."""
        return self._store("hint", text)

    def render(self, name: str, *, label: str) -> str:
        """Return the drawing as an `svg` element.

        The name is unique within the page and begins the ids inside; the label describes the drawing for screen
        readers.
        """
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="svg", metadata={"Date": None})
        root = ElementTree.fromstring(buffer.getvalue())
        self._rewrite(root)
        _prefix_ids(root, name)
        root.attrib = {
            "viewBox": f"0 0 {self.width:g} {self.height:g}",
            "width": f"{_MAX_SCALE * self.width:g}",
            "height": f"{_MAX_SCALE * self.height:g}",
            "role": "img",
            "aria-label": " ".join(label.split()),
            # From matplotlib's style element, which would apply to the whole page.
            "stroke-linejoin": "round",
            "stroke-linecap": "butt",
        }
        return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)

    def _store(self, kind: str, text: str) -> str:
        key = f"{kind}-{len(self._texts)}-"
        self._texts[key] = text
        return key

    def _rewrite(self, element: ElementTree.Element) -> None:
        """Rewrite an element and its children for the page."""
        element.tag = _NAMESPACE.sub("", element.tag)
        element.attrib = _clean_attributes(element)
        element.text, element.tail = self._texts.get(element.text or "", (element.text or "").strip()), None
        if (hint := self._texts.get(element.get("id", ""))) is not None:
            title = ElementTree.Element("title")
            title.text = hint
            element.insert(0, title)
            del element.attrib["id"]
        for child in list(element):
            if _NAMESPACE.sub("", child.tag) in {"metadata", "style", "clipPath"}:
                element.remove(child)
                continue
            self._rewrite(child)
            if child.tag in {"defs", "g"} and not len(child):
                element.remove(child)
        _lift_shared_attributes(element)


@contextmanager
def open_canvas(width: float, height: float) -> Generator[Canvas]:
    """Yield a canvas with fixed matplotlib settings, which apply within the block: render inside it.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    matplotlib = require_matplotlib()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield Canvas(width, height)


@cache
def require_matplotlib(module: str = "") -> Any:
    """Return matplotlib or a module of it.

    Raises:
        MissingExtraError: It is not installed.
    """
    name = f"matplotlib.{module}" if module else "matplotlib"
    return require(name, distribution="matplotlib", extra="study", needed_for="a study's report")


def shorten(text: str, room: float) -> str:
    """Return a text that fits into a width in units, if necessary without its middle.

    Related names often begin alike and differ at the end, so both ends are kept.
    """
    text = " ".join(text.split())
    # A letter of a wide sans-serif (DejaVu, Verdana) is .6 of its size wide on average, a Chinese one as wide as high.
    letters = [TEXT_SIZE * (1.0 if east_asian_width(letter) in "WF" else 0.6) for letter in text]
    if sum(letters) <= room:
        return text
    room -= TEXT_SIZE
    head, tail = 0, len(text)
    while head < tail:
        # The end gets the larger part.
        side = head if sum(letters[:head]) * 1.2 < sum(letters[tail:]) else tail - 1
        if sum(letters[:head]) + sum(letters[tail:]) + letters[side] > room:
            break
        head, tail = (head + 1, tail) if side == head else (head, tail - 1)
    return f"{text[:head].rstrip()}…{text[tail:].lstrip()}"


def _clean_attributes(element: ElementTree.Element) -> dict[str, str]:
    """Return the attributes of an element, with its style as attributes, short numbers and CSS colours."""
    given = {_NAMESPACE.sub("", name): value for name, value in element.attrib.items()}
    pairs = (part.split(":", 1) for part in given.pop("style", "").split(";") if ":" in part)
    for name, value in ((name.strip(), value.strip()) for name, value in pairs):
        if name in {"font", "font-size"} and (size := re.search(r"(?<![\d.])([\d.]++)px", value)):
            given["font-size"] = size[1]
        elif not name.startswith("font"):
            given[name] = _VARIABLES.get(value, value)
    given.pop("clip-path", None)
    if re.match(r"rotate\(-?0 ", given.get("transform", "")):
        del given["transform"]
    if "d" in given:
        given["d"] = re.sub(r"\s+", " ", given["d"]).strip()
    return {
        name: _NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), value)
        for name, value in given.items()
        if name != "id" or not value.startswith("figure_")
    }


def _lift_shared_attributes(element: ElementTree.Element) -> None:
    """Move attributes that all marks of a group share to the group: thousands of points have one colour."""
    marks = list(element)
    if element.tag != "g" or len(marks) < 2 or any(mark.tag != "use" for mark in marks):
        return
    for name, value in list(marks[0].attrib.items()):
        if name not in {_REFERENCE, "x", "y"} and all(mark.get(name) == value for mark in marks):
            element.set(name, value)
            for mark in marks:
                del mark.attrib[name]


def _prefix_ids(root: ElementTree.Element, name: str) -> None:
    """Keep only ids that are referred to, renamed reproducibly with a prefix."""
    wanted = dict.fromkeys(
        reference.removeprefix("#") for element in root.iter() if (reference := element.get(_REFERENCE)) is not None
    )
    new = {old: f"{name}-{number}" for number, old in enumerate(wanted)}
    for element in root.iter():
        if (old := element.get("id")) is not None:
            if old in new:
                element.set("id", new[old])
            else:
                del element.attrib["id"]
        if (reference := element.get(_REFERENCE)) is not None:
            element.set(_REFERENCE, f"#{new[reference.removeprefix('#')]}")
