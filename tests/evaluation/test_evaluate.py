import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from imapeval.errors import ExtractionError, MissingExtraError, ProviderError, ServiceError, UsageError
from imapeval.evaluation import evaluate
from imapeval.evaluation.combine import References
from imapeval.evaluation.extract import MAX_CHARACTERS
from imapeval.evaluation.pipeline import Pipeline
from imapeval.evaluation.runs import Result, Run, RunWriter
from imapeval.evaluation.stores import InMemoryStore, ResultStore
from imapeval.metrics import registry
from imapeval.metrics.base import Case, Metric, range_parts, to_outcome, unsigned
from imapeval.types import Failure, Imap, Lang, Match, Outcome, Pair, Relation, Sample, Score, values_by_term

QUERY = (Pair("word", "?"),)


@dataclass
class Words:
    """An extractor of which every word is a fact; it counts its calls and fails on demand."""

    signature: str = "words|v:1"
    errors: dict[str, Exception] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    concurrency: int = 8
    busy: int = 0
    most_busy: int = 0

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        self.asked.append(sample.id)
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        await asyncio.sleep(0)
        self.busy -= 1
        if sample.id in self.errors:
            raise self.errors[sample.id]
        facts = [tuple(Pair("word", word) for word in text.split()) for text in (*sample.references, sample.response)]
        return tuple(Imap(QUERY, (), facts[n], facts[-1], n) for n in range(len(sample.references)))


@dataclass
class Same:
    """A matcher of equal values; it records the sizes of its batches and cannot bear the word "poison"."""

    signature: str = "same|v:1"
    batches: list[int] = field(default_factory=list)

    async def match(
        self, imaps: Sequence[Imap], *, langs: Sequence[Lang], questions: Sequence[str] | None = None
    ) -> list[tuple[Match, ...]]:
        self.batches.append(len(imaps))
        return [tuple(self._match(imap)) for imap, _ in zip(imaps, langs, strict=True)]

    def _match(self, imap: Imap) -> list[Match]:
        ours, theirs = values_by_term(imap.reference), values_by_term(imap.response)
        if "poison" in theirs.get("word", ()):
            raise ZeroDivisionError("poison")
        return [
            Match(term, a, b, Relation.EXACT if a == b else Relation.UNMATCHED, float(a == b), "text")
            for term, values in ours.items()
            for a in values
            for b in theirs.get(term, ())
        ]


class Length(Metric):
    """A metric on texts: the distance of the lengths, less is better; it cannot bear the response "poison"."""

    name = "length"
    summary = "difference of lengths"
    requires = frozenset()
    range = (0.0, None)
    higher_is_better = False

    def score(self, case: Case) -> float:
        if case.response == "poison":
            raise ZeroDivisionError("poison")
        return abs(len(case.reference) - len(case.response))


def sample(id_: str, response: str, *references: str) -> Sample:
    return Sample(id_, "Why?", references or ("rest and fluids",), response)


def by_key(results: Sequence[Result]) -> dict[tuple[str, str], Outcome]:
    return {(result.id, result.metric): result.outcome for result in results}


IMAPSCORE, ON_IMAPS = registry.get("imapscore"), registry.get("rouge1+imap")
METRICS = [IMAPSCORE, Length()]


def score_all(samples: Sequence[Sample], **settings: Any) -> list[Result]:
    return asyncio.run(evaluate.evaluate(samples, **settings))


def score_to(run: ResultStore, samples: Sequence[Sample], *parts: Any, **settings: Any) -> None:
    asyncio.run(evaluate.evaluate_to_store(samples, Pipeline(*parts), run=run, **settings))


def score_in(folder: Path, samples: Sequence[Sample], *parts: Any, **settings: Any) -> None:
    """Score samples into a run in a folder, which it may have begun before."""
    with RunWriter(folder, samples, settings=evaluate.make_run_settings(Pipeline(*parts), seed=0)) as writer:
        score_to(writer, samples, *parts, **settings)


def run(samples: Sequence[Sample], **more: object) -> dict[tuple[str, str], Outcome]:
    settings = {"metrics": METRICS, "extractor": Words(), "matcher": Same()} | more
    return by_key(score_all(samples, **settings))


def test_scores_and_full_signatures():
    results = score_all([sample("a", "rest and fluids")], metrics=METRICS, extractor=Words(), matcher=Same())
    imapscore, length = (by_key(results)["a", metric] for metric in ("imapscore", "length"))
    assert isinstance(imapscore, Score)
    assert (imapscore.value, length) == (1.0, Score(0.0))
    assert not {"reference", "references", "stability"} & imapscore.parts.keys()
    assert {result.metric: result.signature for result in results} == {
        "imapscore": f"{IMAPSCORE.signature}|references:mean|words|v:1|same|v:1",
        "length": "length|v:1|references:mean",
    }


@pytest.mark.parametrize("references", ["best", "mean", "consensus"])
def test_the_signature_says_how_several_references_count(references: References):
    (result,) = score_all([sample("a", "rest")], metrics=[Length()], references=references)
    settings = evaluate.make_run_settings(Pipeline([Length()]), references=references, seed=0)
    assert result.signature == settings.metrics["length"] == f"length|v:1|references:{references}"


def test_the_mean_over_references_counts():
    outcomes = run([sample("a", "rest", "sleep", "rest", "rest now")])
    imapscore, length = outcomes["a", "imapscore"], outcomes["a", "length"]
    assert isinstance(imapscore, Score)
    # recall 0, 1 and 1/2; precision 0, 1 and 1.
    assert (imapscore.value, imapscore.parts["recall"]) == (pytest.approx((0 + 1 + 3 / 4) / 3), pytest.approx(0.5))
    assert imapscore.parts["references"] == 3
    assert length == Score((1 + 0 + 4) / 3, {"references": 3.0})


def test_what_several_references_say_counts_for_more_by_consensus():
    outcome = run([sample("a", "rest", "rest", "rest", "tea")], metrics=[Length()], references="consensus")[
        "a", "length"
    ]
    # Of the three the first two agree with one of two others, the third with none.
    assert outcome == Score(0.0, {"references": 3.0})


def test_the_best_reference_counts_whichever_way_is_better():
    outcomes = run([sample("a", "rest", "sleep a lot", "rest", "rest")], references="best")
    imapscore, length = outcomes["a", "imapscore"], outcomes["a", "length"]
    assert isinstance(imapscore, Score)
    assert isinstance(length, Score)
    assert (imapscore.value, imapscore.parts["reference"]) == (1.0, 1.0)
    assert (length.value, length.parts) == (0.0, {"reference": 1.0})


def test_a_reference_without_facts_does_not_hide_the_others():
    outcome = run([sample("a", "rest", " ", "rest")])["a", "imapscore"]
    assert isinstance(outcome, Score)
    assert (outcome.value, outcome.parts["references"]) == (1.0, 1.0)


def test_metrics_on_texts_extract_nothing():
    words = Words()
    run([sample("a", "rest")], metrics=[Length()], extractor=words)
    assert words.asked == []


def test_an_extraction_failure_is_the_imap_metrics_own():
    errors = {
        "a": ExtractionError("nothing is asked", kind="no-query", raw="{"),
        "b": ProviderError("too many requests", kind="rate-limit"),
        "c": KeyError("oops"),
    }
    outcomes = run([sample(id_, "rest") for id_ in "abcd"], extractor=Words(errors=errors))
    assert outcomes["a", "imapscore"] == Failure("extraction", "no-query", "nothing is asked", "{")
    assert outcomes["b", "imapscore"] == Failure("llm", "rate-limit", "too many requests")
    assert outcomes["c", "imapscore"] == Failure("extraction", "internal", "KeyError: 'oops'")
    assert isinstance(outcomes["d", "imapscore"], Score)
    assert all(isinstance(outcomes[id_, "length"], Score) for id_ in "abcd")


def test_the_one_at_fault_is_found_in_a_batch():
    outcomes = run([sample("a", "rest"), sample("b", "poison"), sample("c", "rest")])
    for metric, stage in (("imapscore", "matching"), ("length", "metric")):
        assert outcomes["b", metric] == Failure(stage, "internal", "ZeroDivisionError: poison")
        assert isinstance(outcomes["a", metric], Score)
        assert isinstance(outcomes["c", metric], Score)


def test_what_concerns_all_samples_ends_the_run():
    error = MissingExtraError("torch", extra="neural", needed_for="BERTScore")
    with pytest.raises(MissingExtraError, match=r"imapeval\[neural\]"):
        run([sample("a", "rest")], extractor=Words(errors={"a": error}))


def test_a_wrong_number_of_imaps_is_an_internal_failure():
    class One(Words):
        async def extract(self, sample: Sample) -> tuple[Imap, ...]:
            return (await super().extract(sample))[:1]

    outcome = run([sample("a", "rest", "x", "y")], extractor=One())["a", "imapscore"]
    assert isinstance(outcome, Failure)
    assert (outcome.kind, "1 imaps for 2 references and 1 readings" in outcome.message) == ("internal", True)


def test_a_text_that_is_too_long_fails_alone():
    words = Words()
    outcomes = run([sample("a", "x" * (MAX_CHARACTERS + 1)), sample("b", "rest")], extractor=words)
    for metric in ("imapscore", "length"):
        outcome = outcomes["a", metric]
        assert isinstance(outcome, Failure)
        assert (outcome.kind, str(MAX_CHARACTERS) in outcome.message) == ("too-long", True)
    assert isinstance(outcomes["b", "imapscore"], Score)
    assert words.asked == ["b"]


def test_what_nobody_answered_is_scored_by_no_metric():
    words, same = Words(), Same()
    nobody = Sample("a", "Why?", (), "", answered=False)
    outcomes = run([nobody, Sample("b", "Why?", ("rest",), "")], extractor=words, matcher=same)
    for metric in ("imapscore", "length"):
        outcome = outcomes["a", metric]
        assert isinstance(outcome, Failure)
        assert (outcome.stage, outcome.kind) == ("sample", "no-response"), "before it matters that nothing is expected"
        assert '""' in outcome.message
    assert isinstance(outcomes["b", "length"], Score)
    assert words.asked == ["b"]


def test_an_unexpected_error_in_one_case_has_no_other_case_scored_twice():
    asked: list[str] = []

    class Judge(Metric):
        name = "judge"
        summary = "fails once"

        async def score(self, case: Case) -> float:
            asked.append(case.id)
            await asyncio.sleep(0)
            return {"a": 1.0, "b": 0.5}[case.id]

    outcomes = run([sample(id_, "rest") for id_ in "abc"], metrics=[Judge()])
    assert asked == ["a", "b", "c"]
    assert [outcomes[id_, "judge"] for id_ in "ab"] == [Score(1.0), Score(0.5)]
    failed = outcomes["c", "judge"]
    assert isinstance(failed, Failure)
    assert (failed.stage, failed.kind) == ("metric", "internal")


def test_works_in_batches_and_keeps_to_the_concurrency():
    words, same, done = Words(concurrency=3), Same(), []
    count = 2 * evaluate.BATCH + 1
    samples = [sample(str(n), "rest") for n in range(count)]
    score_to(InMemoryStore(), samples, METRICS, words, same, progress=done.append)
    assert same.batches == done == [evaluate.BATCH, evaluate.BATCH, 1]
    assert words.most_busy == 3


class Facts(Length):
    """A metric on the imap of question and response alone: it counts facts."""

    name = "facts"
    requires = frozenset({"imap"})

    def score(self, case: Case) -> Outcome:
        return Score(float(len(case.imap.response))) if case.imap else Failure("metric", "x", "")


class Thrice(Words):
    """Reads three times, each time one word of the response less, and also what has no reference."""

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        imaps = await super().extract(sample)
        imaps = imaps or (Imap(QUERY, (), (), tuple(Pair("word", word) for word in sample.response.split())),)
        return tuple(
            replace(imap, response=imap.response[: max(1, len(imap.response) - reading)], reading=reading)
            for reading in range(3)
            for imap in imaps
        )


def test_without_a_reference_only_what_needs_none_is_scored():
    free = Sample("a", "Why?", (), "rest and fluids")
    outcomes = run([free, sample("b", "rest")], metrics=[IMAPSCORE, Length(), Facts()], extractor=Thrice())
    outcome = outcomes["a", "imapscore"]
    assert isinstance(outcome, Failure)
    assert (outcome.stage, outcome.kind, "--map reference=" in outcome.message) == ("metric", "no-reference", True)
    assert outcomes["a", "length"] == Score(15.0)
    assert outcomes["a", "facts"] == Score(2.0)
    assert isinstance(outcomes["b", "imapscore"], Score)


def test_without_a_reference_nothing_is_read_or_matched_in_vain():
    free, words, same = Sample("a", "Why?", (), "rest"), Thrice(), Same()
    run([free], extractor=words, matcher=same)
    assert words.asked == []
    run([free], metrics=[Facts()], extractor=words, matcher=same)
    assert (words.asked, same.batches) == (["a"], [])


def test_the_matches_stay_with_their_reference():
    outcomes = run([sample("a", "rest", " ", "fluids", "rest")], extractor=Thrice(), references="best")
    outcome = outcomes["a", "imapscore"]
    assert isinstance(outcome, Score)
    assert (outcome.value, outcome.parts["reference"]) == (1.0, 2.0)


def test_the_mean_over_readings_counts_and_says_how_stable_it_is():
    samples = [sample("a", "rest and fluids"), Sample("b", "Why?", (" ",), "rest")]
    outcomes = run(samples, extractor=Thrice(), metrics=[IMAPSCORE, ON_IMAPS, Length()])
    score, on_imaps = outcomes["a", "imapscore"], outcomes["a", "rouge1+imap"]
    assert isinstance(score, Score)
    # All of three, two and one of the three words are said; what is said is right.
    values = [1, (2 / 3 + 1) / 2, (1 / 3 + 1) / 2]
    assert (score.value, score.parts["recall"]) == (pytest.approx(sum(values) / 3), pytest.approx(2 / 3))
    assert score.parts["stability"] == pytest.approx(1 - (1 / 6 + 1 / 3 + 1 / 6) / 3)
    assert isinstance(on_imaps, Score)
    assert on_imaps.value == pytest.approx((1 + 4 / 5 + 2 / 4) / 3)
    assert isinstance(outcomes["b", "imapscore"], Failure)
    assert outcomes["a", "length"] == Score(0.0)


def test_each_reference_is_averaged_over_readings_first(tmp_path: Path):
    two = sample("a", "rest now", "rest now", "sleep")
    score_in(tmp_path, [two], METRICS, Thrice(), Same())
    score = by_key(Run(tmp_path).results())["a", "imapscore"]
    assert isinstance(score, Score)
    # Beside the first reference 1, 3/4 and 3/4; beside the second 0 each time.
    assert score.value == pytest.approx((1 + 3 / 4 + 3 / 4) / 3 / 2)
    assert score.parts["stability"] == pytest.approx((1 - (1 / 4 + 1 / 4) / 3 + 1) / 2)
    assert score.parts["references"] == 2
    kept = [(record.imap.reference_index, record.imap.reading) for record in Run(tmp_path).imaps()]
    assert kept == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


def test_an_imap_metric_without_extractor():
    with pytest.raises(UsageError, match="'imapscore'"):
        score_all([sample("a", "rest")], metrics=[IMAPSCORE])


def test_what_was_read_before_everything_ended_is_kept(tmp_path: Path):
    samples = [sample(id_, "rest") for id_ in "abc"]
    words = Words(errors={"b": ServiceError("the server is down", kind="unreachable")}, concurrency=1)
    with pytest.raises(ServiceError):
        score_in(tmp_path, samples, METRICS, words, Same())
    assert words.asked == ["a", "b"]
    assert sorted(by_key(Run(tmp_path).results())) == [("a", "imapscore"), ("a", "length")]
    assert Run(tmp_path).manifest["finished"] is None


def test_a_stop_finishes_what_is_under_way_and_begins_nothing(tmp_path: Path):
    stop = asyncio.Event()

    class Stopping(Words):
        async def extract(self, sample: Sample) -> tuple[Imap, ...]:
            imaps = await super().extract(sample)
            stop.set()
            return imaps

    words = Stopping(concurrency=2)
    samples = [sample(id_, "rest") for id_ in "abcd"]
    score_in(tmp_path, samples, METRICS, words, Same(), stop=stop)
    assert words.asked == ["a", "b"]
    assert sorted(by_key(Run(tmp_path).results())) == [
        ("a", "imapscore"),
        ("a", "length"),
        ("b", "imapscore"),
        ("b", "length"),
    ]
    assert Run(tmp_path).manifest["finished"] is None


def test_a_second_pass_retries_only_what_may_go_better(tmp_path: Path):
    samples = [sample(id_, "rest") for id_ in "abcd"]
    first = Words(
        errors={
            "a": ExtractionError("nothing is asked", kind="no-query"),
            "b": ProviderError("too many requests", kind="rate-limit"),
            "c": KeyError("oops"),
        }
    )
    second = Words()
    for words in (first, second):
        score_in(tmp_path, samples, METRICS, words, Same())
    assert second.asked == ["b", "c"]
    outcomes = by_key(Run(tmp_path).results())
    assert len(outcomes) == 8
    assert isinstance(outcomes["a", "imapscore"], Failure)
    assert isinstance(outcomes["b", "imapscore"], Score)
    assert sorted(record.id for record in Run(tmp_path).imaps()) == ["b", "c", "d"]


@dataclass(frozen=True)
class Judge(Length):
    """A metric that waits for the others: all judges must have been asked before the first answers."""

    name: str = "judge"
    waiting: list[str] = unsigned(default_factory=list)
    judges: int = 1

    is_async = True

    async def ascore_batch(self, cases: Sequence[Case]) -> list[Outcome]:
        self.waiting.append(self.name)
        while len(self.waiting) < self.judges:
            await asyncio.sleep(0)
        if any(case.response == "dead" for case in cases):
            raise ServiceError("nobody answers", kind="unreachable")
        return [to_outcome(self.score(case)) for case in cases]


def test_metrics_that_wait_wait_together():
    waiting: list[str] = []
    judges = [Judge(name, waiting=waiting, judges=2) for name in ("one", "two")]
    outcomes = run([sample("a", "rest"), sample("b", "poison")], metrics=[*judges, Length()])
    assert waiting[:2] == ["one", "two"]
    for name in ("one", "two", "length"):
        assert outcomes["a", name] == Score(11.0)
        failure = outcomes["b", name]
        assert isinstance(failure, Failure)
        assert (failure.stage, failure.kind) == ("metric", "internal")


def test_a_dead_service_of_a_judge_ends_the_run_and_the_others_keep_their_work(tmp_path: Path):
    samples, metrics = [sample("a", "rest"), sample("b", "dead")], [IMAPSCORE, Length(), Judge(), Judge("other")]
    with pytest.raises(ServiceError, match="nobody answers"):
        score_in(tmp_path, samples, metrics, Words(), Same())
    kept = Run(tmp_path)
    assert {(result.id, result.metric) for result in kept.results()} == {
        (id_, metric) for id_ in ("a", "b") for metric in ("imapscore", "length")
    }
    assert [record.id for record in kept.imaps()] == ["a", "b"]


class Overshooting(Length):
    """A metric that gives more than it says that it can, as one of another package may."""

    name = "overshooting"
    range = (0.0, 10.0)


def test_a_score_beyond_the_metrics_own_range_is_a_failure(tmp_path: Path):
    samples = [sample("a", "rest"), sample("b", "rest rest rest")]
    score_in(tmp_path, samples, [Overshooting()])
    kinds = {
        id_: outcome.kind
        for (id_, _), outcome in by_key(Run(tmp_path).results()).items()
        if isinstance(outcome, Failure)
    }
    assert kinds == {"a": "out-of-range"}


class Misstating(Length):
    """A metric with a part that is no share, though it says so."""

    name = "misstating"
    part_ranges = range_parts(shares=["recall"])

    def score(self, case: Case) -> Outcome:
        return Score(1.0, {"recall": float(len(case.response)), "other": 1e9})


def test_a_part_beyond_its_own_range_is_a_failure():
    samples, metrics = [sample("a", "r"), sample("b", "rr")], [Misstating()]
    outcomes = by_key(score_all(samples, metrics=metrics))
    assert outcomes["a", "misstating"].parts == {"recall": 1.0, "other": 1e9}
    assert outcomes["b", "misstating"].kind == "out-of-range"
