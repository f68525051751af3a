"""imapeval inside pytest: a fixture that scores answers, thresholds, and a summary of the scores.

    def test_the_answer(imapscore):
        imapscore.check(question="...", reference="...", response=ask("..."), at_least=0.4)

pytest loads this module at startup wherever imapeval is installed. Therefore it imports only pytest at first, and does
nothing until a test uses the fixture.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from math import fsum
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from imapeval.report.thresholds import AnyVerdict, Threshold, VerdictWord
    from imapeval.scoring import Assessment, Scorer
    from imapeval.types import Lang, Turn

_PROPERTY_PREFIX = "imapeval."
"""Prefix of the test properties that hold scores: `imapeval.METRIC`."""
_VERDICT_PREFIX = "imapeval-verdict."
"""Prefix of the test properties that hold verdicts of `check` that are too close to call."""

_TOO_CLOSE: VerdictWord = "too close to call"

_TestScore = tuple[str, float | str, str, tuple[float | None, float | None], float | None]
"""A score of a test: the metric, the score or "not scored: KIND", the question, the range of the metric, and the
contradictions if counted. They are plain values, because pytest-xdist serialises them."""

_SCORES = pytest.StashKey[list[_TestScore]]()
"""The scores of a test, which its last report takes to the summary."""

_MAX_LISTED = 10
"""Maximum number of tests with unscored answers that the summary names; the others are only counted."""

_SETTINGS = {
    "imapeval_metrics": ("A,B", "which metrics; the first one is what a plain number in at_least is about"),
    "imapeval_llm": ("SPEC", "a language model that reads the texts, such as openai:NAME"),
    "imapeval_base_url": ("URL", "address of an OpenAI-compatible server"),
    "imapeval_unscored": ("fail|skip", "what a check does with an answer that cannot be scored (by default fail)"),
}
"""Settings, on the command line and in the configuration file."""


class ImapScoreFixture:
    """Scores answers within one test, and keeps the scores with the test's report.

    Args:
        scorer: The scorer.
        properties: Properties of the test, to which the scores are added.
        scores: Scores for the summary, likewise.
        skip: Whether a check skips the test if an answer has no score; otherwise it fails the test.
    """

    def __init__(
        self, scorer: Scorer, properties: list[tuple[str, object]], scores: list[_TestScore], *, skip: bool
    ) -> None:
        self._scorer = scorer
        self._properties = properties
        self._scores = scores
        self._skip = skip

    def __call__(
        self,
        *,
        response: str | None,
        question: str | None = None,
        reference: str | Sequence[str] | None = None,
        turns: Sequence[Turn | Mapping[str, str]] | None = None,
        lang: Lang | None = None,
        id: str = "",  # noqa: A002  # the name that it has everywhere
    ) -> Assessment:
        """Score one answer; see `imapeval.Scorer.score`."""
        from imapeval.types import Score

        assessment = self._scorer.score(
            response=response, question=question, reference=reference, turns=turns, lang=lang, id=id
        )
        asked = assessment.sample.question
        ranges = {metric.name: metric.range for metric in self._scorer.metrics}
        for name, outcome in assessment.outcomes.items():
            scored = isinstance(outcome, Score)
            value = float(outcome.value) if scored else f"not scored: {outcome.kind}"
            self._properties.append((f"{_PROPERTY_PREFIX}{name}", value))
            contradictions = outcome.parts.get("contradictions") if scored else None
            self._scores.append((name, value, asked, ranges[name], contradictions))
        return assessment

    def check(
        self,
        *,
        response: str | None,
        question: str | None = None,
        reference: str | Sequence[str] | None = None,
        turns: Sequence[Turn | Mapping[str, str]] | None = None,
        lang: Lang | None = None,
        id: str = "",  # noqa: A002
        at_least: float | Mapping[str, float] | None = None,
        at_most: float | Mapping[str, float] | None = None,
    ) -> Assessment:
        """Score one answer, and fail the test if a score is not good enough or missing.

        Args:
            response: The answer.
            question: The question.
            reference: The clinician's answer, or several, which the scorer's `references` combines.
            turns: A dialogue in place of `question`; its last turn is the user's.
            lang: "en", "zh", "fr" or "other"; None detects it from the question's script.
            id: Id of the answer.
            at_least: The lowest score that passes: of the first metric, or by metric.
            at_most: The highest score that passes, for metrics of which lower is better. Without either limit, the
                first metric must have a score, of any value.

        Raises:
            AssertionError: A score is not good enough, or there is none.
            UsageError: A threshold is for a metric that is not computed, or cannot be met or missed.
        """
        from imapeval.explain.answers import describe_failure
        from imapeval.report.thresholds import judge_answer
        from imapeval.types import Failure

        __tracebackhide__ = True
        limits = [*self._make_thresholds(at_least, least=True), *self._make_thresholds(at_most, least=False)]
        assessment = self(response=response, question=question, reference=reference, turns=turns, lang=lang, id=id)
        asked = dict.fromkeys(limit.metric for limit in limits) or [assessment.metric]
        failures = {name: o for name, o in assessment.outcomes.items() if name in asked and isinstance(o, Failure)}
        verdicts = [verdict for limit in limits if (verdict := judge_answer(assessment.outcomes, limit)) is not None]
        self._properties += [
            (f"{_VERDICT_PREFIX}{verdict.threshold.metric}", _TOO_CLOSE) for verdict in verdicts if verdict.too_close
        ]
        missed = [
            f"{limit.metric} {limit.format_value(verdict.value)} is {limit.describe_side(verdict.value)}. "
            f"{verdict.doubt}".rstrip(". ")
            for verdict in verdicts
            if not verdict.met and (limit := verdict.threshold)
        ]
        unscored = [f"{name} {describe_failure(failure)}" for name, failure in failures.items()]
        if missed:
            problems = "\n".join([*missed, *unscored])
            raise AssertionError(f"{problems}\n\n{assessment.reason}\n\n{assessment.table}".rstrip())
        if unscored and self._skip:
            pytest.skip("; ".join(unscored))
        if unscored:
            raise AssertionError("\n".join(unscored))
        return assessment

    def _make_thresholds(self, given: float | Mapping[str, float] | None, *, least: bool) -> list[Threshold]:
        from imapeval.errors import UsageError
        from imapeval.report.thresholds import Threshold, check_ranges, require_number

        __tracebackhide__ = True
        said, other = ("at_least", "at_most") if least else ("at_most", "at_least")
        metrics = {metric.name: metric for metric in self._scorer.metrics}
        if given is None:
            return []
        limits = given if isinstance(given, Mapping) else {next(iter(metrics)): given}
        found: list[Threshold] = []
        for name, value in limits.items():
            if name not in metrics:
                raise UsageError(f"{said} names {name!r}, which is not among the metrics: {', '.join(metrics)}.")
            if metrics[name].higher_is_better != least:
                direction = "lower" if least else "higher"
                raise UsageError(f"{said} is given for {name}, of which {direction} is better. Give {other}.")
            found.append(Threshold(name, require_number(value, option=f"{said} of {name}"), least))
        check_ranges(found, {name: metric.range for name, metric in metrics.items()}, option=said)
        return found


class _ScoreSummary:
    """Collects the scores of all tests, those of pytest-xdist's workers included; shows them and checks the limits."""

    def __init__(self, thresholds: Sequence[Threshold], *, max_contradictions: int | None) -> None:
        self._thresholds = thresholds
        self._max_contradictions = max_contradictions
        self._by_test: dict[str, Sequence[_TestScore]] = {}
        self._close: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # The teardown report, the last one, has all scores and properties of the test, whether it passed or failed.
        if report.when == "teardown":
            if scores := getattr(report, "imapeval_scores", ()):
                self._by_test[report.nodeid] = scores
            # Values are not compared: those of other plugins and tests may be arrays.
            if close := [name for name, _ in report.user_properties if name.startswith(_VERDICT_PREFIX)]:
                self._close[report.nodeid] = [name.removeprefix(_VERDICT_PREFIX) for name in close]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == pytest.ExitCode.OK and not all(verdict.met for verdict in self._judge(session.config)):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        verdicts = self._judge(config)
        if not (self._by_test or verdicts):
            return
        from statistics import fmean

        terminalreporter.section("imapeval")
        if terminalreporter.verbosity > 0:
            for test, (metric, value, *_) in self._list_scores():
                shown = f"{value:.3f}" if isinstance(value, float) else "–    "
                terminalreporter.line(f"{shown}  {metric}  {test}")
        by_metric = self._group_by_metric()
        width = max(map(len, by_metric), default=0)
        for metric, scores in by_metric.items():
            scored = [value for _, value, *_ in scores if isinstance(value, float)]
            mean = f"{fmean(scored):.3f}" if scored else "–"
            failed = len(scores) - len(scored)
            failed_note = f", not scored {failed}" if failed else ""
            terminalreporter.line(f"{metric:{width}}  mean {mean}, scored {len(scored)}{failed_note}")
        unscored: dict[tuple[str, object], list[str]] = {}
        for test, (metric, value, *_) in self._list_scores():
            if not isinstance(value, float):
                unscored.setdefault((test, value), []).append(metric)
        for (test, reason), metrics in list(unscored.items())[:_MAX_LISTED]:
            terminalreporter.line(f"{test}: {', '.join(dict.fromkeys(metrics))} {reason}")
        if len(unscored) > _MAX_LISTED:
            terminalreporter.line(f"and {len(unscored) - _MAX_LISTED} more without a score")
        for test, metrics in list(self._close.items())[:_MAX_LISTED]:
            terminalreporter.line(f"{test}: {', '.join(metrics)} {_TOO_CLOSE}")
        if len(self._close) > _MAX_LISTED:
            terminalreporter.line(f"and {len(self._close) - _MAX_LISTED} more {_TOO_CLOSE}")
        for verdict in verdicts:
            metric = verdict.to_dict()["metric"]
            absent = f"{verdict.name}: no test computed {metric}. Add it to --imapeval-metrics."
            said = absent if by_metric and metric not in by_metric else verdict
            terminalreporter.line(f"threshold: {said}", green=verdict.met, red=not verdict.met)

    def _judge(self, config: pytest.Config) -> list[AnyVerdict]:
        limited = self._thresholds or self._max_contradictions is not None
        if not limited or config.getoption("collectonly"):
            return []
        from statistics import fmean

        from imapeval.report.summary import CONTRADICTIONS_METRIC
        from imapeval.report.thresholds import ContradictionVerdict, Verdict
        from imapeval.study.intervals import ends_of
        from imapeval.study.intervals.bootstrap import mean_interval

        by_metric = self._group_by_metric()
        verdicts: list[AnyVerdict] = []
        for limit in self._thresholds:
            scores = by_metric.get(limit.metric, [])
            scored = {n: value for n, (_, value, *_) in enumerate(scores) if isinstance(value, float)}
            values, questions = list(scored.values()), [scores[n][2] for n in scored]
            # All scores are of one scorer, and so is the range.
            bounds = next((span for *_, span, _ in scores), (None, None))
            ends = ends_of(mean_interval(values, clusters=questions, bounds=bounds))
            mean = fmean(values) if values else None
            verdicts.append(Verdict(limit, mean, len(values), 0, *ends, len(scores) - len(values)))
        if self._max_contradictions is not None:
            scores = by_metric.get(CONTRADICTIONS_METRIC, [])
            counts = [count for *_, count in scores if count is not None]
            # Rounded as in the summary of a run, so that a third and two thirds make one.
            found = round(fsum(counts), 6) if counts else None
            verdicts.append(
                ContradictionVerdict(self._max_contradictions, found, len(counts), 0, len(scores) - len(counts))
            )
        return verdicts

    def _group_by_metric(self) -> dict[str, list[_TestScore]]:
        by_metric: dict[str, list[_TestScore]] = {}
        for _, score in self._list_scores():
            by_metric.setdefault(score[0], []).append(score)
        return by_metric

    def _list_scores(self) -> list[tuple[str, _TestScore]]:
        return [(test, score) for test, scores in self._by_test.items() for score in scores]


@pytest.fixture(scope="session")
def imapeval_scorer(pytestconfig: pytest.Config) -> Iterator[Scorer]:
    """The `imapeval.Scorer` of the `--imapeval-` options. Define a fixture of this name for one of your own."""
    from imapeval.report.thresholds import check_ranges
    from imapeval.scoring import Scorer

    with Scorer(
        _read_setting(pytestconfig, "imapeval_metrics") or "imapscore",
        llm=_read_setting(pytestconfig, "imapeval_llm") or None,
        base_url=_read_setting(pytestconfig, "imapeval_base_url") or None,
    ) as scorer:
        # Here rather than at the start: a scorer of the user's own may have options on which ranges depend.
        ranges = {metric.name: metric.range for metric in scorer.metrics}
        limits = _parse_thresholds(pytestconfig.getoption("imapeval_mean") or [])
        check_ranges(limits, ranges, option="--imapeval-mean")
        yield scorer


@pytest.fixture
def imapscore(imapeval_scorer: Scorer, request: pytest.FixtureRequest) -> ImapScoreFixture:
    """Scores answers: `imapscore(question=..., reference=..., response=...)`, or fails: `imapscore.check(...)`."""
    properties: list[tuple[str, object]] = request.node.user_properties
    # Remove the scores of an earlier attempt, so that a test that is rerun counts once.
    properties[:] = [one for one in properties if not one[0].startswith((_PROPERTY_PREFIX, _VERDICT_PREFIX))]
    scores: list[_TestScore] = []
    request.node.stash[_SCORES] = scores
    return ImapScoreFixture(
        imapeval_scorer, properties, scores, skip=_read_setting(request.config, "imapeval_unscored") == "skip"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the scores of a test to its reports."""
    report = yield
    if scores := item.stash.get(_SCORES, None):
        report.__dict__["imapeval_scores"] = scores
    return report


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("imapeval", "scores of medical answers (imapeval)")
    for name, (value, description) in _SETTINGS.items():
        group.addoption(f"--{name.replace('_', '-')}", metavar=value, help=description)
        parser.addini(name, description)
    group.addoption(
        "--imapeval-mean",
        action="append",
        default=[],
        metavar="METRIC=VALUE",
        help="fail the session unless the mean of all scores is at least VALUE, or at most, where lower is better",
    )
    group.addoption(
        "--imapeval-max-contradictions",
        type=int,
        metavar="N",
        help="fail the session if more than N facts in all answers contradict their reference",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the collection of scores, in the main process only: workers send their reports there."""
    if (unscored := _read_setting(config, "imapeval_unscored")) not in ("", "fail", "skip"):
        raise pytest.UsageError(f"imapeval_unscored is {unscored!r}. Write fail or skip.")
    if _read_setting(config, "imapeval_base_url") and not _read_setting(config, "imapeval_llm"):
        raise pytest.UsageError("imapeval_base_url is given and imapeval_llm is not. Name the model, too.")
    if (most := config.getoption("imapeval_max_contradictions")) is not None and most < 0:
        raise pytest.UsageError(f"--imapeval-max-contradictions is {most}. Give 0 or more.")
    if not hasattr(config, "workerinput"):
        summary = _ScoreSummary(
            _parse_thresholds(config.getoption("imapeval_mean") or []),
            max_contradictions=most,
        )
        config.pluginmanager.register(summary, "imapeval-summary")


def _parse_thresholds(texts: Sequence[str]) -> list[Threshold]:
    if not texts:
        return []
    from imapeval.errors import ImapEvalError
    from imapeval.report.thresholds import parse_thresholds

    try:
        return parse_thresholds(texts, option="--imapeval-mean")
    except ImapEvalError as error:
        raise pytest.UsageError(str(error)) from error


def _read_setting(config: pytest.Config, name: str) -> str:
    """Return a setting from the command line, else from the configuration file, else ""."""
    given = config.getoption(name)
    return str(config.getini(name) or "") if given is None else str(given)
