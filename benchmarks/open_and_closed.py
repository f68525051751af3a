"""How often the interval holds the relation of open and closed answers: `python benchmarks/open_and_closed.py`.

Simulated: a model's knowledge of a question affects both its open score and its choice among four options, which may
also be right by chance. Models share part of their knowledge, since some questions are harder for all. The true
coefficient of a setting is computed from a million questions. Prints a Markdown table of the share of studies whose
95% interval of Spearman's rho (`imapeval closed --open`) holds it: for a single model, and for the mean within three.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np
from rated_answers import make_rated
from scipy import stats

from imapeval.study.closed.open_questions import RIGHT_CHOICE, correlate_forms
from imapeval.study.data.findings import ALL

if TYPE_CHECKING:
    from imapeval.study.data.rated import Rated

ABILITIES = (0.6, 0.0, -0.6)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    repeats = parser.parse_args().repeats
    rng = np.random.default_rng(0)
    print("| questions | noise of the open score | true rho, one model | coverage | true mean of three | coverage |")
    print("|---|---|---|---|---|---|")
    for questions in (50, 200):
        for noise in (0.3, 1.0, np.inf):
            scores, choices = draw(rng, 1_000_000, noise)
            truths = [stats.spearmanr(*pair).statistic for pair in zip(scores, choices, strict=True)]
            held = np.zeros(2)
            for _ in range(repeats):
                rows = correlate_forms(rate(*draw(rng, questions, noise)))
                found = {row.system: row for row in rows if row.level == "within-system"}
                for place, (system, truth) in enumerate((("s0", truths[0]), (ALL, np.mean(truths)))):
                    row = found[system]
                    held[place] += row.low is not None and row.high is not None and row.low <= truth <= row.high
            one, three = held / repeats
            print(
                f"| {questions} | {noise:g} | {truths[0]:.3f} | {one:.1%} | {np.mean(truths):.3f} | {three:.1%} |",
                flush=True,
            )


def draw(rng: np.random.Generator, questions: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return open scores and right choices (0 or 1), both of shape (models, questions)."""
    shape = (len(ABILITIES), questions)
    shared = rng.normal(0, 1, (1, questions))
    knowledge = np.array(ABILITIES)[:, None] + (shared + rng.normal(0, 1, shape)) / np.sqrt(2)
    # Infinite noise: the open score is unrelated to knowledge.
    seen = rng.normal(0, 1, shape) if np.isinf(noise) else knowledge + rng.normal(0, noise, shape)
    chance = 0.25 + 0.75 / (1 + np.exp(-2 * knowledge))
    # Two decimals, so that scores tie, as they do in tables.
    return np.round(1 / (1 + np.exp(-seen)), 2), (rng.random(shape) < chance).astype(float)


def rate(scores: np.ndarray, choices: np.ndarray) -> Rated:
    """Return the answers as `join_open_answers` does."""
    models, questions = scores.shape
    return make_rated(
        scores.ravel(),
        {RIGHT_CHOICE: choices.ravel()},
        questions=np.tile(np.arange(questions), models),
        systems=np.repeat(np.arange(models), questions),
    )


if __name__ == "__main__":
    main()
