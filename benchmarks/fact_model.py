"""Test the small model that ships with imapeval: `python benchmarks/fact_model.py`.

Prints recall and precision by relation, and the average precision of telling facts that agree from others, on facts
that the model was not trained on: every sixth line of `relation_items.jsonl`, `set_items.jsonl`, and
`answer_items.jsonl` (facts of whole answers); which relations are found between the single facts of `short_pairs.tsv`
(ordinary terms, opposites, amounts), `value_pairs.tsv` (many of them traps), `everyday_pairs.tsv` (hardly a word in
common) and `field_pairs.tsv` (by field of medicine), with the model and without; and how often a right answer scores
above a wrong one, also on the texts of `reworded_items.jsonl`: a right answer in other words, and one in the
reference's words that reverses most facts.
"""

from __future__ import annotations

import asyncio
import csv
import json
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from imapeval.evaluation.pipeline import open_graph
from imapeval.extraction.lexicon.reader import LexiconReader
from imapeval.extraction.protocols import TwoStepExtractor
from imapeval.fact_model import RELATIONS, open_fact_model
from imapeval.graph.encoder import open_encoder
from imapeval.graph.index.names import NameIndex
from imapeval.matching.hybrid import HybridMatcher
from imapeval.matching.learned import combine_agreement
from imapeval.metrics.imapscore import score_graded
from imapeval.types import Imap, Lang, Pair, Sample, Score

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]
DATA = Path(__file__).parent
HELD_OUT_EVERY = 6
"""Every sixth line of `relation_items.jsonl` is held out from training."""
NOT_FOR_TRAINING = ("held", "blind", "rules")
"""Splits of `field_pairs.tsv`: pairs by four writers; ordinary ones, written last; and those that led to rules."""

Sides = tuple[list[str], list[str], Lang]
"""The facts of a reference and of a response, and their language."""


def main() -> None:
    """Test."""
    lines = (DATA / "relation_items.jsonl").read_text(encoding="utf-8").splitlines()
    report_sets("relation_items.jsonl, held out", lines[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY])
    for name in ("set_items.jsonl", "answer_items.jsonl"):
        report_sets(name, (DATA / name).read_text(encoding="utf-8").splitlines())
    for name in ("short_pairs.tsv", "value_pairs.tsv", "everyday_pairs.tsv", "field_pairs.tsv"):
        for split in NOT_FOR_TRAINING if name == "field_pairs.tsv" else ("",):
            asyncio.run(report_pairs(name, split))
    asyncio.run(report_texts())


@cache
def open_without_model() -> HybridMatcher:
    """Return the matcher without the model, which training needs before there is one."""
    graph, encoder = open_graph(), open_encoder("use")
    return HybridMatcher(graph, encoder, NameIndex.open_or_build(graph, encoder))


@cache
def open_both() -> dict[str, HybridMatcher]:
    """Return the matcher with the model and without, by what to call them."""
    without = open_without_model()
    return {"with the model": replace(without, facts=open_fact_model()), "without": without}


async def report_pairs(name: str, split: str) -> None:
    """Print which relations between single facts are found, with the model and without; "" for files without splits."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = [row for row in rows if row.get("split", "") == split]
    imaps = [Imap((), (), _make_pairs([row["reference"]]), _make_pairs([row["response"]])) for row in rows]
    langs = [row["lang"] for row in rows]
    wanted = np.array([RELATIONS.index(row["expected"]) for row in rows])
    for label, matcher in open_both().items():
        matched = await matcher.match(imaps, langs=langs)
        found = [matches[0].relation.value for matches in matched if isinstance(matches, tuple)]
        report_relations(f"{f'{name} {split}'.rstrip()}, {label}", wanted, np.array(list(map(RELATIONS.index, found))))


def measure_similarities(sides: Sequence[Sides]) -> list[np.ndarray]:
    """Return the similarities of all pairs as the model is given them, shape (reference, response) for each."""
    matcher = open_without_model()
    imaps = [Imap((), (), _make_pairs(reference), _make_pairs(response)) for reference, response, _ in sides]
    found: list[np.ndarray] = []
    for start in range(0, len(imaps), 400):
        part = slice(start, start + 400)
        matched = asyncio.run(matcher.match(imaps[part], langs=[lang for *_, lang in sides[part]]))
        for (reference, response, _), matches in zip(sides[part], matched, strict=True):
            assert isinstance(matches, tuple)
            known = {(match.reference, match.response): match.similarity for match in matches}
            found.append(np.array([[known[one, other] for other in response] for one in reference]))
    return found


def _make_pairs(values: Sequence[str]) -> tuple[Pair, ...]:
    return tuple(Pair("fact", value) for value in dict.fromkeys(values))


def report_sets(name: str, lines: Sequence[str]) -> None:
    """Print the figures of sets with a right and a wrong answer each."""
    records = [json.loads(line) for line in lines]
    sides: list[Sides] = []
    relations: list[np.ndarray] = []
    for record in records:
        for side in ("right", "wrong"):
            reference, response = ([value for _, value in record[part]] for part in ("reference", side))
            sides.append((reference, response, record["lang"]))
            wanted = np.zeros((len(reference), len(response)), dtype=int)
            for row, column, relation in record["relations"][side]:
                wanted[row, column] = RELATIONS.index(relation)
            relations.append(wanted)
    similarities = measure_similarities(sides)
    model = open_fact_model()
    probabilities = [model.relate(*side[:2], known) for side, known in zip(sides, similarities, strict=True)]
    report(
        name,
        np.concatenate([one.ravel() for one in relations]),
        np.concatenate([one.reshape(-1, len(RELATIONS)) for one in probabilities]),
        similarities,
    )
    alone = [np.sqrt(one) for one in similarities]
    both = [np.sqrt(combine_agreement(one, known)) for one, known in zip(probabilities, similarities, strict=True)]
    for label, earned in (("model and similarity", both), ("similarity alone", alone)):
        scores = [(one.max(1).mean() + one.max(0).mean()) / 2 for one in earned]
        above = sum(right > wrong for right, wrong in zip(scores[::2], scores[1::2], strict=True))
        means = np.mean(scores[::2]), np.mean(scores[1::2])
        print(f"  {label}: right above wrong {above} of {len(records)}, means {means[0]:.3f} and {means[1]:.3f}")


async def report_texts() -> None:
    """Print how often the reworded answer to a question scores above the wrong one, with the model and without."""
    lines = (DATA / "reworded_items.jsonl").read_text(encoding="utf-8").splitlines()
    for lang, (label, matcher) in product(("en", "zh"), open_both().items()):
        items = [item for item in map(json.loads, lines) if item["lang"] == lang]
        extractor = TwoStepExtractor(LexiconReader(matcher.graph, matcher.facts))
        scores: dict[str, list[float]] = {"reworded": [], "wrong": []}
        for item in items:
            for side, found in scores.items():
                sample = Sample(item["id"], item["question"], (item["reference"],), item[side], lang)
                (imap,) = await extractor.extract(sample)
                (matches,) = await matcher.match([imap], langs=[sample.lang])
                assert isinstance(matches, tuple)
                outcome = score_graded(imap, matches)
                found.append(outcome.value if isinstance(outcome, Score) else 0.0)
        above = sum(right > wrong for right, wrong in zip(*scores.values(), strict=True))
        means = [np.mean(found) for found in scores.values()]
        print(
            f"reworded_items.jsonl, {lang}, {label}: reworded above wrong {above} of {len(items)}, "
            f"means {means[0]:.3f} and {means[1]:.3f}"
        )


def report_relations(name: str, wanted: np.ndarray, predicted: np.ndarray) -> None:
    """Print recall and precision by relation."""
    print(f"{name}: {len(wanted)} pairs, {np.mean(predicted == wanted):.3f} right")
    for place, relation in enumerate(RELATIONS):
        hits = int(np.sum((predicted == place) & (wanted == place)))
        actual, named = int(np.sum(wanted == place)), int(np.sum(predicted == place))
        print(f"  {relation}: {actual} pairs, recall {hits / max(1, actual):.2f}, precision {hits / max(1, named):.2f}")


def report(name: str, wanted: np.ndarray, probabilities: np.ndarray, similarities: Sequence[np.ndarray]) -> None:
    """Print recall and precision by relation, and the average precision of agreement."""
    report_relations(name, wanted, probabilities.argmax(axis=1))
    agrees = (wanted > 0) & (wanted < RELATIONS.index("contradiction"))
    given = np.concatenate([one.ravel() for one in similarities])
    for label, scores in (("model", probabilities[:, 1:4].sum(1)), ("similarity", given)):
        found = agrees[np.argsort(-scores, kind="stable")]
        precision = np.cumsum(found) / np.arange(1, len(found) + 1)
        print(f"  agreement, average precision by {label}: {precision[found].mean():.3f}")


if __name__ == "__main__":
    main()
