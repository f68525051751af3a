"""How often the test of `imapeval study slices` finds a difference between groups where there is none.

Answers are simulated in k groups with the same true correlation: scores are continuous, ratings go from 0 to 5 in
steps of .5, with ties. "apart": each answer has its own question. "shared": all groups have the same questions, as
when two systems answered them; half of the variance of scores and of ratings is between questions.

    python benchmarks/heterogeneity.py --repetitions 1000

prints a row for each setting, with the share of p below .05 (before Holm's correction; .05 is right).
"""

from __future__ import annotations

import argparse
import itertools
from typing import TYPE_CHECKING

import numpy as np
from rated_answers import make_rated

from imapeval.study.subgroups.heterogeneity import compare_slices

if TYPE_CHECKING:
    from imapeval.study.data.rated import Rated

LEVEL = 0.05


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    options = parser.parse_args()
    print("| groups | answers each | true rho | questions | p < .05 |\n|---|---|---|---|---|")
    for groups, size, rho, shared in itertools.product((2, 4), (12, 25, 50, 200), (0.3, 0.6), (False, True)):
        generator = np.random.default_rng([0, groups, size, int(rho * 10), shared])
        found = [
            compare_slices(simulate(groups, size, rho, shared=shared, generator=generator), facets=["task"])[0].p
            for _ in range(options.repetitions)
        ]
        low = np.mean([p is not None and p < LEVEL for p in found])
        print(f"| {groups} | {size} | {rho} | {'shared' if shared else 'apart'} | {low:.3f} |", flush=True)


def simulate(groups: int, size: int, rho: float, *, shared: bool, generator: np.random.Generator) -> Rated:
    """Return answers of which scores and ratings correlate alike in all groups."""
    covariance = [[1, rho], [rho, 1]]
    own = generator.multivariate_normal([0, 0], covariance, size=(groups, size))
    if shared:
        common = generator.multivariate_normal([0, 0], covariance, size=size)
        own = (own + common) / np.sqrt(2)
    scores, ratings = own.reshape(-1, 2).T
    return make_rated(
        scores,
        np.clip(np.round(ratings * 2 + 5) / 2, 0, 5),
        questions=np.tile(np.arange(size), groups) if shared else None,
        facets={"task": tuple(str(group) for group in range(groups) for _ in range(size))},
    )


if __name__ == "__main__":
    main()
