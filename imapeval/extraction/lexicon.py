"""The offline extractor: cues, clauses and the graph's names. Deterministic; no model, no key, no network.

What is asked comes from cue phrases (`cues`). What is given are the question's concept mentions with age, sex and
duration. What an answer informs of are its items (`clauses`): a greeting or disclaimer states nothing; an item that
is, but for fillers, one name of the graph gives that name; any other gives its own wording, negation kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from imapeval.errors import ExtractionError
from imapeval.extraction.clauses import Piece, items, sentences, trim
from imapeval.extraction.cues import TERMS, Term, asked_terms, disclaims, states_nothing
from imapeval.extraction.mentions import Dictionary, Mention, Scanner
from imapeval.polarity import negated
from imapeval.signature import signature
from imapeval.types import AnswerImap, Lang, Pair, QuestionImap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_VALUE = 200
"""Characters of a value; a longer clause is cut at a word. Nobody states one fact in more."""

MAX_PAIRS = 400
"""Inform pairs read from one text. Beyond any real answer; bounds the quadratic work of matching."""

NAME_SHARE = 0.67
"""Share of an item's letters from which a name of the graph stands for the whole item. The rest is filler then; with
less, context goes that matters, and in Chinese a name may be a piece of a longer word (性治疗 in 支持性治疗)."""

# What opens an item without adding to the fact.
_LEAD: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"^(?:(?:and|or|but|so|then|also|however|therefore|additionally|in addition|first(?:ly)?|second(?:ly)?|finally"
        r"|if possible|please|kindly|usually|generally|typically|overall|in general|in this case|in your case)[, ]+"
        r"|(?:i|we) (?:would |will |do |can |strongly )*(?:suggest|recommend|advise|think|believe|feel|see)(?: that| you| to)*\s+"
        r"|(?:it|this|that|there)(?:'s| is| are| may be| might be| could be| can be| would be| will be| seems(?: to be)?"
        r"| sounds like| looks like| appears(?: to be)?)(?: also| likely| possible| probably| most likely| advisable"
        r"| recommended| important| best| better| necessary| essential| a good idea| possible that| that)*(?: to| that)?\s+"
        r"|(?:you|he|she|they|one|patients?|the patient|your (?:child|son|daughter|mother|father|baby|wife|husband))"
        r"(?: may| might| can| could| should| must| need(?:s)? to| have to| has to| will| would| are advised to"
        r"| are| is| also| just| simply| probably| definitely| then| better| likely)*\s+)+",
        re.IGNORECASE,
    ),
    # With what would make another word of it: 先天 is "congenital", 并发症 a complication, 进行性 "progressive".
    "zh": re.compile(
        r"^(?:首先|其次|然后|最后|同时|另外|此外|并且|而且|因此|所以|那么|一般(?![状情])|通常|建议|应该|应当|应(?![激用急])|可以"
        r"|可能|需要|必须|需(?!氧)|要(?!素)|可(?![乐卡疑逆待吸])|请|您|你|患者|病人|该|这种情况下?|还(?!原)|也|并(?!发)|再(?![生次发])"
        r"|先(?![天兆])|及时|尽快|积极|适当|考虑|给予|进行(?!性)|采取|采用|使用|接受|服用|选用|选择(?!性)|通过|包括|例如|比如"
        r"|如(?![果何此])|是(?!否)|有(?![助利效关时些氧])|为(?!了)|做|即(?![使将]))+"
    ),
}
_TAIL: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"\s+(?:etc|and so on|as well|too|for you|if needed|if necessary|online|soon|now)$", re.IGNORECASE
    ),
    "zh": re.compile(
        r"(?:等等|等(?:项目|措施|方法|方式|药物|症状|检查|治疗|指标|情况|问题|因素|疾病|食物|手段)?|的话?|即可|为主|为宜)$"
    ),
}
# A restriction that governs every item of the list it opens ("avoid alcohol, coffee and spicy food").
_GOVERNING: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"^(?:avoid(?:ing)?|do not (?:\w+)|don'?t (?:\w+)|stop(?: \w+ing)?|refrain from|limit(?:ing)?|no|without|never (?:\w+))\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"^(?:避免|不要|禁止|忌|勿|不宜|不能|禁|少)(?:食用|饮用|服用|进食|使用|接触|吃|喝|食|用|进行)?"),
}
# What stands between the items of such a list, and what shows that a piece is a clause of its own all the same.
_LISTING: dict[Lang, re.Pattern[str]] = {"en": re.compile(r",|\b(?:and|or)\b"), "zh": re.compile(r"[、和或及与]")}
_CLAUSE: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?:is|are|was|were|will|can|may|should|must|take|use|try|eat|drink|keep|get|do|see|consult|apply|have|go|make"
        r"|if|as|since|because|when|after|before|so|due|this|it|you|which|who|that)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"[应会是]|可以|需要|建议|注意|保持|如果|避免|多吃|多喝"),
}
_PERSONAL = re.compile(
    r"(?P<age>\b\d{1,3}[- ]?(?:years?|yrs?|months?|weeks?|days?)[- ]old\b|\baged? \d{1,3}\b|\d{1,3}\s*[个多]?(?:岁|月大|周岁))"
    r"|(?P<sex>\b(?:male|female|man|woman|boy|girl|pregnant)\b|男性|女性|男(?=[，,婴孩])|女(?=[，,婴孩])|孕妇|怀孕)"
    r"|(?P<duration>\b(?:for|since|past|last) (?:the )?(?:past |last )?(?:\w+ ){1,2}(?:days?|weeks?|months?|years?)\b"
    r"|[\d一二三四五六七八九十两半]+个?(?:天|周|星期|月|年)(?:来|了|前|余)?)",
    re.IGNORECASE,
)
_PERSONAL_TERMS = {"age": ("age", "年龄"), "sex": ("sex", "性别"), "duration": ("duration", "病程")}
# The turns of a dialogue, as `imapeval.samples` writes them.
_PATIENT = re.compile(r"^\s*(?:Patient: |患者：)", re.MULTILINE)
_DOCTOR = re.compile(r"^\s*(?:Doctor: |医生：).*$", re.MULTILINE)
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
    """A `Reader` that needs nothing but the graph."""

    graph: Dictionary
    _scanner: Scanner = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_scanner", Scanner(self.graph))

    @property
    def signature(self) -> str:
        return signature("lexicon", graph=self.graph.hash[:12], v="1")

    @property
    def concurrency(self) -> int:
        """1: nothing here waits for anybody."""
        return 1

    async def read_question(self, question: str, *, lang: Lang) -> QuestionImap:
        """Return the asked terms and the given mentions.

        Raises:
            ExtractionError: The question has no letter in it.
        """
        if not any(char.isalpha() for char in question):
            raise ExtractionError("the question has no word in it, so nothing is asked", kind="no-query", raw=question)
        query = tuple(Pair(term.label(lang), "?") for term in asked_terms(_drop_doctor(question), lang=lang))
        return QuestionImap(query, tuple(dict.fromkeys(self._given(question, lang))))

    async def read_answer(self, answer: str, *, question: str, imap: QuestionImap, lang: Lang) -> AnswerImap:
        """Return one pair for every item of the answer that states something."""
        asked = [term for pair in imap.query for term in TERMS if term.label(lang) == pair.term]
        pairs: dict[tuple[str, str], Pair] = {}
        for piece in self._stated(answer, lang):
            mentions = self._scanner.scan(piece.text, lang=lang)
            term = _informs_of(piece.text, mentions, asked, lang)
            value, span = _value(piece, mentions, term)
            label = term.label(lang)
            pairs.setdefault((label, value), Pair(label, value, span))
            if len(pairs) == MAX_PAIRS:
                break
        return AnswerImap(tuple(pairs.values()))

    def _given(self, question: str, lang: Lang) -> Iterator[Pair]:
        for hit in _PERSONAL.finditer(question):
            term = _PERSONAL_TERMS[str(hit.lastgroup)][lang == "zh"]
            yield Pair(term, hit.group(), hit.span())
        for mention in self._scanner.scan(question, lang=lang):
            if labels := _CONSTRAINT_TERMS.get(mention.types[0]):
                yield Pair(labels[lang == "zh"], mention.text, (mention.start, mention.end))

    def _stated(self, answer: str, lang: Lang) -> Iterator[Piece]:
        for sentence in sentences(answer):
            if disclaims(sentence.text, lang=lang):
                continue
            governing, last = "", sentence.start
            for item in items(sentence):
                listed = bool(_LISTING[lang].search(answer[last : item.start]))
                last = item.end
                piece = None if states_nothing(item.text, lang=lang) else _strip(item, lang)
                if piece is None:
                    continue
                if opens := _GOVERNING[lang].match(piece.text):
                    # "No imaging is needed, and most people improve" is a clause, and governs nothing beyond it; a
                    # lone "No" answers the question, and governs nothing at all.
                    is_clause = _CLAUSE[lang].search(piece.text, opens.end())
                    governing = "" if is_clause or opens.end() == len(piece.text) else opens.group()
                elif governing and listed and not _CLAUSE[lang].search(piece.text):
                    joint = "" if lang == "zh" else " "
                    piece = Piece(f"{governing}{joint}{piece.text}", piece.start, piece.end)
                else:
                    governing = ""
                yield piece


def _drop_doctor(question: str) -> str:
    """Return a dialogue without the doctor's turns: what the doctor asks back is not what the patient asks."""
    return _DOCTOR.sub("", question) if _PATIENT.search(question) else question


def _strip(item: Piece, lang: Lang) -> Piece | None:
    """Return an item without the words that open or close it and add nothing; None where nothing is left."""
    start, end = 0, len(item.text)
    if lead := _LEAD[lang].match(item.text):
        start = lead.end()
    if (tail := _TAIL[lang].search(item.text, start)) and tail.start() > start:
        end = tail.start()
    end = min(end, start + MAX_VALUE)
    stripped = trim(item.text, start, end, offset=item.start)
    return stripped if stripped and len(stripped.text) > 1 else None


def _value(piece: Piece, mentions: Sequence[Mention], term: Term) -> tuple[str, tuple[int, int]]:
    """Return the one name that a piece is, but for fillers, if its type fits the term; else the piece's wording."""
    fitting = [mention for mention in mentions if mention.types[0] in term.types]
    if len(fitting) == 1:
        name = fitting[0]
        rest = piece.text[: name.start] + piece.text[name.end :]
        says_more = negated(rest) or any(char.isdigit() for char in rest)
        if not says_more and _letters(name.text) >= NAME_SHARE * _letters(piece.text):
            start = piece.start + name.start
            in_place = piece.end - piece.start == len(piece.text)
            return name.text, (start, start + len(name.text)) if in_place else (piece.start, piece.end)
    return piece.text, (piece.start, piece.end)


def _letters(text: str) -> int:
    return sum(char.isalnum() for char in text)


def _informs_of(text: str, mentions: Sequence[Mention], asked: Sequence[Term], lang: Lang) -> Term:
    """Return the asked term that a piece informs of.

    The type of its head (the last name in Chinese, the first in English) and its wording count twice, the types of
    other names once; ties go to what was asked first, and so does a piece that nothing claims.
    """
    types = [mention.types[0] for mention in (reversed(mentions) if lang == "zh" else mentions)]

    def claim(term: Term) -> int:
        head = 2 * (types[0] in term.types) if types else 0
        others = any(other in term.types for other in types[1:])
        wording = 2 * (term.told is not None and term.told.search(text) is not None)
        return max(head, others) + wording

    return max(asked, key=claim)
