"""Tables of compared systems, as files."""

from pathlib import Path

import numpy as np
import pytest

from imapeval.report.systems import SystemComparison, write_table
from imapeval.study.systems.answers import SystemAnswers
from imapeval.study.systems.differences import compare_systems
from imapeval.study.systems.ranking import rank_systems


@pytest.mark.parametrize(("questions", "said"), [(8, 2), (60, 0)])
@pytest.mark.parametrize("suffix", ["md", "tex"])
def test_what_is_known_of_intervals_stands_beside_them(questions: int, said: int, suffix: str, tmp_path: Path):
    answers = SystemAnswers(
        samples=(),
        runs=np.zeros(2 * questions, dtype=np.int64),
        systems=("a", "b"),
        system=np.repeat([0, 1], questions),
        questions=np.tile(np.arange(questions), 2),
        metrics=("m",),
        scores=np.random.default_rng(0).random((2 * questions, 1)),
        lower_is_better=frozenset(),
        groups={},
    )
    differences = compare_systems(answers)
    standings = rank_systems(answers, differences)
    comparison = SystemComparison({}, standings, differences, (), (), {}, seed=0, margin=None)
    path = tmp_path / f"table.{suffix}"
    write_table(comparison, path)
    # Once for the means and once for the differences.
    assert path.read_text().count("not 95") == said
