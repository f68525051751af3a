"""Scores of shipped answers, from the texts to a study, as they were when `golden.json` was written.

A refactoring changes none of them. A change that is meant to raises the revision of a metric, extractor or matcher, and
writes the file anew: `IMAPEVAL_WRITE_TABLES=1 python -m pytest tests/test_golden.py`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from imapeval.evaluation.evaluate import evaluate_to_store
from imapeval.evaluation.pipeline import Pipeline, open_extractor, open_graph, open_matcher
from imapeval.evaluation.samples import read
from imapeval.evaluation.stores import InMemoryStore
from imapeval.metrics import registry
from imapeval.metrics.imapscore import score_graded
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.rated import Rated
from imapeval.types import Failure, KnownRelation, Match, Outcome, Pair, Relation, Sample, Score

FILE = Path(__file__).with_name("golden.json")
METRICS = [
    metric
    for metric in registry.all_metrics()
    # WordNet, which METEOR needs, is not on every computer; nor are weights.
    if not metric.requires & {"llm", "logprobs", "weights"} and not metric.name.startswith("meteor")
]
QUALITIES = {"right": 3, "reworded": 3, "too specific": 2, "partly right": 2, "vague": 1, "wrong": 0}


def read_samples() -> list[Sample]:
    """Both answers to one question of some tasks, in both languages."""
    found = re.compile("..-(advice|diagnosis|medicine|treatment)-1:.")
    return [sample for lang in ("en", "zh") for sample in read(f"sample-{lang}") if found.fullmatch(sample.id)]


def show_fact(pair: Pair) -> str:
    return f"{pair.term}: {pair.value} ({pair.polarity}, {pair.certainty})"


def show_match(match: Match) -> str:
    return f"{match.reference} | {match.response} | {match.relation} ({match.decided_by})"


def get_value(outcome: Outcome) -> float | None:
    return round(outcome.value, 5) if isinstance(outcome, Score) else None


async def score(samples: list[Sample]) -> tuple[InMemoryStore, list[float | None]]:
    """Score the samples from their texts; and once more from their imaps, with the relations as recorded ones."""
    graph, store = open_graph(), InMemoryStore()
    matcher = open_matcher(graph)
    await evaluate_to_store(samples, Pipeline(METRICS, open_extractor(graph), matcher), run=store)
    imaps = [
        replace(
            record.imap,
            relations=tuple(
                KnownRelation(match.term, match.reference, match.response, match.relation, match.other_term)
                for match in record.matches or ()
            ),
        )
        for record in store.imaps
    ]
    matched = await matcher.match(imaps, langs=[sample.lang for sample in samples])
    return store, [
        get_value(found if isinstance(found, Failure) else score_graded(imap, found))
        for imap, found in zip(imaps, matched, strict=True)
    ]


def study(samples: list[Sample], scores: dict[str, list[float | None]]) -> dict[str, list[float | None]]:
    """Correlate the metrics with the qualities of the answers."""
    questions = [sample.id.partition(":")[0] for sample in samples]
    rated = Rated(
        ids=tuple(sample.id for sample in samples),
        questions=np.unique(questions, return_inverse=True)[1],
        systems=tuple(sample.system or "" for sample in samples),
        metrics=tuple(scores),
        scores=np.array(list(scores.values()), dtype=np.float64).T,
        dimensions=("quality",),
        ratings=np.array([[QUALITIES[sample.meta["quality"]]] for sample in samples], dtype=np.float64),
    )
    rows = correlate(rated, levels=("within-system", "global"), resamples=50)
    return {
        f"{row.metric} {row.level} {row.system} {row.coefficient}": [
            None if number is None else round(number, 5) for number in (row.value, row.low, row.high)
        ]
        for row in rows
    }


def make_golden() -> dict[str, Any]:
    samples = read_samples()
    store, recorded = asyncio.run(score(samples))
    scores: dict[str, list[float | None]] = {metric.name: [] for metric in METRICS}
    for result in store.results:
        scores[result.metric].append(get_value(result.outcome))
    return {
        "facts": {record.id: list(map(show_fact, record.imap.response)) for record in store.imaps},
        "relations": {
            record.id: [show_match(m) for m in record.matches or () if m.relation is not Relation.UNMATCHED]
            for record in store.imaps
        },
        "scores": scores,
        "recorded": {"imapscore": recorded},
        "study": study(samples, {name: scores[name] for name in ("imapscore", "rouge1")}),
    }


def flatten(table: dict[str, list[float | None]]) -> list[float]:
    """Return the numbers of a table; NaN for none."""
    return [float("nan") if number is None else number for row in table.values() for number in row]


def test_scores_are_those_of_the_golden_file() -> None:
    golden = make_golden()
    if os.environ.get("IMAPEVAL_WRITE_TABLES"):
        # A value a line, so that a diff shows what a change moves.
        FILE.write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    expected = json.loads(FILE.read_text(encoding="utf-8"))
    assert golden["facts"] == expected["facts"]
    assert golden["relations"] == expected["relations"]
    for part in ("scores", "recorded", "study"):
        assert golden[part].keys() == expected[part].keys()
        # The last digits of an encoder's cosine depend on the processor.
        assert flatten(golden[part]) == pytest.approx(flatten(expected[part]), abs=3e-4, nan_ok=True), part
