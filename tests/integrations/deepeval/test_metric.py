"""`ImapScoreMetric` inside DeepEval: its `evaluate()`, its `assert_test`, its command, its means."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

pytest.importorskip("deepeval", reason="deepeval is not installed here: python3 .ci/frameworks.py deepeval")

from deepeval import assert_test, evaluate
from deepeval.dataset import EvaluationDataset, Golden
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.metrics.utils import copy_metrics
from deepeval.telemetry.client import get_settings
from deepeval.test_case import ConversationalTestCase, LLMTestCase, Turn
from deepeval.tracing import observe, update_current_span

from imapeval import Metric, Scorer
from imapeval.errors import MissingExtraError, ServiceError, UsageError
from imapeval.integrations.deepeval import ConversationalImapScoreMetric, ImapScoreMetric
from imapeval.llm.middleware import retry
from imapeval.llm.providers.scripted import ScriptedModel
from tests.integrations.answers import ANSWERS, ROWS

CASES = [
    LLMTestCase(name=row["id"], input=row["question"], actual_output=row["response"], expected_output=row["reference"])
    for row in ROWS
]
UNASKED = "nothing-asked"
FLU = {"input": "How is flu treated?", "expected_output": "Rest and plenty of fluids."}
WORDS = {"chrf": {"word_order": "2"}}
QUIET = DisplayConfig(print_results=False, show_indicator=False)

both_ways = pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])


def run(cases: list[Any], *metrics: Any, run_async: bool = True, **configs: Any) -> dict[str, Any]:
    """Run DeepEval's `evaluate()`; return its results by the name of the test case."""
    configs = {"display_config": QUIET, **configs}
    result = evaluate(cases, list(metrics), async_config=AsyncConfig(run_async=run_async), **configs)
    return {item.name: item for item in result.test_results}


def read_latest() -> dict[str, Any]:
    """Return what DeepEval kept of the last run, with its own aggregates."""
    return json.loads(Path(".deepeval/.latest_test_run.json").read_text(encoding="utf-8"))["testRunData"]


@pytest.mark.parametrize(("threshold", "passes", "close"), [(0.4, True, True), (0.6, False, True), (0.9, False, False)])
def test_a_repeated_score_near_the_threshold_is_too_close_to_call(repeated, threshold, passes, close):
    metric = ImapScoreMetric([repeated], threshold=threshold)
    metric.measure(CASES[0])
    assert (metric.is_successful(), "oo close to call" in metric.reason) == (passes, close)


@both_ways
def test_evaluate_gives_the_numbers_of_imapeval_score(expected, run_async, capsys):
    results = run(CASES, ImapScoreMetric(threshold=0.3), run_async=run_async, display_config=DisplayConfig())
    found = {name: result.metrics_data[0] for name, result in results.items()}
    assert {name: data.score for name, data in found.items()} == expected
    assert {name: data.success for name, data in found.items()} == {
        name: score is not None and score >= 0.3 for name, score in expected.items()
    }
    assert {name for name, result in results.items() if result.success} == {"abscess", "胃炎"}
    assert "1 of 3 facts" in found["abscess"].reason
    assert "| treatment |" in found["abscess"].verbose_logs
    assert found["abscess"].evaluation_model.startswith("imapscore|")

    # Not scored: an error with its reason, and in no mean of DeepEval's.
    assert found[UNASKED].error.startswith("not scored: the question has no words")
    assert found[UNASKED].error.endswith("(extraction/no-query)")
    assert found[UNASKED].reason is None
    scores = [score for score in expected.values() if score is not None]
    printed = capsys.readouterr().out
    assert f"{fmean(scores):.2f} " in printed.partition("Average Score")[2]
    assert "ERROR" in printed
    (kept,) = read_latest()["metricsScores"]
    assert (sorted(kept["scores"]), kept["errors"]) == (sorted(scores), 1)
    assert kept["passes"] == 2


@both_ways
def test_assert_test_passes_and_fails_with_the_reason(run_async):
    assert_test(CASES[0], [ImapScoreMetric(threshold=0.3)], run_async=run_async)
    with pytest.raises(AssertionError, match="Nitrofurantoin"):
        assert_test(CASES[1], [ImapScoreMetric(threshold=0.3)], run_async=run_async)
    with pytest.raises(AssertionError, match=r"None"):
        assert_test(CASES[3], [ImapScoreMetric(threshold=0.0)], run_async=run_async)


def test_the_command_of_deepeval_runs_it(tmp_path, expected):
    (tmp_path / "test_answers.py").write_text(
        f"""
import json, pytest
from deepeval import assert_test
from deepeval.test_case import LLMTestCase
from imapeval.integrations.deepeval import ImapScoreMetric

ROWS = [json.loads(line) for line in open({str(ANSWERS)!r}, encoding="utf-8")]
METRIC = ImapScoreMetric(threshold=0.3)

@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_answer(row):
    # What Rich would take for a tag without an end comes out whole.
    response = row["response"] + " [/b]"
    case = LLMTestCase(input=row["question"], actual_output=response, expected_output=row["reference"])
    assert_test(case, [METRIC])
""",
        encoding="utf-8",
    )
    command = [Path(sys.executable).with_name("deepeval"), "test", "run", "test_answers.py"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 1, done.stdout + done.stderr
    (kept,) = read_latest()["metricsScores"]
    assert (kept["passes"], kept["fails"], kept["errors"]) == (2, 1, 1)
    assert len(kept["scores"]) == sum(score is not None for score in expected.values())
    assert "not scored: the question" in done.stdout


def test_a_copy_is_the_same_metric():
    metric = ImapScoreMetric(
        "rouge1,imapscore", threshold=None, name="words", include_reason=False, verbose_mode=True, flaky=True
    )
    metric.measure(CASES[0])
    (copy,) = copy_metrics([metric])
    names = ("scorer", "threshold", "name", "include_reason", "verbose_mode", "flaky")
    assert [getattr(copy, name) for name in names] == [getattr(metric, name) for name in names]
    assert copy.scorer is metric.scorer
    assert copy.__name__ == "words"
    assert (copy.score, copy.assessment) == (None, None)
    assert metric.score is not None
    # One scorer for all metrics with the same options, so that nothing is opened or read twice.
    assert ImapScoreMetric().scorer is ImapScoreMetric(threshold=0.9).scorer


async def test_many_at_once(expected):
    metrics = copy_metrics([ImapScoreMetric()] * 40)
    cases = [CASES[number % len(CASES)] for number in range(40)]
    returned = await asyncio.gather(*(metric.a_measure(case) for metric, case in zip(metrics, cases, strict=True)))
    assert returned == [metric.score for metric in metrics] == [expected[case.name] for case in cases]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda metric, case: metric.measure(case), metrics, cases)) == returned


@both_ways
def test_what_is_missing_is_not_scored(run_async):
    cases = [
        LLMTestCase(name="no response", **FLU),
        LLMTestCase(name="no reference", input=FLU["input"], actual_output="Rest."),
        LLMTestCase(name="empty reference", input=FLU["input"], actual_output="Rest.", expected_output=""),
        LLMTestCase(name="no question", input="", actual_output="Rest.", expected_output="Rest."),
        LLMTestCase(name="context", input=FLU["input"], actual_output="Rest.", context=["Rest."]),
        LLMTestCase(name="empty response", actual_output="", **FLU),
        LLMTestCase(name="whole", actual_output="Rest.", **FLU),
    ]
    # DeepEval's way to leave such test cases out would let them pass, so that it is not ours.
    config = ErrorConfig(skip_on_missing_params=True)
    results = run(cases, ImapScoreMetric(threshold=0.0), run_async=run_async, error_config=config)
    found = {name: result.metrics_data[0] for name, result in results.items()}
    unscored = {name: data.error for name, data in found.items() if data.score is None}
    assert {name: error.rpartition("(")[2] for name, error in unscored.items()} == {
        "no response": "sample/no-response)",
        "no reference": "metric/no-reference)",
        "empty reference": "metric/no-reference)",
        "no question": "sample/bad-input)",
        "context": "metric/no-reference)",
    }
    assert not any(results[name].success for name in unscored)
    # Nothing in an answer is that answer's fault.
    assert (found["empty response"].score, found["empty response"].error) == (0.0, None)
    assert found["whole"].score > 0


@both_ways
def test_hostile_texts(run_async):
    texts = {
        "long": "rest " * 2_000_000,
        "emoji": "😀🤒",
        "markup": "Rest [/b] <b>and</b> | fluids [link=x] </td> {{question}}",
        "image": "Rest [DEEPEVAL:IMAGE:1]",
        "lines": "Rest.\r\n\u2028\x00",
    }
    cases = [LLMTestCase(name=name, actual_output=text, **FLU) for name, text in texts.items()]
    results = run(cases, ImapScoreMetric(), run_async=run_async)
    found = {name: result.metrics_data[0] for name, result in results.items()}
    assert found["long"].error.endswith("(sample/too-long)")
    assert {name for name, data in found.items() if data.score is None} == {"long"}
    assert found["emoji"].score == 0.0
    assert found["markup"].score > 0.3
    assert "[/" not in found["markup"].reason


def test_several_metrics():
    metric = ImapScoreMetric("rouge1,imapscore,bleu")
    metric.measure(CASES[0])
    outcomes = Scorer("rouge1,imapscore,bleu").score(
        question=CASES[0].input, response=CASES[0].actual_output, reference=CASES[0].expected_output
    )
    assert metric.__name__ == "rouge1"
    assert metric.score == outcomes.value
    assert metric.score_breakdown == {
        **outcomes.parts,
        "imapscore": outcomes.outcomes["imapscore"].value,
        "bleu": outcomes.outcomes["bleu"].value,
    }
    # Of one that cannot be scored, the others still are.
    metric.measure(CASES[3])
    assert metric.score is not None
    assert metric.error is None
    assert metric.score_breakdown["imapscore"] is None
    rows = run(CASES, ImapScoreMetric("rouge1"), ImapScoreMetric())
    assert [data.name for data in rows["uti"].metrics_data] == ["rouge1", "imapscore"]


@dataclass(frozen=True)
class Length(Metric):
    """Characters of the response: the fewer, the better."""

    name = "length"
    summary = "characters of the response"
    requires = frozenset()
    range = (0.0, None)
    higher_is_better = False

    def score(self, case: Any) -> float:
        return len(case.response)


def test_lower_may_be_better():
    case = LLMTestCase(input="How?", actual_output="Rest well.")
    metric = ImapScoreMetric([Length()], threshold=10)
    assert metric.measure(case) == 10.0
    assert metric.is_successful() is True
    metric = ImapScoreMetric(scorer=metric.scorer, threshold=9)
    metric.measure(case)
    assert metric.is_successful() is False


def test_without_a_threshold_there_is_no_verdict():
    metric = ImapScoreMetric(threshold=None)
    for case in (CASES[0], CASES[3]):
        metric.measure(case)
        assert metric.is_successful() is None
    results = run(CASES, metric, ImapScoreMetric(threshold=0.0, name="any"))
    assert results["uti"].success is True
    assert results[UNASKED].success is False


def test_options_are_the_scorers():
    with Scorer("imapscore:paper") as scorer:
        metric = ImapScoreMetric(scorer=scorer)
        assert metric.scorer is scorer
        assert metric.__name__ == "imapscore:paper"
    plain, words = (ImapScoreMetric("chrf", options=options) for options in (None, WORDS))
    assert plain.measure(CASES[0]) != words.measure(CASES[0])
    assert plain.evaluation_model != words.evaluation_model


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metrics": "imapscor"}, "imapscor"),
        ({"strict_mode": True}, "strict_mode"),
        ({"threshold": "high"}, "'high'"),
        ({"threshold": float("nan")}, "nan"),
        ({"threshold": True}, "True"),
        ({"threshold": 2.0}, "imapscore=2"),
        ({"metrics": "geval", "llm": ScriptedModel([])}, "geval=0.5"),
        ({"votes": 3}, "votes"),
        ({"scorer": object()}, "scorer"),
        ({"scorer": Scorer(), "votes": 3}, "'votes'"),
        ({"scorer": Scorer(), "model": "gpt-5.4"}, "'model'"),
        ({"model": "gpt-5.4", "llm": "openai:gpt-5.4"}, "model.*llm"),
        ({"model": 7}, "7"),
    ],
)
def test_an_invalid_option_is_named(options, said):
    with pytest.raises(UsageError, match=said):
        ImapScoreMetric(**options)


def test_another_kind_of_test_case():
    with pytest.raises(UsageError, match=r"LLMTestCase.*ConversationalTestCase"):
        ImapScoreMetric().measure(ConversationalTestCase(turns=[Turn(role="user", content="How?")]))


def test_a_server_that_is_down_is_no_score(unused_url, monkeypatch):
    monkeypatch.setattr(retry, "_LONGEST_OUTAGE_AT_START", 0.0)
    metric = ImapScoreMetric(llm="openai:x", base_url=unused_url, threshold=0.0)
    for run_async in (True, False):
        with pytest.raises(ServiceError, match="server"):
            run(CASES[:2], metric, run_async=run_async)
        config = ErrorConfig(ignore_errors=True)
        results = run(CASES[:2], metric, run_async=run_async, error_config=config)
        for result in results.values():
            assert result.success is False
            assert result.metrics_data[0].score is None
            assert "cannot be reached" in result.metrics_data[0].error


def test_the_cache_of_deepeval_keeps_no_score_of_other_options():
    configs = {"cache_config": CacheConfig(write_cache=True, use_cache=True)}
    found = [
        run(CASES[:1], ImapScoreMetric("chrf", options=options), run_async=run_async, **configs)["abscess"]
        .metrics_data[0]
        .score
        for run_async in (True, False)
        for options in (None, WORDS, None)
    ]
    assert found[0] == found[2] == found[3] == found[5]
    assert found[1] == found[4] != found[0]


def test_on_a_component(expected):
    metric = ImapScoreMetric(threshold=0.3)

    @observe(metrics=[metric])
    def answer(question: str) -> str:
        row = next(row for row in ROWS if row["question"] == question)
        update_current_span(
            test_case=LLMTestCase(input=question, actual_output=row["response"], expected_output=row["reference"])
        )
        return row["response"]

    dataset = EvaluationDataset(goldens=[Golden(input=ROWS[0]["question"])])
    for golden in dataset.evals_iterator(async_config=AsyncConfig(run_async=False), display_config=QUIET):
        answer(golden.input)
    (kept,) = read_latest()["metricsScores"]
    assert kept["scores"] == [expected["abscess"]]


@both_ways
def test_dialogues(run_async):
    turns = [
        Turn(role="user", content="I have had flu for two days."),
        Turn(role="assistant", content="Do you have a fever?"),
        Turn(role="user", content="No. How is it treated?"),
        Turn(role="assistant", content="Rest and drink plenty of fluids."),
    ]
    cases = [
        ConversationalTestCase(name="answered", turns=turns, expected_outcome="Rest and fluids."),
        ConversationalTestCase(name="unanswered", turns=turns[:-1], expected_outcome="Rest and fluids."),
        ConversationalTestCase(name="no reference", turns=turns),
    ]
    results = run(cases, ConversationalImapScoreMetric(threshold=0.3), run_async=run_async)
    found = {name: result.metrics_data[0] for name, result in results.items()}
    with Scorer() as scorer:
        fields = [{"role": turn.role, "content": turn.content} for turn in turns]
        value = scorer.score(turns=fields, response=None, reference="Rest and fluids.").value
    assert value is not None
    assert found["answered"].score == value
    assert results["answered"].success is True
    assert found["unanswered"].error.endswith("(sample/no-response)")
    assert found["no reference"].error.endswith("(metric/no-reference)")
    assert results["unanswered"].success is results["no reference"].success is False


def test_without_deepeval_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("imapeval._optional.installed", lambda _: False)
    monkeypatch.delitem(sys.modules, "imapeval.integrations.deepeval")
    with pytest.raises(MissingExtraError, match=r"pip install 'imapeval\[deepeval\]'"):
        import imapeval.integrations.deepeval  # noqa: F401


def test_telemetry_is_off():
    assert get_settings().DEEPEVAL_TELEMETRY_OPT_OUT is True
    assert not (Path(__file__).parents[3] / ".deepeval").exists()
