"""The error that remains when a metric abstains where readings disagree: `python benchmarks/abstention.py DATA A B`.

Scores rated answers by each of several files of imaps (several readings of the same answers, such as by different
prompts or models), averages the scores, and prints a Markdown table of what `imapeval study abstain` measures, for
every rating dimension. The rated answers are not part of the project; see docs/agreement.md for where to get them.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from agreement import run

from imapeval.evaluation.combine import combine_readings
from imapeval.evaluation.runs import Run
from imapeval.study.data.joining import join_ratings
from imapeval.study.robustness.abstention import measure_abstention
from imapeval.types import Score


def main() -> None:
    """Score, average, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="rated answers")
    parser.add_argument("imaps", nargs="+", help="ready imaps; only the answers in all of them are counted")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        readings = []
        for number, imaps in enumerate(args.imaps):
            out = f"{folder}/{number}"
            run("score", args.data, "--metrics", "imapscore", "--imaps", imaps, "--out", out, "--max-failures", "10")
            readings.append({r.id: r.outcome for r in Run(Path(out)).results()})
        rated, _ = join_ratings([Run(Path(folder) / "0")])
    rated.scores[:], stability = np.nan, np.full(len(rated.ids), np.nan)
    for number, id_ in enumerate(rated.ids):
        if all(id_ in reading for reading in readings):
            outcome = combine_readings([reading[id_] for reading in readings], (0, 1))
            if isinstance(outcome, Score):
                rated.scores[number], stability[number] = outcome.value, outcome.parts["stability"]
    print("| dimension | abstains on | error | 95% interval | change | 95% interval | least | n |")
    print("|---|---|---|---|---|---|---|---|")
    for dimension in rated.dimensions:
        for row in measure_abstention(rated, "imapscore", dimension, stability):
            change = ("", "")
            if row.change_low is not None and row.change_high is not None:
                change = f"{row.change:+.3f}", f"{row.change_low:+.3f} to {row.change_high:+.3f}"
            print(
                f"| {dimension} | {row.share:.0%} | {row.error:.3f} | {row.low:.3f} to {row.high:.3f} | {change[0]} | "
                f"{change[1]} | {row.least:.3f} | {row.n} |"
            )


if __name__ == "__main__":
    main()
