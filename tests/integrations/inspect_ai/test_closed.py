"""Multiple-choice logs of the real Inspect, read by `imapeval closed`: the same accuracy, item by item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

pytest.importorskip("inspect_ai", reason="inspect_ai is not installed here: python3 .ci/frameworks.py inspect_ai")

import inspect_ai
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

from imapeval.study.closed.logs import read_logs
from imapeval.study.closed.models import summarise_models

if TYPE_CHECKING:
    from pathlib import Path

    from inspect_ai.log import EvalLog

OPTIONS = ["Aspirin", "Paracetamol", "Rest", "Tea"]
SAID = ["ANSWER: B", "ANSWER: A", "B) Paracetamol", "Sorry, I cannot help with that.", "ANSWER: A, B", "It depends"]


def run(folder: Path, *, epochs: int = 1, log_format: Literal["eval", "json"] = "eval") -> EvalLog:
    outputs = [ModelOutput.from_content("mockllm/model", text) for text in SAID for _ in range(epochs)]
    outputs[-1].choices[0].stop_reason = "max_tokens"
    for output in outputs:
        # Otherwise it counts tokens, for which it fetches a vocabulary from the network.
        output.usage = ModelUsage()
    samples = [Sample(id=f"q{n}", input=f"{n}: what helps?", choices=OPTIONS, target="B") for n in range(len(SAID))]
    task = inspect_ai.Task(dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice(), epochs=epochs)
    model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
    (log,) = inspect_ai.eval(
        task, model=model, log_dir=str(folder), log_format=log_format, display="none", max_samples=1
    )
    assert log.status == "success", log.error
    return log


@pytest.mark.parametrize("log_format", ["eval", "json"])
def test_accuracy_is_inspects_own(log_format: Literal["eval", "json"], tmp_path: Path):
    log = run(tmp_path, log_format=log_format)
    answers = read_logs([tmp_path])
    (file,) = tmp_path.iterdir()
    assert file.suffix == f".{log_format}"
    assert read_logs([file]) == answers
    assert log.samples is not None
    theirs = {str(sample.id): float((sample.scores or {})["choice"].value == "C") for sample in log.samples}
    assert {answer.item: answer.scores["choice"] for answer in answers} == theirs
    assert [answer.choice.reading for answer in answers] == ["read", "read", "read", "refused", "several", "cut"]
    # Inspect takes "B) Paracetamol" for wrong, since it lacks the word ANSWER; we say what was chosen.
    assert [answer.choice.label for answer in answers] == ["B", "A", "B", None, None, None]
    assert (answers[0].labels, answers[0].options, answers[0].gold) == (tuple("ABCD"), tuple(OPTIONS), {"B"})
    (found,) = summarise_models(answers)
    assert log.results is not None
    assert found.by_log["choice"] == pytest.approx(log.results.scores[0].metrics["accuracy"].value)


@pytest.mark.parametrize("target", [["A", "B"], "AB"])
def test_all_right_options_as_inspect_counts_them(target: str | list[str], tmp_path: Path):
    outputs = [ModelOutput.from_content("mockllm/model", f"ANSWER: {said}") for said in ("A,B", "A", "A,C")]
    for output in outputs:
        output.usage = ModelUsage()
    samples = [Sample(id=f"q{n}", input=f"{n}: what helps?", choices=OPTIONS, target=target) for n in range(3)]
    task = inspect_ai.Task(
        dataset=MemoryDataset(samples), solver=multiple_choice(multiple_correct=True), scorer=choice()
    )
    model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
    inspect_ai.eval(task, model=model, log_dir=str(tmp_path), display="none", max_samples=1)
    answers = read_logs([tmp_path])
    assert [answer.right for answer in answers] == [answer.scores["choice"] == 1 for answer in answers]


def test_epochs_are_runs(tmp_path: Path):
    run(tmp_path, epochs=2)
    answers = read_logs([tmp_path])
    assert len(answers) == 12
    assert {answer.run for answer in answers} == {"1", "2"}


def test_models_that_say_nothing_of_how_an_answer_ended(tmp_path: Path):
    """Inspect's provider for Hugging Face models logs "unknown", and the tokens of the longest answer of a batch.

    So an answer of as many tokens as allowed need not have been cut.
    """
    outputs = [ModelOutput.from_content("mockllm/model", "Let us think", stop_reason="unknown") for _ in range(2)]
    for output, tokens in zip(outputs, (7, 8), strict=True):
        output.usage = ModelUsage(output_tokens=tokens)
    shots = [ChatMessageUser(content="0: what helps?"), ChatMessageAssistant(content="ANSWER: C")]
    samples = [
        Sample(id=f"q{n}", input=[*shots, ChatMessageUser(content=f"{n}: what helps?")], choices=OPTIONS, target="B")
        for n in range(2)
    ]
    task = inspect_ai.Task(
        dataset=MemoryDataset(samples),
        solver=multiple_choice(),
        scorer=choice(),
        config=GenerateConfig(max_tokens=8),
    )
    model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
    inspect_ai.eval(task, model=model, log_dir=str(tmp_path), display="none", max_samples=1)
    answers = read_logs([tmp_path])
    assert [answer.choice.reading for answer in answers] == ["unread", "unread"]
    assert [answer.question for answer in answers] == ["0: what helps?", "1: what helps?"]
