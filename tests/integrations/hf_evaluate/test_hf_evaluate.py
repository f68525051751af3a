"""The metric in Hugging Face's `evaluate` itself: compute, add, load, combine, save."""

from __future__ import annotations

import gc
import json
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

# Before the import: Hugging Face's packages read them once.
os.environ.update(HF_HUB_OFFLINE="1", HF_EVALUATE_OFFLINE="1", HF_UPDATE_DOWNLOAD_COUNTS="false")
reason = "evaluate is not installed here: python3 .ci/frameworks.py hf_evaluate"
evaluate: Any = pytest.importorskip("evaluate", reason=reason)

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import datasets  # noqa: E402
from imapeval import Scorer  # noqa: E402
from imapeval.errors import ServiceError, UsageError  # noqa: E402
from imapeval.integrations import hf_evaluate  # noqa: E402
from imapeval.integrations.hf_evaluate import HfImapScore  # noqa: E402
from tests.integrations.answers import ROWS  # noqa: E402

COLUMNS: dict[str, Any] = {
    "predictions": [row["response"] for row in ROWS],
    "references": [row["reference"] for row in ROWS],
    "questions": [row["question"] for row in ROWS],
}
UNSCORED = {
    "index": 3,
    "metric": "imapscore",
    "kind": "no-query",
    "reason": "the question has no words",
}


class Length(evaluate.Metric):
    """A metric of somebody else, which knows nothing of questions."""

    def _info(self) -> Any:
        text = datasets.Value("string")
        features = datasets.Features({"predictions": text, "references": text})
        return evaluate.MetricInfo(description="", citation="", inputs_description="", features=features)

    def _compute(self, predictions: Any, references: Any) -> dict[str, Any]:
        return {"length": fmean(map(len, predictions))}


def pick(expected: dict[str, float | None]) -> list[float | None]:
    return [expected[row["id"]] for row in ROWS]


def mean(expected: dict[str, float | None]) -> float:
    return fmean(value for value in expected.values() if value is not None)


def columns_of_one(**other: Any) -> dict[str, Any]:
    one = {"predictions": "Drain it.", "references": "Drain the abscess.", "questions": "How is an abscess treated?"}
    return {name: [value] for name, value in {**one, **other}.items()}


@pytest.fixture
def make(tmp_path: Path) -> Any:
    """Makes metrics whose data are kept in a folder of the test."""
    return lambda **options: HfImapScore(cache_dir=str(tmp_path), **options)


@pytest.fixture
def metric(make: Any) -> Any:
    return make()


def test_compute_has_the_numbers_of_the_command_line(metric: Any, expected: dict[str, float | None]):
    found = metric.compute(**COLUMNS)
    assert found == {
        "imapscore": pytest.approx(mean(expected)),
        "scores": {"imapscore": pick(expected)},
        "scored": {"imapscore": 3},
        "not_scored": [UNSCORED],
    }
    assert metric.compute(**COLUMNS) == found


def test_answers_are_added_by_and_by(metric: Any, expected: dict[str, float | None]):
    for response, reference, question in zip(*COLUMNS.values(), strict=True):
        metric.add(prediction=response, reference=reference, questions=question)
    for response, reference, question in zip(*COLUMNS.values(), strict=True):
        metric.add(predictions=response, references=reference, questions=question)
    metric.add_batch(**COLUMNS)
    assert len(metric) == 12
    assert metric.compute()["scores"]["imapscore"] == pick(expected) * 3
    with pytest.raises(ValueError, match="Bad inputs"):
        metric.add(prediction="Rest.", reference="Rest.", question="How is gout treated?")


@pytest.mark.parametrize("keep_in_memory", [False, True])
def test_arrays_and_series_are_taken(make: Any, keep_in_memory: bool, expected: dict[str, float | None]):
    metric = make(keep_in_memory=keep_in_memory)
    for kind in (np.array, pd.Series, tuple):
        found = metric.compute(**{name: kind(values) for name, values in COLUMNS.items()})
        assert found["scores"]["imapscore"] == pick(expected)


def test_the_file_of_the_module_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, expected: dict[str, float | None]
):
    # `evaluate` copies the file to its cache, and imports it from there.
    monkeypatch.setattr(evaluate.config, "HF_MODULES_CACHE", str(tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = hf_evaluate.__file__
    metric = evaluate.load(path, metrics="imapscore,rouge1", cache_dir=str(tmp_path))
    assert metric.name == "imap_score"
    found = metric.compute(**COLUMNS)
    assert found["scores"]["imapscore"] == pick(expected)
    assert found["scored"] == {"imapscore": 3, "rouge1": 4}
    assert [item["metric"] for item in found["not_scored"]] == ["imapscore"]
    with pytest.raises(UsageError, match="'metrix'"):
        evaluate.load(path, metrix="rouge1")


def test_it_stands_beside_metrics_of_others(make: Any, tmp_path: Path, expected: dict[str, float | None]):
    combined = evaluate.combine([make(), Length(cache_dir=str(tmp_path))])
    combined.add_batch(**COLUMNS)
    found = combined.compute()
    assert found["imapscore"] == pytest.approx(mean(expected))
    assert found["length"] > 0
    assert found["not_scored"] == [UNSCORED]
    # Here it gives the questions to every metric: the page says how to go about it.
    with pytest.raises(TypeError, match="questions"):
        combined.compute(**COLUMNS)

    combined = evaluate.combine({"offline": make(), "words": make(metrics="rouge1")}, force_prefix=True)
    found = combined.compute(**COLUMNS)
    assert found["offline_imapscore"] == pytest.approx(mean(expected))
    assert found["words_scored"] == {"rouge1": 4}


def test_what_was_found_can_be_saved(metric: Any, tmp_path: Path, expected: dict[str, float | None]):
    path = evaluate.save(tmp_path / "found.json", **metric.compute(**COLUMNS))
    saved = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=lambda name: pytest.fail(name))
    assert saved["scores"]["imapscore"] == pick(expected)


def test_metrics_in_threads_share_a_scorer(make: Any, expected: dict[str, float | None]):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: make().compute(**COLUMNS)["scores"]["imapscore"], range(16)))
    assert found == [pick(expected)] * 16


async def test_it_works_where_a_loop_is_running(metric: Any, expected: dict[str, float | None]):
    assert metric.compute(**COLUMNS)["scores"]["imapscore"] == pick(expected)


def test_the_best_of_several_references_counts_where_that_is_wanted(make: Any, expected: dict[str, float | None]):
    several = [["Amputation.", text] if number % 2 else text for number, text in enumerate(COLUMNS["references"])]
    found = make(references="best").compute(**{**COLUMNS, "references": several})
    other = make().compute(**{**COLUMNS, "references": ["Amputation."] * len(several)})["scores"]["imapscore"]
    # Where nothing of the reference was said, the other one may be a little nearer.
    better = [
        max(own, other[number]) if own is not None and number % 2 else own for number, own in enumerate(pick(expected))
    ]
    assert found["scores"]["imapscore"] == better


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"predictions": None}, "there is no response"),
        ({"predictions": math.nan}, "there is no response"),
        ({"references": None}, "the sample has no reference"),
        ({"references": math.nan}, "the sample has no reference"),
        ({"references": ""}, "the sample has no reference"),
        ({"references": []}, "the sample has no reference"),
        ({"references": [None]}, "a reference is empty or not a text"),
        ({"questions": None}, "the question is empty"),
        ({"questions": " "}, "the question is empty"),
        ({"predictions": "x" * 10_000_000}, "more than the 100000 that are scored"),
    ],
)
def test_what_is_absent_or_no_answer_is_not_scored(metric: Any, other: dict[str, Any], reason: str):
    # Alone, first and last: `evaluate` looks at the first one.
    odd, plain = columns_of_one(**other), columns_of_one()
    alone = metric.compute(**odd)
    assert alone["imapscore"] is None
    assert reason in alone["not_scored"][0]["reason"]
    value = metric.compute(**plain)["imapscore"]
    for columns, scores in (
        ({name: odd[name] + plain[name] for name in odd}, [None, value]),
        ({name: plain[name] + odd[name] for name in odd}, [value, None]),
    ):
        found = metric.compute(**columns)
        assert found["scores"]["imapscore"] == scores
        assert found["imapscore"] == value


@pytest.mark.parametrize("response", ["", "🙂🙂🙂", "<b>| a | b |</b> {{ x }} <script>alert(1)</script>", "\x00"])
def test_odd_answers_have_a_low_score(metric: Any, response: str):
    # They earn credit by similarity alone, which counts by its square root.
    assert metric.compute(**columns_of_one(predictions=response))["imapscore"] ** 2 < 0.1


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"predictions": 5}, "predictions.*5"),
        ({"predictions": pd.NA}, "predictions.*<NA>"),
        ({"references": 0.5}, "references.*0.5"),
        ({"references": ["Rest.", 5]}, "references.*5"),
        ({"questions": ["How?"]}, r"questions.*\['How\?'\]"),
        ({"predictions": "half \ud83d"}, "predictions"),
    ],
)
def test_what_is_no_text_is_refused_and_not_made_one(metric: Any, other: dict[str, Any], message: str):
    plain = columns_of_one()
    with pytest.raises(UsageError, match=message):
        metric.compute(**{name: plain[name] + values for name, values in columns_of_one(**other).items()})
    assert metric.compute(**plain)["scored"] == {"imapscore": 1}


def test_nothing_has_no_mean(metric: Any):
    found = metric.compute(predictions=[], references=[], questions=[])
    assert found == {"imapscore": None, "scores": {"imapscore": []}, "scored": {"imapscore": 0}, "not_scored": []}


def test_columns_have_to_be_whole(metric: Any):
    with pytest.raises(ValueError, match="inputs are missing: \\['questions'\\]"):
        metric.compute(predictions=["Rest."], references=["Rest."])
    with pytest.raises(ValueError, match="Mismatch in the number"):
        metric.compute(**{**COLUMNS, "predictions": ["Rest."]})


def test_a_server_that_is_down_gives_no_number(make: Any, down: Any):
    metric = make(llm=down)
    for _ in range(2):
        with pytest.raises(ServiceError, match="the key is refused"):
            metric.compute(**COLUMNS)
    del metric
    gc.collect()
    assert make().compute(**COLUMNS)["scored"] == {"imapscore": 3}


def test_options_go_to_the_scorer(make: Any):
    with pytest.raises(UsageError, match="'imapscor'"):
        make(metrics="imapscor")
    with pytest.raises(UsageError, match="'modell'"):
        make(modell="x")
    with Scorer("rouge1") as scorer:
        assert list(make(scorer=scorer).compute(**COLUMNS)["scored"]) == ["rouge1"]
        with pytest.raises(UsageError, match="'votes'"):
            make(scorer=scorer, votes=3)
        with pytest.raises(UsageError, match="'metrics'"):
            make(scorer=scorer).compute(**COLUMNS, metrics="chrf")


def test_the_repository_s_folder_of_that_name_is_not_what_is_imported():
    assert "site-packages" in str(datasets.__file__)


def test_the_page_prints_what_it_says(check_page: Any) -> None:
    check_page("hf_evaluate")


@pytest.mark.parametrize(
    ("threshold", "word"), [(0.2, "pass"), (0.4, "too close to call"), (0.6, "too close to call"), (0.9, "fail")]
)
def test_a_threshold_gives_a_verdict_for_each_answer(repeated: Any, threshold: float, word: str):
    found: Any = HfImapScore(metrics=[repeated], threshold=threshold).compute(**COLUMNS)
    assert found["verdicts"] == [word] * 4


def test_verdicts_of_what_is_not_scored():
    assert "verdicts" not in HfImapScore().compute(**COLUMNS)
    assert HfImapScore(threshold=0.3).compute(**COLUMNS)["verdicts"] == ["pass", "fail", "pass", None]
