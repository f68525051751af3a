"""Time and memory of comparing systems: 33,333 questions x 3 systems x 10 metrics, in 9 groups.

python benchmarks/compare_systems.py
"""

import resource
import time

import numpy as np

from imapeval.study.systems.answers import SystemAnswers
from imapeval.study.systems.differences import compare_systems
from imapeval.study.systems.ranking import rank_systems
from imapeval.types import Sample

QUESTIONS, SYSTEMS, METRICS, GROUPS = 33_333, 3, 10, 9


def main() -> None:
    """Print seconds and megabytes."""
    generator = np.random.default_rng(0)
    answers = SystemAnswers(
        samples=tuple(Sample(f"{s}-{q}", f"{q}", ("r",), "a") for s in range(SYSTEMS) for q in range(QUESTIONS)),
        runs=np.zeros(QUESTIONS * SYSTEMS, dtype=np.int64),
        systems=tuple("ABC"),
        system=np.repeat(np.arange(SYSTEMS), QUESTIONS),
        questions=np.tile(np.arange(QUESTIONS), SYSTEMS),
        metrics=tuple(f"m{n}" for n in range(METRICS)),
        scores=generator.uniform(size=(QUESTIONS * SYSTEMS, METRICS)),
        lower_is_better=frozenset(),
        groups={"task": tuple(f"{q % GROUPS}" for q in range(QUESTIONS)) * SYSTEMS},
    )
    start = time.perf_counter()
    rank_systems(answers, compare_systems(answers))
    seconds = time.perf_counter() - start
    print(f"{seconds:.1f} s, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:.0f} MB")


if __name__ == "__main__":
    main()
