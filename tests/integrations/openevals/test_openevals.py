"""imapScore in openevals' runner, in LangSmith's evaluation and in its tests, with nothing but loopback."""

from __future__ import annotations

import asyncio
import os
import threading
import uuid
from contextlib import nullcontext
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

for _name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGSMITH_TEST_TRACKING"):
    os.environ[_name] = "false"
os.environ["LANGSMITH_ENDPOINT"] = "http://127.0.0.1:9"
pytest.importorskip("openevals", reason="openevals is not installed here: python3 .ci/frameworks.py openevals")

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage  # noqa: E402
from langsmith import Client, aevaluate, evaluate, schemas  # noqa: E402
from openevals.types import EvaluatorResult  # noqa: E402

from imapeval import Scorer  # noqa: E402
from imapeval.errors import ServiceError  # noqa: E402
from imapeval.integrations.openevals import (  # noqa: E402
    create_async_imapscore_evaluator,
    create_imapscore_evaluator,
)
from tests.integrations.answers import ROWS  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from imapeval.llm.providers.scripted import ScriptedModel
    from tests.integrations.conftest import CheckPage

SAID = {answer["question"]: answer["response"] for answer in ROWS}
ASKED = "What treats flu?"
CREATORS = [create_imapscore_evaluator, create_async_imapscore_evaluator]

pytestmark = pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")


def ask(evaluator: Any, **fields: Any) -> Any:
    given = {"inputs": ASKED, "outputs": "Rest and fluids.", "reference_outputs": "Rest and fluids.", **fields}
    found = evaluator(**given)
    return asyncio.run(found) if asyncio.iscoroutine(found) else found


class Receiver(BaseHTTPRequestHandler):
    """Takes the traces that LangSmith's asynchronous evaluation sends whatever it is told."""

    got: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        self.got.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    do_PATCH = do_POST  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Client(api_url=f"http://127.0.0.1:{server.server_port}", api_key="none", auto_batch_tracing=False)
        server.shutdown()


@pytest.fixture(scope="module")
def examples() -> list[Any]:
    dataset = uuid.uuid4()
    return [
        schemas.Example(
            id=uuid.uuid4(),
            dataset_id=dataset,
            inputs={"question": answer["question"]},
            outputs={"answer": answer["reference"]},
            metadata={"id": answer["id"]},
            created_at=datetime.now(UTC),
        )
        for answer in ROWS
    ]


def respond(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"answer": SAID[inputs["question"]]}


def by_id(rows: list[Any]) -> dict[str, dict[str, Any]]:
    """Return LangSmith's results by id of the answer, then by key."""
    return {
        row["example"].metadata["id"]: {found.key: found for found in row["evaluation_results"]["results"]}
        for row in rows
    }


@pytest.mark.parametrize("create", CREATORS)
def test_the_numbers_are_those_of_imapeval_score(create: Any, expected: dict[str, float | None]) -> None:
    evaluator = create()
    for answer in ROWS:
        found = ask(
            evaluator,
            inputs=answer["question"],
            outputs=answer["response"],
            reference_outputs=answer["reference"],
        )
        assert set(found) == set(EvaluatorResult.__annotations__) - {"source_run_id"}
        assert (found["key"], found["score"]) == ("imapscore", pytest.approx(expected[answer["id"]]))
        assert found["metadata"]["signature"].startswith("imapscore|")
        if found["score"] is None:
            assert found["comment"].startswith("not scored: the question has no words")
            assert found["metadata"]["failure"] == "extraction/no-query"
        else:
            assert found["metadata"]["table"].startswith("| term | reference |")


def test_in_langsmiths_evaluation(client: Client, examples: list[Any], expected: dict[str, float | None]) -> None:
    evaluators = [create_imapscore_evaluator(), create_imapscore_evaluator(metrics="rouge1,bleu+imap:pairs")]
    sent = len(Receiver.got)
    rows = by_id(list(evaluate(respond, data=examples, evaluators=evaluators, upload_results=False, client=client)))
    assert {id_: found["imapscore"].score for id_, found in rows.items()} == pytest.approx(expected)
    assert rows["nothing-asked"]["imapscore"].comment.startswith("not scored: ")
    assert set(rows["胃炎"]) == {"imapscore", "rouge1", "bleu+imap:pairs"}
    assert rows["nothing-asked"]["bleu+imap:pairs"].score is None
    assert rows["nothing-asked"]["rouge1"].score is not None
    assert len(Receiver.got) == sent, "the page says that nothing is sent"
    # What has no score is in no mean.
    known = [found["imapscore"].score for found in rows.values() if found["imapscore"].score is not None]
    assert fmean(known) == pytest.approx(fmean(value for value in expected.values() if value is not None))


def test_in_langsmiths_asynchronous_evaluation(
    client: Client, examples: list[Any], expected: dict[str, float | None]
) -> None:
    async def respond_later(inputs: dict[str, Any]) -> dict[str, Any]:
        return respond(inputs)

    async def work() -> list[Any]:
        results = await aevaluate(
            respond_later,
            data=examples,
            evaluators=[create_async_imapscore_evaluator()],
            upload_results=False,
            client=client,
            max_concurrency=8,
        )
        return [row async for row in results]

    rows = by_id(asyncio.run(work()))
    assert {id_: found["imapscore"].score for id_, found in rows.items()} == pytest.approx(expected)


def test_a_target_that_fails_is_not_scored(client: Client, examples: list[Any]) -> None:
    def fail(inputs: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError("the model is tired")

    evaluators = [create_imapscore_evaluator()]
    rows = by_id(list(evaluate(fail, data=examples[:1], evaluators=evaluators, upload_results=False, client=client)))
    assert rows["abscess"]["imapscore"].score is None
    assert "there is no response" in rows["abscess"]["imapscore"].comment


def test_in_a_test_of_langsmith(monkeypatch: pytest.MonkeyPatch) -> None:
    """What openevals logs of each result while a test is tracked."""
    from langsmith.testing import _internal as testing

    logged: list[dict[str, Any]] = []
    monkeypatch.setattr("openevals.utils.t.log_feedback", lambda **fields: logged.append(fields))
    token = testing._TEST_CASE.set(object())
    monkeypatch.setattr("openevals.utils.t.trace_feedback", lambda **_: nullcontext())
    try:
        ask(create_imapscore_evaluator(), inputs="?!")
        ask(create_async_imapscore_evaluator(metrics="rouge1,rouge2"))
    finally:
        testing._TEST_CASE.reset(token)
    assert [(item["key"], item["score"]) for item in logged] == [("imapscore", None), ("rouge1", 1), ("rouge2", 1)]
    assert logged[0]["comment"].startswith("not scored: ")


@pytest.mark.parametrize("create", CREATORS)
def test_a_server_that_is_down_is_nobodys_score(create: Any, client: Client, examples: list[Any], down: Any) -> None:
    with Scorer(llm=down) as scorer:
        evaluator = create(scorer=scorer)
        with pytest.raises(ServiceError, match="the key is refused"):
            ask(evaluator)
        results = evaluate(respond, data=examples[:1], evaluators=[evaluator], upload_results=False, client=client)
        rows = by_id(list(results))
    assert rows["abscess"]["imapscore"].score is None
    assert "the key is refused" in rows["abscess"]["imapscore"].comment


def test_with_a_language_model(reader: ScriptedModel) -> None:
    with Scorer(llm=reader) as scorer:
        evaluator = create_imapscore_evaluator(scorer=scorer)
        scored, failed = ask(evaluator), ask(evaluator, inputs="What nobody knows?")
    assert scored["score"] == 1
    assert scored["metadata"]["tokens"] % 110 == 0 < scored["metadata"]["tokens"]
    assert (failed["score"], failed["metadata"]["failure"]) == (None, "llm/empty")


def test_messages_of_langchain() -> None:
    asked = [SystemMessage("Be brief."), HumanMessage(ASKED)]
    found = ask(
        create_imapscore_evaluator(),
        inputs={"messages": asked},
        outputs={"messages": [*asked, AIMessage("Rest and fluids.")]},
        reference_outputs=AIMessage("Rest and fluids."),
    )
    assert found["score"] == 1


@pytest.mark.parametrize("create", CREATORS)
def test_several_metrics_are_a_list(create: Any) -> None:
    found = ask(create(metrics="imapscore,rouge1"))
    assert [(item["key"], item["score"]) for item in found] == [("imapscore", 1), ("rouge1", 1)]
    assert "facts" not in found[1]["comment"]


def test_many_tasks_at_once() -> None:
    async def work() -> list[Any]:
        evaluator = create_async_imapscore_evaluator()
        given = {"inputs": ASKED, "outputs": "Rest.", "reference_outputs": "Rest."}
        return await asyncio.gather(*(evaluator(**given) for _ in range(32)))

    assert [found["score"] for found in asyncio.run(work())] == [1] * 32


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"outputs": {}}, "no-response"),
        ({"outputs": {"error": "timeout"}}, "bad-input"),
        ({"reference_outputs": {}}, "no-reference"),
        ({"reference_outputs": {"gold": "Rest."}}, "bad-input"),
        ({"inputs": {"topic": "flu"}}, "bad-input"),
    ],
)
def test_what_cannot_be_scored(fields: dict[str, Any], kind: str) -> None:
    found = ask(create_imapscore_evaluator(), **fields)
    assert found["score"] is None
    assert found["comment"].startswith("not scored: ")
    assert found["metadata"]["failure"].endswith(f"/{kind}")


def test_keys_and_names_of_ones_own() -> None:
    evaluator = create_imapscore_evaluator(
        feedback_key="mine", question_key="q", response_key="a", reference_key="gold", references="best"
    )
    found = ask(evaluator, inputs={"q": ASKED}, outputs={"a": "Rest."}, reference_outputs={"gold": ["Sleep.", "Rest."]})
    assert (found["key"], found["score"]) == ("mine", 1)


@pytest.mark.parametrize("create", CREATORS)
def test_name_and_feedback_key_are_the_same(create: Any) -> None:
    assert ask(create(metrics="rouge1", name="mine"))["key"] == "mine"
    assert ask(create(metrics="rouge1"))["key"] == "rouge1"


def test_the_page(check_page: CheckPage) -> None:
    check_page("openevals", mean="mean ")


@pytest.mark.parametrize(
    ("threshold", "word"), [(0.2, "pass"), (0.4, "too close to call"), (0.6, "too close to call"), (0.9, "fail")]
)
@pytest.mark.parametrize("create", CREATORS)
def test_a_threshold_gives_a_verdict(create: Any, repeated: Any, threshold: float, word: str) -> None:
    found = ask(create(metrics=[repeated], threshold=threshold))
    # A result is a number or a truth value; the verdict is neither.
    assert found["score"] == 0.5
    assert found["metadata"]["verdict"] == word
    assert word in found["comment"].lower()


def test_of_several_metrics_the_first_has_the_verdict(repeated: Any) -> None:
    first, second = ask(create_imapscore_evaluator(metrics=[repeated, "rouge1"], threshold=0.4))
    assert first["metadata"]["verdict"] == "too close to call"
    assert "verdict" not in second["metadata"]
