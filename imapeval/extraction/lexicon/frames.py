"""What surrounds the statements of an answer without being one.

Disclaimers of a chatbot, introductions of lists, and what a statement is based on. Pure; uses no dictionary.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.clauses import trim_piece
from imapeval.text.negation.governors import find_governor
from imapeval.text.negation.stance import is_negated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from imapeval.extraction.lexicon.clauses import Piece
    from imapeval.types import Lang

# What a whole sentence may say of the answer itself.
_TEXT = "(?:information|answer|response|content)"
_DISCLAIMER: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"\bnot? (?:a |intended as a )?(?:substitute|replacement) for (?:[\w'’-]+ ){0,3}?"
        r"(?:advice|appointment|assessment|care|consultation|diagnosis|doctors?|evaluation|exam(?:ination)?|face-to-face"
        r"|in-person|medical|physicians?|professionals?|visit)\b"
        r"|\bfor (?:general )?informational purposes\b"
        # Not "the response is inadequate", which is said of a treatment.
        rf"|\b(?:this (?:above )?{_TEXT}|the above {_TEXT}"
        rf"|the {_TEXT} (?:(?:given|provided|presented|contained)(?: here| above)?|here|above))"
        r" (?:is|should|must|does|cannot)\b"
        rf"|\bthe {_TEXT} (?:is|should|must|does|cannot) (?:(?:only|solely|meant|intended|provided) )*"
        r"(?:for (?:general|educational|information)|general\b|AI\b|generated\b|based on limited|replace\b"
        r"|not (?:be|replace|intended|meant|medical)\b)",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"仅供参考|不能(?:代替|替代|取代)(?:医生|专业|面诊)|不构成(?:医疗|诊断|任何)"),
}
_CLAUSE_END: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(r"[,;](?=\s)|\s(?=(?:but|however|although)\s)", re.IGNORECASE),
    "zh": re.compile("[，,；;]"),
}
# What chatbots say they are, cannot do, and offer.
_BOT = r"(?:[\w-]+ ){0,4}?(?:ai|language model|artificial intelligence|chatbot|virtual assistant)\b"
_CONSULT = (
    r"(?:\w+ly )?(?:access|diagnose|examine|give|interpret|make|offer|prescribe|provide|recommend|replace|view)\b"
)
_UNABLE = "(?:没有(?:能力|资格)|不具备|无法|不能)"
_OPINION = "(?:诊断|建议|意见|处方|诊治|判断|方案|检查|治疗|医生|评估)"
_SELF: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"\s*(?:(?:and|but|so|also|however|although|while|unfortunately|(?:please )?note that)\s+)*"
        rf"(?:as an? {_BOT}|i(?:['’]m| am) (?:just |only )?an? {_BOT}"
        r"|i(?:['’]m| am) not (?:\w+ly )?an? (?:[\w-]+ ){0,2}?(?:doctor|physician|professional|clinician)"
        rf"|i(?:['’]m| am) not (?:able|allowed|authorized|designed|licensed|programmed|qualified|trained) to {_CONSULT}"
        rf"|i (?:can ?not|can['’]t|am unable to) {_CONSULT}"
        r"|i (?:can|could|will|would like to|am happy to|am here to)(?: \w+)?"
        r" (?:give|offer|provide|share) (?:you )?(?:with )?"
        r"(?:some |a few |general |basic )*(?:advice|guidance|information|insights?|suggestions|tips)\b)",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"\s*(?:但是?|不过|虽然|因此|所以|很?抱歉|对不起)*(?:"
        r"(?:作为|身为|我(?:只|仅仅?)?是|我叫|本)[^，,；;。]{0,12}?(?:AI|人工智能|语言模型|机器人|[智能聊天虚拟]{2}助手)"
        r"|我(?:并?不|并非)是?(?:真正的?|专业的?|一[名个位])*(?:医生|医师|医疗|医务|专业)"
        rf"|我{_UNABLE}.{{0,24}}{_OPINION}"
        r"|(?:无法|不能)(?:为您|给您|直接|在线)*(?:提供|给出|[做作]出|进行|开具)(?=[^，,；;。]{0,16}(?:诊断|建议|意见|处方))"
        r"(?:具体|准确|专业|医[疗学]|个性化|任何|明确|诊断|建议|意见|处方|治疗|方案|[性的和或及与])+$"
        r"|我(?:可以|能够?|会|将|很?乐意)(?:尽[量力])?(?:为|给|向|提供).{0,12}(?:信息|建议|帮助|意见|参考|知识))",
        re.IGNORECASE,
    ),
}
# What continues such a clause: "I cannot examine photos, diagnose diseases or prescribe drugs".
_CONTINUATION: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(
        rf"\s*(?:(?:and|or|nor|so|therefore) )*(?:i )?(?:(?:cannot|can['’]t|not) )?{_CONSULT}", re.IGNORECASE
    ),
    "zh": re.compile(
        rf"\s*(?:也|并|更|还|所以|因此|且)*{_UNABLE}.{{0,24}}{_OPINION}"
        r"|\s*但?是?可以提供.{0,12}(?:信息|建议|帮助)"
    ),
}
_LISTING_HEAD = re.compile(r"(?:以下|如下|下列).{0,10}$|\bfollowing(?: [\w-]+){0,2}$", re.IGNORECASE)
_COLON = re.compile(r"\s*[:：]")
_COMMA = re.compile(r"\s*[,，]")
# What a statement is based on, applies to or serves, before or after it.
_BASIS = re.compile(
    r"(?:based on|according to|in terms of|regarding|with regards? to|as for|given (?:your|the|that)|considering)\s.*"
    r"|in (?:contrast|this case|your case|that case|the meantime)|for (?:instance|example)|though rare|now"
    r"|initially|historically|sometimes"
    r"|(?:根据|针对|基于|鉴于|对于|关于|至于)(?:(?!进行|选择|使用|采[用取]|调整|给予|服用|制定|决定|判断|安排|用药).)*"
    r"|在.*(?:中|方面)",
    re.IGNORECASE | re.DOTALL,
)
# A label of what is right, below one of a myth.
_TRUE = re.compile(r"facts?|truth|reality|事实|真相|正确(?:做法|说法)?", re.IGNORECASE)
_PURPOSE = re.compile(
    r"为了|以便|以(?:进一步|更好地?|全面|及时|尽快)*(?:评估|确定|明确|确认|了解|查看|判断|观察|获[取得]|得到|确保|制定|监测)"
)
_SETTING = re.compile(r"(?<![先最然今此随前以])后|期间|(?<![以目之])前")
_MAX_SETTING_CHARACTERS = 16
_SPEAKER = re.compile(
    r"(?:patient|doctor|nurse|guest\w*|clinician|physician|user|assistant|answer|[qa]|facts?|truth|reality"
    r"|患者|病人|医生|护士|家属|[问答]|回答|结论|事实|真相)(?: ?\d)?",
    re.IGNORECASE,
)
_SPEAKER_LABEL = re.compile(rf"(?:{_SPEAKER.pattern})\s?[:：]\s*", re.IGNORECASE)
_ASKING_SPEAKER = re.compile(rf"(?!a(?:nswer)?\b|[回答结]){_SPEAKER.pattern}\s?[:：]", re.IGNORECASE)
# Before a colon: whom, which severity, time or rank the statements after it are about.
_PERSON = (
    r"adolescents?|adults?|athletes?|bab(?:y|ies)|boys?|child(?:ren)?|elderly|females?|girls?|infants?|kids?|m[ae]n|males?|mothers?"
    r"|neonates?|newborns?|patients|people|persons?|pregnan(?:cy|t)|seniors?|smokers?|teen(?:ager)?s?|toddlers?|wom[ae]n"
)
_SEVERITY = r"(?:mild(?:er)?|moderate(?:ly)?|severe(?:ly)?|acute(?:ly)?|chronic(?:ally)?)"
_ILLNESS = r"(?:attacks?|cases?|disease|episodes?|forms?|illness|infections?|pain|phase|stage|symptoms?)"
# Not "severe side effects", below which they are listed.
_NO_ILLNESS = r"(?!(?:complication|effect|reaction|sign|treatment)s?\b)"
_GRADED = rf"(?:mild|moderate|severe) (?:{_NO_ILLNESS}[\w-]+ )?{_NO_ILLNESS}[\w-]+"
_NUMBERED = r"(?:day|week|month|trimester)s?"
_TIME = (
    rf"(?:mornings?|midday|noon|afternoons?|evenings?|nights?|bedtime|{_NUMBERED} (?:\d{{1,2}}|one|two|three|four)"
    rf"(?:(?: to |-|–)\d{{1,2}})?|(?:first|second|third|last) {_NUMBERED}"
    r"|(?:first|second|third|1st|2nd|3rd)[- ](?:line|choice)(?: (?:choice|drugs?|options?|therapy|treatment))?"
    r"|(?:before|after|during|while|whilst) [\w -]{1,30})"
)
# A value that only some patients have: "> 3 cm", 体温超过38.5℃, 1岁以下.
_LIMIT = (
    r"[^,;:，。；：\d]{0,20}?(?:[<>≤≥＜＞]=?|\b(?:over|under|above|below|(?:less|more) than|at least|up to)\b"
    r"|不足|超过|不到|低于|未满|[高大小]于)"
    r"\s?\d[^,;:，。；：]{0,15}"
    r"|[^,;:，。；：\d]{0,8}\d[\d.~～–至到-]*\s?(?:岁|个?月|周|天|[a-z%℃°]{1,6}|[厘毫]米|度)(?:及?以?[上下内]|[前后])"
    r"|\d+(?:\s?(?:[-–~～]|to|至|到)\s?\d+)?\s?(?:years?|months?|weeks?|days?|周?岁)(?: old)?"
)
_CASE: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(
        rf"(?:(?:in|for|at|if|the|with) ){{0,2}}(?:{_SEVERITY}(?: {_ILLNESS})?|{_GRADED}|{_TIME}|{_LIMIT}"
        r"|(?:stage|type) (?:\d|i{1,3}v?|[a-d])(?: [\w-]+){0,2}|(?:left|right) [\w-]+"
        rf"|(?:[\w-]+ ){{0,2}}(?:{_PERSON})"
        r"(?: (?:over|under|with|without|who|aged|older|younger|taking|on) [\w -]{1,30})?)",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        rf"{_LIMIT}|[^，。；]{{0,6}}(?:(?<![全效要能重异感限阴阳定])性|(?<![类分体血])型|(?<![等分年])级|[左右][眼耳侧肺肾膝手脚足腿])|"
        r"(?:[轻中重危](?:症|型|度)?(?:患者|者|病人)?|急性|慢性|[^，。；]{1,8}(?:患者|病人|人群)|[^，。；]{0,8}(?:孕妇|产妇|儿童|小孩|孩子|婴幼?儿|新生儿|成年?人|大人|老年?人|男性|女性|[^患或学记编作]者|期))"
        r"|[早中晚](?:上|晨|餐前|餐后|饭前|饭后)?|上午|下午|中午|睡前|第[一二三四1-4]?[天周月]|[术饭餐产孕][前中后期]|[一二三]线|[首次]选",
    ),
}


def is_disclaimer(sentence: str, *, lang: Lang) -> bool:
    """Return whether a sentence says only what the answer itself is, such as no substitute for a doctor."""
    return bool(_DISCLAIMER[lang].search(sentence))


def drop_disclaimers(sentence: Piece, lang: Lang) -> Iterator[Piece]:
    """Yield the parts of a sentence that disclaim nothing: neither what the answer is nor what a chatbot can do."""
    text = sentence.text
    if is_disclaimer(text, lang=lang):
        return
    start = kept = 0
    disclaims = False
    for end, following in [*(found.span() for found in _CLAUSE_END[lang].finditer(text)), (len(text), len(text))]:
        clause = text[start:end]
        dropped = _SELF[lang].match(clause) or (disclaims and _CONTINUATION[lang].match(clause))
        if dropped:
            if not disclaims and (piece := trim_piece(text, kept, start, offset=sentence.start)):
                yield piece
            kept = following
        disclaims = bool(dropped)
        start = following
    if not kept:
        yield sentence
    elif piece := trim_piece(text, kept, len(text), offset=sentence.start):
        yield piece


def introduces_list(item: Piece, text: str) -> bool:
    """Return whether an item only introduces the list after it: 症状 before 包括, "the following signs:"."""
    if is_negated(item.text):
        return False
    listing = _LISTING_HEAD.search(item.text) and _COLON.match(text, item.end)
    return bool(listing) or text.startswith("包括", item.end)


def is_frame(piece: Piece, text: str, *, purposes: bool = True) -> bool:
    """Return whether an item says only what a statement is based on, or is a label such as "Fact:".

    Or, if `purposes`, what a statement serves; before a colon it only heads what follows.
    """
    if _PURPOSE.match(piece.text) and (purposes or _COLON.match(text, piece.end)):
        return True
    if _COLON.match(text, piece.end) and _TRUE.fullmatch(piece.text):
        return True
    return _COMMA.match(text, piece.end) is not None and _BASIS.fullmatch(piece.text) is not None


def names_case(text: str, lang: Lang) -> bool:
    """Return whether a text names only the case that what follows applies to: "adults over 60", 轻症, "left ear".

    A case is a group of people, a severity, stage, side, limit, rank or time.
    """
    return _CASE[lang].fullmatch(text) is not None and not find_governor(text)


def is_setting(piece: Piece, text: str) -> bool:
    """Return whether a Chinese item says only when the statement after it holds: 病情稳定后 or 术前 before a comma."""
    short = 1 < len(piece.text) <= _MAX_SETTING_CHARACTERS
    ends = short and any(found.end() == len(piece.text) for found in _SETTING.finditer(piece.text))
    return ends and _COMMA.match(text, piece.end) is not None and not find_governor(piece.text)


def names_speaker(text: str) -> bool:
    """Return whether a text only names who speaks, or that what follows is a question, an answer or a fact."""
    return _SPEAKER.fullmatch(text) is not None


def strip_speaker(sentence: Piece) -> Piece:
    """Return a sentence without the name of who says it: "A: No"."""
    found = _SPEAKER_LABEL.match(sentence.text)
    return (
        replace(sentence, text=sentence.text[found.end() :], start=sentence.start + found.end()) if found else sentence
    )


def quotes_question(sentence: Piece, text: str) -> bool:
    """Return whether a sentence is a question behind the name of who asks it: "Q: Is it safe?"."""
    return text.startswith(("?", "？"), sentence.end) and _ASKING_SPEAKER.match(sentence.text) is not None
