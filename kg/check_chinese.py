"""Compares the Chinese names of the shipped graph with other lists: `python kg/check_chinese.py FOLDER`.

The folder holds hp-zh.babelon.tsv, cow-wn-data-cmn.tab beside wordnet-medical-en-zh.tsv, pycmekg-0.2.5.json.gz and
THUOCL_medical.txt. None of them is used in the graph. Prints a Markdown table and, with `--differences N`, N pairs that
share an English name but no Chinese one, for review. Agreement is counted over concepts that share exactly one English
name with an entry of the other list; Chinese names agree if their normal forms are the same or one contains the other.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from imapeval.graph.store.graph import Graph
from imapeval.text.normalise import normalise

Pairs = Iterator[tuple[list[str], list[str]]]
"""(English names, Chinese names) of the entries of a list."""


def read_hpo(folder: Path) -> Pairs:
    """Yield the labels of HPO with their official translations."""
    with (folder / "hp-zh.babelon.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["translation_value"]:
                yield [row["source_value"]], [row["translation_value"]]


def read_wordnet(folder: Path) -> Pairs:
    """Yield the medical synsets of WordNet with the lemmas of the Chinese Open WordNet."""
    chinese: dict[str, list[str]] = defaultdict(list)
    for line in (folder / "cow-wn-data-cmn.tab").read_text(encoding="utf-8").splitlines():
        synset, _, text = line.split("\t")[:3] if line.count("\t") >= 2 else ("", "", "")
        if synset.endswith("-n"):
            chinese[synset.removesuffix("-n")].append(text.replace("+", ""))
    with (folder / "wordnet-medical-en-zh.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            names = [*filter(None, row["zh"].split("|")), *chinese[row["synset"]]]
            if names:
                yield row["en"].split("|"), names


def read_cmekg(folder: Path) -> Pairs:
    """Yield the entries of pycmekg that have English names."""
    with gzip.open(folder / "pycmekg-0.2.5.json.gz", "rt", encoding="utf-8") as file:
        entries = json.load(file)
    for name, fields in entries.items():
        english = [text for key in ("英文名", "英文名称") for text in fields.get(key, [])]
        if english:
            yield english, [name, *fields.get("别名", []), *fields.get("同义词", [])]


LISTS = {"HPO, Chinese labels": read_hpo, "Chinese Open WordNet": read_wordnet, "pycmekg": read_cmekg}


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--graph", type=Path, help="graph to check instead of the shipped one")
    parser.add_argument("--differences", type=int, default=0, metavar="N", help="print N pairs that disagree")
    args = parser.parse_args()
    with Graph.open(args.graph) as graph:
        ours: dict[str, dict[str, str]] = defaultdict(dict)
        for _, text, concept, lang in graph.all_names():
            if lang == "zh":
                ours[concept][normalise(text)] = text
        print(f"{len(ours)} concepts have a Chinese name, {sum(map(len, ours.values()))} names.\n")
        print("| list | entries | in both | same name | one contains the other | none |")
        print("|---|---|---|---|---|---|")
        different: list[str] = []
        for title, read in LISTS.items():
            counts, fresh = compare(graph, ours, list(read(args.folder)))
            print(f"| {title} |", " | ".join(map(str, counts)), "|")
            different += [f"{title}: {line}" for line in fresh]
        words = [line.split("\t")[0] for line in (args.folder / "THUOCL_medical.txt").read_text("utf-8").splitlines()]
        known = {norm for names in ours.values() for norm in names}
        shared = [word for word in words[:2000] if normalise(word) in known]
        print(f"\nTHUOCL: of its 2,000 most frequent medical words, {len(shared)} are names in the graph.")
    for line in random.Random(0).sample(different, min(args.differences, len(different))):
        print(line)


def compare(
    graph: Graph, ours: dict[str, dict[str, str]], entries: list[tuple[list[str], list[str]]]
) -> tuple[tuple[int, int, int, int, int], list[str]]:
    """Return (entries, shared, same, contained, none) and the pairs that share no Chinese name."""
    same = contained = 0
    different: list[str] = []
    for english, chinese in entries:
        found = {concept for text in english for concept in graph.lookup(text) if concept in ours}
        if len(found) != 1:
            continue
        concept = found.pop()
        theirs = {norm for text in chinese if (norm := normalise(text))}
        if theirs & ours[concept].keys():
            same += 1
        elif any(one in other or other in one for one in theirs for other in ours[concept]):
            contained += 1
        else:
            different.append(f"{'; '.join(english)}: {'、'.join(chinese)} | {'、'.join(ours[concept].values())}")
    shared = same + contained + len(different)
    return (len(entries), shared, same, contained, len(different)), different


if __name__ == "__main__":
    main()
