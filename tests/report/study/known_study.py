"""A study with known true coefficients, to check every conclusion.

Three systems answer the questions; three raters rate accuracy and completeness on 0..5 by .5. Six metrics:

- `knows-accuracy` is accuracy plus noise, `knows-completeness` completeness plus noise, `knows-both` their mean;
- `noise` is unrelated to quality;
- `length` is the length of the answer, which correlates with completeness only between systems (long-winded systems are
  more complete), not within a system;
- `system` depends on the system only.
"""

from __future__ import annotations

import numpy as np

from imapeval.study.data.rated import Rated
from imapeval.study.data.ratings.collection import average_exactly
from imapeval.study.data.scales import RatingScale

SYSTEMS, RATERS = 3, 3
METRICS: tuple[str, ...] = ("knows-accuracy", "knows-completeness", "knows-both", "noise", "length", "system")
DIMENSIONS: tuple[str, ...] = ("accuracy", "completeness")


def draw(generator: np.random.Generator, questions: int) -> Rated:
    """Return a study."""
    n = SYSTEMS * questions
    systems = np.repeat(np.arange(SYSTEMS), questions)
    codes = np.tile(np.arange(questions), SYSTEMS)
    hard = generator.normal(0, 0.4, size=(questions, 2))[codes]
    truth = np.array([[3.0, 2.0], [2.6, 2.6], [2.2, 3.2]])[systems] + hard + generator.normal(0, 0.8, size=(n, 2))
    length = np.array([300.0, 500.0, 700.0])[systems] + generator.normal(0, 60, n)
    seen = np.column_stack([truth[:, 0], truth[:, 1], truth.mean(axis=1)])
    scores = np.column_stack(
        [seen + generator.normal(0, [0.8, 1.2, 0.8], size=(n, 3)), generator.normal(size=n), length, systems]
    )
    given = truth[:, :, None] + generator.normal(0, 0.6, size=(n, 2, RATERS))
    by_rater = np.clip(np.round(given * 2) / 2, 0, 5)
    cells = np.repeat(np.arange(2 * n), RATERS)
    return Rated(
        ids=tuple(map(str, range(n))),
        questions=codes,
        systems=tuple("abc"[system] for system in systems.tolist()),
        metrics=METRICS,
        scores=scores,
        dimensions=DIMENSIONS,
        ratings=average_exactly(by_rater.ravel(), cells, size=2 * n).reshape(n, 2),
        raters=tuple(f"r{rater}" for rater in range(RATERS)),
        by_rater={name: by_rater[:, number] for number, name in enumerate(DIMENSIONS)},
        scales=dict.fromkeys(DIMENSIONS, RatingScale(0, 5, 0.5)),
        covariates={"response characters": length},
    )
