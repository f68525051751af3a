"""Everything that reads untrusted text takes time in proportion to its length, whatever the text.

The package is walked so that nothing new is missed: every compiled pattern, every pattern in a call of `re`, and every
public function that takes a text. A module with another parser, or with patterns made in a function, has to be listed.
"""

from __future__ import annotations

import ast
import asyncio
import dataclasses
import gc
import importlib
import inspect
import json
import re
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import chain
from math import ceil, log2
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from zlib import crc32

import pytest

import imapeval
from imapeval import redaction
from imapeval.errors import ImapEvalError
from imapeval.evaluation.corrections import CORRECTIONS, read_corrections
from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.pipeline import open_graph
from imapeval.evaluation.runs import Result
from imapeval.evaluation.runs.reading import Run
from imapeval.evaluation.samples import dialogue, reading
from imapeval.evaluation.samples.files import formats
from imapeval.explain import comparison as explain_comparison
from imapeval.explain.answers import collect_answers
from imapeval.explain.comparison import compare
from imapeval.explain.context import write_context
from imapeval.extraction import entries, parsing
from imapeval.extraction.lexicon import clauses, coordination, cues, frames, headings, scope, statements, tables
from imapeval.extraction.lexicon.reader import LexiconReader
from imapeval.extraction.protocols import TwoStepExtractor
from imapeval.extraction.selection import select_inform
from imapeval.extraction.source import SourceText
from imapeval.graph.linking import spelling
from imapeval.graph.readers import base as graph_base
from imapeval.graph.readers import kgx, mesh_xml, obo, obographs, table
from imapeval.llm.protocol import Message, Request
from imapeval.llm.providers import chat_format, echo_logprobs
from imapeval.llm.structured import faults, json_objects
from imapeval.matching import llm as llm_matching
from imapeval.metrics.judges import questions
from imapeval.metrics.judges.base import clean_answer
from imapeval.metrics.judges.parsing import lists, scores
from imapeval.metrics.judges.prompts import custom_prompt, front_matter, knowledge_source
from imapeval.metrics.lexical import tokens
from imapeval.parsing import parse_json
from imapeval.report import markdown
from imapeval.report.explorer_data import collect_explorer_data, dump_for_script
from imapeval.report.junit import iterate_junit
from imapeval.study.calibration.curve_file import read_calibration
from imapeval.study.closed import choices
from imapeval.study.closed.logs.reading import read_logs
from imapeval.study.closed.reading import AnswerColumns, ClosedTask, read_closed_answers
from imapeval.study.closed.task_table import read_task_table
from imapeval.study.data.about import read_about
from imapeval.study.data.ratings.reading import read_ratings
from imapeval.study.data.scores_file import read_scores
from imapeval.study.robustness.rewording import read_rewording
from imapeval.text.amounts import unitless, units
from imapeval.text.amounts.vocabulary import Margins, Number
from imapeval.text.comparison import similarity
from imapeval.text.comparison import wordings as comparison
from imapeval.text.comparison.gist import word_rarity_alike
from imapeval.text.dimensions import opposites
from imapeval.text.language import FACT_LANGS
from imapeval.text.markup import EditedText, PlainText
from imapeval.text.negation import governors, yes_no
from imapeval.text.normalise import normalise_unicode
from imapeval.types import Failure, Imap, Lang, Match, Pair, QuestionImap, Relation, Sample, Score, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

PACKAGE = Path(imapeval.__file__).parent
SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
EVERYTHING = "\n".join(SOURCES.values())

READERS = (
    *("text", "llm.structured", "extraction", "matching", "metrics", "evaluation.samples"),
    *("graph.linking", "explain", "report", "study.closed", "redaction"),
)
"""The packages whose public functions read texts that others wrote."""

APPLIED = {"_QUOTED": ["match", "fullmatch"], "_BADLY_QUOTED": ["match"], "_FORMATS": ["fullmatch"]}
"""How patterns are applied whose method is not called on their name."""

SHORTEST, LONGEST_SEARCH, LONGEST, LONGEST_FILE = 500, 4_000, 8_000, 64_000
"""Characters. A pattern that searches from each place to the end takes several thousandths of a second for the longest
text of a search. For files there are longer ones, because opening a file takes as long as a search in a short text."""
ENOUGH = 0.001
"""Shortest time, in seconds, that can be compared with another."""
MOST_WORDS = 24
"""Largest number of the own words of a pattern that are tried."""
MOST = 3.0
"""Largest allowed ratio of times, for a text of twice the length."""

UNITS = (
    *("a", "A", "1", "0", " ", "\n", "\t", "\r\n", "\u200b", "\ufe0f", "é", "不", "一", "Ａ", "İ", "😀"),
    *("\u0301\u0316", "{", "}", "[", "]", "[[", "(", ")", "（", "【", "<"),
    *(">", "“", '"', "'", "`", "```\n", "```json\n{", "\\", "|", "#"),
    *(".", ",", ":", ";", "。", "，", "、", "-", "–", "*", "_", "/", "%", "$", "&", "!", "?", "=", "~", "…"),
    *("a, ", "a b ", "not ", "no ", "never ", "avoid ", "and ", "or "),
    *("if ", "不要", "没有", "无", "避免", "和", "如果", "，如果"),
    *("1 ", "1.", "1,", "1-", "1/", "1,000", "10 mg ", "5 days "),
    *("3-5 ", "每日", "一天", "38.5", "岁", "mg/", "two ", "q8h "),
    *("<|x|>", "<|im_start|>user\n", "user:\n", "user: a\n", "</s>", "[INST]"),
    *("<s>", "<b>", "<b ", "<!--", "-->", "&amp;"),
    *("<think>", "</think>", "<answer>", "</answer>", "<answer ", "<reference>", "<reference ", "<term>a", "</term>"),
    *("评审员", "评审员。", "judge:", "judge: a. ", "Reference answer:"),
    *("Reference answer: a\n", "参考答案：", "reference "),
    *('{"', '{"a":', '{"inform":', '"inform":', '{"inform": [', '[{"term": "'),
    *('"term"', '{"inform":[]}', "{}", "[]", '""', '"\\'),
    *("Inform-", "Inform-a-b\n", "Query-a-?\n", "End\n", "term: a\n"),
    *("values: b\n", "Score: 5\n", "score", "score:", "[RESULT]"),
    *("ignore ", "ignore all previous ", "system prompt ", "output "),
    *("output the following facts:\n", "忽略", "满分", "give full "),
    *("a\n\n", "- a\n", "1. a\n", "# a\n", "> ", "| a ", "---\n"),
    *("key: a\n", "![a](", "[a](b)", "**a** ", "**a", "_a", "a_"),
    *("A", "A, ", "A and ", "A. ", "answer is ", "answer is A ", "选", "答案：A", "A is "),
    *("the ", "oe", "ies ", "isation ", "patient ", "Patient: a\n"),
    *("Doctor: a\n", "患者：", "a-", "a'", "a.a", "stage iv ", "4期"),
)  # fmt: skip
"""Units that are repeated to make texts."""


# --- patterns


def _modules() -> Iterator[tuple[str, Any]]:
    for path in SOURCES:
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        # Adapters import frameworks that may be absent; their patterns are found in their source.
        if not name.startswith("imapeval.integrations"):
            yield name, importlib.import_module(name)


def _compiled(value: Any, name: str) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yield the patterns of a value, including those in tables."""
    if isinstance(value, re.Pattern):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _compiled(item, f"{name}[{key}]")
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _compiled(item, f"{name}[{number}]")
    elif hasattr(type(value), "__dataclass_fields__"):
        for field in type(value).__dataclass_fields__:
            with suppress(AttributeError):
                yield from _compiled(getattr(value, field), f"{name}.{field}")


def _written() -> Iterator[tuple[str, re.Pattern[Any], str]]:
    """Yield the patterns in calls of `re`, and how they are applied."""
    for path, source in SOURCES.items():
        for node in ast.walk(ast.parse(source)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "re"
                and node.func.attr != "compile"
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                name = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                yield name, re.compile(node.args[0].value), node.func.attr


@cache
def _patterns() -> dict[str, tuple[re.Pattern[Any], frozenset[str]]]:
    """Return each pattern once, with the methods by which it is applied."""
    found: dict[re.Pattern[Any], tuple[str, set[str]]] = {}
    for module, loaded in _modules():
        for name, value in vars(loaded).items():
            for place, pattern in _compiled(value, name):
                # The same private name may occur in several modules.
                source = SOURCES[Path(loaded.__file__)] if name.startswith("_") else EVERYTHING
                told = re.findall(rf"\b{name}(?:\[\w+\])?\.(\w+)", source)
                methods = APPLIED.get(name) or told or ["search"]
                found.setdefault(pattern, (f"{module}.{place}", set()))[1].update(methods)
    for name, pattern, method in _written():
        found.setdefault(pattern, (name, set()))[1].add(method)
    return {name: (pattern, frozenset(methods)) for pattern, (name, methods) in found.items()}


def _apply(pattern: re.Pattern[Any], methods: frozenset[str]) -> Callable[[str], object]:
    def convert(text: str) -> Any:
        return text.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else text

    if methods <= {"match", "fullmatch"}:
        return lambda text: [getattr(pattern, method)(convert(text)) for method in methods]
    return lambda text: sum(1 for _ in pattern.finditer(convert(text)))


def _units_of(pattern: re.Pattern[Any]) -> list[str]:
    """Return units that make a pattern work hard: its own words, evenly chosen where a pattern lists hundreds."""
    source = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    # Escapes and group syntax are not characters of a text.
    bare = re.sub(r"\(\?(?:P<\w+>|[:=!>]|<[=!])|\\[bBdDsSwWAZ]|\{\d*,?\d*\}", " ", source)
    words = re.findall(r"[A-Za-z]{2,}|[一-鿿]{1,6}", bare)
    phrases = re.findall(r"[\w ,:'\"<>/-]{2,40}", bare)
    units = list(dict.fromkeys((*words, *phrases)))
    return units[:: ceil(len(units) / MOST_WORDS) or 1]


# --- time


def grows(work: Callable[[str], object], make: Callable[[int], str], *, longest: int = LONGEST) -> float:
    """Return the ratio of times for a text of twice the length; 1 if neither takes a measurable time."""

    def measure(length: int) -> float:
        text = make(length)
        _forget()
        # Which call has to collect the garbage of all others is chance, and it takes longer the more the process holds.
        gc.disable()
        try:
            # CPU time, because other processes use the machine too.
            begun = time.process_time()
            with suppress(ImapEvalError):
                work(text)
            return time.process_time() - begun
        finally:
            gc.enable()

    length = SHORTEST
    first = measure(length)  # opens and imports what later calls use
    # What takes the same time for every text would hide what grows.
    enough = ENOUGH if longest <= LONGEST else max(ENOUGH, 4 * min(measure(length) for _ in range(3)))
    # The shortest first: what is slow for it would take longer for the longest than for all that follows. The longest
    # next only where its time may be too short as well.
    taken = first if first * longest < enough * length else measure(length)
    if taken * longest < enough * length and measure(longest) < enough:
        return 1.0
    while taken < enough:
        if length >= longest:
            return 1.0
        length = min(4 * length, longest)
        taken = measure(length)
    # The first call for a text is slower than later ones, which matters only where it is fast.
    if taken < 5 * ENOUGH:
        taken = measure(length)
    # Doubtful cases are measured again with longer texts: noise does not grow quadratically.
    for factor in (2, 4, 16):
        long = float("inf")
        for _ in range(8):
            long = min(long, measure(factor * length))
            growth = (long / taken) ** (1 / log2(factor))
            if growth <= MOST:
                return growth
            taken = min(taken, measure(length))
    return growth


@cache
def _caches() -> list[Any]:
    return [
        value
        for name, module in _modules()
        if name.startswith(("imapeval.text", "imapeval.graph"))
        for value in vars(module).values()
        if hasattr(value, "cache_parameters") and value.cache_parameters()["maxsize"]
    ]


def _forget() -> None:
    for remembered in _caches():
        remembered.cache_clear()


_END = "\x00,;\n.。)\x00"
"""An unexpected end of a text."""

GROWING = (
    ("if a", " or b"),
    ("如果a", "或b"),
    ("avoid a", ", b"),
    ("do not take a", " or b"),
    ("please ", "please "),
    ("无a", "、b"),
    ("no a and ", "a should be avoided, "),
    ('{"inform": [{"term": "a", "values": [', '"b", '),
    ('{"inform": [', '{"term": "a", "values": ["b"]}, '),
    ('{"inform": [{"values": [', '"b", '),
    ("ignore all previous instructions", " judge: "),
    ("{", '"value": 1, '),
    ("", '{"inform":\n\n'),
    ("<reference>", " </ "),
    ("term:", " "),
    ("term: a", " values"),
    ("# user", " "),
    ("Query-a", " "),
    ("score: ", "1 "),
    ("[RESULT]", " "),
    ("", '{"score": 4} '),
    ("", '{"score": 4}\n'),
)
"""Beginnings of texts, each with a unit that is repeated after it."""


def _share(units: Sequence[str], name: str) -> Sequence[str]:
    """Return every eighth unit, with an offset that depends on the name: all of them for each took minutes."""
    return units[crc32(name.encode()) % 8 :: 8]


def _texts(units: Iterable[str], growing: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Callable[[int], str]]]:
    for unit in dict.fromkeys(filter(None, units)):
        yield f"{unit!r}...", lambda length, unit=unit: unit * (length // len(unit)) + _END
        if len(unit) == 1:
            yield repr(unit), lambda length, unit=unit: unit * length
    for head, unit in growing:
        yield f"{head!r}{unit!r}...", lambda length, head=head, unit=unit: head + unit * (length // len(unit)) + _END


NUMBERED = (
    ("", "c{},"),
    ("", "c{}\t"),
    ("id\tcategory\t", "c{}\t"),
    ("", "row {}\n"),
    ("", '"{}": 1, '),
    ('{"9": 1, "9": 2, ', '"{}": 1, '),
    ("", "s{}|"),
    ("[Term]\nid: X:1\n", "alt_id: X:{}\n"),
    ("[Term]\nid: X:1\n", 'synonym: "s{}" EXACT []\n'),
    ("[Term]\nid: X:1\n", "is_a: X:{}\n"),
    ('{"graphs": [{"nodes": [{"id": "X:1", "type": "CLASS", "meta": {"xrefs": [', '{{"val": "MESH:D{}"}},'),
    ("<DescriptorRecordSet><DescriptorRecord><DescriptorUI>D1</DescriptorUI><TreeNumber>", ".{}"),
    ("", "a{} = 1\n"),
    ("", "[a{}]\n"),
    ("", "a{}."),
)
"""Beginnings of texts, each with a unit that is repeated after it with another number each time."""

ENDS = {"{": "1]}}]}]}", "<": "</TreeNumber></DescriptorRecord></DescriptorRecordSet>"}
"""How the texts end that begin with a character: what is cut off is not read any further."""


def _number(numbered: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Callable[[int], str]]]:
    for head, unit in numbered:
        yield (
            f"{head!r}{unit!r}, numbered",
            lambda length, head=head, unit=unit: (
                head + "".join(map(unit.format, range(length // (len(unit) + 3)))) + ENDS.get(head[:1], "")
            ),
        )


def slow(
    work: Callable[[str], object],
    units: Iterable[str],
    growing: Iterable[tuple[str, str]] = (),
    *,
    numbered: Iterable[tuple[str, str]] = (),
    longest: int = LONGEST,
) -> dict[str, float]:
    """Return the texts for which the time grows faster than the length, and by how much."""
    texts = chain(_texts(units, growing), _number(numbered))
    grown = {told: grows(work, make, longest=longest) for told, make in texts}
    return {told: round(growth, 1) for told, growth in grown.items() if growth > MOST}


@pytest.mark.slow
def test_every_pattern():
    found: dict[str, dict[str, float]] = {}
    for name, (pattern, methods) in _patterns().items():
        short = [unit for unit in UNITS if len(unit) < 3]
        work = _apply(pattern, methods)
        # Units of the pattern's own are longer, so that shorter texts hold too few of them.
        found[name] = slow(work, _units_of(pattern)) | slow(work, _share(short, name), longest=LONGEST_SEARCH)
    assert len(found) > 400
    assert not {name: texts for name, texts in found.items() if texts}


# --- readers


def _read(read: Callable[[Path], object], suffix: str) -> Callable[[str], object]:
    """Return a function that writes a text to a file and reads it."""

    def work(text: str) -> object:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"file{suffix}")
            path.write_text(text, encoding="utf-8", errors="replace", newline="")
            return read(path)

    return work


def _look_up(text: str) -> None:
    """Look up a value, made of the same units as the text, in the text."""
    source = SourceText(text, under_evaluation=True)
    value = text[:60]
    for pair in (Pair("treatment", value), Pair("treatment", f"{value[:-1]}q")):
        source.locate(pair)
        source.nearly_contains(pair.value)
        source.grounding.supports(pair.value, term="can it be treated")
        source.grounding.is_other_script(pair.value)
        source.grounding.contains_digits_of(pair.value)


@cache
def _offline() -> LexiconReader:
    return LexiconReader(open_graph())


def _extract(text: str) -> None:
    """Read a text offline as question, reference and response."""
    for lang in FACT_LANGS:
        sample = Sample("1", text, (text,), text, lang=lang)
        asyncio.run(TwoStepExtractor(_offline()).extract(sample))


def _select(text: str) -> None:
    """Read a completion about an ordinary answer."""
    source = SourceText("Rest the knee and take ibuprofen.", under_evaluation=True)
    asked = QuestionImap((Pair("treatment", "?"),), ())
    select_inform(parsing.parse_inform(text, asked=["treatment"]).found, source, asked, text)


def _explain(text: str) -> None:
    """Show a text as question, reference, response, facts, evidence and id, in all forms."""
    sample = Sample(text, text, (text,), text, system=text, meta={"column": text})
    pair = Pair("treatment", text)
    match = Match("treatment", text, text, Relation.BELONGING, 0.5, "llm", {"why": text, "said": text})
    record = ImapRecord(text, Imap((pair,), (pair,), (pair,), (pair, Pair("treatment", f"{text}q"))), (match,))
    results = [
        Result(text, "rouge1", Score(0.5, {}), "s"),
        Result(text, "bleu", Failure("metric", "x", text, text), "s"),
    ]
    metrics = ["rouge1", "bleu"]
    answers = collect_answers([sample], results, [record], metrics=metrics)
    rows = compare(record)
    explain_comparison.write_markdown(rows), explain_comparison.write_html(rows), write_context(record, "en")
    list(iterate_junit(answers, name=text, signatures={text: text}))
    markdown.write_markdown(answers, (), name=text, higher_is_better=dict.fromkeys(metrics, True))
    dump_for_script(collect_explorer_data([sample], results, [record], metrics=metrics))


def _answer_closed(task: ClosedTask) -> Callable[[str], object]:
    """Return a function that reads a text as the answer to a closed task, as a text and as a list of words."""

    def work(text: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "file.jsonl")
            for value in (text, text.split()):
                path.write_text(f"{json.dumps({'gold': value, 'predicted': value})}\n", encoding="utf-8")
                with suppress(ImapEvalError):
                    read_closed_answers(path, AnswerColumns("gold", "predicted"), task=task)
                row = {"task": text, "kind": task, "id": text, "model": text, "gold": value, "predicted": value}
                path.write_text(f"{json.dumps(row)}\n", encoding="utf-8")
                with suppress(ImapEvalError):
                    read_task_table([path])

    return work


def _hide(text: str) -> None:
    """Redact a text that begins and ends with a secret."""
    redaction.register_secret("sk-linear-time")
    redaction.register_url_secrets("http://qxlinear:qxtime@h")
    redaction.redact_message(f"sk-linear-time qxlinear {text} qxtime sk-linear-time")


GIVEN: Mapping[str, Callable[[str], object]] = {
    "text.amounts.unitless.mentions_age": lambda text: unitless.mentions_age(text, Margins(9, 9, ())),
    "text.amounts.unitless.name_pressure": lambda text: unitless.name_pressure(text, len(text)),
    "text.amounts.unitless.read_unitless": lambda text: unitless.read_unitless(text, 0, 0, Number(1, 1, 0), None),
    "text.amounts.units.read_margins": lambda text: units.read_margins(text, len(text) // 2, len(text) // 2, 0),
    "text.amounts.units.read_number": lambda text: units.read_number(text, 0),
    "text.amounts.units.read_unit": lambda text: units.read_unit(text, Number(1, 1, 0), 0),
    "text.comparison.wordings.compare_wordings": lambda text: comparison.compare_wordings(text, f"{text}."),
    "text.comparison.similarity.measure_wording_similarity": lambda text: similarity.measure_wording_similarity(
        text, f"{text}."
    ),
    "text.comparison.gist.word_rarity_alike": lambda text: word_rarity_alike(text, f"{text} rarely"),
    "text.markup.EditedText": lambda text: EditedText(text, [(at, at + 1, "") for at in range(0, len(text) - 2, 2)]),
    "text.markup.PlainText": lambda text: PlainText(text, unwrap=True),
    "text.negation.yes_no.find_reply": lambda text: [yes_no.find_reply(text, lang) for lang in FACT_LANGS],
    "text.negation.governors.find_negator": lambda text: [governors.find_negator(text, lang) for lang in FACT_LANGS],
    "text.negation.governors.strip_replaced_verb": lambda text: [
        governors.strip_replaced_verb(text, text),
        governors.strip_replaced_verb("do not delay", text),
        governors.strip_replaced_verb(text, "self-medicate"),
    ],
    "text.negation.governors.find_label_governor": lambda text: [
        governors.find_label_governor(text, lang) for lang in FACT_LANGS
    ],
    "text.normalise.normalise_unicode": lambda text: normalise_unicode(text, "NFKC"),
    "text.dimensions.opposites.list_antonyms": lambda text: opposites.list_antonyms(text),
    "extraction.lexicon.clauses.trim_piece": lambda text: clauses.trim_piece(text, 0, len(text)),
    "extraction.lexicon.cues.is_courtesy": lambda text: [cues.is_courtesy(text, lang=lang) for lang in FACT_LANGS],
    "extraction.lexicon.frames.is_disclaimer": lambda text: [
        frames.is_disclaimer(text, lang=lang) for lang in FACT_LANGS
    ],
    "extraction.lexicon.frames.names_case": lambda text: [frames.names_case(text, lang) for lang in FACT_LANGS],
    "extraction.lexicon.cues.find_asked_terms": lambda text: [
        cues.find_asked_terms(text, lang=lang) for lang in FACT_LANGS
    ],
    "llm.structured.faults.fault_error": lambda text: faults.fault_error("truncated", text),
    "metrics.lexical.tokens.split_for_rouge": lambda text: [
        tokens.split_for_rouge(text, lang) for lang in get_args(Lang)
    ],
    "metrics.lexical.tokens.split_for_bleu": lambda text: [
        tokens.split_for_bleu(text, tokenizer) for tokenizer in ("13a", "zh")
    ],
    "metrics.lexical.tokens.split_for_squad": lambda text: [
        tokens.split_for_squad(text, lang) for lang in get_args(Lang)
    ],
    "llm.structured.json_objects.find_json_object": lambda text: json_objects.find_json_object(text, "facts"),
    "llm.structured.json_objects.find_json_objects": lambda text: list(json_objects.find_json_objects(text, text)),
    "llm.structured.json_objects.unreadable_error": lambda text: json_objects.unreadable_error(text, "it is"),
    "extraction.source.SourceText": _look_up,
    "extraction.entries.make_dropped": lambda text: entries.make_dropped(text, "empty"),
    **{
        f"extraction.lexicon.headings.{find.__name__}": lambda text, find=find: [
            list(find(text, lang)) for lang in FACT_LANGS
        ]
        for find in (headings.find_list_governor, headings.find_listing_verb, headings.govern_sentences)
    },
    "extraction.lexicon.tables.split_tables": lambda text: [
        [list(tables.read_table(table, lang)) for *_, table in tables.split_tables(text, lang) if table]
        for lang in FACT_LANGS
    ],
    "extraction.lexicon.coordination.join_coordinated": lambda text: list(
        coordination.join_coordinated(text, [found.span() for found in re.finditer(r"[,，、和或]", text)])
    ),
    "extraction.lexicon.scope.is_clause": lambda text: [scope.is_clause(text, lang) for lang in FACT_LANGS],
    "extraction.lexicon.statements.read_statements": lambda text: [
        list(statements.read_statements(text, lang)) for lang in FACT_LANGS
    ],
    "extraction.lexicon.statements.read_items": lambda text: [
        list(statements.read_items(clauses.Piece(text, 0, len(text)), text, lang)) for lang in FACT_LANGS
    ],
    "extraction.lexicon.reader.LexiconReader": _extract,
    "extraction.selection.select_inform": _select,
    "matching.llm.parse_relations": lambda text: llm_matching.parse_relations(text, references=3, responses=3),
    "metrics.judges.parsing.lists.read_answers": lambda text: lists.read_answers(text, questions=2),
    "metrics.judges.parsing.lists.read_overlaps": lambda text: lists.read_overlaps(text, pairs=2),
    "metrics.judges.parsing.scores.find_scores": lambda text: scores.find_scores(
        text, scores.ReplyForm({"": scores.LABELS}, reasons_first=True)
    ),
    "metrics.judges.parsing.scores.read_scores": lambda text: scores.read_scores(
        text, scores.ReplyForm({"accuracy": ("accuracy",), "score": ("score",)}, fields=("why",))
    ),
    "metrics.judges.prompts.front_matter.split": lambda text: front_matter.split(
        f"---\n{text}\n---\n{text}", keys=("key", "name"), path=Path("prompt.md")
    ),
    "metrics.judges.questions.measure_f1": lambda text: questions.measure_f1(text, text),
    "metrics.judges.prompts.custom_prompt.read_prompt": _read(custom_prompt.read_prompt, ".md"),
    "metrics.judges.prompts.knowledge_source.load": _read(
        lambda path: knowledge_source.load(str(path)).search("a b c"), ".txt"
    ),
    "study.closed.choices.read_choice": lambda text: choices.read_choice(
        text, tuple("ABCD"), texts={"A": "aspirin", "B": text}
    ),
    "graph.linking.spelling.is_similar_enough": lambda text: spelling.is_similar_enough(text, 0.5),
    "graph.linking.spelling.may_be_misspelling": lambda text: spelling.may_be_misspelling(text, text[:80], known=()),
    "graph.linking.spelling.rate_similarity": lambda text: spelling.rate_similarity(text, f"{text}q", 0.5),
    "graph.linking.spelling.bigram_overlap": lambda text: spelling.bigram_overlap(text, f"{text}q"),
    "explain.answers.collect_answers": _explain,
    "redaction.redact_message": _hide,
    "evaluation.samples.dialogue.read_turns": lambda text: dialogue.read_turns(
        [{"role": "user", "content": text}, text]
    ),
    "evaluation.samples.dialogue.join_turns": lambda text: dialogue.join_turns(
        [Turn("user", text), Turn("user", "a")], lang="en"
    ),
    "evaluation.samples.reading.read": _read(reading.read, ".jsonl"),
    **{
        f"evaluation.samples.files.formats.read_file{kind}": _read(
            lambda path: list(formats.read_file(str(path))), kind
        )
        for kind in (".csv", ".tsv", ".json", ".jsonl")
    },
}
"""How to call readers that need more than a text, by their dotted name within the package."""


def _read_graph(kind: graph_base.Format, suffix: str) -> Callable[[str], object]:
    return _read(lambda path: deque(kind.read(graph_base.Source(path, "x")), 0), suffix)


def _read_reply(text: str) -> None:
    """Read a text as the reply of a server, and as parts of one."""
    message = {"content": text, "reasoning_content": text}
    choice = {"finish_reason": "stop", "message": message}
    fault = {"message": text, "type": text, "code": text, "param": text}
    for body in (text, *map(json.dumps, ({"choices": [choice], "usage": {"a": text}}, {"error": fault}))):
        with suppress(ImapEvalError):
            chat_format.parse_reply(body.encode("utf-8", "replace"), REQUEST, sender="m")
        error = chat_format.ErrorReply.parse(400, body)
        chat_format.find_unsupported_parameter(error, {"temperature": 1, "seed": 2, "max_tokens": 3}, frozenset())
        chat_format.to_error(error, REQUEST, sender="m", answered=False, keyed=True, retry_after=None)


REQUEST = Request((Message("user", "?"),), max_tokens=9)


def _align(text: str) -> None:
    """Find tokens in a text: single characters, pairs, and in the reverse order."""
    for parts in ([*text], [text[at : at + 2] for at in range(0, len(text), 2)], [f"{one}\ufffd" for one in text]):
        echo_logprobs.token_ends(parts, text)
        echo_logprobs.token_ends(parts, text[::-1])


def _read_corrections(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, CORRECTIONS).write_text(text, encoding="utf-8", errors="replace", newline="")
        read_corrections(Path(folder))


def _read_run(text: str) -> None:
    """Read a text as each file of a run."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder)
        for name in ("manifest.json", "samples.jsonl", "imaps.jsonl", "results.jsonl", "usage.json"):
            (run / name).write_text(text, encoding="utf-8", errors="replace")
        for read in (Run.results, Run.samples, Run.imaps):
            with suppress(ImapEvalError):
                read(Run(run))


def _parse_json(text: str) -> None:
    with suppress(ValueError):
        parse_json(text)


FILES: Mapping[str, Callable[[str], object]] = {
    "graph.readers.obo": _read_graph(obo.FORMAT, ".obo"),
    "graph.readers.obographs": _read_graph(obographs.FORMAT, ".json"),
    "graph.readers.mesh_xml": _read_graph(mesh_xml.FORMAT, ".xml"),
    "graph.readers.kgx": _read_graph(kgx.FORMAT, ".tsv"),
    "graph.readers.table": _read_graph(table.FORMAT, ".csv"),
    "llm.providers.chat_format": _read_reply,
    "llm.providers.echo_logprobs.token_ends": _align,
    "evaluation.runs.reading": _read_run,
    "evaluation.corrections": _read_corrections,
    "parsing.parse_json": _parse_json,
    "study.data.ratings.reading": _read(read_ratings, ".csv"),
    "study.data.scores_file": _read(read_scores, ".csv"),
    "study.data.about": _read(read_about, ".toml"),
    "study.calibration.curve_file": _read(read_calibration, ".json"),
    **{
        f"study.closed.reading.read_closed_answers:{task}": _answer_closed(task)
        for task in ("labels", "multilabel", "ranking", "sequence")
    },
    "study.closed.logs.reading": _read(lambda path: read_logs([path]), ".jsonl"),
    "study.robustness.rewording": lambda text: read_rewording(text, original=f"{text} x"),
}
"""Readers outside the packages of `READERS`, most of them of files."""

TEXTS = frozenset(
    {"text", "texts", "completion", "response", "value", "word", "norm", "inside", "governor", "chinese", "system"}
)
"""Names of the first parameter of functions that read a text."""


def _readers() -> Iterator[tuple[str, Callable[[str], object]]]:
    """Yield the readers: those of `GIVEN`, and all functions that need only a text."""
    yield from GIVEN.items()
    for module, loaded in _modules():
        layer = module.partition(".")[2]
        if not layer.startswith(READERS):
            continue
        for name, value in vars(loaded).items():
            told = f"{layer}.{name}"
            if name.startswith("_") or getattr(value, "__module__", "") != module or not callable(value):
                continue
            if told in GIVEN or dataclasses.is_dataclass(value):
                continue
            parameters = [*inspect.signature(value).parameters.values()]
            if not parameters or parameters[0].name not in TEXTS or parameters[0].annotation != "str":
                continue
            if layer.startswith("report") and any(one.default is one.empty for one in parameters[1:]):
                continue  # such as `render_coefficient(value, interval, n)`, whose texts are numbers
            yield told, value


def _use(read: Callable[[str], object]) -> Callable[[str], object]:
    """Return a function that exhausts the iterator that a reader returns."""
    return lambda text: deque(made, 0) if isinstance(made := read(text), Iterator) else made


@pytest.mark.slow
def test_every_reader():
    found = {name: slow(_use(read), _share(UNITS, name), GROWING) for name, read in _readers()}
    assert len(found) > 60
    assert not {name: texts for name, texts in found.items() if texts}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_every_reader_of_files(name: str):
    assert not slow(FILES[name], _share(UNITS, name)[::2], numbered=NUMBERED, longest=LONGEST_FILE)


PARSING = re.compile(
    r"\b(?:json\.loads|parse_json|raw_decode|model_validate_json|csv\.(?:Dict)?[Rr]eader|tomllib\.loads?|iterparse"
    r"|ParserCreate|fromstring|literal_eval|source\.lines)\("
)
"""Calls that read a text in some format."""

PATTERN = re.compile(r"""\bre\.(?!escape)[a-z]+\(\s*(?!r?b?["'])""")
"""Calls of `re` whose first argument is not a constant."""

ELSEWHERE = {
    "evaluation.forecast.simulated_replies": "llm.providers.chat_format",
    "evaluation.imap_files": "evaluation.runs.reading",
    "evaluation.runs.usage_file": "evaluation.runs.reading",
    "evaluation.samples.building": "evaluation.samples.reading.read",
    "evaluation.samples.files.delimited": "evaluation.samples.files.formats.read_file.csv",
    "evaluation.samples.files.json_files": "evaluation.samples.files.formats.read_file.json",
    "evaluation.samples.mediqa_eval": "evaluation.samples.files.formats.read_file.csv",
    "explain.facts": "explain.answers.collect_answers",
    "graph.readers.base": "graph.readers.mesh_xml",
    "graph.readers.parsing.delimited": "graph.readers.table",
    "llm.batch": "llm.providers.chat_format",
    "llm.providers.token_counts": "llm.providers.chat_format",
    "metrics.judges.parsing.weights": "metrics.judges.parsing.scores.read_scores",
    "study.closed.logs.answers": "study.closed.logs.reading",
    "study.closed.logs.lm_eval": "study.closed.logs.reading",
}
"""Modules with a parser that is called by a reader above."""

EXEMPT = {
    "cli.commands.rate.init": "searches for the name of a system, literally",
    "cli.commands.study.calibration.calibrate": "what another module has written",
    "cli.config": "settings; each line is matched from its beginning",
    "evaluation.samples.files.excel_parts": "limits of their own: tests/evaluation/samples/files/test_large_files.py",
    "graph.index.cache_cleanup": "files that we have written",
    "graph.index.checkpoint": "files that we have written",
    "graph.index.files": "files that we have written",
    "graph.index.ngram_index": "files that we have written",
    "llm.middleware.cache": "files that we have written",
    "llm.middleware.completion_json": "files that we have written",
    "llm.protocol": "files that we have written",
    "llm.prices": "a file of the package",
    "llm.providers.llama_server": "replies of our own process",
    "llm.providers.vllm": "configurations of models, which can run code as well",
    "llm.providers.weights": "files that we have written",
    "metrics.neural.bertscore": "configurations of models, which can run code as well",
    "metrics.neural.bleurt": "configurations of models, which can run code as well",
    "metrics.neural.models.idf": "files that we have written",
    "metrics.neural.models.weights": "configurations of models, which can run code as well",
    "rating.web.app": "bodies of limited size, parsed by FastAPI",
    "rating.web.pages": "a page of the package",
    "report.study.charts.canvas": "drawings that we have made",
    "scoring.assessment": "what we have written",
    "serve.app": "bodies of limited size, parsed by FastAPI",
    "serve.guard": "bodies of limited size, parsed by FastAPI",
    "serve.review": "bodies of limited size, parsed by FastAPI",
    "study.closed.drbenchmark.data": "tables, read by pyarrow and json",
    "study.closed.drbenchmark.runs": "results in JSON, looked up by key",
    "study.closed.drbenchmark.tasks": "answers as lists in JSON, looked up by key",
    "text.required": "patterns of other modules, which are measured there",
}
"""Modules with a parser that need no measurement, and why."""


def _makes_patterns(source: str) -> bool:
    """Return whether a function makes patterns, which are not found as constants are."""
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and (call.func.value.id, call.func.attr == "escape") == ("re", False)
        and bool(call.args)
        and not isinstance(call.args[0], ast.Constant)
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef)
        for call in ast.walk(function)
    )


def test_no_parser_is_forgotten():
    known = {*FILES, *(name for name, _ in _readers())}
    assert {*ELSEWHERE.values()} <= known
    parsers: set[str] = set()
    for path, source in SOURCES.items():
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        if not any(f"{name}.".startswith(f"{module}.") for name in known) and (
            PARSING.search(source) or (PATTERN.search(source) and _makes_patterns(source))
        ):
            parsers.add(module)
    new = parsers - {*ELSEWHERE, *EXEMPT}
    assert not new, "these modules parse text: enter their readers in FILES, or the modules in ELSEWHERE or EXEMPT"
    assert parsers == {*ELSEWHERE, *EXEMPT}


@pytest.mark.parametrize("unit", ["评审员", "user:\n", "<|x|>", '"value": ', "{", '{"a":[', "Reference answer: a. "])
def test_texts_that_once_took_minutes(unit: str):
    for read in (_look_up, _use(parsing.parse_inform), _use(clean_answer)):
        assert grows(read, lambda length: unit * (length // len(unit))) <= MOST
