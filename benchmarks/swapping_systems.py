"""How tests and intervals that generalise to other systems behave with few: `python benchmarks/swapping_systems.py`.

The means of two metrics and of the ratings for each system are trivariate normal: both metrics correlate with the
ratings at .5. Printed as a Markdown table, by number of systems and correlation between the metrics:

- rejects: share of studies with p <= .05, where the null hypothesis is true. "adds": what each system adds to the
  coefficient is swapped, as `imapeval study compare --test perm-systems` does; "scores": the metrics' ranks or
  standard scores are swapped (PERM-SYSTEMS of Deutsch et al. 2021); "both": their PERM-BOTH, where each system answers
  30 questions and half of the variance of its answers is its own.
- holds: share of 95% intervals of the first metric's coefficient that hold the true one. "jackknife": leaving out each
  system, as `imapeval study correlate --units systems` does; "bootstrap": the percentiles of resampled systems
  (BOOT-SYSTEMS).
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from scipy import stats

from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.intervals.coefficients import jackknife_intervals

AGREES, QUESTIONS = 0.5, 30


def measure(systems: int, between: float, name: str, *, repetitions: int, draws: int, seed: int = 1) -> list[float]:
    """Return the shares of a row of the table."""
    generator = np.random.default_rng(seed)
    coefficient = find_coefficient(name)
    root = np.linalg.cholesky([[1, AGREES, AGREES], [AGREES, 1, between], [AGREES, between, 1]])
    large = generator.normal(size=(400_000, 3)) @ root.T
    truth = coefficient.with_influences(large[:, 1], large[:, 0]).value
    target, first, second = np.moveaxis(generator.normal(size=(repetitions, systems, 3)) @ root.T, -1, 0)

    def differ(x: np.ndarray, y: np.ndarray, ratings: np.ndarray) -> np.ndarray:
        return coefficient.in_groups(x, ratings) - coefficient.in_groups(y, ratings)

    def leave_out(statistic, *sides: np.ndarray) -> np.ndarray:
        values = np.stack([statistic(*(np.delete(side, n, 1) for side in sides)) for n in range(systems)], axis=1)
        return (values.mean(axis=1, keepdims=True) - values) * (systems - 1) / systems

    observed = differ(first, second, target)
    adds = observed[:, None] / systems + leave_out(differ, first, second, target)
    signs = generator.choice((-1, 1), size=(draws, systems))
    by_adds = (np.abs(adds @ signs.T) >= np.abs(observed)[:, None] - 1e-9).sum(axis=1)
    u, v = (
        stats.zscore(side, axis=1) if name == "pearson" else stats.rankdata(side, axis=1) for side in (first, second)
    )
    by_scores, by_both = np.zeros(repetitions), np.zeros(repetitions)
    # Single answers: the system's quality, plus a residual of equal variance.
    answers = [side[..., None] + generator.normal(size=(*side.shape, QUESTIONS)) for side in (first, second, target)]
    x, y, ratings = (stats.zscore(side, axis=None) if n < 2 else side for n, side in enumerate(answers))
    apart = differ(x.mean(axis=-1), y.mean(axis=-1), ratings.mean(axis=-1))
    for sign in signs:
        swap = sign < 0
        permuted = differ(np.where(swap, v, u), np.where(swap, u, v), target)
        by_scores += ~(np.abs(permuted) < np.abs(observed) - 1e-9)
        cells = swap[:, None] ^ (generator.random((1, QUESTIONS)) < 0.5)
        means = (np.where(cells, one, other).mean(axis=-1) for one, other in ((y, x), (x, y)))
        by_both += ~(np.abs(differ(*means, ratings.mean(axis=-1))) < np.abs(apart) - 1e-9)
    rejects = [float(((larger + 1) / (draws + 1) <= 0.05).mean()) for larger in (by_adds, by_scores, by_both)]
    low, high = jackknife_intervals(
        coefficient.in_groups(first, target),
        influences=leave_out(coefficient.in_groups, first, target).T,
        clusters=np.full(repetitions, systems),
        bounds=coefficient.bounds,
        confidence=0.95,
    )
    picks = generator.integers(systems, size=(draws, systems))
    drawn = np.stack([coefficient.in_groups(first[:, pick], target[:, pick]) for pick in picks])
    ends = (
        np.nanquantile(np.where(np.isnan(drawn), bound, drawn), share, axis=0)
        for bound, share in ((-1, 0.025), (1, 0.975))
    )
    return [*rejects, *(float(((a <= truth) & (truth <= b)).mean()) for a, b in ((low, high), tuple(ends)))]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=299)
    args = parser.parse_args()
    print("| coefficient | systems | between | rejects: adds | scores | both | holds: jackknife | bootstrap |")
    print("|".join(["", *["---"] * 8, ""]))
    for name, systems, between in product(("spearman", "pearson"), (6, 8, 12, 24), (0.3, 0.8)):
        shares = measure(systems, between, name, repetitions=args.repetitions, draws=args.draws)
        print(f"| {name} | {systems} | {between} | {' | '.join(f'{share:.1%}' for share in shares)} |", flush=True)


if __name__ == "__main__":
    main()
