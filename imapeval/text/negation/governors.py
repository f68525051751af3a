"""Governors: the words of a clause that negate, or advise against, each item of the list before or after them.

"Avoid" governs both items of "avoid coffee and tea", "should be avoided" those of "coffee and tea should be avoided".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from imapeval.text.negation.hazards import CHINESE_HAZARD, CHINESE_REMEDY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.types import Lang

# Not 特别, 禁忌症, 至少 or 不戒; advice that may also follow a subject: 孕妇避免饮酒.
_CHINESE_PROHIBITION = (
    rf"避免(?!{CHINESE_HAZARD}(?:发生)?的{CHINESE_REMEDY})|禁食(?=.)|禁止|禁用于?|严禁|(?<!禁)忌(?!讳)|勿|远离"
    r"|停(?:[用服]|止)(?![^、，,]{0,8}[后前时])|(?<!警)戒(?!断)"
    r"|(?<![特区差鉴类级分性个辨识告离派各送])别(?![的人嘌忘名处称])|(?<![至多不减缺])少(?=[吃喝食饮用])"
)
_UNSUITABLE = "(?:contraindicated|forbidden|prohibited|unnecessary|unsafe|banned|off limits|to be avoided|discouraged)"
_GOVERNOR = re.compile(
    r"^(?!(?:not|no) (?:only|just|merely|simply|doubt|later|more|less)\b)(?:(?:(?:the )?patients?|you|he|she|they|we|one)\s+)?(?:(?:should|must|may|can|could|would|will|please|also|definitely|strictly|better)\s+)*"
    r"(?:(?:(?:do not|don['’]?t|never)(?! (?:hesitate|forget|fail|worry|be afraid|panic)\b)|not|cannot|can['’]?t|must not|should not|shouldn['’]?t)(?: (?:(?:have|need) to(?: (?:avoid|take|use|eat|drink|give|do|apply|limit|start|stop))?|take|use|eat|drink|give|do|have|apply|start|try|smoke"
    r"|touch|induce|perform|get|need|require|stop|skip|miss|(?:delay|exceed|exclude|ignore|rule out)(?= )))?(?: any)?"
    r"|avoid(?:ing)?(?: (?:taking|using|eating|drinking|doing))?|refrain from(?: \w+ing)?|abstain from|stop(?:ping)?(?: (?:taking|using|eating|drinking))?"
    r"|quit(?:ting)?|discontinue|limit(?:ing)?|(?:keep|stay) away from|den(?:y|ies|ied)|there(?: (?:is|are|was|were)|['’]s) no(?! need to\b)|(?:try|tries|tried|be careful|be sure|make sure|remember|take care|(?:it['’]s|it is) (?:best|better|important)) not to(?: (?:take|use|eat|drink|give|do|have|apply|start|smoke|touch|get|skip|miss))?|(?:take|use|eat|drink|has|have|had|is|are|reports?|reported|shows?|showed|reveals?|revealed) (?:no|neither)|negative for|contraindicated (?:in|for|with|during)|no need for|(?:there(?: is|['’]s) )?no need to(?: \w+)?|nothing(?: else| more)? to|no|neither|nor|without)(?=\s|$)"
    "|^(?:[^,，。；;、]{0,14}?(?:时间?内|期间|[天日周月年时]内|前|后|间))?[也还切既]?(?:建议|一定|千万|绝对|尽量|严格|注意|务必|必须|最好|请|应[当该]?|需要?|要)?"
    rf"(?:{_CHINESE_PROHIBITION}|不要|不能|不可以?|不宜|不得|不应|不必|不用|不需要?|不(?=[吃喝饮抽吸做用服与])|无需|无须|否认|没有?必要|没有|无(?![论法创菌痛症力]|痰咳|脑儿|效者))"
    r"(?:(?:同时|自行|随意|擅自)(?=[食饮服使吃喝用]))?(?:食用|饮用|服用|进食|使用|接触|进行|(?:排除|避免|禁食|忽[视略]|延误)(?=.)|再|做|吃|喝|食|饮|用(?!力)|有)?",
    re.IGNORECASE,
)
_PREDICATE = re.compile(
    r"(?:(?:is|are|was|were|should|must|may|can|need|needs)\s+(?:both |all |also |usually |currently )*(?:not|never)\b[^,;]*|(?:should|must|need to|needs to|are to|is to|has to|have to|can) (?:both |all |also )*be "
    r"(?:avoided|stopped|discontinued|withheld|omitted|skipped|limited)\b[^,;]*"
    rf"|(?:is|are|was|were) (?:both |all |also |strictly )*(?:{_UNSUITABLE}|absent|excluded|negative(?! for\b)|ruled out"
    r"|(?:(?:very|highly|rather|quite|most) )?unlikely)\b[^,;]*"
    r"|\b(?:has|have|had) (?:not been\b|been (?:excluded|ruled out)\b)[^,;]*"
    r"|\b(?:isn|aren|wasn|weren|hasn|haven|shouldn|mustn|don|doesn|can|won|needn)['’]?t\b[^,;]*)$"
    r"|(?!(?<=能)不能|(?<=要)不要|(?<=可)不可|(?<=需)不需|(?<=应)不应)(?:都|均|也|一律|暂时?)?(?:不能|不要|不可以?|不宜|不应|不得|不必|不用|不需要?|无需|要避免|应避免|需避免|应禁用|禁用|禁止|(?<![没无有])禁忌|要停|应停|没有?必要|除外)(?:再)?(?:吃|喝|用|做|食用|服用|使用|碰)?(?:了)?$"
    r"|(?:都|均|也|一律|尽量|最好|千万|要|应){0,3}(?:别|勿|切勿|少)再?(?:吃|喝|用|做|食用|服用|使用|碰|抽|沾)了?$|(?:都|均)?已经?排除了?$",
    re.IGNORECASE,
)


# What denies each thing that is listed behind it, whatever its subject; as a purpose, "rule out" denies nothing.
_DENIES_LIST = (
    r"(?:neg(?:ative)? for|free (?:of|from)|lacks|(?<!in the )(?<!in )absence of"
    r"|(?<!be )(?:excluded|ruled out)(?! (?:after|as|at|because|by|for|from|in|on|with)\b))"
)
# A subject and its negated verb, which apply to every item of the list after them.
_DENIED_VERB = re.compile(
    r"^[^,;:()]{0,60}?\b(?:(?:cannot|(?:do|does|did|ca|could|should|must|may|might|wo|would|need)n['’]?t"
    r"|(?:do|does|did|can|could|should|must|may|might|will|would|need)(?: not| never)) (?!only)(?:\w+ly )?(?:rule out|(?:have|need) to(?: \w+(?= ))?|\w+)(?:(?<= be) \w+ (?:by|during|for|in|to|with))?"
    rf"|(?:(?:is|are|was|were)(?: \w+ly)? {_UNSUITABLE}|(?:should|must|(?:is|are|needs?|has|have) to) be avoided) (?:by|in|with)"
    r"|(?:is|are|was|were) (?:(?:very|highly|most) )?unlikely (?:to be|due to)"
    r"|(?:has|have|had)(?: not|n['’]?t| never)(?: been)?(?: ruled out| \w+ed)?|(?:has|have|had|shows?|showed|reveals?|revealed) (?:no|neither)"
    r"|(?:is|are|was|were)(?: not|n['’]?t| never| no| neither)(?! only)(?: \w+(?= (?:for|in|by|with|during|to) ))?(?: (?:for|in|by|with|during|to))?"
    rf"|{_DENIES_LIST}"
    r"|(?:should|must|(?:needs?|has|have|advised|aim|best|better|careful|essential|important|make sure|necessary|recommended|remember"
    r"|tr(?:y|ies)|want|wise) to)(?: \w+ly| also)? (?:avoid|refrain from|abstain from|stay away from)"
    r"(?: (?:taking|using|eating|drinking|doing))?|never|neither)(?: (?:any|either))?(?=\s)"
    r"|^[^,，、；;：:()（）]{0,16}?(?:(?:并|也)?不(?:是|会|能|可以?|要|宜|应|必|用|属于|建议|推荐|主张|提倡|考虑|伴有?|需要?)|并非|没有?必要|没有|无需"
    r"|否认|排除了|已(?:经)?排除|未(?:见|发现|出现|闻及|触及|提示)(?:明显)?(?!异常|好转|缓解|改善|减轻)"
    r"|(?<![有毫])无(?![论法创菌痛症力效害关缘机线名色盐脂华精食光苔缓好改]|痰咳|脑儿|糖(?!尿)|(?:明显)?(?:诱因|原因)|外伤后)(?:明显)?"
    rf"|(?<![可以能来而从免止不没无未了为])(?:{_CHINESE_PROHIBITION}))"
    r"(?:引起|导致|造成|增加|影响|采用|使用|服用|食用|饮用|进食|接触|进行|做|吃|喝)?(?=.)",
    re.IGNORECASE,
)
# What nothing is said to support, up to the verb of the claim.
_DENIED_CLAIM = re.compile(
    r"^(?:[\w'’]+ ){0,3}no (?:\w+ )?(?:evidence|indication|proof) that (?:[\w'’-]+ ){1,4}?(?:(?:can|could|may|might|will|would) )?"
    r"(?:(?:affect|cause|cure|harm|help|improve|increase|prevent|reduce|shorten|treat|worsen)s?|leads? to)(?=\s)"
    r"|^[^,，。；;、]{0,8}?(?:没有|缺乏|无)[^,，。；;、]{0,6}证据(?:表明|证明|显示|提示)[^,，。；;、]{0,12}?(?<!不)(?:(?<!社)会(?![阴厌])|(?<!功)能(?![量力])|可(?![乐疑能逆]))以?"
    r"(?:引起|导致|造成|增加|治疗|预防|改善)?(?=.)",
    re.IGNORECASE,
)
_MAX_GOVERNOR_CHARACTERS = 200
"""Longest governor, in characters; each item of the list that it governs is completed with these words."""
# Verbs that a governor may end with.
_LAST_VERB = re.compile(
    r"\s(?:taking|using|eating|drinking|doing|take|use|eat|drink|give|do|have|apply|start|try|smoke|touch|induce|perform|get"
    r"|need|require|stop|skip|miss)(?: any)?$|(?<=[要免能以宜得应必止可勿别忌戒离需少])(?:食用|饮用|服用|进食|使用|接触|进行|再|做|吃|喝|食|饮|用|有)+$|(?<=禁)饮$",
    re.IGNORECASE,
)
# What follows a list's first item with a verb of its own, and the verb of the first item at the end of a governor.
_OWN_VERB = re.compile(
    r"\s*(?:(?:affect|cause|cure|harm|improve|increase|prevent|reduce|shorten|treat|worsen)s (?=\w)|(?:assume|be|change|combine|come|crush|drive|get|give|go|hope|inject|lose|lower|mix|push|put|reduce|rely|restrict|run|share|skip|squeeze"
    r"|switch|throw|treat|undergo|visit|wait|worry)\b|self-\w+|\w+(?<!ing) (?:it|them|yourself|your)\b)"
    r"|[自擅]行|擅自|随意|盲目|过[度分]|滥用|乱|拖延|耽误|停药|硬撑|熬夜|抓挠|[吃喝]|住院|担心|缩短|延长|改善|影响|治疗|预防|缓解|减轻|降低|减少|增加",
    re.IGNORECASE,
)
_SHARED_VERB = re.compile(
    r"\s(?:apply|avoid|delay|drink|eat|exceed|exclude|give|ignore|limit|rule out|start|stop|take|use|do|(?:affect|cause|cure|harm|help|improve|increase|prevent|reduce|shorten|treat|worsen)s?)$"
    r"|(?<=.)(?:延误|忽[视略]|避免|排除|禁食|引起|导致|造成|增加|治疗|预防|改善)$",
    re.IGNORECASE,
)
_DENIES_LIST_LAST = re.compile(rf"{_DENIES_LIST}(?: any)?$", re.IGNORECASE)
_REPORTED_DENIAL = re.compile(r"\bden(?:y|ies|ied)$|否认有?$", re.IGNORECASE)
_DENIES_BEING = re.compile("[无未]$|没有$|否认有?$")


def denies_being(governor: str) -> bool:
    """Return whether a Chinese governor denies that something is there, so that its list ends at a comma.

    >>> denies_being("目前没有"), denies_being("不要")
    (True, False)
    """
    return _DENIES_BEING.search(governor) is not None


def denies_list(governor: str) -> bool:
    """Return whether a subject and a denial apply to all that is listed behind them, not up to an "or" alone.

    >>> denies_list("the test was negative for"), denies_list("gout is not")
    (True, False)
    """
    return _DENIES_LIST_LAST.search(governor) is not None


def reports_denial(governor: str) -> bool:
    """Return whether a governor reports what a patient denies.

    >>> reports_denial("he denies"), reports_denial("患者否认"), reports_denial("no")
    (True, True, False)
    """
    return _REPORTED_DENIAL.search(governor) is not None


def find_denied_verb(text: str) -> str:
    """Return the subject and negated verb at the start of a clause; "" if there are none.

    >>> find_denied_verb("gout is not contagious"), find_denied_verb("痛风不会引起不孕")
    ('gout is not', '痛风不会引起')
    """
    found = _DENIED_VERB.match(text, 0, _MAX_GOVERNOR_CHARACTERS)
    return found[0] if found else ""


def find_denied_claim(text: str) -> str:
    """Return the words at the start of a clause that say that nothing supports what follows them; "" for none.

    >>> find_denied_claim("there is no evidence that it causes cancer"), find_denied_claim("没有证据表明会致癌")
    ('there is no evidence that it causes', '没有证据表明会')
    >>> find_denied_claim("no evidence of cancer")
    ''
    """
    found = _DENIED_CLAIM.match(text, 0, _MAX_GOVERNOR_CHARACTERS)
    return found[0] if found else ""


def strip_final_verb(governor: str) -> str:
    """Return a governor without its final verb, if it has one.

    >>> strip_final_verb("avoid eating"), strip_final_verb("避免饮"), strip_final_verb("no")
    ('avoid', '避免', 'no')
    """
    return _LAST_VERB.sub("", governor)


def strip_replaced_verb(governor: str, item: str) -> str:
    """Return a governor without its final verb if the item has a verb of its own.

    >>> strip_replaced_verb("do not delay", "self-medicate"), strip_replaced_verb("do not delay", "surgery")
    ('do not', 'do not delay')
    """
    return _SHARED_VERB.sub("", governor) if _OWN_VERB.match(item) else governor


def find_governor(text: str) -> str:
    """Return the words at the start of a clause that negate or advise against all it lists; "" if there are none.

    >>> find_governor("avoid alcohol"), find_governor("48小时内不要热敷"), find_governor("rest")
    ('avoid', '48小时内不要', '')
    """
    found = _GOVERNOR.match(text, 0, _MAX_GOVERNOR_CHARACTERS)
    return found[0] if found else ""


# The negator at the start of a governor: "do not" of "do not take".
_NEGATOR: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"(?:.*?\b(?:(?:do not|don['’]?t|(?:does|did|will|wo|may|might|should|would)(?: not|n['’]?t)(?= (?:have|need) to\b))(?: (?:have|need) to)?|never|cannot|can['’]?t|must not|should not|shouldn['’]?t|not to|no need to|nothing(?: else| more)? to)\b)?",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"(?:.*?(?:不要|不能|不可以?|不宜|不得|不应|禁止|勿|别))?"),
}


def find_negator(governor: str, lang: Lang) -> str:
    """Return the negator of a governor, "do not" of "do not take"; "" if it only advises against something."""
    found = _NEGATOR[lang].match(governor)
    return found[0] if found else ""


def find_denying_predicate(text: str) -> str:
    """Return the words at the end of a clause that negate, or advise against, its subjects; "" if there are none.

    >>> find_denying_predicate("smoking should be avoided"), find_denying_predicate("咖啡都不能喝")
    ('should be avoided', '都不能喝')
    """
    found = _PREDICATE.search(text)
    return found[0] if found and found.start() > 0 else ""


def is_unsuitable(text: str) -> bool:
    """Return whether an English text without a verb calls something unsuitable.

    >>> is_unsuitable("contraindicated in pregnancy"), is_unsuitable("safe in pregnancy")
    (True, False)
    """
    return re.match(rf"(?:strictly )?{_UNSUITABLE}\b", text, re.IGNORECASE) is not None


UNTRUE: Mapping[Lang, str] = {"en": "not", "zh": "不是"}
"""What a label such as "Myth" says of each thing after it."""

# Labels that are a mere verdict on what is named after them, and the words that say the same of each thing.
_LABELS: Mapping[Lang, tuple[tuple[str, re.Pattern[str]], ...]] = {
    "en": (
        ("no need for", re.compile(r"unnecessary|not (?:needed|necessary|required)", re.IGNORECASE)),
        (
            "avoid",
            re.compile(
                rf"(?:(?:absolutely|strictly) )?(?:{_UNSUITABLE}|unsuitable|inadvisable"
                r"|not (?:acceptable|appropriate|indicated|ok(?:ay)?|permitted|safe|suitable))",
                re.IGNORECASE,
            ),
        ),
        (
            "no",
            re.compile(
                r"absent|(?:pertinent )?negatives?|(?:excluded|ruled out)|not (?:detected|found|present|seen)",
                re.IGNORECASE,
            ),
        ),
        (UNTRUE["en"], re.compile(r"(?:common )?(?:misconception|mistake|myth)s?(?: \d{1,2})?", re.IGNORECASE)),
    ),
    "zh": (
        ("避免", re.compile("不(?:安全|适[合宜用])")),
        ("无", re.compile("阴性|未(?:见|发现|检出)|不存在|已经?排除")),
        (UNTRUE["zh"], re.compile("(?:常见)?(?:误区|误解|谣言|错误(?:做法|说法|观[念点]|认识))[一二三四五1-5]?")),
    ),
}


def find_label_governor(text: str, lang: Lang) -> str:
    """Return the words that deny each thing after a label that is a mere verdict; "" for any other text.

    >>> find_label_governor("Unsafe", "en"), find_label_governor("Absent", "en"), find_label_governor("阴性", "zh")
    ('avoid', 'no', '无')
    >>> find_label_governor("Unsafe drugs", "en"), find_label_governor("Safe", "en")
    ('', '')
    """
    return next((words for words, label in _LABELS[lang] if label.fullmatch(text)), "")
