"""How often the shipped graph relates two values correctly: `python benchmarks/relations.py [--llm PROVIDER:NAME]`.

Judges the pairs of tests/matching/relation_pairs.tsv and prints, as Markdown, the accuracy by split, language and kind
of case, the confusion matrices, and the misjudged pairs. With `--llm`, the model judges pairs of different wording.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from imapeval.evaluation.pipeline import LlmSettings, open_graph, open_llm, open_matcher
from imapeval.types import Failure, Imap, Match, Pair, Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.matching.protocol import Matcher

TABLE = Path(__file__).parents[1] / "tests/matching/relation_pairs.tsv"

Row = dict[str, str]
Judged = list[tuple[Row, Match]]


def main() -> None:
    """Judge the table and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kg", type=Path, help="another graph than the shipped one")
    parser.add_argument("--llm", help="a model that judges what has not the same wording")
    parser.add_argument("--base-url", help="its address")
    args = parser.parse_args()
    with TABLE.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    model = open_llm(LlmSettings(args.llm, base_url=args.base_url, relations=True)) if args.llm else None
    judged = asyncio.run(judge(open_matcher(open_graph(args.kg), llm=model), rows))
    print(*show_accuracy(judged), "", *show_confusion(judged), sep="\n")
    for split in sorted({row["split"] for row in rows}):
        print(f"\n{split}:\n", *show_confusion([(row, m) for row, m in judged if row["split"] == split]), sep="\n")
    print("", *show_sorts(judged), "", *show_errors(judged), sep="\n")


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
    """Return the accuracy over all rows, by split, language and sort of case, as the lines of a table."""
    right: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    for row, match in judged:
        for group in (("", "all"), *((key, row[key]) for key in ("split", "lang", "expected", "sort"))):
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


if __name__ == "__main__":
    main()
