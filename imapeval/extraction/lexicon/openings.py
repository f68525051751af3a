"""Whether an item of a list begins a statement of its own, which the negation before it does not reach.

"Avoid coffee, tea" forbids both, "no juice, walk after meals" only the juice. Pure; uses no dictionary.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.coordination import is_bare_name
from imapeval.text.negation.governors import find_negator, strip_final_verb
from imapeval.text.negation.stance import NEGATING_CHARACTERS

if TYPE_CHECKING:
    from imapeval.extraction.lexicon.items import Item
    from imapeval.types import Lang

_PREPOSITION = (
    r"(?:about|after|against|all|around|as|at|before|behind|beyond|both|by|during|for|from|half|in|inside|into|like|near"
    r"|of|off|on|onto|outside|over|per|such|than|through|to|towards?|under|until|up|upon|using|via|with|within)"
)
# A verb with its object: a noun to be avoided is not followed by "the" or a number, unlike gerunds and prepositions.
_ADVICE = re.compile(
    rf"(?:(?:also|always|instead|just|simply|then) )*+(?!(?:{_PREPOSITION}|\w+ing|\w+ly)\b)[a-z]+ "
    r"(?:(?:back|down|in|off|out|up) )?"
    r"(?:the|your|his|her|him|them|their|its?|my|an?|this|these|those"
    r"|\d[\d.,–-]* ?(?:min|minutes?|hours?|times|glasses|steps|km))\b"
    # An unmistakable verb, or an adverb before one.
    r"|(?:be|bearing|bring|check(?! ?-?ups?)|come|complete|consider|consult|discard|ensure"
    r"|introduce|just|leave(?!-| of)|let|make|put|raise|recheck"
    r"|repeat (?!exposure|infection|pregnanc)|report(?! of)|return|seek|select|speak|talk (?:to|with)|tell|then"
    r"|throw (?!rug)|treat(?! foods?)|walk (?:\w+ )?distances|change to)\b",
    re.IGNORECASE,
)
# A verb that is also a noun, before an adverb: "sleep regularly", but not "sleep pills".
_HABIT = re.compile(
    r"(?:bend|breathe|exercise|move|relax|rest|sleep|stretch|swim|walk)"
    r" (?:daily|enough|every (?:day|night)|gently|gradually|on time|regularly|slowly|well)\b",
    re.IGNORECASE,
)
# A measure or a negation of its own, or what happens otherwise.
_MEASURE = re.compile(
    r"(?:only|just|less|little|fewer|small (?:frequent|portions|meals|sips|amounts)|plenty|caution|better|gone|risk of"
    r"|else|otherwise)\b"
    r"|(?:absolutely |\w+ )?(?:no|nothing)\b|(?:they|we|he|she|i|both) \w",
    re.IGNORECASE,
)
_CIRCUMSTANCE = re.compile(r"with\b", re.IGNORECASE)
_FINITE_VERB = re.compile(
    r"(?:becomes|gets|starts|develops|grows|turns|goes|keeps|looks|feels|seems|lasts|stays)\b", re.IGNORECASE
)
_GERUND = re.compile(r"\w{2,}ing\b", re.IGNORECASE)
_TAKES_NAMES = re.compile("(?:忌|避免|远离|禁食)$")
_FASTING = re.compile("禁食$")  # 禁食三天，吃止泻药
_EATS = re.compile("[吃喝服]")
_FOOD_OR_DRUG = re.compile(
    "(?:食[物品]|制品|饮[料品]|水果|海鲜|[酒烟茶肉汤]|(?<!血)糖|咖啡|油腻|辛辣|生冷|甜食"
    "|[林芬平啶唑]|普生|洛尔|他汀|沙坦|普利|[西霉]素|沙星|胶囊|[药片])$"
)
# The second negation of "neither A nor B".
_ALSO_DENIED = re.compile(f"[也又还][{NEGATING_CHARACTERS}]")
# What nobody recommends, so a preceding prohibition still applies to it after a comma: 不要抽烟，喝酒，熬夜.
_HARMFUL = re.compile("[抽吸]烟|[喝饮]酒|熬夜|久[坐站]|过?劳累?|暴饮暴食|受凉|生气")


def names_food_or_drug(text: str) -> bool:
    """Return whether a Chinese name ends like that of a food or drug: 浓茶, 氯吡格雷片."""
    return _FOOD_OR_DRUG.search(text) is not None


def begins_anew(item: Item, words: str, lang: Lang, *, past_or: bool) -> bool:
    """Return whether an item is a statement of its own, not what the negation `words` of its list denies.

    `past_or` says whether no "or" follows it in the list.
    """
    text = item.piece.text
    if lang == "zh":
        if _ALSO_DENIED.match(text):
            return True
        # A comma ends a Chinese clause; a prohibition reaches past it only to food, drugs, bad habits: 忌酒，辛辣食物.
        takes_names = _TAKES_NAMES.search(words) or strip_final_verb(words) != words
        is_name = is_bare_name(text) and not (_FASTING.search(words) and _EATS.match(text))
        goes_on = (takes_names and is_name and names_food_or_drug(text)) or _HARMFUL.fullmatch(text)
        return item.comma and not item.example and not goes_on
    if _FINITE_VERB.match(text) or (item.comma and _CIRCUMSTANCE.match(text)):
        return True
    if words.lower() == "not" and not item.joined_by_or and _GERUND.match(text):
        return True  # "not breathless and taking your tablets"
    # Behind "do not", alternatives are verbs as well: "do not touch the eye, press the lid or wear lenses".
    denies_verbs = find_negator(words, lang) != ""
    is_alternative = denies_verbs and (item.joined_by_or or not past_or)
    if not is_alternative and _ADVICE.match(text):
        return True
    if not (denies_verbs or item.joined_by_or) and _HABIT.match(text):
        return True
    return not item.joined_by_or and _MEASURE.match(text) is not None
