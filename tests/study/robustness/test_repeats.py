from dataclasses import replace

import numpy as np
import pytest

from imapeval.errors import InputError, UsageError
from imapeval.study.robustness.repeats import gather_repeats
from imapeval.types import Sample


def answer(id_: str, response: str, *, question: str = "", system: str = "s", original: str | None = None) -> Sample:
    meta = {} if original is None else {"original": original}
    return Sample(id_, question or f"q{id_[0]}?", ("r",), response, "en", system, meta=meta)


def test_rewordings_are_found_by_the_column_original(write_run):
    originals = write_run(
        "o", [answer("a", "x"), answer("b", "y"), answer("c", "z")], {"m": {"a": 0.1, "b": 0.2, "c": 0.3}}
    )
    others = [
        answer("b#1", "y1", question="qb?", original="b"),
        answer("a#1", "x1", question="qa?", original="a"),
        answer("a#2", "x2", question="qa?", original="a"),
    ]
    reworded = write_run("r", others, {"m": {"a#1": 0.4, "a#2": None, "b#1": 0.5}})
    # The run of the rewordings may stand first.
    for runs in ([originals, reworded], [reworded, originals]):
        (found,) = gather_repeats(runs)
        assert (found.kind, found.ids, found.metrics) == ("rewording", ("a", "b"), ("m",))
        assert np.array_equal(found.scores[:, :, 0], [[0.1, 0.4, np.nan], [0.2, 0.5, np.nan]], equal_nan=True)
        assert found.there.tolist() == [[True, True, True], [True, True, False]]
        assert found.questions.tolist() == [0, 1]


def test_another_response_of_the_same_id_is_a_rewording(write_run):
    one = write_run("1", [answer("a", "x"), answer("b", "y")], {"m": {"a": 1, "b": 2}})
    two = write_run("2", [answer("a", "x in other words"), answer("b", "y")], {"m": {"a": 3, "b": 4}})
    reworded, repeated = gather_repeats([one, two])
    assert (reworded.kind, reworded.ids, reworded.scores[:, :, 0].tolist()) == ("rewording", ("a",), [[1, 3]])
    assert (repeated.kind, repeated.ids, repeated.scores[:, :, 0].tolist()) == ("repetition", ("b",), [[2, 4]])


def test_no_response_is_no_other_wording(write_run):
    nobody = replace(answer("a", ""), answered=False)
    one = write_run("1", [answer("a", "x"), answer("b", "y")], {"m": {"a": 1, "b": 2}})
    two = write_run("2", [nobody, answer("b", "y")], {"m": {"a": None, "b": 4}})
    (found,) = gather_repeats([one, two])
    assert (found.kind, found.ids) == ("repetition", ("b",))


def test_the_same_text_in_several_runs_was_scored_again(write_run):
    samples = [answer("a", "x", system="s"), answer("b", "y", system="t")]
    runs = [write_run(str(n), samples, {"m": {"a": n, "b": 10 * n}}, version=str(n)) for n in range(3)]
    (found,) = gather_repeats(runs)
    assert (found.kind, found.systems) == ("repetition", ("s", "t"))
    assert found.scores[:, :, 0].tolist() == [[0, 1, 2], [0, 10, 20]]


def test_answers_of_one_system_to_one_question_were_sampled(write_run):
    samples = [
        answer("a1", "x", question="q?"),
        answer("a2", "y", question="q?"),
        answer("b1", "z", question="q?", system="t"),
        answer("c1", "z", question="other?"),
    ]
    (found,) = gather_repeats([write_run("1", samples, {"m": {"a1": 1, "a2": 2, "b1": 3, "c1": 4}})])
    assert (found.kind, found.ids, found.scores[:, :, 0].tolist()) == ("sampling", ("a1",), [[1, 2]])


def test_answers_in_different_runs_were_not_sampled(write_run):
    one = write_run("1", [answer("a1", "x", question="q?")], {"m": {"a1": 1}}, version="1")
    two = write_run("2", [answer("a2", "y", question="q?")], {"m": {"a2": 2}}, version="2")
    assert gather_repeats([one, two]) == []


def test_answers_of_two_systems_are_not_rewordings_of_each_other(write_run):
    one = write_run("1", [answer("a", "x", system="s")], {"m": {"a": 1}})
    two = write_run("2", [answer("a", "y", system="t")], {"m": {"a": 2}})
    with pytest.raises(InputError, match=r"2.*'a'.*'t'.*'s'.*1"):
        gather_repeats([one, two])


@pytest.mark.parametrize("empty", ["", None])
def test_originals_with_an_empty_cell(write_run, empty):
    original = replace(answer("a", "x"), meta={"original": empty})
    samples = [original, answer("a#1", "x1", question="qa?", original="a")]
    (found,) = gather_repeats([write_run("1", samples, {"m": {"a": 1, "a#1": 2}})])
    assert (found.kind, found.ids, found.scores[:, :, 0].tolist()) == ("rewording", ("a",), [[1, 2]])


def test_languages_are_kept_apart(write_run):
    samples = [replace(answer(id_, "x"), lang=lang) for id_, lang in (("a", "en"), ("b", "zh"), ("c", "en"))]
    runs = [write_run(str(n), samples, {"m": {"a": 1, "b": 2, "c": 3}}) for n in range(2)]
    assert [(found.kind, found.lang, found.ids) for found in gather_repeats(runs)] == [
        ("repetition", "en", ("a", "c")),
        ("repetition", "zh", ("b",)),
    ]


def test_nothing_was_done_again(write_run):
    assert gather_repeats([write_run("1", [answer("a", "x")], {"m": {"a": 1}})]) == []


def test_metrics_are_those_that_all_runs_have(write_run):
    one = write_run("1", [answer("a", "x")], {"m": {"a": 1}, "n": {"a": 1}, "o": {"a": 1}})
    two = write_run("2", [answer("a", "x")], {"o": {"a": 1}, "n": {"a": 2}})
    assert gather_repeats([one, two])[0].metrics == ("n", "o")
    assert gather_repeats([one, two], metrics=["o"])[0].metrics == ("o",)
    with pytest.raises(UsageError, match=r"2.*'m'"):
        gather_repeats([one, two], metrics=["m"])
    with pytest.raises(UsageError, match="no metric in common"):
        gather_repeats([one, write_run("3", [answer("a", "x")], {"z": {"a": 1}})])


def test_an_original_that_is_not_there(write_run):
    run = write_run("1", [answer("a#1", "x", original="a")], {"m": {"a#1": 1}})
    with pytest.raises(InputError, match=r"'a#1'.*'a'"):
        gather_repeats([run])


@pytest.mark.parametrize("original", [None, "a"])
def test_an_id_that_stands_for_another_question(write_run, original):
    one = write_run("1", [answer("a", "x")], {"m": {"a": 1}})
    other = answer("a" if original is None else "a#1", "y", question="another?", original=original)
    two = write_run("2", [other], {"m": {other.id: 1}})
    with pytest.raises(InputError, match=r"2.*'a.*'.*'a'.*1"):
        gather_repeats([one, two])


def test_rewordings_that_were_scored_in_another_way(write_run):
    one = write_run("1", [answer("a", "x")], {"m": {"a": 1}})
    two = write_run("2", [answer("a#1", "y", question="qa?", original="a")], {"m": {"a#1": 1}}, version="2")
    with pytest.raises(InputError, match=r"m\|v:2.*m\|v:1.*1"):
        gather_repeats([one, two])
