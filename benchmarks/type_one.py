"""How often do the paired tests find a difference where there is none?

    python benchmarks/type_one.py [--repetitions 2000] [--permutations 399]

Data: ratings and two metrics, trivariate normal; the ratings are then rounded to 0..5 in steps of .5, as people give
them. Both metrics correlate with the unrounded ratings at .5. "clustered": two systems answer every question, and half
of the variance of everything is the question's. "graded": one metric has five levels (cut so that some are rare) and,
on the whole population, the same Spearman correlation as the other.

Printed: share of repetitions with p <= .05, as a Markdown table. With 2,000 repetitions and a true share of 5%, 19 of
20 measurements lie between 4.0% and 6.0%. "interval" and "Zou": share of 95% intervals of the difference that contain
0, the true one.
"""

import argparse
from dataclasses import dataclass

import numpy as np

from imapeval.study.comparison.closed_form import steiger_test, williams_test, zou_interval
from imapeval.study.comparison.permutation.answers import contrast_answers
from imapeval.study.comparison.permutation.swaps import ComparedAnswers, MetricPairs
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.correlation.product_moment import average_ranks

AGREES = 0.5
CUTS = (-1.2, 0.0, 0.8, 1.6)
PAIR = MetricPairs(np.array([0]), np.array([1]))
POPULATION = 400_000


@dataclass(frozen=True)
class Setting:
    """What data are drawn."""

    n: int
    between: float
    clustered: bool = False
    graded: bool = False
    second: float = AGREES

    def __str__(self) -> str:
        words = ["clustered" if self.clustered else "independent", *(["graded"] if self.graded else [])]
        return f"{', '.join(words)} | {self.n} | {AGREES:.2f}, {self.second:.2f} | {self.between}"


def draw(setting: Setting, generator: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores (n, 2) and ratings (n,)."""
    a, b, c = AGREES, setting.second, setting.between
    root = np.linalg.cholesky(np.array([[1, a, b], [a, 1, c], [b, c, 1]]))
    if setting.clustered:
        shared = np.repeat(generator.normal(size=(n // 2, 3)), 2, axis=0)
        noise = (shared + generator.normal(size=(n, 3))) / np.sqrt(2)
    else:
        noise = generator.normal(size=(n, 3))
    columns = noise @ root.T
    scores = columns[:, 1:]
    if setting.graded:
        scores[:, 1] = np.digitize(scores[:, 1], CUTS)
    return scores, np.clip(np.round((2.5 + 1.2 * columns[:, 0]) * 2) / 2, 0, 5)


def find_truth(setting: Setting) -> float:
    """Return the population's difference of the two Spearman correlations."""
    scores, ratings = draw(setting, np.random.default_rng(0), POPULATION)
    first, second = (np.corrcoef(average_ranks(column), average_ranks(ratings))[0, 1] for column in scores.T)
    return float(first - second)


def match(setting: Setting) -> Setting:
    """Return the setting in which the graded metric agrees with the ratings as well as the other metric does."""
    low, high = AGREES, 0.75
    for _ in range(12):
        middle = (low + high) / 2
        trial = Setting(setting.n, setting.between, setting.clustered, True, middle)
        low, high = (middle, high) if find_truth(trial) > 0 else (low, middle)
    return Setting(setting.n, setting.between, setting.clustered, True, high)


def measure(setting: Setting, repetitions: int, permutations: int) -> list[float]:
    """Return a row of the table."""
    generator = np.random.default_rng(setting.n)
    n = setting.n
    questions = np.arange(n) // 2 if setting.clustered else np.arange(n)
    systems = np.arange(n) % 2
    hits = np.zeros(5)
    for seed in range(repetitions):
        scores, ratings = draw(setting, generator, n)
        answers = ComparedAnswers(scores, ratings[:, None], questions, systems)
        found = contrast_answers(
            answers, PAIR, by_system=False, coefficient="spearman", seed=seed, permutations=permutations
        )
        hits[0] += found.p[0, 0] <= 0.05
        hits[1] += found.low[0, 0] <= 0 <= found.high[0, 0]
        r12, r13, r23 = (
            find_coefficient("spearman").with_influences(x, y).value
            for x, y in ((scores[:, 0], ratings), (scores[:, 1], ratings), (scores[:, 0], scores[:, 1]))
        )
        hits[2] += williams_test(r12, r13, r23=r23, n=n, spearman=True).p <= 0.05
        hits[3] += steiger_test(r12, r13, r23=r23, n=n, spearman=True).p <= 0.05
        low, high = zou_interval(r12, r13, r23=r23, n=n, spearman=True)
        hits[4] += low <= 0 <= high
    return (hits / repetitions).tolist()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--permutations", type=int, default=399)
    chosen = parser.parse_args()
    null = [Setting(n, between, clustered) for clustered in (False, True) for n in (50, 200) for between in (0.3, 0.8)]
    graded = [match(Setting(200, between)) for between in (0.3, 0.7)]
    print("| answers | n | correlations | between | perm-inputs | interval | Williams | Steiger | Zou |")
    print("|---" * 9 + "|")
    for setting in [*null, *graded]:
        shares = measure(setting, chosen.repetitions, chosen.permutations)
        print(f"| {setting} | {' | '.join(f'{share:.3f}' for share in shares)} |", flush=True)


if __name__ == "__main__":
    main()
