"""Odd texts for the judges, with a model that plays along."""

from collections.abc import Callable, Iterable

from imapeval.llm.scripted import ScriptedModel
from imapeval.metrics.base import Metric, Parts
from imapeval.metrics.judges import build

COMPLETIONS = {
    "geval": '{"score": 4}',
    "geval-noref": '{"score": 4}',
    "prometheus": "Well. [RESULT] 4",
    "prometheus-noref": "Well. [RESULT] 4",
    "atomic-facts": '{"facts": ["Ibuprofen helps."]}',
    "fact-support": '{"supported": true}',
    "text-questions": '{"questions": [{"question": "What helps?", "answer": "ibuprofen"}]}',
    "text-answers": '{"answers": [{"number": 1, "answer": "ibuprofen"}]}',
    "answer-overlap": '{"scores": [{"number": 1, "score": 4}]}',
    "imap-judge": '{"why": "", "accuracy": 4, "completeness": 4, "specificity": 4}',
}


def test_edge_cases(check_edge_cases: Callable[[Iterable[Metric]], None]) -> None:
    model = ScriptedModel(lambda request: COMPLETIONS[request.schema_name])
    # On imaps the same judge sees short texts; an empty one is the empty response.
    check_edge_cases(metric.prepare(Parts(llm=model)) for metric in build() if "+imap" not in metric.name)
