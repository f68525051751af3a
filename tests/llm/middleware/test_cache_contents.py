import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from imapeval.errors import ResourceError, UsageError
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.middleware.cache_contents import CachedCompletions, clear, disk_usage, list_models
from imapeval.llm.protocol import Completion, Message, Request, Usage
from imapeval.llm.providers.scripted import ScriptedModel

ONE = "openai:one@http://127.0.0.1:8000/v1"


class Counting:
    concurrency = 1

    def __init__(self, identity: str):
        self.identity = identity

    async def complete(self, request: Request) -> Completion:
        return Completion("头痛 " * 500, "stop", self.identity, Usage(10, 3))


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    path = tmp_path / "a folder" / "c 100%.sqlite"
    for identity, count in ((ONE, 3), ("openai:two", 2)):
        model = CachedModel(Counting(identity), path)
        for number in range(count):
            await model.complete(Request((Message("user", str(number)),)))
    return path


def test_list_models(path: Path):
    assert list_models(path) == [CachedCompletions(ONE, 3, 30, 9), CachedCompletions("openai:two", 2, 20, 6)]
    assert disk_usage(path) > 5 * 1000


async def test_clearing_one_model(path: Path):
    assert clear(path, model="openai:two") == 2
    assert list_models(path) == [CachedCompletions(ONE, 3, 30, 9)]
    replayed = CachedModel(ScriptedModel([], identity=ONE), path)
    assert (await replayed.complete(Request((Message("user", "0"),)))).cached


def test_clearing_everything_frees_the_space(path: Path):
    before = disk_usage(path)
    assert clear(path) == 5
    assert list_models(path) == []
    assert disk_usage(path) < before


async def test_a_cache_in_use_can_be_cleared(path: Path):
    model = CachedModel(Counting("openai:two"), path)
    request = Request((Message("user", "0"),))
    assert (await model.complete(request)).cached
    clear(path)
    assert not (await model.complete(request)).cached
    assert (await model.complete(request)).cached


def test_an_unknown_model_is_named(path: Path):
    with pytest.raises(UsageError, match=r"'openai:t'.*openai:one@.*openai:two"):
        clear(path, model="openai:t")


def test_a_missing_file_is_an_empty_cache(tmp_path: Path):
    path = tmp_path / "c.sqlite"
    assert (list_models(path), disk_usage(path), clear(path)) == ([], 0, 0)
    assert not path.exists()


def test_a_file_without_content_is_an_empty_cache(tmp_path: Path):
    path = tmp_path / "c.sqlite"
    path.touch()  # a process ended before it created the tables
    assert (list_models(path), clear(path)) == ([], 0)


def test_a_completion_without_the_name_of_its_model(path: Path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE completion SET request = json_remove(request, '$.identity') WHERE rowid = 1")
    assert [cached.model for cached in list_models(path)] == [ONE, "openai:two", ""]
    with pytest.raises(UsageError, match="openai:two"):
        clear(path, model="openai:t")


def test_a_file_that_is_not_a_cache_is_left_alone(tmp_path: Path):
    path, content = tmp_path / "c.sqlite", b"no database" * 100
    path.write_bytes(content)
    with pytest.raises(ResourceError, match=r"c\.sqlite"):
        list_models(path)
    with pytest.raises(ResourceError):
        clear(path)
    assert path.read_bytes() == content


def test_a_damaged_schema_is_named(path: Path):
    content = path.read_bytes()
    assert b"WITHOUT ROWID" in content
    path.write_bytes(content.replace(b"WITHOUT ROWID", b"WITHOUT \xffOWID"))
    with pytest.raises(ResourceError, match="c 100%"):
        list_models(path)


def test_more_tokens_than_there_can_be(path: Path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE completion SET completion = replace(completion, 'tokens\": 10', 'tokens\": 1e999')")
    with pytest.raises(ResourceError, match="c 100%"):
        list_models(path)


def test_a_locked_file_cannot_be_cleared(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("imapeval.llm.middleware.cache_contents._BUSY_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ResourceError, match="locked"):
            clear(path)
        assert len(list_models(path)) == 2
    finally:
        other.close()
