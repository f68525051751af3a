"""How often score intervals hold the truth: `python benchmarks/score_intervals.py [--repetitions 1000]`.

Draws answers, or ratings of them, again and again, and prints as Markdown tables the share of 95% intervals that hold
the true value, and their mean width: of closed metrics (labels, scores of a binary label), of means over items and
runs, of agreement among raters (impressions are normal quality plus normal error; "skewed" is 0 to 5 with most near 5),
and of the ceilings of r, rho and tau-b against the mean of three raters. True values are computed from very many
answers; for means they are those of other items and other runs; for a ceiling, the true value is the coefficient of the
quality itself, or for r that of the rating expected given the quality.
"""

from __future__ import annotations

import argparse
import os
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

# Before numpy is loaded: threads would wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rated_answers import make_rated
from scipy import stats

from imapeval.study.agreement.measure import STATISTICS, measure_agreement
from imapeval.study.agreement.noise_ceiling import find_ceilings
from imapeval.study.agreement.statistic import AgreementStatistic
from imapeval.study.closed.comparison import compare_runs
from imapeval.study.closed.drbenchmark.results import summarise_values
from imapeval.study.closed.metrics.estimate import count_effective, estimate_metrics
from imapeval.study.closed.metrics.labels import measure_labels
from imapeval.study.data.scales import RatingScale
from imapeval.study.intervals.shares import score_interval, share_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    from imapeval.study.arrays import Floats
    from imapeval.study.data.rated import Rated

    Rows = Iterable[tuple[str, float | None, float | None]]

LARGE = 200_000


class Tally:
    """Counts intervals that hold the truth."""

    def __init__(self, truth: dict[str, float]) -> None:
        self.truth = truth
        self.held = dict.fromkeys(truth, 0)
        self.seen = dict.fromkeys(truth, 0)
        self.width = dict.fromkeys(truth, 0.0)

    def add(self, rows: Rows) -> None:
        for name, low, high in rows:
            if low is not None and high is not None:
                self.seen[name] += 1
                self.held[name] += low <= self.truth[name] <= high
                self.width[name] += high - low

    def cells(self) -> str:
        return " | ".join(
            f"{self.held[name] / max(1, seen):.1%} ({self.width[name] / max(1, seen):.2f})"
            for name, seen in self.seen.items()
        )


def draw_scores(
    generator: np.random.Generator, n: int, area: float, share: float
) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Return which answers have the label, and normal scores with the given area under the ROC curve."""
    positive = generator.random(n) < share
    return positive, generator.normal(size=n) + np.sqrt(2) * stats.norm.ppf(area) * positive


def draw_labels(
    generator: np.random.Generator, n: int, accuracy: float, shares: tuple[float, ...]
) -> tuple[list[str], list[str]]:
    """Return labels, and predictions that are right at the given rate and otherwise a random other label."""
    gold = generator.choice(len(shares), p=shares, size=n)
    other = (gold + generator.integers(1, len(shares), size=n)) % len(shares)
    given = np.where(generator.random(n) < accuracy, gold, other)
    return [str(one) for one in gold], [str(one) for one in given]


def cover_labels(generator: np.random.Generator, repetitions: int) -> None:
    """Print coverage of accuracy and F1."""
    names = ("accuracy", "f1-micro", "f1-macro", "f1-weighted")
    print(f"| labels | n | right | {' | '.join(names)} |\n|---|---|---|{'---|' * len(names)}")
    for shares, n, accuracy in product(((0.5, 0.5), (0.8, 0.2), (0.6, 0.3, 0.1)), (30, 100), (0.8, 0.95)):
        family = measure_labels(*draw_labels(generator, LARGE, accuracy, shares))[-1]
        whole = dict(zip(family.names, family.compute(np.ones(LARGE)), strict=True))
        tally = Tally({"accuracy": accuracy} | {name: whole[name] for name in names[1:]})
        for _ in range(repetitions):
            families = measure_labels(*draw_labels(generator, n, accuracy, shares))
            tally.add((row.metric, row.low, row.high) for row in estimate_metrics(families, n, metrics=names))
        print(f"| {' : '.join(f'{one:g}' for one in shares)} | {n} | {accuracy:g} | {tally.cells()} |", flush=True)


def leave_each_out(is_label: npt.NDArray[np.bool_], scores: Floats) -> dict[str, tuple[float, Floats]]:
    """Return AUC and PR-AUC, each with its value without each answer, as the jackknife of the library has them.

    In closed form, for scores of which no two are equal: the library weighs the answers anew for each one left out.
    """
    label = is_label[np.argsort(-scores)].astype(np.float64)
    rank, number, others = np.arange(1, len(label) + 1), label.sum(), len(label) - label.sum()
    # Pairs in order that an answer is part of: labels above the others.
    pairs = np.where(label > 0, others - np.cumsum(1 - label), np.cumsum(label))
    in_order = (pairs * label).sum()
    above = np.cumsum(label)
    precision = label * above / rank
    # Without an answer those below it move up by one, with one label fewer above them if it was one.
    before = np.cumsum(precision) - precision
    moved = [label * (above - fewer) / np.maximum(rank - 1, 1) for fewer in (0, 1)]
    after_other, after_label = (column.sum() - np.cumsum(column) for column in moved)
    with np.errstate(divide="ignore", invalid="ignore"):
        areas = (in_order - pairs) / np.where(label > 0, (number - 1) * others, number * (others - 1))
        means = np.where(label > 0, (before + after_label) / (number - 1), (before + after_other) / number)
        values = in_order / number / others, precision.sum() / number
    means[np.isnan(areas)] = np.nan
    return {"auc": (values[0], areas), "pr-auc": (values[1], means)}


def cover_areas(generator: np.random.Generator, repetitions: int) -> None:
    """Print coverage of AUC and PR-AUC."""
    print("\n| share of the label | n | area | auc | pr-auc |\n|---|---|---|---|---|")
    for share, n, area in product((0.5, 0.2), (30, 100, 200, 500), (0.8, 0.95)):
        is_label, scores = draw_scores(generator, LARGE, area, share)
        tally = Tally({"auc": area, "pr-auc": leave_each_out(is_label, scores)["pr-auc"][0]})
        for repetition in range(repetitions):
            is_label, scores = draw_scores(generator, n, area, share)
            size = count_effective([[int(one)] for one in is_label])
            rows: list[tuple[str, float | None, float | None]] = []
            for name, (value, left_out) in leave_each_out(is_label, scores).items():
                ends = (
                    score_interval(value, left_out, bounds=(0.0, 1.0), size=size, at_most=size, confidence=0.95)
                    if is_label.any() and not is_label.all()
                    else None
                )
                rows.append((name, ends and ends.low, ends and ends.high))
            if repetition == 0:
                check_intervals(is_label, scores, rows)
            tally.add(rows)
        print(f"| {share:g} | {n} | {area:g} | {tally.cells()} |", flush=True)


def check_intervals(is_label: npt.NDArray[np.bool_], scores: Floats, rows: Rows) -> None:
    """Raise an error if the library has other intervals."""
    labels = [str(int(one)) for one in is_label]
    families = measure_labels(labels, labels, scores={"1": scores.tolist()})
    found = estimate_metrics(families, len(labels), metrics=("auc", "pr-auc"))
    ours, theirs = (
        np.array(ends, np.float64) for ends in ([row[1:] for row in rows], [(row.low, row.high) for row in found])
    )
    if not np.allclose(ours, theirs):
        raise RuntimeError(f"the library has the intervals {found}, not {rows}")


LEVELS = {"0.5": (0.5, 0.7), "0.9": (0.9, 0.8), "0.97": (0.97, 0.93), "most near 1": (0.8, 0.7)}
"""Expected scores of two models: right or wrong, or graded with a beta distribution. A third is like the first."""

UNITS = (
    ("1 answer", 1, 0.0),
    ("group of 4", 4, 0.0),
    ("2 runs", 2, 0.0),
    ("4 runs", 4, 0.0),
    ("2 runs that differ", 2, 0.05),
    ("4 runs that differ", 4, 0.05),
)
"""What an item has, the number of its answers, and the share of runs in the variance of what decides on an answer."""

_RANKS = np.linspace(0, 1, 4001)


@cache
def find_quantiles(level: float) -> Floats:
    """Return a table of the quantiles of graded scores, which take too long to compute for each answer."""
    return stats.beta.ppf(_RANKS, 6.25 * level, 6.25 * (1 - level))


def draw_models(
    generator: np.random.Generator, n: int, answers: int, levels: str, spread: float
) -> tuple[Floats, Floats, Floats]:
    """Return the scores of two equally good models and of another one, by item and answer, shape (items, answers)."""
    shared = np.sqrt(0.3) * generator.normal(size=(n, 1))
    found: list[Floats] = []
    for level in (LEVELS[levels][0], *LEVELS[levels]):
        own = np.sqrt(0.2) * generator.normal(size=(n, 1)) + np.sqrt(spread) * generator.normal(size=(1, answers))
        rank = stats.norm.cdf(shared + own + np.sqrt(0.5 - spread) * generator.normal(size=(n, answers)))
        if levels == "most near 1":
            found.append(np.interp(rank, _RANKS, find_quantiles(level)))
        else:
            found.append((rank > 1 - level).astype(np.float64))
    return found[0], found[1], found[2]


def cover_means(generator: np.random.Generator, repetitions: int) -> None:
    """Print coverage of means over items and runs, and of their differences."""
    names = ("share", "mean", "difference, equal", "difference, other")
    print(f"\n| scores | an item has | items | {' | '.join(names)} |\n|---|---|---|{'---|' * len(names)}")
    for levels, (unit, answers, spread) in product(LEVELS, UNITS):
        level, other = LEVELS[levels]
        for n in (5, 10, 20, 30, 50, 100, 400):
            tally = Tally(dict(zip(names, (level, level, 0.0, level - other), strict=True)))
            items = np.repeat(np.arange(n), answers)
            for _ in range(repetitions):
                models = draw_models(generator, n, answers, levels, spread)
                share = share_interval(models[0].ravel(), items, confidence=0.95)
                # The answers of a group are one value; those of several runs stay apart.
                tables = [scores.mean(axis=1, keepdims=True) if "group" in unit else scores for scores in models]
                mean = summarise_values(tables[0], lowest=0.0)
                tests = [compare_runs("", "", "", tables[0], table) for table in tables[1:]]
                tally.add(
                    [
                        ("share", share and share.low, share and share.high),
                        ("mean", mean["low"], mean["high"]),
                        *((name, test.low, test.high) for name, test in zip(names[2:], tests, strict=True)),
                    ]
                )
            print(f"| {levels} | {unit} | {n} | {tally.cells()} |", flush=True)


def find_scale(kind: str) -> tuple[Callable[[Floats], Floats], RatingScale]:
    """Return the function that turns impressions into ratings, and the rating scale."""
    if kind == "skewed":
        return lambda seen: np.clip(np.round(4.3 + 1.2 * seen), 0, 5), RatingScale(0, 5, 1)
    if kind == "halves":
        return lambda seen: np.clip(np.round((2.5 + 1.2 * seen) * 2) / 2, 0, 5), RatingScale(0, 5, 0.5)
    limit = stats.norm.ppf(1 - float(kind))
    return lambda seen: (seen > limit).astype(np.float64), RatingScale(0, 1, 1)


def draw_ratings(
    generator: np.random.Generator, n: int, raters: int, kind: str, correlation: float
) -> tuple[Floats, Rated]:
    """Return the true quality of the answers, and their ratings."""
    worth = generator.normal(size=n)
    error = np.sqrt(1 - correlation) * generator.normal(size=(n, raters))
    convert, scale = find_scale(kind)
    ratings = convert(np.sqrt(correlation) * worth[:, None] + error)
    by_rater, scales = {"accuracy": ratings}, {"accuracy": scale}
    return worth, make_rated(ratings=ratings.mean(axis=1), by_rater=by_rater, scales=scales)


def cover_agreement(generator: np.random.Generator, repetitions: int) -> None:
    """Print coverage of statistics of agreement."""
    for kinds, names in (
        (("0.5", "0.8", "0.9"), ("exact", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha_nominal")),
        (
            ("halves", "skewed"),
            ("exact", "mad", "gwet_ac2_quadratic", "krippendorff_alpha_interval", "icc_2_1", "icc_2_k"),
        ),
    ):
        print(f"\n| ratings | raters | correlation | n | {' | '.join(names)} |\n|---|---|---|---|{'---|' * len(names)}")
        for kind, raters, correlation, n in product(kinds, (2, 3), (0.6, 0.9), (30, 100)):
            whole = draw_ratings(generator, LARGE, raters, kind, correlation)[1]
            ratings, scale = whole.by_rater["accuracy"], whole.scales["accuracy"]
            found = {name: STATISTICS[name].measure(ratings, scale) for name in names}
            tally = Tally({name: one.value for name, one in found.items() if isinstance(one, AgreementStatistic)})
            for _ in range(repetitions):
                rated = draw_ratings(generator, n, raters, kind, correlation)[1]
                tally.add((row.statistic, row.low, row.high) for row in measure_agreement(rated, statistics=names))
            print(f"| {kind} | {raters} | {correlation:g} | {n} | {tally.cells()} |", flush=True)


def cover_ceilings(generator: np.random.Generator, repetitions: int) -> None:
    """Print coverage of ceilings."""
    print("\n| ratings | correlation | n | rho of the truth | r | rho | tau-b |\n|---|---|---|---|---|---|---|")
    for kind, correlation, n in product(("0.5", "0.9", "halves", "skewed"), (0.5, 0.8), (60, 200)):
        worth, whole = draw_ratings(generator, LARGE, 3, kind, correlation)
        means = whole.ratings[:, 0]
        # Raters err independently: what two of them share is the variance of the expected rating.
        covariances = np.cov(whole.by_rater["accuracy"], rowvar=False)
        shared = covariances[~np.eye(3, dtype=bool)].mean()
        tally = Tally(
            {
                "pearson": float(np.sqrt(shared / means.var())),
                "spearman": stats.spearmanr(worth, means).statistic,
                "kendall_tau_b": stats.kendalltau(worth, means).statistic,
            }
        )
        for _ in range(repetitions):
            rated = draw_ratings(generator, n, 3, kind, correlation)[1]
            tally.add((row.coefficient, row.low, row.high) for row in find_ceilings(rated))
        print(f"| {kind} | {correlation:g} | {n} | {tally.truth['spearman']:.3f} | {tally.cells()} |", flush=True)


PARTS = {
    "labels": cover_labels,
    "areas": cover_areas,
    "means": cover_means,
    "agreement": cover_agreement,
    "ceilings": cover_ceilings,
}


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--part", choices=tuple(PARTS))
    options = parser.parse_args()
    error = (0.95 * 0.05 / options.repetitions) ** 0.5
    print(f"{options.repetitions} repetitions (standard error {error:.1%}); coverage, and mean width.\n")
    for name, cover in PARTS.items():
        if options.part in (None, name):
            cover(np.random.default_rng(0), options.repetitions)


if __name__ == "__main__":
    main()
