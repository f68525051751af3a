"""Lists that a model lumped into one value, taken apart where that is safe. Pure.

"发热、咽痛、咳嗽等症状" is three facts. Only a plain enumeration is split: nothing that holds a number, a dose, a
condition, a denial or a verb that governs all items ("少吃内脏、海鲜"), and no item so short that it may share its noun
with the next ("肝、肾功能"). Where in doubt a value stays whole.
"""

from __future__ import annotations

import re

_LONGEST_ITEM = 12
"""Chinese characters; a longer item is a clause."""
_LONGEST_PHRASE = 3
"""English words of an item."""

_HEAD = re.compile(
    r"^[^、，。；]{0,24}?(?:包括(?:有)?|主要(?:有|为|是|包括)|常见的?有|分为|可分为|例如|比如)[:：]?(?=[^、])|^如(?![果何])"
)
"""What announces the items: 睾丸癌的高危因素包括..."""
_TAIL = re.compile(
    r"等+(?:[^、，。；]{0,12}(?:症状|表现|药物?|疾病|检查|项目|措施|方法|方式|手段|治疗|因素|情况|问题|食物|指标|并发症|部位)|多种)?$"
)
"""What closes them: 等, 等症状, 等与肝胆系统相关的症状."""
_LAST = re.compile(
    r"以及|(?<![饱温缓平中总柔暖祥随谐])和(?![缓谐平解睦蔼气])|(?<![以涉普波累顾殃危触提推])及(?![时早其格至])"
)
"""What stands before the last item instead of 、 (as in `clauses`)."""
_ABBREVIATION = re.compile(r"\s*[(（][A-Za-z][A-Za-z\d-]{1,9}[)）]")
_WHOLE = re.compile(
    r"[，。；：:;?？!！()（）\[\]【】\"“”/→]|(?<![A-Za-z\d])\d|[一二两三四五六七八九十半]+[个次天周月年片粒种]"
    # A denial or restriction that may govern the items after it.
    r"|(?:^|、)\s*(?:[不无没未勿禁忌少别]|避免|否认|停|防|远离)"
    r"|如果|若|当(?!归)|时(?!间)|后$|前$|者$|患者|人群|慎用|为主|为宜|适用|建议|(?<!反)应(?!激)|可以|需要|能够|或"
    r"|吃|喝|饮用|进食|注意|保持|与.*有关"
)
"""What makes a Chinese value more than a list of names."""

_EN_HEAD = re.compile(r"^[^,]{0,40}?\b(?:includ(?:e|es|ing)|such as|for example)\b:?\s+", re.IGNORECASE)
_EN_DIVIDER = re.compile(r"\s*,\s*(?:and|or)\s+|\s*,\s*|\s+and\s+", re.IGNORECASE)
_EN_TAIL = re.compile(r",?\s+(?:etc|and so on|and others)$", re.IGNORECASE)
_EN_WHOLE = re.compile(
    r"[.;:?!()\[\]\"/]|\d|\b(?:no|not|never|without|avoid\w*|stop\w*|limit\w*|less|more|if|when|while|until|unless|for|with|to"
    r"|from|by|per|in|on|at|of|that|which|who|is|are|was|were|be|can|may|should|must|will|has|have|take|taking|use|using|eat"
    r"|eating|drink|drinking|get|getting|see|do|keep|try|apply|once|twice|daily|one|two|three|four|five|six|seven|eight|nine"
    r"|ten|or|but|nor|unlikely|possible|possibly|rule|ruling|prevent\w*|reduc\w*|increas\w*|decreas\w*)\b",
    re.IGNORECASE,
)
"""What makes an English value more than a list of names: verbs, conditions, relations, numbers."""
_ADJECTIVE = re.compile(r"(?:al|ic|ous|ar|ive|ary|ed|ible|able|ate|ish|ful|less)$", re.IGNORECASE)
"""How a word ends that may need the noun of the next item: "oral, nasal and topical steroids"."""
_LEAST = 3
"""Items of an English list: two and a comma may be a name and its addition."""


def split(value: str) -> tuple[str, ...]:
    """Return the items of a plain enumeration, in order; of any other value the value alone.

    >>> split("睾丸癌的高危因素包括隐睾、睾丸发育不良和家族史")
    ('隐睾', '睾丸发育不良', '家族史')
    >>> split("少吃内脏、海鲜")
    ('少吃内脏、海鲜',)
    >>> split("fever, sore throat and cough")
    ('fever', 'sore throat', 'cough')
    """
    if "、" in value:
        return _split_chinese(value)
    if "," in value and value.isascii():
        return _split_english(value)
    return (value,)


def _split_chinese(value: str) -> tuple[str, ...]:
    body = _TAIL.sub("", _HEAD.sub("", value, count=1))
    if _WHOLE.search(_ABBREVIATION.sub("", body)):
        return (value,)
    *first, last = body.split("、")
    items = [item.strip() for item in (*first, *_LAST.split(last, maxsplit=1))]
    fits = len(items) > 1 and all(1 < len(_ABBREVIATION.sub("", item)) <= _LONGEST_ITEM for item in items)
    return tuple(items) if fits else (value,)


def _split_english(value: str) -> tuple[str, ...]:
    body = _EN_TAIL.sub("", _EN_HEAD.sub("", value, count=1))
    items = _EN_DIVIDER.split(body)
    fits = (
        len(items) >= _LEAST
        and not _EN_WHOLE.search(body)
        and all(0 < len(item.split()) <= _LONGEST_PHRASE for item in items)
        and not any(_ADJECTIVE.search(item) for item in items[:-1])
    )
    return tuple(items) if fits else (value,)
