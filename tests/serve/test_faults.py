"""What goes wrong inside: a status, a line in the log without what was sent, and no harm to the others."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from imapeval import Scorer
from imapeval.errors import UsageError
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.serve.app import load

if TYPE_CHECKING:
    from imapeval.serve.app import LoadedScorer
    from tests.serve.conftest import Serve

GOOD = {"response": "Rest.", "question": "How is flu treated?", "reference": "Rest at home."}


def read_log(caplog: pytest.LogCaptureFixture, said: str, *, times: int = 1) -> str:
    """Return what was logged once it says so: that is after the reply was sent."""
    begun = time.monotonic()
    while caplog.text.count(said) < times:
        assert time.monotonic() - begun < 10
        time.sleep(0.02)
    return caplog.text


def test_a_bug_shows_no_trace(serve: Serve, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    with Scorer(llm=ScriptedModel([])) as scorer:
        server = serve(load(scorer, llm="x"))

        async def fail(*_: Any, **__: Any) -> None:
            raise KeyError("patient Smith")

        monkeypatch.setattr(scorer, "ascore", fail)
        reply = server.post("/score", GOOD)
        # A second one: it lives.
        assert server.post("/score", GOOD).error == reply.error == (500, "internal")
        logged = read_log(caplog, "KeyError at ", times=2)
    assert "test_faults.py:" in logged
    for said in (reply.body.decode(), logged):
        assert "Smith" not in said
        assert "Traceback" not in said


def test_an_answer_that_breaks_something_does_not_break_those_beside_it(
    serve: Serve, loaded: LoadedScorer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    server = serve()
    score = loaded.scorer.ascore_all

    async def fail(rows: Any) -> Any:
        if any(row["id"] == "bad" for row in rows):
            raise KeyError("patient Smith")
        return await score(rows)

    monkeypatch.setattr(loaded.scorer, "ascore_all", fail)
    with ThreadPoolExecutor(20) as pool:
        ids = ["bad" if number == 10 else str(number) for number in range(20)]
        told = [reply.status for reply in pool.map(lambda id_: server.post("/score", {**GOOD, "id": id_}), ids)]
    assert told == [500 if id_ == "bad" else 200 for id_ in ids]
    read_log(caplog, "KeyError at ")


def test_an_error_that_is_nobodys_is_logged(
    serve: Serve, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    with Scorer(llm=ScriptedModel([])) as scorer:
        server = serve(load(scorer, llm="x"))

        async def fail(**_: Any) -> None:
            raise UsageError("a model is not there")

        monkeypatch.setattr(scorer, "ascore", fail)
        assert server.post("/score", GOOD).error == (500, "internal")
        assert "not there" not in read_log(caplog, "UsageError at ")


def test_opentelemetry_gets_no_texts(
    serve: Serve, loaded: LoadedScorer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    logs = pytest.importorskip("opentelemetry._logs", reason="this fastapi knows no OpenTelemetry")
    sent: list[Any] = []

    class Provider(logs.LoggerProvider):
        def get_logger(self, *_: Any, **__: Any) -> Any:
            return self

        def emit(self, *given: Any, **named: Any) -> None:
            sent.append((given, named))

    async def fail(*_: Any, **__: Any) -> None:
        raise KeyError("patient Smith")

    for module in ("opentelemetry._logs", "opentelemetry._logs._internal"):
        monkeypatch.setattr(f"{module}.get_logger_provider", Provider)
    monkeypatch.setattr(loaded.scorer, "ascore_all", fail)
    assert serve().post("/score", GOOD).status == 500
    read_log(caplog, "KeyError at ")
    assert not sent
