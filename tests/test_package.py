"""What is public, what ships, and what the pages about it promise."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import typer

import imapeval
from imapeval import _resources
from imapeval._optional import installed
from imapeval.cli.main import app
from imapeval.errors import InputError, ProviderError
from imapeval.evaluation.samples import loaders
from imapeval.graph.readers.base import Source
from imapeval.llm.protocol import Message, Request
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.metrics import registry
from imapeval.metrics.base import Case, Metric, MetricResources
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "datasets" / "README.md"]


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_what_is_public() -> None:
    # A name that is removed here breaks programs of users: docs/python.md, "Stability".
    assert imapeval.__all__ == [
        "Assessment",
        "Assessments",
        "BatchMetric",
        "Case",
        "Coefficient",
        "Completion",
        "Example",
        "ExtractionError",
        "Failure",
        "Imap",
        "ImapEvalError",
        "InputError",
        "Judge",
        "JudgeRequest",
        "Match",
        "Message",
        "Metric",
        "MetricResources",
        "MissingExtraError",
        "Model",
        "Outcome",
        "Pair",
        "Price",
        "ProviderError",
        "Relation",
        "Request",
        "ResourceError",
        "Run",
        "Sample",
        "SampleError",
        "Scale",
        "Score",
        "Scorer",
        "ScriptedModel",
        "ServiceError",
        "Turn",
        "Usage",
        "UsageError",
        "__version__",
        "fixed",
        "load_geval",
        "make_template",
        "option",
        "read",
        "read_score",
    ]
    assert dir(imapeval) == sorted(imapeval.__all__)
    assert all(getattr(imapeval, name) is not None for name in imapeval.__all__)
    with pytest.raises(AttributeError, match="'Scores'"):
        _ = imapeval.Scores


def test_types_are_public() -> None:
    assert (ROOT / "imapeval" / "py.typed").exists()


def test_the_changelog_begins_with_this_version() -> None:
    newest = re.search(r"^## (\S+)", read(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == imapeval.__version__


def named_extras() -> Iterator[tuple[str, str]]:
    """Yield (place, extra) of every call that names an extra, and of every `imapeval[extra]` or `.[extra]`."""
    for path in sorted((ROOT / "imapeval").rglob("*.py")):
        if "extra=" not in (source := read(path)):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("require", "MissingExtraError"):
                for keyword in node.keywords:
                    if keyword.arg == "extra" and isinstance(keyword.value, ast.Constant):
                        yield f"{path.name}:{node.lineno}", keyword.value.value
    for path in PAGES:
        for names in re.findall(r"(?:imapeval|'\.)\[([a-z,]+)\]", read(path)):
            yield from ((path.name, name) for name in names.split(","))


def test_every_extra_that_is_named_exists() -> None:
    named = list(named_extras())
    assert {"parquet", "neural", "hf"} <= {extra for _, extra in named}
    assert [(place, extra) for place, extra in named if extra not in EXTRAS] == []


def test_everything_that_ships_is_there() -> None:
    for pattern in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["include"]:
        assert list(ROOT.glob(pattern.lstrip("/"))), pattern
    for parts in (("kg", "graph.sqlite"), ("kg", "names.faiss"), ("datasets", "sample-en.jsonl"), ("prompts",)):
        assert _resources.find(*parts).exists()


def commands() -> dict[str, Any]:
    """Return every command by its words, such as "study correlate"."""

    def walk(prefix: str, group: Any) -> Iterator[tuple[str, Any]]:
        for name, command in group.commands.items():
            words = f"{prefix} {name}".strip()
            yield words, command
            if hasattr(command, "commands"):
                yield from walk(words, command)

    return dict(walk("", typer.main.get_command(app)))


def shown_commands() -> Iterator[tuple[str, list[str]]]:
    """Yield (page, words after `imapeval`) of every command line in a fenced or indented block."""
    for path in PAGES:
        text = re.sub(r"\\\n\s*", " ", read(path))
        fenced = re.findall(r"^```(?:bash|sh)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        indented = re.findall(r"^ {4}(?:\$ )?(imapeval .*)", text, re.MULTILINE)
        for line in [*"\n".join(fenced).splitlines(), *indented]:
            # Lines within quotes, such as those of a request's body, are no command lines of their own.
            for part in (part for part in line.split("&&") if "imapeval" in part):
                words = shlex.split(part, comments=True)
                while words and re.match(r"[A-Z_]+=", words[0]):
                    del words[0]
                if words and Path(words[0]).name == "imapeval":
                    yield path.name, words[1:]


def test_every_command_line_that_is_shown_exists() -> None:
    known = commands()
    shown = list(shown_commands())
    assert len(shown) >= 5
    for page, words in shown:
        name = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
        assert name in known, f"{page}: imapeval {shlex.join(words)}"
        options = {option for parameter in known[name].params for option in parameter.opts}
        strange = [word for word in words if word.startswith("--") and word not in options]
        assert not strange, f"{page}: imapeval {name} has no {strange}"


def test_the_index_of_the_docs_lists_every_page() -> None:
    index = read(ROOT / "docs" / "README.md")
    pages = [path.name for path in (ROOT / "docs").glob("*.md") if path.name != "README.md"]
    assert [page for page in pages if f"]({page})" not in index] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", read(page)):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("name", ["score", "test"])
def test_ci_finds_the_commands_of_the_readme(name: str) -> None:
    script = ROOT / ".ci" / "readme_command.py"
    line = subprocess.run([sys.executable, script, name], capture_output=True, text=True, check=True).stdout.strip()
    assert line in read(ROOT / "README.md").splitlines()
    assert f"readme_command.py {name})" in read(ROOT / ".ci" / "run")


def find_example(name: str) -> str:
    """Return the code of an example of CONTRIBUTING.md."""
    code = re.search(rf"<!-- example:{name} -->\n```python\n(.*?)```", read(ROOT / "CONTRIBUTING.md"), re.DOTALL)
    assert code is not None
    return code[1]


def example(name: str) -> dict[str, Any]:
    """Run an example of CONTRIBUTING.md and return what it defines."""
    module = ModuleType(f"example_{name}")
    sys.modules[module.__name__] = module  # where dataclasses look for it
    exec(compile(find_example(name), "CONTRIBUTING.md", "exec", dont_inherit=True), module.__dict__)
    return vars(module)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Metric]]:
    """Give an example of CONTRIBUTING.md, and return its metric from the registry, as an entry point of a package."""

    def register(name: str) -> Metric:
        entry = SimpleNamespace(name=name, value=name, dist=None, load=lambda: example(name)["build"])
        monkeypatch.setattr(metadata, "entry_points", lambda *, group: [entry] if group == "imapeval.metrics" else [])
        # Alone, so that the example may also be added here as it is printed.
        monkeypatch.setattr(registry, "_BUILTIN_MODULES", ())
        registry._registered.cache_clear()
        return registry.choose([example(name)["build"]()[0].name])[0]

    yield register
    registry._registered.cache_clear()


def test_the_example_of_a_metric(registered: Callable[[str], Metric]) -> None:
    metric = registered("metric")
    case = Case("1", "What helps?", "Rest.", "Rest. Rest.", "en")
    assert metric.score_batch([case]) == [Score(5 / 11)]
    assert metric.signature == "brevity|most:1|v:1"
    assert len(metric.summary) <= 55
    assert registry.get("brevity+imap:pairs").summary


async def test_the_example_of_a_judge(registered: Callable[[str], Metric]) -> None:
    model = ScriptedModel(["4"])
    judge = registered("judge").prepare(MetricResources(llm=model))
    assert len(judge.summary) <= 55
    cases = [Case("1", "What helps?", "", "Rest. I am sorry.", "en"), Case("2", "What helps?", "", "", "en")]
    assert await judge.ascore_batch(cases) == [Score(4.0), Score(1.0)]
    assert "I am sorry." in model.requests[0].messages[-1].content
    prompts = r"prompts:empathy#\w{8}/judge-retry\.v1#\w{8}"
    assert re.fullmatch(rf"empathy\|model:[^|]+\|{prompts}\|judge:\d+\|v:1", judge.signature)


@pytest.mark.slow
@pytest.mark.skipif(not (installed("ruff") and installed("pyright")), reason="needs the extra lint")
@pytest.mark.parametrize(
    ("name", "folder"),
    {
        "metric": "metrics",
        "judge": "metrics/judges",
        "provider": "llm/providers",
        "statistic": "study/correlation",
        "loader": "evaluation/samples",
        "ontology": "graph/readers",
    }.items(),
)
def test_the_example_passes_lint_and_types(name: str, folder: str, tmp_path: Path) -> None:
    # In the package, as a contributor's file is: the rules differ by folder.
    file = ROOT / "imapeval" / folder / f"example_{name}.py"
    code = find_example(name)
    for command in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", "--stdin-filename", str(file), "-"]
        done = subprocess.run(ruff, input=code, capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "example.py").write_text(code, encoding="utf-8")
    environment = {"venvPath": str(Path(sys.prefix).parent), "venv": Path(sys.prefix).name}
    settings = {"typeCheckingMode": "strict", "include": ["example.py"], "extraPaths": [str(ROOT)], **environment}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    pyright = [sys.executable, "-m", "pyright", "--project", str(tmp_path)]
    done = subprocess.run(pyright, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


async def test_the_example_of_a_provider() -> None:
    parrot = example("provider")["Parrot"]("grey")
    assert parrot.identity == "parrot:grey"
    assert (await parrot.complete(Request((Message("user", "hello"),)))).text == "hello"
    with pytest.raises(ProviderError):
        await parrot.complete(Request(()))


def test_the_example_of_a_statistic() -> None:
    x, y = np.array([1.0, 2.0, 4.0, 4.0]), np.array([1.0, 3.0, 4.0, 5.0])
    weights = np.array([[1.0, 1, 1, 1], [1, 1, 2, 0], [0, 0, 3, 0]])
    expected: list[float] = []
    for row in weights[:2].astype(int):
        a, b = np.repeat(x, row), np.repeat(y, row)
        expected.append(2 * np.cov(a, b, ddof=0)[0, 1] / (a.var() + b.var() + (a.mean() - b.mean()) ** 2))
    concordance = example("statistic")["Concordance"]()
    assert concordance.weighted(x, y, weights) == pytest.approx([*expected, np.nan], nan_ok=True)


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter the example of a loader as "blocks"."""
    monkeypatch.setattr(loaders, "LOADERS", {**loaders.LOADERS, "blocks": example("loader")["read_blocks"]})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_the_example_of_a_loader(tmp_path: Path, blocks: None, encoding: str) -> None:
    file = tmp_path / "data.txt"
    file.write_text("Q1\nR1\nA1\nQ2\nR2\nA2\nQ3\n", encoding=encoding)
    first, second, cut = imapeval.read(file, loader="blocks")
    assert (first.question, first.references, first.response) == ("Q1", ("R1",), "A1")
    assert (second.response, second.fault) == ("A2", None)
    assert cut.fault is not None
    with pytest.raises(InputError) as caught:
        imapeval.read(file, loader="blocks", strict=True)
    assert caught.value.line == 7


def test_the_example_of_a_loader_names_a_missing_file(tmp_path: Path, blocks: None) -> None:
    with pytest.raises(InputError, match=r"absent\.txt"):
        imapeval.read(tmp_path / "absent.txt", loader="blocks")


def test_the_example_of_an_ontology(tmp_path: Path) -> None:
    file = tmp_path / "mine.codes"
    file.write_text("1\tblood test\t\n2\tblood glucose test\t1\nbroken\n", encoding="utf-8")
    source = Source(file, "mine")
    form = example("ontology")["FORMAT"]
    assert form.recognise(file, b"")
    assert form.recognise(file.with_name("mine.codes.gz"), b"")
    assert [(record.id, record.parents) for record in form.read(source)] == [("NEW:1", []), ("NEW:2", ["NEW:1"])]
    assert source.problems.places == {"1 cells, not 3": ["mine.codes line 3"]}
