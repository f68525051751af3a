"""Train the small model that ships with imapeval: `python benchmarks/fact_model_training.py ENCODER OUT`.

ENCODER is multilingual-e5-small as a BERT folder of transformers (`models/facts/README.md` says where it comes from).
OUT becomes a folder like `models/facts`: the vocabulary, pruned to pieces that English and Chinese medical texts need,
and three ONNX files with 8-bit weights. Takes some 35 minutes on two cores. Needs torch, transformers, tokenizers, onnx
and protobuf, besides imapeval. Figures: `benchmarks/fact_model.py`.

The training data is described in `fact_model_data.py`.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sentencepiece
import torch
from fact_model_data import Item, load_items, load_pairs, load_sets, merge_pairs
from fact_model_files import NARROW, SIZE, export, write_vocabulary
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional
from transformers import BertModel

from imapeval.fact_model import MAX_TOKENS, MIRRORED, RELATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

LAYERS = 6
STEPS = 4500
ITEMS_PER_STEP = 3
MAX_UNRELATED = 900
"""Unrelated pairs of a step that are trained on."""
UNWEIGHED_SHARE = 0.4
"""Share of the pairs without weights that an epoch includes: most are not like those of real answers."""
VARIED = 3000
"""Number of facts that are paired with a slightly altered copy of themselves for training."""
FINAL_STEPS = 800
"""Steps at the end, a fifth as large, half of them with single pairs, and with twice as many altered copies."""


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
    items, sets = load_items(), load_sets()
    train(model, items, sets, load_pairs(VARIED), steps=args.steps)
    train(model, items, sets, load_pairs(2 * VARIED), steps=FINAL_STEPS, rate=0.2, pairs_every=2)
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


def train(
    model: Comparer,
    items: Sequence[Item],
    sets: Sequence[Item],
    pairs: Sequence[Item],
    *,
    steps: int,
    rate: float = 1.0,
    pairs_every: int = 4,
) -> None:
    """Train, and print the mean losses of relating and weighing now and then."""
    print(f"{len(items)} items, {len(sets)} sets, {len(pairs)} pairs", flush=True)
    body = [one for one in model.bert.parameters() if one.requires_grad]
    heads = [one for name, one in model.named_parameters() if not name.startswith("bert.")]
    optimiser = torch.optim.AdamW(
        [{"params": body, "lr": rate * 1.5e-4}, {"params": heads, "lr": rate * 1.2e-3}],
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
        if step % pairs_every == 0:
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


if __name__ == "__main__":
    main()
