"""Check the noise ceiling and the intervals of agreement on simulated ratings.

    python benchmarks/ceiling.py [--repeats 200] [--resamples 599] [--seed 0]

Two Markdown tables, as in docs/raters.md. The first holds one large sample (20,000 answers) of each kind: what the
truth itself reaches as a metric, and what `find_ceilings` estimates. The true quality of answers is normally
distributed; raters add their strictness (-.5, 0, .5, ...) and a normal error, and give the nearest rating of their
scale. "Some" ratings: a third of the ratings is missing.

The second holds the coverage of 95% intervals by number of answers: of Krippendorff's alpha and the ceiling (truth:
the value in a sample of 200,000), and of a metric's r corrected for attenuation (truth: its r with the true quality).
With two answers per question, half of the variance of quality is between questions.
"""

from __future__ import annotations

import argparse
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from imapeval.study.agreement.measure import measure_agreement
from imapeval.study.agreement.noise_ceiling import correct_for_attenuation, find_ceilings
from imapeval.study.data.findings import Correlation
from imapeval.study.data.rated import Rated
from imapeval.study.intervals.bootstrap import draw_resamples, percentile_interval

if TYPE_CHECKING:
    from imapeval.study.arrays import Floats

SCALES = {
    "any number": lambda worth: worth,
    "0 to 5 in halves": lambda worth: np.clip(np.round((2.5 + 1.2 * worth) * 2) / 2, 0, 5),
    "0 to 5, most near 5": lambda worth: np.clip(np.round(4 + 1.2 * worth), 0, 5),
}
LARGE, TRUE = 20_000, 200_000
METRIC_NOISE = 1.0
"""Standard deviation of the metric's normal error around the true quality: its r with the truth is 1 / sqrt(2)."""


def simulate(
    n: int, scale: str, *, raters: int, noise: float, some: bool, paired: bool, generator: np.random.Generator
) -> tuple[Floats, Rated]:
    """Return the true quality of the answers, and their ratings."""
    questions = np.arange(n) // 2 if paired else np.arange(n)
    shared = 0.5 if paired else 0.0
    truth = np.sqrt(shared) * generator.normal(size=n)[questions] + np.sqrt(1 - shared) * generator.normal(size=n)
    strictness = (np.arange(raters) - (raters - 1) / 2) / 2
    ratings = SCALES[scale](truth[:, None] + strictness + noise * generator.normal(size=(n, raters)))
    if some:
        ratings[generator.random(ratings.shape) < 1 / 3] = np.nan
    kept = np.flatnonzero(np.isfinite(ratings).any(axis=1))
    rated = Rated(
        ids=tuple(map(str, range(n))),
        questions=questions,
        systems=("",) * n,
        metrics=(),
        scores=np.empty((n, 0)),
        dimensions=("d",),
        ratings=np.full((n, 1), np.nan),
        raters=tuple(map(str, range(raters))),
        by_rater={"d": ratings},
    )
    return truth[kept], rated.take(kept)


def compare(generator: np.random.Generator) -> None:
    """Print the agreement that the truth itself reaches, and the estimated ceiling."""
    print("| scale | raters | error | ratings | r | rho | tau-b | ceiling: r | rho | tau-b |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for scale, raters, noise, some in product(SCALES, (2, 3, 5), (0.5, 1.0), (False, True)):
        truth, rated = simulate(LARGE, scale, raters=raters, noise=noise, some=some, paired=False, generator=generator)
        means = np.nanmean(rated.by_rater["d"], axis=1)
        reached = [test(truth, means).statistic for test in (stats.pearsonr, stats.spearmanr, stats.kendalltau)]
        ceilings = [row.value for row in find_ceilings(rated)]
        cells = " | ".join(f"{value:.3f}" for value in (*reached, *ceilings) if value is not None)
        print(f"| {scale} | {raters} | {noise} | {'some' if some else 'all'} | {cells} |")


def cover(generator: np.random.Generator, *, repeats: int, resamples: int) -> None:
    """Print the coverage of the intervals."""
    scale, noise = "0 to 5 in halves", 0.8
    names = ("alpha (interval)", "ceiling of r", "corrected r")
    print(f"| ratings | questions | n | {' | '.join(names)} |")
    print("|---|---|---|---|---|---|")
    for some, paired in product((False, True), (False, True)):
        kind = {"raters": 3, "noise": noise, "some": some, "paired": paired}
        truth, whole = simulate(TRUE, scale, **kind, generator=generator)
        goal = {
            names[0]: measure_agreement(whole, statistics=["krippendorff_alpha_interval"])[0].value,
            names[1]: find_ceilings(whole)[0].value,
            names[2]: 1 / np.sqrt(1 + METRIC_NOISE**2),
        }
        for n in (50, 200, 800):
            held = dict.fromkeys(names, 0)
            for repeat in range(repeats):
                truth, rated = simulate(n, scale, **kind, generator=generator)
                alpha = measure_agreement(rated, statistics=["krippendorff_alpha_interval"])[0]
                ceiling = find_ceilings(rated)
                scores = truth + METRIC_NOISE * generator.normal(size=len(truth))
                metric = correlate(scores, rated, seed=repeat, resamples=resamples)
                for name, row in zip(
                    names, (alpha, ceiling[0], correct_for_attenuation([metric], ceiling)[0]), strict=True
                ):
                    held[name] += row.low is not None and row.high is not None and row.low <= goal[name] <= row.high
            cells = " | ".join(f"{held[name] / repeats:.1%}" for name in names)
            print(f"| {'some' if some else 'all'} | {'of two answers' if paired else 'of one'} | {n} | {cells} |")


def correlate(scores: Floats, rated: Rated, *, seed: int, resamples: int) -> Correlation:
    """Return a metric's r with the mean ratings and its percentile interval over questions."""
    means = np.nanmean(rated.by_rater["d"], axis=1)
    codes = np.unique(rated.questions, return_inverse=True)[1]
    weights = draw_resamples(int(codes.max()) + 1, seed=seed, resamples=resamples)[:, codes].astype(np.float64)
    n, x, y, xx, yy, xy = (
        weights @ np.column_stack((np.ones_like(means), scores, means, scores**2, means**2, scores * means))
    ).T
    replicates = (xy - x * y / n) / np.sqrt((xx - x**2 / n) * (yy - y**2 / n))
    interval = percentile_interval(replicates)
    value = float(np.corrcoef(scores, means)[0, 1])
    return Correlation(
        "m", "*", "d", "pearson", value, interval.low, interval.high, n=len(means), n_missing=0, level="global"
    )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("repeats", 200), ("resamples", 599), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    generator = np.random.default_rng(options.seed)
    compare(generator)
    print()
    cover(generator, repeats=options.repeats, resamples=options.resamples)


if __name__ == "__main__":
    main()
