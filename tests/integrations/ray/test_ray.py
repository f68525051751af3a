"""`imapeval score --engine ray` with a real Ray on this computer: the same run, also when processes are killed."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="needs the extra 'ray'")

from imapeval.errors import InputError, ServiceError, UsageError  # noqa: E402
from imapeval.evaluation import evaluate, ray_workers  # noqa: E402
from imapeval.evaluation.forecast.simulated_replies import simulate_reply  # noqa: E402
from imapeval.evaluation.pipeline import Pipeline, open_pipeline  # noqa: E402
from imapeval.evaluation.ray_workers import RayPool  # noqa: E402
from imapeval.evaluation.samples import read  # noqa: E402
from imapeval.evaluation.stores import InMemoryStore  # noqa: E402
from imapeval.evaluation.workers import evaluate_in_workers  # noqa: E402
from imapeval.llm.protocol import Completion, Request  # noqa: E402
from imapeval.llm.providers.scripted import ScriptedModel  # noqa: E402
from imapeval.metrics import registry  # noqa: E402
from imapeval.metrics.base import Case, Metric  # noqa: E402
from imapeval.types import Sample  # noqa: E402

SAMPLES = [replace(sample, id=f"{sample.id}-{n}") for n in range(4) for sample in read("sample-en")]
RAY = str(Path(sys.executable).with_name("ray"))
METRICS = registry.choose(["imapscore", "rouge1"], {})


class KilledOnce(InMemoryStore):
    """Kills a process of Ray when the first batch is stored."""

    def add(self, **made):
        if not self.results:
            kill_actor()
        super().add(**made)


def kill_actor() -> None:
    os.kill(next(find_actors(os.getpid())), signal.SIGKILL)


def find_actors(pid: int) -> Iterator[int]:
    """The actors among the processes that a process has started, and those have started."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, path.read_text().split()):
                if b"ray::BatchScorer" in Path(f"/proc/{child}/cmdline").read_bytes():
                    yield child
                else:
                    yield from find_actors(child)


def outcomes(store: InMemoryStore) -> dict[tuple[str, str, str], object]:
    return {result.key: result.outcome for result in store.results}


@pytest.fixture(scope="module")
def plain() -> InMemoryStore:
    parts, store = open_pipeline(METRICS), InMemoryStore()
    asyncio.run(evaluate.evaluate_to_store(SAMPLES, parts, run=store))
    return store


@pytest.mark.parametrize("store", [InMemoryStore, KilledOnce])
def test_the_same_results(plain: InMemoryStore, store: type[InMemoryStore]):
    open_parts = partial(open_pipeline, METRICS)
    spread = store()
    asyncio.run(
        evaluate_in_workers(SAMPLES, workers=RayPool(size=2), open_parts=open_parts, parts=open_parts(), run=spread)
    )
    assert outcomes(spread) == outcomes(plain)
    assert {record.id: record for record in spread.imaps} == {record.id: record for record in plain.imaps}
    assert not ray.is_initialized()


def test_a_model_of_the_first_process_answers_the_actors():
    model = ScriptedModel(simulate)
    open_parts = partial(open_pipeline, METRICS, relations=True)
    parts = open_parts(llm=model)
    plain, spread = InMemoryStore(), InMemoryStore()
    asyncio.run(evaluate.evaluate_to_store(SAMPLES[:70], parts, run=plain))
    asked, model.requests = model.requests, []
    asyncio.run(
        evaluate_in_workers(
            SAMPLES[:70], workers=RayPool(size=2), open_parts=open_parts, parts=parts, llm=model, run=spread
        )
    )
    assert outcomes(spread) == outcomes(plain)
    # Without the cache, identical requests of two workers are two.
    assert set(map(str, model.requests)) == set(map(str, asked))


def simulate(request: Request) -> Completion:
    reply = simulate_reply(request)
    assert isinstance(reply, Completion)
    return reply


def score_by(open_parts: partial[Pipeline]) -> None:
    parts = Pipeline(registry.choose(["rouge1"], {}), None, None, {})
    work = evaluate_in_workers(
        SAMPLES[:1], workers=RayPool(size=1), open_parts=open_parts, parts=parts, run=InMemoryStore()
    )
    asyncio.run(work)


def test_an_error_in_an_actor_keeps_its_type_and_place(tmp_path: Path):
    missing = partial(open_pipeline, METRICS, imaps=tmp_path / "none.jsonl")
    with pytest.raises(InputError, match=r"none\.jsonl"):
        score_by(missing)


class Costs(Metric):
    """Has no money for some questions."""

    name = "costs"
    summary = "Length of the response."

    def score(self, case: Case) -> float:
        if "costs" in case.question:
            raise ServiceError("no money", kind="budget")
        time.sleep(0.02)
        return 1.0


@pytest.fixture
def by_value() -> Iterator[None]:
    """Lets actors, which cannot import this module, have its metrics."""
    module = sys.modules[__name__]
    ray.cloudpickle.register_pickle_by_value(module)
    yield
    ray.cloudpickle.unregister_pickle_by_value(module)


@pytest.mark.usefixtures("by_value")
def test_an_error_for_all_loses_no_result_of_the_others():
    samples = [Sample(str(n), "what helps" if n < 192 else "what it costs", ("x",), "x") for n in range(256)]
    parts, run = Pipeline([Costs()], None, None, {}), InMemoryStore()
    work = evaluate_in_workers(samples, workers=RayPool(size=2), open_parts=lambda: parts, parts=parts, run=run)
    with pytest.raises(ServiceError) as raised:
        asyncio.run(asyncio.wait_for(work, 60))
    assert raised.value.kind == "budget"
    # All batches were begun before the last one, the only one with an error.
    assert sorted(int(result.id) for result in run.results) == list(range(192))


@pytest.mark.parametrize("options", [{"size": 1000}, {"size": 1, "gpu": True}])
def test_more_workers_than_there_is_place_for(options: dict[str, int]):
    if options.get("gpu") and shutil.which("nvidia-smi"):
        pytest.skip("there is a GPU")
    with pytest.raises(UsageError, match="--workers"):
        RayPool(**options)
    assert not ray.is_initialized()


@pytest.mark.usefixtures("by_value")
def test_a_cluster_without_a_free_place(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ray_workers, "PLACE_SECONDS", 1)
    pool = RayPool(size=1)
    everything = ray.remote(num_cpus=int(ray.cluster_resources()["CPU"]))(InMemoryStore).remote()
    ray.get(everything.__ray_ready__.remote())
    parts = Pipeline([Costs()], None, None, {})
    work = evaluate_in_workers(SAMPLES, workers=pool, open_parts=lambda: parts, parts=parts, run=InMemoryStore())
    with pytest.raises(ServiceError, match="place"):
        asyncio.run(work)


def test_actors_that_keep_dying_stop_the_run():
    dying: partial[Pipeline] = partial(os._exit, 1)
    with pytest.raises(ServiceError) as raised:
        score_by(dying)
    assert raised.value.kind == "worker-died"


def test_a_machine_with_another_version_is_refused():
    other = partial(open_pipeline, registry.choose(["rouge1"], {"rouge1": {"measure": "recall"}}))
    with pytest.raises(ServiceError) as raised:
        score_by(other)
    assert raised.value.kind == "worker-differs"


def test_ray_that_does_not_start(monkeypatch: pytest.MonkeyPatch):
    """Where its processes do not answer in time, it raises a plain Exception."""

    def time_out(**_: object):
        raise Exception("The current node timed out during startup.")

    monkeypatch.setattr("ray.init", time_out)
    with pytest.raises(ServiceError) as raised:
        RayPool(size=1)
    assert raised.value.kind == "unreachable"


def test_no_cluster_at_this_address():
    with pytest.raises(ServiceError) as raised:
        RayPool(address="127.0.0.1:9")
    assert raised.value.kind == "unreachable"


@pytest.fixture
def cluster() -> Iterator[str]:
    """A cluster that is there already, and stays when a command has ended."""
    port = "6391"
    start = ["start", "--head", "--port", port, "--num-cpus", "2", "--include-dashboard", "false"]
    subprocess.run([RAY, *start, "--disable-usage-stats"], check=True, capture_output=True)
    yield f"127.0.0.1:{port}"
    subprocess.run([RAY, "stop", "--force"], check=True, capture_output=True)


def test_a_killed_command_is_resumed_on_a_cluster(cluster: str, tmp_path: Path, plain: InMemoryStore):
    data = tmp_path / "data.jsonl"
    write(data, SAMPLES)
    command = [sys.executable, "-m", "imapeval", "score", str(data), "--metrics", "imapscore,rouge1"]
    command += ["--engine", f"ray:{cluster}", "--out", "run"]
    results = tmp_path / "run" / "results.jsonl"
    with subprocess.Popen(command, cwd=tmp_path) as process:
        while process.poll() is None and not (results.exists() and results.stat().st_size):
            time.sleep(0.05)
        process.kill()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = results.read_text().splitlines()
    assert len(lines) == len(set(lines)) == len(plain.results)


@pytest.mark.slow
def test_the_end_of_the_cluster_ends_the_command(cluster: str, tmp_path: Path):
    data = tmp_path / "data.jsonl"
    write(data, [replace(sample, id=f"{sample.id}/{n}") for n in range(8) for sample in SAMPLES])
    command = [sys.executable, "-m", "imapeval", "score", str(data), "--metrics", "imapscore"]
    results = tmp_path / "run" / "results.jsonl"
    with subprocess.Popen([*command, "--engine", f"ray:{cluster}", "--out", "run"], cwd=tmp_path) as process:
        while process.poll() is None and not (results.exists() and results.stat().st_size):
            time.sleep(0.05)
        subprocess.run([RAY, "stop", "--force"], check=True, capture_output=True)
        assert process.wait(180) != 0
    kept = results.read_text().splitlines()
    done = subprocess.run([*command, "--out", "run"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert results.read_text().splitlines()[: len(kept)] == kept


def write(path: Path, samples: list[Sample]) -> None:
    rows = [
        {"id": s.id, "question": s.question, "references": list(s.references), "response": s.response} for s in samples
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_an_engine_that_is_unknown(tmp_path: Path):
    command = [sys.executable, "-m", "imapeval", "score", "sample-en", "--engine", "dask", "--out", "run"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "--engine" in done.stderr
