"""imapScore as an assertion of promptfoo.

A file `imapscore.py` beside `promptfooconfig.yaml`

    from imapeval.integrations.promptfoo import get_assert

and the assertion, of whose `config` everything is optional:

    - type: python
      value: file://imapscore.py
      config: {threshold: 0.3, metrics: "imapscore,rouge1"}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imapeval.integrations.adapter import RowColumns, explain, shared_scorer
from imapeval.report.thresholds import judge_answer, make_threshold
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.llm.middleware.budget import UsageTotals
    from imapeval.report.thresholds import Threshold
    from imapeval.scoring import Assessment


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Grade one output.

    promptfoo requires a number of every assertion. An output that cannot be scored therefore fails with 0 and the
    reason, but has no named score, so that the means of named scores leave it out. With the environment variable
    PROMPTFOO_SHORT_CIRCUIT_TEST_FAILURES=true promptfoo turns every failure into an error, which is preferable if there
    is no threshold.

    Args:
        output: What the provider answered.
        context: Context from promptfoo: `vars`, and `config` with `threshold` (minimum score, or maximum where lower is
            better; every score passes without one), `question_key` and `reference_key` (names of the variables, if
            they differ), and options of `imapeval.Scorer`.

    Returns:
        A `GradingResult`, with a named score for each metric that has one.

    Raises:
        UsageError: Something in `config` is invalid.
        ImapEvalError: Something affects all answers alike, such as a server that is down. promptfoo shows it as a
            failed assertion.
    """
    options = dict(context.get("config") or {})
    threshold = options.pop("threshold", None)
    columns = RowColumns(options.pop("question_key", None), options.pop("reference_key", None))
    scorer = shared_scorer(**options)
    limit = make_threshold(scorer.metrics[0], threshold)
    assessed = scorer.score_all([columns.read(context.get("vars") or {}, output)])
    return _to_grading_result(assessed[0], limit) | _tokens_used(assessed.spent)


def _to_grading_result(assessment: Assessment, limit: Threshold | None) -> dict[str, Any]:
    outcomes = assessment.outcomes
    named = {name: outcome.value for name, outcome in outcomes.items() if isinstance(outcome, Score)}
    imapscore = outcomes.get("imapscore")
    if isinstance(imapscore, Score):
        named |= {f"imapscore_{part}": imapscore.parts[part] for part in ("recall", "precision")}
    failures = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Failure)}
    others = [
        f"{name} is not scored: {failure.message}" for name, failure in failures.items() if name != assessment.metric
    ]
    verdict = judge_answer(outcomes, limit)
    grade: dict[str, Any] = {
        "pass": assessment.value is not None if verdict is None else verdict.met,
        "score": assessment.value or 0,
        "reason": " ".join([explain(assessment, limit), *others]),
        "namedScores": named,
    }
    metadata: dict[str, Any] = {} if verdict is None else {"verdict": verdict.word}
    if failures:
        metadata["not_scored"] = {name: f"{failure.stage}/{failure.kind}" for name, failure in failures.items()}
    return grade | ({"metadata": metadata} if metadata else {})


def _tokens_used(spent: UsageTotals | None) -> dict[str, Any]:
    if spent is None:
        return {}
    counted = {"prompt": spent.prompt_tokens, "completion": spent.completion_tokens, "cached": spent.reused_tokens}
    total = spent.prompt_tokens + spent.completion_tokens
    return {"tokensUsed": {"total": total, **counted, "numRequests": spent.calls}}
