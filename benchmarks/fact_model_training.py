"""Train the small model that ships with imapeval: `python benchmarks/fact_model_training.py ENCODER OUT`.

ENCODER is multilingual-e5-small as a BERT folder of transformers (`models/facts/README.md` says where it comes from).
OUT becomes a folder like `models/facts`: the vocabulary, pruned to pieces that English and Chinese medical texts need,
and three ONNX files with 8-bit weights. Takes some 27 minutes on two cores. Needs torch, transformers, tokenizers, onnx
and protobuf, besides imapeval. Figures: `benchmarks/fact_model.py`.

Training data, all of it in this repository:

- `fact_items.jsonl`: pairs of answers that language models wrote, and whose facts, as the offline extractor reads them,
  language models related: 1,830 pairs (915 questions) as people and chatbots write them, whose facts are weighed as
  well (0, 1 or 2: how much a fact matters); 2,912 (1,456) with a right answer in other words, or one in the
  reference's words that reverses most facts; 958 (479) with a right one in its words, or a wrong one in other words;
- pairs composed of these: facts of a response that equal the reference's, and the other response to the question;
- `relation_items.jsonl`: facts that language models wrote outright, without every sixth line, which is held out;
- `tests/matching/relation_pairs.tsv` and `free_pairs.tsv`: single pairs;
- facts of `fact_items.jsonl`, each paired with a trivially altered copy of itself: otherwise the model learns that
  facts in nearly the same words contradict each other, as in the wrong answers above.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sentencepiece
import torch
from fact_model import HELD_OUT, ITEMS, ROOT, measure_similarities
from fact_model_files import NARROW, SIZE, export, write_vocabulary
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional
from transformers import BertModel

from imapeval.fact_model import MAX_TOKENS, RELATIONS, measure_overlaps, shorten_question

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LAYERS = 6
STEPS = 4500
ITEMS_PER_STEP = 3
MAX_UNRELATED = 900
"""Unrelated pairs of a step that are trained on."""
UNWEIGHED_SHARE = 0.4
"""Share of the pairs without weights that an epoch includes: most are not like those of real answers."""
VARIED = 3000
"""Number of facts that are paired with a slightly altered copy of themselves for training."""
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
"""Relations, so that a fact that equals several of the reference's has the last of theirs."""
MIRRORED = [0, 1, 3, 2, 4]
"""The place in `RELATIONS` of each relation seen from the other side."""


@dataclass(frozen=True)
class Item:
    """Two lists of facts, the relation of every pair, and how much each matters; None where nobody has weighed it."""

    question: str
    reference: list[str]
    response: list[str]
    relations: np.ndarray
    importance: list[int] | None
    features: np.ndarray


def main() -> None:
    """Train and export."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=STEPS)
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    torch.set_num_threads(2)
    args.out.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.from_file(str(args.encoder / "tokenizer.json"))
    kept = write_vocabulary(tokenizer, args.out / "vocabulary.model")
    model = Comparer(args.encoder, kept, args.out / "vocabulary.model")
    train(model, args.steps)
    torch.save(model.state_dict(), args.out / "model.pt")
    export(model.eval(), args.out)


class Comparer(nn.Module):
    """An encoder of single texts, a network that relates two encoded facts, and one that weighs a fact."""

    def __init__(self, folder: Path, kept: Sequence[int], vocabulary: Path) -> None:
        super().__init__()
        self.pieces: Any = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
        self.bert = BertModel.from_pretrained(folder, add_pooling_layer=False).float()
        self.bert.encoder.layer = self.bert.encoder.layer[:LAYERS]
        embeddings = self.bert.embeddings
        embeddings.word_embeddings = nn.Embedding.from_pretrained(
            embeddings.word_embeddings.weight.data[torch.tensor(kept)], freeze=True, padding_idx=1
        )
        self.norm = nn.LayerNorm(SIZE)
        self.importance = make_head(SIZE * 4, 3)
        self.narrow = nn.Linear(SIZE, NARROW)
        self.compare = nn.Sequential(nn.Linear(NARROW * 4, NARROW), nn.GELU())
        self.relation = make_head(SIZE * 4 + 3 + NARROW * 4, len(RELATIONS))

    def encode(self, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return a vector for each text, a narrow vector for each token, and which tokens count."""
        ids = [[0, *ids[:MAX_TOKENS], 2] for ids in self.pieces.encode([text.lower() for text in texts])]
        longest = max(map(len, ids))
        order = sorted(range(len(ids)), key=lambda number: len(ids[number]))
        vectors, tokens, masks = [], [], []
        for start in range(0, len(order), 32):
            part = [ids[number] for number in order[start : start + 32]]
            width = len(part[-1])
            mask = torch.tensor([[1] * len(one) + [0] * (width - len(one)) for one in part])
            padded = torch.tensor([one + [1] * (width - len(one)) for one in part])
            hidden = self.bert(input_ids=padded, attention_mask=mask).last_hidden_state
            weights = mask[..., None].to(hidden.dtype)
            vectors.append(self.norm(((hidden * weights).sum(1) / weights.sum(1)).float()))
            tokens.append(functional.pad(self.narrow(hidden), (0, 0, 0, longest - width)))
            masks.append(functional.pad(mask, (0, longest - width)).bool())
        back = torch.tensor(np.argsort(order))
        return torch.cat(vectors)[back], torch.cat(tokens)[back], torch.cat(masks)[back]

    def relate(
        self,
        a: torch.Tensor,
        p: torch.Tensor,
        p_mask: torch.Tensor,
        b: torch.Tensor,
        q: torch.Tensor,
        q_mask: torch.Tensor,
        features: torch.Tensor,
    ) -> torch.Tensor:
        """Return logits for pairs of facts with the vectors a and b, and the tokens p and q."""
        cosine = (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))
        attention = torch.matmul(p, q.transpose(1, 2)) / NARROW**0.5
        ours = torch.softmax(attention.masked_fill(~q_mask[:, None, :], -1e4), -1) @ q
        theirs = torch.softmax(attention.masked_fill(~p_mask[:, :, None], -1e4), 1).transpose(1, 2) @ p
        aligned = [self._pool(p, ours, p_mask), self._pool(q, theirs, q_mask)]
        return self.relation(torch.cat([a, b, (a - b).abs(), a * b, cosine[:, None], features, *aligned], -1))

    def weigh(self, question: torch.Tensor, fact: torch.Tensor) -> torch.Tensor:
        """Return logits of how much facts matter to questions."""
        return self.importance(torch.cat([question, fact, (question - fact).abs(), question * fact], -1))

    def _pool(self, tokens: torch.Tensor, others: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        compared = self.compare(torch.cat([tokens, others, (tokens - others).abs(), tokens * others], -1))
        mean = compared.masked_fill(~mask[..., None], 0).sum(1) / mask.sum(1, keepdim=True).float()
        return torch.cat([mean, compared.masked_fill(~mask[..., None], -1e4).max(1).values], -1)


def make_head(size: int, classes: int) -> nn.Module:
    """Return a network with one hidden layer."""
    return nn.Sequential(nn.Linear(size, SIZE), nn.GELU(), nn.Dropout(0.1), nn.Linear(SIZE, classes))


def train(model: Comparer, steps: int) -> None:
    """Train, and print the mean losses of relating and weighing now and then."""
    items, sets, pairs = load_items(), load_sets(), load_pairs()
    print(f"{len(items)} items, {len(sets)} sets, {len(pairs)} pairs", flush=True)
    body = [one for one in model.bert.parameters() if one.requires_grad]
    heads = [one for name, one in model.named_parameters() if not name.startswith("bert.")]
    optimiser = torch.optim.AdamW(
        [{"params": body, "lr": 1.5e-4}, {"params": heads, "lr": 1.2e-3}],
        weight_decay=0.01,
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1, (step + 1) / (0.06 * steps + 1)) * max(0.02, 1 - step / steps)
    )
    model.train()
    queue: list[Item] = []
    losses: list[tuple[float, float]] = []
    started = time.perf_counter()
    for step in range(steps):
        if step % 5 == 4:
            batch = random.sample(pairs, 64)
            loss = 0.5 * relate_items(model, [merge_pairs(batch)], diagonal=True)[0]
        else:
            if random.random() < 0.15:
                batch = random.sample(sets, ITEMS_PER_STEP + 1)
            else:
                if len(queue) < ITEMS_PER_STEP:
                    queue = [item for item in items if item.importance or random.random() < UNWEIGHED_SHARE]
                    random.shuffle(queue)
                batch = [queue.pop() for _ in range(ITEMS_PER_STEP)]
            loss, weighing = relate_items(model, batch)
            if weighing is not None:
                loss = 2 * loss + 0.5 * weighing
                losses.append((loss.item(), weighing.item()))
        loss.backward()
        nn.utils.clip_grad_norm_([*body, *heads], 1.0)
        optimiser.step()
        optimiser.zero_grad()
        schedule.step()
        if step % 100 == 0 and losses:
            means = np.mean(losses[-100:], axis=0).round(3)
            print(f"{step} of {steps}: {means}, {time.perf_counter() - started:.0f} s", flush=True)


def relate_items(
    model: Comparer, items: Sequence[Item], *, diagonal: bool = False
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return the losses of relating and of weighing the facts of some items."""
    rows, columns, features, wanted = [], [], [], []
    facts, asked, importance = [], [], []
    start = 0
    for number, item in enumerate(items):
        first, second = len(item.reference), len(item.response)
        places = np.array([(n, n) for n in range(first)] if diagonal else list(np.ndindex(first, second)))
        rows.append(start + places[:, 0])
        columns.append(start + first + places[:, 1])
        features.append(item.features[tuple(places.T)])
        wanted.append(item.relations[tuple(places.T)])
        if item.importance is not None:
            facts += range(start, start + first + second)
            asked += [number] * (first + second)
            importance += item.importance
        start += first + second
    left, right, given, labels = (torch.tensor(np.concatenate(part)) for part in (rows, columns, features, wanted))
    unrelated = (labels == 0).nonzero().ravel()
    chosen = torch.cat([(labels > 0).nonzero().ravel(), unrelated[torch.randperm(len(unrelated))[:MAX_UNRELATED]]])
    left, right, given, labels = left[chosen], right[chosen], given[chosen], labels[chosen]
    if random.random() < 0.5:
        left, right, labels = right, left, torch.tensor(MIRRORED)[labels]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        vectors, tokens, mask = model.encode([text for item in items for text in (*item.reference, *item.response)])
        logits = model.relate(
            vectors[left], tokens[left], mask[left], vectors[right], tokens[right], mask[right], given
        )
        weighed = None
        if facts:
            questions = model.encode([item.question for item in items])[0]
            weighed = model.weigh(questions[asked], vectors[facts])
    balance = torch.tensor([1.0, 1, 1, 1, 1] if diagonal else [1.0, 2, 2, 2, 2])
    loss = functional.cross_entropy(logits.float(), labels, balance, label_smoothing=0.01)
    if weighed is None:
        return loss, None
    return loss, functional.cross_entropy(weighed.float(), torch.tensor(importance), label_smoothing=0.02)


def load_items() -> list[Item]:
    """Load the answers whose facts were related and weighed."""
    records = [json.loads(line) for line in ITEMS.read_text(encoding="utf-8").splitlines()]
    records += list(compose(records))
    sides = [(record["reference"], record["response"], record["lang"]) for record in records]
    return [
        make_item(
            shorten_question(record["question"]),
            *sides[number][:2],
            record["relations"],
            similarities,
            importance=[int(digit) for side in ("reference", "response") for digit in record["importance"][side]]
            if "importance" in record
            else None,
        )
        for number, (record, similarities) in enumerate(zip(records, measure_similarities(sides), strict=True))
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
    lines = ITEMS.with_name("relation_items.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for number, line in enumerate(lines, 1) if number % HELD_OUT]
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


def load_pairs() -> list[Item]:
    """Load the single pairs of the tests, and facts paired with altered copies of themselves."""
    rows: list[dict[str, str]] = []
    for path in (ROOT / "tests/matching/relation_pairs.tsv", ITEMS.with_name("free_pairs.tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows += csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    sides = [([row["reference"]], [row["response"]], row["lang"]) for row in rows]
    relations = [row["expected"].strip() for row in rows]
    records = [json.loads(line) for line in ITEMS.read_text(encoding="utf-8").splitlines()]
    facts = sorted(
        {(fact, record["lang"]) for record in records for fact in (*record["reference"], *record["response"])}
    )
    for fact, lang in random.sample(facts, VARIED):
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


if __name__ == "__main__":
    main()
