"""Combines several scores of one response: first over readings of its texts, then over references.

Pure functions, the same for every metric. A transient failure, such as a timeout of a language model, fails the whole
sample: a score must not depend on which requests happened to succeed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from imapeval.llm.protocol import PERMANENT_KINDS
from imapeval.metrics.base import range_parts
from imapeval.types import Failure, Lang, Outcome, Score, average_repetitions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

COMBINED_PARTS = range_parts(shares=("stability",), counts=("reference", "references"))
"""The ranges of the parts that are added here."""

References = Literal["best", "mean", "consensus"]
"""How the scores against several references are combined; see `combine_references`."""


def combine_readings(outcomes: Sequence[Outcome], span: tuple[float | None, float | None]) -> Outcome:
    """Return the mean over several readings of the same texts, of the value and of each part.

    Readings without a score are ignored as long as more than half have one.

    Args:
        outcomes: Outcomes of one metric, one per reading; a single one is returned unchanged.
        span: The metric's range.

    Returns:
        The mean score, or the first failure. The part `stability`, in 0..1, measures the agreement of its repetitions
        (`Score.repetitions`): 1 minus the mean absolute difference between the scores of two repetitions, divided by
        the width of the metric's range. A repetition is a single judgement of a single reading, before any mean is
        taken. The part is absent if nothing was repeated or the range is unbounded.
    """
    scores = [outcome for outcome in outcomes if isinstance(outcome, Score)]
    if failure := _find_failure(outcomes, needed=len(outcomes) // 2 + 1):
        return failure
    rows = [row for score in scores for row in score.repetitions or ((score.value,),)]
    # Where a judgement failed, its row is shorter.
    columns = min(map(len, rows))
    if len(rows) == columns == 1:
        return scores[0]
    mean = _average(scores) if len(scores) > 1 else scores[0]
    mean = replace(mean, repetitions=tuple(row[:columns] for row in rows))
    low, high = span
    if low is None or high is None:
        return mean
    distance = fmean(_compare_repetitions(mean.repetitions)) / (high - low)
    return replace(mean, parts={**mean.parts, "stability": min(1.0, max(0.0, 1 - distance))})


def _compare_repetitions(rows: Sequence[Sequence[float]]) -> Iterator[float]:
    """Yield the distance of any two repetitions: of different readings and judgements, if there are several of each."""
    cells = [(i, j, value) for i, row in enumerate(rows) for j, value in enumerate(row)]
    for (i, j, a), (k, m, b) in combinations(cells, 2):
        if (i != k or len(rows) == 1) and (j != m or len(rows[0]) == 1):
            yield abs(a - b)


def combine_references(
    outcomes: Sequence[Outcome],
    texts: Sequence[str],
    *,
    references: References,
    higher_is_better: bool,
    lang: Lang,
) -> Outcome:
    """Return one outcome for a response that was scored against several references.

    References without a score, such as one that states no fact, are ignored.

    - "best": the best score; its part `reference` is the reference's index.
    - "mean": the mean of the scores, and of every part that all of them have.
    - "consensus": the mean weighted by how much each reference agrees with the others (`reference_weights`), so that
      what several references say counts for more than what only one says. For two references it equals the mean.

    For the last two, the part `references` is the number of references with a score.

    Args:
        outcomes: Outcomes of one metric, one per reference; a single one is returned unchanged.
        texts: The references.
        references: Which of the three.
        higher_is_better: Whether higher scores of the metric are better.
        lang: Language of the references.

    Returns:
        The score; or the first failure if there is no score for any reference.
    """
    if failure := _find_failure(outcomes, needed=1):
        return failure
    if len(outcomes) == 1:
        return outcomes[0]
    scores = {index: outcome for index, outcome in enumerate(outcomes) if isinstance(outcome, Score)}
    if references == "best":
        choose = max if higher_is_better else min
        best = choose(scores, key=lambda index: scores[index].value)
        return replace(scores[best], parts={**scores[best].parts, "reference": float(best)})
    weights = reference_weights(texts, lang) if references == "consensus" else [1.0] * len(texts)
    mean = _average(list(scores.values()), [weights[index] for index in scores])
    return replace(mean, parts={**mean.parts, "references": float(len(scores))})


def reference_weights(texts: Sequence[str], lang: Lang) -> list[float]:
    """Return how much each reference agrees with the others: the mean F1 of its words and those of each other one.

        w_i = mean over j other than i of 2 |words_i and words_j| / (|words_i| + |words_j|)

    Words are tokens of the metric `token-f1`, with multiplicity; references without words have weight 0. This is the
    expected utility by which minimum Bayes risk decoding chooses among candidates (Kumar and Byrne 2004;
    Freitag et al. 2022).

    Args:
        texts: At least 2 references.
        lang: Their language.

    Returns:
        Weights in 0..1.
    """
    from imapeval.metrics.lexical.tokens import split_for_squad

    words = [Counter(split_for_squad(text, lang)) for text in texts]
    return [fmean(_token_f1(a, b) for j, b in enumerate(words) if j != i) for i, a in enumerate(words)]


def _token_f1(a: Counter[str], b: Counter[str]) -> float:
    return 2 * (a & b).total() / max(1, a.total() + b.total())


def _find_failure(outcomes: Sequence[Outcome], *, needed: int) -> Failure | None:
    """Return the first transient failure, or the first failure if fewer than `needed` outcomes are scores."""
    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    passing = next(filter(_is_transient, failures), None)
    return failures[0] if passing is None and len(outcomes) - len(failures) < needed else passing


def _is_transient(failure: Failure) -> bool:
    return failure.kind == "internal" or (failure.stage == "llm" and failure.kind not in PERMANENT_KINDS)


def _average(scores: Sequence[Score], weights: Sequence[float] | None = None) -> Score:
    """Return the (weighted) mean of the values and of the parts that all scores have."""
    used = weights if weights and any(weights) else None
    shared = [name for name in scores[0].parts if all(name in score.parts for score in scores)]
    return Score(
        _mean([score.value for score in scores], used),
        {name: _mean([score.parts[name] for score in scores], used) for name in shared},
        average_repetitions(scores, used),
    )


def _mean(values: Sequence[float], weights: Sequence[float] | None) -> float:
    """Return the weighted mean, which rounding must not carry out of the values' range."""
    return min(max(values), max(min(values), fmean(values, weights)))
