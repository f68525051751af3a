"""How much of a server's throughput imapeval uses, and the CPU time of a call: `python benchmarks/throughput.py`.

A stub server on loopback (`stub.py`) answers after 200 ms (`--latency`) and takes 64 requests at a time. Measured
against it, one after another in separate processes: a bare `AsyncOpenAI` loop with a semaphore of 64 that sends
exactly the requests that imapeval sends; `imapeval extract` (with its cache of completions) and `imapeval score` (with
its run on disk), each also with two workers; and these again with everything in the cache. With `--peers PYTHON`, an
interpreter that has deepeval and ragas, also DeepEval's GEval and RAGAS's FactualCorrectness on the same samples. With
`--ray PYTHON`, an interpreter that has `ray[data]` and aiohttp, also the HTTP stage of `ray.data.llm`, with one actor
and with 16, and a bare loop of aiohttp, all with imapeval's requests. Each line gives the wall time, the CPU time of
the client and its workers, in all, for a call, and for a call in the first process alone, and ratios to the bare loop.
On a busy machine only ratios mean something: with `--rounds`, the bare loop is measured again before each round.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

from speed import find_times

if TYPE_CHECKING:
    from collections.abc import Generator

HERE = Path(__file__).parent
IN_FLIGHT = 64

# What the bare loop runs: the requests of imapeval, collected without a server, sent in the two steps.
BARE = """
import asyncio, json, sys
import openai

samples = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]

async def main():
    client = openai.AsyncOpenAI(base_url=sys.argv[1], api_key="none", max_retries=0, timeout=600)
    gate = asyncio.Semaphore(64)

    async def ask(body):
        async with gate:
            reply = await client.chat.completions.create(**body)
        return reply.choices[0].message.content

    async def one(question, answers):
        json.loads(await ask(question))
        for text in await asyncio.gather(*map(ask, answers)):
            json.loads(text)

    await asyncio.gather(*(one(question, answers) for question, answers in samples))
    await client.close()

asyncio.run(main())
"""

GEVAL = """
import asyncio, json, os, sys
os.environ.update(OPENAI_API_KEY="none", OPENAI_BASE_URL=sys.argv[1], DEEPEVAL_TELEMETRY_OPT_OUT="YES")
from deepeval.metrics import GEval
from deepeval.models import GPTModel
from deepeval.test_case import LLMTestCase, SingleTurnParams

samples = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]

async def main():
    gate = asyncio.Semaphore(64)

    async def one(sample):
        async with gate:
            metric = GEval(
                name="agreement",
                model=GPTModel(model="gpt-4.1", base_url=sys.argv[1], api_key="none"),
                evaluation_steps=["Compare the actual output with the expected output."],
                evaluation_params=[SingleTurnParams.ACTUAL_OUTPUT, SingleTurnParams.EXPECTED_OUTPUT],
            )
            await metric.a_measure(
                LLMTestCase(
                    input=sample["question"], actual_output=sample["response"], expected_output=sample["reference"]
                ),
                _show_indicator=False,
            )

    await asyncio.gather(*map(one, samples))

asyncio.run(main())
"""

FACTUAL = """
import asyncio, json, os, sys
os.environ.update(RAGAS_DO_NOT_TRACK="true")
import openai
from ragas.llms import llm_factory
from ragas.metrics.collections import FactualCorrectness

samples = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]

async def main():
    client = openai.AsyncOpenAI(base_url=sys.argv[1], api_key="none")
    metric = FactualCorrectness(llm=llm_factory("stub", client=client))
    gate = asyncio.Semaphore(64)

    async def one(sample):
        async with gate:
            await metric.ascore(response=sample["response"], reference=sample["reference"])

    await asyncio.gather(*map(one, samples))
    await client.close()

asyncio.run(main())
"""

AIOHTTP = """
import asyncio, json, sys
import aiohttp

samples = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]

async def main():
    gate = asyncio.Semaphore(64)

    async def ask(body):
        async with gate, session.post(sys.argv[1] + "/chat/completions", json=body) as reply:
            return (await reply.json())["choices"][0]["message"]["content"]

    async def one(question, answers):
        json.loads(await ask(question))
        for text in await asyncio.gather(*map(ask, answers)):
            json.loads(text)

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(one(question, answers) for question, answers in samples))

asyncio.run(main())
"""

RAY = """
import json, os, sys
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
import ray
from ray.data.llm import HttpRequestProcessorConfig, build_processor

samples = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]
rows = [{"body": json.dumps(body)} for question, answers in samples for body in (question, *answers)]
actors = int(sys.argv[3])
# It takes a processor for each actor, which only waits.
ray.init(address="local", num_cpus=actors + 2, include_dashboard=False, log_to_driver=False)
process = build_processor(
    HttpRequestProcessorConfig(url=sys.argv[1] + "/chat/completions", batch_size=16, concurrency=actors),
    preprocess=lambda row: {"payload": json.loads(row["body"])},
    postprocess=lambda row: {"text": row["http_response"]["choices"][0]["message"]["content"]},
)
for row in process(ray.data.from_items(rows)).take_all():
    json.loads(row["text"])
"""


def write_samples(path: Path, count: int) -> None:
    """Write samples of two answers each, all texts different, about 600 characters an answer."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            facts = "He should rest the joint and drink water, and take no aspirin. "
            story = f"Case {number}: gout of the left foot since day {number % 30}, seen before by nobody. "
            row = {
                "id": str(number),
                "question": story + "How is it treated?",
                "reference": story * 3 + facts * 4,
                "response": facts * 4 + story * 3,
            }
            file.write(json.dumps(row) + "\n")


def write_requests(samples: Path, path: Path) -> None:
    """Write for each sample the bodies that imapeval sends for it: the question's and those of the answers."""
    import asyncio

    sys.path.insert(0, str(HERE))
    import stub

    from imapeval.evaluation.samples import read
    from imapeval.extraction.llm_reader import LLMReader
    from imapeval.llm.providers.openai import OpenAIModel
    from imapeval.llm.providers.scripted import ScriptedModel

    model = OpenAIModel("stub", base_url="http://127.0.0.1:1/v1")
    spy = ScriptedModel(
        lambda request: json.dumps(stub.QUESTION if request.schema_name == "question-imap" else stub.INFORM)
    )

    async def collect() -> None:
        reader = LLMReader(spy)
        with path.open("w", encoding="utf-8") as file:
            for sample in read(str(samples)):
                spy.requests.clear()
                imap = await reader.read_question(sample.question, lang="en")
                for text in (*sample.references, sample.response):
                    await reader.read_answer(text, question=sample.question, imap=imap, lang="en")
                question, *answers = map(model.request_body, spy.requests)
                file.write(json.dumps([question, answers]) + "\n")

    asyncio.run(collect())


@contextmanager
def stub_server(latency: float) -> Generator[str]:
    """Run the stub and yield its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(HERE / "stub.py"), str(port), str(latency), str(IN_FLIGHT)]
    process = subprocess.Popen(command)
    try:
        for _ in range(100):
            try:
                calls_of(f"http://127.0.0.1:{port}/v1")
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def calls_of(url: str) -> int:
    """Return how many completions the stub has made."""
    with urlopen(f"{url}/calls", timeout=5) as reply:
        return json.load(reply)["calls"]


def measure(
    name: str, command: list[str], url: str, bare: tuple[float, float] | None = None, **env: str
) -> tuple[float, float]:
    """Run a client, print its line, and return wall seconds and CPU milliseconds a call."""
    before = calls_of(url)
    start = time.perf_counter()
    times: dict[int, float] = {}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, env=os.environ | env, stdout=subprocess.DEVNULL, stderr=said)
        while (waited := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            times |= find_times(process.pid)
            time.sleep(0.1)
        _, status, used = waited
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"{name} failed:\n{said.read().decode()[-2000:]}")
    calls = calls_of(url) - before
    # Nobody waits for the processes of Ray, so that the times of `wait4` lack theirs.
    cpu = max(used.ru_utime + used.ru_stime, sum(times.values()))
    each = 1000 * cpu / calls if calls else 0.0
    first = 1000 * times[process.pid] / calls if calls else 0.0
    cells = [name, str(calls), f"{wall:.1f}", f"{cpu:.1f}"]
    cells += [f"{each:.2f}", f"{first:.2f}"] if calls else ["", ""]
    cells += [f"{wall / bare[0]:.2f}", f"{each / bare[1]:.2f}"] if bare and calls else ["", ""]
    print(f"| {' | '.join(cells)} | {used.ru_maxrss / 1024:.0f} |", flush=True)
    return wall, each


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000, help="for imapeval and the bare loop")
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter with deepeval and ragas")
    parser.add_argument("--ray", metavar="PYTHON", help="an interpreter with ray[data] and aiohttp")
    parser.add_argument("--peer-samples", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=1, help="of the bare loop and imapeval")
    parser.add_argument("--latency", type=float, default=0.2, help="seconds until the stub replies")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, stub_server(args.latency) as url:
        work = Path(folder)
        samples, requests, few = work / "samples.jsonl", work / "requests.jsonl", work / "few.jsonl"
        write_samples(samples, args.samples)
        write_samples(few, args.peer_samples)
        write_requests(samples, requests)
        cli = [sys.executable, "-m", "imapeval"]
        llm = ["--llm", "openai:stub", "--base-url", url]
        columns = ("client", "calls", "wall s", "CPU s", "CPU ms a call", "in the first process")
        print(f"| {' | '.join((*columns, 'wall, ratio', 'CPU a call, ratio', 'peak MB'))} |")
        print("|---|---|---|---|---|---|---|---|---|")
        for turn in range(args.rounds):
            bare = measure("bare `AsyncOpenAI` loop", [sys.executable, "-c", BARE, url, str(requests)], url)
            if args.ray:
                measure("bare `aiohttp` loop", [args.ray, "-c", AIOHTTP, url, str(requests)], url, bare)
                for actors in (1, 16):
                    name = f"HTTP stage of `ray.data.llm`, actors: {actors}"
                    measure(name, [args.ray, "-c", RAY, url, str(requests), str(actors)], url, bare)
            for number, (what, workers) in enumerate(product(("extract", "score"), (1, 2))):
                command = [*cli, what, str(samples), *llm, "--json", "--workers", str(workers)]
                if what == "score":
                    command += ["--metrics", "imapscore"]
                name = f"`imapeval {what}{f' --workers {workers}' * (workers > 1)}`"
                for again in ("", ", again from the cache"):
                    out = str(work / f"{what}{turn}-{number}{'-again' * bool(again)}")
                    cache = str(work / f"cache{turn}-{number}")
                    measure(f"{name}{again}", [*command, "--out", out], url, bare, IMAPEVAL_CACHE=cache)
        if args.peers:
            measure("DeepEval GEval", [args.peers, "-c", GEVAL, url, str(few)], url, bare)
            measure("RAGAS FactualCorrectness", [args.peers, "-c", FACTUAL, url, str(few)], url, bare)


if __name__ == "__main__":
    main()
