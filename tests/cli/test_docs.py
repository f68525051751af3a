import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_says_what_the_commands_say():
    written = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert written == runpy.run_path(str(DOCS / "write_cli.py"))["render"](), "run: python docs/write_cli.py"
