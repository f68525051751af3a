"""Pages that scripts in docs/ write are those that the scripts would write now; README.md stays short."""

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Command

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_the_page_says_what_the_commands_say():
    written = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert written == runpy.run_path(str(DOCS / "write_cli.py"))["render"](), "run: python docs/write_cli.py"


@pytest.mark.parametrize("command", [(), ("score",), ("study",), ("study", "correlate")])
def test_help_has_a_short_option(imapeval: Command, command: tuple[str, ...]):
    short = imapeval(*command, "-h")
    assert (short.returncode, short.stdout) == (0, imapeval(*command, "--help").stdout)


@pytest.mark.slow
def test_the_readme_shows_an_answer_as_it_is_scored_now():
    for path, text in runpy.run_path(str(DOCS / "write_readme.py"))["render"]().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python docs/write_readme.py"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_can_be_read(theme: str):
    """Text keeps a contrast of 4.5 with the background: WCAG 2.2, 1.4.3, with the formula given there."""
    picture = ElementTree.parse(DOCS / f"answer-{theme}.svg").getroot()
    texts = [element for element in picture.iter() if element.tag.endswith("}text")]
    background = next(element for element in picture if element.tag.endswith("}rect")).attrib["fill"]
    assert "contradiction" in {text.text for text in texts}
    for colour in {text.attrib["fill"] for text in texts}:
        low, high = sorted((measure_luminance(colour), measure_luminance(background)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, colour


def measure_luminance(colour: str) -> float:
    values = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_the_readme_is_short_and_leads_on():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) < 1000
    users = re.search(r"## Where to go\n\n(.*?)\n\n", text, re.DOTALL)
    assert users is not None
    # Three kinds of users, one link each.
    assert [item.count("](") for item in re.split(r"^- ", users[1], flags=re.MULTILINE)[1:]] == [1, 1, 1]
