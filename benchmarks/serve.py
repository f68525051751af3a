"""How many answers a second `imapeval serve` scores, and whether its memory stays flat: `python benchmarks/serve.py`.

Several clients on loopback post one answer after another, scored offline. Each answer is a new combination of sentences
of the shipped samples with a unique number, so that no cache can hold it. The memory of the server is read at the
beginning, in every quarter and at the end. With --alone, the latency with a single client is also measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

SAMPLES = Path(__file__).resolve().parents[1] / "datasets"


@dataclass(frozen=True)
class Figures:
    """Results: counts, CPU ms per answer, latencies in ms, and MB of memory at equal intervals of time."""

    clients: int
    seconds: float
    answers: int
    errors: dict[str, int]
    per_second: float
    processor: float
    p50: float
    p95: float
    p99: float
    memory: list[float]


class Texts:
    """An endless supply of answers, all different."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = 0
        self._by_lang: list[tuple[list[str], list[str]]] = []
        for name in ("sample-en", "sample-zh"):
            rows = [json.loads(line) for line in (SAMPLES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
            told = " ".join(f"{row.get('reference') or ''} {row['response']}" for row in rows)
            sentences = [part.strip() for part in re.split(r"(?<=[.。])", told) if part.strip()]
            self._by_lang.append(([row["question"] for row in rows], sentences))

    def make(self) -> bytes:
        """Return the next one, as JSON."""
        self._count += 1
        questions, sentences = self._random.choice(self._by_lang)
        number = self._count

        def compose() -> str:
            return " ".join([*self._random.sample(sentences, 3), f"{self._random.choice(sentences)} {number} mg."])

        fields = {
            "id": str(number),
            "question": f"{number}: {self._random.choice(questions)}",
            "reference": compose(),
            "response": compose(),
        }
        return json.dumps(fields, ensure_ascii=False).encode()


@contextmanager
def serve(*options: str) -> Generator[tuple[int, int]]:
    """Yield the process id and the port of a server, which ends with the block."""
    environment = {name: value for name, value in os.environ.items() if name != "IMAPEVAL_TOKEN"}
    command = [sys.executable, "-m", "imapeval", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            told = (process.stdout.readline() if process.stdout else "") or "nothing"
            found = re.search(r"http://127\.0\.0\.1:(\d+)", told)
            if found is None:
                raise SystemExit(f"the server said {told}")
            yield process.pid, int(found[1])
        finally:
            process.terminate()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> tuple[int, bytes]:
    """Post an answer, and return the status and the body of what comes back."""
    writer.write(
        b"POST /score HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        b"content-length: %d\r\n\r\n%s" % (len(body), body)
    )
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
    return int(head.split(b" ")[1]), await reader.readexactly(length)


async def load(port: int, pid: int, *, clients: int, seconds: float) -> Figures:
    """Have the clients post answers for the given time."""
    texts = Texts(seed=clients)
    waited: list[float] = []
    errors: dict[str, int] = {}
    begun = time.perf_counter()

    async def work() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() - begun < seconds:
            asked = time.perf_counter()
            try:
                status, body = await ask(reader, writer, texts.make())
            except (OSError, asyncio.IncompleteReadError) as error:
                errors[type(error).__name__] = errors.get(type(error).__name__, 0) + 1
                return
            if status != 200 or json.loads(body)["metrics"].keys() != {"imapscore"}:
                errors[str(status)] = errors.get(str(status), 0) + 1
            waited.append(time.perf_counter() - asked)
        writer.close()

    memory: list[float] = []

    async def watch() -> None:
        while True:
            memory.append(memory_of(pid))
            await asyncio.sleep(seconds / 4)

    watching = asyncio.create_task(watch())
    before = processor_of(pid)
    await asyncio.gather(*(work() for _ in range(clients)))
    took = time.perf_counter() - begun
    watching.cancel()
    memory[4:] = [memory_of(pid)]
    waited.sort()
    p50, p95, p99 = (round(waited[int(share * (len(waited) - 1))] * 1000, 1) for share in (0.5, 0.95, 0.99))
    processor = round((processor_of(pid) - before) * 1000 / len(waited), 1)
    speed = round(len(waited) / took, 1)
    return Figures(clients, round(took, 1), len(waited), errors, speed, processor, p50, p95, p99, memory)


def processor_of(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return round(int(status.partition("VmRSS:")[2].split()[0]) / 1024, 1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=1, help="so many times, against the same server")
    parser.add_argument("--alone", action="store_true", help="also one client")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with serve() as (pid, port):
        rounds = [(arguments.clients, arguments.seconds)] * arguments.rounds
        if arguments.alone:
            rounds.insert(0, (1, min(10.0, arguments.seconds)))
        for clients, seconds in rounds:
            figures = asyncio.run(load(port, pid, clients=clients, seconds=seconds))
            if arguments.json:
                print(json.dumps(asdict(figures)), flush=True)
            else:
                memory = " ".join(f"{mb:.0f}" for mb in figures.memory)
                print(
                    f"{clients} clients, {figures.seconds} s: {figures.answers} answers, "
                    f"{figures.per_second} a second, {figures.processor} ms of processor each, "
                    f"{figures.errors or 'no'} errors; "
                    f"waited p50 {figures.p50} p95 {figures.p95} p99 {figures.p99} ms; memory {memory} MB",
                    flush=True,
                )


if __name__ == "__main__":
    main()
