"""How close `study latent` comes to the truth, compared with the mean rating, and how well it estimates the raters.

python benchmarks/latent_truth.py --repetitions 1000

True categories, the higher the more frequent, are perceived with logistic noise by raters of given detections (1 is
poor, 4 good), whose boundaries lie up to .3 categories too low or too high. Error: root mean square distance from the
truth. "shared" is the standard deviation of an error that all raters share, which no model can see.
"""

import argparse

import numpy as np

from imapeval.study.agreement.latent_truth import MODELS, estimate_truth

CASES = [
    (100, (2, 3, 4), 5, 0.0),
    (400, (2, 3, 4), 5, 0.0),
    (400, (1, 2.5, 4), 5, 0.0),
    (400, (1, 1, 1), 5, 0.0),
    (400, (2, 3, 4, 3, 3), 5, 0.0),
    (400, (3, 3, 3), 11, 0.0),
    (400, (2, 3, 4), 5, 0.5),
]


def make(generator: np.random.Generator, n: int, detections: tuple[float, ...], size: int, shared: float) -> tuple:
    """Return true categories and ratings."""
    shares = np.arange(1, size + 1) / np.arange(1, size + 1).sum()
    truth = generator.choice(size, p=shares, size=n)
    seen = truth + shared * generator.normal(size=n)
    columns = []
    for detection in detections:
        boundaries = np.arange(0.5, size - 1) + generator.uniform(-0.3, 0.3)
        columns.append(np.searchsorted(boundaries, seen + generator.logistic(size=n) / detection))
    return truth, np.column_stack(columns).astype(np.float64)


def main() -> None:
    """Print a row per case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    repetitions = parser.parse_args().repetitions
    print("| answers | raters' detections | categories | shared | error of the mean rating | nominal | ordinal "
          "| share right: off by, nominal | ordinal |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for n, detections, size, shared in CASES:
        generator, errors, off = np.random.default_rng(1), [], []
        for _ in range(repetitions):
            truth, ratings = make(generator, n, detections, size, shared)
            found = [
                estimate_truth(
                    "accuracy",
                    ratings,
                    model=model,
                    ids=tuple(map(str, range(n))),
                    raters=tuple(map(str, range(len(detections)))),
                    possible=tuple(map(float, range(size))),
                )
                for model in MODELS
            ]
            golds = [ratings.mean(axis=1), *(np.array(one.gold) for one in found)]
            errors.append([np.mean((gold - truth) ** 2) for gold in golds])
            real = np.mean(ratings == truth[:, None], axis=0)
            off.append(
                [np.mean([abs(r.right - share) for r, share in zip(one.raters, real, strict=True)]) for one in found]
            )
        cells = " | ".join(f"{value:.2f}" for value in np.sqrt(np.mean(errors, axis=0)))
        rights = " | ".join(f"{value:.3f}" for value in np.mean(off, axis=0))
        names = ", ".join(f"{detection:g}" for detection in detections)
        print(f"| {n} | {names} | {size} | {shared} | {cells} | {rights} |", flush=True)


if __name__ == "__main__":
    main()
