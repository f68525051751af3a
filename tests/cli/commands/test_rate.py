from __future__ import annotations

import csv
import json
import random
import stat
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("sqlalchemy")

from imapeval.rating import Entry, RatingStudy
from imapeval.study.agreement.measure import Agreement
from imapeval.study.intervals.coverage import describe_agreement_coverage
from imapeval.types import Sample

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Command

INIT = ("--dimensions", "accuracy,completeness", "--scale", "0:5:.5")


@pytest.fixture
def answers(write_data: Callable[..., Path]) -> Path:
    return write_data(
        [
            Sample(
                f"{question}/{system}",
                f"What helps against ailment {question}?",
                ("Rest, water and ibuprofen.",),
                f"Take ibuprofen {question}00 mg and {drink}.",
                system=system,
            )
            for question in range(6)
            for system, drink in (("alphabot", "drink water"), ("betabot", "rest"))
        ]
    )


def rate_all(place: str, links: dict[str, str], *, most: int = 1000) -> None:
    with RatingStudy(place) as study:
        for name, link in links.items():
            rater = study.identify(link.partition("#")[2])
            assert rater is not None
            rng = random.Random(name)
            while most > 0 and (item := study.next_item(rater)) is not None:
                most -= 1
                values = {
                    dimension.name: rng.randint(0, 4) / 2 + 3 * ("water" in item.response)
                    for dimension in study.settings.dimensions
                }
                entry = Entry(client_id=f"{name}-{item.token}", values=values, comment="=HYPERLINK(1)", seconds=3)
                study.save(rater, item.token, entry)


def run(imapeval: Command, *args: object) -> str:
    result = imapeval("rate", *args)
    assert result.returncode == 0, result.stderr
    return result.stdout


def invite(imapeval: Command, place: str, *names: str) -> dict[str, str]:
    return json.loads(run(imapeval, "invite", place, *names, "--json"))


def test_from_answers_to_the_report_of_a_study(imapeval: Command, answers: Path, tmp_path: Path):
    assert imapeval("score", answers, "--metrics", "rouge1,chrf", "--out", "run").returncode == 0
    told = run(imapeval, "init", answers, "--raters", 2, "--panel", 3, *INIT, "--repeats", 1, "--out", "study.db")
    assert "12 answers" in told
    assert stat.S_IMODE((tmp_path / "study.db").stat().st_mode) == 0o600
    links = invite(imapeval, "study.db", "anna", "ben", "chen")
    assert "0 of 24 ratings" in run(imapeval, "status", "study.db")
    rate_all("study.db", links)
    status = json.loads(run(imapeval, "status", "study.db", "--json"))
    assert (status["ratings"], status["complete"]) == (24, 12)
    shown = run(imapeval, "status", "study.db")
    known = describe_agreement_coverage([Agreement(**row) for row in status["agreement"]])
    assert known
    assert all(sentence in shown for sentence in known)
    run(imapeval, "export", "study.db", "--out", "ratings.csv")
    run(imapeval, "export", "study.db", "--out", "all.jsonl", "--all")
    reports = {}
    for ratings in ("ratings.csv", "study.db"):
        done = imapeval(
            *("study", "report", "run", "--ratings", ratings, "--scale", "accuracy=0:5:.5", "--scale"),
            *("completeness=0:5:.5", "--out", f"{ratings}.report", "--resamples", 50, "--json"),
        )
        assert done.returncode == 0, done.stderr
        reports[ratings] = json.loads(done.stdout)["conclusions"]
    # Read live, and from the export: the same study.
    assert reports["ratings.csv"] == reports["study.db"]


def test_init_as_the_documentation_has_it(imapeval: Command, answers: Path, tmp_path: Path):
    told = run(
        imapeval, *("init", answers, "--raters", 3, "--dimensions", "accuracy,completeness", "--scale", "0:5:.5")
    )
    assert (tmp_path / f"{answers.stem}.study.db").is_file()
    assert f"{answers.stem}.study.db" in told
    assert "imapeval study power" in told
    # A second study does not replace it.
    assert imapeval("rate", "init", answers, *INIT).returncode == 2


def test_the_log_has_every_change(imapeval: Command, answers: Path):
    run(imapeval, "init", answers, "--raters", 2, *INIT, "--repeats", 2, "--out", "study.db")
    links = invite(imapeval, "study.db", "anna", "ben")
    with RatingStudy("study.db") as study:
        anna = study.identify(links["anna"].partition("#")[2])
        assert anna is not None
        item = study.next_item(anna)
        assert item is not None
        for number in (1.0, 5.0):
            values = {"accuracy": number, "completeness": 2.0}
            study.save(anna, item.token, Entry(client_id=f"number-{number:.0f}", values=values, comment="\x1b[31m"))
    handed = json.loads(run(imapeval, "reassign", "study.db", "anna", "--to", "dora", "--json"))
    lines = json.loads(run(imapeval, "log", "study.db", "--json"))
    whats = ["made", "invited", "invited", "entered", "entered", "added", "reassigned"]
    assert [line["what"] for line in lines] == whats
    assert [line["by"] for line in lines if line["what"] == "entered"] == ["anna", "anna"]
    assert [line["ratings"]["accuracy"] for line in lines[3:5]] == [1.0, 5.0]
    items = lines[-1]["items"]
    assert len(items) == handed["given"]["dora"] == 11
    assert lines[3]["answer"] not in {item["answer"] for item in items}
    assert {item["to"] for item in items} == {"dora"}
    assert [one["kind"] for one in lines[-1]["withdrawn"]] == ["repeat"] * 2
    text = run(imapeval, "log", "study.db")
    assert len(text.splitlines()) == len(whats)
    assert all(item["answer"] in text for item in items)
    assert "\x1b" not in text


def test_no_comment_looks_like_a_line_of_the_log(imapeval: Command, answers: Path):
    run(imapeval, "init", answers, "--raters", 1, *INIT, "--out", "study.db")
    links = invite(imapeval, "study.db", "anna")
    comments = ["fine\n2026-01-01 00:00:00  owner  stopped: reason Rule met", "two\r\nlines", "a colon:"]
    with RatingStudy("study.db") as study:
        anna = study.identify(links["anna"].partition("#")[2])
        assert anna is not None
        for number, comment in enumerate(comments):
            item = study.next_item(anna)
            assert item is not None
            values = {"accuracy": 1.0, "completeness": 2.0}
            study.save(anna, item.token, Entry(client_id=f"number-{number}", values=values, comment=comment))
    lines = run(imapeval, "log", "study.db").splitlines()
    assert [line.split()[2] for line in lines] == ["owner", "owner", *["anna"] * len(comments)]
    assert "a colon:" in lines[-1]


def test_the_export_has_rater_time_and_order_and_no_formula(imapeval: Command, answers: Path, tmp_path: Path):
    run(imapeval, "init", answers, "--raters", 1, *INIT, "--repeats", 2, "--out", "study.db")
    rate_all("study.db", invite(imapeval, "study.db", "anna"))
    run(imapeval, "export", "study.db", "--out", "ratings.csv")
    run(imapeval, "export", "study.db", "--out", "all.jsonl", "--all")
    with (tmp_path / "ratings.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    assert {row["rater"] for row in rows} == {"anna"}
    assert {row["kind"] for row in rows} == {"rating"}
    assert {row["comment"] for row in rows} == {"'=HYPERLINK(1)"}
    assert [row["saved_at"] for row in rows] == sorted(row["saved_at"] for row in rows)
    every: list[dict[str, Any]] = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert [row["order"] for row in every] == list(range(1, 15))
    assert sorted(row["kind"] for row in every) == ["rating"] * 12 + ["repeat"] * 2
    assert {row["comment"] for row in every} == {"=HYPERLINK(1)"}
    again = imapeval("rate", "export", "study.db", "--out", "ratings.csv")
    assert again.returncode == 2


def test_a_backup_is_a_study(imapeval: Command, answers: Path):
    run(imapeval, "init", answers, "--raters", 1, *INIT, "--out", "study.db")
    links = invite(imapeval, "study.db", "anna")
    rate_all("study.db", links)
    run(imapeval, "backup", "study.db", "--out", "copy.db")
    assert run(imapeval, "status", "study.db", "--json") == run(imapeval, "status", "copy.db", "--json")
    with RatingStudy("copy.db") as copy:
        assert copy.identify(links["anna"].partition("#")[2]) is not None
    assert imapeval("rate", "backup", "study.db", "--out", "copy.db").returncode == 2


def test_raters_come_and_go(imapeval: Command, answers: Path):
    run(imapeval, "init", answers, "--raters", 2, *INIT, "--out", "study.db")
    links = invite(imapeval, "study.db", "anna", "ben")
    assert imapeval("rate", "invite", "study.db", "late").returncode == 2
    new = json.loads(run(imapeval, "invite", "study.db", "anna", "--reissue", "--json"))
    assert new["anna"] != links["anna"]
    run(imapeval, "revoke", "study.db", "ben")
    handed = json.loads(run(imapeval, "reassign", "study.db", "ben", "--to", "dora", "--json"))
    assert handed["given"] == {"dora": 12}
    rate_all("study.db", {**new, "dora": handed["link"]})
    assert json.loads(run(imapeval, "status", "study.db", "--json"))["complete"] == 12
    settled = json.loads(run(imapeval, "adjudicate", "study.db", "--by", "zoe", "--apart", 0.5, "--json"))
    assert settled["given"]["zoe"] > 0
    rate_all("study.db", {"zoe": settled["link"]})
    disputed = json.loads(run(imapeval, "status", "study.db", "--json"))["disputed"]
    # How many of them are far apart depends on the order in which each rater got the answers.
    assert [one["adjudicated"] is not None for one in disputed] == [True] * settled["given"]["zoe"]


def test_answers_exactly_as_far_apart_as_asked_are_adjudicated(imapeval: Command, answers: Path):
    run(imapeval, "init", answers, "--raters", 2, "--dimensions", "accuracy", "--scale", "0:1:.1", "--out", "study.db")
    for name, link in invite(imapeval, "study.db", "anna", "ben").items():
        with RatingStudy("study.db") as study:
            rater = study.identify(link.partition("#")[2])
            assert rater is not None
            while (item := study.next_item(rater)) is not None:
                values = {"accuracy": 0.1 if name == "anna" else 0.3}
                study.save(rater, item.token, Entry(client_id=f"{name}-{item.token}", values=values))
    given = json.loads(run(imapeval, "adjudicate", "study.db", "--by", "zoe", "--apart", 0.2, "--json"))["given"]
    assert given == {"zoe": 12}


@pytest.mark.parametrize("names", [("anna", "ben"), ("anna", "anna"), ("anna", "chen", "dora"), ("anna", "owner")])
def test_links_are_issued_to_all_or_to_none(imapeval: Command, answers: Path, names: tuple[str, ...]):
    run(imapeval, "init", answers, "--raters", 3, *INIT, "--out", "study.db")
    invite(imapeval, "study.db", "ben")
    assert imapeval("rate", "invite", "study.db", *names, "--owner").returncode == 2
    assert [line["what"] for line in json.loads(run(imapeval, "log", "study.db", "--json"))] == ["made", "invited"]
    assert invite(imapeval, "study.db", "anna", "--owner").keys() == {"anna", "owner"}
    assert imapeval("rate", "invite", "study.db", "anna", "none", "--reissue").returncode == 2
    assert "reissued" not in run(imapeval, "log", "study.db")


def test_what_one_rater_cannot_take_over_others_can(imapeval: Command, answers: Path):
    run(imapeval, "init", answers, "--raters", 2, "--panel", 4, *INIT, "--out", "study.db")
    invite(imapeval, "study.db", "anna", "ben", "chen", "dora")
    _, _, advice = run(imapeval, "reassign", "study.db", "anna", "--to", "ben").splitlines()
    assert "ben" in advice
    assert "--to" not in advice
    assert json.loads(run(imapeval, "reassign", "study.db", "anna", "--json"))["open"] == 0


def test_reassigning_nothing_says_who_has_left(imapeval: Command, answers: Path):
    run(imapeval, "init", answers, "--raters", 1, *INIT, "--out", "study.db")
    rate_all("study.db", invite(imapeval, "study.db", "anna"))
    (told,) = run(imapeval, "reassign", "study.db", "anna").splitlines()
    assert "anna" in told


def test_somebody_new_for_whom_nothing_is_left_gets_no_link(imapeval: Command, answers: Path):
    run(imapeval, "init", answers, "--raters", 1, *INIT, "--out", "study.db")
    rate_all("study.db", invite(imapeval, "study.db", "anna"))
    _, told = run(imapeval, "reassign", "study.db", "anna", "--to", "ben").splitlines()
    assert "ben" in told
    assert "http" not in told
    assert "ben" not in run(imapeval, "status", "study.db")


def test_nobody_takes_over_by_the_name_of_the_owner(imapeval: Command, answers: Path):
    run(imapeval, "init", answers, "--raters", 1, *INIT, "--out", "study.db")
    invite(imapeval, "study.db", "anna")
    assert imapeval("rate", "reassign", "study.db", "anna", "--to", "owner").returncode == 2


def test_a_study_stops_by_its_rule(imapeval: Command, answers: Path):
    run(imapeval, "init", answers, "--raters", 1, *INIT, "--stop", "answers:12", "--out", "study.db")
    links = invite(imapeval, "study.db", "anna")
    assert imapeval("rate", "stop", "study.db").returncode == 2
    rate_all("study.db", links)
    assert "12 of 12" in run(imapeval, "stop", "study.db")
    assert imapeval("rate", "stop", "study.db").returncode == 2
    assert "stopped" in run(imapeval, "status", "study.db")


@pytest.mark.parametrize("rule", [(), ("--stop", "answers:13"), ("--stop", "mean:accuracy:0.001")])
def test_a_study_stops_once_it_has_all_its_ratings(imapeval: Command, answers: Path, rule: tuple[str, ...]):
    # With this seed, the last item is the repeat.
    repeat = ("--repeats", 1, "--seed", 4)
    run(imapeval, "init", answers, "--raters", 1, *INIT, *rule, *repeat, "--out", "study.db")
    links = invite(imapeval, "study.db", "anna")
    for most in (0, 12):
        rate_all("study.db", links, most=most)
        assert f"{most} of 12 ratings" in run(imapeval, "status", "study.db")
        early = imapeval("rate", "stop", "study.db")
        assert early.returncode == 2
        assert ("rule" in early.stderr) == bool(rule)
    rate_all("study.db", links)
    assert "go on" not in run(imapeval, "status", "study.db")
    assert "12 of 12 ratings" in run(imapeval, "stop", "study.db")
    log = run(imapeval, "log", "study.db")
    assert "before its end" not in log
    # The log says that the rule was missed.
    missed = json.loads(run(imapeval, "status", "study.db", "--json"))["stopping"]
    assert missed is None or missed["state"] in log


def test_a_study_that_is_stopped_early_is_stopped_once(imapeval: Command, answers: Path):
    run(imapeval, "init", answers, "--raters", 1, *INIT, "--stop", "answers:12", "--out", "study.db")
    told = run(imapeval, "stop", "study.db", "--anyway")
    assert "0 of 12" in told
    assert "go on" not in told + run(imapeval, "status", "study.db")
    assert "before its end" in run(imapeval, "log", "study.db")
    again = imapeval("rate", "stop", "study.db")
    assert again.returncode == 2
    assert "already" in again.stderr


def test_disputes_of_a_study_that_is_stopped_early_are_settled(imapeval: Command, answers: Path):
    run(imapeval, "init", answers, "--raters", 3, *INIT, "--out", "study.db")
    rate_all("study.db", invite(imapeval, "study.db", "anna", "ben"))
    invite(imapeval, "study.db", "chen")
    run(imapeval, "reassign", "study.db", "chen")
    assert "reassign" in run(imapeval, "status", "study.db")
    settle = ("adjudicate", "study.db", "--by", "zoe", "--apart", 0.5, "--json")
    assert json.loads(run(imapeval, *settle))["given"] == {"zoe": 0}
    run(imapeval, "stop", "study.db", "--anyway")
    status = run(imapeval, "status", "study.db")
    assert "reassign" not in status
    disputed = json.loads(run(imapeval, "status", "study.db", "--json"))["disputed"]
    assert json.loads(run(imapeval, *settle))["given"] == {"zoe": len(disputed)}
    assert disputed


@pytest.mark.slow
def test_training_gold_attention_and_facts(
    imapeval: Command, answers: Path, write_data: Callable[..., Path], tmp_path: Path
):
    assert imapeval("score", answers, "--out", "run").returncode == 0
    row = {"question": "Is water wet?", "response": "Yes.", "ratings": {"accuracy": 5}}
    for name in ("training", "gold", "attention"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": name, **row, "explanation": "It is."}) + "\n")
    (tmp_path / "guide.txt").write_text("Rate what a patient\nwould need.\n")
    run(
        imapeval,
        *("init", answers, "--raters", 2, *INIT, "--facts", "run", "--out", "study.db", "--instructions", "guide.txt"),
        *("--training", "training.jsonl", "--gold", "gold.jsonl", "--attention", "attention.jsonl"),
    )
    links = invite(imapeval, "study.db", "anna", "ben")
    with RatingStudy("study.db") as study:
        assert study.settings.instructions == "Rate what a patient\nwould need."
        seen: list[bool] = []
        for link in links.values():
            rater = study.identify(link.partition("#")[2])
            assert rater is not None
            assert study.progress(rater).total == 15
            facts = False
            while (item := study.next_item(rater)) is not None:
                for fact in item.facts:
                    facts = True
                    assert item.response[fact.start : fact.end].casefold() in fact.value.casefold()
                entry = Entry(client_id=item.token + "-first", values={"accuracy": 5, "completeness": 5})
                saved = study.save(rater, item.token, entry)
                assert (saved.feedback is not None) == item.training
                assert saved.feedback is None or saved.feedback.explanation == "It is."
            seen.append(facts)
    assert sorted(seen) == [False, True]
    # The influence of the facts: the ratings of those who saw them are dimensions of their own.
    run(imapeval, "export", "study.db", "--by-facts", "--out", "facts.csv")
    done = imapeval("study", "slices", "run", "--ratings", "facts.csv", "--facets", "dimension", "--json")
    assert done.returncode == 0, done.stderr
    groups = {row["group"] for row in json.loads(done.stdout)["slices"]}
    assert groups == {f"{name} ({seen})" for name in ("accuracy", "completeness") for seen in ("facts", "no facts")}
    run(imapeval, "init", answers, "--raters", 2, *INIT, "--out", "plain.db")
    assert imapeval("rate", "export", "plain.db", "--by-facts", "--out", "none.csv").returncode == 2


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (("--dimensions", "accuracy", "--scale", "0:5"), "step"),
        (("--dimensions", "accuracy", "--scale", "5:0:1"), "--scale"),
        (("--dimensions", "accuracy", "--scale", "style=0:5:1"), "style"),
        (("--dimensions", "accuracy,style", "--scale", "style=0:5:1"), "accuracy"),
        (("--dimensions", "accuracy", "--scale", "0:5:1", "--scale", "0:4:1"), "twice"),
        ((*INIT, "--raters", "3", "--panel", "2"), "--panel"),
        ((*INIT, "--repeats", "7"), "--repeats"),
        ((*INIT, "--stop", "mean:style:1"), "--stop"),
        ((*INIT, "--gold", "data.jsonl"), "correct rating"),
        ((*INIT, "--instructions", "none.txt"), "none.txt"),
    ],
)
def test_what_init_refuses(imapeval: Command, answers: Path, tmp_path: Path, args: tuple[str, ...], part: str):
    result = imapeval("rate", "init", answers, *args, "--out", "study.db")
    assert result.returncode == 2
    assert part in result.stderr
    assert not (tmp_path / "study.db").exists()


def test_what_is_no_study(imapeval: Command, answers: Path):
    for command in ("status", "stop"):
        for place in ("none.db", str(answers)):
            assert imapeval("rate", command, place).returncode == 2
    assert imapeval("study", "ratings", "none.db").returncode == 2


def test_a_study_without_ratings_says_so(imapeval: Command, answers: Path):
    run(imapeval, "init", answers, "--raters", 1, *INIT, "--out", "study.db")
    result = imapeval("study", "agreement", "study.db")
    assert result.returncode == 2
    assert "nobody has rated" in result.stderr


def test_a_password_in_an_url_is_not_shown(imapeval: Command, tmp_path: Path):
    result = imapeval("rate", "status", f"postgresql://owner-1:Hunter2Hunter2@/x?host={tmp_path}")
    assert result.returncode == 2
    assert "Hunter2" not in result.stderr + result.stdout
