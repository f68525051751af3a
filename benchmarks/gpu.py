"""How far scores computed on a GPU differ from those computed on the CPU: `python benchmarks/gpu.py RUN_CPU RUN_GPU`.

Reads two runs of the same samples, written with `--device cpu` and `--device cuda`, and prints per metric the largest
and the mean absolute difference of the scores, and how many answers have a score in both runs. Fails if the runs are
not of the same samples, or a difference exceeds --limit. docs/gpu.md has all commands.
"""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path

import numpy as np

from imapeval.evaluation.runs import Run
from imapeval.types import Score


def read_scores(run: Run) -> dict[str, dict[str, float]]:
    """Return the scores by metric and sample."""
    scores: dict[str, dict[str, float]] = {}
    for result in run.results():
        if isinstance(result.outcome, Score):
            scores.setdefault(result.metric, {})[result.id] = result.outcome.value
    return scores


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cpu", type=Path)
    parser.add_argument("gpu", type=Path)
    parser.add_argument("--limit", type=float, default=1e-3)
    settings = parser.parse_args()
    runs = Run(settings.cpu), Run(settings.gpu)
    if len({run.manifest["data"]["sha256"] for run in runs}) > 1:
        raise SystemExit("the runs are of different samples")
    cpu, gpu = map(read_scores, runs)
    if cpu.keys() != gpu.keys():
        raise SystemExit("the runs have scores of different metrics")
    for name, run in zip(("cpu", "gpu"), runs, strict=True):
        begun, ended = (datetime.fromisoformat(run.manifest[key]) for key in ("started", "finished"))
        print(f"{name}: {(ended - begun).total_seconds():.0f} s, {run.manifest['options']['device']}")
    print("| metric | answers | largest difference | mean difference |\n|---|---|---|---|")
    far = False
    for metric, scores in cpu.items():
        both = sorted(scores.keys() & gpu[metric].keys())
        if not both:
            raise SystemExit(f"no answer has a score by {metric} in both runs")
        differences = np.abs([scores[id_] - gpu[metric][id_] for id_ in both])
        print(f"| `{metric}` | {len(both)} | {differences.max():.2g} | {differences.mean():.2g} |")
        far |= bool(differences.max() > settings.limit)
    if far:
        raise SystemExit(f"a difference is above {settings.limit:g}")


if __name__ == "__main__":
    main()
