from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from imapeval.study.robustness.measures import Robustness, describe_robustness, measure_robustness
from imapeval.study.robustness.repeats import RepeatKind, Repeats
from imapeval.study.robustness.statistics import weighted_icc

N = 40


def make(kind: RepeatKind, scores: np.ndarray, **changes: object) -> Repeats:
    """Repeats of one metric, each unit with a question of its own."""
    n = len(scores)
    repeats = Repeats(
        kind=kind,
        lang="en",
        ids=tuple(map(str, range(n))),
        questions=np.arange(n),
        systems=tuple("st"[number % 2] for number in range(n)),
        metrics=("m",),
        scores=scores[:, :, None],
        there=np.ones(scores.shape, dtype=np.bool_),
    )
    return replace(repeats, **changes)


def draw(noise: float, *, columns: int = 2, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(N, 1)) + noise * generator.normal(size=(N, columns))


def by_name(rows: list[Robustness]) -> dict[str, Robustness]:
    return {row.statistic: row for row in rows}


def test_rewording():
    table = draw(0.5, columns=3)
    table[0, 2] = np.nan
    rows = by_name(measure_robustness(make("rewording", table), resamples=200))
    x, y = np.concatenate([table[:, 0], table[1:, 0]]), np.concatenate([table[:, 1], table[1:, 2]])
    expected = {
        "change": np.mean(y - x),
        "absolute_change": np.mean(np.abs(y - x)),
        "relative_change": np.mean(np.abs(y - x)) / np.std(x, ddof=1),
        "spearman": stats.spearmanr(x, y).statistic,
        "icc": weighted_icc(table, np.ones((1, N)))[0],
    }
    for name, value in expected.items():
        assert rows[name].value == pytest.approx(value, rel=1e-9), name
    turned = [(a, b) for a in range(len(x)) for b in range(a) if x[a] != x[b]]
    share = np.mean([np.sign(x[a] - x[b]) * np.sign(y[a] - y[b]) < 0 for a, b in turned])
    assert rows["reversed_pairs"].value == pytest.approx(share, rel=1e-9)
    for row in rows.values():
        assert row.low <= row.value <= row.high
        assert (row.n, row.scores, row.missing, row.reason) == (N, 3 * N - 1, 1, None)


def test_scores_that_stay_have_nothing_reversed():
    rows = by_name(measure_robustness(make("rewording", np.repeat(draw(0.0, columns=1), 2, axis=1)), resamples=50))
    values = {name: row.value for name, row in rows.items()}
    assert values == pytest.approx(
        {"change": 0, "absolute_change": 0, "relative_change": 0, "spearman": 1, "reversed_pairs": 0, "icc": 1}
    )


def test_repetition():
    table = draw(0.1, columns=3)
    rows = by_name(measure_robustness(make("repetition", table), resamples=200))
    assert rows["within_sd"].value == pytest.approx(np.sqrt(table.var(axis=1, ddof=1).mean()))
    assert rows["icc"].value == pytest.approx(weighted_icc(table, np.ones((1, N)))[0])
    means = np.array([table[0::2].mean(axis=0), table[1::2].mean(axis=0)])
    ahead = np.sign(means[0] - means[1])
    assert rows["reversed_systems"].value == pytest.approx(
        np.mean([ahead[a] != ahead[b] for a, b in ((0, 1), (0, 2), (1, 2))])
    )


def test_the_interval_of_the_icc_is_near_the_classical_one():
    """Shrout and Fleiss 1979, table 5 (F distribution), for normal data with 200 texts scored twice."""
    generator = np.random.default_rng(5)
    table = generator.normal(size=(200, 1)) + 0.7 * generator.normal(size=(200, 2))
    row = by_name(measure_robustness(make("repetition", table)))["icc"]
    f = stats.f_oneway(*table).statistic
    ends = [f / stats.f.ppf(0.975, 199, 200), f * stats.f.ppf(0.975, 200, 199)]
    low, high = ((end - 1) / (end + 1) for end in ends)
    assert row.low == pytest.approx(low, abs=0.03)
    assert row.high == pytest.approx(high, abs=0.03)


def test_seeds_and_questions_decide_the_interval():
    repeats = make("rewording", draw(0.5))
    once = measure_robustness(repeats, seed=1, resamples=100)
    assert once == measure_robustness(repeats, seed=1, resamples=100)
    assert once != measure_robustness(repeats, seed=2, resamples=100)
    paired = by_name(measure_robustness(replace(repeats, questions=np.arange(N) // 20), resamples=100))["spearman"]
    assert (paired.value, paired.low) != (by_name(once)["spearman"].value, by_name(once)["spearman"].low)


def test_what_failed_is_counted_and_left_out():
    table = draw(0.3)
    table[0, 0] = table[1, 1] = np.nan
    rows = by_name(measure_robustness(make("rewording", table), resamples=20))
    assert {(row.n, row.scores, row.missing) for row in rows.values()} == {(N - 2, 2 * N - 4, 2)}
    assert rows["change"].value == pytest.approx(np.mean(table[2:, 1] - table[2:, 0]))


def test_systems_are_compared_over_what_was_scored_every_time():
    table = draw(0.3, columns=3)
    table[10:, 2] = np.nan
    rows = by_name(measure_robustness(make("repetition", table), resamples=20))
    counts = {name: (row.n, row.scores, row.missing) for name, row in rows.items()}
    assert counts == {
        "within_sd": (N, 2 * N + 10, N - 10),
        "icc": (N, 2 * N + 10, N - 10),
        "reversed_systems": (10, 30, N - 10),
    }


@pytest.mark.parametrize(
    ("table", "statistic", "why"),
    [
        (
            np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]),
            "spearman",
            "of the originals, or of their rewordings, are all",
        ),
        (np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]), "icc", "all scores are equal"),
        (np.array([[0.5, 0.5], [0.1, 0.4]]), "spearman", "fewer than 3 rewordings"),
        (np.array([[np.nan, 0.5], [0.1, np.nan]]), "change", "nothing has two scores"),
    ],
)
def test_undefined(table, statistic, why):
    row = by_name(measure_robustness(make("rewording", table), resamples=20))[statistic]
    assert (row.value, row.low, row.high) == (None, None, None)
    assert why in str(row.reason)


def test_one_question_has_no_interval():
    row = by_name(
        measure_robustness(make("rewording", draw(0.3), questions=np.zeros(N, dtype=np.int64)), resamples=20)
    )["change"]
    assert row.value is not None
    assert (row.low, row.high, row.reason) == (None, None, "one question alone has no interval")


def test_one_system_has_nobody_to_change_places_with():
    row = by_name(measure_robustness(make("repetition", draw(0.3), systems=("s",) * N), resamples=20))[
        "reversed_systems"
    ]
    assert (row.value, row.reason) == (None, "there are not two systems to compare")


def test_a_statistic_that_may_be_undefined_has_no_interval_rather_than_a_wrong_one():
    table = np.array([[0.1, 0.2], [0.3, 0.4]])
    row = by_name(measure_robustness(make("rewording", table), resamples=300))["relative_change"]
    assert row.value is not None
    assert (row.low, row.high) == (None, None)
    assert "in some resamples" in str(row.reason)
    assert "rewordings" not in str(row.reason)


def test_without_a_complete_row_there_is_nothing_to_compare_systems_on():
    table = np.array([[0.1, 0.2, np.nan], [np.nan, 0.3, 0.4], [0.2, 0.1, np.nan]])
    rows = by_name(measure_robustness(make("repetition", table), resamples=20))
    assert (rows["reversed_systems"].value, rows["reversed_systems"].n) == (None, 0)
    assert "every time" in str(rows["reversed_systems"].reason)
    assert rows["within_sd"].value is not None


def test_sentences():
    (said,) = describe_robustness(
        measure_robustness(make("rewording", np.array([[1.0, 2.0], [3.0, 2.5], [5.0, 5.0], [2.0, 2.0]])), resamples=20)
    )
    # Mean of 1, .5, 0, 0; the standard deviation of 1, 3, 5, 2 is 1.708; (1, 2) and (2, 3) are turned round: 1 < 2 but
    # 2 = 2, 2 < 3 as 2 < 2.5.
    assert said.startswith("m: rewording an answer moves its score by 0.375 on average (0.22 standard deviations); ")
    assert said.endswith("0% of the pairs of answers change their order.")
    (nothing,) = describe_robustness(measure_robustness(make("repetition", np.array([[np.nan, 0.5]])), resamples=20))
    assert nothing == "m: nothing can be said: nothing has two scores."
    # No exponent: 2725 less 1000.
    (large,) = describe_robustness(
        measure_robustness(make("rewording", np.array([[1000.0, 2725.0]] * 3)), resamples=20)
    )
    assert "by 1725.0 on average" in large
