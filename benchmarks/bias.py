"""Coverage of the intervals of `study bias`, and how often a bias is shown where there is none.

python benchmarks/bias.py --repetitions 1000

Two systems answer each question; answers to the same question are correlated (intraclass correlation .3). System B's
answers are better by "better" standard deviations, and the metric scores them higher by a further "favour" that quality
does not explain. Three raters rate on a scale in half points; their noise has the same variance as the quality. The
true partial correlation is computed from 400,000 such answers with noise-free ratings.

The second table: answers are rated in two dimensions with a common part, length goes with completeness only, and the
metric is completeness and noise, so that every bias shown is a false one. Raters' noise is partly common to both
dimensions ("halo", standard deviation beside 1 of the rest).

The third table: two systems answer each question, which has a language and one of three tasks. Chinese answers, and
those of the first task, are better by one standard deviation ("better"), and the metric scores them higher by a further
"favour". The true partial correlations are computed with scipy from 400,000 such answers and their true quality.

The fourth table: four systems answer each question, two of them of the judge's own family. The others' answers are
better by "better" standard deviations, and the judge scores those of its family higher by a further "favour". The truth
is computed as for the third table.

With --part, one table.
"""

import argparse
from dataclasses import replace

import numpy as np
from rated_answers import make_rated
from scipy import stats

from imapeval.study.arrays import Floats
from imapeval.study.data.rated import Rated
from imapeval.study.subgroups.bias import OWN_FAMILY, Bias, measure_bias

CASES = [(n, better, favour) for n in (20, 50, 200) for better, favour in ((0.0, 0.0), (1.0, 0.0), (1.0, 0.5))]
RATERS = 3


def make(generator: np.random.Generator, n: int, better: float, favour: float, *, noise: float) -> Rated:
    """Make the answers of two systems to n questions."""
    of_b = np.arange(2 * n) % 2
    true = np.repeat(generator.normal(size=n), 2) * 0.3**0.5 + generator.normal(size=2 * n) * 0.7**0.5 + better * of_b
    given = np.round((true[:, None] + noise * generator.normal(size=(2 * n, RATERS)) + 2.5) * 2) / 2
    if not noise:
        given = true[:, None].repeat(RATERS, axis=1)
    return make_rated(
        true + favour * of_b + generator.normal(size=2 * n) * 0.7,
        given.mean(axis=1),
        by_rater={"accuracy": given},
        questions=np.arange(2 * n) // 2,
        systems=of_b,
    )


def make_two(generator: np.random.Generator, n: int, halo: float) -> Rated:
    """Make n answers to n questions, rated in two dimensions."""
    shared = generator.normal(size=n)
    true = {name: shared + generator.normal(size=n) for name in ("accuracy", "completeness")}
    mood = halo * generator.normal(size=(n, RATERS))
    given = {name: worth[:, None] + mood + generator.normal(size=(n, RATERS)) for name, worth in true.items()}
    return make_rated(
        true["completeness"] + 0.5 * generator.normal(size=n),
        by_rater=given,
        covariates={"length": true["completeness"] + generator.normal(size=n)},
    )


TASKS = ("diagnosis", "treatment", "advice")


def make_facets(
    generator: np.random.Generator, n: int, better: float, favour: dict[str, float]
) -> tuple[Rated, Floats]:
    """Make the answers of two systems to n questions in two languages and of three tasks, and their true quality.

    Args:
        generator: Source of random numbers.
        n: Number of questions.
        better: How much better Chinese answers and those of the first task are.
        favour: How much more the metric gives to answers in a language, or of a task, for nothing.
    """
    languages = np.array(["zh", "en"])[generator.integers(2, size=n)].repeat(2)
    tasks = np.array(TASKS)[generator.integers(3, size=n)].repeat(2)
    noise = np.repeat(generator.normal(size=n), 2) * 0.3**0.5 + generator.normal(size=2 * n) * 0.7**0.5
    true = noise + better * ((languages == "zh").astype(np.float64) + (tasks == TASKS[0]))
    given = np.round((true[:, None] + generator.normal(size=(2 * n, RATERS)) + 2.5) * 2) / 2
    favoured = np.sum([size * ((languages == name) | (tasks == name)) for name, size in favour.items()], axis=0)
    rated = make_rated(
        true + favoured + generator.normal(size=2 * n) * 0.7,
        given.mean(axis=1),
        by_rater={"accuracy": given},
        questions=np.arange(2 * n) // 2,
        systems=("a", "b") * n,
        facets={"language": tuple(languages.tolist()), "task": tuple(tasks.tolist())},
    )
    return rated, true


FAMILY = ("Qwen3-8B", "Qwen2.5-7B", "Llama-3.1-8B", "Mixtral-8x7B")
JUDGE = {"m": "judge|model:openai:Qwen/Qwen3-32B|v:1"}


def make_family(generator: np.random.Generator, n: int, better: float, favour: float) -> tuple[Rated, Floats]:
    """Make the answers of four systems to n questions, two of the judge's own family, and their true quality."""
    size = n * len(FAMILY)
    own = np.array([name.startswith("Qwen") for name in FAMILY] * n)
    noise = generator.normal(size=n).repeat(len(FAMILY)) * 0.3**0.5 + generator.normal(size=size) * 0.7**0.5
    true = noise + better * ~own
    given = np.round((true[:, None] + generator.normal(size=(size, RATERS)) + 2.5) * 2) / 2
    rated = make_rated(
        true + favour * own + generator.normal(size=size) * 0.7,
        given.mean(axis=1),
        by_rater={"accuracy": given},
        questions=np.arange(size) // len(FAMILY),
        systems=FAMILY * n,
    )
    return rated, true


def correlate_partially(score: Floats, given: Floats, quality: Floats) -> float:
    """Correlate what is left of the ranks of two columns after a regression on those of a third."""
    s, p, q = (stats.rankdata(side) for side in (score, given, quality))
    left = [side - np.polyval(np.polyfit(q, side, 1), q) for side in (s, p)]
    return float(np.corrcoef(*left)[0, 1])


def measure_systems(repetitions: int) -> None:
    """Print a row per number of questions, difference and favour."""
    print("| questions | better | favour | true | mean | coverage | shown | undefined |")
    print("|---|---|---|---|---|---|---|---|")
    for n, better, favour in CASES:
        (exact,) = measure_bias(make(np.random.default_rng(0), 200_000, better, favour, noise=0.0))
        generator = np.random.default_rng(n)
        rows = [measure_bias(make(generator, n, better, favour, noise=1.0))[0] for _ in range(repetitions)]
        true = exact.value or 0.0
        print(f"| {n} | {better} | {favour} | {true:.3f} | {' | '.join(summarize(rows, true))} |", flush=True)


def measure_dimensions(repetitions: int) -> None:
    """Print a row per number of questions, halo and what is held equal."""
    print("| questions | halo | held equal | mean | shown | undefined |")
    print("|---|---|---|---|---|---|")
    for n in (50, 200):
        for halo in (0.0, 0.5):
            generator = np.random.default_rng(n)
            studies = [measure_bias(make_two(generator, n, halo)) for _ in range(repetitions)]
            for place, held in enumerate(("both", "accuracy", "completeness")):
                mean, _, *others = summarize([rows[place] for rows in studies], 0.0)
                print(f"| {n} | {halo} | {held} | {' | '.join([mean, *others])} |", flush=True)


def measure_facets(repetitions: int) -> None:
    """Print a row per number of questions, favour and group of a facet."""
    print("| questions | better | favoured | answers | true | mean | coverage | shown | undefined |")
    print("|---|---|---|---|---|---|---|---|---|")
    favours = ((0.0, {}), (1.0, {}), (1.0, {"zh": 0.5}), (1.0, {TASKS[0]: 0.5}))
    for better, favour in favours:
        large, quality = make_facets(np.random.default_rng(0), 200_000, better, favour)
        for n in (30, 200):
            generator = np.random.default_rng(n)
            studies = [measure_bias(make_facets(generator, n, better, favour)[0]) for _ in range(repetitions)]
            for facet, group in (("language", "zh"), ("task", TASKS[0]), ("task", TASKS[1])):
                of_group = np.array([label == group for label in large.facets[facet]], dtype=np.float64)
                true = correlate_partially(large.scores[:, 0], of_group, quality)
                rows = [find_group(found, group) for found in studies]
                cells = " | ".join(summarize(rows, true))
                print(f"| {n} | {better} | {', '.join(favour) or '-'} | {group} | {true:.3f} | {cells} |", flush=True)


def measure_family(repetitions: int) -> None:
    """Print a row per number of questions, difference and favour."""
    print("| questions | better | favour | true | mean | coverage | shown | undefined |")
    print("|---|---|---|---|---|---|---|---|")
    for n, better, favour in CASES:
        large, quality = make_family(np.random.default_rng(0), 100_000, better, favour)
        of_own = np.array([system.startswith("Qwen") for system in large.systems], dtype=np.float64)
        true = correlate_partially(large.scores[:, 0], of_own, quality)
        generator = np.random.default_rng(n)
        rows: list[Bias] = []
        for _ in range(repetitions):
            found = measure_bias(make_family(generator, n, better, favour)[0], signatures=JUDGE)
            rows += [row for row in found if row.property == OWN_FAMILY]
        print(f"| {n} | {better} | {favour} | {true:.3f} | {' | '.join(summarize(rows, true))} |", flush=True)


def find_group(rows: list[Bias], group: str) -> Bias:
    """Return the row of a group; of two languages only one has a row, and that of the other is its negative."""
    for row in rows:
        if row.group == group:
            return row
    (other,) = [row for row in rows if row.property == "language"]
    if other.value is None or other.low is None or other.high is None:
        return other
    return replace(other, value=-other.value, low=-other.high, high=-other.low)


def summarize(rows: list[Bias], true: float) -> list[str]:
    """Return the mean, the coverage, the share shown and the share undefined."""
    found = [(row.value, row.low or 0.0, row.high or 0.0, row.shown) for row in rows if row.value is not None]
    values, low, high, shown = np.array(found, dtype=np.float64).T
    shares = values.mean(), ((low <= true) & (true <= high)).mean(), shown.mean(), 1 - len(found) / len(rows)
    return [f"{share:.3f}" for share in shares]


def main() -> None:
    """Print the tables."""
    parts = {
        "systems": measure_systems,
        "dimensions": measure_dimensions,
        "facets": measure_facets,
        "family": measure_family,
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--part", choices=parts)
    given = parser.parse_args()
    for name, measure in parts.items():
        if given.part in (None, name):
            measure(given.repetitions)
            print()


if __name__ == "__main__":
    main()
