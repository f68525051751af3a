"""Coverage of the intervals of `study cutoff`: how often they hold the true figure of the cut-off that was chosen.

python benchmarks/cutoff.py --repetitions 1000

Scores of acceptable answers are normal around "separation", others around 0, with variance 1; of several answers to a
question, .3 of the variance of the scores and half of that of the quality is shared. "given" is a cut-off at half the
separation.
"""

import argparse
from statistics import NormalDist

import numpy as np
from rated_answers import make_rated

from imapeval.study.calibration.cutoff import find_cutoff
from imapeval.study.data.rated import Rated

CASES = [
    (40, 1, 1.2, 0.5),
    (100, 1, 1.2, 0.5),
    (100, 1, 1.2, 0.8),
    (100, 1, 0.5, 0.5),
    (100, 3, 1.2, 0.5),
    (400, 1, 1.2, 0.5),
    (400, 1, 1.2, 0.8),
]
NORMAL = NormalDist()


def make(generator: np.random.Generator, questions: int, answers: int, separation: float, share: float) -> Rated:
    """Make answers of which a share is acceptable."""
    n = questions * answers

    def draw(common: float) -> np.ndarray:
        own = generator.normal(size=n)
        if answers == 1:
            return own
        return np.repeat(generator.normal(size=questions), answers) * common**0.5 + own * (1 - common) ** 0.5

    acceptable = draw(0.5) > NORMAL.inv_cdf(1 - share)
    return make_rated(separation * acceptable + draw(0.3), acceptable, questions=np.arange(n) // answers)


def find_truth(score: float, separation: float, share: float) -> list[float]:
    """Return the figures of a cut-off among all possible answers."""
    sensitivity, specificity = 1 - NORMAL.cdf(score - separation), NORMAL.cdf(score)
    called = share * sensitivity + (1 - share) * (1 - specificity)
    positive, negative = share * sensitivity / called, (1 - share) * specificity / (1 - called)
    return [sensitivity, specificity, positive, negative, sensitivity + specificity - 1]


def main() -> None:
    """Print a row per case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    repetitions = parser.parse_args().repetitions
    heads = ["sensitivity", "specificity", "positive", "negative", "Youden"]
    print(f"| questions | answers each | separation | acceptable | cut-off | {' | '.join(heads)} | apparent Youden |")
    print("|---|---|---|---|---|" + "---|" * 6)
    for questions, answers, separation, share in CASES:
        for at in (None, separation / 2):
            generator, held, error, apparent = np.random.default_rng(1), [], [], []
            for _ in range(repetitions):
                rated = make(generator, questions, answers, separation, share)
                found = find_cutoff(rated, "m", "accuracy", right_from=1, at=at)
                truth = find_truth(found.score, separation, share)
                pairs = [*zip(found.figures, truth, strict=True)]
                held.append([(row.low or 0) <= t <= (row.high or 0) for row, t in pairs])
                error.append([(row.value or 0) - t for row, t in pairs])
                apparent.append((found.figures[-1].apparent or 0) - truth[-1])
            cells = [f"{100 * h:.1f}% ({e:+.3f})" for h, e in zip(np.mean(held, 0), np.mean(error, 0), strict=True)]
            kind = "chosen" if at is None else "given"
            print(
                f"| {questions} | {answers} | {separation} | {share} | {kind} | {' | '.join(cells)} "
                f"| {np.mean(apparent):+.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
