"""Weighted F1 of several runs: how often its interval holds the truth, and equal models are found to differ.

`python benchmarks/task_runs.py`. Simulated: two equally good models answer the same items of three classes (60, 30 and
10%) in one run or in four, as in `closed_runs.py`: items are harder or easier for both and for each model, a run is
better or worse as a whole. Prints a Markdown table: the share of studies whose 95% interval holds the F1 of very many
items and runs, and of those in which p is below .05: over items and runs (`imapeval closed`), and by Student's t-test
over the runs.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.metrics import f1_score

from imapeval.study.closed.drbenchmark.results import analyse_task_runs
from imapeval.study.closed.drbenchmark.runs import TaskRun
from imapeval.study.closed.drbenchmark.tasks import load_tasks

TASK = next(task for task in load_tasks() if task.name == "DEFT-2020 CLS")
SETTINGS = ((1, 0.0), (4, 0.0), (4, 0.1), (4, 0.5))
"""Runs and the standard deviation over runs; a single run does not show how far runs differ."""


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    repeats = parser.parse_args().repeats
    rng = np.random.default_rng(0)
    print("| items | runs | sd over runs | true F1 | coverage | p over items and runs | t-test over runs |")
    print("|---|---|---|---|---|---|---|")
    truths = {spread: find_truth(rng, spread) for _, spread in SETTINGS}
    for items in (100, 200):
        for runs, spread in SETTINGS:
            truth = truths[spread]
            held = both = alone = 0
            for _ in range(repeats):
                gold, hardness = draw_items(rng, items)
                given = [run for model in "ab" for run in answer(rng, model, gold, hardness, spread, runs=runs)]
                found = analyse_task_runs(given)
                held += found.results[0].low <= truth <= found.results[0].high
                both += found.tests[0].p < 0.05
                alone += (found.tests[0].p_over_runs or 1.0) < 0.05
            shares = " | ".join(f"{count / repeats:.3f}" for count in (held, both))
            over_runs = f"{alone / repeats:.3f}" if runs > 1 else ""
            print(f"| {items} | {runs} | {spread:g} | {truth:.3f} | {shares} | {over_runs} |", flush=True)


def find_truth(rng: np.random.Generator, spread: float) -> float:
    """Return the mean F1 of 100 runs on 20,000 items each."""
    values: list[float] = []
    for _ in range(25):
        gold, hardness = draw_items(rng, 20_000)
        given = [run.answers.values() for run in answer(rng, "a", gold, hardness, spread, runs=4)]
        values += [f1_score(*zip(*pairs, strict=True), average="weighted") for pairs in given]
    return float(np.mean(values))


def draw_items(rng: np.random.Generator, items: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the right class of each item, and how easy it is."""
    return rng.choice(3, items, p=[0.6, 0.3, 0.1]), rng.normal(0, 1, items)


def answer(
    rng: np.random.Generator, model: str, gold: np.ndarray, hardness: np.ndarray, spread: float, *, runs: int
) -> list[TaskRun]:
    """Return the runs of a model; where it errs, each other class is as likely."""
    own = 0.5 + hardness + rng.normal(0, 1, len(gold))
    found: list[TaskRun] = []
    for number in range(runs):
        right = rng.random(len(gold)) < 1 / (1 + np.exp(-own - rng.normal(0, spread)))
        given = np.where(right, gold, (gold + rng.integers(1, 3, len(gold))) % 3)
        pairs = zip(gold.tolist(), given.tolist(), strict=True)
        answers = {str(place): (str(one), str(two)) for place, (one, two) in enumerate(pairs)}
        found.append(TaskRun(TASK, model, str(number), 1.0, answers))
    return found


if __name__ == "__main__":
    main()
