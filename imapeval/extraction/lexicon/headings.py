"""Headings that advise against, or deny, all that is listed behind or below them: "Avoid:", "What not to do".

A heading may name its topic ("foods to avoid with gout", 孕期不能吃的食物), and its list may be numbered within a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.clauses import split_items
from imapeval.extraction.lexicon.frames import names_case
from imapeval.extraction.lexicon.lists import COLON, MAX_PLAIN_CHARACTERS, HeadedList, Line, locate_sentences
from imapeval.text.negation.governors import UNTRUE, find_governor, find_label_governor, find_negator
from imapeval.text.negation.stance import (
    CHINESE_ADVICE_AGAINST,
    NEGATING_CHARACTERS,
    advises_against,
    is_negated,
    read_stance,
)
from imapeval.text.negation.yes_no import asks_yes_no, strip_yes_no
from imapeval.text.phrases import is_condition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from imapeval.extraction.lexicon.clauses import Piece
    from imapeval.extraction.lexicon.lists import Place
    from imapeval.types import Lang

_CATEGORY = (
    r"(?:activity|activities|actions?|behaviou?rs?|beverages?|drinks?|drugs?|exercises?|foods?|habits?|items?|medications?|medicines?"
    r"|practices?|products?|substances?|supplements?|things?|行为|习惯|情况|活动|运动|项目|东西"
    r"|事[项情]?|食物|食品|食材|水果|蔬菜|饮品|饮料|药物?|药品)"
)
_FUNCTION_WORDS = (
    r"(?:\b(?:all of|also|any|are|be|ca|certain|common|do|done|eat|eaten|eating|else|example|following|here|include"
    r"|includes|including|is|like|must|other|patients?|please|recommended|advised|advisable|allowed|should|some"
    r"|such as|take|taken|taking|that|the|these|those|to|try|use|used|using|what|which|you|your)\b"
    r"|以下|下列|这些|这类|如下|几[点种类个项]|哪些|什么|患者|病人|您|你|饮食|请|建议|推荐|适[合宜]|应[该当]?|需要?|要|做|去|的|吃|喝|服|用|尽量|注意"
    r"|使用|食用|服用|进食|进行|接触|例?如|比如|包括|口|能|[是有等])"
)
_SAYS_NO_MORE = re.compile(
    rf"(?>\s|\b{_CATEGORY}(?: (?:and|or) {_CATEGORY})?\b|{_CATEGORY}|{_FUNCTION_WORDS})*+", re.IGNORECASE
)
"""What a heading may say besides its negation: nothing of its own, unlike "avoid dehydration"."""
_DONTS = re.compile(r"(?:the )?don['’]?ts", re.IGNORECASE)
# Without what is merely not needed.
_UNSUITABLE = rf"(?:禁忌|禁用|慎用|不适[合宜用]|(?!.[需须必用])(?:{CHINESE_ADVICE_AGAINST}))"
_CONTRAINDICATIONS = re.compile(
    r"(?:(?:the|absolute|relative|main) )*contra-?indications?|(?:绝对|相对|主要)?禁忌[症证]"
    r"|(?:people )?who (?:(?:should|must)(?: not|n['’]?t) (?:be given|get|have|receive|take|use)"
    r"|should avoid)\b.*"
    rf"|[^,，。]{{0,8}}?{_UNSUITABLE}(?:使用|服用)?的?(?:人群|于)(?:有|是|包括|如下)?"
    rf"|(?:以下|下列)(?:人群|患者|病人|情况){_UNSUITABLE}.{{0,6}}",
    re.IGNORECASE,
)
_QUESTION = re.compile("([要能可会该])不\\1")  # 要不要吃药 forbids nothing
_AVOID: Mapping[Lang, str] = {"en": "avoid", "zh": "避免"}
# "Do not smoke" lacks no object, and "you do not need drugs" introduces an explanation.
_COMPLETE = re.compile(r"\b(?:smoke|stopping|avoiding|quitting)$", re.IGNORECASE)
_TOPIC = re.compile(r".*\bneed$|stop|discontinue|停", re.IGNORECASE)
_POINTER = re.compile(r"\b(?:following|these|those)\b|以下|下列|这些", re.IGNORECASE)
_POINTED = re.compile(
    r"\s(?:the following|these|those) (?:(?!(?:complications|if|problems|unless|when)\b)[\w'’-]+ ?){1,3}"
    r"|(?:以下|下列|这些)(?!并发症|问题)[^,，如若时]{1,8}",
    re.IGNORECASE,
)
"""What a heading may say behind its negation where it points to its list: "avoid the following triggers"."""
_EXPLANATION = re.compile(
    r"\s*[:：]\s*(?:(?:it|this|that|they|there|the|you|we|I|because|due|may|can|could|will)\b"
    r"|(?:\w+ )?risk\b(?! \w+s\b)"
    r"|会|能|可[能以]|因为?(?![素子])|有?风险)",
    re.IGNORECASE,
)
# "Unsafe: causes birth defects", "阴性：说明没有感染": the verdict is the answer, and what follows is no list.
_REASON = re.compile(
    r"\s*[:：][^,;.!?，。；]{0,60}?(?:\b(?:is|are|was|were|has|have|can|may|will|causes?|contains?|damages?|harms?|heals?"
    r"|increases?|leads?|means?|raises?|reduces?)\b"
    rf"|说明|表示|提示|意味|代表|导致|引起|造成|含|容易|会(?!阴)|[{NEGATING_CHARACTERS}])",
    re.IGNORECASE,
)
_ANSWER = re.compile(r"(?:it|they|he|she|you|we|I|these|those|that|this)\b", re.IGNORECASE)
_STATEMENT = re.compile(
    r"\s*[:：][^,;:.!?]*?\b(?<!that )(?<!which )(?<!who )(?<!what )(?:is|are|was|were|has|have|can|will)\b",
    re.IGNORECASE,
)
# What precedes a heading: "during the treatment, avoid the following".
_SETTING = re.compile(
    r"^(?:after|as|at|because|before|during|following|for|in|on|since|throughout|to|until|while|with)\b|[中时后前内间]$",
    re.IGNORECASE,
)
# The topic of a heading: of any heading that is a noun or points to its list, or one of time behind "avoid".
_TOPIC_BEHIND = re.compile(
    r"(?<=\S)\s(?:(?P<time>during|after|before|while|whilst|until|till|throughout|prior to|following(?= \w)"
    r"|for (?:the|\d+|at least)|in (?:the first|pregnancy|infancy|childhood))"
    r"|with|for|in|on|at|if|when|as|due to|because of)\b"
    r"(?!.*\b(?:a|an|any|are|develop|experience|feel|for|had|has|have|include|is|notice|of|the|to|was|were|with|you)$)"
    r".*",
    re.IGNORECASE,
)
_NOUN = re.compile(rf"\b(?:{_CATEGORY}|what|which|following|these|those|don['’]?ts)\b", re.IGNORECASE)
# A heading that ends with a verb without an object, whatever is before it: "fish to avoid", "children should not take".
_OPEN_END = re.compile(
    r"(?!.*\b(?:and|do|how|nothing|tips?|ways?|whether|why)\b).+\b(?:(?:must|should|to) (?:also )?avoid"
    r"|(?:can|must|should)(?:not| not|n['’]?t) (?:drink|eat|have|take|use)|not to (?:drink|eat|take|use))",
    re.IGNORECASE,
)
_FINAL_BRACKET = re.compile(r"(?<!\s)\s*[(（](?!if\b)[^()（）]*[)）]?$", re.IGNORECASE)
_TOPIC_BEFORE = re.compile(
    rf"(?:(?!如何|怎|为[什何]|可以|预防|防止|方法|原因|引起|导致|减少|[{NEGATING_CHARACTERS}免宜有吗，。；、:：]).){{1,12}}?"
    rf"(?=(?:应[该当]?|需要?|要|必须|尽量|最好|注意)*+(?:饮食禁忌|远离|慎用|(?!别(?![吃喝用服做碰]))[{NEGATING_CHARACTERS}]))"
)
# "These are not signs of a stroke", "who does not need a scan", "not red flags", but not "who do not eat meat".
_DENYING = re.compile(
    r"(?!.*\b(?:dismiss|ignore|miss)\b)"
    r"(?:(?:(?:these|those|the following|which \w+|what) (?:is|are)(?: not|n['’]t)|not) (?:an? )?"
    r"(?=(?:caused?|causes|due|red flags?|reasons?|side effects?|signs?|symptoms?)\b)"
    r"|(?:these|those|the following|who|which \w+|what|(?:patients|people)(?: who)?"
    r"|you(?=[^,.]* (?:if you have|following)\b))"
    r" (?:do|does)(?: not|n['’]t) (?=(?:cause|help|include|need|require)\b))[^,.]{1,70}",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"(?:if|in case|unless)\s[^,]+|(?:如果|如(?!何)|若|一旦)[^，,]+", re.IGNORECASE)
# A condition that its list completes: "if you have any of these".
_INCOMPLETE = re.compile(
    r"\b(?:any|are|develop|experience|following|had|has|have|if|is|notice|of|see|there|these|when|with|you)$"
    r"|(?:有|出现|[以如]下\S{0,8}|下列\S{0,8}|情况|症状|表现)$",
    re.IGNORECASE,
)
_FINAL_DO = re.compile(r"\sdo$|做$", re.IGNORECASE)
_VERBAL = re.compile(r"(?:not|n['’]?t)(?: to)? do$", re.IGNORECASE)
_LISTING_VERB = re.compile(r"\s(?:are|include)\s|包括|[是有]")
_MAX_HEADING_CHARACTERS = 80
"""Longest heading, in characters."""

_DANGLING = re.compile(
    r"\b(?:of|for|to|from|with|have|has|had|any|take|use|eat|drink)$|[无未见现有为于]$", re.IGNORECASE
)
_LINE_END = re.compile(r"[ \t]*+(?P<colon>[:：?？])?+[ \t]*+\n(?:\s*\n)?+(?P<next>[ \t]*\S{1,5})")
_COLONS = (":", "：")
_PLAIN_ITEM = re.compile(rf"[ \t]*\n[ \t]*\S[^\n.!?。！？:：;；]{{0,{MAX_PLAIN_CHARACTERS}}}(?=\n|\Z)")
"""A line without the marker of an item, which is none if it has the punctuation of a sentence."""
_INLINE = re.compile(
    r"[^\S\n]*+(?P<colon>[:：])?+[^\S\n]*+(?P<number>[①-⑳]|[(（](?:\d{1,2}|[a-h])[)）]|\d{1,2}[)）.、．])"
)
_OPENING = re.compile(r"^[^\w(（【]*(?:患者|病人|您|你)?")
_MAX_HEADING_ITEMS = 4
"""Number of items of a sentence that may make up a heading."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading whose list is behind it in the same sentence, and the words that apply to the items."""

    piece: Piece
    governor: str

    @property
    def bare(self) -> bool:
        """Whether it is a mere "do not", which applies to all behind its colon."""
        return self.governor == self.piece.text or not advises_against(self.governor)


@dataclass(frozen=True, slots=True)
class GovernedSentence:
    """A sentence, and the words of a heading that apply to it.

    Attributes:
        sentence: The sentence.
        governor: Words that deny, or advise against, the item at its beginning; "" for none.
        heading: The heading in it.
        bare: Whether the governor is a mere "do not", which applies to all items.
        case: What a heading above it restricts it to, such as a group of people or a severity (`frames.names_case`); ""
            for none.
    """

    sentence: Piece
    governor: str = ""
    heading: Heading | None = None
    bare: bool = False
    case: str = ""


def find_list_governor(text: str, lang: Lang) -> str:
    """Return the words that apply to each item of the list that a heading introduces; "" if it denies none of them.

    >>> find_list_governor("Things to avoid", "en"), find_list_governor("Do not take these", "en")
    ('avoid', 'Do not take')
    >>> find_list_governor("Avoid dehydration", "en"), find_list_governor("Foods to avoid with gout", "en")
    ('', 'avoid')
    >>> find_list_governor("以下食物不能吃", "zh"), find_list_governor("痛风患者不能吃的食物", "zh")
    ('避免', '不能吃')
    """
    text = _FINAL_BRACKET.sub("", _OPENING.sub("", text))
    if len(text) > _MAX_HEADING_CHARACTERS or not strip_yes_no(text) or _QUESTION.search(text):
        return ""
    if _DONTS.fullmatch(text):
        return "do not"
    if _CONTRAINDICATIONS.fullmatch(text):
        return "禁用于" if lang == "zh" else "contraindicated in"
    governor = find_label_governor(text, lang) or _find_governor_of_all(text, lang)
    governor = governor or _find_governor_of_all(_strip_topic(text, lang), lang)
    return governor or (UNTRUE[lang] if _DENYING.fullmatch(text) else "")


def _find_governor_of_all(text: str, lang: Lang) -> str:
    """Return the governor of a heading without a topic; "" if it has none, or names what it is about."""
    governor = find_governor(text)
    if not strip_yes_no(text) or _COMPLETE.search(governor):
        return ""
    names_nothing = _SAYS_NO_MORE.fullmatch(text, len(governor)) or _POINTED.fullmatch(text, len(governor))
    if governor == text or (names_nothing and (advises_against(governor) or find_negator(governor, lang))):
        if governor != text and _TOPIC.match(governor) and not _POINTER.search(text):
            return ""
        # "Do not do the following" says "do not", "do not take these" "do not take".
        return _FINAL_DO.sub("", governor)
    stance = read_stance(text)
    # "Avoidance" has no subject, 忌口 and 禁忌 are what such lists are called.
    denies = stance.polarity == "denied" and (stance.subject or (lang == "zh" and advises_against(text)))
    names_nothing = _SAYS_NO_MORE.fullmatch(stance.subject) or _OPEN_END.fullmatch(text)
    if not denies or not names_nothing or asks_yes_no(text.lower()):
        return ""
    return "do not" if _VERBAL.search(text) else _AVOID[lang]


def _strip_topic(text: str, lang: Lang) -> str:
    """Return a heading without its topic: "foods to avoid" of "foods to avoid with gout"; "" if it has none.

    What follows "if" in "do not take this if you have:" is no topic, but the beginning of its list.
    """
    if lang == "zh":
        found = _TOPIC_BEFORE.match(text)
        return text[found.end() :] if found else ""
    found = _TOPIC_BEHIND.search(text)
    if found is None:
        return ""
    head = text[: found.start()]
    return head if found["time"] or _NOUN.search(head) or _OPEN_END.fullmatch(head) else ""


def find_listing_verb(text: str, lang: Lang) -> str:
    """Return a heading and its verb at the start of a clause; "" if there are none.

    >>> find_listing_verb("foods to avoid include coffee", "en"), find_listing_verb("symptoms include fever", "en")
    ('foods to avoid include', '')
    """
    found = _LISTING_VERB.search(text, 0, _MAX_HEADING_CHARACTERS)
    return text[: found.end()].rstrip() if found and find_list_governor(text[: found.start()], lang) else ""


def is_category(text: str) -> bool:
    """Return whether a text is the name of a category that needs examples: "foods", 药物."""
    return re.fullmatch(_CATEGORY, text, re.IGNORECASE) is not None


def govern_sentences(text: str, lang: Lang) -> Iterator[GovernedSentence]:
    """Yield the sentences of a text without markup, but not its headings, each with the words that apply to it."""
    current = HeadedList("")
    for place in locate_sentences(text):
        (governor, case), bare = current.govern(place), current.bare
        if place.crossed:
            governor = governor or _AVOID[lang]  # "❌ Coffee"
        introduced, rest, heading = _find_heading(place, text, lang, governed=bool(governor))
        current = introduced or current
        if rest is not None:
            # "Do not: take aspirin; if you drive, drink", but not "do not: take aspirin; avoid coffee"
            bare = bare and not find_governor(rest.text)
            yield GovernedSentence(rest, governor, heading, bare=bare, case=case)


def _find_heading(
    place: Place, text: str, lang: Lang, *, governed: bool
) -> tuple[HeadedList | None, Piece | None, Heading | None]:
    """Look for a heading in a sentence, given whether another heading applies to it.

    Returns:
        The list that it introduces, None for none; the sentence, without a heading that ends it, or None if there is
        nothing else; and the heading if its list is behind it in the sentence.
    """
    sentence, line = place.sentence, place.line
    below, colon = _find_item_below(sentence, line, text)
    items = list(split_items(sentence))  # none in 例如, which only separates items
    if items and below is not None and (colon or below.is_below(line)):
        if governor := find_list_governor(sentence.text, lang):
            return HeadedList(governor, line), None, None
        *before, last = items
        governor = find_list_governor(last.text, lang)
        if not governor and below.inline and (not colon or _DANGLING.search(last.text)) and is_negated(last.text):
            governor = last.text  # "There is no evidence of 1) a fracture 2) an infection"
        stated = _CONDITION.fullmatch(sentence.text) and not _INCOMPLETE.search(sentence.text)
        named = names_case(sentence.text, lang) or bool(stated)
        if governed and colon and (named or is_category(sentence.text)):
            return None, None, None  # "Avoid:", and below it "Drinks: 1) coffee 2) tea"
        if named:
            return HeadedList("", line, case=sentence.text), None, None
        # "What to do and what to avoid" introduces both.
        if governor and all(is_condition(one.text) or _SETTING.search(one.text) for one in before[-1:]):
            end = before[-1].end if before else sentence.start
            rest = replace(sentence, text=text[sentence.start : end], end=end)
            return HeadedList(governor, line), rest if before else None, None
    heading = find_heading_before_colon(sentence, text, lang)
    return HeadedList(heading.governor, bare=heading.bare) if heading else None, sentence, heading


def _find_item_below(sentence: Piece, line: Line, text: str) -> tuple[Line | None, bool]:
    """Return how the item behind the line of a sentence begins, None for none, and whether a colon introduces it."""
    if ending := _LINE_END.match(text, sentence.end):
        below = Line.read(ending["next"])
        if not below.kind and not (ending["colon"] in _COLONS and _PLAIN_ITEM.match(text, ending.end("colon"))):
            below = None
        return below, ending["colon"] is not None
    number = _INLINE.match(text, sentence.end)
    below = line.read_inline(number["number"]) if number else None
    return (below, number["colon"] is not None) if number and below and below.starts_over else (None, False)


def find_heading_before_colon(sentence: Piece, text: str, lang: Lang) -> Heading | None:
    """Return the heading in a sentence whose list is in the same sentence; None if there is none."""
    if not COLON.search(sentence.text):
        return None
    items = list(split_items(sentence))
    for index, item in enumerate(items[:-1]):
        if not COLON.match(text, item.end):
            continue
        if governor := find_list_governor(item.text, lang):
            if _is_answer(item, governor, sentence, text, lang, alone=len(items) == index + 2):
                return None
            if find_governor(item.text) == item.text:
                return Heading(item, governor)
            set_off = index == 0 or is_condition(items[index - 1].text) or _SETTING.search(items[index - 1].text)
            if set_off and (governor == UNTRUE[lang] or not _EXPLANATION.match(text, item.end)):
                return Heading(item, governor)
        elif 0 < index < _MAX_HEADING_ITEMS:
            # "Foods to avoid while breastfeeding" has a conjunction.
            whole = replace(sentence, text=text[sentence.start : item.end], end=item.end)
            if governor := find_list_governor(whole.text, lang):
                return Heading(whole, governor)
    return None


def _is_answer(item: Piece, governor: str, sentence: Piece, text: str, lang: Lang, *, alone: bool) -> bool:
    """Return whether a negation before a colon answers the question, and what follows is its reason and no list.

    "They can't: a cold is viral" and "unsafe: causes birth defects" are answers, "they can't: smoke, drink" is none.
    `alone` says whether one thing follows.
    """
    if find_governor(item.text) == item.text:
        return bool(_ANSWER.match(item.text) and _STATEMENT.match(text, item.end))
    if governor != find_label_governor(item.text, lang) or governor == UNTRUE[lang]:
        return False
    # Where nothing precedes it: "not needed: viral infection".
    opens = alone and governor not in ("no", "无") and not text[: sentence.start].strip()
    return opens or _REASON.match(text, item.end) is not None
