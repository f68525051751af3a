"""The words that negate, advise against or hedge the items of a sentence, and which of the items they apply to."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.coordination import find_predicate, is_bare_name
from imapeval.extraction.lexicon.headings import find_listing_verb
from imapeval.extraction.lexicon.items import is_remedy, prepend_governor
from imapeval.extraction.lexicon.openings import begins_anew, names_food_or_drug
from imapeval.text.negation.governors import (
    denies_being,
    denies_list,
    find_denied_claim,
    find_denied_verb,
    find_denying_predicate,
    find_governor,
    find_negator,
    reports_denial,
    strip_final_verb,
    strip_replaced_verb,
)
from imapeval.text.negation.stance import advises_against, find_hedge, is_negated
from imapeval.text.phrases import is_condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from imapeval.extraction.lexicon.clauses import Piece
    from imapeval.extraction.lexicon.items import Item
    from imapeval.types import Lang

_AUXILIARY = re.compile(
    r"(?:\b(?:ca|can|could|did|do|does|may|must|should|wo|would) ?n[o'’]t|\bcannot|\bnever)$", re.IGNORECASE
)
_DETERMINERS = "the|your|my|his|her|its|their|our|any|other"
# A transitive verb: no adverb, and neither a particle nor a preposition follows.
_VERB = re.compile(
    rf"\s*(?!(?:be|{_DETERMINERS}|\w+ly)\b)(\w++)"
    r"(?! (?:at|away|down|for|from|in|into|off|on|onto|out|over|to|up|upon|with)\b)(?! .* (?:in|into|on|onto) )",
    re.IGNORECASE,
)
# A noun, but not the subject of what happens otherwise: "do not scratch or the skin gets infected".
_DETERMINED = re.compile(
    rf"(?:{_DETERMINERS})\s"
    r"(?!\w+ (?:becomes?|comes?|gets?|heals?|returns?|spreads?|starts?|wakes?|worsens?)\b)",
    re.IGNORECASE,
)
# A finding of its own in a list of what is missing: 无发热、血压偏高.
_DEVIATION = re.compile("[较偏][低高少多大小快慢差]$")
# A finite or imperative verb, which makes a piece an independent clause.
_CLAUSE: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?:is|are|was|were|will|can|may|should|must|take|use|try|eat|drink(?! (?:after|before|for|from|until)\b)|keep|get|do|see|consult|apply|have|has|go|make"
        r"|as|since|because|so|due|you|which|who|improve|helps?|ease|settle)\b"
        # Not the object of a verb: "do not rub it or heat this".
        r"|^it\b|\b(?:it|this|that)(?:['’]s| (?:can|could|had|may|might|must|should|will|would|\w+s))\b"
        r"|^(?:start|begin|continue|increase|stay|call|ask|contact|seek|monitor|add|switch|choose|prefer|wash|elevate|wear|sip"
        r"|maintain|replace|rest$)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"^(?:并(?!发)|根据|多(?![发囊动肽种余次个梦糖])|因(?![素子])|要(?!素)|不[仅但只光]|但|须|宜|早|勤|改|适[当量]|尽[早快]|及时|定期|按时|休息|清淡|规律)|好$"
        r"|(?<![反效供])应(?!激)|会(?![阴厌])|是|可(?![乐可卡待疑逆])|需要|建议|注意|保[持证]|如果|避免|多吃|多喝|改用|服用|控制|预防|导致|引起|属于|有助|以便|从而|后$"
    ),
}
# Before a hedge that applies to a whole list.
_HEDGED_SUBJECTS = frozenset(
    {"", "it", "this", "that", "you", "it is", "this is", "您", "你", "这", "这是", "患者", "病人"}
)
_SUBJECT = re.compile(
    r"(?:most|many|some|it|this|that|these|those|you|they|he|she|the|your|his|her|its|their)\b", re.IGNORECASE
)
# What a history says after the denials of a patient: "denies fever, takes aspirin", "denies fever, pulse 80".
_HISTORY = re.compile(
    r"(?:takes?|took|drinks|drank|eats|ate|smokes|smoked|uses|used|lives|lived|works|worked|sleeps|slept|feels|felt"
    r"|reports|reported|states|stated|says|said|goes|went|came|had|on)\b|[^\d]{0,40}\d",
    re.IGNORECASE,
)
# Something that is avoided, in a list of things to do: "resting, avoiding alcohol, and taking aspirin".
_PARALLEL = re.compile(r".*\b(?:avoid|limit|quitt|stopp)ing$", re.IGNORECASE)
_GERUND = re.compile(r"\s*\w{2,}ing\b", re.IGNORECASE)
# A negated verb of its own in a list that a negated verb begins, but not 不易消化的食物.
_DENIED_VERB = re.compile("不(?![要能可得必宜会])")
_QUALITY = re.compile(".(?:[洁良熟易好张]|卫生|干净|消化|合格|健康|新鲜|成熟|安全|.{1,6}的)")
# The start of an item that a list of what is missing does not include: 患者无发热、有咳嗽.
_OWN_FINDING = re.compile(r"有(?![无关])|伴(?!随)|可见|给予|予|考虑|建议|出现|.{1,8}正常$")
_POSSIBLE = re.compile(r"\b(?:could|might|would)\b")  # "stopping could cause pain or fever" denies neither
_RELATIVE = re.compile(r"\b(?:that|which|who|whose)\b", re.IGNORECASE)
# A predicate that has its own subject, which what precedes it does not share: one in a subordinate clause, one of a
# pronoun, and in a list with "and" one of a single thing.
_OWN_SUBJECT = re.compile(
    r".*\b(?:as|because|how|if|since|so|that|unless|until|what|when|where|whether|which|while|who|why"
    r"|i|you|he|she|it|we|they|this|these|those|there)\b",
    re.IGNORECASE,
)
_RULED_OUT = re.compile("been (?:excluded|ruled out)|排除")
_SINGULAR = re.compile(r"(?:is|was|has|does|isn|wasn|hasn|doesn|needs)\b", re.IGNORECASE)
_SUBORDINATE = re.compile(r"\b(?:because|if|so that|till|unless|until|when|while)\b", re.IGNORECASE)
# "Statins are contraindicated in pregnancy and require tests": what is listed behind a preposition has no verb.
_PREPOSITION_LAST = re.compile(r"\s(?:by|in|with)$")
_NO_CASE = re.compile(
    r"(?:after|as|before|by|during|for|in|until|when|with|requires?|needs?|increases?|causes?|carry|carries|interacts?)\b"
    r"|.*\s(?:advised|being|followed|given|needed|preferred|recommended|required|used)\b|.*\sfor\s",
    re.IGNORECASE,
)
# What nobody lists among findings that are missing, because its absence is a finding itself.
_VITAL = re.compile(
    r"(?:眼?泪|尿液?|小便|大便|呼吸|脉搏|意识)$|\s*(?:wet (?:diapers?|nappy|nappies)|urine|tears|pulse)\b",
    re.IGNORECASE,
)


def apply_governors(found: list[Item], lang: Lang) -> Iterator[Piece]:
    """Yield the items, each completed with the negation or warning before or after its list."""
    groups: list[list[Item]] = []
    asides: list[list[Item]] = []
    for item in found:
        if item.aside and groups and not groups[-1][0].introduced:
            asides.append([item])
            continue
        # What a colon introduces goes on to the end of the sentence.
        goes_on = groups and (groups[-1][0].introduced or _continues_list(item, groups[-1][-1]))
        if not goes_on or item.introduced or item.after_contrast:
            groups.append([item])
        else:
            groups[-1].append(item)
    pieces: list[Piece] = []
    for group in [*groups, *asides]:
        completed = _append_predicates(_apply_governor_to_list(group, lang), group, lang)
        pieces += _apply_hedges(completed, lang)
    yield from sorted(pieces, key=attrgetter("start"))


def _continues_list(item: Item, last: Item) -> bool:
    return item.listed and not (is_condition(item.piece.text) or is_condition(last.piece.text))


def _apply_hedges(pieces: Iterable[Piece], lang: Lang) -> Iterator[Piece]:
    """Yield the items of a list, marked if they are called possible, each alone or all of them by the words before them.

    "It could be gout, an infection or an injury" hedges three diagnoses, "tea may help, rest and fluids" one remedy.
    """
    governed = False
    for piece in pieces:
        before = find_hedge(piece.text)
        governed = (governed and not is_clause(piece.text, lang)) if before is None else before in _HEDGED_SUBJECTS
        yield replace(piece, possible=True) if governed or before is not None else piece


@dataclass(frozen=True, slots=True)
class _Scope:
    """Words that apply to the items of a list that follow, and how far.

    Attributes:
        words: The words; "" for none.
        introduced: Whether a colon introduces what they apply to, which goes on to the end of the sentence.
        loose: Whether they apply up to an "or", in Chinese up to a comma, like a negated verb.
        rejecting: Whether they are a mere "not", which applies up to a comma: "surgery, not drugs, for most".
        shares_predicate: Whether they lack a verb, which the last item may have: "no biopsy or surgery is needed".
        parallel: Whether they are in a list of things to do, so that the next one after a comma is not to be avoided.
        single: Whether they apply only to their own item and to what a word such as "and" joins to it, as in a list that
            began without them: 发热、哭时无泪、眼窝凹陷.
        affirming: Whether another negation undoes them, so that they do not apply to examples: 不必禁食蔬菜(如菠菜).
        excepting: Whether their item is an exception, which goes on to the "and" or "or" that ends its list.
    """

    words: str = ""
    introduced: bool = False
    loose: bool = False
    rejecting: bool = False
    shares_predicate: bool = False
    parallel: bool = False
    single: bool = False
    affirming: bool = False
    excepting: bool = False

    @classmethod
    def open(cls, item: Item, governor: str, lang: Lang, *, first: bool, denied: bool) -> _Scope:
        """Return the scope that an item opens with its governor, or with its subject and a negated verb.

        `denied` says whether the item before it is denied as well, or whether there is none.
        """
        text = item.piece.text
        # 戒烟 is a word, and 戒烟、肺康复 a list of two things to do.
        single = (item.enumerated and not denied) or (lang == "zh" and "戒" in text[-2:-1])
        if claim := find_denied_claim(text):
            return cls(claim, loose=True)
        if not governor:
            # "Gout is not contagious or hereditary": subject and verb apply to both.
            listing = find_listing_verb(text, lang)
            verb = listing or find_denied_verb(text)
            loose = not listing and (lang == "zh" or not (advises_against(verb) or denies_list(verb)))
            own = is_clause(text[len(verb) :], lang) and not verb.endswith(" to")
            single = single or bool(_RELATIVE.search(verb) or _VITAL.match(text, len(verb)))
            return cls("" if own else verb, loose=loose, single=single)
        if governor == text:
            # A lone "No" answers the question and governs nothing, unlike "do not smoke".
            words = find_negator(governor, lang) if strip_final_verb(governor) != governor else ""
            return cls(words, introduced=item.introduced)
        # "No imaging is needed, and most people improve": a complete clause governs nothing beyond it.
        own = is_clause(text[len(governor) :], lang) or _POSSIBLE.search(text, len(governor)) is not None
        rejecting = item.rejected or governor.lower() == "not"
        return cls(
            "" if own and not item.introduced else governor,
            introduced=item.introduced,
            loose=rejecting,
            rejecting=rejecting,
            shares_predicate=not own and first and not advises_against(governor),
            parallel=bool(_PARALLEL.match(governor)) and not _GERUND.match(text, len(governor)),
            single=single or _VITAL.match(text, len(governor)) is not None,
            affirming=is_negated(governor) and not is_negated(text),
            excepting=item.excepted,
        )

    def reaches(self, item: Item, lang: Lang, *, past_or: bool, past_list: bool, last: bool) -> bool:
        """Return whether it applies to an item.

        Args:
            item: The item.
            lang: Its language.
            past_or: Whether no "or" follows.
            past_list: Whether the first "and" or "or" of the list has passed, or there is none.
            last: Whether it is the last item.
        """
        text = item.piece.text
        if not self.words or (reports_denial(self.words) and _HISTORY.match(text)):
            return False
        if self.introduced:
            return True
        if _PREPOSITION_LAST.search(self.words) and _NO_CASE.match(text):
            return False
        if self.affirming and item.example:
            return False
        if self.single and not item.example and (item.comma or (item.enumerated and len(text) > 1)):
            return False
        if begins_anew(item, self.words, lang, past_or=past_or):
            return False
        if last and item.comma and not item.conjoined and self.words.lower() == "without":
            return False  # "Without insulin, sugar stays in the blood"
        past = past_list if self.excepting else past_or
        if self.loose and (item.comma if lang == "zh" else past and (item.comma or not self.rejecting)):
            return False
        if _OWN_FINDING.match(text) or (self.parallel and item.comma and _GERUND.match(text)):
            return False
        completes = self.shares_predicate and last and item.conjoined and not _opens_clause(text, lang)
        return (completes or not is_clause(text, lang)) and (lang == "en" or not is_remedy(text))


def _apply_governor_to_list(group: list[Item], lang: Lang) -> list[Piece]:
    scope = introduced = _Scope()
    conjoined = False
    exemplified = False
    opened = 0
    first_conjoined = next((place for place, item in enumerate(group) if item.conjoined), -1)
    last_conjoined = max((place for place, item in enumerate(group) if item.conjoined), default=-1)
    last_or = max((place for place, item in enumerate(group) if item.joined_by_or), default=-1)
    pieces: list[Piece] = []
    for place, item in enumerate(group):
        piece = item.piece
        if introduced.words and is_condition(piece.text):
            pieces.append(piece)
            continue
        if introduced.words and item.comma:
            scope = introduced  # "Do not: drive, avoid dehydration, drink beer"
        elif item.comma and lang == "zh" and not item.example and (conjoined or denies_being(scope.words)):
            scope = _Scope()  # 无发热、皮疹，头痛三天: the list ends at the comma
        elif item.comma and lang == "en" and not (exemplified or item.example) and opened < last_conjoined < place:
            scope = _Scope()  # "No juice or sweets, walks after meals": the conjunction ended the list
        elif lang == "en" and not exemplified and _is_joined_clause(item, group[opened + 1 : place]):
            scope = _Scope()  # "Avoid retinol and peels, and report any rash"
        elif _DEVIATION.search(piece.text) and not (
            _DEVIATION.search(group[opened].piece.text) or reports_denial(scope.words)
        ):
            scope = _Scope()
        conjoined = conjoined or item.conjoined
        exemplified = exemplified or item.example
        if item.example:
            # Examples belong to the item before them, and what is listed with them.
            scope = replace(scope, loose=False)
        governor = find_governor(piece.text)
        own = is_clause(piece.text[len(governor) :], lang)
        negator = find_negator(scope.words, lang)
        if item.joined_by_or and negator and _continues_denial(piece.text, governor, lang):
            # "Do not change formula or stop breastfeeding" forbids stopping.
            words = negator if own or governor else _add_verb(scope.words, group[opened].piece.text, piece.text)
            piece = prepend_governor(piece, words, lang)
        elif not governor and scope.words and not scope.introduced and _denies_by_itself(item, scope.words):
            # "Avoid smoking, and aspirin should not be taken"; 不宜接种流感疫苗，也不接种肺炎球菌疫苗.
            scope = _Scope()
        elif not governor and scope.reaches(
            item,
            lang,
            past_or=place > last_or,
            past_list=place > first_conjoined,
            last=place == len(group) - 1,
        ):
            words = _add_verb(scope.words, group[opened].piece.text, piece.text)
            piece = prepend_governor(piece, negator if own and scope.introduced and negator else words, lang)
        else:
            opened = place
            denied = place == 0 or is_negated(pieces[-1].text)
            scope = _Scope.open(item, governor, lang, first=place == 0, denied=denied)
            introduced = scope if scope.introduced else introduced
        if lang == "en" and not scope.introduced and _SUBORDINATE.search(item.piece.text.removeprefix(scope.words)):
            scope = _Scope()  # "Do not stop milk unless he has hives or vomiting"
        pieces.append(piece)
    return pieces


def _add_verb(words: str, first: str, text: str) -> str:
    """Return the words that deny a list, with the verb of its first item where that belongs to the next as well.

    A noun gets the verb of "do not affect pressure or the kidneys"; 高空作业 does not get that of 禁止饮酒, a word.
    """
    if (denial := strip_replaced_verb(words, text)) != words and is_negated(denial):
        return denial
    if len(first) == len(words) + 1 and not names_food_or_drug(text):
        return strip_final_verb(words)
    verb = _VERB.match(first.removeprefix(words)) if first.startswith(words) else None
    return f"{words} {verb[1]}" if verb and _AUXILIARY.search(words) and _DETERMINED.match(text) else words


def _is_joined_clause(item: Item, before: list[Item]) -> bool:
    """Return whether ", and" joins an English clause, not the last item of the list that the items `before` go on with.

    "No biopsy and no scan, or surgery is needed" goes on: a last item may have the verb of its list.
    """
    joined = item.comma and item.conjoined and not (item.joined_by_or or item.example)
    ended = not before or any(other.conjoined for other in before)
    return joined and ended and is_clause(item.piece.text, "en")


def _denies_by_itself(item: Item, words: str) -> bool:
    """Return whether an item of a list that begins with negating words, or one with a predicate, has its own negation."""
    # 不用粉剂、不捂纱布 forbids both, 不要停药、不复查 asks for a check.
    text = item.piece.text
    repeats = item.enumerated and _DENIED_VERB.search(words) and _DENIED_VERB.match(text) and not _QUALITY.match(text)
    listed = item.comma or repeats
    if listed and is_negated(text):
        return True
    if not (denying := find_denying_predicate(text)):
        return False
    # Not "cheese that hasn't been cooked", nor the infection of "neither cancer nor infection has been excluded".
    return not (_OWN_SUBJECT.match(text.removesuffix(denying)) or (_RULED_OUT.search(denying) and is_negated(words)))


def is_clause(text: str, lang: Lang) -> bool:
    """Return whether the words form a clause; a single verb does not, it needs its governor."""
    return _CLAUSE[lang].search(text) is not None and (lang == "zh" or " " in text.strip() or text.strip() == "rest")


def _continues_denial(text: str, governor: str, lang: Lang) -> bool:
    """Return whether an item after "or" continues the negation before it: it has no subject or negation of its own."""
    return not find_negator(governor, lang) and not _SUBJECT.match(text)


def _opens_clause(text: str, lang: Lang) -> bool:
    """Return whether an item begins with a verb or subject, like a clause that does not belong to the list."""
    return _SUBJECT.match(text) is not None or _CLAUSE[lang].match(text) is not None


def _has_own_subject(text: str, predicate: str, item: Item) -> bool:
    """Return whether a predicate at the end of a list is only about the last item."""
    single = item.conjoined and not item.joined_by_or and _SINGULAR.match(predicate)
    return bool(single) or _OWN_SUBJECT.match(text.removesuffix(predicate)) is not None


def _append_predicates(pieces: list[Piece], items: list[Item], lang: Lang) -> list[Piece]:
    """Complete the bare pieces before a predicate with it: "A and B should be avoided", "A or B can help".

    Only an item that is joined by more than a comma ends such a list: "rest, aspirin should be avoided" is none.
    """
    completed = list(pieces)
    for last, piece in enumerate(pieces):
        denying = find_denying_predicate(piece.text)
        if denying and lang == "en" and _has_own_subject(piece.text, denying, items[last]):
            continue
        predicate = denying or find_predicate(piece.text)
        place = last
        # In Chinese a comma separates clauses, in English also the items before the last.
        while predicate and place and (items[place].conjoined or (lang == "en" and place < last)):
            text = completed[place - 1].text
            if find_governor(text) or _CLAUSE[lang].search(text) or find_denying_predicate(text):
                break
            if not (is_bare_name(text) or (denying and not find_predicate(text))):
                break
            place -= 1
        # "He needs a scan, an ECG, and drugs can help": the list begins before its bare names.
        if not denying and place and (items[place].conjoined or lang == "en"):
            continue
        space = "" if lang == "zh" else " "
        for before in range(place, last):
            completed[before] = replace(pieces[before], text=f"{completed[before].text}{space}{predicate}")
    return completed
