"""How well the truth agrees with simulated ratings, and the ceiling estimated from them.

Prints a Markdown table: `python benchmarks/ceiling.py`. Each row is a sample of 20,000 answers: what the truth itself
reaches as a metric, and what `find_ceilings` estimates. The true quality of answers is normally distributed; raters add
their strictness (-.5, 0, .5, ...) and a normal error, and give the nearest rating of their scale. "Some" ratings: a
third of the ratings is missing.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from rated_answers import make_rated
from scipy import stats

from imapeval.study.agreement.noise_ceiling import find_ceilings

if TYPE_CHECKING:
    from imapeval.study.arrays import Floats
    from imapeval.study.data.rated import Rated

SCALES = {
    "any number": lambda worth: worth,
    "0 to 5 in halves": lambda worth: np.clip(np.round((2.5 + 1.2 * worth) * 2) / 2, 0, 5),
    "0 to 5, most near 5": lambda worth: np.clip(np.round(4 + 1.2 * worth), 0, 5),
}
ANSWERS = 20_000


def simulate(
    generator: np.random.Generator, scale: str, raters: int, noise: float, *, some: bool
) -> tuple[Floats, Rated]:
    """Return the true quality of the answers, and their ratings."""
    truth = generator.normal(size=ANSWERS)
    strictness = (np.arange(raters) - (raters - 1) / 2) / 2
    ratings = SCALES[scale](truth[:, None] + strictness + noise * generator.normal(size=(ANSWERS, raters)))
    if some:
        ratings[generator.random(ratings.shape) < 1 / 3] = np.nan
    kept = np.flatnonzero(np.isfinite(ratings).any(axis=1))
    return truth[kept], make_rated(by_rater={"accuracy": ratings[kept]})


def main() -> None:
    """Print the table."""
    generator = np.random.default_rng(0)
    print("| scale | raters | error | ratings | r | rho | tau-b | ceiling: r | rho | tau-b |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for scale, raters, noise, some in product(SCALES, (2, 3, 5), (0.5, 1.0), (False, True)):
        truth, rated = simulate(generator, scale, raters, noise, some=some)
        means = rated.ratings_of("accuracy")
        reached = [test(truth, means).statistic for test in (stats.pearsonr, stats.spearmanr, stats.kendalltau)]
        ceilings = [row.value for row in find_ceilings(rated)]
        cells = " | ".join(f"{value:.3f}" for value in (*reached, *ceilings) if value is not None)
        print(f"| {scale} | {raters} | {noise} | {'some' if some else 'all'} | {cells} |")


if __name__ == "__main__":
    main()
