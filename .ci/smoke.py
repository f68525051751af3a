"""Installs the wheel into an empty environment, leaves the checkout and does the main job there.

    python3 .ci/smoke.py DIST --constraints FILE

DIST holds one wheel and one sdist. Prints the sizes and times that the project promises, and fails where a size is
passed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

MAX_WHEEL_MB = 40
MAX_INSTALL_MB = 475
INSTALL_SECONDS = 120
SHIPPED = (
    "imapeval/py.typed",
    "imapeval/_data/kg/graph.sqlite",
    "imapeval/_data/kg/names.faiss",
    "imapeval/_data/kg/names.json",
    "imapeval/_data/datasets/sample-en.jsonl",
    "imapeval/_data/datasets/sample-zh.jsonl",
    "imapeval/_data/prompts/",
    "imapeval/_data/models/facts/encoder.onnx",
    ".dist-info/licenses/LICENSE",
    ".dist-info/licenses/NOTICE",
)
SOURCES = ("LICENSE", "NOTICE", "CHANGELOG.md", "kg/sources.toml", "kg/build.py", "datasets/README.md", "tests/")


def main() -> None:
    """Check the wheel, install it, score a sample with it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dist", type=Path)
    parser.add_argument("--constraints", type=Path, required=True)
    arguments = parser.parse_args()
    (wheel,) = arguments.dist.resolve().glob("*.whl")
    (sdist,) = arguments.dist.resolve().glob("*.tar.gz")
    check_contents(wheel, sdist)
    with tempfile.TemporaryDirectory() as folder:
        imapeval = install(wheel, Path(folder) / "venv", arguments.constraints.resolve())
        for sample in ("sample-en", "sample-zh"):
            check_score(imapeval, sample, Path(folder))


def check_contents(wheel: Path, sdist: Path) -> None:
    """Fail where something that ships is absent, or something is there that must not be."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for part in SHIPPED:
        expect(any(part in name for name in names), f"the wheel lacks {part}")
    strange = [name for name in names if name.startswith("imapeval/_data/") and name.endswith((".py", ".tsv", ".tgz"))]
    expect(not strange, f"the wheel carries {strange}")
    with tarfile.open(sdist) as archive:
        members = [name.partition("/")[2] for name in archive.getnames()]
    for part in SOURCES:
        expect(any(name.startswith(part) for name in members), f"the sdist lacks {part}")
    expect(not any(".cache" in name for name in members), "the sdist carries downloads")
    check_limit("wheel", wheel.stat().st_size / 1e6, MAX_WHEEL_MB)


def install(wheel: Path, venv: Path, constraints: Path) -> Path:
    """Make an environment with nothing but the wheel and return its `imapeval`."""
    run(sys.executable, "-m", "venv", venv)
    before, start = disk_mb(venv), time.monotonic()
    run(venv / "bin" / "python", "-m", "pip", "install", "--quiet", "-c", constraints, wheel)
    # Not a condition: how long it takes is as much the machine's and the network's doing as ours.
    print(f"core install, time: {time.monotonic() - start:.1f} s (aim {INSTALL_SECONDS} s)")
    check_limit("core install, disk", disk_mb(venv) - before, MAX_INSTALL_MB)
    return venv / "bin" / "imapeval"


def check_score(imapeval: Path, sample: str, folder: Path) -> None:
    """Score a shipped sample and look at everything the run leaves."""
    out = folder / sample
    start = time.monotonic()
    printed = run(imapeval, "score", sample, "--out", out, cwd=folder)
    print(printed)
    print(f"{sample}: scored in {time.monotonic() - start:.1f} s")
    for text in ("imapscore", "rouge1", "mean", str(out / "report.html")):
        expect(text in printed.replace("\n", ""), f"`imapeval score {sample}` printed no {text!r}")
    lines = (out / "results.jsonl").read_text(encoding="utf-8").splitlines()
    results = [json.loads(line) for line in lines]
    failed = [result for result in results if result["failure"] is not None]
    expect(len(results) > len(failed) == 0, f"{len(failed)} of {len(results)} outcomes are failures: {failed[:3]}")
    page = (out / "report.html").read_text(encoding="utf-8")
    expect("<html" in page and results[0]["id"] in page, "report.html does not show the run")


def run(*command: object, cwd: Path | None = None) -> str:
    """Run a command in an environment without traces of the checkout; return what it printed."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE, check=False
    )
    expect(done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def disk_mb(folder: Path) -> float:
    """Return what a folder takes on disk, as `du` counts it."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*")) / 1e6


def check_limit(what: str, value: float, limit: float) -> None:
    """Print a figure; fail where it passes its limit."""
    print(f"{what}: {value:.1f} MB (limit {limit} MB)")
    expect(value < limit, f"{what} passes its limit")


def expect(holds: bool, otherwise: str) -> None:
    """Stop with a message where something does not hold."""
    if not holds:
        raise SystemExit(f"smoke test: {otherwise}")


if __name__ == "__main__":
    main()
