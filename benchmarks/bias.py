"""Coverage of the intervals of `study bias`, and how often a bias is shown where there is none.

python benchmarks/bias.py --repetitions 1000

Two systems answer each question; answers to the same question are correlated (intraclass correlation .3). System B's
answers are better by "better" standard deviations, and the metric scores them higher by a further "favour" that quality
does not explain. Three raters rate on a scale in half points; their noise has the same variance as the quality. The
true partial correlation is computed from 400,000 such answers with noise-free ratings.

The second table: answers are rated in two dimensions with a common part, length goes with completeness only, and the
metric is completeness and noise, so that every bias shown is a false one. Raters' noise is partly common to both
dimensions ("halo", standard deviation beside 1 of the rest).
"""

import argparse

import numpy as np

from imapeval.study.data.rated import Rated
from imapeval.study.subgroups.bias import measure_bias

CASES = [(n, better, favour) for n in (20, 50, 200) for better, favour in ((0.0, 0.0), (1.0, 0.0), (1.0, 0.5))]
RATERS = 3


def make(generator: np.random.Generator, n: int, better: float, favour: float, *, noise: float) -> Rated:
    """Make the answers of two systems to n questions."""
    of_b = np.arange(2 * n) % 2
    true = np.repeat(generator.normal(size=n), 2) * 0.3**0.5 + generator.normal(size=2 * n) * 0.7**0.5 + better * of_b
    given = np.round((true[:, None] + noise * generator.normal(size=(2 * n, RATERS)) + 2.5) * 2) / 2
    if not noise:
        given = true[:, None].repeat(RATERS, axis=1)
    return Rated(
        ids=tuple(map(str, range(2 * n))),
        questions=np.arange(2 * n) // 2,
        systems=tuple("ab"[b] for b in of_b),
        metrics=("m",),
        scores=(true + favour * of_b + generator.normal(size=2 * n) * 0.7)[:, None],
        dimensions=("accuracy",),
        ratings=given.mean(axis=1, keepdims=True),
        raters=tuple("abc"),
        by_rater={"accuracy": given},
    )


def make_two(generator: np.random.Generator, n: int, halo: float) -> Rated:
    """Make n answers to n questions, rated in two dimensions."""
    shared = generator.normal(size=n)
    true = {name: shared + generator.normal(size=n) for name in ("accuracy", "completeness")}
    mood = halo * generator.normal(size=(n, RATERS))
    given = {name: worth[:, None] + mood + generator.normal(size=(n, RATERS)) for name, worth in true.items()}
    return Rated(
        ids=tuple(map(str, range(n))),
        questions=np.arange(n),
        systems=("",) * n,
        metrics=("m",),
        scores=(true["completeness"] + 0.5 * generator.normal(size=n))[:, None],
        dimensions=tuple(true),
        ratings=np.column_stack([table.mean(axis=1) for table in given.values()]),
        raters=tuple("abc"),
        by_rater=given,
        covariates={"length": true["completeness"] + generator.normal(size=n)},
    )


def main() -> None:
    """Print a row per case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    repetitions = parser.parse_args().repetitions
    print("| questions | better | favour | true | mean | coverage | shown | undefined |")
    print("|---|---|---|---|---|---|---|---|")
    for n, better, favour in CASES:
        (exact,) = measure_bias(make(np.random.default_rng(0), 200_000, better, favour, noise=0.0))
        generator = np.random.default_rng(n)
        rows = [measure_bias(make(generator, n, better, favour, noise=1.0))[0] for _ in range(repetitions)]
        found = [row for row in rows if row.value is not None]
        true = exact.value or 0.0
        covered = np.mean([(row.low or 0) <= true <= (row.high or 0) for row in found])
        mean, shown = np.mean([row.value for row in found]), np.mean([row.shown for row in found])
        print(
            f"| {n} | {better} | {favour} | {true:.3f} | {mean:.3f} | {covered:.3f} | {shown:.3f} "
            f"| {1 - len(found) / repetitions:.3f} |"
        )
    print("\n| questions | halo | held equal | mean | shown | undefined |")
    print("|---|---|---|---|---|---|")
    for n in (50, 200):
        for halo in (0.0, 0.5):
            generator = np.random.default_rng(n)
            studies = [measure_bias(make_two(generator, n, halo)) for _ in range(repetitions)]
            for place, held in enumerate(("both", "accuracy", "completeness")):
                found = [rows[place] for rows in studies if rows[place].value is not None]
                mean, shown = np.mean([row.value for row in found]), np.mean([row.shown for row in found])
                print(f"| {n} | {halo} | {held} | {mean:.3f} | {shown:.3f} | {1 - len(found) / repetitions:.3f} |")


if __name__ == "__main__":
    main()
