"""Coverage of the intervals of `study preferences`.

python benchmarks/preferences.py --repetitions 1000

Four systems of known strengths; on each question two (or all six) pairs of answers are judged, with ties. "shared" is
the standard deviation of what the judgements of one question share: each system's answer to it is better or worse by
as much. The true strengths are then those of 200,000 questions.
"""

import argparse

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.data.preferences import Preferences
from imapeval.study.systems.preferences import estimate_strengths

STRENGTHS = np.array([0.8, 0.3, -0.2, -0.9])
PAIRS = [(a, b) for a in range(4) for b in range(a + 1, 4)]
CASES = [(30, 2, 0.0), (100, 2, 0.0), (30, 6, 0.0), (30, 6, 1.0), (100, 6, 1.0)]


def make(generator: np.random.Generator, questions: int, judged: int, shared: float) -> Preferences:
    """Make judgements of pairs of answers."""
    quality = STRENGTHS + shared * generator.normal(size=(questions, 4))
    chosen = generator.permuted(np.tile(np.arange(6), (questions, 1)), axis=1)[:, :judged]
    first, second = np.array(PAIRS)[chosen.ravel()].T
    question = np.repeat(np.arange(questions), judged)
    a, b = quality[question, first], quality[question, second]
    weights = np.exp(np.stack([a, b, -0.5 + (a + b) / 2]))
    shares = np.cumsum(weights / weights.sum(axis=0), axis=0)
    kind = (generator.random(len(a)) > shares).sum(axis=0)
    return Preferences(
        tuple(map(str, range(questions))), tuple("abcd"), question, first, second, np.array([1.0, 0.0, 0.5])[kind]
    )


def main() -> None:
    """Print a row per case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    repetitions = parser.parse_args().repetitions
    print("| questions | judgements each | shared | strengths | shares preferred | not determined |")
    print("|---|---|---|---|---|---|")
    for questions, judged, shared in CASES:
        big = estimate_strengths(make(np.random.default_rng(0), 200_000, judged, shared), resamples=1)
        truth = {row.system: row for row in big}
        generator, held, failed = np.random.default_rng(1), [], 0
        for seed in range(repetitions):
            try:
                rows = estimate_strengths(make(generator, questions, judged, shared), seed=seed, resamples=400)
            except UsageError:
                failed += 1
                continue
            for row in rows:
                true = truth[row.system]
                share = (row.win_share_low or 0) <= true.win_share <= (row.win_share_high or 0)
                held.append(((row.low or 0) <= true.strength <= (row.high or 0), share))
        strengths, shares = np.mean(held, axis=0)
        print(f"| {questions} | {judged} | {shared} | {strengths:.1%} | {shares:.1%} | {failed} |", flush=True)


if __name__ == "__main__":
    main()
