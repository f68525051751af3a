import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.runs import Run, RunSettings, RunWriter, usage_file
from imapeval.llm.middleware.budget import BudgetedModel, Ledger, track_separately
from imapeval.llm.prices import Price
from imapeval.llm.protocol import Message, Request, Usage
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.types import Sample

PRICE = Price(1.0, 4.0)
REQUEST = Request((Message("user", "Why?"),))
SAMPLES = [Sample("a", "Why?", ("So.",), "Because.")]


def write(folder: Path, ledger: Ledger | None) -> RunWriter:
    return RunWriter(folder, SAMPLES, settings=RunSettings({"m": "m|v:1"}), ledger=ledger)


def usage(folder: Path) -> dict[str, Any] | None:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["usage"]


def test_a_run_without_a_model_has_no_usage(tmp_path: Path):
    with write(tmp_path, None) as run:
        run.add(imaps=[], results=[])
        run.finish()
    assert usage(tmp_path) is None


def test_sessions_of_a_run_add_up(tmp_path: Path):
    for session in (1, 2):
        ledger = Ledger(price=PRICE)
        with write(tmp_path, ledger) as run:
            ledger.record_call(Usage(1000, 100))
            run.add(imaps=[], results=[])
            assert usage(tmp_path) == ledger.report()
        assert ledger.spent.calls == session
        assert ledger.spent.usd == pytest.approx(session * 0.0014)


def test_what_is_paid_for_after_the_last_results_counts(tmp_path: Path):
    ledger = Ledger()
    with write(tmp_path, ledger):
        ledger.record_call(Usage(1000, 100))
    found = usage(tmp_path)
    assert found is not None
    assert found["prompt_tokens"] == 1000


def test_a_session_that_asks_nothing_changes_nothing(tmp_path: Path):
    ledger = Ledger(price=PRICE)
    with write(tmp_path, ledger):
        ledger.record_call(Usage(1000, 100))
    before = usage(tmp_path)
    for ledger in (None, Ledger(), Ledger(price=PRICE)):
        with write(tmp_path, ledger) as run:
            run.finish()
        assert usage(tmp_path) == before


KILLED = """
import asyncio, os, sys
from pathlib import Path
from imapeval.evaluation.evaluate import evaluate_to_store
from imapeval.evaluation.pipeline import Pipeline
from imapeval.llm.protocol import Completion, Message, Request, Usage
from imapeval.llm.middleware.budget import Ledger, BudgetedModel
from imapeval.metrics.base import Metric
from imapeval.evaluation.runs import RunSettings, RunWriter
from imapeval.types import Imap, Pair, Sample, Score

class Slow:
    identity, concurrency = "slow", 4
    async def complete(self, request):
        await asyncio.sleep(0.002)
        os.write(answered, b".")
        return Completion("{}", "stop", "m", Usage(10, 1))

class Reading:
    concurrency, signature = 4, "reading"
    def __init__(self, model):
        self._model = model
    async def extract(self, sample):
        await self._model.complete(Request((Message("user", sample.id),)))
        return (Imap((Pair("t", "?"),), (), (Pair("t", "x"),), (Pair("t", "y"),)),)

class Matching:
    signature = "matching"
    async def match(self, imaps, **_):
        return [() for _ in imaps]

class One(Metric):
    name, signature, requires = "one", "one", frozenset({"imap"})
    range = (0.0, 1.0)
    def score(self, case):
        return 1.0

answered = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
samples = [Sample(str(n), "Why?", ("So.",), "Because.") for n in range(2_000)]
ledger = Ledger()
settings = RunSettings({"one": "one|references:mean|reading|matching"}, "reading", "matching")
with RunWriter(Path(sys.argv[1]), samples, settings=settings, ledger=ledger) as run:
    reader = Reading(BudgetedModel(Slow(), ledger))
    asyncio.run(evaluate_to_store(samples, Pipeline([One()], reader, Matching()), run=run))
"""


@pytest.mark.slow
def test_a_killed_run_knows_what_it_cost(tmp_path: Path):
    folder, answers = tmp_path / "run", tmp_path / "answers"
    command = [sys.executable, "-c", KILLED, str(folder), str(answers)]
    for session in (1, 2, 3):
        before = answers.stat().st_size if answers.exists() else 0
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if answers.exists() and answers.stat().st_size >= before + 100:
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.communicate()[1] == ""
        found = Run(folder).manifest["usage"]
        answered = answers.stat().st_size
        # Four at a time were under way.
        assert answered - 4 * session <= found["calls"] <= answered
        assert found["prompt_tokens"] == 10 * found["calls"]


def test_a_full_disk_does_not_hide_what_is_paid(mount_disk: Callable[[int], Path]):
    disk = mount_disk(200_000)
    ledger = Ledger(price=PRICE)
    with write(disk / "run", ledger) as run:
        with (disk / "other").open("wb", buffering=0) as other, suppress(OSError):
            while other.write(b"x" * 4096):
                pass
        for _ in range(20):
            ledger.record_call(Usage(1000, 100))
        with pytest.raises(UsageError):
            run.add(imaps=[], results=[])
    (disk / "other").unlink()
    resumed = Ledger(price=PRICE)
    with write(disk / "run", resumed):
        assert resumed.spent == ledger.spent


def test_a_disk_without_room_for_the_count_is_an_error_before_anything_is_sent(mount_disk: Callable[[int], Path]):
    disk = mount_disk(4096)
    (disk / "other").write_bytes(b"x" * 4096)
    ledger = Ledger(price=PRICE)
    with pytest.raises(UsageError, match=r"usage\.json"):
        usage_file.UsageFile(disk / "usage.json", ledger)


async def test_nothing_is_paid_for_that_the_disk_has_no_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    scripted = ScriptedModel(["text"])
    model = BudgetedModel(scripted, ledger := Ledger())
    with write(tmp_path, ledger):
        await model.complete(REQUEST)
        monkeypatch.setattr(usage_file, "_MIN_FREE", 1 << 62)
        with pytest.raises(UsageError):
            await model.complete(REQUEST)
    assert len(scripted.requests) == ledger.spent.calls == 1


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("in_part", [False, True])
async def test_nothing_is_paid_for_once_the_run_is_gone(tmp_path: Path, in_part: bool, moved: bool):
    scripted = ScriptedModel(["text"])
    model = BudgetedModel(scripted, ledger := Ledger())
    folder = tmp_path / "run"
    with track_separately(None) as part, write(folder, part if in_part else ledger):
        await model.complete(REQUEST)
        if moved:
            folder.rename(tmp_path / "elsewhere")
        else:
            shutil.rmtree(folder)
        with pytest.raises(UsageError) as caught:
            await model.complete(REQUEST)
    assert len(scripted.requests) == ledger.spent.calls == 1
    assert str(folder) in str(caught.value)


async def test_a_run_that_is_over_stops_no_later_request(tmp_path: Path):
    model = BudgetedModel(ScriptedModel(["text", "text"]), ledger := Ledger())
    folder = tmp_path / "run"
    with write(folder, ledger):
        pass
    shutil.rmtree(folder)
    await model.complete(REQUEST)
    with usage_file.add_up_usage(tmp_path / "out.jsonl", ledger):
        pass
    await model.complete(REQUEST)
    assert ledger.spent.calls == 2


def test_a_count_that_cannot_be_removed_is_not_added_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError  # as Windows does while the file is open

    monkeypatch.setattr(Path, "unlink", refuse)
    with usage_file.add_up_usage(tmp_path / "out.jsonl", ledger := Ledger(price=PRICE)):
        ledger.record_call(Usage(1000, 100))
    with usage_file.add_up_usage(tmp_path / "out.jsonl", ledger := Ledger(price=PRICE)):
        assert ledger.report()["calls"] == 0


def test_a_count_that_was_never_written_is_the_one_of_the_manifest(tmp_path: Path):
    with write(tmp_path, ledger := Ledger(price=PRICE)):
        ledger.record_call(Usage(1000, 100))
    (tmp_path / "usage.json").write_bytes(b"")
    assert Run(tmp_path).manifest["usage"] == ledger.report()


@pytest.mark.parametrize("damaged", [b"{", b"[]", b'{"calls": "many"}', b"[" * 100_000])
def test_a_damaged_count_is_refused(tmp_path: Path, damaged: bytes):
    with write(tmp_path, ledger := Ledger(price=PRICE)):
        ledger.record_call(Usage(1000, 100))
    (tmp_path / "usage.json").write_bytes(damaged)
    with pytest.raises(InputError) as caught:
        Run(tmp_path)
    assert caught.value.path == tmp_path / "usage.json"
