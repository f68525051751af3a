import re
import subprocess
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from imapeval.errors import UsageError
from imapeval.evaluation.runs import Result
from imapeval.integrations.pytest_plugin import ImapScoreFixture
from imapeval.report.summary import format_mean_interval, summarise
from imapeval.scoring import Scorer
from imapeval.types import Sample, Score
from tests.integrations.answers import ANSWERS

pytest_plugins = ["pytester"]

QUICK = ("--imapeval-metrics", "rouge1")
"""Needs neither the graph nor the encoder, whose start takes longer than all else here."""


Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, make_cache: Callable[[Path], str]) -> Run:
    """Write a file of tests and run pytest on it as a process of its own."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("IMAPEVAL_CACHE", make_cache(pytester.path / "cache"))
    # What is printed stays the same, whatever other plugins are installed.
    pytester.makeini("[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n")

    def call(source: str, *args: str) -> pytest.RunResult:
        pytester.makepyfile(test_answers=source)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)

    return call


def properties(path: Path) -> dict[str, list[tuple[str, str]]]:
    return {
        case.attrib["name"]: [(p.attrib["name"], p.attrib["value"]) for p in case.iter("property")]
        for case in ET.parse(path).getroot().iter("testcase")
    }


PER_ANSWER = f"""
import pytest
from imapeval.evaluation.samples import read

@pytest.mark.parametrize("sample", read({str(ANSWERS)!r}), ids=lambda sample: str(sample.id))
def test_answer(imapscore, sample):
    imapscore.check(
        question=sample.question, reference=sample.references, response=sample.response, id=sample.id, at_least=0.4
    )
"""


@pytest.mark.slow
def test_the_same_numbers_as_on_the_command_line(
    run: Run, pytester: pytest.Pytester, expected: dict[str, float | None]
):
    mean = sum(score for score in expected.values() if score is not None) / 3
    # Below what the mean is rounded to, so that it is shown with three digits.
    done = run(PER_ANSWER, "--junitxml=scores.xml", "-v", "--imapeval-mean", f"imapscore={mean - 1e-3}")
    done.assert_outcomes(passed=2, failed=2)
    found = properties(pytester.path / "scores.xml")
    names = {"abscess": "abscess", "uti": "uti", "胃炎": r"\u80c3\u708e", "nothing-asked": "nothing-asked"}
    for id_, shown in names.items():
        ((name, value),) = found[f"test_answer[{shown}]"]
        assert name == "imapeval.imapscore"
        if expected[id_] is None:
            assert value == "not scored: no-query"
        else:
            assert float(value) == expected[id_]
    uti = expected["uti"]
    assert uti is not None
    done.stdout.fnmatch_lines(
        [
            f"E       AssertionError: imapscore {uti:.3f} is below 0.4",
            "E       imapscore * The response has 0 of 3 facts of the reference; it lacks Nitrofurantoin*",
            "E       | term | reference | response | relation | credit |",
            "E       | medicine | Trimethoprim is an alternative | – | unmatched | *",
            "E       AssertionError: imapscore not scored: the question has no words (extraction/no-query)",
            "* imapeval *",
            f"{uti:.3f}  imapscore  test_answers.py::test_answer[[]uti]",
            f"imapscore  mean {mean:.3f}, scored 3, not scored 1",
            "test_answers.py::test_answer[[]nothing-asked]: imapscore not scored: no-query",
            f"threshold: imapscore: the mean {mean:.3f} of 3 scored (1 of 4 has no score) is at least *",
        ]
    )


CALLS = """
import asyncio
import threading
import pytest

ANSWER = {"question": "What helps?", "reference": "Rest and fluids.", "response": "Rest and plenty of fluids."}

def test_a_score(imapscore):
    scored = imapscore(**ANSWER)
    assert scored.value == pytest.approx(0.75)
    assert imapscore.check(**ANSWER, at_least=0.7).value == scored.value
    imapscore.check(**ANSWER)

def test_chinese(imapscore):
    assert imapscore.check(question="怎么办？", reference="多休息", response="多休息", at_least=1).value == 1.0

def test_in_a_running_loop(imapscore):
    async def ask():
        return imapscore.check(**ANSWER, at_least=0.7)
    assert asyncio.run(ask()).value == pytest.approx(0.75)

def test_at_once(imapscore):
    threads = [threading.Thread(target=lambda: imapscore.check(**ANSWER, at_least=0.7)) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

@pytest.mark.parametrize("response", [None, "?", "a " * 5_000_000, 5], ids=["none", "wordless", "huge", "number"])
def test_cannot_be_scored(imapscore, response):
    imapscore.check(question="What helps?", reference="Rest.", response=response)

@pytest.mark.parametrize("reference", [None, "", []], ids=["none", "empty", "no"])
def test_no_reference(imapscore, reference):
    imapscore.check(question="What helps?", reference=reference, response="Rest.")

@pytest.mark.parametrize("response", ["", "<b onclick='x()'>Rest</b> ]]> \\x1b[31m"], ids=["empty", "markup"])
def test_bad_answers_have_a_score(imapscore, response):
    imapscore.check(question="What helps?", reference="Rest.", response=response, at_least=0)

def test_misspelt(imapscore):
    imapscore.check(**ANSWER, at_least={"rouge": 0.5})

def test_percent(imapscore):
    imapscore.check(**ANSWER, at_least=70)

def test_wrong_way(imapscore):
    imapscore.check(**ANSWER, at_most=0.9)

def test_not_a_number(imapscore):
    imapscore.check(**ANSWER, at_least=float("nan"))

def test_a_text(imapscore):
    imapscore.check(**ANSWER, at_least="0.4")

def test_several(imapscore):
    imapscore.check(**ANSWER, at_least={"rouge1": 0.8, "chrf": 99})
"""


@pytest.mark.slow
def test_calls_and_what_cannot_be_scored(run: Run, pytester: pytest.Pytester):
    done = run(CALLS, "--imapeval-metrics", "rouge1,chrf", "--junitxml=scores.xml", "-rA")
    failed = {line.split("::")[1].partition(" - ")[0]: line for line in done.outlines if line.startswith("FAILED")}
    assert set(failed) == {
        "test_cannot_be_scored[none]",
        "test_cannot_be_scored[huge]",
        "test_cannot_be_scored[number]",
        "test_no_reference[none]",
        "test_no_reference[empty]",
        "test_no_reference[no]",
        "test_misspelt",
        "test_percent",
        "test_wrong_way",
        "test_not_a_number",
        "test_a_text",
        "test_several",
    }
    # What could not be scored is no number, neither here nor in the file.
    found = properties(pytester.path / "scores.xml")
    for name in failed:
        if name.startswith(("test_cannot", "test_no_reference")):
            assert "rouge1 not scored: " in failed[name]
            assert all(value.startswith("not scored: ") for _, value in found[name])
            assert len(found[name]) == 2
    assert found["test_cannot_be_scored[huge]"][0] == ("imapeval.rouge1", "not scored: too-long")
    assert len(found["test_at_once"]) == 16
    assert found["test_misspelt"] == []
    done.stdout.fnmatch_lines_random(
        [
            "E       *UsageError: at_least names 'rouge', which is not among the metrics: rouge1, chrf.",
            "E       *UsageError: at_least rouge1=70*",
            "E       *UsageError: at_most is given for rouge1, of which higher is better. Give at_least.",
            "E       *UsageError: at_least of rouge1 is nan. Give a number.",
            "E       *UsageError: at_least of rouge1 is '0.4'. Give a number.",
            "E       AssertionError: rouge1 0.750 is below 0.8",
            "E       chrf * is below 99",
            "test_answers.py::test_cannot_be_scored[[]huge]: rouge1, chrf not scored: too-long",
        ]
    )


def test_a_limit_is_a_number_but_no_truth_value():
    answer: dict[str, Any] = {"question": "What helps?", "reference": "Rest.", "response": "Rest."}
    narrow: Any = np.float32(0.4)
    with Scorer("rouge1") as scorer:
        fixture = ImapScoreFixture(scorer, [], [], skip=False)
        assert fixture.check(**answer, at_least=narrow).value == 1.0
        for limit in (True, {"rouge1": False}):
            with pytest.raises(UsageError, match="rouge1"):
                fixture.check(**answer, at_least=limit)


PLAIN = """
def test_good(imapscore):
    imapscore(question="What helps?", reference="Rest.", response="Rest.")

def test_bad(imapscore):
    imapscore(question="What cures?", reference="Rest.", response="Surgery.")

def test_unscored(imapscore):
    imapscore.check(question="What helps?", reference="", response="Rest.")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "code"), [("0.5", 0), ("0.51", 1)])
def test_a_mean_decides_over_the_session(run: Run, mean: str, code: int):
    done = run(PLAIN, *QUICK, "--imapeval-unscored", "skip", "--imapeval-mean", f"rouge1={mean}")
    done.assert_outcomes(passed=2, skipped=1)
    assert done.ret == code
    side = "below" if code else "at least"
    done.stdout.fnmatch_lines(
        [
            "rouge1  mean 0.500, scored 2, not scored 1",
            f"threshold: rouge1: the mean 0.500 of 2 scored (1 of 3 has no score) is {side} {mean}, too close to call*",
        ]
    )


TWO_SYSTEMS = """
import pytest

QUESTIONS = [f"What helps against cough {number}?" for number in range(6)]

@pytest.mark.parametrize("response", ["Rest and fluids", "Surgery and fluids tonight"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_answer(imapscore, question, response):
    imapscore(question=question, reference="Rest and fluids" + " now" * int(question[-2]), response=response)
"""


@pytest.mark.slow
def test_the_interval_of_a_mean_is_over_questions_as_on_the_command_line(run: Run, pytester: pytest.Pytester):
    done = run(TWO_SYSTEMS, *QUICK, "--junitxml=scores.xml", "--imapeval-mean", "rouge1=0.5")
    found = properties(pytester.path / "scores.xml")
    samples = [Sample(name, name.rpartition("-")[0], ("r",), "r") for name in found]
    results = [Result(name, "rouge1", Score(float(value)), "s") for name, ((_, value),) in found.items()]
    (row,) = summarise(samples, results, metrics=["rouge1"], ranges={"rouge1": (0.0, 1.0)}, seed=0)
    assert row.resampled == 6
    interval = format_mean_interval(row.low, row.high)
    done.stdout.fnmatch_lines([f"threshold: rouge1: the mean * of 12 scored is *(95% interval {interval})."])


@pytest.mark.slow
def test_contradictions_are_limited_over_the_session(run: Run):
    answers = """
def test_contradicts(imapscore):
    imapscore(question="May she take ibuprofen?", reference="Do not take ibuprofen.", response="Take ibuprofen.")

def test_unscored(imapscore):
    imapscore(question="?", reference="Rest.", response="Rest.")
"""
    for most, code, side in ((1, 0, "at most 1"), (0, 1, "more than 0")):
        done = run(answers, "--imapeval-max-contradictions", str(most))
        done.assert_outcomes(passed=2)
        assert done.ret == code
        done.stdout.fnmatch_lines([f"threshold: contradictions: 1 in 1 scored (1 of 2 has no score), {side}."])


@pytest.mark.slow
def test_a_mean_outside_the_range_is_refused(run: Run):
    done = run(PLAIN, *QUICK, "--imapeval-mean", "rouge1=50")
    done.assert_outcomes(errors=3)
    done.stdout.fnmatch_lines(["*UsageError: --imapeval-mean rouge1=50: *"])


@pytest.mark.slow
def test_a_limit_for_a_metric_that_no_test_computed_names_the_option(run: Run):
    done = run(PLAIN, *QUICK, "--imapeval-mean", "rouge2=0.1", "--imapeval-max-contradictions", "1")
    assert done.ret == 1
    done.stdout.fnmatch_lines(
        ["threshold: *rouge2*--imapeval-metrics*", "threshold: contradictions*imapscore*--imapeval-metrics*"]
    )


@pytest.mark.slow
def test_settings_of_the_configuration_file_and_tests_that_nobody_scored(run: Run, pytester: pytest.Pytester):
    pytester.makeini("[pytest]\nimapeval_metrics = rouge2\nimapeval_unscored = skip\n")
    pytester.makepyfile(test_answers=PLAIN)
    done = pytester.runpytest_subprocess("-k", "good", "-p", "no:cacheprovider")
    done.stdout.fnmatch_lines(["rouge2 *"])
    # A threshold that nothing was held against is not met.
    done = run("def test_other(): pass", "--imapeval-mean", "imapscore=0.1")
    done.assert_outcomes(passed=1)
    assert done.ret == 1
    done.stdout.fnmatch_lines(["threshold: imapscore: no answer was scored, so the mean does not meet 0.1."])
    assert run("def test_other(): pass", "--collect-only", "--imapeval-mean", "imapscore=0.1").ret == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--imapeval-max-contradictions", "-1"], "*--imapeval-max-contradictions is -1.*"),
        (["--imapeval-mean", "imapscore"], "*'imapscore' is not METRIC=VALUE*"),
        (["--imapeval-mean", "imapscor=1"], "*unknown metric 'imapscor'. Did you mean imapscore*"),
        (["--imapeval-unscored", "pass"], "*imapeval_unscored is 'pass'. Write fail or skip."),
        (["--imapeval-base-url", "http://127.0.0.1:1"], "*imapeval_llm is not. Name the model, too."),
    ],
)
def test_options_that_cannot_be_meant(pytester: pytest.Pytester, args: list[str], message: str):
    # In this process: the options are refused before anything is collected.
    done = pytester.runpytest_inprocess(*args)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([message])


class _Refusing(BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def refusing(run_server: Callable[..., ThreadingHTTPServer]) -> str:
    return f"http://127.0.0.1:{run_server(ThreadingHTTPServer(('127.0.0.1', 0), _Refusing)).server_port}/v1"


@pytest.mark.slow
def test_a_server_that_answers_nobody_is_an_error_and_no_score(run: Run, pytester: pytest.Pytester, refusing: str):
    llm = ("--imapeval-llm", "openai:m", "--imapeval-base-url", refusing, "--imapeval-unscored", "skip")
    done = run(PLAIN, *llm, "-k", "good", "--junitxml=scores.xml")
    done.assert_outcomes(failed=1, deselected=2)
    done.stdout.fnmatch_lines(["E  *ServiceError: *"])
    assert "imapeval ==" not in done.stdout.str()
    assert properties(pytester.path / "scores.xml") == {"test_good": []}


OWN = """
from dataclasses import dataclass

import pytest
from imapeval import Metric, Scorer

@dataclass(frozen=True)
class Length(Metric):
    name = "length"
    summary = "characters of the response"
    requires = frozenset()
    range = (0.0, None)
    higher_is_better = False

    def score(self, case):
        return len(case.response)

@pytest.fixture(scope="session")
def imapeval_scorer():
    return Scorer([Length(), "chrf"])
"""


REPEATED = """
from dataclasses import dataclass

import pytest
from imapeval import Metric, Score, Scorer

@dataclass(frozen=True)
class Repeated(Metric):
    name = "repeated"
    summary = "three ratings"
    range = (0.0, 1.0)

    def score(self, case):
        return Score(0.5, {}, ((0.4, 0.5, 0.6),))

@pytest.fixture(scope="session")
def imapeval_scorer():
    return Scorer([Repeated()])
"""


def test_a_repeated_score_near_the_threshold_is_too_close_to_call(run: Run, pytester: pytest.Pytester):
    pytester.makeconftest(REPEATED)
    done = run("""
ANSWER = {"question": "What helps?", "reference": "Rest.", "response": "Rest."}

def test_near(imapscore):
    imapscore.check(**ANSWER, at_least=0.6)

def test_far(imapscore):
    imapscore.check(**ANSWER, at_least=0.9)

def test_passes_for_now(imapscore):
    imapscore.check(**ANSWER, at_least=0.4)

def test_passes(imapscore):
    imapscore.check(**ANSWER, at_least=0.1)
""")
    done.assert_outcomes(failed=2, passed=2)
    close = [line for line in done.outlines if line.endswith(": repeated too close to call")]
    assert [line.partition("::")[2].partition(":")[0] for line in close] == ["test_near", "test_passes_for_now"]
    assert "Too close to call: 0.6 lies within the 95% interval" in done.stdout.str()
    assert "Too close to call: 0.9" not in done.stdout.str()


@pytest.mark.slow
def test_a_scorer_of_ones_own_and_a_metric_of_which_lower_is_better(run: Run, pytester: pytest.Pytester):
    pytester.makeconftest(OWN)
    done = run("""
ANSWER = {"question": "What helps?", "reference": "Rest.", "response": "Rest."}

def test_short(imapscore):
    imapscore.check(**ANSWER, at_most=5, at_least={"chrf": 100})

def test_long(imapscore):
    imapscore.check(**ANSWER, at_most={"length": 4})

def test_wrong_way(imapscore):
    imapscore.check(**ANSWER, at_least=4)
""")
    done.assert_outcomes(passed=1, failed=2)
    done.stdout.fnmatch_lines(
        [
            "E       AssertionError: length 5.000 is above 4",
            "E       *UsageError: at_least is given for length, of which lower is better. Give at_most.",
            "length  mean 5.000, scored 2",
            "chrf    mean 100.000, scored 2",
        ]
    )


TEN = """
from dataclasses import dataclass

import pytest
from imapeval import Metric, Scorer

@dataclass(frozen=True)
class Ten(Metric):
    name = "judge"
    summary = "always 10 of 10"
    range = (0.0, 10.0)

    def score(self, case):
        return 10.0

@pytest.fixture(scope="session")
def imapeval_scorer():
    return Scorer([Ten()])
"""


@pytest.mark.slow
def test_the_interval_of_a_mean_is_on_the_scale_of_the_scorer(run: Run, pytester: pytest.Pytester):
    pytester.makeconftest(TEN)
    answers = """
import pytest

@pytest.mark.parametrize("number", range(6))
def test_answer(imapscore, number):
    imapscore(question=f"What helps against cough {number}?", reference="Rest.", response="Rest.")
"""
    done = run(answers, "--imapeval-mean", "judge=7")
    # scipy 1.16: binomtest(6, 6).proportion_ci(method="wilson"), times 10; the judge of the registry has 0 to 5.
    done.stdout.fnmatch_lines(["threshold: judge: *too close to call (95% interval 6.097 to 10.000)."])


@pytest.mark.slow
def test_a_test_that_is_run_again_counts_once(run: Run, pytester: pytest.Pytester):
    pytester.makeconftest("""
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for log in (False, True):
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=log)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
""")
    run(PLAIN, *QUICK, "-k", "good").stdout.fnmatch_lines(["rouge1  mean 1.000, scored 1"])


@pytest.mark.slow
def test_beside_xdist(run: Run, pytester: pytest.Pytester):
    pytest.importorskip("xdist", reason="pytest-xdist is not installed here")
    done = run(PLAIN, *QUICK, "-n", "2", "--junitxml=scores.xml", "--imapeval-mean", "rouge1=0.51")
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(
        ["rouge1  mean 0.500, scored 2, not scored 1", "*the mean 0.500 of 2 scored (1 of 3 has no score) is below*"]
    )
    assert properties(pytester.path / "scores.xml")["test_good"] == [("imapeval.rouge1", "1.0")]


def test_unused_it_shows_nothing_loads_nothing_and_takes_no_time(run: Run):
    done = run("""
import sys

def test_nothing():
    ours = {name for name in sys.modules if name.startswith("imapeval")}
    assert ours == {"imapeval", "imapeval.integrations", "imapeval.integrations.pytest_plugin"}
    assert not {"numpy", "pydantic", "openai", "faiss"} & sys.modules.keys()
""")
    done.assert_outcomes(passed=1)
    assert "imapeval ==" not in done.stdout.str()
    script = (
        "import time, pytest; begun = time.perf_counter(); import imapeval.integrations.pytest_plugin; "
        "print(time.perf_counter() - begun)"
    )
    # The first of three attempts that is quick enough is the last.
    command = [sys.executable, "-c", script]
    assert any(float(subprocess.run(command, capture_output=True, text=True).stdout) < 0.05 for _ in "123")


@pytest.mark.slow
def test_properties_of_other_tests_may_be_anything(run: Run):
    # The truth value of such an array is an error of numpy.
    done = run("""
import numpy

def test_nothing(record_property):
    record_property("embedding", numpy.array([1.0, 2.0]))
""")
    done.assert_outcomes(passed=1)
    assert done.ret == pytest.ExitCode.OK


def test_pytest_does_not_warn_where_imapeval_was_imported_before_it(pytester: pytest.Pytester):
    pytester.makepyfile("def test_nothing(): pass")
    script = "import imapeval, pytest, sys; sys.exit(pytest.main(['-W', 'error', '-p', 'no:asyncio', '-q']))"
    done = subprocess.run([sys.executable, "-c", script], cwd=pytester.path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_page(
    run_page: Callable[[str], tuple[str, str]], monkeypatch: pytest.MonkeyPatch, expected: dict[str, float | None]
):
    monkeypatch.setenv("COLUMNS", "80")
    # Where these are set, pytest cuts no lines of its summary.
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    told, printed = run_page("../ci")
    took = re.compile(r"in \d+\.\d+s")
    assert took.sub("in 1s", printed) == took.sub("in 1s", told)
    for score in expected.values():
        assert score is None or f" {score:.3f} " in told
