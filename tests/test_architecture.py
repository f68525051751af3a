"""The layers of the package (CONTRIBUTING.md, "Layout"), read out of the imports themselves."""

from __future__ import annotations

import ast
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import imapeval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "imapeval"
MAX_LINES = 400

# Lowest first. A module may import its own layer and those before it. A name is a module or a whole subpackage of
# imapeval, "" the package's own __init__.
LAYERS: tuple[tuple[str, frozenset[str]], ...] = (
    (
        "core",
        frozenset(
            {
                "",
                "errors",
                "types",
                "signature",
                "files",
                "parsing",
                "redaction",
                "remote",
                "threads",
                "_optional",
                "_resources",
            }
        ),
    ),
    ("text", frozenset({"text"})),
    ("llm", frozenset({"llm"})),
    ("graph", frozenset({"graph"})),
    ("fact_model", frozenset({"fact_model"})),
    ("extraction", frozenset({"extraction"})),
    ("matching", frozenset({"matching"})),
    ("metrics", frozenset({"metrics"})),
    ("evaluation", frozenset({"evaluation"})),
    ("study", frozenset({"study"})),
    ("explain", frozenset({"explain"})),
    ("report", frozenset({"report"})),
    ("scoring", frozenset({"scoring"})),
    ("serve", frozenset({"serve"})),
    ("rating", frozenset({"rating"})),
    ("integrations", frozenset({"integrations"})),
    ("cli", frozenset({"cli", "__main__"})),
)
LEVELS = {unit: level for level, (_, units) in enumerate(LAYERS) for unit in units}

MODULES = sorted(PACKAGE.rglob("*.py"))
SOURCES = MODULES + sorted(path for folder in ("kg", "docs", "benchmarks") for path in (ROOT / folder).glob("*.py"))


def unit_of(module: str) -> str:
    """Return the unit of a dotted name: "graph" for "imapeval.graph.store.graph", "" for "imapeval" itself."""
    return ([*module.split("."), ""])[1]


def dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(nodes: Iterable[ast.AST], importer: str, *, package: bool) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of everything imported, wherever in the file, for types or at run time."""
    home = importer if package else importer.rpartition(".")[0]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = home.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *([base] if base else [])])
            # `from imapeval import evaluate` names a module; `from imapeval import __version__` does not.
            for alias in node.names:
                name = f"{base}.{alias.name}"
                yield node.lineno, name if unit_of(name) in LEVELS else base


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def list_nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(parse(path)))


def show(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_rule_sees_every_form_of_import() -> None:
    tree = ast.parse(
        "import imapeval.graph.store.graph\nfrom imapeval import study, __version__\nfrom ..cli import main\n"
    )
    found = [unit_of(name) for _, name in imported(ast.walk(tree), "imapeval.metrics.base", package=False)]
    assert found == ["graph", "study", "", "cli"]


def test_every_module_has_a_layer() -> None:
    units = {unit_of(dotted(path)) for path in MODULES}
    assert units <= LEVELS.keys(), "say in LAYERS where the new part belongs"


def test_imports_point_up_only() -> None:
    wrong: list[str] = []
    for path in MODULES:
        importer = dotted(path)
        if importer == PACKAGE.name:
            continue  # it names what is public, of any layer, and loads it on first use (test_import_budget.py)
        for line, name in imported(list_nodes(path), importer, package=path.name == "__init__.py"):
            if name.split(".")[0] != PACKAGE.name:
                continue
            here, there = unit_of(importer), unit_of(name)
            if LEVELS[there] > LEVELS[here]:
                wrong.append(f"{show(path)}:{line}: {LAYERS[LEVELS[here]][0]} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_integrations_stand_alone() -> None:
    wrong = [
        f"{show(path)}:{line}"
        for path in MODULES
        for line, name in imported(list_nodes(path), dotted(path), package=path.name == "__init__.py")
        if name.startswith("imapeval.integrations") and unit_of(dotted(path)) != "integrations"
    ]
    assert not wrong


PLUGIN = PACKAGE / "integrations" / "pytest_plugin.py"
"""Loaded by pytest alone."""


def test_nothing_imports_the_tests() -> None:
    wrong = [
        f"{show(path)}:{line}"
        for path in SOURCES
        for line, name in imported(list_nodes(path), path.stem, package=False)
        if name.split(".")[0] in ("tests", "conftest", "pytest", "hypothesis")
        and not (path == PLUGIN and name.split(".")[0] == "pytest")
    ]
    assert not wrong


def find_module(name: str, *, beside: Path) -> Path | None:
    """Return the file of a module of the package, or of a program's own folder."""
    parts = name.split(".")
    path = (ROOT if parts[0] == PACKAGE.name else beside.parent).joinpath(*parts)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def list_names(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the names that a module binds."""
    for node in statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.If | ast.Try):
            yield from list_names(node.body)
        else:
            yield from (one.id for one in ast.walk(node) if isinstance(one, ast.Name))


def test_programs_import_what_exists() -> None:
    wrong: list[str] = []
    for path in SOURCES[len(MODULES) :]:
        for node in list_nodes(path):
            if not isinstance(node, ast.ImportFrom) or (module := find_module(node.module or "", beside=path)) is None:
                continue
            known = {*list_names(parse(module).body), *(dir(imapeval) if node.module == PACKAGE.name else ())}
            wrong += [
                f"{show(path)}:{node.lineno}: {node.module}.{alias.name}"
                for alias in node.names
                if alias.name not in known and find_module(f"{node.module}.{alias.name}", beside=path) is None
            ]
    assert not wrong, "\n".join(wrong)


def test_no_file_is_too_long() -> None:
    lines = {show(path): len(path.read_bytes().splitlines()) for path in SOURCES}
    assert not {path: count for path, count in lines.items() if count > MAX_LINES}, "two ideas: split it"


@pytest.mark.parametrize("vague", ["utils", "helpers", "common", "misc"])
def test_no_file_is_named_after_nothing(vague: str) -> None:
    assert not [show(path) for path in SOURCES if path.stem.strip("_") == vague]


def test_nothing_is_validated_by_assert() -> None:
    wrong = [
        f"{show(path)}:{node.lineno}" for path in MODULES for node in list_nodes(path) if isinstance(node, ast.Assert)
    ]
    assert not wrong


def test_blind_excepts_only_around_a_sample_a_case_storages_other_packages_and_the_start_of_ray() -> None:
    blind = {
        show(path)
        for path in MODULES
        for node in list_nodes(path)
        if isinstance(node, ast.ExceptHandler) and catches_everything(node) and not reraises(node)
    }
    assert blind == {
        "imapeval/_optional.py",
        "imapeval/evaluation/extract.py",
        "imapeval/evaluation/ray_workers.py",
        "imapeval/metrics/base.py",
        "imapeval/remote.py",
    }


def catches_everything(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException")) for kind in kinds
    )


def reraises(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_every_public_module_says_what_it_is_for() -> None:
    silent = [
        show(path)
        for path in MODULES
        if ast.get_docstring(parse(path)) is None
        and not (path.name == "__init__.py" and not path.read_text(encoding="utf-8").strip())
    ]
    assert not silent


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ('def f(a, *b, **c):\n    """F.\n\n    Args:\n        a, b: A.\n        c: C.\n    """', []),
        ('def f(a):\n    """F.\n\n    Args:\n        b: B.\n    """', ["b"]),
        ('class C:\n    """C.\n\n    Attributes:\n        a: A,\n            b: B.\n    """\n    a: int', []),
        ('class C:\n    """C.\n\n    Attributes:\n        c, d: C.\n    """\n    d: int', ["c"]),
    ],
)
def test_the_rule_sees_documented_names_that_do_not_exist(code: str, wrong: list[str]) -> None:
    assert list(list_unknown_names(ast.parse(code).body[0])) == wrong


def test_documented_arguments_and_attributes_exist() -> None:
    wrong = [
        f"{show(path)}: {name}" for path in MODULES for node in list_nodes(path) for name in list_unknown_names(node)
    ]
    assert not wrong


def list_unknown_names(node: ast.AST) -> Iterator[str]:
    """Yield the names under "Args:" and "Attributes:" that a function or class does not have.

    Classes that inherit, or take options that they pass on, may have more than can be seen here.
    """
    if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return
    sections = re.findall(r"^(?:Args|Attributes):\n((?:    .*\n?|\n)+)", ast.get_docstring(node) or "", re.MULTILINE)
    if not sections:
        return
    if isinstance(node, ast.ClassDef):
        makers = [item.args for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
        if node.bases or any(maker.kwarg for maker in makers):
            return
        names = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
        names |= {item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute)}
        names |= {item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}
    else:
        makers, names = [node.args], set[str]()
    names |= {arg.arg for maker in makers for arg in ast.walk(maker) if isinstance(arg, ast.arg)}
    for section in sections:
        for listed in re.findall(r"^    (\*{0,2}[a-z_]\w*(?:(?:, | and )\*{0,2}\w+)*):", section, re.MULTILINE):
            yield from (name for name in re.findall(r"\w+", listed.replace(" and ", " ")) if name not in names)


def test_datasets_hold_no_code() -> None:
    # A module there would shadow Hugging Face's package for everybody who works in the checkout.
    assert not list((ROOT / "datasets").rglob("*.py"))


def test_contributing_draws_the_same_layers() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    places = [text.index(f"| {name} |") for name, _ in LAYERS]
    assert all(before < after for before, after in pairwise(places))


_NEGATOR = (
    r"(?:no|non|not|never|none|nor|neither|without|cannot|can't|don't"
    r"|不[^\W|]{0,3}|没有?|无[需须]?|未|勿|否认|避免|禁止)"
)
_NEGATORS = re.compile(
    rf"(?<![\w'])(?P<a>{_NEGATOR})\??[)\]]*[|\s]+[(?:]*(?!(?P=a)(?![\w']))(?:{_NEGATOR})(?![\w'])"
    # Half of a class of characters.
    r"|\[(?:[不无未非没勿忌禁停避除否别莫]{2,}[^\]]{0,1}|[不无未非没勿忌禁停避除否别莫]{4,}[^\]]*)\]"
)
"""Two negators side by side in a list of words or in a pattern."""


@cache
def find_strings(path: Path) -> tuple[tuple[int, str], ...]:
    """Return (line, text) of the strings of a module that are no docstrings, joined where they stand side by side."""
    statements = {id(node.value) for node in list_nodes(path) if isinstance(node, ast.Expr)}
    return tuple(
        (node.lineno, node.value)
        for node in list_nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements
    )


def has_chinese_range(text: str) -> bool:
    """Return whether a pattern names a range of characters that begins or ends in the blocks of Chinese ones."""
    decoded = re.sub(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})", lambda hit: chr(int(hit[1] or hit[2], 16)), text)
    return re.search("\u3400-|-[\u4dbf\u9fa5\u9fff\U0002a6df\U0003ffff]|[\u4e00]-[\u4e00-\u9fff]", decoded) is not None


@pytest.mark.parametrize("text", ["no|not|never", "(?:不要|不能)?", "without nor", "[不无未]", "cannot|not"])
def test_the_rule_sees_a_list_of_negations(text: str) -> None:
    assert _NEGATORS.search(text)


@pytest.mark.parametrize("text", ["not a number", "no text, and none is needed", "[无阳]", "not_found|no_reply"])
def test_the_rule_sees_no_list_where_there_is_none(text: str) -> None:
    assert not _NEGATORS.search(text)


def test_negations_are_listed_in_text_alone() -> None:
    others = (path for path in MODULES if unit_of(dotted(path)) != "text")
    wrong = [f"{show(path)}:{line}: {hit[0]}" for path in others for line, text in find_strings(path)
             if (hit := _NEGATORS.search(text))]  # fmt: skip
    assert not wrong, "words that negate belong to imapeval/text"


@pytest.mark.parametrize("text", ["[\\u4e00-\\u9fff]", "[一-龥]", "\u3400-\u4dbf"])
def test_the_rule_sees_a_chinese_range(text: str) -> None:
    assert has_chinese_range(text)


def test_chinese_characters_are_defined_once() -> None:
    wrong = [
        f"{show(path)}:{line}"
        for path in MODULES
        if path != PACKAGE / "text" / "language.py"
        for line, text in find_strings(path)
        if has_chinese_range(text)
    ]
    assert not wrong, "use HAN of imapeval/text/language.py"
