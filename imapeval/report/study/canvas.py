"""From a matplotlib figure to SVG that can stand in a page: no style attributes, colours by name, words as words.

The page's policy allows no inline style, so styles become presentation attributes. Colours become the page's CSS
variables, so that one drawing serves light, dark and paper. Words are drawn as stand-ins and put in afterwards: the
browser has fonts for Chinese and emoji that matplotlib lacks, and no name is taken for a formula.
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
"""Text and marks; less of it; axes and grids; what hardly shows."""

SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Colours that colour-blind readers can tell apart (Okabe and Ito 2008, "Color Universal Design")."""

MARKERS = ("o", "s", "^", "D", "v", "P")
"""A shape beside each colour, for those who see none and for grey print."""

BETTER, WORSE = SERIES[0], SERIES[1]

TEXT_SIZE = 10.5
"""Of words, in units of the drawing. At 420 units to a phone's 328 pixels that is 8 pixels high."""

_MAX_SCALE = 1.35
"""Pixels of a unit where the page has room: words are then as large as those around the drawing."""

_VARIABLES = {
    INK: "var(--ink)",
    SOFT: "var(--soft-ink)",
    LINE: "var(--line)",
    FAINT: "var(--faint)",
    **{colour: f"var(--series-{number})" for number, colour in enumerate(SERIES, 1)},
}

_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    # Names inside the file are hashes with this salt; without it no two files would be the same.
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
    """A drawing of a width and height in units, which become smaller where the page has no room for all of them."""

    def __init__(self, width: float, height: float) -> None:
        figures = require_matplotlib("figure")
        # matplotlib measures in inches of 72 points; a unit is a point.
        self.figure: Any = figures.Figure(figsize=(width / 72, height / 72))
        self.width, self.height = width, height
        self._texts: dict[str, str] = {}

    def add_axes(self, left: float, top: float, *, width: float, height: float) -> Any:
        """Return matplotlib axes at a place, in units from the left and upper edge."""
        return self.figure.add_axes(
            (left / self.width, 1 - (top + height) / self.height, width / self.width, height / self.height)
        )

    def add_overlay(self) -> Any:
        """Return axes without lines over the whole canvas, in its units from the left and upper edge."""
        page = self.add_axes(0, 0, width=self.width, height=self.height)
        page.set(xlim=(0, self.width), ylim=(self.height, 0))
        page.axis("off")
        return page

    def format_axis(self, axis: Any, write: Callable[[float], str], *, most: int) -> None:
        """Give an axis round numbers, written our way; about `most` of them."""
        axis.set_major_locator(require_matplotlib("ticker").MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))

        def format_tick(value: float, _: int | None) -> str:
            return self.placeholder(write(value))

        axis.set_major_formatter(format_tick)

    def placeholder(self, text: str) -> str:
        """Return what to give matplotlib in place of a text, which stands in the drawing in the end."""
        return self._store("word", " ".join(text.split()))

    def tooltip(self, text: str) -> str:
        """Return the `gid` of an element that shows a text when it is pointed at."""
        return self._store("hint", text)

    def render(self, name: str, *, label: str) -> str:
        """Return the drawing as an `svg` element.

        Args:
            name: Unique within the page; begins the ids inside.
            label: What the drawing shows, for those who do not see it.
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
            # What matplotlib says in a style element, which would hold for the whole page.
            "stroke-linejoin": "round",
            "stroke-linecap": "butt",
        }
        return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)

    def _store(self, kind: str, text: str) -> str:
        key = f"{kind}-{len(self._texts)}-"
        self._texts[key] = text
        return key

    def _rewrite(self, element: ElementTree.Element) -> None:
        """Make an element, and all in it, fit for the page."""
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
    """Yield a canvas with our settings and nobody else's, which hold until the block ends: render inside it.

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
    """Return a text that fits into a width, in units; the middle is left out of a longer one.

    Names that belong together begin alike and differ at the end, so both are kept.
    """
    text = " ".join(text.split())
    # A letter of a wide sans-serif (DejaVu, Verdana) needs .6 of its size on average, a Chinese one all of it.
    letters = [TEXT_SIZE * (1.0 if east_asian_width(letter) in "WF" else 0.6) for letter in text]
    if sum(letters) <= room:
        return text
    room -= TEXT_SIZE
    head, tail = 0, len(text)
    while head < tail:
        # The end gets the larger half.
        side = head if sum(letters[:head]) * 1.2 < sum(letters[tail:]) else tail - 1
        if sum(letters[:head]) + sum(letters[tail:]) + letters[side] > room:
            break
        head, tail = (head + 1, tail) if side == head else (head, tail - 1)
    return f"{text[:head].rstrip()}…{text[tail:].lstrip()}"


def _clean_attributes(element: ElementTree.Element) -> dict[str, str]:
    """Return an element's attributes with its style among them, short numbers and the page's colours."""
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
    """Say once in a group what all of its marks say: thousands of points have one colour."""
    marks = list(element)
    if element.tag != "g" or len(marks) < 2 or any(mark.tag != "use" for mark in marks):
        return
    for name, value in list(marks[0].attrib.items()):
        if name not in {_REFERENCE, "x", "y"} and all(mark.get(name) == value for mark in marks):
            element.set(name, value)
            for mark in marks:
                del mark.attrib[name]


def _prefix_ids(root: ElementTree.Element, name: str) -> None:
    """Keep the ids that something refers to, in an order that is the same each time, and begin them with a name."""
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
