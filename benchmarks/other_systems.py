"""Do intervals about other systems hold the truth? `python benchmarks/other_systems.py [--repetitions 1000]`.

Every system answers every question. Ratings and scores are sums of a system effect, a question effect and a residual,
each bivariate normal with a correlation of .5; for coefficients within systems, the correlation of the residuals varies
between systems by .2 (standard deviation). Each study draws new systems, or new systems and questions. Printed as a
Markdown table: the share of 95% intervals that hold the coefficient of a very large study of the same questions, or of
all questions, for each sampling unit of the intervals (`units`).
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from itertools import product, repeat
from typing import TYPE_CHECKING, NamedTuple

# Before numpy is loaded: processes that use all cores each would wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rated_answers import make_rated

from imapeval.study.correlation.levels import correlate

if TYPE_CHECKING:
    from imapeval.study.data.findings import Level, Units
    from imapeval.study.data.rated import Rated

QUESTIONS = 30
AGREES, VARIES = 0.5, 0.2
UNITS: tuple[Units, ...] = ("questions", "systems", "both")
LEVELS: tuple[Level, ...] = ("system", "within-system", "within-question", "global")
NAMES = ("spearman", "pearson")


class Setting(NamedTuple):
    """What is drawn."""

    level: Level
    systems: int
    questions_vary: bool


def draw(generator: np.random.Generator, systems: int, questions: np.ndarray) -> Rated:
    """Return a study; `questions` are the question effects on ratings and scores, shape (questions, 2)."""
    root = np.linalg.cholesky([[1, AGREES], [AGREES, 1]])
    own = generator.normal(size=(systems, 1, 2)) @ root.T
    rho = np.clip(generator.normal(AGREES, VARIES, systems), -0.95, 0.95)[:, None]
    noise = generator.normal(size=(systems, len(questions), 2))
    noise[..., 1] = rho * noise[..., 0] + np.sqrt(1 - rho**2) * noise[..., 1]
    ratings, scores = np.moveaxis(own + questions + noise, -1, 0).reshape(2, -1)
    return make_rated(
        scores,
        ratings,
        questions=np.tile(np.arange(len(questions)), systems),
        systems=np.repeat(np.arange(systems), len(questions)),
    )


def draw_questions(generator: np.random.Generator, number: int) -> np.ndarray:
    """Return the question effects, shape (questions, 2)."""
    return generator.normal(size=(number, 2)) @ np.linalg.cholesky([[1, AGREES], [AGREES, 1]]).T


def compute(rated: Rated, level: Level, units: Units, *, seed: int, resamples: int) -> dict[str, tuple]:
    """Return the coefficient over all systems and its interval, by name."""
    rows = correlate(rated, coefficients=NAMES, levels=(level,), units=units, seed=seed, resamples=resamples)
    return {row.coefficient: (row.value, row.low, row.high) for row in rows}


def measure(setting: Setting, repetitions: int, resamples: int) -> dict[str, list[float]]:
    """Return the shares by coefficient, for each of `UNITS`."""
    fixed = draw_questions(np.random.default_rng(1), QUESTIONS)
    generator = np.random.default_rng(2)
    # Several large studies: between systems, the noise of as many questions is part of the coefficient.
    large = [
        compute(
            draw(generator, 1000, draw_questions(generator, QUESTIONS) if setting.questions_vary else fixed),
            setting.level,
            "questions",
            seed=0,
            resamples=2,
        )
        for _ in range(40 if setting.questions_vary else 3)
    ]
    truth = {name: np.mean([study[name][0] for study in large]) for name in NAMES}
    hits = {name: np.zeros(len(UNITS)) for name in NAMES}
    for repetition in range(repetitions):
        generator = np.random.default_rng([repetition, setting.systems])
        questions = draw_questions(generator, QUESTIONS) if setting.questions_vary else fixed
        rated = draw(generator, setting.systems, questions)
        for place, units in enumerate(UNITS):
            found = compute(rated, setting.level, units, seed=repetition, resamples=resamples)
            for name, (_, low, high) in found.items():
                hits[name][place] += low is not None and low <= truth[name] <= high
    return {name: (counts / repetitions).tolist() for name, counts in hits.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=299)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--systems", type=int, nargs="+", default=[6, 12])
    args = parser.parse_args()
    settings = [Setting(*rest) for rest in product(LEVELS, args.systems, (False, True))]
    print(
        "| level | systems | questions are | coefficient | questions | systems | both |\n|---|---|---|---|---|---|---|"
    )
    with ProcessPoolExecutor(args.workers) as pool:
        found = pool.map(measure, settings, repeat(args.repetitions), repeat(args.resamples))
        for setting, shares in zip(settings, found, strict=True):
            kind = "drawn too" if setting.questions_vary else "the same"
            for name, of_units in shares.items():
                cells = " | ".join(f"{share:.1%}" for share in of_units)
                print(f"| {setting.level} | {setting.systems} | {kind} | {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
