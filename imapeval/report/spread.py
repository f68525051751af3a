"""How far scores move when texts are read or answers rated again, in a run with `--votes`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from imapeval.report.thresholds import list_repetitions
from imapeval.study.robustness.score_variance import count_flips, split_variance
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.evaluation.runs import Result
    from imapeval.report.thresholds import AnswerVerdict, Threshold


@dataclass(frozen=True, slots=True)
class AnswerSpread:
    """One answer's score over its repetitions.

    Attributes:
        score: The mean over all repetitions.
        sd: Standard deviation of a single repetition: one reading with one judgement.
        verdict: On the score; None without a threshold.
    """

    id: str
    score: float
    sd: float
    verdict: AnswerVerdict | None


@dataclass(frozen=True, slots=True)
class MetricSpread:
    """The scores of a metric over their repetitions.

    Attributes:
        readings, judgements: Number of repetitions of most answers; 1 for what was not repeated.
        sd: Standard deviation of the score of one answer with one reading and one judgement.
        sd_of_mean: The same for the scores of the run, the means over all repetitions.
        flips: Share of answers on different sides of the threshold by two single repetitions, measured; None without a
            threshold.
        flips_of_mean: Share of answers whose score would be on the other side if everything was repeated, predicted for
            normal scores with the estimated variance (`imapeval.study.robustness.score_variance`).
        answers: The answers with so many repetitions; others, such as those with a failed reading, are left out.
    """

    metric: str
    readings: int
    judgements: int
    sd: float
    sd_of_mean: float
    flips: float | None
    flips_of_mean: float | None
    answers: tuple[AnswerSpread, ...]

    def count(self, word: str) -> int | None:
        """Return the number of answers with that verdict (`AnswerVerdict.word`); None without a threshold."""
        verdicts = [answer.verdict.word for answer in self.answers if answer.verdict is not None]
        return verdicts.count(word) if verdicts else None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "metric": self.metric,
            "readings": self.readings,
            "judgements": self.judgements,
            "sd": self.sd,
            "sd_of_mean": self.sd_of_mean,
            "flips": self.flips,
            "flips_of_mean": self.flips_of_mean,
            "answers": [
                {"id": one.id, "score": one.score, "sd": one.sd, "verdict": one.verdict and one.verdict.to_dict()}
                for one in self.answers
            ],
        }


def measure_spread(
    results: Sequence[Result],
    thresholds: Sequence[Threshold] = (),
    *,
    questions: Mapping[str, str],
    seed: int = 0,
) -> list[MetricSpread]:
    """Return how far the scores of each metric move when they are repeated; metrics without repetitions are left out.

    The thresholds are limits on the scores of single answers; `questions` are by the answers' ids.
    """
    limits = {threshold.metric: threshold for threshold in thresholds}
    scores: dict[str, dict[str, Score]] = {}
    for result in results:
        if isinstance(result.outcome, Score) and len(list_repetitions(result.outcome)) > 1:
            scores.setdefault(result.metric, {})[result.id] = result.outcome
    return [
        _measure(metric, found, limits.get(metric), questions=questions, seed=seed) for metric, found in scores.items()
    ]


def _measure(
    metric: str, scores: Mapping[str, Score], limit: Threshold | None, *, questions: Mapping[str, str], seed: int
) -> MetricSpread:
    shapes = {name: (len(score.repetitions), len(score.repetitions[0])) for name, score in scores.items()}
    (readings, judgements), _ = Counter(shapes.values()).most_common(1)[0]
    whole = {name: score for name, score in scores.items() if shapes[name] == (readings, judgements)}
    table = np.array([score.repetitions for score in whole.values()])[:, :, np.newaxis, :]
    variance = split_variance(table, questions=[questions[name] for name in whole], seed=seed)
    once = of_mean = None
    if limit is not None:
        flips = count_flips(table, limit.value, higher_is_better=limit.higher_is_better, seed=seed)
        once, of_mean = flips[0].measured, flips[-1].predicted
    return MetricSpread(
        metric=metric,
        readings=readings,
        judgements=judgements,
        sd=variance.sd,
        sd_of_mean=variance.sd_with_votes,
        flips=once,
        flips_of_mean=of_mean,
        answers=tuple(
            AnswerSpread(
                name, score.value, stdev(list_repetitions(score)), None if limit is None else limit.judge(score)
            )
            for name, score in whole.items()
        ),
    )
