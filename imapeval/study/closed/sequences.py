"""Tags of tokens: entities by seqeval, as the CoNLL-2000 script reads them."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from imapeval._optional import require
from imapeval.study.closed.counting import measure_sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.closed.estimate import MetricFamily


def measure_sequences(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> list[MetricFamily]:
    """Measure tagged sequences: entity-level precision, recall and F1 (micro, macro, weighted over types).

    An entity is right where its type, its first and its last token are. Tags are `O` or a letter of B, I, E, S, a
    hyphen and a type, such as `B-DRUG`; an entity may begin with I, as seqeval's default mode allows. Whole sequences
    are drawn for the interval.

    Args:
        gold: The right tags of each sequence.
        predicted: Those that were given, as many.

    Raises:
        MissingExtraError: seqeval or scikit-learn is not installed.
        ValueError: The lengths of two sequences differ.
    """
    labelling: Any = require(
        "seqeval.metrics.sequence_labeling", distribution="seqeval", extra="closed", needed_for="The task 'sequence'"
    )
    for row, (right, given) in enumerate(zip(gold, predicted, strict=True), 1):
        if len(right) != len(given):
            raise ValueError(f"sequence {row} has {len(right)} right tags and {len(given)} predicted ones")
    expected, found = ([_find_entities(labelling, tags) for tags in side] for side in (gold, predicted))
    return [measure_sets(expected, found, label=itemgetter(0))]


def _find_entities(labelling: Any, tags: Sequence[str]) -> set[tuple[str, int, int]]:
    """Return type, first and last token of each entity."""
    # seqeval would take an empty list for one of sequences.
    return set(labelling.get_entities(list(tags))) if tags else set()
