import statistics
import subprocess
import sys
import time

import pytest

HEAVY = ("numpy", "torch", "faiss", "openai", "scipy", "pydantic", "networkx", "sacrebleu", "rouge_score", "rich")
BUDGET = 0.150
"""Seconds beyond Python's own start: issue 2, "Repository habits"."""


def loaded_by(code: str) -> set[str]:
    script = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


def seconds(code: str) -> float:
    def once() -> float:
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - begun

    return statistics.median(once() for _ in range(7))


def test_import_loads_nothing_heavy():
    assert loaded_by("import imapeval").isdisjoint(HEAVY)


def test_import_is_quick():
    assert seconds("import imapeval") - seconds("pass") < BUDGET


@pytest.mark.parametrize("args", [["--help"], ["score", "--help"]])
def test_help_loads_nothing_heavy(args: list[str]):
    code = f"sys.argv[1:] = {args!r}; from imapeval.cli.main import run; run()"
    # Typer itself may load pydantic to read options, and rich to draw help. The readers of files take 40 ms.
    unneeded = {*HEAVY, "imapeval.evaluation.samples"} - {"pydantic", "rich"}
    assert loaded_by(code).isdisjoint(unneeded)
