"""Training data of the small model that ships with imapeval; all of it is in this repository.

- `fact_items.jsonl`: pairs of answers that language models wrote, and whose facts, as the offline extractor reads them,
  language models related: 1,830 pairs (915 questions) as people and chatbots write them, whose facts are weighed as
  well (0, 1 or 2: how much a fact matters); 2,912 (1,456) with a right answer in other words, or one in the
  reference's words that reverses most facts; 958 (479) with a right one in its words, or a wrong one in other words;
- pairs composed of these: facts of a response that equal the reference's, and the other response to the question;
- `relation_items.jsonl`: facts that language models wrote outright, without every sixth line, which is held out;
- `tests/matching/relation_pairs.tsv`, `free_pairs.tsv` and the split "train" of `field_pairs.tsv`: single pairs;
- facts of `fact_items.jsonl`, each paired with a trivially altered copy of itself: otherwise the model learns that
  facts in nearly the same words contradict each other, as in the wrong answers above.
"""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from fact_model import DATA, HELD_OUT_EVERY, NOT_FOR_TRAINING, ROOT, measure_similarities

from imapeval.fact_model import RELATIONS, measure_overlaps, shorten_question

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OPENINGS = {
    "en": (
        "I think ",
        "In your case, ",
        "As I said, ",
        "Well, ",
        "Usually, ",
        "Please note: ",
        "In general, ",
        "Of course ",
    ),
    "zh": ("其实", "一般", "通常", "我认为", "据您所述，", "总的来说，", "请注意，", "当然，"),
}
ENDINGS = {
    "en": (" in your case", " as well", ", of course", ", as a rule", " in general", " here", " as I said"),
    "zh": ("哦", "的", "呢", "，您这个情况", "为好", "就可以了", "吧"),
}
"""Words that change nothing in a fact."""
MIN_EQUAL = 2
"""Minimum number of facts of a response that equal the reference's for it to serve as a reference."""
STRENGTH = ("contradiction", "belonging", "containment", "exact")
"""The relations, weakest first: where one fact stands for several of the reference's, the last of theirs counts."""


@dataclass(frozen=True)
class Item:
    """Two lists of facts, the relation of every pair, and how much each matters; None where nobody has weighed it."""

    question: str
    reference: list[str]
    response: list[str]
    relations: np.ndarray
    importance: list[int] | None
    features: np.ndarray


def load_items() -> list[Item]:
    """Load the answers whose facts were related and weighed."""
    records = [json.loads(line) for line in (DATA / "fact_items.jsonl").read_text(encoding="utf-8").splitlines()]
    records += list(compose(records))
    sides = [(record["reference"], record["response"], record["lang"]) for record in records]
    return [
        make_item(
            shorten_question(record["question"]),
            *side[:2],
            record["relations"],
            similarities,
            importance=[int(digit) for side in ("reference", "response") for digit in record["importance"][side]]
            if "importance" in record
            else None,
        )
        for record, side, similarities in zip(records, sides, measure_similarities(sides), strict=True)
    ]


def compose(records: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield pairs of responses to a question: facts of one that equal the reference's stand for these."""
    questions: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        questions[record["question"], *record["reference"]].append(record)
    for one, other in (pair for group in questions.values() for pair in permutations(group, 2)):
        equal: dict[int, list[int]] = defaultdict(list)
        for row, column, relation in one["relations"]:
            if relation == "exact" and one["response"][column] != one["reference"][row]:
                equal[column].append(row)
        if len(equal) < MIN_EQUAL:
            continue
        related: dict[tuple[int, int], str] = {}
        for number, column in enumerate(sorted(equal)):
            found = [relation for relation in other["relations"] if relation[0] in equal[column]]
            for _, place, relation in sorted(found, key=lambda relation: STRENGTH.index(relation[2])):
                related[number, place] = relation
            for place, fact in enumerate(other["response"]):
                if fact == one["response"][column]:
                    related[number, place] = "exact"
        yield {
            "lang": one["lang"],
            "question": one["question"],
            "reference": [one["response"][column] for column in sorted(equal)],
            "response": other["response"],
            "relations": [(*places, relation) for places, relation in related.items()],
        }


def load_sets() -> list[Item]:
    """Load the facts that were written outright, without those held out."""
    lines = (DATA / "relation_items.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for number, line in enumerate(lines, 1) if number % HELD_OUT_EVERY]
    sides = [
        ([value for _, value in record["reference"]], [value for _, value in record[side]], record["lang"])
        for record in records
        for side in ("right", "wrong")
    ]
    relations = [record["relations"][side] for record in records for side in ("right", "wrong")]
    return [
        make_item("", *side[:2], related, similarities)
        for side, related, similarities in zip(sides, relations, measure_similarities(sides), strict=True)
    ]


def load_pairs(varied: int) -> list[Item]:
    """Load the single pairs, and this many facts, each paired with an altered copy of itself."""
    rows: list[dict[str, str]] = []
    files = (ROOT / "tests/matching/relation_pairs.tsv", DATA / "free_pairs.tsv", DATA / "field_pairs.tsv")
    for path in files:
        with path.open(encoding="utf-8", newline="") as file:
            rows += csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    rows = [row for row in rows if row["split"] not in NOT_FOR_TRAINING]
    sides = [([row["reference"]], [row["response"]], row["lang"]) for row in rows]
    relations = [row["expected"].strip() for row in rows]
    records = [json.loads(line) for line in (DATA / "fact_items.jsonl").read_text(encoding="utf-8").splitlines()]
    facts = sorted(
        {(fact, record["lang"]) for record in records for fact in (*record["reference"], *record["response"])}
    )
    for fact, lang in random.sample(facts, varied):
        sides.append(([fact], [vary(fact, lang)], lang))
        relations.append("exact")
    return [
        make_item("", *side[:2], [[0, 0, relation]], similarities)
        for side, relation, similarities in zip(sides, relations, measure_similarities(sides), strict=True)
    ]


def vary(fact: str, lang: str) -> str:
    """Return a fact with a slight change that means nothing, or none."""
    change = random.randrange(4)
    if change == 0:
        return fact
    if change == 1:
        return random.choice(OPENINGS[lang]) + fact
    if change == 2:
        return fact + random.choice(ENDINGS[lang])
    # A slip of the keyboard: two letters in the wrong order, none of them a digit.
    places = [place for place in range(1, len(fact) - 1) if fact[place : place + 2].isalpha()]
    if not places:
        return fact
    place = random.choice(places)
    return fact[:place] + fact[place + 1] + fact[place] + fact[place + 2 :]


def make_item(
    question: str,
    reference: list[str],
    response: list[str],
    related: Sequence[tuple[int, int, str]],
    similarities: np.ndarray,
    importance: list[int] | None = None,
) -> Item:
    """Return an item with the relation and the features of every pair."""
    relations = np.zeros((len(reference), len(response)), dtype=np.int64)
    for row, column, relation in related:
        relations[row, column] = RELATIONS.index(relation)
    overlaps = measure_overlaps(reference, response)
    features = np.stack([overlaps, similarities], axis=-1).astype(np.float32)
    return Item(question, reference, response, relations, importance, features)


def merge_pairs(pairs: Sequence[Item]) -> Item:
    """Return single pairs as the diagonal of one item."""
    relations = np.diag([int(pair.relations[0, 0]) for pair in pairs])
    features = np.zeros((len(pairs), len(pairs), 2), dtype=np.float32)
    for number, pair in enumerate(pairs):
        features[number, number] = pair.features[0, 0]
    reference = [pair.reference[0] for pair in pairs]
    response = [pair.response[0] for pair in pairs]
    return Item("", reference, response, relations, None, features)
