"""How well designs of the judge's prompt agree with clinicians, computed from replies stored in files.

    python benchmarks/judge_designs.py write DIR --rows ROWS --imaps IMAPS    DIR/requests-DESIGN.jsonl
    python benchmarks/judge_designs.py read DIR --rows ROWS --imaps IMAPS [--plain FILE]    the table of designs
    python benchmarks/judge_designs.py samples DIR --rows ROWS --imaps IMAPS    what the mean of samples gains

ROWS are rated answers; those that have ready imaps in IMAPS are judged. DIR/results-DESIGN.jsonl are results of the
requests, as `imapeval batch import` takes them; `samples` reads DIR/results-a-NUMBER.jsonl, several results of the
shipped design. `judge_replies.jsonl` beside this file is one for the rows in docs/judge-designs.md: copy it to
DIR/results-a.jsonl.

The coefficient is the mean Spearman correlation over systems and rating dimensions, the interval of a difference that
of `study compare`. Tokens are estimates (`imapeval.llm.tokens`); a server with a prefix cache reads the system message
once.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import tempfile
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from agreement import run

from imapeval.cli.commands.study.inputs import StudyOptions
from imapeval.evaluation import samples
from imapeval.llm.batch import ENDPOINT
from imapeval.llm.providers import chat_format
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.llm.tokens import estimate
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.judges.judge import DimensionJudge
from imapeval.study.comparison.compare import compare
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import ALL
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.llm.protocol import Request
    from imapeval.study.data.rated import Rated

DESIGNS = {
    "a": "half points, a reason before each number (as shipped)",
    "b": "half points, no reasons",
    "c": "whole points, a reason before each number",
}
SHIPPED = "a"
SCALES = {"a": "0:5:0.5", "b": "0:5:0.5", "c": "0:5:1"}
FORM = (
    '{"accuracy_reason": "...", "accuracy": N, "completeness_reason": "...", "completeness": N, '
    '"specificity_reason": "...", "specificity": N}'
)
REASONS = {
    "Reply with JSON only, each reason one short sentence that comes before its number:": "Reply with JSON only:",
    "只输出 JSON，每个分数之前用一句简短的话说明理由：": "只输出 JSON：",
    FORM: '{"accuracy": N, "completeness": N, "specificity": N}',
}
"""The part of the shipped prompts that asks for reasons, and its replacement in the design without reasons."""


def judge(case: Case, scale: str, reply: Callable[[Request], str]) -> tuple[list[Request], Score | None]:
    """Return the requests of the shipped judge for a case, and its score."""
    model = ScriptedModel(reply)
    ready = DimensionJudge(scale=scale).prepare(MetricResources(llm=model))
    (outcome,) = asyncio.run(ready.ascore_batch([case]))
    return model.requests, outcome if isinstance(outcome, Score) else None


def drop_reasons(body: dict[str, Any]) -> None:
    """Have a request ask for the numbers alone."""
    system = body["messages"][0]
    for asked, instead in REASONS.items():
        system["content"] = system["content"].replace(asked, instead)
    schema = body["response_format"]["json_schema"]["schema"]
    schema["properties"] = {name: form for name, form in schema["properties"].items() if not name.endswith("_reason")}
    schema["required"] = list(schema["properties"])


def write(folder: Path, cases: list[Case]) -> None:
    """Write the requests of each design; their ids do not reveal which system wrote the answer."""
    folder.mkdir(parents=True, exist_ok=True)
    for design, scale in SCALES.items():
        lines: list[str] = []
        for case in cases:
            requests, _ = judge(case, scale, lambda _: "")
            body = chat_format.request_body(requests[0], "by-hand")
            if design == "b":
                drop_reasons(body)
            name = hashlib.sha256(f"{design}/{case.id}".encode()).hexdigest()[:8]
            record = {"custom_id": name, "method": "POST", "url": ENDPOINT, "body": body}
            lines.append(json.dumps(record, ensure_ascii=False) + "\n")
        (folder / f"requests-{design}.jsonl").write_text("".join(lines), encoding="utf-8")


def read_replies(folder: Path, design: str, sample: str = "") -> dict[str, tuple[str, list[str]]]:
    """Return each reply with the messages of its request, by the last message: the texts, alike in all designs."""
    lines = (folder / f"requests-{design}.jsonl").read_text(encoding="utf-8").splitlines()
    messages = {line["custom_id"]: [m["content"] for m in line["body"]["messages"]] for line in map(json.loads, lines)}
    replies: dict[str, tuple[str, list[str]]] = {}
    for line in map(json.loads, (folder / f"results-{design}{sample}.jsonl").read_text(encoding="utf-8").splitlines()):
        asked = messages[line["custom_id"]]
        replies[asked[-1]] = (line["response"]["body"]["choices"][0]["message"]["content"], asked)
    return replies


def rate(replies: dict[str, tuple[str, list[str]]], cases: list[Case], scale: str) -> dict[str, float]:
    """Return the judge's score of each answer that has a usable reply, 0..5."""

    def reply(request: Request) -> str:
        # The second request, about what was wrong with the first reply, has none.
        return replies.get(request.messages[-1].content, ("", []))[0]

    scores = {case.id: judge(case, scale, reply)[1] for case in cases}
    return {name: score.value for name, score in scores.items() if score is not None}


def read_rated(rows: Path, imaps: Path) -> Rated:
    """Return the rated answers with their imapScore by ready imaps."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/run"
        run("score", str(rows), "--metrics", "imapscore", "--imaps", str(imaps), "--out", out)
        rated = StudyOptions().read([Path(out)]).rated
    return rated.take(np.flatnonzero(np.isfinite(rated.scores[:, 0])))


def show(folder: Path, rated: Rated, cases: list[Case], plain: Path | None) -> None:
    """Print a row for each design that has results."""
    given = {
        design: read_replies(folder, design) for design in DESIGNS if (folder / f"results-{design}.jsonl").exists()
    }
    ratings = {design: rate(replies, cases, SCALES[design]) for design, replies in given.items()}
    if plain is not None:
        lines = map(json.loads, plain.read_text(encoding="utf-8").splitlines())
        ratings["plain"] = {
            line["id"]: fmean(line[name] for name in ("accuracy", "completeness", "specificity")) for line in lines
        }
    columns = {name: np.array([scores.get(row, np.nan) for row in rated.ids]) for name, scores in ratings.items()}
    # Everything on the answers that all designs have rated.
    everywhere = np.flatnonzero(np.isfinite(np.array([*columns.values()])).all(axis=0))
    imapscore = rated.scores[:, 0]
    columns |= {f"{name} blend": (column / 5 + imapscore) / 2 for name, column in list(columns.items())}
    rated = replace(
        rated, metrics=("imapscore", *columns), scores=np.column_stack([imapscore, *columns.values()])
    ).take(everywhere)
    coefficients = correlate(rated, coefficients=("spearman",), seed=0)
    found = {row.metric: row for row in coefficients if (row.system, row.dimension) == (ALL, ALL)}
    differences = {row.second: row for row in compare(rated, against=SHIPPED) if row.dimension == ALL}
    print(f"{len(everywhere)} answers that every design has rated; imapscore {found['imapscore'].value:.3f}\n")
    print("| design | answered | judge | difference from the shipped one | mean with `imapscore` | tokens an answer |")
    print("|---|---|---|---|---|---|")
    for name, scores in ratings.items():
        row, other = found[name], differences.get(name)
        # Comparisons are with the first metric, so the shipped design comes first.
        difference = "" if other is None else f"{-other.difference:+.3f} [{-other.high:+.3f}, {-other.low:+.3f}]"
        tokens = count_tokens(given[name]) if name in given else ""
        print(
            f"| {DESIGNS.get(name, 'plain rating')} | {len(scores)} | {row.value:.3f} [{row.low:.3f}, {row.high:.3f}] "
            f"| {difference} | {found[f'{name} blend'].value:.3f} | {tokens} |"
        )


def show_samples(folder: Path, rated: Rated, cases: list[Case]) -> None:
    """Print how well each sample of the shipped design agrees, and the mean of each selection of samples."""
    paths = sorted(folder.glob(f"results-{SHIPPED}-*.jsonl"))
    numbers = [path.stem.rpartition("-")[2] for path in paths]
    ratings = [rate(read_replies(folder, SHIPPED, f"-{number}"), cases, SCALES[SHIPPED]) for number in numbers]
    samples_by_answer = np.array([[scores.get(row, np.nan) for scores in ratings] for row in rated.ids])
    everywhere = np.flatnonzero(np.isfinite(samples_by_answer).all(axis=1))
    rated, samples_by_answer = rated.take(everywhere), samples_by_answer[everywhere]
    selections = [
        chosen for size in range(len(numbers), 0, -1) for chosen in combinations(range(len(numbers)), size)
    ]  # all samples come first: the others are compared with their mean
    judged = {
        "mean of " + ", ".join(numbers[k] for k in chosen): samples_by_answer[:, chosen].mean(axis=1)
        for chosen in selections
    }
    imapscore = rated.scores[:, 0]
    print(
        f"{len(everywhere)} answers; mean standard deviation of an answer's samples "
        f"{samples_by_answer.std(axis=1, ddof=1).mean():.2f} points\n"
    )
    print("| | judge | difference from all samples | mean with `imapscore` | difference from all samples |")
    print("|---|---|---|---|---|")
    halves = judged, {name: (column / 5 + imapscore) / 2 for name, column in judged.items()}
    cells: dict[str, list[str]] = {name: [] for name in judged}
    for columns in halves:
        table = replace(rated, metrics=tuple(columns), scores=np.column_stack([*columns.values()]))
        differences = {row.second: row for row in compare(table, against=table.metrics[0]) if row.dimension == ALL}
        for row in correlate(table, coefficients=("spearman",), seed=0):
            if (row.system, row.dimension) == (ALL, ALL):
                cells[row.metric].append(f"{row.value:.3f} [{row.low:.2f}, {row.high:.2f}]")
                other = differences.get(row.metric)
                cells[row.metric].append(
                    f"{-other.difference:+.3f} [{-other.high:+.3f}, {-other.low:+.3f}]" if other else ""
                )
    for name, row in cells.items():
        print(f"| {name} | {' | '.join(row)} |")


def count_tokens(replies: dict[str, tuple[str, list[str]]]) -> str:
    """Return the mean tokens of a request's system message, of its texts, and of a reply."""
    system, texts, reply = (
        fmean(map(estimate, column))
        for column in zip(*((*asked, said) for said, asked in replies.values()), strict=True)
    )
    return f"{system:.0f} shared + {texts:.0f} + {reply:.0f} of the reply"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("write", "read", "samples"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--imaps", type=Path, required=True)
    parser.add_argument(
        "--plain", type=Path, help="ratings by id, 0 to 5, in the fields accuracy, completeness, specificity"
    )
    args = parser.parse_args()
    ready = {json.loads(line)["id"] for line in args.imaps.read_text(encoding="utf-8").splitlines()}
    cases = [
        Case(sample.id, sample.question, sample.references[0], sample.response, sample.lang)
        for sample in samples.read(str(args.rows))
        if sample.id in ready
    ]
    if args.what == "write":
        write(args.folder, cases)
    elif args.what == "samples":
        show_samples(args.folder, read_rated(args.rows, args.imaps), cases)
    else:
        show(args.folder, read_rated(args.rows, args.imaps), cases, args.plain)


if __name__ == "__main__":
    main()
