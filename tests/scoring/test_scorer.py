"""`Scorer`: from code, from notebooks, from threads, after a fork; the same numbers as the command line."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from imapeval import Assessment, Failure, Scorer
from imapeval.cli.main import app
from imapeval.errors import ServiceError, UsageError
from imapeval.evaluation.samples import read
from imapeval.llm.prices import Price
from imapeval.llm.protocol import Completion, Request, Usage
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.metrics.base import Case, Metric
from imapeval.scoring.background_loop import BackgroundLoop
from imapeval.types import Imap, Match, Relation, Sample, Score, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ABSCESS = {
    "question": "What is the treatment of an abscess?",
    "reference": "Surgical drainage and antibiotics. Avoid alcohol.",
    "response": "Drain it. Take amoxicillin and rest well.",
}


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    with Scorer("imapscore,rouge1") as opened:
        yield opened


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, make_cache: Callable[[Path], str]) -> None:
    monkeypatch.setenv("IMAPEVAL_CACHE", make_cache(tmp_path / "cache"))


def by_id(folder: Path) -> dict[tuple[str, str], float | None]:
    lines = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {(line["id"], line["metric"]): line["score"] for line in map(json.loads, lines)}


def run_cli(*arguments: str) -> None:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output


def test_one_answer(scorer: Scorer):
    found = scorer.score(**ABSCESS, id="a")
    assert found.id == "a"
    assert found.metric == "imapscore"
    assert found.failure is None
    assert found.value == pytest.approx((found.parts["recall"] + found.parts["precision"]) / 2)
    assert set(found.outcomes) == {"imapscore", "rouge1"}
    assert [(row.reference, row.response, row.kind) for row in found.rows][1] == (
        "antibiotics",
        "Take amoxicillin",
        "containment",
    )
    assert found.spent is None


@pytest.mark.slow
def test_the_numbers_are_those_of_the_command_line(tmp_path: Path):
    run_cli("score", "sample-zh", "--limit", "6", "--metrics", "imapscore,rouge1", "--out", str(tmp_path / "run"))
    expected = by_id(tmp_path / "run")
    samples = read("sample-zh")[:6]
    with Scorer("imapscore,rouge1") as scorer:
        together = scorer.score_all(samples)
        alone = [
            scorer.score(question=s.question, reference=s.references, response=s.response, id=s.id) for s in samples
        ]
    for found in (together, alone):
        values = {
            (item.id, name): outcome.value
            for item in found
            for name, outcome in item.outcomes.items()
            if isinstance(outcome, Score)
        }
        assert values == expected


def test_nothing_is_paid_for_once_the_run_on_disk_is_gone(tmp_path: Path):
    out = tmp_path / "run"
    sent = []

    class Model:
        identity, concurrency = "stub", 1

        async def complete(self, request: Request) -> Completion:
            sent.append(1)
            if len(sent) == 3:
                shutil.rmtree(out)
            return Completion("3", "stop", "stub", Usage(10, 1))

    with Scorer("judge", llm=Model()) as scorer, pytest.raises(UsageError):
        scorer.score_all([{**ABSCESS, "response": str(number)} for number in range(9)], out=out)
    assert len(sent) == 3


@pytest.mark.slow
def test_a_run_on_disk_is_one_of_the_command_line(tmp_path: Path):
    out = tmp_path / "run"
    samples = read("sample-en")[:3]
    with Scorer("imapscore") as scorer:
        first = scorer.score_all(samples, out=out)
        again = scorer.score_all(samples, out=out)
    assert [item.value for item in first] == [item.value for item in again]
    assert [item.rows for item in first] == [item.rows for item in again] != [[], [], []]
    before = (out / "results.jsonl").read_bytes()
    # The command takes it for its own: the same data and settings, nothing to do.
    run_cli("score", "sample-en", "--limit", "3", "--metrics", "imapscore", "--out", str(out))
    assert (out / "results.jsonl").read_bytes() == before


async def test_from_a_running_loop(scorer: Scorer):
    expected = await scorer.ascore(**ABSCESS)
    # As in a notebook, whose cells run inside a loop.
    assert scorer.score(**ABSCESS).value == expected.value
    many = await asyncio.gather(*(scorer.ascore(**ABSCESS) for _ in range(20)))
    assert {found.value for found in many} == {expected.value}
    assert [found.value for found in await scorer.ascore_all([ABSCESS, ABSCESS])] == [expected.value] * 2


def test_from_many_threads_and_loops(scorer: Scorer):
    expected = scorer.score(**ABSCESS).value

    def work(number: int) -> float | None:
        if number % 2:
            return scorer.score(**ABSCESS).value
        return asyncio.run(scorer.ascore(**ABSCESS)).value

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(24))) == {expected}


def test_closed_and_used_again():
    scorer = Scorer("rouge1")
    first = scorer.score(**ABSCESS).value
    alive = threading.active_count()
    scorer.close()
    scorer.close()
    assert threading.active_count() < alive
    assert scorer.score(**ABSCESS).value == first
    scorer.close()


def test_scorers_that_nobody_holds_end_their_threads():
    before = threading.active_count()
    for _ in range(3):
        Scorer("rouge1").score(**ABSCESS)
    gc.collect()
    for _ in range(100):
        if threading.active_count() <= before:
            break
        time.sleep(0.05)
    assert threading.active_count() <= before


def test_what_is_asked_while_it_is_closed_is_given_up(monkeypatch: pytest.MonkeyPatch):
    background = BackgroundLoop()
    background.run(asyncio.sleep(0))
    closing = threading.Thread(target=background.close)

    def submit(*arguments: Any) -> Any:
        # Between finding the loop and giving it the work.
        closing.start()
        closing.join(0.3)
        return run_coroutine_threadsafe(*arguments)

    run_coroutine_threadsafe = asyncio.run_coroutine_threadsafe
    monkeypatch.setattr("imapeval.scoring.background_loop.asyncio.run_coroutine_threadsafe", submit)
    with pytest.raises(CancelledError):
        background.run(asyncio.sleep(30))
    closing.join()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_after_a_fork():
    script = (
        "import os, sys\n"
        "from imapeval import Scorer\n"
        "scorer = Scorer('imapscore')\n"
        f"before = scorer.score(**{ABSCESS!r}).value\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        f"    os._exit(0 if scorer.score(**{ABSCESS!r}).value == before else 3)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_ctrl_c_gives_up():
    waiting = threading.Event()

    class Slow:
        identity = "slow"
        concurrency = 1

        async def complete(self, request: object) -> Completion:
            waiting.set()
            await asyncio.sleep(60)
            raise AssertionError

    def interrupt() -> None:
        waiting.wait(30)
        os.kill(os.getpid(), signal.SIGINT)

    # Where the tests run in the background of a shell, it ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt).start()
    scorer = Scorer(llm=Slow())
    try:
        with pytest.raises(KeyboardInterrupt):
            scorer.score(**ABSCESS)
    finally:
        signal.signal(signal.SIGINT, before)
    scorer.close()


@pytest.mark.slow
def test_the_process_ends_by_itself():
    script = f"from imapeval import Scorer; print(Scorer('rouge1').score(**{ABSCESS!r}).value)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_its_own_work_must_not_wait_for_itself():
    @dataclass(frozen=True)
    class Nested(Metric):
        name = "nested"
        summary = "scores by the scorer that scores by it"
        requires = frozenset({"llm"})

        async def score(self, case: Case) -> Any:
            scorer.score(**ABSCESS)

    scorer = Scorer([Nested()], llm=ScriptedModel([]))
    with pytest.raises(UsageError):
        scorer.score(**ABSCESS)
    scorer.close()


@pytest.mark.parametrize(
    ("fields", "kind", "said"),
    [
        ({"response": None}, "no-response", "no response"),
        ({"response": 7}, "bad-input", "not a text"),
        ({"question": ""}, "bad-input", "the question is empty"),
        ({"question": None}, "bad-input", "the question is empty"),
        ({"question": "?!"}, "no-query", "no-query"),
        ({"reference": None}, "no-reference", "no reference"),
        ({"reference": ""}, "no-reference", "no reference"),
        ({"reference": ["Drainage.", ""]}, "bad-input", "a reference is empty"),
        ({"response": "half \ud83d"}, "bad-input", "half a character"),
        ({"response": "rest " * 2_100_000}, "too-long", "10500000 characters"),
        ({"lang": "de"}, "bad-input", "unknown lang"),
        ({"turns": [{"role": "user", "content": "x"}]}, "bad-input", "both 'question' and 'turns'"),
    ],
)
def test_nothing_in_the_texts_is_an_error(scorer: Scorer, fields: dict[str, Any], kind: str, said: str):
    found = scorer.score(**{**ABSCESS, **fields, "id": "x"})
    failures = [outcome for outcome in found.outcomes.values() if isinstance(outcome, Failure)]
    assert failures[0].kind == kind
    assert said in found.reason
    assert (found.id, found.value) == ("x", None)


@pytest.mark.parametrize("response", ["", "👍👍", "<script>alert(1)</script>"])
def test_an_answer_without_facts_is_a_low_score(scorer: Scorer, response: str):
    found = scorer.score(**{**ABSCESS, "response": response})
    assert found.value is not None
    assert found.value < 0.2


def test_several_references(scorer: Scorer):
    one, other = (
        scorer.score(**ABSCESS | {"reference": text}).value for text in (ABSCESS["reference"], "See a doctor.")
    )
    both = ABSCESS | {"reference": ["See a doctor.", ABSCESS["reference"]]}
    found = scorer.score(**both)
    assert found.value == pytest.approx((one + other) / 2)
    assert found.parts["references"] == 2
    assert "|references:mean|" in found.signatures["imapscore"]
    with Scorer(references="best") as choosy:
        best = choosy.score(**both)
    assert (best.value, best.parts["reference"]) == (one, 1)
    assert best.record is not None
    assert best.record.imap.reference_index == 1


def test_a_dialogue(scorer: Scorer):
    turns = [Turn("user", ABSCESS["question"]), Turn("assistant", "Where is it?"), Turn("user", "On my leg.")]
    found = scorer.score(turns=turns, reference=ABSCESS["reference"], response=ABSCESS["response"])
    plain = [{"role": turn.role, "content": turn.content} for turn in turns]
    assert found.value is not None
    assert scorer.score(turns=plain, reference=ABSCESS["reference"], response=ABSCESS["response"]).value == found.value
    assert found.sample.question.startswith("Patient: What is")


def test_rows_with_and_without_ids(scorer: Scorer, tmp_path: Path):
    found = scorer.score_all([ABSCESS, {**ABSCESS, "id": "a"}, {**ABSCESS, "id": "a", "response": None}])
    assert [item.id for item in found] == ["", "a", "a"]
    assert [item.value is None for item in found] == [False, False, True]
    with pytest.raises(UsageError):
        scorer.score_all([ABSCESS, {**ABSCESS, "id": "a"}], out=tmp_path / "run")
    with pytest.raises(UsageError, match="'a'"):
        scorer.score_all([{**ABSCESS, "id": "a"}] * 2, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert [item.id for item in scorer.score_all([ABSCESS] * 2, out=tmp_path / "run")] == ["1", "2"]


@pytest.mark.parametrize(("given", "kept"), [(0, "0"), (7, "7"), ("a", "a"), ("", ""), (None, "")])
def test_an_id_is_kept_whether_scored_or_not(scorer: Scorer, given: Any, kept: str):
    rows = [{**ABSCESS, "id": given}, {**ABSCESS, "id": given, "response": None}]
    assert [item.id for item in scorer.score_all(rows)] == [kept, kept]


def test_a_run_takes_valid_answers_only(scorer: Scorer, tmp_path: Path):
    with pytest.raises(UsageError, match=r"answer 2.*question"):
        scorer.score_all([ABSCESS, {**ABSCESS, "question": None}], out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    # Who reads with `strict=False` has asked for the bad rows of a file.
    sample = Sample("a", "", (), "", fault=Failure("sample", "bad-input", "the question is empty"))
    assert [item.value for item in scorer.score_all([sample], out=tmp_path / "run")] == [None]


def test_no_rows_at_all(scorer: Scorer):
    found = scorer.score_all([])
    assert (len(found), found.means, list(found.failed), found.to_rows()) == (
        0,
        {"imapscore": None, "rouge1": None},
        [],
        [],
    )


def test_imaps_and_relations_even_where_no_metric_needs_them():
    with Scorer("rouge1") as scorer:
        imaps = scorer.extract(question=ABSCESS["question"], response=ABSCESS["response"])
        match = scorer.relate("penicillin", "antibiotic")
        assert isinstance(scorer.extract(question="?!"), Failure)
        assert isinstance(scorer.relate("青霉素", "抗生素"), Match)
    assert isinstance(imaps, tuple)
    assert [isinstance(imap, Imap) and len(imap.response) > 0 for imap in imaps] == [True]
    assert isinstance(match, Match)
    assert match.relation is Relation.BELONGING


async def test_imaps_and_relations_asynchronously(scorer: Scorer):
    assert await scorer.aextract(question=ABSCESS["question"], response="Drain it.") == scorer.extract(
        question=ABSCESS["question"], response="Drain it."
    )
    assert await scorer.arelate("aspirin", "drug") == scorer.relate("aspirin", "drug")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"metrics": "imapscor"}, "imapscor\\b.*imapscore\\b"),
        ({"metrics": ""}, "''"),
        ({"metrics": []}, r"\[\]"),
        ({"metrics": "geval"}, "'geval'"),
        ({"votes": 3}, "votes"),
        ({"relations": "llm"}, "relations"),
        ({"base_url": "http://127.0.0.1:9/v1"}, "base_url"),
        ({"llm": "nobody:x"}, "nobody:x"),
        ({"llm": "openai:x", "base_url": "http://127.0.0.1:9/v1", "votes": 0}, "votes.*0"),
        ({"options": {"rouge1": {"no-such": "1"}}, "metrics": "rouge1"}, "no-such"),
        ({"metrics": 5}, "metrics.*5"),
        ({"metrics": ["rouge1", 5]}, "5"),
        ({"metrics": [Metric]}, r"Metric\(\)"),
        ({"relations": "LLM"}, "relations.*'LLM'.*graph, llm"),
        ({"references": "worst"}, "references.*'worst'.*best, mean, consensus"),
        ({"device": "gpu0"}, "device.*'gpu0'.*auto, cpu, cuda, mps"),
        ({"llm": object()}, "llm.*<object"),
        ({"llm": ScriptedModel([]), "rpm": 0}, "rpm.*0"),
        ({"llm": ScriptedModel([]), "tpm": -1}, "tpm.*-1"),
        ({"llm": ScriptedModel([]), "concurrency": 0}, "concurrency.*0"),
        ({"llm": ScriptedModel([]), "votes": 2.5}, "votes.*2.5"),
        ({"llm": ScriptedModel([]), "price": (0.4, 1.6)}, r"price.*\(0.4, 1.6\)"),
        ({"llm": ScriptedModel([]), "price": Price(1.0, 1.0), "max_cost": -1.0}, "max_cost.*-1.0"),
        ({"llm": ScriptedModel([]), "price": Price(1.0, 1.0), "max_cost": float("nan")}, "max_cost.*nan"),
        ({"llm": ScriptedModel([]), "price": Price(1.0, 1.0), "max_cost": "5"}, "max_cost.*'5'"),
        ({"llm": ScriptedModel([]), "price": "0.4"}, "price.*'0.4'"),
        ({"llm": ScriptedModel([]), "max_cost": 1.0}, "price"),
        ({"kg": 5}, "kg.*5"),
        ({"base_url": 5, "llm": "openai:x"}, "base_url.*5"),
        ({"base_url": 5, "llm": ScriptedModel([])}, "base_url.*5"),
        ({"base_url": "http://127.0.0.1:9/v1", "llm": ScriptedModel([])}, "base_url"),
        ({"llm": ScriptedModel}, r"ScriptedModel\(\)"),
        ({"encoder": None}, "encoder.*None"),
        ({"options": 5}, "options.*5"),
        ({"options": "rouge1.measure=f"}, "options.*rouge1.measure=f"),
        ({"options": {"rouge1": 5}, "metrics": "rouge1"}, "options.*5"),
        ({"options": {5: {}}, "metrics": "rouge1"}, "options.*5"),
    ],
)
def test_invalid_arguments_are_named_at_once(arguments: dict[str, Any], said: str):
    with pytest.raises(UsageError, match=said):
        Scorer(**arguments)


def test_a_price_is_an_object_or_what_the_command_line_takes():
    url = "http://127.0.0.1:9/v1"
    for price in (Price(0.4, 1.6), "0.40,1.60"):
        with Scorer("imapscore", llm="openai:x", base_url=url, price=price, max_cost=1.0) as scorer:
            assert scorer.ledger is not None
            assert scorer.ledger.price is not None
            assert (scorer.ledger.price.prompt, scorer.ledger.price.completion) == (0.4, 1.6)


def test_all_offline_and_ones_own_metric():
    @dataclass(frozen=True)
    class Length(Metric):
        name = "length"
        summary = "length of the response"
        requires = frozenset()

        def score(self, case: Case) -> float:
            return len(case.response)

    with Scorer([Length(), "rouge1"]) as scorer:
        found = scorer.score(**ABSCESS)
        assert (found.metric, found.value) == ("length", len(ABSCESS["response"]))
        assert found.signatures["length"] == "length|v:1|references:mean"
    with pytest.raises(UsageError, match="'length'"):
        Scorer([Length(), Length()])
    assert len(Scorer("all-offline").metrics) > 20


def answer(request: Any) -> Completion:
    """Read like a model: one term is asked, each answer has one fact, and no two facts are related."""
    if request.schema_name == "value-relation":
        return Completion('{"relations": []}', "stop", "scripted", Usage(100, 10))
    text = request.messages[-1].content
    asks_of_question = "inform" not in json.dumps(request.schema)
    value = next((word for word in ("Surgical drainage", "Drain", "Rest", "Sleep") if word in text), "")
    fact = {"term": "treatment", "value": value}
    told = (
        {"query": [{"term": "treatment", "value": "?"}], "constraint": []} if asks_of_question else {"inform": [fact]}
    )
    return Completion(json.dumps(told), "stop", "scripted", Usage(100, 10))


def test_what_a_model_cost_stands_with_the_answer():
    model = ScriptedModel(answer)
    with Scorer(llm=model, price=Price(1.0, 2.0)) as scorer:
        first, second = scorer.score(**ABSCESS), scorer.score(**{**ABSCESS, "response": "Rest."})
        both = scorer.score_all([{**ABSCESS, "response": "Drain."}, {**ABSCESS, "response": "Sleep."}])
    assert first.failure is None, first.reason
    # Question, reference, response and how their facts relate; then the last two alone: the others are remembered.
    assert first.spent is not None
    assert second.spent is not None
    assert (first.spent.calls, first.spent.prompt_tokens, first.spent.completion_tokens) == (4, 400, 40)
    assert (second.spent.calls, second.spent.prompt_tokens) == (2, 200)
    assert first.spent.usd == pytest.approx((400 * 1 + 40 * 2) / 1e6)
    assert both.spent is not None
    assert both.spent.calls == 4
    assert scorer.ledger is not None
    assert scorer.ledger.spent.calls == len(model.requests) == 10
    assert json.dumps(first.to_dict())


async def test_costs_of_answers_scored_at_once_are_kept_apart():
    with Scorer(llm=ScriptedModel(answer)) as scorer:
        found = await asyncio.gather(
            *(scorer.ascore(**{**ABSCESS, "question": f"What treats abscess {n}?"}) for n in range(5))
        )
    assert [item.spent.calls for item in found if item.spent is not None] == [4] * 5


@pytest.mark.slow
def test_a_server_that_is_down_is_nobodys_score():
    class Down:
        identity = "down"
        concurrency = 1

        async def complete(self, request: object) -> Completion:
            raise ServiceError("the key is refused", kind="auth")

    with Scorer(llm=Down()) as scorer, pytest.raises(ServiceError, match="key"):
        scorer.score(**ABSCESS)


def test_one_who_gives_up_does_not_take_the_reading_from_the_others():
    release = asyncio.Event()

    async def complete(request: Any) -> Completion:
        await release.wait()
        return answer(request)

    class Held:
        identity = "held"
        concurrency = 8

        async def complete(self, request: Any) -> Completion:
            return await complete(request)

    async def work() -> Assessment:
        first = asyncio.create_task(scorer.ascore(**ABSCESS))
        second = asyncio.create_task(scorer.ascore(**ABSCESS))
        await asyncio.sleep(0.2)
        first.cancel()
        await asyncio.sleep(0.2)
        scorer._loop._start().loop.call_soon_threadsafe(release.set)
        return await second

    with Scorer(llm=Held()) as scorer:
        assert asyncio.run(asyncio.wait_for(work(), 30)).failure is None


def test_async_context_manager():
    async def work() -> float | None:
        async with Scorer("rouge1") as scorer:
            return (await scorer.ascore(**ABSCESS)).value

    before = {thread.name for thread in threading.enumerate()}
    assert asyncio.run(work())
    assert {thread.name for thread in threading.enumerate()} <= before


def test_repr_names_metrics_and_model_without_secrets():
    with Scorer("rouge1,rouge2") as scorer:
        assert repr(scorer) == "Scorer('rouge1,rouge2', references='mean', llm=None)"
    with Scorer(llm=ScriptedModel(answer), references="best") as scorer:
        assert repr(scorer) == "Scorer('imapscore', references='best', llm='scripted')"


def test_samples_are_not_changed(scorer: Scorer):
    sample = Sample("x", ABSCESS["question"], (ABSCESS["reference"],), ABSCESS["response"])
    (found,) = scorer.score_all([sample])
    assert found.sample is sample
    assert [record.id for record in found.records] == ["x"]
