"""imapScore as a scorer of the real Inspect."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("inspect_ai", reason="inspect_ai is not installed here: python3 .ci/frameworks.py inspect_ai")

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, recompute_metrics
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ModelName,
    ModelOutput,
)
from inspect_ai.scorer import Target
from inspect_ai.solver import TaskState
from inspect_ai.tool import ToolCall

from imapeval import Scorer
from imapeval.errors import UsageError
from imapeval.integrations.inspect_ai import imapscore
from imapeval.llm.providers.scripted import ScriptedModel

if TYPE_CHECKING:
    from conftest import RunEval

QUESTION = "How is a breast abscess treated?"
REFERENCE = "Surgical drainage and antibiotics. Avoid alcohol."
PARTS = ["recall", "precision", "specificity", "f1"]


def sample(says: str | None, *, key: int = 1, **fields: Any) -> Sample:
    metadata = {} if says is None else {"says": says}
    return Sample(**{"id": key, "input": QUESTION, "target": REFERENCE, "metadata": metadata, **fields})


def state(says: str) -> TaskState:
    output = ModelOutput.from_content("mockllm/model", says)
    return TaskState(ModelName("mockllm/model"), "1", 1, QUESTION, [], Target(REFERENCE), output=output)


def score_of(log: Any, name: str = "imapscore") -> Any:
    assert log.status == "success", log.error
    (only,) = log.samples
    return only.scores[name]


def test_numbers_are_those_of_imapeval_score(
    run_eval: RunEval, samples: list[Sample], expected: dict[str, float | None], means: Any
):
    log = run_eval(samples, imapscore())
    assert log.status == "success"
    scores = {s.id: s.scores["imapscore"] for s in log.samples}
    assert {key: s.value["imapscore"] for key, s in scores.items() if isinstance(s.value, dict)} == {
        key: value for key, value in expected.items() if value is not None
    }
    scored = scores["abscess"]
    assert list(scored.value) == ["imapscore", *PARTS]
    assert scored.explanation.startswith(f"imapscore {expected['abscess']:.3f} (")
    assert "| term | reference | response | relation | credit |" in scored.explanation
    assert scored.answer.startswith("It is usually drained")
    assert scored.metadata["metrics"]["imapscore"]["signature"].startswith("imapscore|")
    assert scored.metadata["imaps"][0]["query"] == [{"term": "treatment", "value": "?"}]
    assert scored.reason is None
    # Chinese as well: the answer about gastritis is one of the three.
    assert means(log)["imapscore"] == pytest.approx(fmean(value for value in expected.values() if value is not None))
    assert [(s.scored_samples, s.unscored_samples) for s in log.results.scores] == [(3, 1)] * 5


def test_what_cannot_be_scored_is_unscored(run_eval: RunEval, samples: list[Sample]):
    log = run_eval(samples, imapscore())
    read = read_eval_log(log.location)
    score = next(s for s in read.samples if s.id == "nothing-asked").scores["imapscore"]
    assert math.isnan(score.value)
    assert score.reason == "no-query"
    assert score.explanation.startswith("not scored: the question has no words")
    assert score.metadata["metrics"]["imapscore"]["failure"]["stage"] == "extraction"
    # As Inspect computes them anew out of the log.
    before = [(s.name, s.metrics["mean"].value) for s in read.results.scores]
    recompute_metrics(read)
    assert [(s.name, s.metrics["mean"].value) for s in read.results.scores] == before


def test_all_unscored_has_no_mean(run_eval: RunEval):
    log = run_eval([sample("Rest.", input="?!")], imapscore())
    (only,) = log.results.scores
    assert math.isnan(only.metrics["mean"].value)
    assert (only.scored_samples, only.unscored_samples) == (0, 1)


def test_several_metrics(run_eval: RunEval, samples: list[Sample], expected: dict[str, float | None], means: Any):
    log = run_eval(samples, imapscore(["rouge1", "imapscore"]))
    scores = {s.id: s.scores["imapscore"] for s in log.samples}
    assert {tuple(s.value) for s in scores.values()} == {("rouge1", "imapscore")}
    partly = scores["nothing-asked"]
    assert partly.value["rouge1"] == 0
    assert math.isnan(partly.value["imapscore"])
    assert partly.reason == "no-query"
    assert "imapscore not scored: the question has no words" in partly.explanation
    assert f"imapscore {expected['abscess']:.3f}" in scores["abscess"].explanation
    found = [value for value in expected.values() if value is not None]
    assert means(log)["imapscore"] == pytest.approx(fmean(found))
    assert {s.name: (s.scored_samples, s.unscored_samples) for s in log.results.scores} == {
        "rouge1": (4, 0),
        "imapscore": (3, 1),
    }


def test_options_are_passed_on(run_eval: RunEval):
    scorer = imapscore("rouge1", options={"rouge1": {"measure": "recall"}})
    score = score_of(run_eval([sample("Drainage.")], scorer))
    assert score.value == {"rouge1": score.metadata["metrics"]["rouge1"]["parts"]["recall"]}
    assert "measure:recall" in score.metadata["metrics"]["rouge1"]["signature"]


def test_epochs_are_reduced_without_those_that_are_not_scored(run_eval: RunEval, means: Any):
    scorer = Scorer()
    values = [
        scorer.score(question=QUESTION, reference=REFERENCE, response=says).value for says in ("Drainage.", "Alcohol.")
    ]
    log = run_eval([sample(None, metadata={"says": ["Drainage.", None, "Alcohol."]})], imapscore(), epochs=3)
    assert [s.scores["imapscore"].reason for s in log.samples] == [None, "no-response", None]
    assert means(log)["imapscore"] == pytest.approx(fmean(values))


def test_many_at_once(run_eval: RunEval, means: Any):
    answers = [f"Drainage and {number} days of antibiotics." for number in range(40)]
    expected = Scorer().score_all(
        [{"question": QUESTION, "reference": REFERENCE, "response": answer} for answer in answers]
    )
    given = [sample(answer, key=number) for number, answer in enumerate(answers)]
    log = run_eval(given, imapscore(), max_samples=40)
    assert means(log)["imapscore"] == pytest.approx(expected.means["imapscore"])
    by_id = {s.id: s.scores["imapscore"].value["imapscore"] for s in log.samples}
    assert [by_id[number] for number in range(40)] == [item.value for item in expected]


async def test_called_as_it_is():
    scorer = imapscore()
    found = await asyncio.gather(*(scorer(state(says), Target(REFERENCE)) for says in ["Drainage.", "Rest."] * 10))
    single = [Scorer().score(question=QUESTION, reference=REFERENCE, response=says) for says in ("Drainage.", "Rest.")]
    assert [score.value["imapscore"] for score in found] == [item.value for item in single] * 10


def test_on_trio():
    trio = pytest.importorskip("trio")
    found = trio.run(imapscore(), state("Drainage."), Target(REFERENCE))
    single = Scorer().score(question=QUESTION, reference=REFERENCE, response="Drainage.")
    assert found.value["imapscore"] == single.value


def test_messages_are_a_dialogue(run_eval: RunEval):
    messages = [
        ChatMessageSystem(content="Answer as a doctor."),
        ChatMessageUser(content="My breast hurts."),
        ChatMessageAssistant(content="", tool_calls=[ToolCall(id="1", function="look", arguments={})]),
        ChatMessageTool(content="an abscess", tool_call_id="1"),
        ChatMessageAssistant(content="It is an abscess."),
        ChatMessageUser(content="How is it treated?"),
    ]
    score = score_of(run_eval([sample("Drainage.", input=messages)], imapscore()))
    turns = [
        {"role": "user", "content": "My breast hurts."},
        {"role": "assistant", "content": "It is an abscess."},
        {"role": "user", "content": "How is it treated?"},
    ]
    expected = Scorer().score(turns=turns, reference=REFERENCE, response="Drainage.")
    assert score.value["imapscore"] == expected.value
    assert score.metadata["imaps"] == [{**expected.to_dict()["imaps"][0], "id": "1"}]


def test_language_of_the_metadata(run_eval: RunEval):
    def run(lang: str) -> Any:
        given = {"says": "服用阿莫西林。", "lang": lang}
        scorer = imapscore("rouge1")
        return score_of(run_eval([sample(None, input="HP+?", target="口服阿莫西林。", metadata=given)], scorer))

    expected = Scorer("rouge1").score(question="HP+?", reference="口服阿莫西林。", response="服用阿莫西林。", lang="zh")
    assert run("zh").value == {"rouge1": expected.value}
    # Not one of ours: the question's script tells, and says English.
    assert run("Chinese").reason == "no-reference-tokens"


def test_several_targets(run_eval: RunEval):
    score = score_of(run_eval([sample("Drainage.", target=["Antibiotics.", REFERENCE, ""])], imapscore()))
    expected = Scorer().score(question=QUESTION, reference=["Antibiotics.", REFERENCE], response="Drainage.")
    assert score.value["imapscore"] == expected.value
    assert list(score.value) == ["imapscore", *PARTS], "which reference it was is no measure"
    assert len(score.metadata["imaps"]) == 2


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (sample(None), "no-response"),
        (sample("Rest.", target=""), "no-reference"),
        (sample("Rest.", input=[ChatMessageSystem(content="You are a doctor.")]), "bad-input"),
        (sample("Rest.", input=""), "bad-input"),
        (sample("antibiotics and rest " * 500_000), "too-long"),
    ],
    ids=["no-response", "no-reference", "no-question", "empty-question", "10-MB"],
)
def test_unfit(run_eval: RunEval, given: Sample, reason: str):
    score = score_of(run_eval([given], imapscore()))
    assert math.isnan(score.value)
    assert score.reason == reason
    assert score.explanation.startswith("not scored: ")


@pytest.mark.parametrize("says", ["", "🙂🙂🙂", "<script>alert(1)</script> | a | b |\n\n# Drainage"])
def test_odd_answers_count_as_everywhere(run_eval: RunEval, says: str):
    score = score_of(run_eval([sample(says)], imapscore()))
    expected = Scorer().score(question=QUESTION, reference=REFERENCE, response=says)
    assert score.value["imapscore"] == expected.value
    assert score.answer == says


def test_a_server_that_is_down_is_no_score(run_eval: RunEval):
    down = imapscore(llm="openai:x", base_url="http://127.0.0.1:9/v1")
    log = run_eval([sample("Drainage.")], down)
    assert log.status == "error"
    assert "cannot be reached" in log.error.message
    (only,) = log.samples
    assert not only.scores
    # The answer is not lost.
    assert "imapscore" in inspect_ai.score(log, imapscore()).samples[0].scores["imapscore"].value
    # Where the user lets evals go on, the sample is one without a score.
    log = run_eval([sample("Drainage.")], down, fail_on_error=False)
    (only,) = log.samples
    assert not only.scores
    assert "cannot be reached" in only.error.message


def test_a_language_model_that_talks_nonsense_is_no_score(run_eval: RunEval):
    scorer = Scorer(llm=ScriptedModel(lambda _: "I would rather not."))
    score = score_of(run_eval([sample("Drainage.")], imapscore(scorer=scorer)))
    assert math.isnan(score.value)
    assert score.metadata["metrics"]["imapscore"]["failure"]["stage"] == "extraction"
    assert score.metadata["usage"]["calls"] > 0


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"metrics": "rogue1"}, "'rogue1'"),
        ({"colour": "red"}, "colour"),
        ({"votes": 3}, "votes"),
        ({"scorer": "mine"}, "'mine'"),
        ({"scorer": Scorer(), "metrics": "rouge1"}, "'metrics'"),
    ],
)
def test_an_invalid_option_is_named(given: dict[str, Any], named: str):
    with pytest.raises(UsageError, match=named):
        imapscore(**given)


def test_inspect_score_on_a_log(
    run_eval: RunEval, samples: list[Sample], expected: dict[str, float | None], tmp_path: Path
):
    log = run_eval(samples)
    out = tmp_path / "scored.eval"
    command = ["inspect", "score", log.location, "--scorer", "imapeval/imapscore", "-S", "metrics=imapscore,rouge1"]
    done = subprocess.run(
        [f"{Path(sys.executable).parent}/{command[0]}", *command[1:], "--action", "append", "--output-file", str(out)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    scored = {s.id: s.scores["imapscore"].value for s in read_eval_log(str(out)).samples}
    assert math.isnan(scored.pop("nothing-asked")["imapscore"])
    assert {key: value["imapscore"] for key, value in scored.items()} == {
        key: value for key, value in expected.items() if value is not None
    }


def test_page(run_page: Any, expected: dict[str, float | None]):
    told, printed = run_page("inspect_ai")
    assert printed == told
    for value in expected.values():
        assert value is None or f"{value:.3f}" in told


@pytest.mark.parametrize(
    ("threshold", "word", "counts"),
    [
        (0.2, "pass", (1, 0)),
        (0.4, "too close to call", (1, 1)),
        (0.6, "too close to call", (0, 1)),
        (0.9, "fail", (0, 0)),
    ],
)
def test_a_threshold_gives_a_verdict(
    run_eval: RunEval, means: Any, repeated: Any, threshold: float, word: str, counts: tuple[int, int]
):
    log = run_eval([sample("Drainage.")], imapscore(threshold=threshold, scorer=Scorer([repeated])))
    score = score_of(log)
    assert score.value == {"repeated": 0.5, "passed": counts[0], "too_close": counts[1]}
    assert score.metadata["verdict"]["verdict"] == word
    assert word in score.explanation.lower()
    # Their means are the shares of answers.
    assert (means(log)["passed"], means(log)["too_close"]) == counts


def test_what_is_not_scored_has_no_verdict(run_eval: RunEval, samples: list[Sample]):
    log = run_eval(samples, imapscore(["imapscore", "rouge1"], threshold=0.3))
    (partly,) = [s.scores["imapscore"] for s in log.samples if s.id == "nothing-asked"]
    assert partly.value["rouge1"] == 0
    assert math.isnan(partly.value["passed"])
    assert "verdict" not in partly.metadata
    assert {s.name: s.scored_samples for s in log.results.scores}["too_close"] == 3
