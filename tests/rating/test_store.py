from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from pydantic import ValidationError

from imapeval.errors import InputError, ResourceError, UsageError
from imapeval.rating import RatingConflictError, RatingStudy, Span, UnknownItemError, schema
from imapeval.rating.administration import invite_owner, issue_links, revoke, stop
from imapeval.rating.export import copy_study, list_exported
from imapeval.rating.model import Entry, Fact
from imapeval.rating.store import hash_secret
from imapeval.study.data.ratings import read_ratings

if TYPE_CHECKING:
    from pathlib import Path

    from tests.rating.conftest import Studies


def test_the_database_refuses_a_further_rater_and_a_second_time(studies: Studies):
    study, _ = studies.make(raters=2, panel=3)
    with study.database.read() as connection:
        row = connection.execute(sa.select(schema.assignments).limit(1)).mappings().one()
        absent = connection.scalar(
            sa.select(schema.raters.c.id).where(
                schema.raters.c.id.not_in(
                    sa.select(schema.assignments.c.rater).where(schema.assignments.c.answer == row["answer"])
                )
            )
        )
    for change in ({"slot": 2, "rater": absent}, {"slot": None}, {"rater": absent}):
        with pytest.raises(sa.exc.IntegrityError), study.database.write() as connection:
            connection.execute(schema.assignments.insert().values({**row, "token": "new", **change}))


def test_orders_are_the_raters_own_and_of_no_question_twice_in_a_row(studies: Studies):
    study, raters = studies.make(questions=6, raters=3, panel=3, seed=3)
    orders = [studies.rate_all(study, rater) for rater in raters]
    assert len({tuple(item.response for item in order) for order in orders}) == 3
    for order in orders:
        assert [item.position for item in order] == list(range(1, 19))
        assert {item.total for item in order} == {18}
        assert all(one.question != other.question for one, other in pairwise(order))


def test_the_seed_makes_the_design_and_chance_the_tokens(sqlite_studies: Studies, tmp_path: Path):
    def list_items(name: str) -> list[tuple[str, str]]:
        sqlite_studies.place = str(tmp_path / name)
        study, raters = sqlite_studies.make(seed=5, repeats=1)
        return [(item.response, item.token) for item in sqlite_studies.rate_all(study, raters[0])]

    first, second = list_items("one.db"), list_items("two.db")
    assert [response for response, _ in first] == [response for response, _ in second]
    assert not {token for _, token in first} & {token for _, token in second}


def test_nothing_that_a_rater_sees_names_a_system_an_answer_or_a_check(studies: Studies):
    study, (rater, *_) = studies.make(
        repeats=2, gold=studies.checks("gold", 1, 4.0), attention=studies.checks("attention", 1, 2.0)
    )
    seen = studies.rate_all(study, rater)
    told = json.dumps([asdict(item) | {"entry": None} for item in seen]) + json.dumps(asdict(study.progress(rater)))
    # The texts of the hidden items are these tests' own, and a token may happen to contain any letters.
    told = re.sub(r"(gold|attention) (question|answer)|\"token\": \"[^\"]+\"", "", told)
    assert not re.search("bot|gold|attention|repeat|rating|rater|expected|[0-9]/", told, re.IGNORECASE)
    # 8 answers, 2 of them again, and 2 checks.
    assert len(seen) == 12


def test_training_comes_first_with_feedback(studies: Studies):
    samples = studies.checks("training", 2, 4.0)
    study, (rater, other, *_) = studies.make(training=samples)
    item = studies.take(study, rater)
    assert item.training
    half = study.save(rater, item.token, studies.enter(completeness=None))
    assert (half.complete, half.feedback) == (False, None)
    saved = study.save(rater, item.token, studies.enter(accuracy=2.5))
    assert saved.feedback is not None
    assert saved.feedback.expected == {"accuracy": 4.0}
    assert study.feedback(rater, item.token) == saved.feedback
    second = studies.take(study, rater)
    assert second.training
    progress = study.progress(rater)
    assert (progress.training_total, progress.done) == (2, 1)
    with pytest.raises(UnknownItemError):
        study.item_at(rater, 3)
    assert [item.training for item in studies.rate_all(study, other)][:3] == [True, True, False]
    # Nothing tells how an item that is no training should be rated.
    rated = study.item_at(other, 3)
    assert study.feedback(other, rated.token) is None


def test_an_entry_that_arrives_again_is_saved_once(studies: Studies):
    study, (rater, *_) = studies.make()
    item = studies.take(study, rater)
    entry = studies.enter(seconds=12.25, comment="Zweifel 怀疑", confidence=2)
    assert [study.save(rater, item.token, entry).repeated for _ in range(3)] == [False, True, True]
    assert len(study.history(rater, item.token)) == 1
    with pytest.raises(RatingConflictError):
        study.save(rater, item.token, entry.model_copy(update={"comment": "other"}))
    assert study.item_at(rater, item.position).entry == entry


def test_changes_are_a_history_and_the_last_complete_one_counts(studies: Studies):
    study, (rater, *_) = studies.make()
    item = studies.take(study, rater)
    span = Span(kind="wrong", start=item.response.index("🙂"), end=item.response.index("🙂") + 1, text="🙂")
    entries = [
        studies.enter(1.0, None, seconds=5),
        studies.enter(1.0, 2.0, seconds=10, spans=(span, Span(kind="missing", text="the dose"))),
        studies.enter(4.5, None, cannot_judge={"completeness": "no leaflet"}, seconds=1.5),
        studies.enter(5.0, None),
    ]
    for revision, entry in enumerate(entries, 1):
        assert study.save(rater, item.token, entry).revision == revision
        assert study.item_at(rater, item.position).entry == entry
    history = study.history(rater, item.token)
    assert [one.values for one in history] == [entry.values for entry in entries]
    assert [one.saved_at for one in history] == sorted(one.saved_at for one in history)
    assert study.item_at(rater, item.position).complete
    with study.database.read() as connection:
        found = connection.execute(sa.text("SELECT rater, dimension, rating FROM study_ratings")).all()
    assert sorted(found, key=str) == [("rater-0", "accuracy", 4.5), ("rater-0", "completeness", None)]
    assert [row["seconds"] for row in list_exported(study)] == [16.5]


def test_raters_reach_only_what_is_theirs(studies: Studies):
    study, (rater, other, *_) = studies.make()
    item = studies.take(study, rater)
    for token in (item.token, "unknown", ""):
        with pytest.raises(UnknownItemError):
            study.save(other, token, studies.enter())
        with pytest.raises(UnknownItemError):
            study.history(other, token)
        with pytest.raises(UnknownItemError):
            study.feedback(other, token)
    for position in (0, -1, 2, 99):
        with pytest.raises(UnknownItemError):
            study.item_at(rater, position)


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": {"accuracy": 5.5}},
        {"values": {"accuracy": 3.25}},
        {"values": {"style": 3}},
        {"values": {"accuracy": 3}, "cannot_judge": {"accuracy": "why"}},
        {"spans": [{"kind": "wrong", "start": 0, "end": 3, "text": "xyz"}]},
    ],
)
def test_entries_that_do_not_fit(sqlite_studies: Studies, wrong: dict[str, object]):
    study, (rater, *_) = sqlite_studies.make()
    item = sqlite_studies.take(study, rater)
    with pytest.raises(UsageError):
        study.save(rater, item.token, sqlite_studies.enter(**{"accuracy": None, "completeness": None, **wrong}))
    assert study.history(rater, item.token) == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {"client_id": "short"},
        {"client_id": "eight888\n"},
        {"comment": "nul \0"},
        {"comment": "half \ud83d"},
        {"seconds": -1},
        {"seconds": float("nan")},
        {"values": {"accuracy": float("inf")}},
        {"confidence": 4},
        {"comment": "x" * 10_001},
        {"spans": [{"kind": "missing", "start": 1, "end": 2, "text": "x"}]},
        {"spans": [{"kind": "wrong", "text": "x"}]},
        {"surplus": 1},
    ],
)
def test_malformed_entries(wrong: dict[str, object]):
    with pytest.raises(ValidationError):
        Entry.model_validate({"client_id": "eight888", **wrong})


def test_secrets_are_long_hashed_and_revocable(studies: Studies):
    study, _ = studies.make(names=0)
    secret = issue_links(study, ["anna"])["anna"]
    # 192 bits in base64.
    assert re.fullmatch(r"[A-Za-z0-9_-]{32}", secret)
    with study.database.read() as connection:
        stored = [str(row) for table in schema.metadata.sorted_tables for row in connection.execute(sa.select(table))]
    assert not any(secret in row for row in stored)
    assert sum(hash_secret(secret) in row for row in stored) == 1
    anna = study.identify(secret)
    assert anna is not None
    assert (anna.name, anna.role) == ("anna", "rater")
    second = issue_links(study, ["anna"], again=True)["anna"]
    assert (study.identify(secret), study.identify(second)) == (None, anna)
    revoke(study, "anna")
    assert study.identify(second) is None
    owner = study.identify(first := invite_owner(study))
    assert owner is not None
    assert owner.role == "owner"
    assert study.next_item(owner) is None
    assert study.identify(invite_owner(study)) == owner
    assert study.identify(first) is None
    for nobody in ("", "x" * 32, "\0", "\ud800"):
        assert study.identify(nobody) is None


def test_what_is_logged_cannot_be_changed(studies: Studies):
    study, (rater, *_) = studies.make()
    studies.rate_all(study, rater)
    for table in schema.APPEND_ONLY:
        for statement in (table.delete(), table.update().values({table.c[0]: table.c[0]})):
            with pytest.raises(sa.exc.DBAPIError, match="can only be added to"), study.database.write() as connection:
                connection.execute(statement)


def test_what_is_entered_stays_with_the_rater(studies: Studies):
    study, (rater, *_) = studies.make()
    (item, *_) = studies.rate_all(study, rater, most=1)
    with pytest.raises(sa.exc.IntegrityError), study.database.write() as connection:
        connection.execute(
            schema.assignments.update().where(schema.assignments.c.token == item.token).values(rater=None)
        )


def test_a_stopped_study_gives_no_items_and_takes_late_entries(studies: Studies):
    study, (rater, other, *_) = studies.make()
    item = studies.take(study, rater)
    stop(study, reason="enough")
    assert (study.next_item(rater), study.progress(rater).stopped) == (None, True)
    assert study.save(rater, item.token, studies.enter()).complete
    assert study.next_item(other) is None
    with pytest.raises(UsageError):
        stop(study, reason="again")


def test_what_arrives_after_the_stop_is_marked(studies: Studies):
    study, (rater, *_) = studies.make()
    early, changed = (item.token for item in studies.rate_all(study, rater, most=2))
    study.save(rater, early, studies.enter(comment="changed before"))
    late = studies.take(study, rater)
    stop(study, reason="enough")
    study.save(rater, changed, studies.enter(comment="changed after"))
    study.save(rater, late.token, studies.enter(comment="new"))
    found = {row["comment"]: row["after_stop"] for row in list_exported(study)}
    assert found == {"changed before": False, "changed after": True, "new": True}


def test_references_are_not_shown_by_option(studies: Studies):
    study, (rater, *_) = studies.make(show_reference=False)
    assert {item.references for item in studies.rate_all(study, rater)} == {()}


def test_half_of_the_raters_see_facts(studies: Studies):
    fact = Fact(0, 6, "treatment", "Answer")
    study, raters = studies.make(questions=2, raters=4, panel=4, marks={"0/Alphabot": [fact]})
    shown = [[item.facts for item in studies.rate_all(study, rater) if item.facts] for rater in raters]
    assert sorted(shown, key=len) == [[], [], [(fact,)], [(fact,)]]


def test_files_that_are_no_study(tmp_path: Path):
    with pytest.raises(UsageError, match=r"none\.db"):
        RatingStudy(str(tmp_path / "none.db"))
    (tmp_path / "text.db").write_text("no database at all, but long enough to be looked at" * 100)
    with pytest.raises(ResourceError):
        RatingStudy(str(tmp_path / "text.db"))
    (tmp_path / "empty.db").touch()
    with pytest.raises(ResourceError, match=r"empty\.db"):
        RatingStudy(str(tmp_path / "empty.db"))
    with pytest.raises(UsageError):
        RatingStudy("postgresql://host:port/name")
    with pytest.raises(ResourceError):
        RatingStudy(f"postgresql://u:hunter2secret@/x?host={tmp_path}")
    with pytest.raises(UsageError) as caught:
        RatingStudy("mysql://u:hunter2secret@h/x")
    assert "hunter2secret" not in str(caught.value)


@pytest.mark.parametrize("texts", ["{", "[" * 100_000, "5"])
def test_damaged_json_is_an_error_that_names_the_study(sqlite_studies: Studies, texts: str):
    study, (rater, *_) = sqlite_studies.make()
    damage(sqlite_studies.place, "UPDATE answers SET reference_texts = ?", given=texts)
    with pytest.raises(ResourceError, match=r"study\.db"):
        study.next_item(rater)


def test_a_study_without_its_settings_is_an_error_that_names_it(sqlite_studies: Studies):
    sqlite_studies.make()
    damage(sqlite_studies.place, "DELETE FROM study")
    with pytest.raises(ResourceError, match=r"study\.db"):
        sqlite_studies.open()


@pytest.mark.parametrize(
    "change", ["DROP TABLE links", "DROP VIEW study_ratings", "ALTER TABLE answers RENAME COLUMN lang TO language"]
)
def test_another_schema_is_refused_before_anybody_rates(sqlite_studies: Studies, change: str):
    sqlite_studies.make()
    damage(sqlite_studies.place, "PRAGMA legacy_alter_table = ON", change)
    with pytest.raises(ResourceError, match=r"study\.db"):
        sqlite_studies.open()


def test_the_advice_for_a_study_of_another_format_is_its_version(sqlite_studies: Studies):
    sqlite_studies.make()
    damage(sqlite_studies.place, "UPDATE study SET format = format + 1", "ALTER TABLE study DROP COLUMN created_at")
    with pytest.raises(ResourceError, match=r"study\.db.*version"):
        sqlite_studies.open()


def test_the_advice_for_a_damaged_study_is_a_backup_and_not_more_space(sqlite_studies: Studies, tmp_path: Path):
    sqlite_studies.make()
    whole = (tmp_path / "study.db").read_bytes()
    for number, content in enumerate(
        (whole[: len(whole) // 2], whole[:8192] + bytes(len(whole) - 8192), b"text" * 999)
    ):
        path = tmp_path / f"{number}.db"
        path.write_bytes(content)
        with pytest.raises(ResourceError, match="backup") as caught:
            RatingStudy(str(path))
        assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("change", "value"),
    [("answers SET facts = ?", "{"), ("answers SET facts = ?", "[" * 100_000), ("entries SET spans = ?", "5")],
)
def test_nothing_is_saved_in_a_damaged_study(sqlite_studies: Studies, change: str, value: str):
    study, (rater, *_) = sqlite_studies.make()
    item, entry = sqlite_studies.take(study, rater), sqlite_studies.enter()
    study.save(rater, item.token, entry)
    damage(sqlite_studies.place, f"UPDATE {change}", given=value)
    with pytest.raises(ResourceError, match=r"study\.db"):
        study.save(rater, item.token, entry)


@pytest.mark.parametrize("change", ["answers SET reference_texts = ?", "assignments SET answer = answer || ?"])
def test_a_damaged_study_is_not_copied(sqlite_studies: Studies, tmp_path: Path, change: str):
    study, _ = sqlite_studies.make()
    damage(sqlite_studies.place, f"UPDATE {change}", given="{")
    with pytest.raises(ResourceError, match=r"study\.db") as caught:
        copy_study(study, str(tmp_path / "copy.db"))
    assert "parameters" not in str(caught.value)
    assert not (tmp_path / "copy.db").exists()


@pytest.mark.parametrize("change", ["UPDATE answers SET id = id || ?", "UPDATE dimensions SET name = name || ?"])
def test_a_study_that_lacks_rows_is_refused(sqlite_studies: Studies, change: str):
    study, (rater, *_) = sqlite_studies.make()
    sqlite_studies.rate_all(study, rater)
    damage(sqlite_studies.place, change, given="9")
    with pytest.raises(ResourceError, match=r"study\.db"):
        sqlite_studies.open()


@pytest.mark.parametrize(("column", "value"), [("low", "x"), ("low", "100"), ("step", "-1")])
def test_a_damaged_scale_is_an_error_that_names_the_study(sqlite_studies: Studies, column: str, value: str):
    study, (rater, *_) = sqlite_studies.make()
    sqlite_studies.rate_all(study, rater)
    damage(sqlite_studies.place, f"UPDATE dimensions SET {column} = ?", given=value)
    with pytest.raises(InputError, match=r"study\.db"):
        read_ratings(sqlite_studies.place)


def damage(file: str, *changes: str, given: str | None = None) -> None:
    """Change a file, whose triggers would refuse it; `given` is the value of the one parameter."""
    with closing(sqlite3.connect(file)) as connection, connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        for change in changes:
            connection.execute(change, () if given is None else (given,))


def test_the_file_is_the_owners_alone(sqlite_studies: Studies, tmp_path: Path):
    sqlite_studies.make()
    assert (tmp_path / "study.db").stat().st_mode & 0o077 == 0
    with pytest.raises(UsageError, match="exists"):
        sqlite_studies.make()
