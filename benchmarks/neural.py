"""How fast BERTScore is beside bert_score on the same model and processor: `python benchmarks/neural.py DATA MODEL`.

Prints, from one run on one machine, the processor and wall time of bert_score 0.3.13, used efficiently (one scorer, all
pairs at once), and of our BERTScore, called as `evaluate` calls it (batches of 64 pairs): once with a different
reference in every pair, and once as in a study, where answers of several systems share their references. Times are
medians of the rounds, in which the two take turns, and exclude loading. Needs bert-score (`pip install --no-deps
bert-score pandas matplotlib` and their dependencies) and `imapeval[neural]`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING, Any

from imapeval.evaluation.evaluate import BATCH
from imapeval.evaluation.samples import read
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.neural.bertscore import BertScore
from imapeval.metrics.neural.models import embeddings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SYSTEMS = 5
"""Number of systems whose answers share a reference, in the second table."""

Times = tuple[float, float]
"""Processor and wall time in seconds."""


def measure(work: Callable[[], object]) -> Times:
    """Return how long some work takes."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - processor, time.perf_counter() - wall


def spread(cases: Sequence[Case], systems: int) -> list[Case]:
    """Return the answers of several systems to the questions of some of the cases, one system after the other."""
    asked = cases[: len(cases) // systems]
    return [
        Case(f"{case.id}/{system}", case.question, case.reference, other.response, case.lang)
        for system in range(systems)
        for case, other in zip(asked, cases[system * len(asked) :], strict=False)
    ]


def compare(cases: Sequence[Case], settings: argparse.Namespace, scorer: Any) -> tuple[list[Times], list[Times]]:
    """Return the times of bert_score and of ours, round by round.

    Raises:
        SystemExit: Their scores differ.
    """
    told: dict[str, list[float]] = {}

    def by_hand() -> None:
        f1 = scorer.score([case.response for case in cases], [case.reference for case in cases])[2]
        told["theirs"] = f1.tolist()

    theirs: list[Times] = []
    ours: list[Times] = []
    for _ in range(settings.rounds):
        # A new scorer each round, because ours caches encodings.
        metric = BertScore(settings.model, settings.layer).prepare(MetricResources(device="cpu"))

        def as_evaluate_does(metric: BertScore = metric) -> None:
            outcomes = [o for n in range(0, len(cases), BATCH) for o in metric.score_batch(cases[n : n + BATCH])]
            told["ours"] = [outcome.parts["f1"] for outcome in outcomes]  # pyright: ignore[reportAttributeAccessIssue]

        ours.append(measure(as_evaluate_does))
        theirs.append(measure(by_hand))
        del metric, as_evaluate_does
        if embeddings._shared._made:
            raise SystemExit("the last round is still remembered")
    far = max(abs(one - other) for one, other in zip(told["theirs"], told["ours"], strict=True))
    if far > 1e-4:
        raise SystemExit(f"the scores differ by {far}")
    return theirs, ours


def main() -> None:
    """Read the command line, and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="a file of samples")
    parser.add_argument("model", help="a folder in Hugging Face's form, in single precision")
    parser.add_argument("--layer", type=int, required=True)
    parser.add_argument("--lang", default="en")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    settings = parser.parse_args()

    import torch
    from bert_score import BERTScorer

    samples = [sample for sample in read(settings.data) if sample.lang == settings.lang and sample.response.strip()]
    cases = [Case(s.id, s.question, s.references[0], s.response, s.lang) for s in samples[: settings.pairs]]
    scorer = BERTScorer(model_type=settings.model, num_layers=settings.layer, device="cpu")
    print("| pairs | threads | bert_score, processor s | ours | ratio | bert_score, wall s | ours | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for name, some in (("no shared references", cases), (f"{SYSTEMS} systems", spread(cases, SYSTEMS))):
        for threads in settings.threads:
            torch.set_num_threads(threads)
            both = compare(some, settings, scorer)
            row = [[statistics.median(times[kind] for times in rounds) for rounds in both] for kind in range(2)]
            cells = [f"{theirs:.2f} | {ours:.2f} | {theirs / ours:.2f}" for theirs, ours in row]
            print(f"| {len(some)}, {name} | {threads} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
