"""Train the small model that ships with imapeval: `python benchmarks/fact_model_training.py ENCODER OUT`.

ENCODER is multilingual-e5-small as a BERT folder of transformers (`models/facts/README.md` says where it comes from).
OUT becomes a folder like `models/facts`: the vocabulary, pruned to pieces that English and Chinese medical texts need,
and three ONNX files with 8-bit weights. A model with six layers is trained first; one with three of them then learns
from its answers as well as from the labels. Takes some 70 minutes on two cores. Needs torch, transformers, tokenizers,
onnx and protobuf, besides imapeval. Figures: `benchmarks/fact_model.py`.

The training data is described in `fact_model_data.py`.
"""

from __future__ import annotations

import argparse
import copy
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sentencepiece
import torch
from fact_model_data import Item, load_items, load_pairs, load_sets, merge_pairs
from fact_model_files import TEXT_SIZE, TOKEN_SIZE, export, write_vocabulary
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional
from transformers import BertModel

from imapeval.fact_model import MAX_TOKENS, MIRRORED, RELATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

LAYERS = 6
STEPS = 4500
SHORT_LAYERS = (0, 2, 5)
"""The layers that the small model starts from."""
SHORT_STEPS = 3600
SHORT_FINAL_STEPS = 500
ITEMS_PER_STEP = 3
MAX_UNRELATED = 900
"""Unrelated pairs of a step that are trained on."""
UNWEIGHED_SHARE = 0.4
"""Share of the pairs without weights that an epoch includes: most are not like those of real answers."""
UNWEIGHED_TAUGHT = 0.6
"""That share with a teacher, who weighs them."""
UNKNOWN = -1
"""In place of a level of importance that nobody has given."""
VARIED = 3000
"""Number of facts that are paired with a slightly altered copy of themselves for training."""
FINAL_STEPS = 800
"""Steps at the end, a fifth as large, half of them with single pairs, and with twice as many altered copies."""


def main() -> None:
    """Train and export."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    torch.set_num_threads(2)
    args.out.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.from_file(str(args.encoder / "tokenizer.json"))
    kept = write_vocabulary(tokenizer, args.out / "vocabulary.model")
    model = Comparer(args.encoder, kept, args.out / "vocabulary.model")
    items, sets = load_items(), load_sets()
    train(model, items, sets, load_pairs(VARIED), steps=STEPS)
    train(model, items, sets, load_pairs(2 * VARIED), steps=FINAL_STEPS, rate=0.2, pairs_every=2)
    torch.save(model.state_dict(), args.out / "six_layers.pt")
    short = model.shorten()
    train(short, items, sets, load_pairs(VARIED), steps=SHORT_STEPS, teacher=model.eval())
    train(short, items, sets, load_pairs(2 * VARIED), steps=SHORT_FINAL_STEPS, rate=0.2, pairs_every=2, teacher=model)
    torch.save(short.state_dict(), args.out / "model.pt")
    export(short.eval(), args.out)


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
        self.norm = nn.LayerNorm(TEXT_SIZE)
        self.importance = make_head(TEXT_SIZE * 4, 3)
        self.narrow = nn.Linear(TEXT_SIZE, TOKEN_SIZE)
        self.compare = nn.Sequential(nn.Linear(TOKEN_SIZE * 4, TOKEN_SIZE), nn.GELU())
        self.relation = make_head(TEXT_SIZE * 4 + 3 + TOKEN_SIZE * 4, len(RELATIONS))

    def shorten(self) -> Comparer:
        """Return a copy with fewer layers, and without dropout."""
        short = copy.deepcopy(self)
        short.bert.encoder.layer = nn.ModuleList(short.bert.encoder.layer[number] for number in SHORT_LAYERS)
        short.bert.config.num_hidden_layers = len(SHORT_LAYERS)
        for module in short.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
            if hasattr(module, "dropout_prob"):
                module.dropout_prob = 0.0
        return short

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
        attention = torch.matmul(p, q.transpose(1, 2)) / TOKEN_SIZE**0.5
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
    return nn.Sequential(nn.Linear(size, TEXT_SIZE), nn.GELU(), nn.Dropout(0.1), nn.Linear(TEXT_SIZE, classes))


class Losses(NamedTuple):
    """How far a model is from the labels, or from the mean of labels and teacher; None where that does not apply.

    Attributes:
        relating: Of the relations of pairs.
        weighing: Of the importance of facts.
        encoding: Mean squared difference from the teacher's vectors of texts and of tokens.
    """

    relating: torch.Tensor
    weighing: torch.Tensor | None
    encoding: torch.Tensor | None


def train(
    model: Comparer,
    items: Sequence[Item],
    sets: Sequence[Item],
    pairs: Sequence[Item],
    *,
    steps: int,
    rate: float = 1.0,
    pairs_every: int = 4,
    teacher: Comparer | None = None,
) -> None:
    """Train, and print every 100 steps the mean losses of relating and weighing."""
    print(f"{len(items)} items, {len(sets)} sets, {len(pairs)} pairs", flush=True)
    body = [one for one in model.bert.parameters() if one.requires_grad]
    heads = [one for name, one in model.named_parameters() if not name.startswith("bert.")]
    # A teacher's pupil starts from trained heads.
    optimiser = torch.optim.AdamW(
        [{"params": body, "lr": rate * 1.5e-4}, {"params": heads, "lr": rate * (6e-4 if teacher else 1.2e-3)}],
        weight_decay=0.01,
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1, (step + 1) / (0.06 * steps + 1)) * max(0.02, 1 - step / steps)
    )
    model.train()
    queue: list[Item] = []
    log: list[tuple[float, float]] = []
    started = time.perf_counter()
    for step in range(steps):
        single = step % pairs_every == 0
        if single:
            batch = [merge_pairs(random.sample(pairs, 64))]
        elif random.random() < 0.15:
            batch = random.sample(sets, ITEMS_PER_STEP + 1)
        else:
            if len(queue) < ITEMS_PER_STEP:
                share = UNWEIGHED_TAUGHT if teacher else UNWEIGHED_SHARE
                queue = [item for item in items if item.importance or random.random() < share]
                random.shuffle(queue)
            batch = [queue.pop() for _ in range(ITEMS_PER_STEP)]
        losses = compute_losses(model, batch, diagonal=single, teacher=teacher)
        loss = losses.relating * (0.5 if single else 2 if losses.weighing is not None else 1)
        if losses.weighing is not None:
            loss = loss + 0.5 * losses.weighing
            log.append((losses.relating.item(), losses.weighing.item()))
        if losses.encoding is not None:
            loss = loss + losses.encoding
        loss.backward()
        nn.utils.clip_grad_norm_([*body, *heads], 1.0)
        optimiser.step()
        optimiser.zero_grad()
        schedule.step()
        if step % 100 == 0 and log:
            means = np.mean(log[-100:], axis=0).round(3)
            print(f"{step} of {steps}: {means}, {time.perf_counter() - started:.0f} s", flush=True)


def compute_losses(model: Comparer, items: Sequence[Item], *, diagonal: bool, teacher: Comparer | None) -> Losses:
    """Return the losses of relating and weighing the facts of some items.

    With a teacher, what is wanted is the mean of the labels and its probabilities, or these alone where there is no
    label. A model without a teacher is trained with smoothed labels instead.
    """
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
        if item.importance is not None or (teacher and item.question):
            facts += range(start, start + first + second)
            asked += [number] * (first + second)
            importance += item.importance or [UNKNOWN] * (first + second)
        start += first + second
    left, right, given, labels = (torch.tensor(np.concatenate(part)) for part in (rows, columns, features, wanted))
    unrelated = (labels == 0).nonzero().ravel()
    chosen = torch.cat([(labels > 0).nonzero().ravel(), unrelated[torch.randperm(len(unrelated))[:MAX_UNRELATED]]])
    left, right, given, labels = left[chosen], right[chosen], given[chosen], labels[chosen]
    if random.random() < 0.5:
        left, right, labels = right, left, torch.tensor(MIRRORED)[labels]
    texts = [text for item in items for text in (*item.reference, *item.response)]
    questions = [item.question for item in items] if facts else []

    def compute(model: Comparer) -> Outputs:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            vectors, tokens, mask = model.encode(texts)
            logits = model.relate(
                vectors[left], tokens[left], mask[left], vectors[right], tokens[right], mask[right], given
            )
            weighed = model.weigh(model.encode(questions)[0][asked], vectors[facts]).float() if facts else None
        return Outputs(vectors.float(), tokens.float(), mask, logits.float(), weighed)

    ours = compute(model)
    balance = torch.tensor([1.0, 1, 1, 1, 1] if diagonal else [1.0, 2, 2, 2, 2])
    levels = torch.tensor(importance)
    if teacher is None:
        relating = functional.cross_entropy(ours.relations, labels, balance, label_smoothing=0.01)
        weighed = ours.importance
        weighing = None if weighed is None else functional.cross_entropy(weighed, levels, label_smoothing=0.02)
        return Losses(relating, weighing, None)
    with torch.no_grad():
        theirs = compute(teacher)
    relating = compute_cross_entropy(ours.relations, theirs.relations, labels, balance)
    weighing = None
    if ours.importance is not None and theirs.importance is not None:
        weighing = compute_cross_entropy(ours.importance, theirs.importance, levels, torch.ones(3))
    differences = ((ours.tokens - theirs.tokens) ** 2).mean(-1)[ours.mask].mean()
    return Losses(relating, weighing, functional.mse_loss(ours.vectors, theirs.vectors) + differences)


class Outputs(NamedTuple):
    """What a model computes of some texts: their vectors and those of their tokens, and the logits of its heads."""

    vectors: torch.Tensor
    tokens: torch.Tensor
    mask: torch.Tensor
    relations: torch.Tensor
    importance: torch.Tensor | None


def compute_cross_entropy(
    ours: torch.Tensor, theirs: torch.Tensor, labels: torch.Tensor, balance: torch.Tensor
) -> torch.Tensor:
    """Return the cross-entropy with the mean of labels and teacher, weighted by label."""
    taught = torch.softmax(theirs, -1)
    known = labels != UNKNOWN
    labels = labels.where(known, taught.argmax(-1))
    wanted = torch.where(known[:, None], (functional.one_hot(labels, ours.shape[1]) + taught) / 2, taught)
    losses = -(wanted * functional.log_softmax(ours, -1)).sum(-1)
    return (losses * balance[labels]).sum() / balance[labels].sum()


if __name__ == "__main__":
    main()
