"""How often the intervals of `imapeval study calibrate --by` hold the truth: `python benchmarks/calibration_groups.py`.

Simulated: ratings on a grid of half points (0 to 5), scores that correlate with them at about .6, one answer a question
or three. One group of answers is rated .5 points better at equal scores than the others, to 100 further questions. The
truth is that of the curve fitted to all answers, on 20,000 further answers of the group. Prints a Markdown table:
coverage of the 95% intervals of mean rating less mean prediction, with its mean beside the true one, and of the mean
absolute error.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from rated_answers import make_rated

from imapeval.study.calibration.curve import fit_curve
from imapeval.study.calibration.groups import measure_groups
from imapeval.study.data.scales import RatingScale

OTHERS, NEW, SHIFT = 100, 20_000, 0.5
SCALE = RatingScale(0, 5, 0.5)


def draw(
    generator: np.random.Generator, questions: int, answers: int, shift: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, ratings and questions."""
    codes = np.repeat(np.arange(questions), answers)
    shared = 0.0 if answers == 1 else 0.7
    truth = shared * generator.normal(size=questions)[codes] + (1 - shared**2) ** 0.5 * generator.normal(
        size=len(codes)
    )
    scores = 0.6 * truth + 0.8 * generator.normal(size=len(codes))
    return scores, np.clip(np.round(2 * (3 + truth + shift)) / 2, 0, 5), codes


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    repetitions = parser.parse_args().repetitions
    print("| questions of the group | answers each | difference holds | found | true | absolute error holds |")
    print("|---|---|---|---|---|---|")
    for questions, answers in product((10, 20, 50), (1, 3)):
        generator, held, absolute, found, true = np.random.default_rng(0), 0, 0, 0.0, 0.0
        new, new_ratings, _ = draw(generator, NEW, 1, SHIFT)
        for seed in range(repetitions):
            own, others = draw(generator, questions, answers, SHIFT), draw(generator, OTHERS, answers, 0.0)
            scores, ratings = (np.concatenate(pair) for pair in zip(own[:2], others[:2], strict=True))
            codes = np.concatenate((own[2], questions + others[2]))
            study = make_rated(scores, ratings, questions=codes, scales={"accuracy": SCALE})
            groups = {"g": np.arange(len(own[0]))}
            (row,) = measure_groups(study, "m", "accuracy", groups, seed=seed, resamples=999)
            errors = new_ratings - fit_curve(scores, ratings, method="isotonic").predict(new, SCALE)
            goal, size = float(errors.mean()), float(np.abs(errors).mean())
            held += row.low is not None and row.high is not None and row.low <= goal <= row.high
            ends = row.mean_absolute_low, row.mean_absolute_high
            absolute += ends[0] is not None and ends[1] is not None and ends[0] <= size <= ends[1]
            found, true = found + (row.difference or 0) / repetitions, true + goal / repetitions
        print(
            f"| {questions} | {answers} | {held / repetitions:.1%} | {found:.3f} | {true:.3f} "
            f"| {absolute / repetitions:.1%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
