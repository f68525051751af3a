import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter
from imapeval.study.data.joining import join_ratings
from imapeval.study.data.ratings import Ratings, read_ratings
from imapeval.study.data.scales import RatingScale
from imapeval.types import Failure, Imap, Outcome, Pair, Sample, Score

FAILED = Failure("metric", "no-query", "?")

SAMPLES = [
    Sample("x1", "q1", ("ref",), "response!", "en", "x", {"accuracy": 4, "safety": 1}, {"dataset": "D", "task": "dx"}),
    Sample("y1", "q1", ("ref",), "", "en", "y", {"accuracy": 3}, {"dataset": "D"}),
    Sample("x2", "q2", (), "short", "zh", "x", {}, {"dataset": "D", "task": 7}),
]


def write(
    folder: Path,
    scores: Mapping[str, Sequence[Outcome | None]],
    samples: Sequence[Sample] = SAMPLES,
    *,
    version: str = "1",
    imaps: Sequence[ImapRecord] = (),
) -> Run:
    """Write a run: outcomes by metric, in the order of the samples; None where the run was stopped before."""
    signatures = {metric: f"{metric}|v:{version}" for metric in scores}
    with RunWriter(folder, samples, settings=RunSettings(signatures)) as writer:
        results = [
            Result(sample.id, metric, outcome, signatures[metric])
            for metric, outcomes in scores.items()
            for sample, outcome in zip(samples, outcomes, strict=True)
            if outcome is not None
        ]
        writer.add(imaps=list(imaps), results=results)
        writer.finish()
    return Run(folder)


def read(path: Path, text: str, **scales: RatingScale) -> Ratings:
    path.write_text(text, encoding="utf-8")
    return read_ratings(path, scales=scales)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return write(tmp_path / "run", {"rouge1": [Score(0.5), Score(0.25), FAILED], "other": [Score(1), FAILED, Score(2)]})


def test_scores_that_differ_by_rounding_are_equal(tmp_path: Path):
    # The same share of words, computed as 4 / 33 and by way of precision and recall.
    run = write(tmp_path / "run", {"rouge1": [Score(4 / 33), Score(0.12121212121212123), FAILED]})
    first, second = join_ratings([run])[0].scores[:, 0]
    assert first == second == pytest.approx(4 / 33, rel=1e-11)


def test_ratings_of_the_data(run: Run):
    rated, account = join_ratings([run])
    assert rated.ids == ("x1", "y1")
    assert rated.systems == ("D/x", "D/y")
    assert rated.questions.tolist() == [0, 0]
    assert (rated.metrics, rated.dimensions, rated.raters) == (("rouge1", "other"), ("accuracy", "safety"), ())
    np.testing.assert_array_equal(rated.scores, [[0.5, 1], [0.25, np.nan]])
    np.testing.assert_array_equal(rated.ratings, [[4, 1], [3, np.nan]])
    assert dict(rated.by_rater) == {}
    assert account.to_sentences() == (
        "3 answers in 1 run, 2 of them rated: accuracy 2, safety 1.",
        "The raters are not identified: ratings are treated as averages, and agreement among raters is unknown.",
        "1 of 3 answers are not rated: x2.",
        "Answers without a score because the metric failed: other 1.",
        "Not installed (high scores are assumed to be good): other.",
    )


def test_answers_that_nobody_rated_can_stay(run: Run):
    rated, account = join_ratings([run], unrated=True)
    assert rated.ids == ("x1", "y1", "x2")
    assert rated.questions.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(rated.ratings[2], [np.nan, np.nan])
    assert account.rated == 2
    assert account.failures == {"rouge1": 1, "other": 1}


def test_no_ratings_at_all_where_unrated_answers_are_wanted(tmp_path: Path):
    run = write(tmp_path / "run", {"rouge1": [Score(1)] * 3}, [replace(sample, ratings={}) for sample in SAMPLES])
    rated, account = join_ratings([run], unrated=True)
    assert rated.ratings.shape == (3, 0)
    assert rated.scores.tolist() == [[1], [1], [1]]
    assert account.to_sentences() == ("3 answers in 1 run, none of them rated.",)


def test_a_file_of_several_raters(run: Run, tmp_path: Path):
    text = "id,rater,accuracy\nx2,anna,2\nx1,anna,4\nx1,ben,5\nz1,ben,1\nz2,ben,1\n"
    rated, account = join_ratings([run], read(tmp_path / "r.csv", text, accuracy=RatingScale(0, 5)))
    assert (rated.ids, rated.raters) == (("x1", "x2"), ("anna", "ben"))
    np.testing.assert_array_equal(rated.ratings, [[4.5], [2]])
    np.testing.assert_array_equal(rated.by_rater["accuracy"], [[4, 5], [2, np.nan]])
    assert rated.scales == {"accuracy": RatingScale(0, 5)}
    assert account.raters_per_answer == {"accuracy": {1: 1, 2: 1}}
    assert "2 raters. Raters of an answer: accuracy 1 (1 answer), 2 (1 answer)." in account.to_sentences()
    assert "2 of 4 rated ids are in no run and are left out: z1, z2." in account.to_sentences()


def test_facets_and_covariates(tmp_path: Path):
    # "treatment" counts once and "rest" once: 9 + 4 + 5 characters beside 9 of the response.
    pairs = (Pair("treatment", "rest"), Pair("treatment", "fluid"), Pair("treatment", "rest"))
    imaps = [ImapRecord("x1", Imap((), (), (), pairs), None), ImapRecord("y1", Imap((), (), (), ()), None)]
    run = write(tmp_path / "run", {"rouge1": [Score(1)] * 3}, imaps=imaps)
    rated, _ = join_ratings([run], unrated=True)
    assert rated.facets == {"language": ("en", "en", "zh"), "dataset": ("D", "D", "D"), "task": ("dx", "", "7")}
    np.testing.assert_array_equal(rated.covariates["response characters"], [9, 0, 5])
    np.testing.assert_array_equal(rated.covariates["reference characters"], [3, 3, np.nan])
    np.testing.assert_array_equal(rated.covariates["compression"], [18 / 9, np.nan, np.nan])


def test_a_column_named_like_a_facet_of_every_study_is_none(tmp_path: Path):
    meta = {"system": "s", "dimension": "d", "ward": "w"}
    samples = [replace(sample, meta=meta) for sample in SAMPLES]
    run = write(tmp_path / "run", {"rouge1": [Score(1)] * 3}, samples)
    rated, _ = join_ratings([run], unrated=True, columns=["system", "dimension", "ward"])
    assert rated.facets.keys() == {"language", "ward"}


def test_a_missing_value_is_no_group(tmp_path: Path):
    meta = ({"task": "dx"}, {"task": float("nan")}, {"task": None})
    run = write(
        tmp_path / "run",
        {"rouge1": [Score(1)] * 3},
        [replace(sample, meta=fields) for sample, fields in zip(SAMPLES, meta, strict=True)],
    )
    rated, _ = join_ratings([run], unrated=True)
    assert rated.facets["task"] == ("dx", "", "")


def test_low_is_good_where_the_metric_says_so(tmp_path: Path):
    run = write(tmp_path / "run", {"perplexity": [Score(9)] * 3, "rouge1": [Score(1)] * 3})
    rated, account = join_ratings([run])
    assert rated.lower_is_better == {"perplexity"}
    assert rated.scores_of("perplexity").tolist() == [-9, -9]
    assert account.unknown_metrics == ()


def test_runs_of_other_metrics_and_of_other_answers(run: Run, tmp_path: Path):
    more = write(tmp_path / "more", {"bleu": [Score(7), Score(8), None]})
    others = [replace(SAMPLES[0], id="x9", question="q9")]
    rest = write(tmp_path / "rest", {"rouge1": [Score(0.1)]}, others)
    rated, account = join_ratings([run, more, rest])
    assert rated.ids == ("x1", "y1", "x9")
    assert rated.metrics == ("rouge1", "other", "bleu")
    np.testing.assert_array_equal(rated.scores, [[0.5, 1, 7], [0.25, np.nan, 8], [0.1, np.nan, np.nan]])
    assert account.not_scored == {"other": 1, "bleu": 1}
    assert account.failures == {"other": 1}
    assert "4 answers in 3 runs, 3 of them rated" in account.to_sentences()[0]
    assert "Answers not scored in any run: other 1, bleu 1." in account.to_sentences()


def test_a_score_takes_the_place_of_a_failure(run: Run, tmp_path: Path):
    again = write(tmp_path / "again", {"other": [Score(1), Score(3), FAILED]})
    for runs in ([run, again], [again, run]):
        rated, account = join_ratings(runs, metrics=["other"], unrated=True)
        assert rated.scores[:, 0].tolist() == [1, 3, 2]
        assert account.failures == {}


def test_metrics_and_dimensions_are_chosen_in_order(run: Run):
    rated, account = join_ratings([run], metrics=["other", "rouge1"], dimensions=["safety"])
    assert (rated.metrics, rated.dimensions, rated.ids) == (("other", "rouge1"), ("safety",), ("x1",))
    assert account.by_dimension == {"safety": 1}


def test_another_signature_is_another_metric(run: Run, tmp_path: Path):
    new = write(tmp_path / "new", {"rouge1": [Score(1)] * 3}, version="2")
    with pytest.raises(InputError, match=r"'rouge1'.*v:2.*v:1"):
        join_ratings([run, new])
    rated, _ = join_ratings([run, new], metrics=["other"])
    assert rated.metrics == ("other",)


@pytest.mark.parametrize(
    ("here", "there", "told"),
    [
        (
            "m|v:1|lexicon|v:9|steps:a",
            "m|v:1|prompted|temperature:0|v:9|steps:a",
            "prompted, temperature:0 instead of lexicon",
        ),
        ("m|v:1", "m|v:1|exact", "exact instead of nothing"),
        ("m|a|b", "m|b|a", "m|b|a instead of m|a|b"),
    ],
)
def test_only_what_differs_between_signatures_is_told(tmp_path: Path, here: str, there: str, told: str):
    runs: list[Run] = []
    for name, signature in (("first", here), ("second", there)):
        with RunWriter(tmp_path / name, SAMPLES, settings=RunSettings({"m": signature})) as writer:
            writer.finish()
        runs.append(Run(tmp_path / name))
    with pytest.raises(InputError, match="--scores") as caught:
        join_ratings(runs)
    assert caught.value.path == tmp_path / "second"
    assert told in str(caught.value)
    assert "steps:a" not in str(caught.value)


def test_another_score_with_the_same_signature(run: Run, tmp_path: Path):
    again = write(tmp_path / "again", {"rouge1": [Score(0.5), Score(0.75), FAILED]})
    with pytest.raises(InputError, match=r"'rouge1'.*'y1'.*0\.75.*0\.25"):
        join_ratings([run, again])
    # On other hardware neural metrics differ in the seventh digit or later.
    again = write(tmp_path / "near", {"rouge1": [Score(0.50000001), Score(0.25), FAILED]})
    with pytest.raises(InputError, match=r"0\.50000001 here and 0\.5 in"):
        join_ratings([run, again])


@pytest.mark.parametrize("change", [{"response": "other"}, {"question": "other"}, {"references": ()}, {"system": "z"}])
def test_an_id_of_two_answers(run: Run, tmp_path: Path, change: dict[str, str]):
    other = write(tmp_path / "other", {"bleu": [Score(1)]}, [replace(SAMPLES[0], **change)])  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="'x1'"):
        join_ratings([run, other])


def test_raters_of_other_answers_are_no_raters(run: Run, tmp_path: Path):
    text = "id,rater,accuracy,safety\nx1,anna,4,\nx1,ben,,3\nz1,carl,1,1\n"
    rated, account = join_ratings([run], read(tmp_path / "r.csv", text), dimensions=["accuracy"])
    assert (rated.raters, account.raters) == (("anna",), 1)
    assert rated.by_rater["accuracy"].tolist() == [[4]]


def test_ratings_come_with_the_data_of_any_run(run: Run, tmp_path: Path):
    bare = write(tmp_path / "bare", {"bleu": [Score(1)] * 3}, [replace(sample, ratings={}) for sample in SAMPLES])
    for runs in ([run, bare], [bare, run]):
        rated, _ = join_ratings(runs, dimensions=["accuracy"])
        assert rated.ratings.tolist() == [[4], [3]]
    other = write(tmp_path / "other", {"bleu": [Score(1)]}, [replace(SAMPLES[0], ratings={"accuracy": 5})])
    with pytest.raises(InputError, match="'x1'"):
        join_ratings([run, other])


def test_nothing_is_rated(tmp_path: Path, run: Run):
    bare = write(tmp_path / "bare", {"rouge1": [Score(1)]}, [replace(SAMPLES[0], ratings={})])
    # The columns may be there, but empty.
    unrated = r"ratings\.<dimension>.*empty.*--ratings"
    with pytest.raises(UsageError, match=unrated):
        join_ratings([bare])
    with pytest.raises(UsageError, match=unrated):
        join_ratings([bare], dimensions=["accuracy"], unrated=True)
    with pytest.raises(UsageError, match=unrated):
        join_ratings([bare], scales={"accuracy": RatingScale(0, 5)}, unrated=True)
    with pytest.raises(UsageError, match=r"'z1'.*'s are such as '.*1"):
        join_ratings([run], read(tmp_path / "r.csv", "id,accuracy\nz1,1\n"))
    given = read(tmp_path / "r.csv", "id,accuracy,fluency\nx1,1,\nz9,,2\n")
    with pytest.raises(UsageError, match=r"fluency.*--dimensions") as caught:
        join_ratings([run], given, dimensions=["fluency"])
    assert "--map" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"metrics": ["bleu"]}, "'bleu'.*1"),
        ({"dimensions": ["tone"]}, "'tone'"),
        ({"scales": {"tone": RatingScale(0, 1)}}, "--scale.*'tone'"),
    ],
)
def test_names_that_are_not_there(run: Run, options: dict[str, object], problem: str):
    with pytest.raises(UsageError, match=problem):
        join_ratings([run], **options)  # pyright: ignore[reportArgumentType]


def test_the_datas_own_ratings_lie_on_the_scale(run: Run):
    with pytest.raises(InputError, match=r"'x1'.*'accuracy'.*4.*0.*3"):
        join_ratings([run], scales={"accuracy": RatingScale(0, 3)})


def test_ratings_that_overflow(tmp_path: Path):
    run = write(tmp_path / "run", {"m": [Score(1)]}, [Sample("a", "q", ("r",), "x", ratings={"accuracy": 1e308})])
    with pytest.raises(InputError, match=r"'a'.*'accuracy'.*1e\+308"):
        join_ratings([run])


def test_one_rater(run: Run, tmp_path: Path):
    _, account = join_ratings([run], read(tmp_path / "r.csv", "id,rater,accuracy\nx1,anna,4\n"))
    assert "1 rater. Raters of an answer: accuracy 1 (1 answer)." in account.to_sentences()


def test_raters_who_left_out_a_dimension_are_counted(run: Run, tmp_path: Path):
    text = "id,rater,accuracy,safety\nx1,anna,4,1\nx1,ben,5,\nx2,anna,2,1\nx2,ben,3,0\n"
    _, account = join_ratings([run], read(tmp_path / "r.csv", text))
    assert account.raters_per_answer == {"accuracy": {2: 2}, "safety": {1: 1, 2: 1}}
    said = "2 raters. Raters of an answer: accuracy 2 (2 answers); safety 1 (1 answer), 2 (1 answer)."
    assert said in account.to_sentences()


def test_an_account_is_data(run: Run):
    _, account = join_ratings([run])
    json.dumps([account.to_sentences(), account.failures, account.not_rated])


def test_row_numbers_as_ids(run: Run, tmp_path: Path):
    given = read(tmp_path / "ratings.csv", "id,accuracy\nx1,2\n1,3\n")
    numbered = write(tmp_path / "n", {"rouge1": [Score(1)]}, [Sample("1", "q", (), "r", numbered=True)])
    notes = join_ratings([run, numbered], given, metrics=["rouge1"])[1].notes
    assert [str(numbered.folder) in note and "--map id=" in note for note in notes] == [True]
    rated = write(tmp_path / "r", {"rouge1": [Score(1)]}, [replace(SAMPLES[0], numbered=True)])
    assert not join_ratings([rated])[1].notes


def test_ids_to_which_the_system_was_added(tmp_path: Path):
    samples = [replace(sample, id=f"a/{sample.system}") for sample in SAMPLES[:2]] + [SAMPLES[2]]
    run = write(tmp_path / "run", {"rouge1": [Score(1)] * 3}, samples)
    for text in ("id,accuracy\na,2\n", "id,accuracy\na,2\nx2,3\n"):
        given = read(tmp_path / "ratings.csv", text)
        if "x2" in text:
            (told,) = join_ratings([run], given)[1].notes
        else:
            with pytest.raises(UsageError) as caught:
                join_ratings([run], given)
            told = str(caught.value)
        assert "'a' became 'a/x'" in told


@pytest.mark.parametrize("text", ["a,x,4\na,y,2\n", "a,x,4\n", "a,y,2\n"])
def test_ratings_that_name_the_system(tmp_path: Path, text: str):
    given = read(tmp_path / "ratings.csv", f"id,system,accuracy\n{text}")
    expected = {line[2]: float(line[4]) for line in text.splitlines()}
    several = [replace(sample, id=f"a/{sample.system}", ratings={}) for sample in SAMPLES[:2]]
    rated, account = join_ratings([write(tmp_path / "several", {"m": [Score(1)] * 2}, several)], given)
    assert dict(zip(rated.ids, rated.ratings[:, 0], strict=True)) == {f"a/{name}": n for name, n in expected.items()}
    assert account.strays == ()
    # The run of one system has ids without it; ratings of other systems are not of its answers.
    run = write(tmp_path / "one", {"m": [Score(1)]}, [replace(SAMPLES[0], id="a", ratings={})])
    if "x" in expected:
        rated, account = join_ratings([run], given)
        assert rated.ratings.tolist() == [[4]]
        assert account.strays == tuple(f"a/{name}" for name in expected if name != "x")
    else:
        with pytest.raises(UsageError, match="'a/y'"):
            join_ratings([run], given)


def test_ratings_that_name_the_system_of_a_run_without_systems(tmp_path: Path):
    run = write(tmp_path / "run", {"m": [Score(1)]}, [replace(SAMPLES[0], id="a", system="", ratings={})])
    rated, _ = join_ratings([run], read(tmp_path / "r.csv", "id,system,accuracy\na,x,4\n"))
    assert rated.ratings.tolist() == [[4]]
    # Which of two systems the run is of is not known.
    with pytest.raises(UsageError, match="'a/x'"):
        join_ratings([run], read(tmp_path / "r.csv", "id,system,accuracy\na,x,4\na,y,2\n"))


def test_hundreds_of_ids_are_not_listed(tmp_path: Path):
    samples = [replace(SAMPLES[0], id=f"a{n}", ratings={"accuracy": 1} if n == 0 else {}) for n in range(300)]
    run = write(tmp_path / "run", {"rouge1": [Score(1)] * 300}, samples)
    _, account = join_ratings([run])
    assert "299 of 300 answers are not rated: a1, a2, a3 and 296 more." in account.to_sentences()[2]
