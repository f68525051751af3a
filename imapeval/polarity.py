"""Whether a wording affirms or denies: "no surgery needed" is not "surgery needed"."""

from __future__ import annotations

import re

# Negators, and the words that contain one of their characters without denying anything (不适 is "discomfort").
_NEGATION = re.compile(
    r"\b(?:no|not|never|without|cannot|nor|neither|unnecessary|needless)\b|\b(?:rule[sd]?|ruling) out\b"
    r"|n['’]t\b|\b(?:do|does|did|is|are|was|should|would|could|has|have|ca|wo)nt\b|(?<!\bgram[ -])(?<!\brh[ -])\bnegative\b"
    r"|不(?![适舒良全孕育明足同仅但断稳齐整宁典锈饱论管过规振调佳畅当止清耐])|无(?![创菌痛症力论机尘])|没有?"
    r"|未(?![来婚成])|勿|并非|(?<!革兰)(?<!革兰氏)(?<!Rh)阴性|排除|否认",
    re.IGNORECASE,
)
_RESTRAINT = re.compile(
    r"\b(?:avoid|refrain|abstain|abstinence|stop|quit|ceas|cessation|discontinu|contraindicat|prevent|limit)"
    r"|\b(?:keep|stay) away\b|避免|禁|忌|戒|停(?!经)|远离|防|少(?=[吃喝食饮用])",
    re.IGNORECASE,
)


def negated(text: str) -> bool:
    """Say whether an odd number of negators stands in a value or clause.

    >>> [negated(text) for text in ("no surgery needed", "不需要手术", "腹部不适", "not without risk")]
    [True, True, False, False]
    """
    return len(_NEGATION.findall(text)) % 2 == 1


def restrains(text: str) -> bool:
    """Say whether a wording keeps from something without a negator: "avoid alcohol" means "do not drink alcohol".

    >>> [restrains(text) for text in ("avoid alcohol", "戒烟", "do not drink alcohol")]
    [True, True, False]
    """
    return _RESTRAINT.search(text) is not None
