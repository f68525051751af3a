from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

import pytest

from imapeval.errors import ResourceError, UsageError
from imapeval.metrics import imapscore, lexical, registry
from imapeval.metrics.base import Case, Metric, Requirement, option
from imapeval.metrics.imapscore import ImapScore


@dataclass(frozen=True)
class Plain(Metric):
    """A metric that scores everything 1."""

    name: str = "plain"
    summary = "1"
    requires: frozenset[Requirement] = frozenset({"reference"})

    def score(self, case: Case) -> float:
        return 1.0


@dataclass(frozen=True)
class Lacking(Plain):
    """A metric that looks for its weights."""

    name: str = "lacking"
    model: str = option("weights", "/here")

    @property
    def missing_requirements(self) -> str:
        return f"weights of {self.model}"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    registry._registered.cache_clear()
    yield
    registry._registered.cache_clear()


def test_ours_are_there_under_their_names():
    ours = [metric.name for metric in (*imapscore.build(), *lexical.build())]
    assert registry.names()[: len(ours)] == ours
    assert [metric.name for metric in registry.all_metrics()] == registry.names()
    assert registry.get("imapscore:paper").name == "imapscore:paper"


def test_unknown_name_with_and_without_near_ones():
    with pytest.raises(UsageError, match=r"'rouge-1'.*rouge1"):
        registry.get("rouge-1")
    with pytest.raises(UsageError, match="'zzz'"):
        registry.get("zzz")


def build_theirs() -> list[Metric]:
    return [Plain("theirs")]


def offer(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    class Entry:
        value = f"their_package:{name}"
        dist = None

        def __init__(self) -> None:
            self.name = name

        def load(self) -> object:
            return globals()[name]

    def entry_points(*, group: str) -> list[Entry]:
        assert group == "imapeval.metrics"
        return [Entry()]

    monkeypatch.setattr(metadata, "entry_points", entry_points)


def test_metrics_of_other_packages(monkeypatch: pytest.MonkeyPatch):
    offer(monkeypatch, "build_theirs")
    assert registry.get("theirs").name == "theirs"


@dataclass(frozen=True)
class Nameless(Metric):
    """A metric whose author forgot its name."""

    summary = "1"

    def score(self, case: Case) -> float:
        return 1.0


def build_nameless() -> list[Metric]:
    return [Nameless()]


def build_failing() -> list[Metric]:
    raise ZeroDivisionError


def build_functions() -> list[object]:
    return [len]


@pytest.mark.parametrize("name", ["build_nameless", "build_failing", "build_functions", "absent"])
def test_an_entry_point_that_cannot_be_used_leaves_the_others(monkeypatch: pytest.MonkeyPatch, name: str):
    offer(monkeypatch, name)
    assert registry.get("rouge1+imap").name == "rouge1+imap"
    assert list(registry.unavailable()) == [name]
    for metric in (name, f"{name}+imap"):
        with pytest.raises(ResourceError, match=f"their_package:{name}"):
            registry.get(metric)


def test_an_unknown_metric_may_be_one_of_an_entry_point_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch):
    offer(monkeypatch, "build_failing")
    with pytest.raises(UsageError, match=r"'my-jaccard'.*their_package:build_failing"):
        registry.get("my-jaccard")


def build_clash() -> list[ImapScore]:
    return imapscore.build()


def test_a_name_that_is_taken(monkeypatch: pytest.MonkeyPatch):
    offer(monkeypatch, "build_clash")
    with pytest.raises(ResourceError, match=r"'imapscore'.*their_package:build_clash"):
        registry.names()


def test_chosen_by_name_each_once():
    chosen = registry.choose(["rouge1", "imapscore", "rouge1"])
    assert [metric.name for metric in chosen] == ["rouge1", "imapscore"]


def test_all_that_can_be_computed_here(monkeypatch: pytest.MonkeyPatch):
    offer(monkeypatch, "build_others")
    offline = [metric.name for metric in registry.choose(["all-offline"])]
    assert {"imapscore", "rouge1", "rouge1+imap", "rouge1+imap:pairs"} <= set(offline)
    assert not {"lacking", "asking"} & set(offline)


def build_others() -> list[Metric]:
    return [Lacking(), Plain("asking", requires=frozenset({"llm"}))]


def test_options_hold_for_a_metric_on_texts_and_on_imaps():
    with pytest.raises(UsageError, match=r"'imapscore'.*'x'"):
        registry.choose(["imapscore"], {"imapscore": {"x": "1"}})
    with pytest.raises(UsageError, match=r"'bleu'.*rouge1\+imap"):
        registry.choose(["rouge1+imap"], {"bleu": {}})
    with pytest.raises(UsageError, match=r"'rouge1\+imap'.*'rouge1'"):
        registry.choose(["rouge1+imap"], {"rouge1+imap": {}})


def build_lacking() -> list[Lacking]:
    return [Lacking()]


def test_an_option_of_a_metric_that_lacks_something_says_what(monkeypatch: pytest.MonkeyPatch):
    offer(monkeypatch, "build_lacking")
    with pytest.raises(UsageError, match=r"'lacking'.*weights of /nowhere"):
        registry.choose(["all-offline"], {"lacking": {"model": "/nowhere"}})
