"""The items of a sentence, and how each is connected with the one before it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.alternatives import Part, split_alternatives
from imapeval.extraction.lexicon.clauses import split_items
from imapeval.extraction.lexicon.cues import is_courtesy
from imapeval.extraction.lexicon.frames import introduces_list, names_case, names_speaker, quotes_question
from imapeval.extraction.lexicon.headings import find_list_governor, is_category
from imapeval.text.negation.governors import find_governor, find_negator, is_unsuitable, strip_final_verb
from imapeval.text.negation.hazards import is_hazard
from imapeval.text.negation.stance import advises_against, is_negated
from imapeval.text.negation.yes_no import read_verdict
from imapeval.text.phrases import is_condition, parse_phrase, split_condition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from imapeval.extraction.lexicon.clauses import Piece
    from imapeval.extraction.lexicon.headings import GovernedSentence
    from imapeval.types import Lang

# Separators of list items.
_LISTING: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(r",|/|\b(?:and|or|nor)\b", re.IGNORECASE),
    "zh": re.compile("[、和或及与,，]"),
}
_OR = re.compile(r"\bn?or\b|或", re.IGNORECASE)
_COMMA = re.compile("[,，]")
_COLONS = (":", "：")
_NONE: Mapping[Lang, str] = {"en": "no", "zh": "无"}
# Between a name and what is said of it.
_LABEL_END = re.compile(r"[)）]?(?:[:：?？]|\s*[–—-]+)\s*")
_BRACKETS = ("(", "（", ")", "）")
_MARK = re.compile(r"\s?[(（]([^\w\s]\ufe0f?)[)）]")
_DIGIT = re.compile(r"\d")
# A label that says no more than the amount behind it.
_MEASURE = re.compile(
    r"(?:(?:the|usual|recommended|typical|daily|adult|my) )*(?:advice|amount|course|dos(?:age|e|ing)|duration|frequency"
    r"|how (?:long|much|often)|notes?|quantity|tim(?:e|ing)|treatment)"
    r"|(?:常用|推荐|一般)?(?:剂量|用量|用法用?量?|疗程|频[率次]|时间|次数|治疗|建议|医嘱)",
    re.IGNORECASE,
)
_LEVEL_OR_NUMBER = re.compile(
    r"(?:(?:is|slightly|markedly|mildly|often|usually|very) )*"
    r"(?:(?:ab)?normal|acute|benign|better|chronic|(?:un)?common|decreased|elevated|harmless|high|(?:in)?effective|increased|left"
    r"|(?:un)?likely|low|malignant|mild|moderate|negative|positive|raised|rare|reduced|right|severe|worse)"
    r"|(?:轻度|明显|显著)?(?:[偏较增升][高大]|[偏较降减][低少]|正常|异常|[阳阴]性|增多|[高低])|[轻中重]度|[常少]见|罕见|[良恶]性|加重|减轻|[左右]侧"
    r"|[<>≤≥~约]?\s*\d[\d.,]*(?:\s*[-–—~～至到]\s*\d[\d.,]*)?",
    re.IGNORECASE,
)
_MAX_NAME_CHARACTERS = 30
"""Longest name before a verdict, in characters."""
_CONTRAST = re.compile(r"\b(?:but|however|instead|while|whereas)\b|但是?|然而|而是|同时|此外|另外|其次", re.IGNORECASE)
_REASON = re.compile(r"\bbecause\b|因为|由于", re.IGNORECASE)
# At the beginning of what happens otherwise.
_OTHERWISE = re.compile(r"(?:otherwise|or else|so as not to|lest)\b|以[免防]|免得|否则", re.IGNORECASE)
# Before an example, and at its beginning behind a comma or bracket.
_EXAMPLE = re.compile(r"\b(?:such as|including|for example|e\.g)\b|包括|例如|比如", re.IGNORECASE)
_EXAMPLE_LEAD = re.compile(
    r"(?:e\.?g\.?|such as|for example|for instance|including|like|namely)[,:]?\s+"
    r"|(?:especially|particularly|notably|in particular),?\s+"
    r"(?!(?:after|at|before|by|during|for|if|in|on|since|when|with)\b)"
    r"|(?:例如|比如|诸如|譬如|如(?![果何此今同下有需若能不无])|像|包括|(?:尤其|特别)是?(?![在对当是]))[,，:：]?",
    re.IGNORECASE,
)
# Before examples of what is not the object of the verb, except in phrases such as "exposure to".
_OTHER_OBJECT = re.compile(
    r"\b(?:to|by|with|using|for|unless|if|when|of|ignore|delay|neglect|dismiss|exceed)\b|忽视|忽略|延误|通过|预防|为了",
    re.IGNORECASE,
)
_PHRASES = re.compile(
    r"\b(?:exposure to|contact with|(?:intake|consumption|use|overuse|types?|kinds?|sources?|forms?) of"
    r"|(?:history|signs?|symptoms?|evidence) of|(?:high|rich) in|(?:no )?need (?:for|to)|refrain from)\b",
    re.IGNORECASE,
)
# Names of classes, whose members may follow in brackets.
_CLASS = re.compile(
    r"(?:NSAIDs?|drugs|medications|medicines|painkillers|antibiotics|supplements|foods|drinks|beverages|products|activities|triggers|allergens|irritants|原|诱因|因素|物质|类|药|药物|食物|食品|饮料)$",
    re.IGNORECASE,
)
_REASONS = re.compile(
    r"(?:(?:an |the )?(?:increased |high(?:er)? )?(?:risk|danger|chance)|due|because|can|may|caus|\d)|[伤因]|引起|导致",
    re.IGNORECASE,
)
# What begins advice for something, such as what prevents an item of a list of what to avoid.
_REMEDY = re.compile(
    r"(?:drink|use|take|try|eat|keep|choose|wait|call|see|get|rest|wear|replace|switch|ask|seek)\b(?!ing)|多(?=[吃喝休饮])|应|可(?![乐可卡待疑])|改[用吃喝]|保[证持]|每[天日晚次]|增[加强]|加强|补充|坚持|选择|规律|建立|[养形]成|培养|维[持护]|确保|提高|改善|促进|合理|调整|营造|学会|适[当量度]|保暖|佩?戴|低[盐脂糖]|给予|抬高|立[即刻]|以[便免防减利]|马上|及时|尽[早快]",
    re.IGNORECASE,
)
# Behind the colon of an item that is to be avoided: what it includes, not why or what to do instead.
_WORD = r"(?!(?:and|or)\b)[\w'’%-]++"
_MEMBER = rf"(?:{_WORD}(?: {_WORD}){{0,3}}(?:\s*[(（][^()（）]*[)）])?)"
_MEMBERS = re.compile(
    rf"\s*[:：]\s*(?P<first>{_MEMBER})(?:\s*[,，、]\s*(?:(?:and|or) )?{_MEMBER}| (?:and|or) {_MEMBER})+"
    r"(?:\s*[,，]?\s*(?:etc\.?|等))?\s*",
    re.IGNORECASE,
)
_MAX_MEMBERS_CHARACTERS = 200
"""Longest list of what an item includes, in characters."""
_PREDICATE = re.compile(
    r"\b(?:is|are|was|were|be|has|have|had|can|may|might|will|do|does|contains?|causes?|increases?|raises?|worsens?|makes?"
    r"|irritates?|triggers?|leads?|relax(?:es)?|slows?|lowers?|reduces?|interacts?|affects?|rich|high|low|found|known|it|they"
    r"|this|these|you|because|due|risk|linked|limit|only)\b"
    r"|[会是含使易致引增加重伤应少宜改忌每]|可(?![乐可])",
    re.IGNORECASE,
)
# What a list of things to avoid may add about something else.
_RECOMMENDED = re.compile(
    r"\b(?:is|are) (?:\w+ly )?(?:advised|allowed|encouraged|fine|ok|okay|recommended|safe)$", re.IGNORECASE
)
_NO_VERB = re.compile(r"(?:an?|the|this|that|these|those|it|they|you|we)\b", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"[^()（）\n]*")
_MAX_CONNECTIVE_CHARACTERS: Mapping[Lang, int] = {"en": 12, "zh": 4}
"""Longest piece without a statement that is a connective, such as "therefore", rather than a clause; in characters."""
# An item with its own verb, which does not need the governor's.
_OWN_VERB: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(r"\w+ing\b", re.IGNORECASE),
    "zh": re.compile(
        r"[吸抽饮吃喝熬服吞嚼泡敷按揉捏搓挤抓挠碰摸跑跳坐站提搬弯扭憋画打晒游骑受]|使用|接触|进行|进食|剧烈|过[度量]|[久长]时?间?[坐站卧走]|运动|劳累|[驾开]车|驾驶"
    ),
}


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a sentence, and the kind of separator before it.

    Attributes:
        piece: The item.
        listed: Whether the separator is one of list items.
        after_contrast: Whether it is a contrast, such as "but", or introduces a reason or what happens otherwise.
        joined_by_or: Whether it is an "or".
        comma: Whether it is, or contains, a comma.
        conjoined: Whether it is more than a comma: an "and" or "or", or the Chinese enumeration comma.
        enumerated: Whether it is the Chinese enumeration comma.
        introduced: Whether a colon separates the item from its negation: "Do not: take aspirin, drink alcohol".
        example: Whether the item is an example of the one before: "foods such as coffee", "NSAIDs (aspirin, naproxen)".
        aside: Whether the item is a remark in brackets, after which the list goes on: "aspirin (a tablet) and alcohol".
        rejected: Whether the item is named only to reject it: the heat of "ice instead of heat".
        excepted: Whether the item is named only to except it: the grapes of "all fruit except grapes".
    """

    piece: Piece
    listed: bool
    after_contrast: bool
    joined_by_or: bool = False
    comma: bool = False
    conjoined: bool = False
    enumerated: bool = False
    introduced: bool = False
    example: bool = False
    aside: bool = False
    rejected: bool = False
    excepted: bool = False


@dataclass(frozen=True, slots=True)
class _Link:
    """A part of a sentence, before it is known how it is connected.

    Attributes:
        part: The part.
        between: The text between it and the part before it.
        governor: Words of a heading that apply to it; "" for none.
        bare: Whether these are a mere "do not", which applies to all behind its colon.
        detached: Whether the part before it ended a clause, or such a part was left out.
    """

    part: Part
    between: str
    governor: str
    bare: bool
    detached: bool

    def governs(self, text: str) -> bool:
        """Return whether the heading denies the words of the part: not 多喝水 below 避免, which is a remedy."""
        # "Things to avoid: do not smoke" is no double negation, "Do not: go without sleep" is one.
        is_free = not self.bare and not self.governor.lower().endswith(" to") and is_negated(text)
        is_free = is_free or _RECOMMENDED.search(text) is not None
        # "Do not" is followed by a verb.
        is_free = is_free or (self.governor.lower() in ("do not", "don't", "never") and bool(_NO_VERB.match(text)))
        return bool(self.governor) and not is_free and not (is_remedy(text) and advises_against(self.governor))


def split_into_items(governed: GovernedSentence, text: str, lang: Lang, *, courtesies: bool = False) -> Iterator[Item]:
    """Yield the items of a sentence; `courtesies` says whether polite phrases and quoted questions are among them."""
    if not courtesies and quotes_question(governed.sentence, text):
        return
    links = _drop_labels(governed, text, lang, courtesies=courtesies)
    for link, item in _complete_labels(_find_examples(links, governed, text, lang), text, lang):
        # Neither the reason for a denial nor what happens otherwise is denied.
        is_reason = _REASON.search(link.between) or _OTHERWISE.match(item.piece.text)
        contrast = bool(link.part.chosen or _CONTRAST.search(link.between) or is_reason)
        if link.part.rejected:
            rejected = replace(item.piece, text=link.part.name(lang))
            excepted = link.part.excepted
            yield Item(rejected, listed=False, after_contrast=contrast, rejected=True, excepted=excepted)
        elif link.governs(item.piece.text):
            completed = prepend_governor(item.piece, link.governor, lang)
            yield Item(completed, listed=False, after_contrast=contrast, introduced=link.bare)
        else:
            yield replace(item, after_contrast=contrast)


def _drop_labels(governed: GovernedSentence, text: str, lang: Lang, *, courtesies: bool) -> Iterator[_Link]:
    """Yield the parts of a sentence without its heading, the names of categories, and, if so told, polite phrases."""
    sentence, heading = governed.sentence, governed.heading
    governor, bare, detached = governed.governor, governed.bare, False
    # "Should I use heat instead of ice?" rejects neither, and "do not: use heat instead of ice" not the ice.
    undivided = governor or heading or text.startswith(("?", "？"), sentence.end)
    end = sentence.start
    for part in map(Part, split_items(sentence)) if undivided else split_alternatives(sentence, lang):
        item = part.piece
        between, end = text[end : item.start], item.end
        if heading and heading.piece.start <= item.start < heading.piece.end:
            governor, bare = heading.governor, heading.bare
        elif governor and text.startswith(_COLONS, end) and (is_category(item.text) or names_case(item.text, lang)):
            pass  # "Avoid:", and below it "Drinks: coffee, alcohol"
        elif not courtesies and not governor and introduces_list(item, text):
            detached = True  # 避免吸烟，危险因素包括高血压 does not warn against the latter
        elif not courtesies and is_courtesy(item.text, lang=lang):
            detached = detached or len(item.text) > _MAX_CONNECTIVE_CHARACTERS[lang]
        elif governor and is_condition(item.text):
            yield _Link(part, between, "", bare, detached)  # "Avoid: if you drive, alcohol"
            detached = part.opens
        else:
            yield _Link(part, between, governor, bare, detached)
            governor, detached = "", part.opens


def _find_examples(
    links: Iterable[_Link], governed: GovernedSentence, text: str, lang: Lang
) -> Iterator[tuple[_Link, Item]]:
    """Yield the parts of a sentence as items, of which some are examples of the item before them, or remarks on it."""
    takes_none = governed.sentence.text[:8].lower() == "without "
    head = ""  # the last item that is no example
    remark_end = 0
    members = len(text)  # where members of the head begin: behind the colon of "Caffeine: coffee, tea", below "Avoid:"
    for link in links:
        item, between = link.part.piece, link.between
        if text.startswith(_COLONS, item.end):
            members = item.end if _introduces_members(link, text, governed.sentence.end) else len(text)
        example = bool(_EXAMPLE.search(between)) or item.start > members
        if (lead := _EXAMPLE_LEAD.match(item.text)) and not is_condition(item.text):
            example, item = True, replace(item, text=item.text[lead.end() :], start=item.start + lead.end())
        # "Do not ignore symptoms such as chest pain" does not advise against the pain.
        is_object = is_condition(head) or not _OTHER_OBJECT.search(_PHRASES.sub("", head))
        example = example and not takes_none and is_object
        listed = bool(_LISTING[lang].search(between))
        conjoined = listed and bool(_LISTING[lang].search(_COMMA.sub(" ", between)))
        if remark_end and item.start >= remark_end:
            # After a remark in brackets, a list goes on with "and" or "or".
            listed, remark_end = conjoined, 0
        if between.rstrip().endswith(("(", "（")) and (inside := _IN_BRACKETS.match(text, item.start)) and not example:
            is_class = governed.governor or _CLASS.search(head)
            example = bool(is_class) and _lists_examples(inside[0], item.end - item.start, lang)
            remark_end = 0 if example else inside.end()
        listed = (example or listed) and not link.detached
        if not example:
            head = item.text
        yield (
            link,
            Item(
                item,
                listed,
                after_contrast=False,
                joined_by_or=bool(_OR.search(between)),
                comma=bool(_COMMA.search(between)),
                conjoined=conjoined and listed,
                enumerated="、" in between,
                example=example,
                aside=item.start < remark_end,
            ),
        )


def _complete_labels(found: Iterable[tuple[_Link, Item]], text: str, lang: Lang) -> Iterator[tuple[_Link, Item]]:
    """Yield the items, and what is said behind a list of names with each of them: "coffee and tea: avoid".

    In brackets, it is said of the last one: "coffee and tea (avoid)".
    """
    names: list[tuple[_Link, Item]] = []
    after_verdict = False
    for link, item in found:
        bracketed = link.between.strip() in _BRACKETS and text[item.piece.end : item.piece.end + 1] in _BRACKETS
        # In a list that is denied, a denial in brackets would undo it.
        free = bracketed and bool(names) and not (names[0][1].listed or names[0][0].governor)
        labels = _LABEL_END.fullmatch(link.between) or (free and not _DIGIT.search(item.piece.text))
        if names and labels and (join := _read_verdict(item.piece.text, lang)):
            if bracketed:
                yield from names[:-1]
                names = names[-1:]
            yield from ((name, replace(named, piece=join(named.piece))) for name, named in names)
            names, after_verdict = [], True
            continue
        if not item.listed or after_verdict or not _is_name(item.piece.text):
            yield from names
            names = []
        # A list ends with the verdict on it.
        item = replace(item, listed=item.listed and not after_verdict)
        after_verdict = False
        if _is_name(item.piece.text):
            names.append((link, item))
            mark = _MARK.match(text, item.piece.end)
            free = not (names[0][1].listed or names[0][0].governor)
            if mark and free and read_verdict(mark[1]) is False and (join := _read_verdict(mark[1], lang)):
                names[-1] = link, replace(item, piece=join(item.piece))
        else:
            yield link, item
    yield from names


def _read_verdict(text: str, lang: Lang) -> Callable[[Piece], Piece] | None:
    """Return what completes a name with the verdict, amount or finding behind it; None if a text is none of these.

    "Ibuprofen: 200 mg" and "ferritin: low" belong together, but "dose" says nothing of its own.
    """
    core, condition = split_condition(text)
    answer = read_verdict(text)
    space = "" if lang == "zh" else " "
    if answer is None and is_detail(core):
        return lambda name: replace(name, text=text if _MEASURE.fullmatch(name.text) else f"{name.text}{space}{text}")
    if answer is not None:
        before, behind = "" if answer else _NONE[lang], ""
    elif find_governor(core) == core:
        before, behind = core, condition
    elif find_list_governor(core, lang) or is_unsuitable(core) or (is_negated(core) and not parse_phrase(core).words):
        before, behind = "", text
    else:
        return None
    return lambda name: replace(name, text=space.join(filter(None, (before, name.text, behind))))


def is_detail(text: str) -> bool:
    """Return whether a text gives an amount or a level, and does not say of what: "5 mg", "raised"."""
    if _LEVEL_OR_NUMBER.fullmatch(text):
        return True
    phrase = parse_phrase(text)
    return bool(phrase.amounts.items) and not phrase.words


def _is_name(text: str) -> bool:
    if len(text) > _MAX_NAME_CHARACTERS or names_speaker(text):
        return False
    return not (is_condition(text) or is_negated(text))


def _introduces_members(link: _Link, text: str, end: int) -> bool:
    """Return whether an item with a colon behind it is a class whose members follow, up to the end of its sentence."""
    item = link.part.piece
    # "Caffeine: coffee, tea" below "avoid", but not "infection: masks, gloves".
    named = link.governor and not is_hazard(item.text)
    is_class = named or (_CLASS.search(item.text) and advises_against(find_governor(item.text)))
    return bool(is_class) and _lists_members(text[item.end : min(end, item.end + _MAX_MEMBERS_CHARACTERS + 1)])


def _lists_examples(inside: str, first: int, lang: Lang) -> bool:
    """Return whether a text in brackets, whose first item has `first` characters, lists names and no reasons."""
    return _LISTING[lang].search(inside, first) is not None and not _REASONS.match(inside)


def _lists_members(text: str) -> bool:
    """Return whether a text behind a colon is a list of names: ": coffee, tea", but not ": it is addictive"."""
    if len(text) > _MAX_MEMBERS_CHARACTERS:
        return False
    found = _MEMBERS.fullmatch(text)
    return found is not None and not (_PREDICATE.search(text) or is_negated(text) or is_remedy(found["first"]))


def is_remedy(text: str) -> bool:
    """Return whether an item begins like advice for something: 增加蛋白质."""
    return _REMEDY.match(text) is not None


def prepend_governor(piece: Piece, governing: str, lang: Lang) -> Piece:
    """Return an item behind the words that govern its list."""
    # "Avoid eating nuts and smoking" warns against smoking, not eating; "do not use heat or massaging" has one verb for
    # both.
    if _OWN_VERB[lang].match(piece.text) and (lang == "zh" or not find_negator(governing, lang)):
        governing = strip_final_verb(governing)
    return replace(piece, text=f"{governing}{'' if lang == 'zh' else ' '}{piece.text}")
