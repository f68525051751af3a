"""An adapter without its framework says what to install, and imapeval by itself installs none of them."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import imapeval.integrations
from imapeval._optional import installed
from imapeval.errors import MissingExtraError
from tests.integrations.answers import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Module of the adapter: the PyPI name of its framework, and our extra.
ADAPTERS = {
    "deepeval": ("deepeval", "deepeval"),
    "ragas": ("ragas", "ragas"),
    "inspect_ai": ("inspect-ai", "inspect"),
    "lm_eval": ("lm-eval", "lm-eval"),
    "mlflow": ("mlflow", "mlflow"),
    "hf_evaluate": ("evaluate", "evaluate"),
    "openevals": ("openevals", "openevals"),
    "langfuse": ("langfuse", "langfuse"),
}
WITHOUT = {"promptfoo", "pytest_plugin", "adapter"}
"""A program of npm; what nobody loads without pytest; and what several adapters share."""


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=~!; ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def test_every_adapter_is_listed() -> None:
    (folder,) = imapeval.integrations.__path__
    public = {path.stem for path in Path(folder).iterdir() if not path.stem.startswith("_")}
    assert public == set(ADAPTERS) | WITHOUT


@pytest.mark.parametrize(("module", "distribution", "extra"), [(name, *rest) for name, rest in ADAPTERS.items()])
def test_without_its_framework_an_adapter_says_what_to_install(module: str, distribution: str, extra: str) -> None:
    if installed(distribution):
        pytest.skip(f"{distribution} is installed here")
    with pytest.raises(MissingExtraError, match=re.escape(f"pip install 'imapeval[{extra}]'")) as caught:
        importlib.import_module(f"imapeval.integrations.{module}")
    assert name_of(caught.value.package) == distribution


def test_each_framework_is_an_extra_and_none_is_a_dependency() -> None:
    extras = PROJECT["optional-dependencies"]
    frameworks = {distribution for distribution, _ in ADAPTERS.values()}
    for distribution, extra in ADAPTERS.values():
        assert distribution in map(name_of, extras[extra])
    assert not frameworks & {name_of(requirement) for requirement in PROJECT["dependencies"]}


def test_nothing_of_what_is_installed_pulls_a_framework() -> None:
    """Follows what imapeval's own metadata requires without extras, through everything that it requires in turn."""
    seen: set[str] = set()
    waiting = ["imapeval"]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            required = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # for another system or Python
        waiting += [name_of(requirement) for requirement in required if "extra ==" not in requirement]
    assert {"numpy", "openai"} <= seen
    assert not seen & {distribution for distribution, _ in ADAPTERS.values()}


def test_the_scorer_loads_no_framework() -> None:
    script = "import sys, imapeval.scoring; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {distribution.replace("-", "_") for distribution, _ in ADAPTERS.values()}
    assert not loaded & {"torch", "fastapi", "pytest"}
