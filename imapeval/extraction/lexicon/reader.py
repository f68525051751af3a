"""The offline reader: cues, clauses and the names of the graph. Deterministic; no language model, no key, no network.

Queries come from cue phrases (`cues`). Constraints are the question's concept mentions, and age, sex and duration. The
facts of an answer are its statements (`statements`) in their own wording, with negation and condition, without
greetings, disclaimers and repetitions of the question, and the statement that a yes or no stands for
(`question_content`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from imapeval.errors import ExtractionError
from imapeval.extraction.lexicon.clauses import split_sentences
from imapeval.extraction.lexicon.cues import TERMS, QueryTerm, find_asked_terms
from imapeval.extraction.lexicon.question_content import QuestionContent, drop_doctor_turns
from imapeval.extraction.lexicon.statements import read_items
from imapeval.extraction.protocols import MAX_FACTS
from imapeval.graph.linking.mentions import Mention, MentionScanner
from imapeval.signature import signature
from imapeval.text.markup import PlainText
from imapeval.text.negation.stance import ends_with_negator
from imapeval.text.phrases import annotate_pair
from imapeval.threads import offload, run_in_thread
from imapeval.types import AnswerImap, Lang, Pair, QuestionImap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from imapeval.fact_model import FactModel
    from imapeval.graph.store.graph import Graph


_MIN_IMPORTANCE = 0.001
"""Least importance of a fact: if all were 0, an answer of facts that hardly matter would have no weight."""

_DIGIT = r"\d一二三四五六七八九十两"
_UNIT = "个?(?:天|周|星期|月|年)"
_TO = "[~～–至到-]"
_NO_DURATION = (
    # 2019年, 2018-2020年, 2020.3月, 2020年3月, 去年3-5月, 3月5日, 3-5月份, 十二月
    rf"(?:\d{{4}}{_TO})?\d{{4}}年|\d{{4}}\.\d{{1,2}}月|(?:(?<=\d{{4}}年)|(?<=[今去前明]年))(?:\d{{1,2}}{_TO})?\d{{1,2}}月"
    rf"|(?:\d{{1,2}}{_TO})?\d{{1,2}}月(?:\d{{1,2}}[日号]|份|[上中下]旬|初|底|末|开始|起)"
    rf"|(?:[一二三四五六七八九十]{{1,2}}{_TO})?(?:十[一二]?|[一二三四五六七八九])月(?![来余了前])"
    # 一天三次, 一天一包, but not 发烧一天39度 and 一年三个月
    rf"|[一1]{_UNIT}(?=[{_DIGIT}几])(?!\d+(?:\.\d+)?[度℃°]|[{_DIGIT}]+{_UNIT})"
)
"""Dates and frequencies, whose beginning looks like a duration."""

_PERSONAL = re.compile(
    r"(?P<age>(?<![\w.])\d{1,3}(?:\.\d)?(?:[–-]\d{1,3})?[- ]?(?:years?|yrs?|months?|weeks?|days?)[- ]old\b"
    r"|\baged? \d{1,3}\b"
    rf"|(?<![\d.])\d{{1,3}}(?:\.\d)?(?:{_TO}\d{{1,3}}(?:\.\d)?)?\s*[个多]?(?:岁|月大|周岁))"
    r"|(?P<sex>\b(?:male|female|man|woman|boy|girl|pregnant)\b|男性|女性|男(?=[，,婴孩])|女(?=[，,婴孩])|孕妇|怀孕)"
    r"|(?P<duration>\b(?:for|since|past|last) (?:the )?(?:past |last )?(?:\w+(?:[.–-]\w+){0,3} ){1,2}"
    r"(?:days?|weeks?|months?|years?)\b"
    rf"|(?<![{_DIGIT}半])(?<![{_DIGIT}][~～–-])(?<!\d\.(?=\d))(?!{_NO_DURATION})"
    rf"[{_DIGIT}半]++(?:(?:(?<=\d)\.(?=\d)|{_TO})[{_DIGIT}半]++){{0,3}}{_UNIT}(?:来|了|前|余)?)",
    re.IGNORECASE,
)
_PERSONAL_TERMS = {"age": ("age", "年龄"), "sex": ("sex", "性别"), "duration": ("duration", "病程")}
# How a negated value is written: "not pregnant", "no fever".
_NOT: Mapping[Lang, str] = {"en": "not ", "zh": "未"}
_NO: Mapping[Lang, str] = {"en": "no ", "zh": "无"}
_DENIAL_WINDOW = 40
"""Characters before a word that are searched for a negator."""
_CONSTRAINT_TERMS = {
    "disease": ("disease", "疾病"),
    "symptom": ("symptom", "症状"),
    "drug": ("medicine", "药物"),
    "procedure": ("treatment", "治疗"),
    "test": ("test", "检查"),
    "body_part": ("body part", "部位"),
    "organism": ("organism", "病原体"),
    "factor": ("factor", "因素"),
}


@dataclass(frozen=True)
class LexiconReader:
    """An `ImapReader` that needs no language model.

    Attributes:
        graph: Its names are found in the texts.
        facts: Weighs the facts of an answer by the question; None to weigh all alike.
    """

    graph: Graph
    facts: FactModel | None = None
    _scanner: MentionScanner = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_scanner", MentionScanner(self.graph))

    @property
    def signature(self) -> str:
        weights = {} if self.facts is None else {"importance": self.facts.identity}
        return signature("lexicon", graph=self.graph.hash[:12], **weights, v="21")

    @property
    def concurrency(self) -> int:
        """1: it never waits for anything."""
        return 1

    async def read_question(self, question: str, *, lang: Lang) -> QuestionImap:
        """Return the terms asked for and the mentions given; see `ImapReader.read_question`.

        Raises:
            ExtractionError: The question has no letters.
        """
        return await offload(lambda: self._read_question(question, lang), question)

    async def read_answer(self, answer: str, *, question: str, imap: QuestionImap, lang: Lang) -> AnswerImap:
        """Return one pair for every statement of the answer; see `ImapReader.read_answer`."""
        # Even a short answer keeps the small model busy for a while.
        size = len(answer) + len(question)
        return await run_in_thread(lambda: self._read_answer(answer, question, imap, lang), size=size)

    def _read_question(self, question: str, lang: Lang) -> QuestionImap:
        if not any(char.isalpha() for char in question):
            raise ExtractionError("the question has no words", kind="no-query", raw=question)
        plain = PlainText(drop_doctor_turns(question), unwrap=True).text
        query = tuple(Pair(term.label(lang), "?") for term in find_asked_terms(plain, lang=lang))
        return QuestionImap(query, tuple(dict.fromkeys(self._find_constraints(question, lang))))

    def _read_answer(self, answer: str, question: str, imap: QuestionImap, lang: Lang) -> AnswerImap:
        asked = [term for pair in imap.query for term in TERMS if term.label(lang) == pair.term]
        pairs: dict[tuple[str, str], Pair] = {}
        plain = PlainText(answer)
        question_text = PlainText(question, unwrap=True).text
        content = QuestionContent(question_text, lang)
        for piece in content.read_statements(plain.text):
            mentions = self._scanner.scan(piece.text, lang=lang)
            term = _choose_term(piece.text, mentions, asked, lang)
            label = term.label(lang)
            pair = _locate(Pair(label, piece.text), plain, piece.start, piece.end)
            if piece.possible and pair.certainty == "certain":
                pair = replace(pair, certainty="possible")
            pairs.setdefault((label, piece.text), pair)
            if len(pairs) == MAX_FACTS:
                break
        # A statement and its denial are both kept: without them, a wrong answer would gain by denying itself.
        found = tuple(pairs.values())
        if self.facts is None:
            return AnswerImap(found)
        weights = self.facts.weigh(question_text, [pair.value for pair in found])
        return AnswerImap(
            tuple(
                replace(pair, importance=max(_MIN_IMPORTANCE, round(float(weight), 3)))
                for pair, weight in zip(found, weights, strict=True)
            )
        )

    def _find_constraints(self, question: str, lang: Lang) -> Iterator[Pair]:
        plain = PlainText(question, unwrap=True)
        for hit in _PERSONAL.finditer(plain.text):
            term = _PERSONAL_TERMS[str(hit.lastgroup)][lang == "zh"]
            denied = ends_with_negator(plain.text[max(0, hit.start() - _DENIAL_WINDOW) : hit.start()])
            yield _locate(Pair(term, _NOT[lang] + hit.group() if denied else hit.group()), plain, *hit.span())
        for sentence in split_sentences(plain.text):
            for item in read_items(sentence, plain.text, lang):
                own = plain.text[item.start : item.end]
                # The governor of the list, which precedes each of its items.
                # An amount has none: "dose: 5 mg" is read as "5 mg", at the place of its label.
                governor = item.text[: max(0, item.text.find(own))]
                for mention in self._scanner.scan(own, lang=lang):
                    if labels := _CONSTRAINT_TERMS.get(mention.types[0]):
                        # The constraint is "no fever", not "fever".
                        denied = ends_with_negator(governor + own[: mention.start])
                        value = _NO[lang] + mention.text if denied else mention.text
                        start = item.start + mention.start
                        yield _locate(Pair(labels[lang == "zh"], value), plain, start, start + len(mention.text))


def _locate(pair: Pair, plain: PlainText, start: int, end: int) -> Pair:
    """Return a pair with its position in the original text and the fields parsed from its value."""
    return replace(annotate_pair(pair), span=plain.to_original(start, end))


def _choose_term(text: str, mentions: Sequence[Mention], asked: Sequence[QueryTerm], lang: Lang) -> QueryTerm:
    """Return the asked term that a piece informs about.

    The type of its head (the last name in Chinese, the first in English) and its wording count twice, the types of
    other names once; ties, and pieces that fit no term, go to the term asked first.
    """
    types = [mention.types[0] for mention in (reversed(mentions) if lang == "zh" else mentions)]

    def rate(term: QueryTerm) -> int:
        head = 2 * (types[0] in term.types) if types else 0
        others = any(other in term.types for other in types[1:])
        wording = 2 * (term.answer_cue.search(text) is not None)
        return max(head, others) + wording

    return max(asked, key=rate)
