"""How often wording and the shipped graph relate two values correctly: `python benchmarks/relations.py [--pairs FILE]`.

Judges the pairs of tests/matching/relation_pairs.tsv, or of another file, and prints, as Markdown, the accuracy by
split, language, expected relation and sort of case, the confusion matrices, and the misjudged pairs. With `--llm`, the
model judges pairs of different wording. The small model has no say, because it was trained on such pairs
(`fact_model.py` tests it). Beside this script lie `free_pairs.tsv` (single pairs) and `answer_items.jsonl`: 40 sets of
a question, the facts of a reference, a right and a wrong answer, and all related pairs; as in real answers, most are
not related. For such sets the mean imapScore of both answers is printed too: with the relations found, with those of a
strong model where the file has them (replies of separate readers to our prompt `value-relation`), and with those that
the writer gave.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from imapeval.evaluation.pipeline import LlmSettings, open_graph, open_llm, open_matcher
from imapeval.matching.hybrid import HybridMatcher
from imapeval.metrics.imapscore import score_graded
from imapeval.text.phrases import annotate_pair
from imapeval.types import Failure, Imap, KnownRelation, Match, Pair, Relation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from imapeval.matching.protocol import Matcher

TABLE = Path(__file__).parents[1] / "tests/matching/relation_pairs.tsv"

SOURCES = {"": "found", "relations_by_model": "by a strong model", "relations": "as labelled"}

Row = dict[str, str]
Judged = list[tuple[Row, Match]]


def main() -> None:
    """Judge the table and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, default=TABLE, help="a table like the tests', or sets of facts (.jsonl)")
    parser.add_argument("--kg", type=Path, help="another graph than the shipped one")
    parser.add_argument("--llm", help="a model that judges what has not the same wording")
    parser.add_argument("--base-url", help="its address")
    args = parser.parse_args()
    rows = list(read_pairs(args.pairs))
    model = open_llm(LlmSettings(args.llm, base_url=args.base_url, relations=True)) if args.llm else None
    matcher = open_matcher(open_graph(args.kg), llm=model)
    if isinstance(matcher, HybridMatcher):
        matcher = replace(matcher, facts=None)
    judged = asyncio.run(judge(matcher, rows))
    print(*show_accuracy(judged), "", *show_confusion(judged), sep="\n")
    for split in sorted({row["split"] for row in rows} - {""}):
        print(f"\n{split}:\n", *show_confusion([(row, m) for row, m in judged if row["split"] == split]), sep="\n")
    print("", *show_sorts(judged), "", *show_errors(judged), sep="\n")
    if args.pairs.suffix == ".jsonl":
        print("", *asyncio.run(show_scores(matcher, args.pairs)), sep="\n")


def read_pairs(path: Path) -> Iterator[Row]:
    """Yield the pairs of a table, or of sets of facts, as rows of the table."""
    with path.open(encoding="utf-8", newline="") as lines:
        if path.suffix != ".jsonl":
            rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            yield from ({"split": "", "sort": "", **row} for row in rows)
            return
        for item in map(json.loads, lines):
            for side in ("right", "wrong"):
                related = {(i, j): label for i, j, label in item["relations"][side]}
                for i, (_, reference) in enumerate(item["reference"]):
                    for j, (_, response) in enumerate(item[side]):
                        values = {"reference": reference, "response": response, "lang": item["lang"]}
                        yield values | {
                            "expected": related.get((i, j), "unmatched"),
                            "split": side,
                            "sort": item["task"],
                        }


async def judge(matcher: Matcher, rows: Sequence[Row]) -> Judged:
    """Relate the values of every row."""
    imaps = [Imap((), (), (Pair("value", row["reference"]),), (Pair("value", row["response"]),)) for row in rows]
    found = await matcher.match(imaps, langs=["zh" if row["lang"] == "zh" else "en" for row in rows])
    judged: Judged = []
    for row, matches in zip(rows, found, strict=True):
        if isinstance(matches, Failure):
            raise SystemExit(f"{row['reference']} / {row['response']}: {matches.message}")
        judged.append((row, matches[0]))
    return judged


def show_accuracy(judged: Judged) -> list[str]:
    """Return the accuracy over all rows, and by split, language, expected relation and sort of case, as a table."""
    right: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    for row, match in judged:
        for group in (("", "all"), *((key, row[key]) for key in ("split", "lang", "expected", "sort") if row[key])):
            total[group] += 1
            right[group] += match.relation == row["expected"]
    return [
        "| | pairs | right | accuracy |",
        "|---|---|---|---|",
        *(f"| {g[0]} {g[1]} | {n} | {right[g]} | {right[g] / n:.3f} |".replace("|  ", "| ") for g, n in total.items()),
    ]


def show_confusion(judged: Judged) -> list[str]:
    """Return how often each relation was taken for which, as the lines of a table."""
    counts = Counter((row["expected"], match.relation.value) for row, match in judged)
    names = [relation.value for relation in Relation]
    return [
        f"| expected, found: | {' | '.join(names)} |",
        "|---" * (len(names) + 1) + "|",
        *(f"| {a} | {' | '.join(str(counts[a, b]) for b in names)} |" for a in names),
    ]


def show_sorts(judged: Judged) -> list[str]:
    """Return how often each relation was taken for which, by split and sort of case, as the lines of a table."""
    counts = Counter(((row["split"], row["sort"], row["expected"]), match.relation.value) for row, match in judged)
    names = [relation.value for relation in Relation]
    return [
        f"| split | sort | expected, found: | {' | '.join(names)} |",
        "|---" * (len(names) + 3) + "|",
        *(
            f"| {' | '.join(group)} | {' | '.join(str(counts[group, name]) for name in names)} |"
            for group in sorted({group for group, _ in counts})
        ),
    ]


def show_errors(judged: Judged) -> list[str]:
    """Return the pairs that are wrong, with who decided."""
    return [
        f"- {row['split']} {row['lang']} {row['sort']}: {row['reference']} / {row['response']}: {row['expected']}, "
        f"found {match.relation.value} ({match.decided_by})"
        for row, match in judged
        if match.relation != row["expected"]
    ]


async def show_scores(matcher: Matcher, path: Path) -> list[str]:
    """Return the mean scores of the right and the wrong answers of sets of facts, as the lines of a table."""
    items = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines = ["| relations | language | right answers | wrong answers | right above wrong |", "|---|---|---|---|---|"]
    for source, lang in product(("", "relations_by_model", "relations"), ("en", "zh")):
        chosen = [item for item in items if item["lang"] == lang and (not source or source in item)]
        if not chosen:
            continue
        imaps = [make_imap(item, side, source) for side in ("right", "wrong") for item in chosen]
        found = await matcher.match(imaps, langs=[lang] * len(imaps))
        scores = [score_graded(imap, matches).value for imap, matches in zip(imaps, found, strict=True)]
        right, wrong = scores[: len(chosen)], scores[len(chosen) :]
        above = sum(one > other for one, other in zip(right, wrong, strict=True))
        lines.append(
            f"| {SOURCES[source]} | {lang} | {fmean(right):.2f} | {fmean(wrong):.2f} | {above} of {len(chosen)} |"
        )
    return lines


def make_imap(item: dict[str, Any], side: str, source: str) -> Imap:
    """Return the imap of an answer, with the relations of that field of the set if one is named."""
    reference, response = (tuple(annotate_pair(Pair(*fact)) for fact in item[key]) for key in ("reference", side))
    relations = tuple(
        KnownRelation(*item["reference"][i], item[side][j][1], Relation(label), other_term=item[side][j][0])
        for i, j, label in (item[source][side] if source else ())
    )
    return Imap((Pair("question", "?"),), (), reference, response, relations=relations if source else None)


if __name__ == "__main__":
    main()
