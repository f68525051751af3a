"""How often intervals of a system's mean rating hold the true mean: `python benchmarks/ppi_coverage.py [--part equal]`.

Simulated studies: `rated` questions with ratings on a grid of half points (0 to 5), ten times as many answers with a
score only, the score correlated with the rating; one answer a question, or three. Prints two Markdown tables. First:
coverage of the 95% interval of `imapeval study estimate`, its width beside that of the ratings alone, and the same for
the share of answers rated 3 or better, where that is estimated. Second, of ratings that are nearly all 2.5, or else
3: the share of samples that are estimated at all, coverage of those, and what it would be of all samples.
"""

from __future__ import annotations

import argparse

import numpy as np
from rated_answers import make_rated

from imapeval.study.calibration.prediction_powered import estimate_mean, estimate_shares, estimate_systems


def draw(rng: np.random.Generator, questions: int, answers: int, strength: float) -> tuple[np.ndarray, ...]:
    """Return ratings, scores and question numbers of some answers."""
    codes = np.repeat(np.arange(questions), answers)
    shared = 0.0 if answers == 1 else 0.7
    truth = shared * rng.normal(size=questions)[codes] + (1 - shared**2) ** 0.5 * rng.normal(size=len(codes))
    scores = strength * truth + (1 - strength**2) ** 0.5 * rng.normal(size=len(codes))
    return np.clip(np.round(2 * (3 + truth)) / 2, 0, 5), scores / 10, codes


def cover_graded(rng: np.random.Generator, repeats: int) -> None:
    """Print coverage for ratings from 0 to 5."""
    # The mean of a clipped and rounded normal is not 3 exactly.
    population = draw(rng, 1_000_000, 1, 0.5)[0]
    mean, share = population.mean(), (population >= 3).mean()
    print("| rated questions | answers each | correlation | coverage | width / ratings alone | share: coverage |")
    print("|---|---|---|---|---|---|")
    for rated in (5, 10, 20, 50, 200):
        for answers in (1, 3):
            for strength in (0.0, 0.5, 0.8):
                inside = 0
                right: list[bool] = []
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
                    right += hold_share(ratings, np.append(scores, more), np.append(codes, rated + others), share)
                held = f"{np.mean(right):.3f}" if right else "-"
                ratio = np.mean(width) / np.mean(alone)
                print(
                    f"| {rated} | {answers} | {strength:g} | {inside / repeats:.3f} | {ratio:.2f} | {held} |",
                    flush=True,
                )


def cover_equal(rng: np.random.Generator, repeats: int) -> None:
    """Print coverage for ratings that are nearly all equal."""
    print("\n| rated questions | rated 3 | estimated | coverage | ratings alone | without the rule |")
    print("|---|---|---|---|---|---|")
    for rated in (5, 10, 20, 50, 80, 200):
        for rare in (0.1, 0.3, 0.5):
            held, alone, without = [], [], 0
            for _ in range(repeats):
                ratings = np.where(rng.random(11 * rated) < rare, 3.0, 2.5)
                scores = ratings + 0.3 * rng.normal(size=len(ratings))
                true = 2.5 + 0.5 * rare
                found = estimate_mean(ratings[:rated], scores[:rated], scores[rated:])
                without += found.low <= true <= found.high
                row = estimate_rare(np.where(np.arange(len(ratings)) < rated, ratings, np.nan), scores)
                if row is not None:
                    held.append(row[0] <= true <= row[1])
                    alone.append(row[2] <= true <= row[3])
            shares = [f"{np.mean(part):.3f}" if part else "-" for part in (held, alone)]
            cells = [f"{len(held) / repeats:.3f}", *shares, f"{without / repeats:.3f}"]
            print(f"| {rated} | {rare:g} | {' | '.join(cells)} |", flush=True)


def estimate_rare(ratings: np.ndarray, scores: np.ndarray) -> list[float] | None:
    """Return the ends of one system's interval and of that from ratings alone, None where nothing is estimated."""
    (row,), _ = estimate_systems(make_rated(scores, ratings), "m", "accuracy")
    ends = [end for end in (row.low, row.high, row.plain_low, row.plain_high) if end is not None]
    return ends or None


def hold_share(ratings: np.ndarray, scores: np.ndarray, questions: np.ndarray, share: float) -> list[bool]:
    """Return whether the interval of the share of answers rated 3 or better holds the true share; [] without one."""
    given = np.append(ratings, np.full(len(scores) - len(ratings), np.nan))
    rated = make_rated(scores, given, questions=questions)
    (row,), _ = estimate_shares(rated, "m", "accuracy", right_from=3)
    return [] if row.low is None or row.high is None else [row.low <= share <= row.high]


PARTS = {"graded": cover_graded, "equal": cover_equal}


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--part", choices=tuple(PARTS))
    options = parser.parse_args()
    for name, cover in PARTS.items():
        if options.part in (None, name):
            cover(np.random.default_rng(0), options.repeats)


if __name__ == "__main__":
    main()
