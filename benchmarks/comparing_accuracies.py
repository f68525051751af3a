"""How often `study compare` calls one of two equally good metrics better: accuracies, and between systems.

Each of S systems answers Q questions, S x Q. Pairs of metrics:

- alike: both observe the quality of an answer with equal noise, half of which they share.
- systems: one depends on the system's quality with a little noise and not on the answer's, the other on the answer's.
- sure: one depends on the system alone and is constant over its answers, the other observes the answer's quality.
- different: like "alike", but quality has half the weight in the second metric.

The noise of the second metric is chosen so that both have the same coefficient on average (500 studies). Printed as
a Markdown table: the share of studies with p <= .05, and, for studies with at least six systems, the share of 95%
intervals that hold the mean difference.

    python benchmarks/comparing_accuracies.py [REPETITIONS]
"""

import sys

import numpy as np
from rated_answers import make_rated

from imapeval.study.comparison.compare import compare
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.correlation.soft_pairwise_accuracy import approximate_p_values, soft_accuracy
from imapeval.study.data.findings import MIN_SYSTEMS
from imapeval.study.data.rated import Rated

RESAMPLES, CALIBRATED = 399, 500
SIZES = ((3, 30, 0.3), (6, 15, 0.2), (6, 40, 0.15), (10, 100, 0.1))
"""Systems, questions, and by how much a system is better than the one before it."""


def draw(generator: np.random.Generator, size: tuple[int, int, float], kind: str, noise: float) -> list[np.ndarray]:
    """Return both metrics' scores and the ratings, systems x questions."""
    systems, questions, gap = size
    worth = np.repeat(gap * np.arange(systems)[:, None], questions, axis=1)
    shared, one, other, error, own = generator.normal(size=(5, systems, questions))
    quality = worth + 0.5 * generator.normal(size=questions) + 0.8 * own
    first = {"sure": worth, "systems": worth + 0.4 * one}.get(kind, quality + 0.7 * (shared + one))
    weight = 0.5 if kind == "different" else 1.0
    apart = 0.7 * (shared + other) if kind in ("alike", "different") else noise * other
    return [first, weight * quality + apart, np.round(2 * (quality + 0.5 * error)) / 2]


def measure(tables: list[np.ndarray], coefficient: str) -> float:
    """Return the difference of the metrics' coefficients, of soft accuracies with approximate p-values."""
    if coefficient == "soft_pairwise_accuracy":
        ps = approximate_p_values(list(np.stack(tables, axis=-1)), np.ones((1, tables[0].shape[1])))[0]
        values = soft_accuracy(ps[:2], ps[2:])[:, 0]
    else:
        first, second, target = (table.mean(axis=1)[None] for table in tables)
        values = [find_coefficient(coefficient).in_groups(side, target)[0] for side in (first, second)]
    return float(values[0] - values[1])


def find_noise(size: tuple[int, int, float], kind: str, coefficient: str) -> tuple[float, float]:
    """Return the second metric's noise, and the mean difference with it."""
    low, high, noise, mean = 0.05, 50.0, 1.0, 0.0
    for _ in range(12 if kind in ("systems", "sure") else 1):
        noise = (low * high) ** 0.5
        generator = np.random.default_rng(0)
        mean = float(np.nanmean([measure(draw(generator, size, kind, noise), coefficient) for _ in range(CALIBRATED)]))
        low, high = (noise, high) if mean < 0 else (low, noise)
    return noise, mean


def wrap(tables: list[np.ndarray]) -> Rated:
    """Return one study."""
    systems, questions = np.divmod(np.arange(tables[0].size), tables[0].shape[1])
    first, second, ratings = (table.ravel() for table in tables)
    return make_rated({"first": first, "second": second}, ratings, questions=questions, systems=systems)


def main() -> None:
    """Print the table."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    cases = (
        ("pairwise_accuracy", "within-question"),
        *((name, "system") for name in ("pairwise_accuracy", "soft_pairwise_accuracy", "spearman", "pearson")),
    )
    kinds = ("alike", "systems", "sure", "different")
    print(f"| coefficient | level | systems x questions | {' | '.join(kinds)} | interval holds: {', '.join(kinds)} |")
    print("|---|---|---|---|---|---|---|---|")
    for coefficient, level in cases:
        for size in SIZES:
            shares, held = [], []
            for kind in kinds:
                if level == "within-question" and kind in ("systems", "sure"):
                    shares.append("-")
                    held.append("-")
                    continue
                noise, mean = (0.0, 0.0) if level == "within-question" else find_noise(size, kind, coefficient)
                generator = np.random.default_rng(1)
                rows = [
                    compare(
                        wrap(draw(generator, size, kind, noise)),
                        coefficient=coefficient,
                        level=level,
                        resamples=RESAMPLES,
                        seed=seed,
                    )[0]
                    for seed in range(repetitions)
                ]
                shares.append(f"{np.mean([row.p is not None and row.p <= 0.05 for row in rows]):.1%}")
                if level == "within-question":
                    mean = float(np.mean([row.difference or 0.0 for row in rows]))
                inside = [row.low <= mean <= row.high for row in rows if row.low is not None and row.high is not None]
                held.append(f"{np.mean(inside):.1%}" if size[0] >= MIN_SYSTEMS or level != "system" else "-")
            cells = " | ".join(shares)
            print(f"| {coefficient} | {level} | {size[0]} x {size[1]} | {cells} | {', '.join(held)} |", flush=True)


if __name__ == "__main__":
    main()
