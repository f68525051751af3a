"""All findings about the answers of some models to closed questions: what tables, the page and JSON are made of."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.errors import UsageError
from imapeval.study.closed.comparison import ACCURACY, compare_models, gather_models
from imapeval.study.closed.models import measure_order_effects, summarise_models
from imapeval.study.systems.ranking import rank_systems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.closed.comparison import RunTest
    from imapeval.study.closed.logs import ClosedAnswer
    from imapeval.study.closed.models import ModelResult, OrderEffect
    from imapeval.study.closed.open_metrics import OpenFindings
    from imapeval.study.systems.differences import Difference
    from imapeval.study.systems.ranking import Standing


@dataclass(frozen=True, slots=True)
class ClosedFindings:
    """What the logs show.

    Attributes:
        models: Each model on each task.
        orders: Each model on questions with options in several orders.
        leaderboard: Models over all tasks; empty with one model.
        differences: Of the models in pairs, over all tasks and within each.
        runs: Pairs of models with several runs.
        open: Open answers to the same items; None without any.
        metric: What was compared.
        seed: Random seed of intervals and p-values.
        left_out: Number of answers to open-ended questions, by task: they have no right option.
    """

    models: Sequence[ModelResult]
    orders: Sequence[OrderEffect]
    leaderboard: Sequence[Standing]
    differences: Sequence[Difference]
    runs: Sequence[RunTest]
    open: OpenFindings | None
    metric: str
    seed: int
    left_out: Mapping[str, int]

    def describe_left_out(self) -> str:
        """Return a sentence on the open-ended tasks, "" if there are none."""
        tasks = ", ".join(f"{task} ({count} answers)" for task, count in self.left_out.items())
        return f"Left out, open-ended: {tasks}. Score them with `imapeval score`." if tasks else ""


def analyse_closed_answers(
    answers: Sequence[ClosedAnswer],
    opened: OpenFindings | None = None,
    *,
    metric: str | None = None,
    against: str | None = None,
    margin: float | None = None,
    seed: int = 0,
) -> ClosedFindings:
    """Summarise and compare the models.

    Args:
        answers: Of one model or more; those to open-ended questions, without labels, are left out.
        opened: What open answers to the same items show; passed on.
        metric: A metric of the logs to compare models by; None takes the accuracy of what was read.
        against: Compare each of the other models with this one; None compares all pairs.
        margin: Difference below which two models count as equivalent.
        seed: Random seed of intervals and permutations.

    Raises:
        UsageError: All questions are open-ended, there is no such metric or model, or there is one model to compare.
        MissingExtraError: scipy is not installed, which several runs need.
    """
    left_out = Counter(answer.task for answer in answers if not answer.labels)
    answers = [answer for answer in answers if answer.labels]
    if not answers:
        raise UsageError(f"all questions are open-ended: {', '.join(left_out)}. Score them with `imapeval score`.")
    differences: Sequence[Difference] = ()
    tests: Sequence[RunTest] = ()
    standings: Sequence[Standing] = ()
    if len({answer.model for answer in answers}) > 1:
        differences, tests = compare_models(answers, metric=metric, against=against, margin=margin, seed=seed)
        standings = rank_systems(gather_models(answers, metric=metric), differences, seed=seed)
    elif against or metric or margin:
        raise UsageError("all answers are of one model. Give the logs of another one to compare it with.")
    return ClosedFindings(
        summarise_models(answers),
        measure_order_effects(answers),
        standings,
        differences,
        tests,
        opened,
        metric or ACCURACY,
        seed,
        left_out,
    )
