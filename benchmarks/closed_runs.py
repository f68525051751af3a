"""How often models without a difference are told apart by several runs: `python benchmarks/closed_runs.py`.

Simulated: two equally good models answer the same questions in several runs. Questions are harder or easier for both,
and for each model; a run is better or worse as a whole. Prints a Markdown table of the share of studies in which p is
below .05: over questions and runs (`imapeval closed`), and by Student's t-test over the accuracies of the runs, whose
question is another one: whether the runs differ on these very questions.
"""

from __future__ import annotations

import argparse

import numpy as np

from imapeval.study.closed.comparison import compare_runs


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    repeats = parser.parse_args().repeats
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


def draw(rng: np.random.Generator, shared: np.ndarray, runs: int, spread: float) -> np.ndarray:
    """Return whether each answer is right, shape (questions, runs), by a logistic model of item responses."""
    ability = 0.5 + shared + rng.normal(0, 1, shared.shape) + rng.normal(0, spread, (1, runs))
    return (rng.random((len(shared), runs)) < 1 / (1 + np.exp(-ability))).astype(float)


if __name__ == "__main__":
    main()
