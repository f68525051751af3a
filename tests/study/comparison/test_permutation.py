from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats

from imapeval.study.comparison.between_systems import contrast_systems
from imapeval.study.comparison.permutation.answers import contrast_answers
from imapeval.study.comparison.permutation.other_systems import contrast_other_systems
from imapeval.study.comparison.permutation.questions import contrast_questions
from imapeval.study.comparison.permutation.swaps import ComparedAnswers, Contrast, MetricPairs, draw_swaps
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.data.findings import CoefficientName

PAIR = MetricPairs(np.array([0]), np.array([1]))
SYSTEMS, QUESTIONS = 6, 30
RANKED: CoefficientName = "spearman"


def make(second: float = 0.2, *, systems: int = SYSTEMS) -> tuple[ComparedAnswers, np.ndarray, np.ndarray, np.ndarray]:
    """Return systems' answers to 30 questions: as answers, and the metrics' and the ratings' tables."""
    generator = np.random.default_rng(7)
    ratings = generator.normal(size=(systems, QUESTIONS))
    x = 0.6 * ratings + generator.normal(size=ratings.shape)
    y = second * ratings + 0.3 * x + 0.9 * generator.normal(size=ratings.shape)
    ratings = np.round(ratings * 2) / 2
    of_systems, questions = np.divmod(np.arange(systems * QUESTIONS), QUESTIONS)
    answers = ComparedAnswers(np.column_stack([x.ravel(), y.ravel()]), ratings.reshape(-1, 1), questions, of_systems)
    return answers, x, y, ratings


def compute(
    answers: ComparedAnswers,
    level: str,
    *,
    test: str = "perm-inputs",
    coefficient: CoefficientName = "pearson",
    permutations: int = 1999,
) -> Contrast:
    given = {"coefficient": coefficient, "seed": 1}
    if test == "perm-systems":
        once = partial(compute, level=level, coefficient=coefficient, permutations=1)
        return contrast_other_systems(answers, once, seed=1, permutations=permutations)
    given["permutations"] = permutations
    if level == "within-question":
        return contrast_questions(answers, PAIR, **given)
    if level == "system":
        return contrast_systems(answers, PAIR, **given)
    return contrast_answers(answers, PAIR, by_system=level == "within-system", **given)


def test_equals_nlpstats():
    # nlpstats 0.0.1, after np.random.seed(1): permutation_test(x, y, ratings, "global", "pearson", "inputs",
    # n_resamples=1999).pvalue. Two such p-values differ by up to 4 standard errors of a difference.
    answers, *_ = make()
    error = (2 * 0.0385 * (1 - 0.0385) / 1999) ** 0.5
    assert compute(answers, "global").p[0, 0] == pytest.approx(0.0385, abs=4 * error)


@pytest.mark.parametrize(("second", "expected"), [(0.2, 0.6373), (0.0, 0.2961)])
def test_swapping_systems_is_near_to_nlpstats(second: float, expected: float):
    # As above, with 24 systems, level "system" and "systems". Ours is the same to first order.
    answers, *_ = make(second, systems=24)
    assert compute(answers, "system", test="perm-systems").p[0, 0] == pytest.approx(expected, abs=0.05)


def test_within_systems_swapping_systems_is_a_test_of_paired_numbers():
    # The mean over systems of differences: scipy's permutation test of as many signs.
    answers, x, y, ratings = make(systems=10)
    apart = [
        stats.pearsonr(a, r).statistic - stats.pearsonr(b, r).statistic for a, b, r in zip(x, y, ratings, strict=True)
    ]
    exact = stats.permutation_test((apart,), np.mean, permutation_type="samples", n_resamples=np.inf)
    found = compute(answers, "within-system", test="perm-systems", permutations=20_000)
    assert found.p[0, 0] == pytest.approx(exact.pvalue, abs=4 * (0.25 / 20_000) ** 0.5)
    middle, reach = np.mean(apart), stats.t.ppf(0.975, 9) * stats.sem(apart)
    assert (found.low[0, 0], found.high[0, 0]) == pytest.approx((middle - reach, middle + reach), abs=1e-9)


def test_few_systems_say_nothing_of_others():
    answers, *_ = make(systems=5)
    found = compute(answers, "within-system", test="perm-systems")
    assert np.isnan([found.p[0, 0], found.low[0, 0], found.high[0, 0]]).all()
    assert np.isfinite(found.first[0, 0])


@pytest.mark.parametrize("by_system", [False, True])
def test_is_near_to_swapping_and_ranking_again(by_system: bool):
    answers, x, y, ratings = make(second=0.25)
    generator = np.random.default_rng(2)

    def rank(side: np.ndarray) -> np.ndarray:
        ranks = stats.rankdata(side if by_system else side.reshape(1, -1), axis=1)
        return ranks.reshape(side.shape)

    def centre(side: np.ndarray) -> np.ndarray:
        ranks = rank(side) if by_system else rank(side).reshape(1, -1)
        return ranks - ranks.mean(axis=1, keepdims=True)

    b = centre(ratings)

    def average(side: np.ndarray) -> float:
        a = centre(side)
        return float(((a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))).mean())

    x, y = rank(x), rank(y)
    observed, larger, times = average(x) - average(y), 0, 1000
    for _ in range(times):
        swap = np.broadcast_to(generator.integers(0, 2, size=(1, QUESTIONS)), x.shape).astype(bool)
        larger += abs(average(np.where(swap, y, x)) - average(np.where(swap, x, y))) >= abs(observed) - 1e-9
    found = compute(answers, "within-system" if by_system else "global", coefficient=RANKED)
    assert found.first[0, 0] - found.second[0, 0] == pytest.approx(observed, abs=1e-12)
    assert found.p[0, 0] == pytest.approx((larger + 1) / (times + 1), abs=0.04)


def test_questions_are_swapped_whole_in_every_way_there_is():
    # Of four questions there are sixteen swaps; their differences are known without any program.
    ratings = np.tile([1.0, 2.0, 3.0], 4)
    x = np.array([1, 2, 3, 1, 2, 3, 1, 3, 2, 3, 2, 1], dtype=float)
    y = np.array([3, 2, 1, 1, 3, 2, 2, 1, 3, 1, 2, 3], dtype=float)
    answers = ComparedAnswers(
        np.column_stack([x, y]), ratings[:, None], np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4)
    )
    apart = np.array([1 - -1, 1 - 0.5, 0.5 - 0.5, -1 - 1])
    found = compute(answers, "within-question", coefficient=RANKED)
    assert found.first[0, 0] - found.second[0, 0] == pytest.approx(apart.mean())
    signs = np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1).T
    exact = (np.abs(signs @ apart) >= abs(apart.sum()) - 1e-9).mean()
    assert found.p[0, 0] == pytest.approx(exact, abs=0.04)


def test_between_systems_questions_are_resampled():
    answers, x, y, ratings = make(second=0.0)

    def differ(at: np.ndarray, axis: int = -1) -> np.ndarray:
        means, others, target = (side[:, at].mean(axis=axis) for side in (x, y, ratings))
        return np.subtract(*(stats.pearsonr(side, target, axis=0).statistic for side in (means, others)))

    given = {"vectorized": True, "method": "percentile", "rng": np.random.default_rng(5)}
    expected = stats.bootstrap((np.arange(QUESTIONS),), differ, **given)
    found = compute(answers, "system", permutations=9999)
    assert found.first[0, 0] - found.second[0, 0] == pytest.approx(differ(np.arange(QUESTIONS)), abs=1e-12)
    assert (found.low[0, 0], found.high[0, 0]) == pytest.approx(tuple(expected.confidence_interval), abs=0.06)
    replicates = expected.bootstrap_distribution
    p = 2 * min((replicates <= 0).mean(), (replicates >= 0).mean())
    assert found.p[0, 0] == pytest.approx(p, abs=0.03)


@pytest.mark.parametrize("coefficient", ["spearman", "pearson", "kendall_tau_b", "kendall_tau_c"])
def test_the_interval_is_the_jackknifes(coefficient: CoefficientName):
    answers, x, y, ratings = make()
    found = compute(answers, "global", coefficient=coefficient)

    def difference(keep: np.ndarray) -> float:
        target = ratings[:, keep].ravel()
        first, second = (
            find_coefficient(coefficient).with_influences(side[:, keep].ravel(), target).value for side in (x, y)
        )
        return first - second

    every = np.arange(QUESTIONS)
    left_out = np.array([difference(every[every != question]) for question in every])
    error = np.sqrt((QUESTIONS - 1) / QUESTIONS * ((left_out - left_out.mean()) ** 2).sum())
    # Deleting a question is not infinitesimal: the two differ by a few percent with thirty questions.
    assert (found.high[0, 0] - found.low[0, 0]) / 2 / stats.t.ppf(0.975, QUESTIONS - 1) == pytest.approx(
        error, rel=0.08
    )
    assert (found.high[0, 0] + found.low[0, 0]) / 2 == pytest.approx(difference(every), abs=1e-12)


def test_a_metric_that_is_constant_in_one_system():
    answers, *_ = make()
    answers.scores[answers.systems == 0, 1] = 0.5
    found = compute(answers, "within-system", coefficient=RANKED)
    assert (found.groups[0], found.defined[0, 0]) == (SYSTEMS, SYSTEMS - 1)
    rest = answers.systems > 0
    other = compute(
        ComparedAnswers(
            answers.scores[rest], answers.ratings[rest], answers.questions[rest], answers.systems[rest] - 1
        ),
        "within-system",
        coefficient=RANKED,
    )
    assert found.first[0, 0] == pytest.approx(other.first[0, 0])
    assert found.low[0, 0] == pytest.approx(other.low[0, 0])


@pytest.mark.parametrize("level", ["global", "within-system", "within-question", "system"])
def test_the_same_seed_gives_the_same_and_turning_a_pair_round_its_mirror(level: str):
    answers, *_ = make()
    found, again = compute(answers, level), compute(answers, level)
    turned = compute(
        ComparedAnswers(answers.scores[:, ::-1], answers.ratings, answers.questions, answers.systems), level
    )
    assert found.p[0, 0] == again.p[0, 0] == turned.p[0, 0]
    assert (found.low[0, 0], found.high[0, 0]) == pytest.approx((-turned.high[0, 0], -turned.low[0, 0]), abs=1e-9)
    assert found.p[0, 0] == found.p[1, 0]  # one dimension is the mean over dimensions


def test_a_metric_and_itself_cannot_be_told_apart():
    answers, *_ = make()
    same = ComparedAnswers(answers.scores[:, [0, 0]], answers.ratings, answers.questions, answers.systems)
    for level in ("global", "within-system", "within-question", "system"):
        assert compute(same, level).p[0, 0] == 1
        assert compute(same, level, test="perm-systems").p[0, 0] == 1


def test_swaps():
    drawn = np.concatenate(list(draw_swaps(7, seed=0, permutations=1100)))
    assert drawn.shape == (1100, 7)
    assert set(drawn.ravel().tolist()) == {-1, 1}
    assert abs(drawn.mean()) < 0.05
    assert (drawn != np.concatenate(list(draw_swaps(7, seed=1, permutations=1100)))).any()
    with pytest.raises(ValueError, match="1"):
        list(draw_swaps(7, seed=0, permutations=0))


@pytest.mark.parametrize("by_system", [False, True])
def test_of_many_questions_p_is_what_the_permutations_come_to(by_system: bool, monkeypatch: pytest.MonkeyPatch):
    generator = np.random.default_rng(3)
    n = 600
    ratings = np.column_stack([np.tile(generator.normal(size=n // 2), 2), generator.normal(size=n)])
    ratings[:50, 1] = np.nan
    scores = ratings[:, [0, 0]] * [0.4, 0.3] + generator.normal(size=(n, 2))
    answers = ComparedAnswers(scores, ratings, np.tile(np.arange(n // 2), 2), np.repeat([0, 1], n // 2))
    how = {"by_system": by_system, "coefficient": RANKED, "seed": 1, "permutations": 20_000}
    counted = contrast_answers(answers, PAIR, **how)
    monkeypatch.setattr("imapeval.study.comparison.permutation.answers.MANY_QUESTIONS", 200)
    computed = contrast_answers(answers, PAIR, **how)
    # Four standard errors of a share of 20,000, and the normal's own error at 300 questions.
    assert computed.p[:, 0] == pytest.approx(counted.p[:, 0], abs=4 * (0.25 / 20_000) ** 0.5 + 0.002)
    assert 0.001 < counted.p[:, 0].min() < 0.9
    assert computed.low == pytest.approx(counted.low)


def test_a_p_that_no_number_of_permutations_shows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("imapeval.study.comparison.permutation.answers.MANY_QUESTIONS", 100)
    generator = np.random.default_rng(4)
    ratings = generator.normal(size=(2000, 1))
    scores = np.column_stack([ratings[:, 0], generator.normal(size=2000)])
    answers = ComparedAnswers(scores, ratings, np.arange(2000), np.zeros(2000, dtype=np.int64))
    found = contrast_answers(answers, PAIR, by_system=False, coefficient="pearson", seed=1, permutations=100)
    assert 0 < found.p[0, 0] < 1e-100


def test_a_dimension_with_few_questions_is_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("imapeval.study.comparison.permutation.answers.MANY_QUESTIONS", 200)
    generator = np.random.default_rng(5)
    n = 300
    ratings = generator.normal(size=(n, 2))
    scores = ratings.sum(axis=1, keepdims=True) * [1.0, 0.2] + generator.normal(size=(n, 2))
    ratings[6:, 1] = np.nan
    answers = ComparedAnswers(scores, ratings, np.arange(n), np.zeros(n, dtype=np.int64))
    how = {"by_system": False, "coefficient": RANKED, "seed": 1, "permutations": 400}
    p = contrast_answers(answers, PAIR, **how).p[:, 0]
    # (b + 1) / (m + 1) of whole numbers, which the normal distribution's p is not.
    assert p * 401 == pytest.approx(np.round(p * 401), abs=1e-9)
    # Six questions have 2 ** 5 swaps that differ by more than the sign: none is rarer but by chance.
    assert p[1] > 0.5 / 32


def test_a_question_that_two_systems_answered_twice_does_not_count():
    generator = np.random.default_rng(6)
    ratings, scores = generator.normal(size=(80, 1)), generator.normal(size=(80, 2))
    # As in `correlate`: ten questions to three systems, one of which answered twice, and ten to two, twice each.
    questions = np.repeat(np.arange(20), 4)
    systems = np.concatenate([np.tile([0, 1, 2, 2], 10), np.tile([0, 1, 0, 1], 10)])
    how = {"coefficient": RANKED, "seed": 1, "permutations": 50}
    every = contrast_questions(ComparedAnswers(scores, ratings, questions, systems), PAIR, **how)
    first = contrast_questions(ComparedAnswers(scores[:40], ratings[:40], questions[:40], systems[:40]), PAIR, **how)
    assert (every.groups[0], every.defined[0, 0]) == (10, 10)
    assert every.first == pytest.approx(first.first)


def test_within_many_questions_p_is_what_the_permutations_come_to(monkeypatch: pytest.MonkeyPatch):
    generator = np.random.default_rng(8)
    quality = generator.normal(size=(3, 600))
    scores = np.stack([quality + sigma * generator.normal(size=quality.shape) for sigma in (1.0, 1.1, 1.1)], axis=-1)
    # The third metric is the second but for a few questions, of which there are too few for a normal distribution.
    scores[:, 20:, 2] = scores[:, 20:, 1]
    ratings = np.stack([quality, quality + generator.normal(size=quality.shape)], axis=-1).reshape(-1, 2)
    answers = ComparedAnswers(scores.reshape(-1, 3), ratings, np.tile(np.arange(600), 3), np.repeat(np.arange(3), 600))
    pairs = MetricPairs(np.array([0, 1]), np.array([1, 2]))
    how = {"coefficient": "pearson", "seed": 1, "permutations": 20_000}
    counted = contrast_questions(answers, pairs, **how)
    monkeypatch.setattr("imapeval.study.comparison.permutation.questions.MANY_QUESTIONS", 200)
    computed = contrast_questions(answers, pairs, **how)
    assert computed.p[:, 0] == pytest.approx(counted.p[:, 0], abs=4 * (0.25 / 20_000) ** 0.5 + 0.002)
    assert computed.p[:, 0].tolist() != counted.p[:, 0].tolist()
    assert computed.p[:, 1].tolist() == counted.p[:, 1].tolist()


@pytest.mark.parametrize("questions", [1, 2, 5])
def test_questions_without_a_coefficient_leave_the_interval_as_it_is(questions: int):
    generator = np.random.default_rng(3)
    counted, idle = 6 * questions, 295
    ratings = generator.normal(size=(counted + idle, 1))
    answers = ComparedAnswers(
        ratings + generator.normal(size=(counted + idle, 2)),
        ratings,
        np.concatenate([np.repeat(np.arange(questions), 6), questions + np.arange(idle)]),
        np.concatenate([np.tile(np.arange(6), questions), np.zeros(idle, dtype=int)]),
    )
    every, alone = (compute(some, "within-question") for some in (answers, answers.take(np.arange(counted))))
    assert (every.low[0, 0], every.high[0, 0]) == pytest.approx((alone.low[0, 0], alone.high[0, 0]), nan_ok=True)
    assert np.isnan(every.low[0, 0]) == (questions == 1)


@pytest.mark.parametrize("level", ["global", "within-system"])
def test_a_dimension_with_few_ratings_has_the_interval_of_these_alone(level: str):
    answers, *_ = make()
    few = np.flatnonzero(answers.questions < 6)
    second = np.full(len(answers.ratings), np.nan)
    second[few] = answers.ratings[few, 0]
    both = replace(answers, ratings=np.column_stack([answers.ratings[:, 0], second]))
    alone, together = compute(answers.take(few), level), compute(both, level)
    assert (together.low[1, 0], together.high[1, 0]) == pytest.approx((alone.low[0, 0], alone.high[0, 0]))
    whole = compute(answers, level)
    assert (together.low[0, 0], together.high[0, 0]) == pytest.approx((whole.low[0, 0], whole.high[0, 0]))
