"""imapScore in Langfuse's experiments, with its real client, and a receiver on loopback in place of its server."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

# Nothing is to be sent but by the clients made here.
os.environ["LANGFUSE_BASE_URL"] = "http://127.0.0.1:9"
langfuse = pytest.importorskip("langfuse", reason="langfuse is not installed here: python3 .ci/frameworks.py langfuse")

from imapeval import Scorer  # noqa: E402
from imapeval.errors import ServiceError  # noqa: E402
from imapeval.integrations.langfuse import (  # noqa: E402
    NOT_SCORED,
    create_async_imapscore_evaluator,
    create_imapscore_evaluator,
)
from tests.integrations.answers import ROWS  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from imapeval.llm.providers.scripted import ScriptedModel
    from tests.integrations.conftest import CheckPage

ASKED, SAID = "What treats flu?", "Rest and fluids."
CREATORS = [create_imapscore_evaluator, create_async_imapscore_evaluator]
DATA = [
    {"input": answer["question"], "expected_output": answer["reference"], "metadata": {"id": answer["id"]}}
    for answer in ROWS
]


def respond(*, item: Any, **_: Any) -> str:
    return next(answer["response"] for answer in ROWS if answer["question"] == item["input"])


@pytest.fixture(scope="module")
def offline() -> Any:
    return langfuse.Langfuse(public_key="offline", secret_key="none", tracing_enabled=False)


def ask(evaluator: Any, **fields: Any) -> list[Any]:
    found = evaluator(**{"input": ASKED, "output": SAID, "expected_output": SAID, "metadata": None, **fields})
    return asyncio.run(found) if asyncio.iscoroutine(found) else found


class Receiver(ThreadingHTTPServer):
    """Takes what the client sends, and keeps it."""

    def __init__(self) -> None:
        self.got: list[tuple[str, bytes]] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def scores(self) -> list[dict[str, Any]]:
        return [score for path, body in self.got if path.endswith("/scores") for score in json.loads(body)]


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_GET(self) -> None:
        self._answer({"data": [{"id": "p1", "name": "p", "organization": {"id": "o1", "name": "o"}, "metadata": {}}]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append((self.path, body))
        self._answer({})

    def _answer(self, told: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(told).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as opened:
        threading.Thread(target=opened.serve_forever, daemon=True).start()
        yield opened
        opened.shutdown()


@pytest.mark.parametrize("create", CREATORS)
def test_the_numbers_are_those_of_imapeval_score(create: Any, offline: Any, expected: dict[str, float | None]) -> None:
    result = offline.run_experiment(name="e", data=DATA, task=respond, evaluators=[create()])
    found = {item.item["metadata"]["id"]: item.evaluations[0] for item in result.item_results}
    scored = {id_: value for id_, value in expected.items() if value is not None}
    assert {id_: found[id_].value for id_ in scored} == pytest.approx(scored)
    assert found["nothing-asked"].value == NOT_SCORED
    assert found["nothing-asked"].comment.startswith("not scored: the question has no words")
    assert found["nothing-asked"].metadata["failure"] == "extraction/no-query"
    assert found["胃炎"].metadata["table"].startswith("| term | reference |")
    told = result.format(include_item_results=True)
    assert f"• imapscore: {fmean(scored.values()):.3f}" in told.partition("Average Scores:")[2]
    assert "• imapscore: not scored" in told


def test_what_langfuse_is_sent(receiver: Receiver, expected: dict[str, float | None]) -> None:
    client = langfuse.Langfuse(
        public_key="sent", secret_key="none", base_url=f"http://127.0.0.1:{receiver.server_port}"
    )

    def mean(*, item_results: list[Any], **_: Any) -> Any:
        values = [
            evaluation.value
            for item in item_results
            for evaluation in item.evaluations
            if evaluation.name == "imapscore" and isinstance(evaluation.value, float)
        ]
        return langfuse.Evaluation(name="mean", value=fmean(values))

    try:
        result = client.run_experiment(
            name="e",
            data=DATA,
            task=respond,
            evaluators=[create_async_imapscore_evaluator(metrics="imapscore,rouge1")],
            run_evaluators=[mean],
        )
        assert [item.name for item in result.run_evaluations] == ["mean"]
        client.flush()
    finally:
        client.shutdown()
    assert any(path == "/api/public/otel/v1/traces" for path, _ in receiver.got)
    found = [score for score in receiver.scores if score["name"] == "imapscore"]
    scored = sorted(value for value in expected.values() if value is not None)
    assert sorted(score["value"] for score in found if score["dataType"] == "NUMERIC") == pytest.approx(scored)
    (other,) = (score for score in found if score["dataType"] == "CATEGORICAL")
    assert (other["name"], other["value"]) == ("imapscore", NOT_SCORED)
    assert other["comment"].startswith("not scored: ")
    assert other["metadata"]["signature"].startswith("imapscore|")
    assert len([score for score in receiver.scores if score["name"] == "rouge1"]) == len(ROWS)
    (whole,) = (score for score in receiver.scores if score["name"] == "mean")
    assert whole["value"] == pytest.approx(fmean(scored))


def test_many_at_once_in_a_loop_that_is_running(offline: Any) -> None:
    async def work() -> Any:
        # As in a notebook.
        return offline.run_experiment(
            name="e", data=DATA * 15, task=respond, evaluators=[create_async_imapscore_evaluator()], max_concurrency=50
        )

    found = [item.evaluations[0].value for item in asyncio.run(work()).item_results]
    assert len(found) == 60
    assert found == found[:4] * 15


def test_a_task_that_gives_nothing(offline: Any) -> None:
    async def nothing(*, item: Any, **_: Any) -> None:
        return None

    data = [*DATA[:1], {"input": ASKED}]
    result = offline.run_experiment(name="e", data=data, task=nothing, evaluators=[create_imapscore_evaluator()])
    for item in result.item_results:
        assert item.evaluations[0].value == NOT_SCORED
        assert "there is no response" in item.evaluations[0].comment
    assert "imapscore:" not in result.format().partition("Average Scores:")[2]


@pytest.mark.parametrize("create", CREATORS)
def test_a_server_that_is_down_is_nobodys_score(create: Any, offline: Any, down: Any) -> None:
    with Scorer(llm=down) as scorer:
        evaluator = create(scorer=scorer)
        with pytest.raises(ServiceError, match="the key is refused"):
            ask(evaluator)
        result = offline.run_experiment(name="e", data=DATA[:2], task=respond, evaluators=[evaluator])
    # Langfuse logs it; there is neither a number nor another score.
    assert [item.evaluations for item in result.item_results] == [[], []]


def test_with_a_language_model(reader: ScriptedModel) -> None:
    with Scorer(llm=reader) as scorer:
        evaluator = create_imapscore_evaluator(scorer=scorer)
        (scored,), (failed,) = ask(evaluator), ask(evaluator, input="What nobody knows?")
    assert scored.value == 1
    assert scored.metadata["tokens"] % 110 == 0 < scored.metadata["tokens"]
    assert (failed.value, failed.metadata["failure"]) == (NOT_SCORED, "llm/empty")


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"output": None}, "no-response"),
        ({"output": {"error": "timeout"}}, "bad-input"),
        ({"expected_output": {"gold": SAID}}, "bad-input"),
        ({"input": {"topic": "flu"}}, "bad-input"),
    ],
)
def test_what_cannot_be_scored(fields: dict[str, Any], kind: str) -> None:
    (found,) = ask(create_imapscore_evaluator(), **fields)
    assert (found.value, found.data_type) == (NOT_SCORED, "CATEGORICAL")
    assert found.metadata["failure"].endswith(f"/{kind}")


def test_keys_and_names_of_ones_own() -> None:
    evaluator = create_imapscore_evaluator(
        name="mine", question_key="q", response_key="a", reference_key="gold", references="best"
    )
    (found,) = ask(evaluator, input={"q": ASKED}, output={"a": SAID}, expected_output={"gold": ["Sleep.", SAID]})
    assert (found.name, found.value) == ("mine", 1)
    messages = [{"role": "user", "content": ASKED}]
    (found,) = ask(create_imapscore_evaluator(), input={"messages": messages}, expected_output={"answer": SAID})
    assert found.value == 1


def test_the_page(check_page: CheckPage) -> None:
    check_page("langfuse", mean="mean ")


@pytest.mark.parametrize(
    ("threshold", "word"), [(0.2, "pass"), (0.4, "too close to call"), (0.6, "too close to call"), (0.9, "fail")]
)
@pytest.mark.parametrize("create", CREATORS)
def test_a_threshold_adds_a_categorical_evaluation(create: Any, repeated: Any, threshold: float, word: str) -> None:
    score, verdict = ask(create(metrics=[repeated], threshold=threshold))
    assert (score.name, score.value, score.metadata["verdict"]) == ("repeated", 0.5, word)
    assert word in score.comment.lower()
    assert (verdict.name, verdict.value, verdict.data_type) == ("repeated_verdict", word, "CATEGORICAL")
    assert verdict.metadata["repetitions"] == 3


def test_what_is_not_scored_has_no_verdict() -> None:
    (only,) = ask(create_imapscore_evaluator(threshold=0.3), output=None)
    assert only.value == NOT_SCORED
    assert "verdict" not in only.metadata
