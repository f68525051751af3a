"""`imapeval study robustness` and `paraphrase`."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.evaluation.samples import read
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.types import Failure, Sample, Score
from tests.cli.conftest import Command

SAMPLES = [
    Sample(f"{system}{n}", f"q{n}?", ("r",), f"answer {n}", "en", system, {"accuracy": float(n)})
    for system in ("s", "t")
    for n in range(6)
]


def write(folder: Path, samples: Sequence[Sample], scores: Sequence[float | None], *, stable: bool = False) -> Path:
    with RunWriter(folder, samples, settings=RunSettings({"m": "m|v:1"})) as writer:
        outcomes = [
            Failure("metric", "no-query", "?")
            if value is None
            else Score(value, {"stability": 0.5 + number / 100} if stable else {})
            for number, value in enumerate(scores)
        ]
        results = [Result(s.id, "m", outcome, "m|v:1") for s, outcome in zip(samples, outcomes, strict=True)]
        writer.add(imaps=[], results=results)
        writer.finish()
    return folder


def test_rewording(imapeval: Command, tmp_path: Path):
    one = write(tmp_path / "1", SAMPLES, [float(n) for n in range(12)])
    reworded = [
        Sample(f"{s.id}#1", s.question, s.references, f"In other words {s.id}", "en", s.system, {}, {"original": s.id})
        for s in SAMPLES
    ]
    two = write(tmp_path / "2", reworded, [n + 0.5 for n in range(11)] + [None])
    done = imapeval("study", "robustness", one, two, "--json", "--resamples", "50")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["stability"], found["stability_errors"]) == ([], [])
    change = found["robustness"][0]
    # Rounding apart, all rewordings gain .5 in every resample.
    ends = {"value": pytest.approx(0.5), "low": pytest.approx(0.5), "high": pytest.approx(0.5)}
    assert change == {
        "metric": "m",
        "kind": "rewording",
        "lang": "en",
        "statistic": "change",
        **ends,
        "n": 11,
        "scores": 22,
        "missing": 1,
        "reason": None,
    }
    table = imapeval("study", "robustness", one, two, "--resamples", "50")
    for part in (
        "Rewording: the same answers in other words (en)",
        "m: rewording an answer moves its score by 0.500 on average",
        "0% of the pairs of answers change their order.",
        "1 failed",
        "50 resamples of questions, seed 0",
    ):
        assert part in table.stdout


def test_repetition(imapeval: Command, tmp_path: Path):
    runs = [write(tmp_path / str(k), SAMPLES, [n + k / 10 for n in range(12)]) for k in range(3)]
    done = imapeval("study", "robustness", *runs, "--resamples", "50")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Repetition: the same texts scored again (en)" in done.stdout
    assert "scores that should be the same have a standard deviation of 0.100;" in done.stdout
    assert "pairs of systems change places in 0% of the cases" in done.stdout
    assert "imapeval cache" in done.stdout


def test_stability_over_readings(imapeval: Command, tmp_path: Path):
    run = write(tmp_path / "1", SAMPLES, [5.0, 3, 4, 1, 2, 0] * 2, stable=True)
    done = imapeval("study", "robustness", run, "--json", "--resamples", "50")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    first, (error,) = found["stability"][0], found["stability_errors"]
    assert (first["metric"], first["facet"], first["n"]) == ("m", "all answers", 12)
    assert first["mean"] == pytest.approx(0.555)
    assert (error["metric"], error["dimension"], error["n"]) == ("m", "accuracy", 12)
    table = imapeval("study", "robustness", run, "--resamples", "50")
    assert "Stability over readings, 0 to 1" in table.stdout
    assert "m, accuracy: Spearman's rho of stability and error" in table.stdout


def test_nothing_was_done_again(imapeval: Command, tmp_path: Path):
    done = imapeval("study", "robustness", write(tmp_path / "1", SAMPLES, [1.0] * 12))
    assert done.returncode == 2
    assert "repeat nothing" in done.stderr


def test_a_run_repeats_nothing_of_itself(imapeval: Command, tmp_path: Path):
    run = write(tmp_path / "1", SAMPLES, [1.0] * 12)
    done = imapeval("study", "robustness", run, tmp_path / "2" / ".." / "1")
    assert done.returncode == 2
    assert "is named twice" in done.stderr


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ScriptedModel]:
    """Let every command ask a scripted model."""

    def put(replies: object) -> ScriptedModel:
        model = ScriptedModel(replies)  # type: ignore[arg-type]
        monkeypatch.setattr("imapeval.evaluation.pipeline.open_llm", lambda *_, **__: model)
        return model

    return put


def say(text: str) -> str:
    return json.dumps({"reworded": text})


def test_paraphrase(imapeval: Command, tmp_path: Path, write_data: Callable[..., Path], script):
    data = write_data(SAMPLES[:2])
    script(lambda request: say("words 0 other") if "answer 0" in request.messages[-1].content else "no")
    done = imapeval("study", "paraphrase", data, "--llm", "openai:x", "--price", "1,2", "--json", "--max-failures", "1")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["file"], told["samples"], told["reworded"]) == ("data-reworded.jsonl", 2, 1)
    (failure,) = told["failures"]
    assert (failure["id"], failure["number"], failure["kind"]) == ("s1", 1, "unreadable-completion")
    assert told["by"].startswith("scripted|reword.v1#")
    (made,) = read(tmp_path / "data-reworded.jsonl")
    assert (made.id, made.response, made.meta, made.ratings) == ("s0#1", "words 0 other", {"original": "s0"}, {})


def test_paraphrase_tells_people_what_failed(imapeval: Command, write_data: Callable[..., Path], script):
    data = write_data(SAMPLES[:2])
    number = re.compile(r"answer (\d)")
    script(lambda request: say(f"words {number.findall(request.messages[-1].content)[-1]} {request.seed}"))
    done = imapeval("study", "paraphrase", data, "--llm", "openai:x", "--count", "2", "--out", "r.jsonl")
    assert done.returncode == 0, done.stderr
    assert "4 rewordings of 2 answers: r.jsonl" in done.stdout
    again = imapeval("study", "paraphrase", data, "--llm", "openai:x", "--out", "r.jsonl")
    assert (again.returncode, "r.jsonl exists. Choose another file" in again.stderr) == (2, True)
    script(["no"] * 4)
    failed = imapeval("study", "paraphrase", data, "--llm", "openai:x")
    assert failed.returncode == 1
    assert "s1, rewording 1: the model's completion cannot be read" in failed.stderr
    assert "0 rewordings of 2 answers" in failed.stdout


def make_for_abstention(rated: int) -> list[Sample]:
    """Answers of two systems to 30 questions; those to the first ones are rated."""
    return [
        Sample(
            f"{system}{n}", f"q{n}?", ("r",), f"answer {n}", "en", system, {"accuracy": n % 5.0} if n < rated else {}
        )
        for system in ("s", "t")
        for n in range(30)
    ]


def test_abstain(imapeval: Command, tmp_path: Path):
    samples = make_for_abstention(22)
    run = write(tmp_path / "run", samples, [n % 5 + n / 100 for n in range(60)], stable=True)
    done = imapeval("study", "abstain", run, "--metric", "m", "--json", "--out", tmp_path / "first.csv")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [(row["share"], row["n"]) for row in found["abstention"]] == [(0, 44), (0.1, 44), (0.2, 44), (0.3, 44)]
    # Stability rises with the number of the answer; rated answers need no rating first.
    assert [row["id"] for row in found["doubtful"]] == [sample.id for sample in samples if not sample.ratings]
    lines = (tmp_path / "first.csv").read_text().splitlines()
    assert (lines[0], lines[1].split(",")[:3], len(lines)) == (
        "id,system,metric,score,stability",
        ["s22", "s", "m"],
        17,
    )
    shown = imapeval("study", "abstain", run, "--metric", "m", "--resamples", "20").stdout
    assert "The least stable of 16 unrated answers" in shown
    assert "Error that remains" in shown


def test_abstain_lists_answers_although_few_are_rated(imapeval: Command, tmp_path: Path):
    run = write(tmp_path / "run", make_for_abstention(19), [float(n) for n in range(60)], stable=True)
    done = imapeval("study", "abstain", run, "--metric", "m")
    assert done.returncode == 0, done.stderr
    assert "The least stable of 22 unrated answers" in done.stdout
    assert "19 questions have a rating of accuracy" in done.stderr
    done = imapeval("study", "abstain", run, "--metric", "m", "--json")
    found = json.loads(done.stdout)
    assert (len(found["doubtful"]), found["abstention"]) == (22, [])
    assert "19 questions have a rating of accuracy" in done.stderr


def test_abstain_where_all_answers_are_rated(imapeval: Command, tmp_path: Path):
    run = write(tmp_path / "run", make_for_abstention(30), [n % 5 + n / 100 for n in range(60)], stable=True)
    done = imapeval("study", "abstain", run, "--metric", "m", "--resamples", "20")
    assert done.returncode == 0, done.stderr
    assert "To be rated first" not in done.stdout
    assert "Error that remains" in done.stdout


def test_an_answer_without_a_system_is_not_called_all(imapeval: Command, tmp_path: Path):
    samples = [Sample(f"a{system}", "q?", ("r",), "a", system=system) for system in ("s", "")]
    run = write(tmp_path / "run", samples, [1, 2], stable=True)
    done = imapeval("study", "abstain", run, "--metric", "m")
    assert [line.split("│")[2].strip() for line in done.stdout.splitlines() if "│ a" in line] == ["s", "-"]


def test_abstain_needs_repetitions_only(imapeval: Command, tmp_path: Path):
    unrated = [Sample(s.id, s.question, s.references, s.response, "en", s.system) for s in SAMPLES]
    run = write(tmp_path / "run", unrated, [float(n) for n in range(12)], stable=True)
    done = imapeval("study", "abstain", run, "--metric", "m")
    assert done.returncode == 0, done.stderr
    assert "The least stable of 12 unrated answers" in done.stdout
    assert "Error that remains" not in done.stdout
    once = write(tmp_path / "once", SAMPLES, [float(n) for n in range(12)])
    done = imapeval("study", "abstain", once, "--metric", "m")
    assert done.returncode == 2
    assert "--votes" in done.stderr
