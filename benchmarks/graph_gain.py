"""What the graph adds on human-rated answers: `python benchmarks/graph_gain.py DATA [--imaps FILE]`.

Scores the answers twice from the same imaps, with the graph's relations and with wording and encoder alone, and prints
as Markdown the mean Spearman correlation with the ratings both ways and their difference, with a paired 95% bootstrap
interval over questions. `--changed FILE` writes every decision that the graph changed, with its reasons, to be read.
Relations that come with the imaps are not used.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from imapeval.evaluation import imap_files
from imapeval.evaluation.extract import extract
from imapeval.evaluation.pipeline import open_extractor, open_graph, open_matcher
from imapeval.evaluation.samples import read, system_label
from imapeval.explain.evidence import explain_match
from imapeval.metrics.imapscore import compute_credit, score_graded, score_mean, score_paper
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.intervals.bootstrap import (
    RESAMPLES,
    compute_replicates,
    draw_resamples,
    number_clusters,
    percentile_interval,
)
from imapeval.types import Failure, Imap, Match, Relation, Sample, Score

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from imapeval.graph.store.graph import Graph
    from imapeval.types import Outcome

Judged = dict[str, tuple[Imap, tuple[Match, ...]]]

SCORES: Mapping[str, Callable[[Imap, Sequence[Match]], Outcome]] = {
    "imapscore": score_graded,
    "imapscore:mean": score_mean,
    "imapscore:paper": score_paper,
}


def main() -> None:
    """Judge, score twice, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="rated answers, one reference each")
    parser.add_argument("--imaps", type=Path, help="ready imaps; only the samples in it are counted")
    parser.add_argument("--kg", type=Path, help="another graph than the shipped one")
    parser.add_argument("--changed", type=Path, help="where the decisions that the graph changed are written")
    args = parser.parse_args()
    samples = {sample.id: sample for sample in read(args.data)}
    graph = open_graph(args.kg)
    imaps = read_imaps(args.imaps) if args.imaps else asyncio.run(make_imaps(list(samples.values()), graph))
    judged = judge(samples, imaps, graph)
    changed = [(id_, match) for id_, (_, matches) in judged.items() for match in matches if was_graph(match)]
    if args.changed:
        write_changed(args.changed, changed)
    print(f"{len(judged)} answers; the graph changed {len(changed)} of {count(judged)} pairs of values:")
    kinds = Counter((match.relation.value, match.evidence["confidence"]) for _, match in changed)
    print("; ".join(f"{relation}, {sure} confidence: {n}" for (relation, sure), n in sorted(kinds.items())), end="\n\n")
    print(
        "| metric | with the graph | without | difference | 95% interval | n |", "|---|---|---|---|---|---|", sep="\n"
    )
    for name, score in SCORES.items():
        print(compare(name, score, samples, judged))


def read_imaps(path: Path) -> dict[str, Imap]:
    """Return the imaps of a file by sample, without their relations."""
    return {record.id: replace(record.imap, relations=None) for _, record in imap_files.read_records(path)}


async def make_imaps(samples: Sequence[Sample], graph: Graph) -> dict[str, Imap]:
    """Return the imaps that the offline extractor makes."""
    found: dict[str, Imap] = {}
    async for sample, imaps in extract(samples, extractor=open_extractor(graph)):
        if not isinstance(imaps, Failure):
            found[sample.id] = imaps[0]
    return found


def judge(samples: Mapping[str, Sample], imaps: Mapping[str, Imap], graph: Graph) -> Judged:
    """Judge all pairs of values with the graph."""
    matcher = open_matcher(graph)
    outcomes = asyncio.run(matcher.match(list(imaps.values()), langs=[samples[id_].lang for id_ in imaps]))
    return {
        id_: (imap, outcome)
        for (id_, imap), outcome in zip(imaps.items(), outcomes, strict=True)
        if not isinstance(outcome, Failure)
    }


def was_graph(match: Match) -> bool:
    """Say whether the pair would be left to the encoder without the graph; composition asks it for places."""
    return match.decided_by == "graph" or "modifier" in match.evidence


def count(judged: Judged) -> int:
    """Return the number of judged pairs."""
    return sum(len(matches) for _, matches in judged.values())


def write_changed(path: Path, changed: Sequence[tuple[str, Match]]) -> None:
    """Write a line per decision: what it was, what it would be worth without the graph, and why."""
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, delimiter="\t")
        lines.writerow(["id", "term", "reference", "response", "relation", "credit", "similarity", "confidence", "why"])
        for id_, m in changed:
            why = "; ".join(explain_match(m))
            shown = f"{compute_credit(m):.2f}", f"{m.similarity:.2f}", m.evidence["confidence"], why
            lines.writerow([id_, m.term, m.reference, m.response, m.relation.value, *shown])


def compare(
    name: str, score: Callable[[Imap, Sequence[Match]], Outcome], samples: Mapping[str, Sample], judged: Judged
) -> str:
    """Return one line of the table: the mean over systems and dimensions both ways, and the difference."""
    with_graph: dict[str, float] = {}
    without: dict[str, float] = {}
    for id_, (imap, matches) in judged.items():
        alone = [replace(m, relation=Relation.UNMATCHED) if was_graph(m) else m for m in matches]
        ours, theirs = score(imap, matches), score(imap, alone)
        if isinstance(ours, Score) and isinstance(theirs, Score):
            with_graph[id_], without[id_] = ours.value, theirs.value
    rated = [samples[id_] for id_ in with_graph if samples[id_].ratings]
    codes = number_clusters([sample.question for sample in rated])
    drawn = draw_resamples(int(codes.max()) + 1, seed=0, resamples=RESAMPLES)
    values: list[tuple[float, float]] = []
    differences: list[np.ndarray] = []
    for system in dict.fromkeys(map(system_label, rated)):
        for dimension in dict.fromkeys(dimension for sample in rated for dimension in sample.ratings):
            rows = [n for n, s in enumerate(rated) if system_label(s) == system and dimension in s.ratings]
            people = np.array([rated[n].ratings[dimension] for n in rows])
            both = [np.array([scores[rated[n].id] for n in rows]) for scores in (with_graph, without)]
            ones = np.ones((1, len(rows)))
            values.append(
                (
                    float(find_coefficient("spearman").weighted(both[0], people, ones)[0]),
                    float(find_coefficient("spearman").weighted(both[1], people, ones)[0]),
                )
            )
            draws = [
                compute_replicates(
                    lambda w, x=x, y=people: find_coefficient("spearman").weighted(x, y, w), drawn, codes[rows]
                )  # the same draws for both
                for x in both
            ]
            differences.append(draws[0] - draws[1])
    ours, theirs = np.mean(values, axis=0)
    # Where a coefficient is undefined in a resample, its difference could have been anything.
    low, high = (np.where(np.isnan(differences), bound, differences).mean(axis=0) for bound in (-2.0, 2.0))
    ends = f"{percentile_interval(low).low:+.3f} to {percentile_interval(high).high:+.3f}"
    return f"| `{name}` | {ours:.3f} | {theirs:.3f} | {ours - theirs:+.3f} | {ends} | {len(rated)} |"


if __name__ == "__main__":
    main()
