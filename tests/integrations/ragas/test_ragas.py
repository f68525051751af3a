"""The metric in RAGAS itself: experiments, batches and `evaluate()`."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
from concurrent.futures import ThreadPoolExecutor
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

# Before the import: RAGAS reads it once.
os.environ["RAGAS_DO_NOT_TRACK"] = "true"
ragas = pytest.importorskip("ragas", reason="ragas is not installed here: python3 .ci/frameworks.py ragas")

from ragas import Dataset, EvaluationDataset, MultiTurnSample, SingleTurnSample, aevaluate, evaluate, experiment  # noqa: E402, I001
from ragas.cli import calculate_aggregated_metrics  # noqa: E402
from ragas.messages import AIMessage, HumanMessage, ToolCall, ToolMessage  # noqa: E402
from ragas.metrics.base import SimpleBaseMetric  # noqa: E402

from imapeval import Scorer  # noqa: E402
from imapeval.errors import SampleError, ServiceError, UsageError  # noqa: E402
from imapeval.integrations.ragas import RagasImapScore  # noqa: E402
from imapeval.llm.prices import Price  # noqa: E402
from tests.integrations import answers  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ROWS: list[dict[str, Any]] = [
    {"user_input": row["question"], **{name: row[name] for name in row if name != "question"}} for row in answers.ROWS
]
ASKED = HumanMessage(content="How is a breast abscess treated?")
SAID = AIMessage(content="It is drained with a needle.")
REFERENCE = "The abscess is drained by needle aspiration."


def take_samples() -> Any:
    columns = ("user_input", "response", "reference")
    return EvaluationDataset.from_list([{name: row[name] for name in columns} for row in ROWS])


def pick(expected: dict[str, float | None]) -> list[float | None]:
    return [expected[row["id"]] for row in ROWS]


def mean(expected: dict[str, float | None]) -> float:
    return fmean(value for value in expected.values() if value is not None)


@pytest.fixture
def metric() -> Any:
    return RagasImapScore()


def test_it_is_a_metric_of_ragas(metric: Any):
    assert isinstance(metric, SimpleBaseMetric)
    assert metric.name == "imapscore"
    assert metric.allowed_values == (0.0, 1.0)
    assert repr(metric) == "RagasImapScore(name='imapscore', allowed_values=(0.0, 1.0))"
    assert RagasImapScore("chrf", name="overlap").name == "overlap"


def test_rows_have_the_number_of_the_command_line(metric: Any, expected: dict[str, float | None]):
    assert [metric.score(**row).value for row in ROWS] == pick(expected)
    assert [result.value for result in metric.batch_score(ROWS)] == pick(expected)


async def test_rows_have_the_same_number_asynchronously(metric: Any, expected: dict[str, float | None]):
    found = await asyncio.gather(*(metric.ascore(**row) for row in ROWS * 5))
    assert [result.value for result in found] == pick(expected) * 5
    assert [result.value for result in await metric.abatch_score(ROWS)] == pick(expected)
    # In a notebook a loop is running, and people call it all the same.
    assert metric.score(**ROWS[0]).value == expected["abscess"]


def test_rows_have_the_same_number_from_threads_and_loops(metric: Any, expected: dict[str, float | None]):
    def score(number: int) -> float | None:
        row = ROWS[number % len(ROWS)]
        return (metric.score(**row) if number % 2 else asyncio.run(metric.ascore(**row))).value

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(score, range(24))) == pick(expected) * 6


async def test_an_experiment_has_what_is_not_scored_as_none_with_the_reason(
    metric: Any, expected: dict[str, float | None], tmp_path: Path
):
    @experiment()
    async def run(row: dict[str, Any]) -> dict[str, Any]:
        result = await metric.ascore(**row)
        return {"id": row["id"], "imapscore": result.value, "reason": result.reason}

    for backend in ("local/csv", "local/jsonl"):
        dataset = Dataset("answers", backend, data=ROWS, root_dir=str(tmp_path))
        done = await run.arun(dataset, name=backend.replace("/", "-"))
        assert {row["id"]: row["imapscore"] for row in done} == expected
        assert {row["id"]: row["reason"] for row in done}["nothing-asked"].startswith("not scored: the question has no")
        told = {row["id"]: row["imapscore"] for row in type(done).load(done.name, done.backend)}
        assert told["nothing-asked"] == (None if backend == "local/jsonl" else "")
        assert float(told["abscess"]) == expected["abscess"]
        # RAGAS's command line and pandas, by which people take means.
        scores = calculate_aggregated_metrics({"imapscore": [row["imapscore"] for row in done]})
        assert scores["imapscore"]["score"] == pytest.approx(mean(expected))
        assert done.to_pandas()["imapscore"].mean() == pytest.approx(mean(expected))


def test_what_is_not_scored_cannot_be_taken_for_a_number(metric: Any):
    result = metric.score(**ROWS[3])
    assert result.value is None
    assert result.to_dict()["result"] is None
    for misuse in (lambda: float(result), lambda: result + 1, lambda: sum([result]), lambda: result < 0.5):
        with pytest.raises(TypeError):
            misuse()


def test_a_result_has_the_facts(metric: Any, expected: dict[str, float | None]):
    result = metric.score(**ROWS[0])
    assert result.reason.startswith(f"imapscore {expected[ROWS[0]['id']]:.3f}")
    assert result.traces["input"] == ROWS[0]
    output = result.traces["output"]
    assert output["table"].startswith("|")
    assert output["imaps"]
    assert json.loads(json.dumps(output)) == output


def test_several_metrics_stand_in_the_traces(expected: dict[str, float | None]):
    result = RagasImapScore("imapscore,rouge1").score(**ROWS[0])
    assert result.value == expected["abscess"]
    assert set(result.traces["output"]["metrics"]) == {"imapscore", "rouge1"}


def test_evaluate_leaves_what_is_not_scored_out_of_the_mean(
    metric: Any, expected: dict[str, float | None], caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.ERROR, "ragas.executor"):
        found: Any = evaluate(take_samples(), metrics=[metric, RagasImapScore("rouge1")], show_progress=False)
    *scored, unscored = found["imapscore"]
    assert [*scored, None] == pick(expected)
    assert math.isnan(unscored)
    assert found._repr_dict["imapscore"] == pytest.approx(mean(expected))
    assert not any(map(math.isnan, found["rouge1"]))
    assert "not scored: the question has no words" in caplog.text
    assert len(found.to_pandas()) == 4


async def test_evaluate_works_in_a_running_loop(metric: Any, expected: dict[str, float | None]):
    found: Any = await aevaluate(take_samples(), metrics=[metric], show_progress=False)
    assert found["imapscore"][:3] == pick(expected)[:3]


def test_evaluate_raises_for_one_answer_only_if_it_is_told_to(metric: Any):
    with pytest.raises(SampleError):
        evaluate(take_samples(), metrics=[metric], show_progress=False, raise_exceptions=True)
    with pytest.raises(SampleError):
        metric.single_turn_score(SingleTurnSample(user_input="?!", response="Rest.", reference="Rest."))


def test_a_dialogue_is_scored_by_its_last_message(metric: Any):
    calls = AIMessage(content="", tool_calls=[ToolCall(name="look_up", args={"what": "abscess"})])
    looked_up = ToolMessage(content="Never drain an abscess.")
    plain = metric.score(user_input=ASKED.content, response=SAID.content, reference=REFERENCE)
    messages = [ASKED, calls, looked_up, SAID]
    assert metric.score(user_input=[ASKED, SAID], reference=REFERENCE).value == plain.value
    assert metric.score(user_input=messages, reference=REFERENCE).value == plain.value
    # As they are in a data set that was saved.
    dumped = [message.model_dump() for message in messages]
    assert metric.score(user_input=dumped, reference=REFERENCE).value == plain.value
    # In OpenAI's format.
    spoken = [{"role": "user", "content": ASKED.content}, {"role": "tool", "content": "Never."}]
    for last in ({"role": "assistant", "content": SAID.content}, {"role": "ai", "content": SAID.content}):
        assert metric.score(user_input=[*spoken, last], reference=REFERENCE).value == plain.value
    batch = [{"user_input": [ASKED, SAID], "reference": REFERENCE}, {**ROWS[0]}]
    assert [found.value for found in metric.batch_score(batch)] == [plain.value, metric.score(**ROWS[0]).value]
    assert metric.score(user_input=[ASKED], response=SAID.content, reference=REFERENCE).value == plain.value

    samples = [
        MultiTurnSample(user_input=messages, reference=REFERENCE),
        MultiTurnSample(user_input=[ASKED], reference=REFERENCE),
        MultiTurnSample(user_input=[ASKED, SAID]),
    ]
    first, *others = evaluate(EvaluationDataset(samples=samples), metrics=[metric], show_progress=False)["imapscore"]  # type: ignore
    assert first == plain.value
    assert all(map(math.isnan, others))


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"response": None}, "there is no response"),
        ({"response": math.nan}, "there is no response"),
        ({"reference": None}, "the sample has no reference"),
        ({"reference": ""}, "the sample has no reference"),
        ({"reference": math.nan}, "the sample has no reference"),
        ({"user_input": None}, "the question is empty"),
        ({"user_input": ""}, "the question is empty"),
        ({"user_input": []}, "no user turn"),
        ({"user_input": ["How?"]}, "turn 1 is not an object"),
        ({"user_input": [{"type": "robot", "content": "How?"}]}, "turn 1 has the role 'robot'"),
        ({"user_input": 5}, "the turns are not a list but 5"),
        ({"user_input": [ASKED], "response": None}, "there is no response"),
        ({"user_input": [], "response": None}, "the dialogue is empty"),
        ({"response": "x" * 10_000_000}, "more than the 100000 that are scored"),
        ({"lang": "de"}, "unknown lang 'de'"),
    ],
)
def test_what_is_absent_or_no_answer_is_not_scored(metric: Any, columns: dict[str, Any], reason: str):
    row = {**ROWS[0], **columns}
    for result in (metric.score(**row), *metric.batch_score([row]), asyncio.run(metric.ascore(**row))):
        assert result.value is None
        assert reason in result.reason
    assert "there is no" in metric.score(user_input="How is gout treated?").reason


@pytest.mark.parametrize("response", ["", "🙂🙂🙂", "<b>| a | b |</b> {{ x }} <script>alert(1)</script>", "\x00"])
def test_odd_answers_have_a_low_score(metric: Any, response: str):
    # They earn credit by similarity alone, which counts by its square root.
    assert metric.score(**{**ROWS[0], "response": response}).value ** 2 < 0.1


def test_the_mean_over_several_references_counts(metric: Any, expected: dict[str, float | None]):
    other = metric.score(**{**ROWS[0], "reference": "Amputation."}).value
    assert other < expected["abscess"]
    row = {**ROWS[0], "reference": ("Amputation.", ROWS[0]["reference"])}
    for result in (metric.score(**row), *metric.batch_score([row])):
        assert result.value == pytest.approx((other + expected["abscess"]) / 2)


async def test_a_server_that_is_down_gives_no_number(down: Any, caplog: pytest.LogCaptureFixture, tmp_path: Path):
    metric = RagasImapScore(llm=down)
    with pytest.raises(ServiceError, match="the key is refused"):
        metric.score(**ROWS[0])
    with pytest.raises(ServiceError, match="the key is refused"):
        await metric.abatch_score(ROWS)

    @experiment()
    async def run(row: dict[str, Any]) -> dict[str, Any]:
        return {"imapscore": (await metric.ascore(**row)).value}

    dataset = Dataset("answers", "local/jsonl", data=ROWS, root_dir=str(tmp_path))
    done = await run.arun(dataset, name="down")
    # RAGAS prints the error of each row and leaves the row out.
    assert [row["imapscore"] for row in done if row["imapscore"] is not None] == []

    with caplog.at_level(logging.ERROR, "ragas.executor"):
        found: Any = await aevaluate(take_samples(), metrics=[metric], show_progress=False)
    assert all(map(math.isnan, found["imapscore"]))
    assert "the key is refused" in caplog.text


def test_what_a_language_model_cost_stands_in_the_traces(reader: Any):
    metric = RagasImapScore(llm=reader, price=Price(1.0, 2.0))
    result = metric.score(user_input="How is gout treated?", response="Rest.", reference="Rest well.")
    assert result.value == 1.0
    usage = result.traces["output"]["usage"]
    assert (usage["calls"], usage["prompt_tokens"], usage["completion_tokens"]) == (3, 300, 30)


def test_options_go_to_the_scorer():
    with pytest.raises(UsageError, match="'imapscor'"):
        RagasImapScore("imapscor")
    with pytest.raises(UsageError, match="'modell'"):
        RagasImapScore(modell="x")
    with Scorer("rouge1") as scorer:
        metric = RagasImapScore(scorer=scorer)
        assert (metric.name, metric.scorer) == ("rouge1", scorer)
        with pytest.raises(UsageError, match="'metrics'"):
            RagasImapScore("chrf", scorer=scorer)
        with pytest.raises(UsageError, match="'votes'"):
            RagasImapScore(scorer=scorer, votes=3)


def test_the_page_prints_what_it_says(check_page: Any) -> None:
    check_page("ragas")


@pytest.mark.parametrize(
    ("threshold", "word"), [(0.2, "pass"), (0.4, "too close to call"), (0.6, "too close to call"), (0.9, "fail")]
)
def test_a_threshold_gives_a_verdict(repeated: Any, threshold: float, word: str):
    metric = RagasImapScore([repeated], threshold=threshold)
    for result in (metric.score(**ROWS[0]), asyncio.run(metric.ascore(**ROWS[0])), *metric.batch_score(ROWS[:1])):
        assert result.value == 0.5
        assert result.traces["output"]["verdict"]["verdict"] == word
        assert word in result.reason.lower()
    # `evaluate()` takes the number alone.
    assert evaluate(take_samples(), metrics=[metric], show_progress=False)["repeated"] == [0.5] * 4


def test_no_verdict_without_a_threshold_or_a_score():
    assert "verdict" not in RagasImapScore().score(**ROWS[0]).traces["output"]
    unscored = RagasImapScore(threshold=0.3).score(**ROWS[3])
    assert "verdict" not in unscored.traces["output"]
    with pytest.raises(UsageError, match="threshold"):
        RagasImapScore(threshold=30)
