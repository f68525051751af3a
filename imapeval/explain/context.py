"""Imaps and matches as input for the prompt of another judge: as one text, and in pieces to fill a prompt's fields.

A line of the exported file has

    {"id", "system", "lang", "question", "reference", "response",          the texts of the sample
     "query", "constraint", "reference_imap", "response_imap", "matches",  what prompts for `geval-file:` show
     "table",                                                              the facts side by side, in Markdown
     "context",                                                            all of that as one text
     "scores": {metric: number or null}, "failures": {metric: {"stage", "kind", "message"}}}

Fields with facts are null if there are none, and `failures` says why. They are escaped so that nothing in them can
break out of its place in a prompt, and leave out facts that are mere instructions to a judge
(`imapeval.metrics.judges.prompts.imap_text`). The texts themselves are unchanged, and the table has all facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imapeval.explain.answers import open_answers
from imapeval.explain.comparison import compare, write_markdown
from imapeval.llm.structured.templates import neutralise
from imapeval.metrics.judges.prompts.imap_text import render_imap
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.evaluation.runs import Run
    from imapeval.explain.answers import ScoredAnswer
    from imapeval.types import Lang

_TITLES: Mapping[Lang, Mapping[str, str]] = {
    "en": {
        "query": "What is asked:",
        "constraint": "What is given:",
        "reference_imap": "Facts of the reference:",
        "response_imap": "Facts of the response:",
        "matches": "Matches, as a program found them (exact: both mean the same; belonging: the response is more "
        "general; containment: the response is more specific; contradiction: they cannot both hold):",
    },
    "zh": {
        "query": "问的是什么：",
        "constraint": "已知条件：",
        "reference_imap": "参考答案的事实：",
        "response_imap": "回答的事实：",
        "matches": "程序找到的匹配（exact：意思相同；belonging：回答更笼统；containment：回答更具体；"
        "contradiction：两者不能同时成立）：",
    },
}


def write_context(record: ImapRecord, lang: Lang) -> str:
    """Return the facts of question, reference and response, and their matches, as one text for a prompt."""
    return _join_sections(render_imap(record.imap, record.matches or ()), lang)


def iterate_contexts(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the fields of each line, in the order of the data; see the module's docstring.

    Raises:
        InputError: The run cannot be read.
    """
    yield from map(_answer_to_context, open_answers(run))


def _answer_to_context(answer: ScoredAnswer) -> dict[str, Any]:
    sample, record = answer.sample, answer.record
    index = 0 if record is None else record.imap.reference_index
    facts: dict[str, str | None] = dict.fromkeys((*_TITLES["en"], "table", "context"))
    if record is not None:
        shown = render_imap(record.imap, record.matches or ())
        table = neutralise(write_markdown(compare(record)))
        facts = {**shown, "table": table, "context": _join_sections(shown, sample.lang)}
    return {
        "id": sample.id,
        "system": sample.system,
        "lang": sample.lang,
        "question": sample.question,
        "reference": sample.references[index] if index < len(sample.references) else None,
        "response": sample.response,
        **facts,
        "scores": {
            name: outcome.value if isinstance(outcome, Score) else None for name, outcome in answer.outcomes.items()
        },
        "failures": {name: failure.to_dict() for name, failure in answer.unscored.items()},
    }


def _join_sections(shown: Mapping[str, str], lang: Lang) -> str:
    return "\n\n".join(f"{title}\n{shown[name]}" for name, title in _TITLES[lang].items())
