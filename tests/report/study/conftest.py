"""A study of simulated answers. What takes long, or needs more answers, is made by hand: it is near enough."""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from math import erfc, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from imapeval.evaluation.runs import Run
from imapeval.report.study import comparisons, correlations, slices
from imapeval.study.agreement.measure import Agreement
from imapeval.study.agreement.noise_ceiling import Ceiling
from imapeval.study.agreement.rater_differences import Differences
from imapeval.study.correlation.levels import correlate
from imapeval.study.correlation.metric_matrix import correlate_metrics
from imapeval.study.data.findings import ALL, Comparison, Correlation
from imapeval.study.data.rated import Rated
from imapeval.study.data.scales import RatingScale
from imapeval.study.subgroups.disagreements import Disagreement, find_disagreements
from imapeval.study.subgroups.slices import slice_answers
from imapeval.study.summary.compute import Study

DIMENSIONS = ("accuracy", "completeness", "specificity")
SYSTEMS = ("HMedQA/GPT-4", "HMedQA/PaLM2", "iCliniq/ChatGPT", "iCliniq/GPT-4")
BINS = ("0", "0.5 to 1.5", "2 to 2.5", "3 to 3.5", "4 to 4.5", "5")
HOSTILE = '<img src=x onerror=alert(1)>$x_1$ & "q" 指标 😀'
"""Markup, a formula, quotes, Chinese, an emoji."""


def name_metrics(count: int) -> tuple[str, ...]:
    stems = (
        "imapscore imapscore:paper geval:completeness rouge1 rouge2 rougeL bleu chrf meteor bertscore moverscore "
        "bartscore bleurt comet entailment cosine token-f1 length-ratio"
    )
    names = [stem + ending for stem in stems.split() for ending in ("", "+imap", "+imap:pairs")]
    return tuple(names[:count])


def simulate(answers: int, metrics: tuple[str, ...], *, raters: int, seed: int = 1) -> Rated:
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(answers, 1))
    truth = quality * 0.9 + 0.45 * rng.normal(size=(answers, len(DIMENSIONS)))
    given = truth[:, :, None] + 0.5 * rng.normal(size=(answers, len(DIMENSIONS), max(1, raters)))
    grid = np.clip(np.round((2.8 + 1.1 * given) * 2) / 2, 0, 5)
    strength = np.linspace(0.95, 0.02, len(metrics))
    families = rng.normal(size=(answers, 6))
    scores = np.stack(
        [
            strength[m] * truth.mean(axis=1) + 0.7 * families[:, m % 6] + 0.5 * rng.normal(size=answers)
            for m in range(len(metrics))
        ],
        axis=1,
    )
    scores[rng.random(scores.shape) < 0.004] = np.nan
    half = answers // 2
    return Rated(
        ids=tuple(f"{SYSTEMS[n % 4]}:{n // 4}" for n in range(answers)),
        questions=np.array([n // 2 if n < half else n for n in range(answers)]),
        systems=tuple(SYSTEMS[n % 4] for n in range(answers)),
        metrics=metrics,
        scores=scores,
        dimensions=DIMENSIONS,
        ratings=grid.mean(axis=2),
        raters=tuple(f"rater {n + 1}" for n in range(raters)),
        by_rater={name: grid[:, place, :] for place, name in enumerate(DIMENSIONS)} if raters else {},
        scales={name: RatingScale(0, 5, 0.5) for name in DIMENSIONS},
        facets={"task": tuple(("diagnosis", "treatment", "advice")[n % 3] for n in range(answers))},
        covariates={"response characters": rng.lognormal(6, 0.5, answers), "compression": rng.beta(4, 6, answers)},
    )


def compare_all(rated: Rated, rows: list[Correlation]) -> list[Comparison]:
    """Compare all pairs, as if each difference had a standard error of .04."""
    values = {(row.metric, row.dimension): row for row in rows if row.system == ALL and row.level == "within-system"}
    found: list[Comparison] = []
    for dimension in (ALL, *rated.dimensions):
        for first, second in combinations(rated.metrics, 2):
            if (first, dimension) not in values:
                continue
            one, two = values[first, dimension], values[second, dimension]
            gap = p = holm = low = high = None
            reason, said = "a score is constant", ""
            if one.value is not None and two.value is not None:
                gap = one.value - two.value
                low, high = gap - 0.08, gap + 0.08
                p = max(0.0005, erfc(abs(gap) / 0.04 / sqrt(2)))
                holm = min(1.0, p * 40)
                reason = None
                said = f"{first} ({one.value:.2f}) and {second} ({two.value:.2f}): p = {holm:.3f} after Holm."
            found.append(
                Comparison(
                    first, second, "within-system", dimension, "spearman", one.value, two.value, gap, low, high,
                    "bootstrap", "perm-inputs", p, holm, one.n, one.n, reason, said,
                )
            )  # fmt: skip
    return found


def make_study(rated: Rated, *, title: str = "imapscore-dev") -> Study:
    rows = correlate(rated, coefficients=["spearman"], levels=["within-system", "global"], resamples=20)
    agreements = [
        Agreement(name, statistic, value, value - 0.06, value + 0.05, len(rated.ids), 3)
        for name in rated.dimensions
        for statistic, value in (("krippendorff_alpha_interval", 0.62), ("icc_2_1", 0.63), ("exact", 0.41))
    ]
    differences = [
        Differences(
            name, "rater 1", "rater 2", dict(zip(BINS, (0.41, 0.46, 0.09, 0.03, 0.01, 0.0), strict=True)), 0.71, 400
        )
        for name in rated.dimensions
    ]
    ceilings = [
        Ceiling(name, "spearman", 0.83, 0.91, 0.88, 0.93, 400, 3.0, level="within-system") for name in rated.dimensions
    ]
    return Study(
        title=title,
        rated=rated,
        signatures={metric: f"{metric}|v:1.0|lowercase:yes" for metric in rated.metrics},
        account=("400 of 400 answers have a rating.", "3 rated ids are in no run: x1, x2, x3."),
        correlations=tuple(rows),
        comparisons=tuple(compare_all(rated, rows)) if len(rated.metrics) > 1 else (),
        agreements=tuple(agreements) if rated.raters else (),
        differences=tuple(differences) if rated.raters else (),
        ceilings=tuple(ceilings)
        if rated.raters
        else (Ceiling("accuracy", "spearman", reason="only averages are known", level="within-system"),),
        slices=tuple(slice_answers(rated, metrics=rated.metrics[:6])),
        disagreements=tuple(find_disagreements(rated, next(iter(rated.metrics)), "accuracy")),
        matrix=correlate_metrics(rated) if len(rated.metrics) > 1 else None,
        level="within-system",
        coefficient="spearman",
        seed=1,
        resamples=2000,
        conclusions=(
            "imapscore agrees best with the raters: mean Spearman .61 (95% interval .55 to .67), n = 400.",
            "At n = 400, imapscore and imapscore:paper (.61 and .60) cannot be told apart (p = .31 after Holm).",
        ),
    )


@pytest.fixture(scope="session", autouse=True)
def drawings() -> Iterator[dict[bytes, str]]:
    """Draw only once what is drawn again with the same arguments: pages of several tests share most of their drawings.

    A test that needs new ones clears the dictionary.
    """
    drawn: dict[bytes, str] = {}

    def draw_once(draw: Callable[..., str]) -> Callable[..., str]:
        def look_up(*args: Any, **options: Any) -> str:
            key = pickle.dumps((draw.__name__, args, options))
            if key not in drawn:
                drawn[key] = draw(*args, **options)
            return drawn[key]

        return look_up

    with pytest.MonkeyPatch.context() as patch:
        for module in (comparisons, correlations, slices):
            for name in [name for name in vars(module) if name.startswith("draw_")]:
                patch.setattr(module, name, draw_once(getattr(module, name)))
        yield drawn


@pytest.fixture(scope="session")
def big() -> Study:
    """400 answers of four systems, 54 metrics, three dimensions, three raters."""
    return make_study(simulate(400, name_metrics(54), raters=3))


@pytest.fixture(scope="session")
def small() -> Study:
    """80 answers, three metrics, one of them constant for a system and with a name that must stay text."""
    rated = simulate(80, ("imapscore", "rouge1", HOSTILE), raters=0)
    scores = rated.scores.copy()
    scores[[system == SYSTEMS[0] for system in rated.systems], 2] = 0.5
    return make_study(replace(rated, scores=scores), title="A & <b>study</b>")


@pytest.fixture(scope="session")
def build() -> Callable[..., Study]:
    """Makes a study of some rated answers."""
    return make_study


@pytest.fixture(scope="session")
def draw_answers() -> Callable[..., Rated]:
    """Simulates rated answers."""
    return simulate


@pytest.fixture
def of_run(run: Path) -> tuple[Study, Run]:
    """A study of the answers of the run next door, in which all of them are far from the raters, and that run."""
    ids = tuple(sample.id for sample in Run(run).samples())
    rated = Rated(
        ids=ids,
        questions=np.arange(3),
        systems=("one", "two", "one"),
        metrics=("m",),
        scores=np.array([[0.8], [0.25], [np.nan]]),
        dimensions=("accuracy",),
        ratings=np.array([[1.25], [5.0], [3.0]]),
    )
    gaps = [
        Disagreement(id_, "m", "accuracy", 0.5, 3.0, rank, 1 - rank)
        for id_, rank in zip(ids, (1.0, 0.2, 0.4), strict=True)
    ]
    return replace(make_study(rated), disagreements=tuple(gaps)), Run(run)
