"""What others are reported to believe, and what the answer says to that: "some think milk is bad, but it isn't".

The reported clause is no statement of the answer; a reply without a verb of its own ("it isn't", 其实不用, "that is a
myth") states it, or denies it. Pure; uses no dictionary.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.clauses import Piece, trim_piece
from imapeval.text.negation.governors import UNTRUE
from imapeval.text.negation.stance import is_negated
from imapeval.text.negation.yes_no import find_reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from imapeval.extraction.lexicon.headings import GovernedSentence
    from imapeval.types import Lang

_REPORT: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"(?:(?:although|while) )?(?:(?:(?:a lot of|lots of|many|most|other|several|some) )?"
        r"(?:men|others|parents|patients|people|women)|many|some|you|it is)"
        r"(?: (?:also|commonly|could|falsely|have|may|might|mistakenly|often|once|probably|still|will|wrongly))*"
        r" (?:assumed?|believed?|claim(?:ed)?|fear(?:ed)?|heard|read|said|say|think|thought)(?: that)? "
        r"(?P<said>[^,;]{3,160}?)(?=$|[,;]|,? (?:but|however|yet)\b)",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"(?:(?:(?:很多|许多|有些?|不少|一些|大多数?|多数|部分)(?:人|患者|家长|老人|朋友|网友|妈妈)们?|大家|人们|[您你]可能)"
        r"(?:都|总|常|会|往往|错误地|误|一直|经常|听)*(?:以为|认为|觉得(?=[^，。；！？]*(?:[会能要是应该就必]|需要|[可不]用|没事))|说|相信|听说)|网上说|网传|民间说|有传言说?)"
        r"[:：,，]?(?P<said>[^，。；！？]{2,80})"
    ),
}
# Behind 觉得 stands a belief (觉得能自愈) or a symptom (觉得恶心).
_CONTRAST: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(r"[,;\s]*(?:but|however|yet)\b", re.IGNORECASE),
    "zh": re.compile("[，；]?(?:但|然而|不过|其实|实际上|事实上)"),
}


@dataclass(frozen=True, slots=True)
class _Report:
    """A sentence that reports what others believe: the clause, and the rest of the sentence."""

    governed: GovernedSentence
    said: Piece
    rest: Piece | None

    @classmethod
    def find(cls, governed: GovernedSentence, lang: Lang) -> _Report | None:
        sentence = governed.sentence
        found = None if governed.governor else _REPORT[lang].match(sentence.text)
        if found is None:
            return None
        said = trim_piece(sentence.text, *found.span("said"), offset=sentence.start)
        rest = trim_piece(sentence.text, found.end(), len(sentence.text), offset=sentence.start)
        return said and cls(governed, said, rest)

    def answer(self, reply: str, lang: Lang) -> Piece | None:
        """Return what a reply makes of the clause; None if it is not about it, or says more."""
        found = find_reply(reply, lang)
        if found is None:
            return None
        # "Some think they don't, but they do"
        denied = found["false"] is not None
        if not (denied or found["true"]):
            denied = (found["no"] is not None) != is_negated(self.said.text)
        space = "" if lang == "zh" else " "
        return replace(self.said, text=f"{UNTRUE[lang]}{space}{self.said.text}") if denied else self.said


def resolve_reports(sentences: Iterable[GovernedSentence], lang: Lang) -> Iterator[GovernedSentence | Piece]:
    """Yield the sentences, and in place of what others believe, what the answer says to it."""
    report: _Report | None = None
    for governed in sentences:
        if report is not None:
            answered = report.answer(governed.sentence.text, lang)
            yield report.governed if answered is None else answered
            report = None
            if answered is not None:
                continue
        report = _Report.find(governed, lang)
        if report is None:
            yield governed
        elif report.rest is not None:
            answered = report.answer(report.rest.text, lang)
            if answered is not None:
                yield answered
            else:
                # What contrasts with the belief is stated, and the belief is not.
                sentence = governed.sentence
                contrasts = _CONTRAST[lang].match(sentence.text, report.said.end - sentence.start)
                yield replace(governed, sentence=report.rest) if contrasts else governed
            report = None
    if report is not None:
        yield report.governed
