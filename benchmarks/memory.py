"""Peak memory of `imapeval score` by the number of answers: `python benchmarks/memory.py 10000 100000 [OPTIONS]`.

Scores made-up answers of five words by `rouge1`, with further options of `imapeval score` if there are any, and prints
the peak memory of the first process and the processor time of all (Linux).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

WORDS = [
    "rest",
    "water",
    "aspirin",
    "gout",
    "joint",
    "fever",
    "cough",
    "rash",
    "pain",
    "ice",
    "drink",
    "sleep",
    "walk",
    "bleed",
    "heart",
    "kidney",
    "liver",
    "lung",
    "skin",
    "dose",
]


def write_answers(path: Path, count: int) -> None:
    """Write short answers, each to a question of its own."""
    chance = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            reference, response = (" ".join(chance.choices(WORDS, k=5)) for _ in range(2))
            row = {"id": str(number), "question": f"Case {number}?", "reference": reference, "response": response}
            file.write(json.dumps(row) + "\n")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answers", type=int, nargs="+")
    args, options = parser.parse_known_args()
    print("| answers | peak MB | CPU s |", "|---|---|---|", sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.jsonl"
        for count in args.answers:
            write_answers(data, count)
            out = str(Path(folder) / f"run{count}")
            command = [sys.executable, "-m", "imapeval", "score", str(data), "--metrics", "rouge1", "--out", out]
            process = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                sys.exit(f"exit code {process.returncode}")
            print(f"| {count:,} | {used.ru_maxrss / 1024:.0f} | {used.ru_utime + used.ru_stime:.1f} |", flush=True)


if __name__ == "__main__":
    main()
