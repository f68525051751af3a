"""Answers for the tests of statistics: rated ones, made as the benchmarks make them, and those of compared systems."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.rated_answers import make_rated as make_rated
from imapeval.study.systems.answers import SystemAnswers
from imapeval.types import Sample


def make_answers(*by_system: ArrayLike, metrics: Sequence[str] = ("m",), **others: Any) -> SystemAnswers:
    """Make answers of the systems A, B ... to the questions 0, 1 ... with these scores.

    Those of a system have the shape (questions,) or (questions, metrics), with NaN where it has no score.
    """
    scores = np.stack([np.asarray(table, dtype=np.float64).reshape(-1, len(metrics)) for table in by_system])
    count, n, _ = scores.shape
    systems = tuple("ABCDEFGH"[:count])
    given = {
        "samples": tuple(Sample(f"{s}{q}", f"q{q}", ("r",), "a") for s in systems for q in range(n)),
        "runs": np.zeros(count * n, dtype=np.int64),
        "system": np.repeat(np.arange(count), n),
        "questions": np.tile(np.arange(n), count),
        "lower_is_better": frozenset(),
        "groups": {},
    }
    return SystemAnswers(
        systems=systems, metrics=tuple(metrics), scores=scores.reshape(count * n, -1), **{**given, **others}
    )
