"""A study with known true coefficients, to check every conclusion: `python benchmarks/known_study.py [--out DIR]`.

Three systems answer 80 questions; three raters rate accuracy and completeness on 0..5 by .5. Six metrics:

- `knows-accuracy` is accuracy plus noise, `knows-completeness` completeness plus noise, `knows-both` their mean;
- `noise` is unrelated to quality;
- `length` is the length of the answer, which correlates with completeness only between systems (long-winded systems are
  more complete), not within a system;
- `system` depends on the system only.

The true coefficients, those of 200,000 questions to the same systems, are printed beside those of the study, then every
conclusion of the page.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from imapeval.report.study.page import write_study
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import ALL
from imapeval.study.data.rated import Rated
from imapeval.study.data.ratings.collection import average_exactly
from imapeval.study.data.scales import RatingScale
from imapeval.study.summary.compute import compute_study

SYSTEMS, RATERS = 3, 3
METRICS = ("knows-accuracy", "knows-completeness", "knows-both", "noise", "length", "system")
DIMENSIONS = ("accuracy", "completeness")


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


def main() -> None:
    """Print the truth and the conclusions, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--level", default=None)
    parser.add_argument("--against", default=None)
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    study = compute_study(
        draw(np.random.default_rng(args.seed), args.questions),
        title="A study of which the truth is known",
        signatures={},
        level=args.level,
        against=args.against,
    )
    large = draw(np.random.default_rng(0), 20_000)
    truth = {
        (row.metric, row.level, row.dimension): row
        for level in ("within-system", "global", "system")
        for row in correlate(large, coefficients=("spearman",), levels=(level,), resamples=2)
        if row.system == ALL
    }
    print("| level | dimension | metric | true | in the study |\n|---|---|---|---|---|")
    for row in study.correlations:
        if (
            row.coefficient == "spearman"
            and (true := truth.get((row.metric, row.level, row.dimension)))
            and row.system == ALL
        ):
            shown = "undefined" if row.value is None else f"{row.value:.2f}"
            ends = "" if row.low is None else f" [{row.low:.2f}, {row.high:.2f}]"
            true_value = "undefined" if true.value is None else f"{true.value:.2f}"
            print(f"| {row.level} | {row.dimension} | {row.metric} | {true_value} | {shown}{ends} |")
    print("\n" + "\n".join(study.conclusions))
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
        write_study(study, args.out / "study.html")


if __name__ == "__main__":
    main()
