"""The task file in lm-evaluation-harness itself: its evaluator, its command, its means and standard errors."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

pytest.importorskip("lm_eval", reason="lm_eval is not installed here: python3 .ci/frameworks.py lm_eval")

import yaml
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager
from lm_eval.utils import make_table

from imapeval import Scorer
from imapeval.errors import ServiceError, UsageError
from imapeval.integrations.lm_eval import TEMPLATE, BatchedResponse, ImapScoreFilter, process_results
from tests.integrations.answers import ANSWERS, ROWS

ASTHMA = {"id": "asthma", "question": "How is asthma treated?", "reference": "Salbutamol and inhaled steroids."}

NOT_SCORED = {"metric": "not_scored", "count": "imapeval.integrations.lm_eval.count", "higher_is_better": False}

# The warnings are of Hugging Face's datasets and of Python's multiprocessing beneath it.
pytestmark = pytest.mark.filterwarnings("default")


class Recorded(LM):
    """Answers as it did before."""

    def __init__(self, responses: dict[str, Any]) -> None:
        super().__init__()
        self.responses = responses

    def generate_until(self, requests: list[Any]) -> list[Any]:
        return [self.responses[request.args[0]] for request in requests]

    def loglikelihood(self, requests: list[Any]) -> Any:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: list[Any]) -> Any:
        raise NotImplementedError


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DO_NOT_TRACK", "1")


def evaluate(docs: list[dict[str, Any]], *, filter_: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """Run the task file over documents, each with the response that the model gives."""
    Path("tasks").mkdir(exist_ok=True)
    Path("data.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs), encoding="utf-8")
    options = {key: changes.pop(key) for key in ("predict_only", "limit") if key in changes}
    task = {
        "include": str(TEMPLATE),
        "task": "mine",
        "dataset_kwargs": {"data_files": {"test": "data.jsonl"}},
        "filter_list": [
            {"name": "none", "filter": [{"function": "take_first"}, {"function": "imapscore"} | (filter_ or {})]}
        ],
        **changes,
    }
    # PyYAML writes no tag of the harness.
    written = yaml.safe_dump(task).replace("count: imapeval", "aggregation: !function imapeval")
    Path("tasks/mine.yaml").write_text(written, encoding="utf-8")
    asked = changes.get("doc_to_text", "{{question}}").strip("{}")
    found = simple_evaluate(
        Recorded({doc[asked]: doc["response"] for doc in docs}),
        tasks=["mine"],
        task_manager=TaskManager(include_path="tasks", include_defaults=False),
        **options,
    )
    assert found is not None
    return found


def test_the_same_numbers_as_the_command_and_means_over_those_that_have_one(expected):
    found = evaluate(ROWS)
    samples = {sample["doc"]["id"]: sample for sample in found["samples"]["mine"]}
    assert {id_: sample.get("imapscore") for id_, sample in samples.items()} == expected

    scores = [score for score in expected.values() if score is not None]
    table = found["results"]["mine"]
    assert len(scores) == 3
    assert table["imapscore,none"] == pytest.approx(fmean(scores))
    assert table["imapscore_stderr,none"] == pytest.approx(stdev(scores) / sqrt(len(scores)))
    parts = [item.parts for item in Scorer().score_all(ROWS) if item.parts]
    assert table["imapscore_recall,none"] == pytest.approx(fmean(part["recall"] for part in parts))
    assert table["imapscore_precision,none"] == pytest.approx(fmean(part["precision"] for part in parts))

    assert table["not_scored,none"] == 1
    assert samples["nothing-asked"]["not_scored"].startswith("imapscore: the question has no words")
    assert samples["nothing-asked"]["metrics"] == ["not_scored"]
    assert samples["uti"]["not_scored"] is None
    assert found["n-samples"]["mine"] == {"original": 4, "effective": 4}
    assert "not_scored" in make_table(found)
    json.dumps({"results": found["results"], "samples": found["samples"]}, allow_nan=False)


def test_where_nothing_can_be_scored_there_is_no_mean(caplog):
    found = evaluate([ROWS[3], {**ASTHMA, "response": "x" * 10_000_000}])
    assert "imapscore,none" not in found["results"]["mine"]
    assert found["results"]["mine"]["not_scored,none"] == 2
    assert "2 of 2 answers are not scored by all metrics: extraction/no-query (1), sample/too-long (1)" in caplog.text
    make_table(found)


def test_whatever_a_model_writes():
    asked = {
        "no text": ("", 0.0, None),
        "emoji": ("\U0001f600\U0001f489", 0.0, None),
        "markup": ("<b>{{ 7 * 7 }}</b> [x](http://127.0.0.1) \x00", None, None),
        "long": ("a " * 5_000_000, None, "too-long"),
    }
    docs = [{**ASTHMA, "question": f"{name}: {ASTHMA['question']}", "response": r} for name, (r, _, _) in asked.items()]
    samples = evaluate(docs)["samples"]["mine"]
    for sample, (_, score, kind) in zip(samples, asked.values(), strict=True):
        assert ("imapscore" in sample) == (kind is None)
        assert kind is None or kind in sample["not_scored"]
        assert score is None or sample["imapscore"] == score


@pytest.mark.parametrize("reference", ["", None])
def test_without_a_reference_there_is_no_score(reference: str | None):
    docs = [{**ASTHMA, "reference": reference, "response": "Salbutamol."}, {**ROWS[0]}]
    samples = evaluate(docs)["samples"]["mine"]
    assert "no-reference" in samples[0]["not_scored"]
    assert "imapscore" not in samples[0]
    assert "imapscore" in samples[1]


def test_several_references_and_rows_that_lack_some():
    asked = {"question": ASTHMA["question"], "response": "Salbutamol."}
    references = ["Inhaled steroids.", "Salbutamol."]
    (sample,) = evaluate([{**asked, "references": references}])["samples"]["mine"]
    alone = [evaluate([{**asked, "reference": text}])["samples"]["mine"][0]["imapscore"] for text in references]
    assert sum(alone) > 0
    assert sample["imapscore"] == pytest.approx(sum(alone) / 2)
    assert sample["target"] == "Inhaled steroids.; Salbutamol."
    (sample,) = evaluate([asked])["samples"]["mine"]
    assert "no-reference" in sample["not_scored"]


def test_a_model_that_gave_no_text_at_all_is_told_from_an_empty_answer(monkeypatch):
    monkeypatch.setenv("LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER", "(nothing)")
    (sample,) = evaluate([{**ASTHMA, "response": "(nothing)"}])["samples"]["mine"]
    assert "there is no response" in sample["not_scored"]
    (sample,) = evaluate([{**ASTHMA, "response": ""}])["samples"]["mine"]
    assert sample["imapscore"] == 0


def test_several_metrics_with_options_of_columns_of_other_names():
    names = ["rouge1", "imapscore:mean"]
    docs = [{"input": doc["question"], "ideal": doc["reference"], "response": doc["response"]} for doc in ROWS]
    found = evaluate(
        docs,
        filter_={
            "metrics": ",".join(names),
            "question_key": "input",
            "reference_key": "ideal",
            "options": {"rouge1": {"measure": "recall"}},
        },
        doc_to_text="{{input}}",
        doc_to_target="{{ideal}}",
        metric_list=[{"metric": name, "aggregation": "mean", "higher_is_better": True} for name in names]
        + [NOT_SCORED],
    )
    scorer = Scorer(names, options={"rouge1": {"measure": "recall"}})
    ours = scorer.score_all([{key: doc[key] for key in ("question", "reference", "response")} for doc in ROWS])
    for name in names:
        assert found["results"]["mine"][f"{name},none"] == pytest.approx(ours.means[name])
    # ROUGE needs no question, and has a score.
    last = found["samples"]["mine"][-1]
    assert "rouge1" in last
    assert last["not_scored"].startswith("imapscore:mean: the question has no words")


def test_some_of_them():
    found = evaluate(ROWS, limit=2)
    assert found["n-samples"]["mine"] == {"original": 4, "effective": 2}
    assert found["results"]["mine"]["not_scored,none"] == 0


def test_nobody_is_asked_where_only_responses_are_wanted(chat_server):
    with chat_server() as (url, seen):
        found = evaluate(ROWS, filter_={"llm": "openai:stub", "base_url": url}, predict_only=True)
    assert found["results"]["mine"]["bypass,none"] == 999
    assert not seen["requests"]


def test_a_language_model_is_asked_about_many_answers_at_once(chat_server):
    docs = [{**ASTHMA, "question": f"How is asthma {n} treated?", "response": f"Salbutamol {n}."} for n in range(8)]
    with chat_server() as (url, seen):
        found = evaluate(docs, filter_={"llm": "openai:stub", "base_url": url, "concurrency": 8})
    assert found["results"]["mine"]["not_scored,none"] == 0, found["samples"]["mine"]
    assert seen["requests"] >= 16
    assert seen["most"] > 2


def test_a_server_that_is_down_ends_the_run_and_is_nobodys_score():
    with pytest.raises(ServiceError, match=r"127\.0\.0\.1:9"):
        evaluate(ROWS, filter_={"llm": "openai:stub", "base_url": "http://127.0.0.1:9/v1"})


@pytest.mark.parametrize(
    ("filter_", "said"),
    [
        ({"metric": "imapscore"}, "metric"),
        ({"metrics": "imapscor"}, "imapscor\\b.*imapscore\\b"),
        ({"reference_key": "ideal"}, "'ideal'.*id, question"),
    ],
)
def test_an_invalid_option_is_named(filter_: dict[str, Any], said: str):
    with pytest.raises(UsageError, match=said):
        evaluate(ROWS[:1], filter_=filter_)


def test_a_task_without_its_filters_says_which():
    with pytest.raises(UsageError, match="`imapscore`"):
        process_results(ROWS[0], ["Rest."])
    with pytest.raises(UsageError, match="take_first"):
        ImapScoreFilter().apply([["Rest."]], ROWS[:1])


def test_a_response_is_a_text_to_everybody_else():
    (answer,) = ImapScoreFilter().apply(["Rest."], ROWS[:1])
    assert isinstance(answer, BatchedResponse)
    assert type(pickle.loads(pickle.dumps(answer))) is str
    assert (json.dumps(answer), f"{answer}") == ('"Rest."', "Rest.")


def test_its_command(expected):
    lm_eval = Path(sys.executable).with_name("lm_eval")
    Path("tasks").mkdir()
    printed = subprocess.run([sys.executable, "-m", "imapeval.integrations.lm_eval"], check=True, capture_output=True)
    Path("tasks/open_qa.yaml").write_bytes(printed.stdout)
    Path("answers.jsonl").write_bytes(ANSWERS.read_bytes())
    done = subprocess.run(
        [
            lm_eval,
            "run",
            "--model",
            "dummy",
            "--tasks",
            "imapeval_open_qa",
            "--include_path",
            "tasks",
            *logged_to("out"),
        ],
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "|not_scored         |↓  |1.0000" in done.stdout
    assert "1 of 4 answers are not scored" in done.stderr
    (logged,) = Path("out").rglob("samples_*.jsonl")
    samples = [json.loads(line) for line in logged.read_text(encoding="utf-8").splitlines()]
    ours = Scorer().score_all([{**doc, "response": "lol"} for doc in ROWS])
    assert [sample.get("imapscore") for sample in samples] == [item.value for item in ours]
    assert samples[-1]["not_scored"].endswith("(extraction/no-query)")


def test_a_real_server_by_its_own_client(expected, chat_server):
    pytest.importorskip("tenacity", reason="lm-eval's own client is not installed here: pip install 'lm-eval[api]'")
    responses = {doc["question"]: doc["response"] for doc in ROWS} | {ROWS[1]["question"]: None}
    Path("answers.jsonl").write_bytes(ANSWERS.read_bytes())
    with chat_server(lambda body: responses[body["messages"][-1]["content"]]) as (url, _):
        found = simple_evaluate(
            "local-chat-completions",
            model_args={"model": "stub", "base_url": f"{url}/chat/completions", "num_concurrent": 2},
            tasks=["imapeval_open_qa"],
            task_manager=TaskManager(include_path=str(TEMPLATE.parent), include_defaults=False),
            apply_chat_template=True,
        )
    assert found is not None
    scores = {sample["doc"]["id"]: sample.get("imapscore") for sample in found["samples"]["imapeval_open_qa"]}
    # The harness itself makes "" of a reply without text.
    assert scores == {**expected, "uti": 0.0}


def test_without_the_harness_it_says_what_to_install():
    code = "import imapeval._optional as o; o.installed = lambda _: False; import imapeval.integrations.lm_eval"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'imapeval[lm-eval]'" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="the page is run by bash")
def test_the_page_runs_as_printed(run_page, expected):
    told, printed = run_page("lm_eval")
    assert printed == told
    for score in expected.values():
        assert score is None or f"{score:.4f}" in told


def logged_to(folder: str) -> list[str]:
    return ["--log_samples", "--output_path", folder]


@pytest.mark.parametrize(("threshold", "shares"), [(0.2, (1, 0)), (0.4, (1, 1)), (0.6, (0, 1)), (0.9, (0, 0))])
def test_a_threshold_gives_shares(repeated, threshold, shares):
    (answer,) = ImapScoreFilter(metrics=[repeated], threshold=threshold).apply(["Salbutamol."], [ASTHMA])
    found = process_results(ASTHMA, [answer])
    assert (found["repeated"], found["passed"], found["too_close"]) == (0.5, *shares)


def test_shares_are_over_those_that_are_scored():
    found = evaluate(ROWS, filter_={"threshold": 0.3})["results"]["mine"]
    # 0.689, 0.116 and 0.659, by one reading each; the fourth is not scored.
    assert found["passed,none"] == pytest.approx(2 / 3)
    assert found["too_close,none"] == 0
