"""imapScore as a scorer of MLflow: `mlflow.genai.evaluate(data=..., scorers=[MlflowImapScore()])`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from pydantic import PrivateAttr

from imapeval._optional import require
from imapeval.integrations.adapter import REFERENCE_KEYS, HostScorer, describe_score, explain
from imapeval.report.thresholds import judge_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.report.thresholds import Threshold
    from imapeval.scoring import Assessment, Scorer

_NEEDED_FOR = "imapScore in MLflow"
_scorers: Any = require("mlflow.genai.scorers", distribution="mlflow", extra="mlflow", needed_for=_NEEDED_FOR)
_entities: Any = require("mlflow.entities", distribution="mlflow", extra="mlflow", needed_for=_NEEDED_FOR)

_INVALID_NAME_CHARACTERS = re.compile(r"[^\w.\- ]")
"""Characters that MLflow rejects in names of metrics, with an error that ends an evaluation after all its work."""


class MlflowImapScore(_scorers.Scorer):
    """Scores each row by one or several metrics, and returns a `Feedback` for each, with an error if there is no score.

    The question is in `inputs`, the reference in `expectations`, the response is `outputs`. Each may be a text, a dict
    with the usual keys (`adapter.QUESTION_KEYS` and so on), or messages.

    Args:
        scorer: A scorer that is already open, in place of `options`.
        threshold: What the first metric's score has to reach or, if lower is better, must not exceed. Another
            `Feedback`, NAME_verdict, then says "pass", "fail" or "too close to call"; there is none without a score.
        name: Another name for the metric in the run, for example to use it twice.
        question_key: Key of the question in your own dicts.
        response_key: Key of the response.
        reference_key: Key of the reference, or of a list of several.
        aggregations, pass_if, timeout, description: As for MLflow's own scorers. `aggregations` and `pass_if` apply to
            the first metric; an answer without a score does not pass, and `pass_if` is not called for it.
        **options: Options of `imapeval.Scorer`.

    Raises:
        UsageError: See `imapeval.Scorer`; or a scorer and options are both given, or one name for several metrics.
    """

    settings: dict[str, str]
    """The arguments. It is a field because MLflow distinguishes definitions of a scorer by their fields."""

    _host: HostScorer = PrivateAttr()

    def __init__(
        self,
        *,
        scorer: Scorer | None = None,
        threshold: float | None = None,
        name: str | None = None,
        question_key: str | None = None,
        response_key: str | None = None,
        reference_key: str | None = None,
        aggregations: Sequence[str | Callable[[list[float]], float]] | None = None,
        pass_if: Callable[[Any], bool] | None = None,
        timeout: float | None = None,
        description: str | None = None,
        **options: Any,
    ) -> None:
        host = HostScorer(
            scorer=scorer,
            threshold=threshold,
            name=name,
            question_key=question_key,
            response_key=response_key,
            reference_key=reference_key,
            **options,
        )
        made_with = {**options, "metrics": [metric.name for metric in host.scorer.metrics], "keys": host.keys}
        if threshold is not None:
            made_with["threshold"] = threshold
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            name=_INVALID_NAME_CHARACTERS.sub("_", host.name),
            description=description,
            aggregations=None if aggregations is None else list(aggregations),
            timeout=timeout,
            settings={option: repr(value) for option, value in made_with.items()},
        )
        self._host, self._pass_if = host, pass_if

    def __call__(self, *, inputs: Any = None, outputs: Any = None, expectations: Any = None) -> list[Any]:
        """Return a `Feedback` for each metric."""
        if isinstance(expectations, Mapping):
            # Expectations may hold other things than a reference, such as guidelines, and need not hold a reference.
            reference_key = self._host.keys.reference
            wanted = REFERENCE_KEYS if reference_key is None else (reference_key,)
            held = cast("Mapping[str, Any]", expectations)
            expectations = {key: held[key] for key in wanted if key in held}
        parts = self._host.score(question=inputs, response=outputs, reference=expectations)
        names = [self.name, *(_INVALID_NAME_CHARACTERS.sub("_", part.metric) for part in parts[1:])]
        limit = self._host.threshold
        found = [_to_feedback(name, part, limit) for name, part in zip(names, parts, strict=True)]
        if (verdict := judge_answer(parts[0].outcomes, limit)) is not None:
            found.append(
                _entities.Feedback(
                    name=f"{self.name}_verdict",
                    value=verdict.word,
                    rationale=str(verdict),
                    source=_make_source(parts[0]),
                )
            )
        return found


def _make_source(assessment: Assessment) -> Any:
    return _entities.AssessmentSource(source_type="CODE", source_id=f"imapeval:{assessment.metric}")


def _to_feedback(name: str, assessment: Assessment, limit: Threshold | None) -> Any:
    facts = {"metric": assessment.metric, **describe_score(assessment, limit)}
    failure = assessment.failure
    return _entities.Feedback(
        name=name,
        value=assessment.value,
        error=None
        if failure is None
        else _entities.AssessmentError(f"{failure.stage}/{failure.kind}", failure.message),
        rationale=explain(assessment, limit),
        source=_make_source(assessment),
        # MLflow accepts only strings as values of metadata.
        metadata={
            fact: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for fact, value in facts.items()
        },
    )
