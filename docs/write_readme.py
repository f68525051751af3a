"""Draws the answer that README.md shows: `python docs/write_readme.py`.

Writes docs/answer-light.svg and docs/answer-dark.svg, and the lines of README.md with their numbers. The answer is
one of the shipped data, scored offline. Run it when facts or scores changed; a test compares.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from imapeval import Score, Scorer, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from imapeval import Assessment
    from imapeval.explain.comparison import FactRow

DOCS = Path(__file__).resolve().parent
README = DOCS.parent / "README.md"
BLOCK = re.compile(r"(?<=<!-- answer -->\n).*?(?=<!-- /answer -->)", re.DOTALL)

DATA, ANSWER = "contrast-en", "en-contrast-24:wrong"
METRICS = ("imapscore", "rouge1")

WIDTH, MARGIN, LINE, GAP = 880, 24, 19, 13
COLUMNS = {"reference": MARGIN + 14, "response": 352, "relation": 672}
WRAP = 40
"""Characters of a cell's line, so that it fits its column in DejaVu Sans too, which is wider than most fonts."""

LABELS = {"soft": "similar", "exact": "same meaning", "unmatched": "no counterpart"}
"""Of the kinds that do not explain themselves to someone who sees them first."""


@dataclass(frozen=True)
class Theme:
    """Colours; those of the text have a contrast of at least 4.5 with the background (WCAG 2.2, 1.4.3)."""

    background: str
    border: str
    text: str
    faint: str
    kinds: dict[str, str]


THEMES = {
    "light": Theme(
        "#ffffff",
        "#d1d9e0",
        "#1f2328",
        "#59636e",
        {"contradiction": "#b3134f", "unmatched": "#59636e", "soft": "#7a5a00", "": "#1a7f37"},
    ),
    "dark": Theme(
        "#0d1117",
        "#3d444d",
        "#f0f6fc",
        "#9198a1",
        {"contradiction": "#ff7b9c", "unmatched": "#9198a1", "soft": "#e3b341", "": "#56d364"},
    ),
}


def assess() -> Assessment:
    """Score the answer."""
    sample = next(sample for sample in read(DATA) if sample.id == ANSWER)
    return Scorer(METRICS).score(
        id=sample.id, question=sample.question, reference=sample.references, response=sample.response
    )


def draw(assessment: Assessment, theme: Theme) -> str:
    """Return the answer as SVG: the question, a row per fact, and the scores."""
    assert assessment.sample is not None
    parts: list[str] = []
    y = MARGIN + LINE
    for line in textwrap.wrap(assessment.sample.question, 104):
        parts.append(_write(MARGIN, y, line, theme.text, weight="600"))
        y += LINE
    y += GAP
    for title, x in COLUMNS.items():
        parts.append(_write(x, y, {"relation": "relation, credit"}.get(title, title), theme.faint, size=13))
    y += GAP
    for row in assessment.rows:
        parts.append(f'<line x1="{MARGIN}" y1="{y}" x2="{WIDTH - MARGIN}" y2="{y}" stroke="{theme.border}"/>')
        cells, height = list(_draw_row(row, y, theme)), _count_lines(row) * LINE + 2 * GAP - 6
        parts += [*cells, _draw_bar(y, height, _find_colour(row, theme))]
        y += height
    parts.append(f'<line x1="{MARGIN}" y1="{y}" x2="{WIDTH - MARGIN}" y2="{y}" stroke="{theme.border}"/>')
    y += LINE + GAP
    scores = _read_scores(assessment)
    parts.append(_write(MARGIN, y, f"imapscore {scores['imapscore']}", theme.text, size=20, weight="700"))
    part_scores = (
        f"recall {assessment.parts['recall']:.2f}, precision {assessment.parts['precision']:.2f}, "
        f"{assessment.parts['contradictions']:.0f} contradictions"
    )
    parts.append(_write(MARGIN + 200, y, part_scores, theme.faint))
    parts.append(_write(WIDTH - MARGIN, y, f"ROUGE-1 {scores['rouge1']}", theme.faint, anchor="end"))
    height = y + MARGIN
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            'role="img" font-family="-apple-system, BlinkMacSystemFont, Segoe UI, Helvetica, Arial, sans-serif" '
            'font-size="14">',
            f"<title>{escape(_describe(assessment), quote=False)}</title>",
            f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="8" fill="{theme.background}" '
            f'stroke="{theme.border}"/>',
            *parts,
            "</svg>\n",
        )
    )


def write_block(assessment: Assessment) -> str:
    """Return the lines of README.md between the marks."""
    scores = _read_scores(assessment)
    return (
        "<picture>\n"
        '  <source media="(prefers-color-scheme: dark)" srcset="docs/answer-dark.svg">\n'
        f'  <img src="docs/answer-light.svg" width="{WIDTH}" alt="{escape(_describe(assessment))}">\n'
        "</picture>\n\n"
        "A wrong answer in the reference's own words, scored offline: "
        f"ROUGE-1 gives it {scores['rouge1']}, imapScore {scores['imapscore']}\n"
        f"(`imapeval score {DATA} --metrics {','.join(METRICS)}`, answer `{ANSWER}`).\n"
    )


def render() -> dict[Path, str]:
    """Return what each file should hold."""
    assessment = assess()
    pictures = {DOCS / f"answer-{name}.svg": draw(assessment, theme) for name, theme in THEMES.items()}
    readme = README.read_text(encoding="utf-8")
    return {**pictures, README: BLOCK.sub(lambda _: write_block(assessment), readme)}


def main() -> None:
    """Write the files."""
    for path, text in render().items():
        path.write_text(text, encoding="utf-8")


def _read_scores(assessment: Assessment) -> dict[str, str]:
    return {name: f"{outcome.value:.2f}" for name, outcome in assessment.outcomes.items() if isinstance(outcome, Score)}


def _describe(assessment: Assessment) -> str:
    kinds = Counter(LABELS.get(row.kind, row.kind) for row in assessment.rows)
    counted = ", ".join(f"{count} x {kind}" for kind, count in kinds.items())
    scores = _read_scores(assessment)
    return (
        f"The facts of a reference beside those of a response: {counted}. "
        f"imapscore {scores['imapscore']}, ROUGE-1 {scores['rouge1']}."
    )


def _draw_row(row: FactRow, y: int, theme: Theme) -> Iterator[str]:
    first = y + GAP + LINE - 8
    for value, x in ((row.reference, COLUMNS["reference"]), (row.response, COLUMNS["response"])):
        for number, line in enumerate(_wrap(value)):
            yield _write(x, first + number * LINE, line, theme.text if value else theme.faint)
    colour, x = _find_colour(row, theme), COLUMNS["relation"]
    yield _write(x, first, LABELS.get(row.kind, row.kind), colour, weight="600")
    yield _write(WIDTH - MARGIN, first, f"{row.credit:.2f}", colour, anchor="end", weight="600")


def _draw_bar(y: int, height: int, colour: str) -> str:
    return f'<rect x="{MARGIN}" y="{y + 6}" width="4" height="{height - 12}" rx="2" fill="{colour}"/>'


def _find_colour(row: FactRow, theme: Theme) -> str:
    return theme.kinds.get(row.kind, theme.kinds[""])


def _count_lines(row: FactRow) -> int:
    return max(len(_wrap(row.reference)), len(_wrap(row.response)))


def _wrap(value: str) -> list[str]:
    return textwrap.wrap(value, WRAP) or ["–"]


def _write(
    x: int, y: int, text: str, colour: str, *, size: int = 14, weight: str = "400", anchor: str = "start"
) -> str:
    return (
        f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}">'
        f"{escape(text, quote=False)}</text>"
    )


if __name__ == "__main__":
    main()
