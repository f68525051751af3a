"""Analyses the wording of a value before names are looked up: brackets, words that do not change the meaning, the head.

Pure functions, over normal forms unless punctuation matters. The tables of light words are conservative: a word is
listed only if a clinician would consider the value the same without it. Severity, course, side and dose change the
meaning: they are cut off only to find the head of a value, which is then a broader concept.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from imapeval.text.dimensions.stages import find_stages, strip_stage
from imapeval.text.language import has_chinese
from imapeval.text.negation.stance import NEGATING_CHARACTERS, NEGATING_WORDS, advises_against, is_negated
from imapeval.text.normalise import BRACKETS, is_abbreviation, normalise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from imapeval.graph.model import ConceptType

_LATIN = re.compile(r"[a-z][a-z0-9+-]*")
_LISTING = re.compile(r"^[^\d]*/\s*[^\d\s]|[、,，;；]\s*[^\d\s]")

MAX_WORDS = 6
"""Maximum number of words of an English noun phrase; longer values are clauses."""

MAX_LETTERS = 80
"""Maximum length of an English noun phrase, that of the names in the graph (kg/cleaning.py)."""

MAX_CHARACTERS = 16
"""Maximum length of a Chinese noun phrase."""

# Words that negate a name, or make the value about something else: "avoid aspirin" is not a kind of aspirin.
_BLOCKING = re.compile(
    rf"\b(?:{NEGATING_WORDS}"
    r"|prevent\w*|prophyla\w*|risk|history|family|suspect\w*|possibl[ey]|probabl[ey]|anti|vaccin\w*"
    r"|cured|false|pseudo|normal|reduc\w*|reliev\w*|control\w*|treat(?:ing|s|ed)?|manag\w*|lower(?:ing|s)|improv\w*|promot\w*|caus\w*|monitor\w*"
    r"|increas\w*|decreas\w*|check\w*|and|or|versus|vs|in|of|for|with|during|to|on|by|at|from|after|before|due)\b"
    rf"|[{NEGATING_CHARACTERS}防抗疑或和与及]|缓解|减轻|控制|降低|改善|消除|抑制|引起|导致|治疗|用于|针对|风险|病史|家族|可能|接种|疫苗|促进|增加|减少|监测"
)

_ARTICLE = re.compile("^(?:an?|the) ")
_LIGHT_FIRST = re.compile(
    r"^(?:(?:a|an|the|some|any|your|his|her|their|this|take|taking|use|using|use of|undergo|undergoing"
    r"|perform|performing|get|getting|give|giving|administer|administration of|have|having) "
    r"|(?:例如|比如|包括|如|由于|请|应该?|需要?|可|服用|口服|使用|应用|采用|采取|给予|进行|接受|患有|确诊为|诊断为|建议|可以|考虑做|去做|做|行|用|吃|挂|查))(?=\S)"
)
_AND_SO_ON = re.compile(r"(?: etc| and so on| and other|等等?)$")
# By type of the concept, because the same word may be meaningful elsewhere ("drug test", 心脏病).
_LIGHT_LAST: dict[ConceptType, re.Pattern[str]] = {
    "drug": re.compile(
        r"^oral |(?: (?:oral|medicine|medication|agent|tablet|capsule|pill|granule)| oral (?:tablet|capsule|solution)"
        r"|缓释片|分散片|肠溶片|咀嚼片|片剂?|胶囊剂?|颗粒剂?|口服液|类药物|类药|药物|药|类|制剂)$"
    ),
    "test": re.compile(
        r"(?: (?:scan|scanning|exam|examination|test|testing|check|measurement|level|imaging)"
        r"|检查|检测|化验|测定|检验|扫描|测试|水平|项目)$"
    ),
    "procedure": re.compile(r"(?: (?:procedure|therapy|treatment|surgery|operation)|治疗|疗法|手术|手术治疗|操作)$"),
    "disease": re.compile(r"(?: (?:disease|disorder|condition|illness)|疾病|病症|病|症)$"),
    "symptom": re.compile(r"(?: (?:symptom|sensation|feeling)|的?症状|的?感觉|现象)$"),
    "department": re.compile(
        r"(?: (?:department|clinic|unit|ward|outpatient clinic)|门诊|科室|专科|就诊|就医)$|^department of "
    ),
}
_TREATMENT = re.compile(
    r"(?:^(?:treatment|therapy|treat|treated) (?:with|by) (?P<with>.+)"
    r"|^(?P<first>.+?) (?:therapy|treatment|injection|infusion|course|regimen)"
    r"|^(?:[用以]|使用|应用|采用)?(?P<zh>.+?)(?:药物)?(?:治疗|疗法|注射))$"
)
# "cancer of the colon", "swelling due to injury": the head comes before the preposition.
_PREPOSITION = re.compile(
    r" (?:of|in|from|with|without|after|before|during|for|on|at|to|by|due|because|caused|secondary|associated|against) "
)
_DOSE = re.compile(
    r" ?(?<!\d)\d++(?:\.\d+)? ?"
    r"(?:(?:mcg|mg|g(?:ram)?|kg|ml|iu|unit|tablet|capsule|pill|drop|time)s?(?![a-z])"
    r"|%|微克|毫克|克|毫升|单位|片|粒|滴|次).*$",
    re.IGNORECASE,
)
_QUALIFIERS = re.compile(
    r"(?:急性|慢性|亚急性|严重|重症|重度|中度|轻度|轻微|早期|中期|晚期|反复|复发|持续|间歇|阵发|原发|继发|先天|遗传"
    r"|良性|恶性|双侧?|左侧?|右侧?|单侧|局部|全身|弥漫|小儿|儿童|婴幼?儿|新生儿|老年|妊娠|外用|静脉|一般|普通|常规|定期|适量|适当"
    r"|[性型期部的])+"
)


def is_phrase(norm: str) -> bool:
    """Return whether a normal form may be a noun phrase rather than a clause."""
    if has_chinese(norm):
        return len(norm) <= MAX_CHARACTERS
    return 0 < len(norm) <= MAX_LETTERS and norm.count(" ") < MAX_WORDS


def blocks_head(norm: str) -> bool:
    """Return whether a word in a normal form negates, prevents or joins what is named beside it.

    >>> blocks_head("avoid aspirin"), blocks_head("severe asthma"), blocks_head("不需要手术")
    (True, False, True)
    """
    return _BLOCKING.search(norm) is not None


def split_brackets(value: str) -> tuple[str, ...]:
    """Return the normal forms of the text outside and inside brackets; empty without brackets.

    >>> split_brackets("computed tomography (CT)")
    ('computed tomography',)
    >>> split_brackets("painkillers (ibuprofen)")
    ('painkiller', 'ibuprofen')
    """
    inside = [found.group(1) for found in BRACKETS.finditer(value)]
    if not inside:
        return ()
    outside = normalise(BRACKETS.sub(" ", value))
    # An abbreviation is unambiguous only beside its expansion: "ALP" alone is several things.
    spelled_out = [normalise(text) for text in inside if not is_abbreviation(text)]
    return tuple(filter(None, (outside, *spelled_out)))


def find_latin_abbreviation(norm: str) -> str:
    """Return the only run of Latin letters in a Chinese normal form, which may be an abbreviation; "" if none.

    >>> [find_latin_abbreviation(norm) for norm in ("hp感染", "ct或mri检查", "b超")]
    ['hp', '', '']
    """
    runs = _LATIN.findall(norm) if has_chinese(norm) else []
    return runs[0] if len(runs) == 1 and len(runs[0]) > 1 else ""


def invert_genitive(norm: str) -> str:
    """Return the compound form of an English phrase with "of"; "" where there is none.

    >>> invert_genitive("a cancer of the lung")
    'lung cancer'
    """
    head, of, owner = norm.partition(" of ")
    return f"{owner.removeprefix('the ')} {_ARTICLE.sub('', head)}" if of and " of " not in owner else ""


def is_enumeration(value: str) -> bool:
    """Return whether a value lists several things, as shown by punctuation, which normal forms lack.

    >>> [is_enumeration(text) for text in ("肺炎、哮喘", "asthma, pneumonia", "asthma, stage IV")]
    [True, True, False]
    """
    rest = find_stages(value)[1]
    dose = _DOSE.search(rest)  # "500 mg, three times a day" is one thing
    return _LISTING.search(rest[: dose.start()] if dose else rest) is not None


def strip_light_words(norm: str) -> Iterator[tuple[str, ConceptType | None]]:
    """Yield a normal form without words that do not change its meaning, and the type that it must then have.

    Nothing for one that is longer than any name.

    >>> list(strip_light_words("ct scan"))
    [('ct', 'test')]
    >>> list(strip_light_words("服用布洛芬胶囊"))
    [('布洛芬胶囊', None), ('布洛芬', 'drug')]
    """
    if len(norm) > MAX_LETTERS:
        return
    bare = norm
    while (cut := _LIGHT_FIRST.sub("", bare)) != bare:
        bare = cut
        yield bare, None
    if (cut := _AND_SO_ON.sub("", bare)) != bare:
        bare = cut
        yield bare, None
    for kind, pattern in _LIGHT_LAST.items():
        rest = bare
        while (cut := pattern.sub("", rest)) != rest and cut:
            rest = cut
            yield rest, kind


def find_treatment_agents(norm: str) -> tuple[str, ...]:
    """Return the normal forms of the agent of a treatment; empty if the value is not a treatment with something.

    >>> find_treatment_agents("antibiotic therapy"), find_treatment_agents("用青霉素治疗")
    (('antibiotic',), ('青霉素',))
    """
    found = _TREATMENT.match(norm)
    if found is None:
        return ()
    agent = found["with"] or found["first"] or found["zh"]
    return (agent, *(rest for rest, kind in strip_light_words(agent) if kind in (None, "drug")))


def find_heads(norm: str) -> Iterator[tuple[str, str]]:
    """Yield (possible head, its modifier) of a noun phrase, the longest head first; nothing for a longer text.

    In both languages the head comes last, but before a dose or a stage, and in English before a preposition.

    >>> list(find_heads("cancer of the colon"))
    [('cancer', '')]
    >>> list(find_heads("spiral fracture of the tibia"))
    [('spiral fracture', ''), ('fracture', 'spiral')]
    >>> list(find_heads("肺癌4期"))
    [('肺癌', '')]
    >>> list(find_heads("duodenal malignant lymphoma"))
    [('malignant lymphoma', 'duodenal'), ('lymphoma', 'duodenal malignant')]
    """
    if len(norm) > MAX_LETTERS:
        return
    while (found := _DOSE.search(norm)) is None and (whole := strip_stage(norm)) != norm:
        norm = whole
        yield norm, ""
    if found:
        if not is_negated(found.group()):
            yield norm[: found.start()], ""
        return
    if has_chinese(norm):
        # A single character is never a head: too many words end in 病 or 炎.
        for start in range(1, len(norm) - 1):
            yield norm[start:], norm[:start]
        return
    if found := _PREPOSITION.search(norm):
        # "aspirin to be avoided" is not a kind of aspirin, but "pneumonia without fever" is a kind of pneumonia.
        if advises_against(norm[found.start() :]):
            return
        norm = norm[: found.start()]
        yield norm, ""
    words = norm.split(" ")
    for start in range(1, len(words)):
        yield " ".join(words[start:]), " ".join(words[:start])


def strip_qualifier(chinese: str) -> str:
    """Return a Chinese modifier without qualifiers at its start.

    >>> strip_qualifier("急性化脓性")
    '化脓性'
    """
    found = _QUALIFIERS.match(chinese)
    return chinese[found.end() :] if found else chinese
