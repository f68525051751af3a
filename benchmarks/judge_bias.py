"""How far `judge` shifts where something beside what an answer says is altered, computed from replies stored in files.

    python benchmarks/judge_bias.py write DIR --rows ROWS    DIR/requests-VARIANT.jsonl
    python benchmarks/judge_bias.py read DIR --rows ROWS     the shifts of all answers and by language

15 answers of each file in ROWS (`FILE:NUMBER` is the id), no two to one question, are judged as they are and altered:

    suggested   the question adds that the first sentence of the answer is right
    doubted     the question adds that it is wrong
    longer      the answer is followed by "In summary:" and itself once more
    order       the answer comes before the reference

DIR/results-VARIANT.jsonl are results of the requests, as `imapeval batch import` takes them. Shifts and intervals are
those of `imapeval study bias --altered`. A reader who answers requests should see only one variant of an answer, and
every variant equally often, so that a strict reader lowers all alike.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
from judge_designs import SCALES, SHIPPED, judge

from imapeval.evaluation import samples
from imapeval.llm.batch import ENDPOINT
from imapeval.llm.providers import chat_format
from imapeval.metrics.base import Case
from imapeval.metrics.judges.geval import DIMENSIONS
from imapeval.study.data.rated import Rated
from imapeval.study.subgroups.shifts import measure_shifts

ORIGINAL = "original"
ALTERATIONS = ("suggested", "doubted", "longer", "order")
ADDED = {
    "suggested": {"en": "I think the answer is: ", "zh": "我认为答案是："},
    "doubted": {"en": "I do not think that this is right: ", "zh": "我认为这样说是不对的："},
    "longer": {"en": "In summary: ", "zh": "总之："},
}
METRICS = ("judge", *DIMENSIONS)
PER_FILE, LONGEST, SEED = 15, 1500, 16


def choose(rows: Path) -> list[Case]:
    """Return the answers to judge."""
    files: dict[str, list[Case]] = defaultdict(list)
    for sample in samples.read(str(rows)):
        case = Case(sample.id, sample.question, sample.references[0], sample.response, sample.lang)
        files[sample.id.rpartition(":")[0]].append(case)
    chosen: dict[str, Case] = {}
    for cases in files.values():
        random.Random(SEED).shuffle(cases)
        limit = len(chosen) + PER_FILE
        for case in cases:
            if len(chosen) < limit and case.question not in chosen and len(case.response) < LONGEST:
                chosen[case.question] = case
    return list(chosen.values())


def find_claim(text: str) -> str:
    """Return the first sentence that says something: not a greeting or the number of a list."""
    for part in re.split(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n+", text):
        sentence = re.sub(r"^\W*\d*[.、)]?\s*", "", part).strip()
        if len(sentence) >= 12 and (not sentence.isascii() or len(sentence.split()) >= 7):
            return sentence
    return text.strip()


def alter(case: Case, variant: str) -> Case:
    """Return the case with the texts of a variant."""
    if variant not in ADDED:
        return case
    added = ADDED[variant][case.lang]
    if variant == "longer":
        return replace(case, response=f"{case.response}\n\n{added}{case.response}")
    return replace(case, question=f"{case.question}\n{added}{find_claim(case.response)}")


def swap(message: str) -> str:
    """Put the answer before the reference."""
    texts = r"(<(reference-\w+)>.*</\2>)(\s*)(<(answer-\w+)>.*</\5>)"
    before, reference, _, between, answer, _, after = re.split(texts, message, flags=re.DOTALL)
    return before + answer + between + reference + after


def make_id(case: Case, variant: str) -> str:
    """Return the id of a request, which does not reveal the variant."""
    return hashlib.sha256(f"{variant}/{case.id}".encode()).hexdigest()[:8]


def write(folder: Path, cases: list[Case]) -> None:
    """Write the requests of each variant."""
    folder.mkdir(parents=True, exist_ok=True)
    for variant in (ORIGINAL, *ALTERATIONS):
        lines: list[str] = []
        for case in cases:
            requests, _ = judge(alter(case, variant), SCALES[SHIPPED], lambda _: "")
            body = chat_format.request_body(requests[0], "by-hand")
            if variant == "order":
                body["messages"][-1]["content"] = swap(body["messages"][-1]["content"])
            record = {"custom_id": make_id(case, variant), "method": "POST", "url": ENDPOINT, "body": body}
            lines.append(json.dumps(record, ensure_ascii=False) + "\n")
        (folder / f"requests-{variant}.jsonl").write_text("".join(lines), encoding="utf-8")


def read_scores(folder: Path, cases: list[Case], variant: str) -> dict[str, dict[str, float]]:
    """Return the mean rating and those of each dimension of the answers that have a usable reply, by metric and id."""
    lines = map(json.loads, (folder / f"results-{variant}.jsonl").read_text(encoding="utf-8").splitlines())
    replies = {line["custom_id"]: line["response"]["body"]["choices"][0]["message"]["content"] for line in lines}
    found: dict[str, dict[str, float]] = {metric: {} for metric in METRICS}
    for case in cases:
        reply = replies.get(make_id(case, variant), "")
        _, score = judge(alter(case, variant), SCALES[SHIPPED], lambda _, reply=reply: reply)
        if score is not None:
            for metric in METRICS:
                found[metric][case.id] = score.parts.get(metric, score.value)
    return found


def show(folder: Path, cases: list[Case]) -> None:
    """Print how far each alteration shifts the ratings: of all answers, by language and by dimension."""
    original = read_scores(folder, cases, ORIGINAL)
    altered = {variant: read_scores(folder, cases, variant) for variant in ALTERATIONS}
    rated = Rated(
        ids=tuple(case.id for case in cases),
        questions=np.arange(len(cases)),
        systems=("",) * len(cases),
        metrics=METRICS,
        scores=np.array([[original[metric].get(case.id, np.nan) for metric in METRICS] for case in cases]),
        dimensions=(),
        ratings=np.empty((len(cases), 0)),
    )
    groups = {"all": list(range(len(cases)))}
    for number, case in enumerate(cases):
        groups.setdefault(case.lang, []).append(number)
    for group, chosen in groups.items():
        print(f"\n{group}:")
        for row in measure_shifts(rated.take(chosen), altered):
            print(f"{row.sentence} n = {row.n}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("write", "read"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=Path, required=True)
    args = parser.parse_args()
    (write if args.what == "write" else show)(args.folder, choose(args.rows))


if __name__ == "__main__":
    main()
