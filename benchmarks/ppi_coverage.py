"""How often intervals of a system's mean rating hold the true mean: `python benchmarks/ppi_coverage.py`.

Simulated studies: `rated` questions with ratings on a grid of half points (0 to 5), ten times as many answers with a
score only, the score correlated with the rating; one answer a question, or three. Prints a Markdown table: coverage of
the 95% interval of `imapeval study estimate`, its width beside that of the ratings alone, and the same for the share
of right answers (Rogan and Gladen, Lang and Reiczigel).
"""

from __future__ import annotations

import argparse

import numpy as np

from imapeval.study.calibration.prediction_powered import estimate_mean
from imapeval.study.calibration.rogan_gladen import correct_share


def draw(rng: np.random.Generator, questions: int, answers: int, strength: float) -> tuple[np.ndarray, ...]:
    """Return ratings, scores and question numbers of some answers."""
    codes = np.repeat(np.arange(questions), answers)
    shared = 0.0 if answers == 1 else 0.7
    truth = shared * rng.normal(size=questions)[codes] + (1 - shared**2) ** 0.5 * rng.normal(size=len(codes))
    scores = strength * truth + (1 - strength**2) ** 0.5 * rng.normal(size=len(codes))
    return np.clip(np.round(2 * (3 + truth)) / 2, 0, 5), scores / 10, codes


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    repeats = parser.parse_args().repeats
    rng = np.random.default_rng(0)
    # The mean of a clipped and rounded normal is not 3 exactly.
    population = draw(rng, 1_000_000, 1, 0.5)[0]
    mean, share = population.mean(), (population >= 3).mean()
    print("| rated questions | answers each | correlation | coverage | width / ratings alone | share: coverage |")
    print("|---|---|---|---|---|---|")
    for rated in (5, 10, 20, 50, 200):
        for answers in (1, 3):
            for strength in (0.0, 0.5, 0.8):
                inside = right = 0
                width, alone = [], []
                for _ in range(repeats):
                    ratings, scores, codes = draw(rng, rated, answers, strength)
                    _, more, others = draw(rng, 10 * rated, answers, strength)
                    clusters = {"questions": codes, "unrated_questions": rated + others}
                    helped = estimate_mean(ratings, scores, more, **clusters)
                    plain = estimate_mean(ratings, scores, more, weight=0.0, **clusters)
                    inside += helped.low <= mean <= helped.high
                    width.append(helped.high - helped.low)
                    alone.append(plain.high - plain.low)
                    right += hold_share(ratings, scores, more, share) if answers == 1 and strength else 0
                held = f"{right / repeats:.3f}" if answers == 1 and strength else "-"
                ratio = np.mean(width) / np.mean(alone)
                print(
                    f"| {rated} | {answers} | {strength:g} | {inside / repeats:.3f} | {ratio:.2f} | {held} |",
                    flush=True,
                )


def hold_share(ratings: np.ndarray, scores: np.ndarray, more: np.ndarray, share: float) -> bool:
    """Say whether the interval of the share of answers rated 3 or better holds the true one."""
    right, called = ratings >= 3, scores >= 0
    if right.all() or not right.any():
        return True
    found = correct_share(
        (int((more >= 0).sum()), len(more)),
        hits=(int((right & called).sum()), int(right.sum())),
        rejections=(int((~right & ~called).sum()), int((~right).sum())),
    )
    return found.low is None or found.high is None or found.low <= share <= found.high


if __name__ == "__main__":
    main()
