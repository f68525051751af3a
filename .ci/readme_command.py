"""Prints a command of the README: the line in the fenced block after `<!-- command:NAME -->`.

python3 .ci/readme_command.py test
"""

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def find_command(name: str) -> str:
    """Return the one line of the marked block."""
    found = re.search(rf"<!-- command:{name} -->\n```(?:bash|sh)\n([^\n]+)\n```\n", README.read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit(f"README.md has no block of one line after <!-- command:{name} -->")
    return found[1]


if __name__ == "__main__":
    print(find_command(sys.argv[1]))
