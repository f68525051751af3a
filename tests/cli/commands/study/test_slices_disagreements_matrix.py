"""`imapeval study slices`, `disagreements` and `matrix`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from scipy import stats

from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter
from imapeval.types import Failure, Imap, Match, Pair, Relation, Sample, Score
from tests.cli.conftest import Command

RATINGS = [1.0, 2.0, 2.5, 3.0, 4.0, 5.0]
SCORES = {"m": [0.6, 0.2, 0.3, 0.5, 0.4, 0.1], "n": [0.1, 0.2, 0.4, 0.3, 0.6, 0.5]}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    samples = [
        Sample(f"{lang}{n}", f"q{lang}{n}?", ("ibuprofen",), "painkillers" * n, lang, "s", {"accuracy": rating})
        for lang in ("en", "zh")
        for n, rating in enumerate(RATINGS)
    ]
    imap = Imap(
        (Pair("drug", "?"),), (), (Pair("drug", "ibuprofen"), Pair("dose", "200 mg")), (Pair("drug", "painkillers"),)
    )
    match = Match("drug", "ibuprofen", "painkillers", Relation.BELONGING, 0.05, "text", {"why": "said so"})
    with RunWriter(tmp_path / "run", samples, settings=RunSettings({name: f"{name}|v:1" for name in SCORES})) as writer:
        results = [
            Result(sample.id, name, Score(values[number % 6]), f"{name}|v:1")
            for name, values in SCORES.items()
            for number, sample in enumerate(samples)
            if (name, sample.id) != ("n", "zh5")
        ]
        results.append(Result("zh5", "n", Failure("metric", "no-query", "?"), "n|v:1"))
        writer.add(imaps=[ImapRecord("en0", imap, (match,))], results=results)
        writer.finish()
    return tmp_path / "run"


def test_slices_as_json(imapeval: Command, run: Path):
    done = imapeval("study", "slices", run, "--json", "--facets", "language")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [(row["metric"], row["group"], row["n"]) for row in found["slices"]] == [
        ("m", "en", 6),
        ("m", "zh", 6),
        ("n", "en", 6),
        ("n", "zh", 5),
    ]
    # By hand: the squared differences of ranks sum to 52, and 1 - 6 * 52 / (6 * 35) is:
    assert found["slices"][0]["value"] == pytest.approx(-0.4857142857)
    assert found["slices"][0].keys() == {
        *("metric", "facet", "group", "dimension", "coefficient", "value", "low", "high", "n", "reason")
    }
    test = found["tests"][0]
    assert (test["metric"], test["facet"], test["groups"], test["freedom"]) == ("m", "language", 2, 1)
    assert test["p"] == pytest.approx(1)


def test_slices_as_tables(imapeval: Command, run: Path):
    done = imapeval("study", "slices", run, "--coefficient", "kendall_tau_b", "--bins", "2")
    assert done.returncode == 0, done.stderr
    for part in ("Kendall's tau-b by language", "Kendall's tau-b by response characters", "0 to 22", "33 to 55", "n 6"):
        assert part in done.stdout
    assert "the groups do not differ significantly" in done.stdout
    assert "Hedges and Olkin" in done.stdout


def test_slices_without_a_coefficient_have_a_reason(imapeval: Command, run: Path):
    shown = imapeval("study", "slices", run, "--facets", "response characters", "--bins", "3").stdout
    # A group is of two lengths in two languages; n has no score of one of the four longest answers.
    assert shown.count("no coefficient of") == 1
    assert "44 to 55: no coefficient of n: 1 of 1 coefficients are left out: fewer than 4 questions" in shown


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--coefficient", "soft_pairwise_accuracy"], "unknown --coefficient 'soft_pairwise_accuracy'"),
        (["--facets", "colour"], "'colour'. There are: system, language"),
        (["--facets", " , "], "--facets ' , ' names nothing"),
        (["--metrics", "x"], "no metric 'x'"),
    ],
)
def test_slices_refused(imapeval: Command, run: Path, args: list[str], message: str):
    done = imapeval("study", "slices", run, *args)
    assert done.returncode == 2
    assert message in done.stderr


def test_disagreements_as_json(imapeval: Command, run: Path):
    done = imapeval("study", "disagreements", run, "--metric", "m", "--count", "2", "--json")
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)
    # Of 12 answers, two share each place: .6 is the highest score (10.5 of 0..11), and 1 the lowest rating (.5).
    assert (first["id"], first["score_rank"], first["rating_rank"]) == (
        "en0",
        pytest.approx(10.5 / 11),
        pytest.approx(0.5 / 11),
    )
    assert second["id"] == "en5"
    assert (first["question"], first["references"], first["response"]) == ("qen0?", ["ibuprofen"], "")
    assert first["imaps"][0]["matches"] == [
        {
            "term": "drug",
            "reference": "ibuprofen",
            "response": "painkillers",
            "response_term": "drug",
            "relation": "belonging",
            "credit": 0.3,
            "decided_by": "text",
            "evidence": ["said so"],
        }
    ]
    assert second["imaps"] == []


def test_disagreements_to_be_read(imapeval: Command, run: Path):
    done = imapeval("study", "disagreements", run, "--metric", "m", "--count", "2")
    assert done.returncode == 0, done.stderr
    high, _, low = done.stdout.partition("m is too low")
    assert "m is too high, relative to accuracy: 1 of the 2 largest gaps" in high
    assert "en0: score 0.6 (rank 0.95), accuracy 1 (rank 0.05)" in high
    assert "en5: score 0.1 (rank 0.05), accuracy 5 (rank 0.95)" in low
    for part in ("question: qen0?", "reference: ibuprofen", "painkillers", "belonging", "0.30", "said so", "200 mg"):
        assert part in high
    assert "unmatched" in high
    assert "The run has no imaps" in low


def test_disagreements_show_contradictions_first(imapeval: Command, tmp_path: Path):
    samples = [
        Sample(str(n), f"q{n}?", ("r",), "x", "en", "s", {"accuracy": rating}) for n, rating in enumerate((1, 5))
    ]
    imap = Imap(
        (Pair("drug", "?"),),
        (),
        (Pair("advice", "rest"), Pair("drug", "400 mg"), Pair("drug", "ibuprofen")),
        (Pair("advice", "sleep"), Pair("dose", "200 mg"), Pair("dose", "100 mg"), Pair("drug", "paracetamol")),
    )
    matches = (
        Match("advice", "rest", "sleep", Relation.CONTAINMENT, 0.2, "text"),
        # What earns more does not hide it.
        Match("drug", "400 mg", "sleep", Relation.UNMATCHED, 0.3, "encoder", other_term="advice"),
        Match("drug", "400 mg", "200 mg", Relation.CONTRADICTION, 0.9, "text", other_term="dose"),
        Match("drug", "400 mg", "100 mg", Relation.CONTRADICTION, 0.8, "text", other_term="dose"),
        Match("drug", "ibuprofen", "paracetamol", Relation.UNMATCHED, 0.62, "graph"),
    )
    with RunWriter(tmp_path / "run", samples, settings=RunSettings({"m": "m|v:1"})) as writer:
        results = [Result(str(n), "m", Score(score), "m|v:1") for n, score in enumerate((0.9, 0.1))]
        writer.add(imaps=[ImapRecord("0", imap, matches)], results=results)
        writer.finish()
    done = imapeval("study", "disagreements", "run", "--metric", "m")
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.stdout.splitlines() if "│" in line]
    assert [line[:5] for line in lines] == [
        ["drug / dose", "400 mg", "200 mg", "contradiction", "0.00"],
        ["drug / dose", "400 mg", "100 mg", "contradiction", "0.00"],
        ["advice", "rest", "sleep", "containment", "0.60"],
        # The square root of .62, as on the page of the run (docs/agreement.md).
        ["drug", "ibuprofen", "paracetamol", "soft", "0.79"],
    ]


def test_disagreements_without_ratings_of_that_metric(imapeval: Command, run: Path):
    done = imapeval("study", "disagreements", run, "--metric", "x")
    assert done.returncode == 2
    assert "no metric 'x'" in done.stderr


def test_matrix(imapeval: Command, run: Path):
    done = imapeval("study", "matrix", run, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["n"], found["smallest"], len(found["merges"])) == (11, 11, 1)
    both = [SCORES["m"] * 2, SCORES["n"] * 2]
    assert found["values"][0][1] == pytest.approx(stats.spearmanr(both[0][:11], both[1][:11]).statistic)
    table = imapeval("study", "matrix", run)
    assert table.returncode == 0, table.stderr
    assert "1 m" in table.stdout
    assert "Each pair over the answers that both scored, 11 or more; 11 have a score of every metric." in table.stdout
    assert f"{1 - abs(found['values'][0][1]):.3f}: m with n" in table.stdout


def test_matrix_needs_no_ratings(imapeval: Command, write_run: Callable[..., Run], tmp_path: Path):
    samples = [Sample(str(n), f"q{n}?", ("r",), "a") for n in range(4)]
    write_run("bare", samples, {"m": [0, 1, 2, 3], "n": [0, -1, -2, -3]})
    done = imapeval("study", "matrix", tmp_path / "bare", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["values"] == [[1, pytest.approx(-1)], [pytest.approx(-1), 1]]
    one = imapeval("study", "matrix", tmp_path / "bare", "--metrics", "m")
    assert one.returncode == 2
    assert "two metrics" in one.stderr
