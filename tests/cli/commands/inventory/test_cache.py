import asyncio
import gc
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from imapeval.cli.main import app
from imapeval.graph.encoder import open_encoder
from imapeval.graph.index.names import NameIndex
from imapeval.graph.index.ngram_index import NgramIndex
from imapeval.graph.model import Concept
from imapeval.graph.store.graph import Graph
from imapeval.graph.store.writer import write_graph
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.protocol import Message, Request
from imapeval.llm.providers.scripted import ScriptedModel
from tests.cli.conftest import Command


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept" / "completions.sqlite"


@pytest.fixture
def two_models(cache: Path) -> None:
    for name in ("one", "two"):
        model = CachedModel(ScriptedModel(["{}"], identity=f"openai:{name}"), cache)
        asyncio.run(model.complete(Request((Message("user", "x"),))))
    del model
    # The file is closed, and its -wal and -shm are gone, when nothing refers to the model any more.
    gc.collect()


def test_nothing_is_kept_yet(imapeval: Command, cache: Path):
    told = f"{cache}: 0 completions, 0.0 MB\n{cache.parent}: 0 indexes of graphs, 0.0 MB\n"
    assert imapeval("cache", "info").stdout == told
    assert json.loads(imapeval("cache", "info", "--json").stdout) == {
        "path": str(cache),
        "bytes": 0,
        "entries": 0,
        "models": [],
        "indexes": [],
    }
    assert not cache.exists()


@pytest.mark.usefixtures("two_models")
def test_info_for_people_and_machines(imapeval: Command):
    found = json.loads(imapeval("cache", "info", "--json").stdout)
    assert found["entries"] == 2
    assert found["bytes"] > 0
    assert found["models"][0] == {"model": "openai:one", "entries": 1, "prompt_tokens": 0, "completion_tokens": 0}
    assert "openai:two" in imapeval("cache", "info").stdout


@pytest.mark.usefixtures("two_models")
def test_clear_asks_first(cache: Path):
    refused = CliRunner().invoke(app, ["cache", "clear"], input="n\n")
    assert refused.exit_code == 1
    assert f"completions to delete from {cache}: 2\n" in refused.output
    agreed = CliRunner().invoke(app, ["cache", "clear", "--model", "openai:one"], input="y\n")
    assert agreed.exit_code == 0
    assert f"completions deleted from {cache}: 1\n" in agreed.output


@pytest.mark.parametrize("options", [(), ("--indexes",)])
@pytest.mark.usefixtures("two_models")
def test_the_question_is_no_part_of_the_json(options: tuple[str, ...]):
    done = CliRunner().invoke(app, ["cache", "clear", "--json", *options], input="y\n")
    # The runner prints what is typed, as a terminal does.
    assert json.loads(done.stdout.removeprefix(" y\n"))["dropped"] == ([] if options else 2)
    assert "[y/N]" in done.stderr


@pytest.mark.usefixtures("two_models")
def test_an_unknown_model_is_not_asked_about():
    done = CliRunner().invoke(app, ["cache", "clear", "--model", "openai:none"], input="y\n")
    assert done.exit_code == 2
    assert "openai:none" in done.stderr
    assert "[y/N]" not in done.output


@pytest.mark.usefixtures("two_models")
def test_clear_without_asking(imapeval: Command):
    assert imapeval("cache", "clear", "--yes", "--model", "openai:one").stdout.endswith(": 1\n")
    assert json.loads(imapeval("cache", "clear", "--yes", "--json").stdout)["dropped"] == 1
    unknown = imapeval("cache", "clear", "--yes", "--model", "openai:one")
    assert unknown.returncode == 2
    assert "openai:one" in unknown.stderr


@pytest.fixture
def graph(cache: Path, tmp_path: Path) -> Graph:
    """A graph in memory of which the cache has both indexes, and half of one by another encoder; its file is gone."""
    write_graph(tmp_path / "graph.sqlite", [Concept("x:1", "gout", "disease", ())], [])
    encoder = open_encoder("use")
    graph = Graph.open(tmp_path / "graph.sqlite")
    NgramIndex.open_or_build(graph)
    NameIndex.open_or_build(graph, encoder)
    stopped = cache.parent / "index" / f"{graph.hash[:16]}-st_other-1.faiss.part"
    stopped.mkdir()
    (stopped / "rows.f16").write_bytes(b"x" * 100)
    (tmp_path / "graph.sqlite").unlink()
    return graph


def test_indexes_are_told(imapeval: Command, cache: Path, graph: Graph):
    found = json.loads(imapeval("cache", "info", "--json").stdout)["indexes"]
    assert {index["graph"] for index in found} == {graph.hash[:16]}
    ngrams, other, use = found
    assert (ngrams["kind"], ngrams["encoder"]) == ("n-grams", "")
    assert (other["kind"], other["encoder"], other["bytes"]) == ("names", "st_other", 100)
    assert (use["kind"], use["encoder"]) == ("names", open_encoder("use").identity)
    files = [file for file in cache.parent.rglob("*") if file.is_file()]
    assert sum(index["bytes"] for index in found) == sum(file.stat().st_size for file in files)
    told = imapeval("cache", "info").stdout
    assert f"{cache.parent}: 3 indexes of graphs, " in told
    assert "st_other" in told


@pytest.mark.usefixtures("two_models", "graph")
def test_indexes_are_cleared_and_completions_stay(imapeval: Command, cache: Path):
    refused = CliRunner().invoke(app, ["cache", "clear", "--indexes"], input="n\n")
    assert refused.exit_code == 1
    assert f"indexes to delete from {cache.parent}: 3, " in refused.output
    dropped = json.loads(imapeval("cache", "clear", "--indexes", "--yes", "--json").stdout)["dropped"]
    assert [index["kind"] for index in dropped] == ["n-grams", "names", "names"]
    assert [file for file in cache.parent.rglob("*") if file.is_file()] == [cache]
    assert imapeval("cache", "clear", "--indexes", "--yes").stdout == f"indexes deleted from {cache.parent}: 0\n"
    assert json.loads(imapeval("cache", "info", "--json").stdout)["entries"] == 2


def test_indexes_have_no_model(imapeval: Command):
    refused = imapeval("cache", "clear", "--indexes", "--model", "openai:one")
    assert refused.returncode == 2
    assert "--indexes" in refused.stderr
