"""`MlflowImapScore` in MLflow's own evaluation, with a store on disk."""

from __future__ import annotations

import json
import math
import os
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

# MLflow reads it when it is imported.
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed here: python3 .ci/frameworks.py mlflow")

from imapeval import Scorer  # noqa: E402
from imapeval.integrations.mlflow import MlflowImapScore  # noqa: E402
from tests.integrations.answers import ROWS  # noqa: E402

if TYPE_CHECKING:
    from imapeval.llm.providers.scripted import ScriptedModel
    from tests.integrations.conftest import CheckPage

ASKED, SAID = "What treats flu?", "Rest and fluids."


@pytest.fixture(scope="module", autouse=True)
def _store(tmp_path_factory: pytest.TempPathFactory) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path_factory.mktemp('store')}/mlflow.db")


def row(answer: dict[str, Any]) -> dict[str, Any]:
    return {
        "inputs": {"question": answer["question"]},
        "outputs": answer["response"],
        "expectations": {"expected_response": answer["reference"]},
        "tags": {"id": answer["id"]},
    }


def evaluate(data: Any, *scorers: Any, **more: Any) -> tuple[Any, dict[str, dict[str, Any]]]:
    """Return the result, and its rows by id."""
    result = mlflow.genai.evaluate(data=data, scorers=list(scorers), **more)
    return result, {line["tags"].get("id", ""): line for line in result.result_df.to_dict("records")}


def run(scorer: MlflowImapScore, **fields: Any) -> Any:
    given = {"inputs": {"question": ASKED}, "outputs": SAID, "expectations": {"expected_response": SAID}, **fields}
    return scorer.run(**given)


@pytest.fixture(scope="module")
def evaluated() -> tuple[Any, dict[str, dict[str, Any]]]:
    data = [row(answer) for answer in ROWS]
    data += [
        {**row(ROWS[0]), "outputs": None, "tags": {"id": "no response"}},
        {**row(ROWS[0]), "expectations": None, "tags": {"id": "no reference"}},
        {**row(ROWS[0]), "outputs": "", "tags": {"id": "empty"}},
    ]
    return evaluate(
        data,
        MlflowImapScore(pass_if=lambda value: value > 0.2),
        MlflowImapScore(name="strict", aggregations=["min", "mean"]),
        MlflowImapScore(metrics="rouge1,bleu+imap:pairs"),
    )


def test_the_numbers_are_those_of_imapeval_score(
    evaluated: tuple[Any, dict[str, dict[str, Any]]], expected: dict[str, float | None]
) -> None:
    result, rows = evaluated
    scored = {id_: value for id_, value in expected.items() if value is not None}
    assert {id_: rows[id_]["imapscore/value"] for id_ in scored} == pytest.approx(scored)
    assert len(scored) == 3
    # An empty response says nothing; what is not scored is in no mean.
    assert rows["empty"]["imapscore/value"] == 0
    assert result.metrics["imapscore/mean"] == pytest.approx(fmean([*scored.values(), 0]))
    assert result.metrics["strict/mean"] == pytest.approx(result.metrics["imapscore/mean"])
    assert result.metrics["strict/min"] == 0
    assert f"imapscore {scored['abscess']:.3f} (recall" in rows["abscess"]["imapscore/rationale"]


def test_what_is_not_scored_is_an_error_and_no_number(
    evaluated: tuple[Any, dict[str, dict[str, Any]]], expected: dict[str, float | None]
) -> None:
    result, rows = evaluated
    for id_, reason in {
        "nothing-asked": "the question has no words",
        "no response": "there is no response",
        "no reference": "the sample has no reference",
    }.items():
        assert math.isnan(rows[id_]["imapscore/value"])
        assert rows[id_]["imapscore/error_message"].startswith(reason)
        assert rows[id_]["imapscore/rationale"].startswith(f"not scored: {reason}")
    assert not result.passed
    # `pass_if` says what passes; what is not scored does not.
    assert "imapscore: the question has no words" in result.reason
    assert f"imapscore: imapscore {expected['abscess']:.3f}" not in result.reason
    assert f"imapscore: imapscore {expected['uti']:.3f}" in result.reason


def test_metrics_stand_beside_each_other_under_names_that_mlflow_takes(
    evaluated: tuple[Any, dict[str, dict[str, Any]]],
) -> None:
    result, rows = evaluated
    assert set(result.metrics) == {"imapscore/mean", "strict/mean", "strict/min", "rouge1/mean", "bleu_imap_pairs/mean"}
    with Scorer("rouge1,bleu+imap:pairs") as scorer:
        (given,) = (answer for answer in ROWS if answer["id"] == "胃炎")
        known = scorer.score(**{name: given[name] for name in ("question", "response", "reference")})
    assert rows["胃炎"]["rouge1/value"] == known.value
    assert rows["胃炎"]["bleu_imap_pairs/value"] == known.outcomes["bleu+imap:pairs"].value
    # One that reads no facts has a score where the other has none.
    assert rows["nothing-asked"]["rouge1/value"] >= 0
    assert math.isnan(rows["nothing-asked"]["bleu_imap_pairs/value"])


def test_the_store_keeps_the_facts(evaluated: tuple[Any, dict[str, dict[str, Any]]]) -> None:
    _, rows = evaluated
    trace = mlflow.get_trace(rows["abscess"]["trace_id"])
    kept = {item.name: item for item in trace.info.assessments}
    assert kept["imapscore"].metadata["table"].startswith("| term | reference |")
    assert kept["imapscore"].metadata["signature"].startswith("imapscore|")
    assert kept["imapscore"].source.source_id == "imapeval:imapscore"
    assert 0 < json.loads(kept["imapscore"].metadata["parts"])["recall"] < 1
    assert kept["bleu_imap_pairs"].metadata["metric"] == "bleu+imap:pairs"
    failed = {item.name: item for item in mlflow.get_trace(rows["nothing-asked"]["trace_id"]).info.assessments}
    assert failed["imapscore"].error_code == "extraction/no-query"
    assert failed["imapscore"].value is None


def test_traces_are_scored_as_rows_are(
    evaluated: tuple[Any, dict[str, dict[str, Any]]], expected: dict[str, float | None]
) -> None:
    _, rows = evaluated
    wanted = [rows[id_]["trace_id"] for id_ in ("abscess", "nothing-asked")]
    result, _ = evaluate([mlflow.get_trace(id_) for id_ in wanted], MlflowImapScore())
    assert result.metrics == {"imapscore/mean": pytest.approx(expected["abscess"])}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_predictions(expected: dict[str, float | None], *, asynchronous: bool) -> None:
    said = {answer["question"]: answer["response"] for answer in ROWS}

    def answer(messages: list[dict[str, str]]) -> dict[str, Any]:
        question = messages[-1]["content"]
        if "antibiotic" in question:
            raise RuntimeError("the model is tired")
        return {"choices": [{"message": {"role": "assistant", "content": said[question]}}]}

    async def answer_later(messages: list[dict[str, str]]) -> dict[str, Any]:
        return answer(messages)

    data = [{**row(given), "inputs": {"messages": [{"role": "user", "content": given["question"]}]}} for given in ROWS]
    for line in data:
        del line["outputs"]
    result, rows = evaluate(data, MlflowImapScore(), predict_fn=answer_later if asynchronous else answer)
    assert rows["abscess"]["imapscore/value"] == pytest.approx(expected["abscess"])
    assert rows["uti"]["imapscore/error_message"].startswith("there is no response")
    known = [expected["abscess"], expected["胃炎"]]
    assert result.metrics == {"imapscore/mean": pytest.approx(fmean(value for value in known if value is not None))}


def test_a_server_that_is_down_is_nobodys_score(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    down = MlflowImapScore(llm="openai:none", base_url="http://127.0.0.1:9/v1")
    result, rows = evaluate([row(answer) for answer in ROWS[:2]], down)
    assert result.metrics == {}
    for line in rows.values():
        assert "cannot be reached" in line["imapscore/error_message"]
        assert math.isnan(line.get("imapscore/value", math.nan))


def test_with_a_language_model(reader: ScriptedModel) -> None:
    answer = {"response": SAID, "reference": SAID}
    data = [row({**answer, "id": asked, "question": asked}) for asked in (ASKED, "What nobody knows?")]
    with Scorer(llm=reader) as scorer:
        result, rows = evaluate(data, MlflowImapScore(scorer=scorer))
    kept = mlflow.get_trace(rows[ASKED]["trace_id"]).info.assessments
    (imapscore,) = (item for item in kept if item.name == "imapscore")
    assert imapscore.value == result.metrics["imapscore/mean"] == 1
    assert imapscore.metadata["tokens"] == "330"
    assert rows["What nobody knows?"]["imapscore/error_message"] == "it said nothing"
    assert "(llm/empty)" in rows["What nobody knows?"]["imapscore/rationale"]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"outputs": "aspirin " * 1_300_000}, "sample/too-long"),
        ({"outputs": None}, "sample/no-response"),
        ({"outputs": {"error": "timeout"}}, "sample/bad-input"),
        ({"expectations": None}, "metric/no-reference"),
        ({"expectations": {"guidelines": ["Be brief."]}}, "metric/no-reference"),
        ({"expectations": {"expected_response": ""}}, "metric/no-reference"),
        ({"inputs": {"topic": "flu"}}, "sample/bad-input"),
        ({"inputs": {"question": "🤒🤒"}}, "extraction/no-query"),
    ],
)
def test_what_cannot_be_scored(fields: dict[str, Any], kind: str) -> None:
    (feedback,) = run(MlflowImapScore(), **fields)
    assert feedback.value is None
    assert feedback.error_code.endswith(kind.partition("/")[2])


@pytest.mark.parametrize("text", ["🤒" * 50, "<script>alert(1)</script><b>Rest</b> | and | fluids", "\x00\u202eRest"])
def test_strange_texts_are_read(text: str) -> None:
    (feedback,) = run(MlflowImapScore(), outputs=text)
    assert (feedback.value is None) == (feedback.error is not None)
    assert feedback.to_proto().rationale


def test_keys_of_ones_own() -> None:
    scorer = MlflowImapScore(question_key="q", response_key="a", reference_key="gold")
    (feedback,) = run(scorer, inputs={"q": ASKED}, outputs={"a": SAID}, expectations={"gold": SAID, "answer": "no"})
    assert feedback.value == 1
    (feedback,) = run(MlflowImapScore(references="best"), expectations={"expected_response": ["Sleep.", SAID]})
    assert feedback.value == 1


def test_mlflow_tells_other_settings_apart() -> None:
    from mlflow.genai.scorers.scorer_utils import get_scorer_definition_digest

    digest = get_scorer_definition_digest
    assert digest(MlflowImapScore()) == digest(MlflowImapScore())
    assert digest(MlflowImapScore()) != digest(MlflowImapScore(encoder="st:other"))
    assert digest(MlflowImapScore()) != digest(MlflowImapScore(reference_key="gold"))


def test_registered_by_a_function_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow.exceptions import MlflowException
    from mlflow.genai.scorers import get_scorer, scorer

    with pytest.raises(MlflowException, match="must be a builtin or decorator scorer"):
        MlflowImapScore().register()

    @scorer
    def imapscore(inputs, outputs, expectations):
        from imapeval.integrations.mlflow import MlflowImapScore

        return MlflowImapScore()(inputs=inputs, outputs=outputs, expectations=expectations)

    monkeypatch.setenv("MLFLOW_SERVER_ENABLE_CUSTOM_SCORERS", "true")
    imapscore.register()
    (feedback,) = run(get_scorer(name="imapscore"))
    assert feedback.value == 1


def test_the_page(check_page: CheckPage) -> None:
    check_page("mlflow", mean="mean ")


@pytest.mark.parametrize(
    ("threshold", "word"), [(0.2, "pass"), (0.4, "too close to call"), (0.6, "too close to call"), (0.9, "fail")]
)
def test_a_threshold_adds_a_feedback_with_the_verdict(repeated: Any, threshold: float, word: str) -> None:
    score, verdict = run(MlflowImapScore(metrics=[repeated], threshold=threshold))
    assert (score.name, score.value, score.metadata["verdict"]) == ("repeated", 0.5, word)
    assert word in score.rationale.lower()
    assert (verdict.name, verdict.value) == ("repeated_verdict", word)
    assert verdict.source == score.source


def test_verdicts_in_an_evaluation() -> None:
    result, rows = evaluate([row(answer) for answer in ROWS], MlflowImapScore(threshold=0.3))
    found = {key: line.get("imapscore_verdict/value") for key, line in rows.items()}
    # One reading each, so that nothing is known of its spread; 0.689, 0.116 and 0.659 on the page.
    assert found["abscess"] == found["胃炎"] == "pass"
    assert found["uti"] == "fail"
    assert not isinstance(found["nothing-asked"], str)
    assert "imapscore/mean" in result.metrics
