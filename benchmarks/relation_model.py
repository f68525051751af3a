"""A small model that relates two facts: `python benchmarks/relation_model.py train|test ...`. An experiment.

    train ENCODER OUT.pt [--layers 6] [--epochs 2] [--plain]
    test ENCODER OUT.pt [--imaps imaps-recorded-dev.jsonl]

A cross-encoder over five labels, from a BERT folder (such as multilingual-e5-small) and `relation_items.jsonl`: 280
sets of facts that strong readers wrote (half English, half Chinese): a question, the facts of a reference, of a right
and of a wrong answer, and every related pair. Every sixth set is held out. Most pairs of a set are unrelated, as in
real answers. Without --plain, pairs that share words but are the same, wider or narrower are generated from the facts:
otherwise the model learns that shared words mean contradiction. `test` prints, for each language of the held-out sets,
recall and precision by label; with --imaps also the average precision on the recorded relations of real answers.
Needs torch and transformers. Figures: docs/graph-relations.md.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn
from transformers import AutoTokenizer, BertModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LABELS = ("unmatched", "exact", "containment", "belonging", "contradiction")
MIRRORED = {"containment": "belonging", "belonging": "containment"}
ITEMS = Path(__file__).with_name("relation_items.jsonl")
KEPT_BACK = 6
UNRELATED_KEPT = 0.3
"""Share of the unrelated pairs that is trained on."""


@dataclass(frozen=True)
class Example:
    """Two facts, and how the second relates to the first."""

    first: tuple[str, str]
    second: tuple[str, str]
    label: str
    lang: str

    def texts(self) -> tuple[str, str]:
        """Return the facts as the model reads them."""
        return ": ".join(self.first), ": ".join(self.second)


def main() -> None:
    """Train or test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["train", "test"])
    parser.add_argument("encoder", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--imaps", type=Path)
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    if args.task == "train":
        train(Relater(args.encoder, args.layers), args.model, epochs=args.epochs, plain=args.plain)
        return
    saved = torch.load(args.model)
    relater = Relater(args.encoder, saved.pop("layers"))
    relater.load_state_dict(saved["state"])
    for lang in ("en", "zh"):
        report(relater, [one for one in read_items(kept_back=True) if one.lang == lang], lang)
    if args.imaps:
        report(relater, list(read_recorded(args.imaps)), "recorded imaps")


class Relater(nn.Module):
    """An encoder over both facts, averaged over tokens, and a linear layer over the labels."""

    def __init__(self, folder: Path, layers: int) -> None:
        super().__init__()
        self.layers = layers
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.bert = BertModel.from_pretrained(folder, add_pooling_layer=False).float()
        self.bert.encoder.layer = self.bert.encoder.layer[:layers]
        self.head = nn.Linear(self.bert.config.hidden_size, len(LABELS))
        for parameter in self.bert.embeddings.word_embeddings.parameters():
            parameter.requires_grad = False

    def forward(self, examples: Sequence[Example]) -> torch.Tensor:
        """Return logits, shape (examples, labels)."""
        firsts, seconds = zip(*(one.texts() for one in examples), strict=True)
        tokens = self.tokenizer(
            list(firsts), list(seconds), padding=True, truncation=True, max_length=96, return_tensors="pt"
        )
        mask = tokens["attention_mask"]
        hidden = self.bert(input_ids=tokens["input_ids"], attention_mask=mask).last_hidden_state
        weights = mask[..., None].float()
        return self.head((hidden * weights).sum(1) / weights.sum(1))

    def predict(self, examples: Sequence[Example]) -> np.ndarray:
        """Return probabilities, shape (examples, labels)."""
        self.eval()
        order = sorted(range(len(examples)), key=lambda n: sum(map(len, examples[n].texts())))
        found = np.zeros((len(examples), len(LABELS)))
        with torch.no_grad():
            for start in range(0, len(order), 128):
                rows = order[start : start + 128]
                found[rows] = torch.softmax(self([examples[row] for row in rows]), -1).numpy()
        return found


def read_items(*, kept_back: bool) -> Iterator[Example]:
    """Yield the pairs of the held-out sets, or of the others."""
    for number, line in enumerate(ITEMS.read_text(encoding="utf-8").splitlines(), 1):
        if (number % KEPT_BACK == 0) != kept_back:
            continue
        item = json.loads(line)
        for side in ("right", "wrong"):
            related = {(i, j): label for i, j, label in item["relations"][side]}
            for i, first in enumerate(item["reference"]):
                for j, second in enumerate(item[side]):
                    label = related.get((i, j), "unmatched")
                    yield Example(tuple(first), tuple(second), label, item["lang"])


def read_recorded(path: Path) -> Iterator[Example]:
    """Yield all pairs of a file of imaps with relations."""
    for record in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        related = {(one["reference"], one["response"]): one["relation"] for one in record["relations"]}
        for first in record["reference"]:
            for second in record["response"]:
                label = related.get((first["value"], second["value"]), "unmatched")
                yield Example((first["term"], first["value"]), (second["term"], second["value"]), label, "")


def train(relater: Relater, path: Path, *, epochs: float, plain: bool) -> None:
    """Train, print the loss now and then, save."""
    examples: list[Example] = []
    for one in read_items(kept_back=False):
        if one.label != "unmatched":
            mirrored = Example(one.second, one.first, MIRRORED.get(one.label, one.label), one.lang)
            examples += [one, mirrored]
        elif random.random() < UNRELATED_KEPT:
            examples += [one, *([] if plain else make_similar(one))]
    parameters = [one for one in relater.parameters() if one.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=1e-4, weight_decay=0.01)
    batches = [examples[start : start + 64] for start in range(0, len(examples), 64)]
    steps = int(len(batches) * epochs)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda n: min(1, n / (0.06 * steps + 1)) * (1 - n / steps))
    relater.train()
    for step in range(steps):
        if step % len(batches) == 0:
            random.shuffle(examples)
        start = step % len(batches) * 64
        batch = examples[start : start + 64]
        wanted = torch.tensor([LABELS.index(one.label) for one in batch])
        loss = nn.functional.cross_entropy(relater(batch), wanted, label_smoothing=0.05)
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        optimiser.zero_grad()
        schedule.step()
        if step % 50 == 0:
            print(f"{step} of {steps}: {loss.item():.3f}", flush=True)
    torch.save({"state": relater.state_dict(), "layers": relater.layers}, path)


def make_similar(one: Example) -> list[Example]:
    """Return pairs that share words: the same, with another fact added, or cut short."""
    (term, value), (_, other) = one.first, one.second
    joined = f"{value}{'，' if one.lang == 'zh' else ', '}{other}"
    words = list(value) if one.lang == "zh" else value.split()
    part = ("" if one.lang == "zh" else " ").join(words[: max(1, round(0.6 * len(words)))])
    made = [
        Example((term, value), (term, value), "exact", one.lang),
        Example((term, value), (term, joined), "containment", one.lang),
        Example((term, joined), (term, value), "belonging", one.lang),
        Example((term, value), (term, part), "belonging", one.lang),
    ]
    return [random.choice(made)] if part != value else made[:1]


def report(relater: Relater, examples: Sequence[Example], name: str) -> None:
    """Print recall and precision by label, and the average precision of being related."""
    probabilities = relater.predict(examples)
    predicted = [LABELS[n] for n in probabilities.argmax(axis=1)]
    right = [one.label for one in examples]
    print(f"{name}: {len(examples)} pairs")
    for label in LABELS:
        hits = sum(a == b == label for a, b in zip(right, predicted, strict=True))
        print(
            f"  {label}: {right.count(label)} pairs, recall {hits / max(1, right.count(label)):.2f}, "
            f"precision {hits / max(1, predicted.count(label)):.2f}"
        )
    related = np.array([label not in {"unmatched"} for label in right])
    overlap = np.array([measure_overlap(one.first[1], one.second[1]) for one in examples])
    for kind, scores in (("model", 1 - probabilities[:, 0]), ("shared pairs of letters", overlap)):
        found = related[np.argsort(-scores, kind="stable")]
        precision = np.cumsum(found) / np.arange(1, len(found) + 1)
        print(f"  related, average precision, {kind}: {precision[found].mean():.3f}")


def measure_overlap(first: str, second: str) -> float:
    """Return the Dice coefficient of the pairs of neighbouring letters."""
    one, other = (
        {t[n : n + 2] for n in range(len(t) - 1)} for t in (re.sub(r"\s", "", x.lower()) for x in (first, second))
    )
    return 2 * len(one & other) / max(1, len(one) + len(other))


if __name__ == "__main__":
    main()
