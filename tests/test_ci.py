"""Which integrations `.ci/run` tests, and what it says of an environment that cannot be made."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ALL = {
    *("deepeval", "ragas", "inspect_ai", "lm_eval", "mlflow", "hf_evaluate"),
    *("openevals", "langfuse", "promptfoo", "serve", "ray", "s3"),
}

Frameworks = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def frameworks(tmp_path: Path) -> Frameworks:
    """Run `.ci/frameworks.py` in a repository that has a commit with nothing else but pyproject.toml."""
    (tmp_path / ".ci").mkdir()
    for name in (".ci/frameworks.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(tmp_path / ".ci" / "frameworks.py"), *args]
        # Without an index, pip opens no connection.
        environment = {**os.environ, "IMAPEVAL_CI_CACHE": str(tmp_path / "cache"), "PIP_NO_INDEX": "1"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)

    return run


@pytest.mark.parametrize(
    ("path", "concerned"),
    [
        ("imapeval/metrics/base.py", set()),
        ("docs/frameworks/ragas.md", {"ragas:page"}),
        ("imapeval/integrations/ragas.py", {"ragas"}),
        # Its page has an assertion that asks `imapeval serve`.
        ("imapeval/serve/app.py", {"serve", "promptfoo"}),
        # Tests of most integrations import the first, and every page is run on the second.
        ("tests/integrations/answers.py", ALL - {"ray", "s3"}),
        ("docs/frameworks/answers.jsonl", ALL - {"ray", "s3"}),
        (".ci/constraints.txt", ALL),
    ],
)
def test_a_change_concerns_what_depends_on_it(
    frameworks: Frameworks, tmp_path: Path, path: str, concerned: set[str]
) -> None:
    changed = tmp_path / path
    changed.parent.mkdir(parents=True, exist_ok=True)
    with changed.open("a", encoding="utf-8") as file:
        file.write("\n")
    assert set(frameworks("--list-changed", "HEAD").stdout.split()) == concerned


@pytest.mark.slow
def test_what_pip_says_is_printed_if_the_core_environment_cannot_be_made(
    frameworks: Frameworks, tmp_path: Path
) -> None:
    (tmp_path / ".ci" / "constraints.txt").touch()
    done = frameworks("ragas")
    assert done.returncode == 1
    assert "No matching distribution found" in done.stdout + done.stderr


def test_integrations_are_not_skipped_if_what_concerns_them_is_unknown() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    begin = script.index('if [ "${IMAPEVAL_CI_FRAMEWORKS')
    part = script[begin : script.index("\nfi\n", begin) + 4]
    for program, printed in (("exit 3", ""), ("true", "none\n"), ("printf 'ragas\\nray\\n'", "ragas ray\n")):
        command = f'python3() {{ {program}; }}\n{part}echo "${{concerned[*]}}"'
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], capture_output=True, text=True)
        assert (done.stdout, done.returncode) == (printed, 3 if program == "exit 3" else 0)
