"""Puts into README.md what its first command prints: `python docs/write_readme.py`.

Run it when the output changed. A test compares the names of the metrics, not the numbers, which may differ in the last
place between processors.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"
BLOCK = re.compile(r"(?<=<!-- output:score -->\n).*?(?=<!-- /output:score -->)", re.DOTALL)


def main() -> None:
    """Score the shipped sample in an empty folder and rewrite the block."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "imapeval.cli.main", "score", "sample-en"],
            cwd=folder,
            env={**os.environ, "COLUMNS": "100"},
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=True,
        )
    output = "\n".join(line.rstrip() for line in done.stdout.splitlines())
    text = README.read_text(encoding="utf-8")
    README.write_text(BLOCK.sub(lambda _: f"```text\n{output}\n```\n", text), encoding="utf-8")


if __name__ == "__main__":
    main()
