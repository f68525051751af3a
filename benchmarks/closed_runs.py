"""How often equally good models are found to differ over several runs: `python benchmarks/closed_runs.py`.

Simulated: two equally good models answer the same questions in several runs. Questions are harder or easier for both,
and for each model; a run is better or worse as a whole. Prints a Markdown table of the share of studies in which p is
below .05: over questions and runs (`imapeval closed`), and by Student's t-test over the accuracies of the runs, which
answers another question: whether the runs differ on these particular questions. A second table shows `compare_models`
where a run is better or worse on two tasks at the same time, and where the questions of a group are easy or hard
together.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.closed.choices import Choice
from imapeval.study.closed.comparison import compare_models, compare_runs
from imapeval.study.closed.logs import ClosedAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    repeats = parser.parse_args().repeats
    compare_grids(repeats)
    compare_studies(repeats)


def compare_grids(repeats: int) -> None:
    """Print the table of single tasks with independent questions."""
    rng = np.random.default_rng(0)
    print("| questions | runs | sd over runs | over questions and runs | t-test over runs |")
    print("|---|---|---|---|---|")
    for questions in (100, 500):
        for runs in (2, 4):
            for spread in (0.0, 0.1, 0.5):
                both = alone = 0
                for _ in range(repeats):
                    shared = rng.normal(0, 1, (questions, 1))
                    grids = [draw(rng, shared, runs, spread) for _ in range(2)]
                    found = compare_runs("", "one", "two", *grids)
                    both += found.p < 0.05
                    alone += found.p_over_runs is not None and found.p_over_runs < 0.05
                print(
                    f"| {questions} | {runs} | {spread:g} | {both / repeats:.3f} | {alone / repeats:.3f} |", flush=True
                )


def compare_studies(repeats: int) -> None:
    """Print the table of several tasks, and of groups of questions."""
    rng = np.random.default_rng(0)
    print("\n| study | runs | over questions and runs |")
    print("|---|---|---|")
    for tasks, groups, spread in ((2, 0, 1.0), (1, 10, 0.0)):
        for runs in (1, 2, 4) if groups else (2, 4):
            rejected = 0
            for _ in range(repeats):
                answers = [
                    found for model in ("one", "two") for found in answer(rng, model, tasks, groups, runs, spread)
                ]
                overall = compare_models(answers)[0][0]
                rejected += overall.p is not None and overall.p < 0.05
            what = f"{groups} groups of 10 questions" if groups else f"{tasks} tasks of 100 questions"
            print(f"| {what} | {runs} | {rejected / repeats:.3f} |", flush=True)


def answer(
    rng: np.random.Generator, model: str, tasks: int, groups: int, runs: int, spread: float
) -> Iterator[ClosedAnswer]:
    """Yield the answers of a model to 100 questions a task."""
    easy = rng.normal(0, 2, groups).repeat(10) if groups else np.zeros(100)
    for run in range(runs):
        ability = easy + rng.normal(0, spread)
        for task in range(tasks):
            for n, right in enumerate(rng.random(100) < 1 / (1 + np.exp(-ability))):
                yield ClosedAnswer(
                    *(str(task), model, str(n), str(run), "", ("A", "B"), (), frozenset("A"), None),
                    choice=Choice("A" if right else "B", "read"),
                    group=str(n // 10) if groups else "",
                )


def draw(rng: np.random.Generator, shared: np.ndarray, runs: int, spread: float) -> np.ndarray:
    """Return whether each answer is right, shape (questions, runs), by a logistic model of item responses."""
    ability = 0.5 + shared + rng.normal(0, 1, shared.shape) + rng.normal(0, spread, (1, runs))
    return (rng.random((len(shared), runs)) < 1 / (1 + np.exp(-ability))).astype(float)


if __name__ == "__main__":
    main()
