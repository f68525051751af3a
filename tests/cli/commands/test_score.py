import csv
import json
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from imapeval.evaluation.runs import Run
from imapeval.evaluation.samples import read
from imapeval.study.intervals.coverage import describe_mean_coverage
from imapeval.types import Failure, Sample, Score
from tests.cli.conftest import Command, Process, WriteData

SAMPLES = [
    Sample("a", "What helps?", ("Rest and fluids.",), "Rest and fluids.", system="one"),
    Sample("b", "What helps?", ("Rest and fluids.",), "Surgery.", system="two"),
]
IMAP = {
    "query": [{"term": "advice", "value": "?"}],
    "constraint": [],
    "reference": [{"term": "advice", "value": "rest"}, {"term": "advice", "value": "fluids"}],
    "response": [{"term": "advice", "value": "rest"}],
    "relations": [{"term": "advice", "reference": "rest", "response": "rest", "relation": "exact"}],
}


def test_a_run_from_start_to_report(imapeval: Command, write_data: WriteData, tmp_path: Path):
    done = imapeval("score", write_data(SAMPLES), "--metrics", "rouge1,bleu", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "rouge1" in done.stdout
    assert "bleu: mean of sentence BLEU" in done.stdout
    assert "report: run/report.html" in done.stdout.replace("\\", "/")
    run = Run(tmp_path / "run")
    outcomes = {(result.id, result.metric): result.outcome for result in run.results()}
    rouge = outcomes["a", "rouge1"]
    assert isinstance(rouge, Score)
    assert rouge.value == 1.0
    assert len(outcomes) == 4
    # In the table of means, and above the histogram.
    assert (tmp_path / "run" / "report.html").read_text(encoding="utf-8").count("mean of sentence BLEU") == 2
    header, first, _ = (tmp_path / "run" / "results.csv").read_text().splitlines()
    assert header == "id,system,question,reference,response,lang,rouge1,bleu,failure"
    assert first.startswith(f"a,one,{SAMPLES[0].question},{SAMPLES[0].references[0]},{SAMPLES[0].response},en,1.0,")


def test_outcomes_are_read_once_for_table_page_and_summary(
    imapeval: Command, write_data: WriteData, monkeypatch: pytest.MonkeyPatch
):
    read: list[Run] = []
    stream = Run.stream_results
    monkeypatch.setattr(Run, "stream_results", lambda run, ids: read.append(run) or stream(run, ids))
    done = imapeval("score", write_data(SAMPLES[:1]), "--metrics", "rouge1", "--out", "run")
    assert done.returncode == 0, done.stderr
    # And before, to see whether there is anything to resume.
    assert len(read) == 2


def test_what_is_known_of_the_intervals_of_few_answers_stands_below_them(imapeval: Command, write_data: WriteData):
    def score(*responses: str) -> str:
        samples = [
            replace(SAMPLES[0], id=str(n), question=f"What helps after {n % 4} days?", response=responses[n % 2])
            for n in range(60)
        ]
        return imapeval("score", write_data(samples), "--metrics", "rouge1").stdout

    # Sixty answers, to four questions.
    (sentence,) = describe_mean_coverage([4])
    assert sentence in score("Rest.", "Fluids and surgery.")
    # Of scores that are 0 or 1 the interval is that of a share.
    assert sentence not in score("Rest and fluids.", "Surgery.")


def test_a_row_of_the_table_is_one_line_wherever_it_is_printed_to(imapeval: Command, write_data: WriteData):
    systems = [f"{name}-of-a-hospital-in-2026" for name in ("nova", "meddy", "tiny")]
    samples = [replace(SAMPLES[0], id=f"{n}{system}", system=system) for n in range(3) for system in systems]
    printed = imapeval("score", write_data(samples), "--metrics", "imapscore:paper,rouge1").stdout
    rows = [line for line in printed.splitlines() if "│" in line]
    assert len(rows) == 2 * (len(systems) + 1)
    assert all(any(system in row for row in rows) for system in systems)


def test_several_readings_have_a_spread_and_flips(imapeval: Command, write_data: WriteData, tmp_path: Path):
    read = {"id": "a", "reference_index": 0, **IMAP}
    without = {**read, "reading": 1, "response": [{"term": "advice", "value": "surgery"}], "relations": []}
    imaps = [{**read, "reading": 0}, without, {**read, "id": "b"}, {**without, "id": "b"}]
    (tmp_path / "imaps.jsonl").write_text("".join(json.dumps(imap) + "\n" for imap in imaps))
    scored = ("score", write_data(SAMPLES), "--metrics", "imapscore", "--imaps", "imaps.jsonl", "--out", "run")
    done = imapeval(*scored, "--threshold", "imapscore=0.2", "--json")
    (spread,) = json.loads(done.stdout)["spread"]
    (outcome, _) = [result.outcome for result in Run(tmp_path / "run").results()]
    assert isinstance(outcome, Score)
    ((first,), (second,)) = outcome.repetitions
    assert spread["sd"] == pytest.approx(abs(first - second) / 2**0.5)
    assert (spread["readings"], spread["judgements"], spread["flips"]) == (2, 1, 1.0)
    assert {one["id"]: one["verdict"]["verdict"] for one in spread["answers"]} == dict.fromkeys(
        "ab", "too close to call"
    )
    shown = imapeval(*scored, "--threshold", "imapscore=0.2").stdout
    assert "imapscore, too close to call: a, b" in shown
    assert "100.0%" in shown


def test_files_are_scored_as_one(imapeval: Command, tmp_path: Path):
    for n, sample in enumerate(SAMPLES):
        row = {"id": sample.id, "question": sample.question, "reference": "Rest.", "response": sample.response}
        (tmp_path / f"part-{n}.jsonl").write_text(json.dumps(row))
    done = imapeval("score", "part-0.jsonl", "part-1.jsonl", "--metrics", "rouge1", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert {result.id for result in Run(tmp_path / "run").results()} == {"a", "b"}


def test_a_url_of_an_unknown_storage(imapeval: Command, write_data: WriteData, tmp_path: Path):
    done = imapeval("score", write_data(SAMPLES), "--metrics", "rouge1", "--out", "nostorage://bucket/run")
    assert done.returncode == 2
    assert "nostorage://bucket/run" in done.stderr
    assert not (tmp_path / "nostorage:").exists()


@pytest.mark.parametrize("kind", ["xlsx", "parquet"])
def test_the_table_in_another_format(imapeval: Command, write_data: WriteData, tmp_path: Path, kind: str):
    done = imapeval("score", write_data(SAMPLES), "--metrics", "rouge1", "--out", "run", "--format", kind, "--json")
    assert done.returncode == 0, done.stderr
    tables = [Path(name).name for name in json.loads(done.stdout)["tables"]]
    assert tables == ["results.csv", f"results.{kind}"]
    assert [sample.id for sample in read(tmp_path / "run" / f"results.{kind}")] == ["a", "b"]


def test_an_unknown_format_is_refused_before_the_work(imapeval: Command, write_data: WriteData, tmp_path: Path):
    done = imapeval("score", write_data(SAMPLES), "--metrics", "rouge1", "--out", "run", "--format", "ods")
    assert (done.returncode, "parquet, shards, xlsx" in done.stderr, (tmp_path / "run").exists()) == (2, True, False)


def test_a_bad_row_is_a_failure_of_that_row(imapeval: Command, write_data: WriteData, tmp_path: Path):
    data = write_data(SAMPLES)
    with data.open("a") as file:
        file.write('{"id": "c", "question": "What helps?\n')
    done = imapeval("score", data, "--metrics", "rouge1", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "1 of 3 samples failed (bad-input: 1)" in done.stderr
    run = Run(tmp_path / "run")
    assert [sample.fault is None for sample in run.samples()] == [True, True, False]
    outcome = {result.id: result.outcome for result in run.results()}["line 3"]
    assert isinstance(outcome, Failure)
    assert (outcome.stage, "line 3: invalid JSON" in outcome.message) == ("sample", True)
    again = imapeval("score", data, "--metrics", "rouge1", "--out", "run")
    assert again.returncode == 0, again.stderr
    strict = imapeval("score", data, "--metrics", "rouge1", "--strict")
    assert (strict.returncode, "line 3: invalid JSON" in strict.stderr) == (2, True)


def test_json_and_default_folder(imapeval: Command, write_data: WriteData, tmp_path: Path):
    done = imapeval("score", write_data(SAMPLES), "--metrics", "rouge1", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["run"].replace("\\", "/").startswith("runs/data-")
    assert (tmp_path / found["report"]).exists()
    assert (found["samples"], found["failed"], found["thresholds"]) == (2, 0, [])
    together, one, two = found["summary"]
    assert (together["metric"], together["system"], together["n"], together["failed"]) == ("rouge1", "", 2, 0)
    assert (together["mean"], one["mean"], two["mean"]) == (0.5, 1.0, 0.0)
    assert (together["low"], together["high"]) == (None, None)  # one question: nothing to draw from


def test_ready_imaps_are_not_those_of_other_rows(imapeval: Command, write_data: WriteData, tmp_path: Path):
    rows = [replace(sample, id="") for sample in SAMPLES]  # so that their numbers are the ids
    assert imapeval("extract", write_data(rows), "--out", "imaps.jsonl").returncode == 0
    scored = ("--metrics", "imapscore", "--imaps", "imaps.jsonl", "--out", "run")
    refused = imapeval("score", write_data(rows[::-1]), *scored)
    assert (refused.returncode, (tmp_path / "run").exists()) == (2, False)
    assert imapeval("score", write_data(rows), *scored).returncode == 0


def test_ready_imaps_with_their_relations(imapeval: Command, write_data: WriteData, tmp_path: Path):
    (tmp_path / "imaps.jsonl").write_text(json.dumps({"id": "a"} | IMAP) + "\n")
    data = write_data(SAMPLES)
    done = imapeval("score", data, "--metrics", "imapscore:paper,rouge1", "--imaps", "imaps.jsonl", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "1 of 2 samples failed (no-imap: 1); see run/results.jsonl" in done.stderr.replace("\\", "/")
    outcomes = {(result.id, result.metric): result.outcome for result in Run(tmp_path / "run").results()}
    paper, absent = outcomes["a", "imapscore:paper"], outcomes["b", "imapscore:paper"]
    assert isinstance(paper, Score)
    assert paper.value == 1.5  # recall 1/2, precision 1, lambda 0: Eq. 1 of Wang et al. 2024
    assert isinstance(absent, Failure)
    assert absent.kind == "no-imap"
    assert isinstance(outcomes["b", "rouge1"], Score)
    again = imapeval("score", data, "--metrics", "imapscore:paper", "--imaps", "run/imaps.jsonl", "--out", "again")
    assert again.returncode == 0, again.stderr


def test_the_imaps_of_a_run_give_its_scores_again(imapeval: Command, tmp_path: Path):
    # Also to the pairs that only their similarity gives credit, which are not listed in the file.
    scored = ("--sample", "8", "--metrics", "imapscore")
    assert imapeval("score", "sample-en", *scored, "--out", "run").returncode == 0
    assert imapeval("score", "sample-en", *scored, "--imaps", "run/imaps.jsonl", "--out", "again").returncode == 0
    first, second = ([(r.id, r.outcome) for r in Run(tmp_path / run).results()] for run in ("run", "again"))
    assert len(first) == 16
    assert first == second


def test_without_a_reference_there_is_a_reason_and_no_score(imapeval: Command, write_data: WriteData, tmp_path: Path):
    data = write_data([*SAMPLES, Sample("c", "What helps?", (), "Rest.")])
    done = imapeval("score", data, "--metrics", "imapscore,rouge1", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "1 of 3 samples failed (no-reference: 1)" in done.stderr
    outcomes = {(result.id, result.metric): result.outcome for result in Run(tmp_path / "run").results()}
    for metric in ("imapscore", "rouge1"):
        assert isinstance(outcomes["a", metric], Score)
        assert isinstance(outcomes["c", metric], Failure)
    alone = imapeval("score", write_data([Sample("c", "What helps?", (), "Rest.")], "alone.jsonl"))
    assert (alone.returncode, "1 of 1 samples failed (no-reference: 1)" in alone.stderr) == (1, True)
    # Perhaps no column was taken for the reference: the option that names it is stated.
    assert "--map reference=" in alone.stderr


UNANSWERED = [
    Sample("c", "What helps?", ("Rest and fluids.",), "", system="two", answered=False),
    Sample("d", "What helps?", ("Rest and fluids.",), "N/A", system="two"),
    Sample("e", "What helps?", ("Rest and fluids.",), "", system="one"),
]


def test_no_response_is_missing_and_no_zero(imapeval: Command, write_data: WriteData, tmp_path: Path):
    data = write_data([*SAMPLES, *UNANSWERED])
    options = ("--metrics", "imapscore,rouge1", "--missing", "N/A", "--missing", "-", "--out", "run")
    done = imapeval("score", data, *options, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["samples"], found["failed"], found["missing"]) == (5, 2, 2)
    counts = {(row["metric"], row["system"]): (row["n"], row["failed"], row["missing"]) for row in found["summary"]}
    for metric in ("imapscore", "rouge1"):
        assert counts[metric, ""] == (3, 2, 2)
        assert counts[metric, "one"] == (2, 0, 0)
        assert counts[metric, "two"] == (1, 2, 2)
    outcomes = {(result.id, result.metric): result.outcome for result in Run(tmp_path / "run").results()}
    for id_ in "cd":
        for metric in ("imapscore", "rouge1"):
            outcome = outcomes[id_, metric]
            assert isinstance(outcome, Failure)
            assert (outcome.stage, outcome.kind) == ("sample", "no-response")
    assert outcomes["e", "rouge1"] == Score(0.0, {"precision": 0.0, "recall": 0.0, "fmeasure": 0.0})
    with (tmp_path / "run" / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["imapscore"], row["rouge1"], row["failure"]) for row in rows[2:4]] == [
        ("c", "", "", "no-response"),
        ("d", "", "", "no-response"),
    ]
    assert (rows[4]["rouge1"], rows[4]["failure"]) == ("0.0", "")
    shown = imapeval("score", data, *options)  # the run goes on, with nothing left to do
    assert shown.returncode == 0, shown.stderr
    assert "missing" in shown.stdout
    assert "2 of 5 samples failed (no-response: 2)" in shown.stderr


def test_the_first_failures_of_the_most_frequent_kinds_are_shown(imapeval: Command, write_data: WriteData):
    frequent = [
        *UNANSWERED[:1],
        *(Sample(f"r{number}", "What helps?", (), "Rest.") for number in range(2)),
        *(Sample(f"l{number}", "What helps?", ("Rest.",), "a" * (100_001 + number)) for number in range(2)),
        *(Sample(f"w{number}", "What helps?", ("😀",), "Rest.") for number in range(2)),
    ]
    done = imapeval("score", write_data([*SAMPLES, *frequent]), "--metrics", "rouge1")
    _, first, *shown = done.stderr.splitlines()
    assert first.startswith("7 of 9 samples failed (")
    assert [line.split(":")[0].strip() for line in shown] == ["no-reference", "too-long", "no-reference-tokens"]
    assert "a text has 100001 characters" in done.stderr


def test_what_means_no_response_is_an_answer_where_nobody_says_so(imapeval: Command, write_data: WriteData):
    data = write_data([*SAMPLES, UNANSWERED[1]])
    done = imapeval("score", data, "--metrics", "rouge1")
    assert (done.returncode, "failed" in done.stderr, "missing" in done.stdout) == (0, False, False)
    options = ("--metrics", "rouge1", "--missing", "N/A", "--max-failures", "0", "--out", "strict")
    strict = imapeval("score", data, *options)
    assert strict.returncode == 1


@pytest.mark.parametrize(("allowed", "code"), [(0, 1), (1, 0)])
def test_more_failures_than_allowed(imapeval: Command, write_data: WriteData, allowed: int, code: int):
    samples = [*SAMPLES, Sample("c", "What helps?", ("😀",), "Rest.")]
    done = imapeval("score", write_data(samples), "--metrics", "rouge1", "--max-failures", str(allowed))
    assert done.returncode == code
    assert "1 of 3 samples failed" in done.stderr


@pytest.mark.slow
def test_huge_and_emoji_answers_do_not_stop_the_others(imapeval: Command, write_data: WriteData, tmp_path: Path):
    samples = [
        SAMPLES[0],
        Sample("huge", "What helps?", ("Rest.",), "rest and fluids " * (10_000_000 // 16)),
        Sample("long", "What helps?", ("Rest. " * 16_000,), "rest and fluids " * 6_000),
        Sample("emoji", "What helps?", ("Rest.",), "😀🛌💧"),
    ]
    metrics = ["rouge1", "rouge2", "rougeL", "bleu", "chrf"]
    begun = time.monotonic()
    done = imapeval("score", write_data(samples), "--metrics", ",".join(metrics), "--out", "run")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begun < 30
    outcomes = {(result.id, result.metric): result.outcome for result in Run(tmp_path / "run").results()}
    for metric in metrics:
        huge, emoji = outcomes["huge", metric], outcomes["emoji", metric]
        assert isinstance(huge, Failure)
        assert huge.kind == "too-long"
        assert emoji == Score(0.0, emoji.parts if isinstance(emoji, Score) else {})
        assert isinstance(outcomes["a", metric], Score)
    assert isinstance(outcomes["long", "rouge1"], Score)
    assert isinstance(outcomes["long", "rougeL"], Score)


def generate(count: int) -> list[Sample]:
    chance = random.Random(7)
    words = ["rest", "fluids", "ibuprofen", "surgery", "fever", "infection", "antibiotics", "休息", "发热", "抗生素"]

    def text(length: int) -> str:
        return " ".join(chance.choices(words, k=length))

    return [Sample(str(n), f"{text(5)}?", (text(60), text(80)), text(70)) for n in range(count)]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kills by POSIX signals")
def test_killed_at_random_moments_and_continued(
    imapeval: Command, imapeval_process: Process, write_data: WriteData, tmp_path: Path
):
    args = ["score", write_data(generate(250)), "--metrics", "rouge1,rouge2,rougeL,bleu,chrf"]
    assert imapeval(*args, "--out", "undisturbed").returncode == 0
    chance = random.Random(11)
    results = tmp_path / "killed" / "results.jsonl"

    def written() -> int:
        return results.read_bytes().count(b"\n") if results.exists() else 0

    kept = [0]
    for _ in range(3):
        process = imapeval_process(*args, "--out", "killed")
        while process.poll() is None and written() <= kept[-1]:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.2))
        process.kill()
        process.communicate()
        kept.append(written())
    assert kept == sorted(kept)
    assert kept[1] > 0
    with results.open("ab") as file:
        file.write(b'{"id": "3", "metr')
    assert imapeval(*args, "--out", "killed").returncode == 0
    killed, undisturbed = (
        sorted((tmp_path / name / "results.jsonl").read_text().splitlines()) for name in ("killed", "undisturbed")
    )
    assert killed == undisturbed
    assert len(killed) == 250 * 5


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="interrupts by POSIX signals")
def test_interrupted_it_says_how_to_go_on(imapeval_process: Process, write_data: WriteData, tmp_path: Path):
    data = write_data(generate(400))
    process = imapeval_process("score", data, "--metrics", "rougeL", "--out", "my run")
    results = tmp_path / "my run" / "results.jsonl"
    deadline = time.monotonic() + 30
    while not (results.exists() and results.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"To resume: imapeval score {data} --metrics rougeL --out 'my run'" in errors
    assert "Traceback" not in errors


def test_how_several_references_count(imapeval: Command, write_data: Callable[..., Path]):
    data = write_data([Sample("a", "How is a cold treated?", ("rest", "rest", "tea"), "rest")])
    for options, value, part in (
        ((), 2 / 3, ("references", 3)),
        (("--references", "best"), 1, ("reference", 0)),
        (("--references", "consensus"), 1, ("references", 3)),
    ):
        folder = Path("-".join(["run", *options]))
        assert imapeval("score", data, "--metrics", "exact-match", *options, "--out", folder).returncode == 0
        (result,) = Run(folder).results()
        assert isinstance(result.outcome, Score)
        assert (result.outcome.value, result.outcome.parts) == (pytest.approx(value), dict([part]))
        assert result.signature.endswith(f"|references:{(options or ['mean'])[-1]}")
    again = imapeval("score", data, "--metrics", "exact-match", "--references", "best", "--out", "run")
    assert (again.returncode, "references:mean" in again.stderr) == (2, True)
    unknown = imapeval("score", data, "--references", "worst")
    assert unknown.returncode == 2
    assert "unknown --references 'worst'" in unknown.stderr
