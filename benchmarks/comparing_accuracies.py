"""How often `study compare` finds a difference between accuracies of two metrics that are equally good.

Each of six systems answers 40 questions. Both metrics see the quality of an answer with as much noise, half of which
they share; "different" is a second metric that sees half as much of the quality.

    python benchmarks/comparing_accuracies.py [REPETITIONS]
"""

import sys

import numpy as np

from imapeval.study.comparison.compare import compare
from imapeval.study.data.rated import Rated

SYSTEMS, QUESTIONS, PERMUTATIONS = 6, 40, 399


def simulate(generator: np.random.Generator, second: float) -> Rated:
    """Return one study."""
    quality = generator.normal(size=(SYSTEMS, QUESTIONS)) + 0.15 * np.arange(SYSTEMS)[:, None]
    shared, one, other, error = generator.normal(size=(4, SYSTEMS, QUESTIONS))
    systems, questions = np.divmod(np.arange(quality.size), QUESTIONS)
    scores = [0.7 * quality + 0.7 * (shared + one), second * quality + 0.7 * (shared + other)]
    return Rated(
        ids=tuple(map(str, range(quality.size))),
        questions=questions,
        systems=tuple(f"s{number}" for number in systems),
        metrics=("first", "second"),
        scores=np.column_stack([table.ravel() for table in scores]),
        dimensions=("accuracy",),
        ratings=np.round(2 * (quality + 0.5 * error)).reshape(-1, 1) / 2,
    )


def main() -> None:
    """Print the table."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    cases = (
        ("pairwise_accuracy", "within-question"),
        ("pairwise_accuracy", "system"),
        ("soft_pairwise_accuracy", "system"),
    )
    print("| coefficient | level | rejects: equal | different |\n|---|---|---|---|")
    for coefficient, level in cases:
        shares = []
        for second in (0.7, 0.35):
            generator = np.random.default_rng(1)
            found = [
                compare(simulate(generator, second), coefficient=coefficient, level=level, resamples=PERMUTATIONS)[0].p
                for _ in range(repetitions)
            ]
            shares.append(np.mean([p is not None and p <= 0.05 for p in found]))
        print(f"| {coefficient} | {level} | {shares[0]:.1%} | {shares[1]:.1%} |", flush=True)


if __name__ == "__main__":
    main()
