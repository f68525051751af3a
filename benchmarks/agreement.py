"""How well each metric agrees with clinicians on rated answers: `python benchmarks/agreement.py DATA [--imaps FILE]`.

Scores the answers with the default metrics, offline or with the given imaps, and prints a Markdown table of the mean
Spearman correlation over systems and rating dimensions with its 95% bootstrap interval, and the time it took. The
rated answers are not part of the project; see docs/agreement.md for where to get them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

METRICS = "imapscore,imapscore:mean,imapscore:paper,rouge1,rouge2,rougeL,bleu,chrf,rouge1+imap,bleu+imap,chrf+imap"


def run(*arguments: str) -> str:
    """Run the command line and return what it printed; stop with its message where it fails."""
    done = subprocess.run([sys.executable, "-m", "imapeval", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def main() -> None:
    """Score, correlate, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="rated answers")
    parser.add_argument("--imaps", type=Path, help="ready imaps; only the samples in it are counted")
    parser.add_argument("--metrics", default=METRICS)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        imaps = ["--imaps", str(args.imaps)] if args.imaps else []
        start = time.perf_counter()
        run("score", str(args.data), "--metrics", args.metrics, "--out", f"{folder}/run", *imaps)
        seconds = time.perf_counter() - start
        rows = json.loads(run("study", "correlate", f"{folder}/run", "--json"))
    means = [r for r in rows if r["system"] == "*" and r["dimension"] == "*" and r["coefficient"] == "spearman"]
    print("| metric | mean Spearman | 95% interval | n |", "|---|---|---|---|", *map(show, means), sep="\n")
    print(f"\nScored in {seconds:.0f} s.")


def show(row: dict[str, float | str]) -> str:
    """Return one line of the table."""
    return f"| `{row['metric']}` | {row['value']:.3f} | {row['low']:.3f} to {row['high']:.3f} | {row['n']} |"


if __name__ == "__main__":
    main()
