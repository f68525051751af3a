"""Split an answer into statements: each list item with the words that govern its list, each clause with its condition.

Pure; uses no dictionary. "Avoid coffee, tea and beer" states three things to avoid, "no biopsy or surgery is
needed" two things that are not needed, and "if it lasts, see a doctor" one thing under a condition.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.clauses import Piece, trim_piece
from imapeval.extraction.lexicon.cues import is_courtesy, is_disclaimer
from imapeval.extraction.lexicon.headings import (
    GovernedSentence,
    find_heading_before_colon,
    find_listing_verb,
    govern_sentences,
)
from imapeval.extraction.lexicon.items import is_remedy, prepend_governor, split_into_items
from imapeval.text.language import HAN, has_chinese
from imapeval.text.negation import (
    advises_against,
    denies_being,
    find_denied_verb,
    find_denying_predicate,
    find_governor,
    find_hedge,
    find_negator,
    is_negated,
    reports_denial,
    strip_final_verb,
)
from imapeval.text.phrases import is_condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from imapeval.extraction.lexicon.items import Item
    from imapeval.types import Lang

MAX_STATEMENT_CHARACTERS = 200
"""Longest statement, in characters; a longer clause is cut. No single fact needs more."""

# Openings that add nothing to a statement.
_LEAD: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"^(?:(?:and|or|but|so|then|also|however|therefore|additionally|in addition|first(?:ly)?|second(?:ly)?|finally|yet"
        r"|if possible|please|kindly|usually|generally|typically|overall|in general|in (?:this|your|some|most|many|severe|rare) cases?"
        r"|sometimes|often|especially|particularly|for now|at present|as well)[, ]+"
        r"|(?:i|we) (?:would |will |do |can |strongly )*(?:suggest|recommend|advise|think|believe|feel|see)(?: that| you| to)*\s+"
        r"|(?:it|this|that|there|which|who|these|those|they)(?:'s| is| are| may be| might be| could be| can be| would be| will be| seems(?: to be)?"
        r"| sounds like| looks like| appears(?: to be)?)(?: also| likely| possible| probably| most likely| advisable"
        r"| recommended| important| best| better| necessary| essential| crucial| a good idea| possible that| that)*(?: to| that)?\s+"
        r"|(?:this|it|that|what you (?:describe|have|report)|your (?:story|symptoms?|description|findings?|results?|history))(?: most| very)?(?: likely| probably)?"
        r" (?:fits?(?: with| best with)?|points? to(?:wards?)?|indicates?|is typical of|are typical of|is due to|means?)(?: that| a diagnosis of)?\s+"
        r"|(?:you|he|she|they|one|patients?|the patient|the doctor|your doctor|your (?:child|son|daughter|mother|father|baby|wife|husband))"
        r"(?: may| might| can| could| should| must| need(?:s)? to| have to| has to| will| would| are advised to"
        r"| are| is| also| just| simply| probably| definitely| then| better| likely)*\s+)+",
        re.IGNORECASE,
    ),
    # The lookaheads exclude other words: 先天 is "congenital", 并发症 a complication, 进行性 "progressive".
    "zh": re.compile(
        r"^(?:首先|其次|然后|最后|但是?|不过|同时|另外|此外|并且|而且|因此|所以|那么|一般(?![状情])|通常|建议|应该|应当|应(?![激用急])|可以"
        r"|可能|也许|或许|需要|必须|需(?!氧)|要(?!素)|可(?![乐卡疑逆待吸])|请|您|你|患者|病人|该|这种情况下?|还(?!原)|也|并(?!发)|再(?![生次发])"
        r"|先(?![天兆])|及时|尽快|积极|适当|考虑|给予|进行(?!性)|采取|采用|使用|接受|服用|选用|选择(?!性)|通过|包括|例如|比如"
        r"|如(?![果何此])|是(?!否|不)|有(?![助利效关时些氧])|为(?!了)|做|即(?![使将]))+"
    ),
}
_TAIL: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"(?<!\s)\s++(?:etc|and so on|as well|too|for you|if needed|if necessary|online|soon|now)$", re.IGNORECASE
    ),
    "zh": re.compile(
        r"(?:等等|等(?:项目|措施|方法|方式|药物|症状|检查|治疗|指标|情况|问题|因素|疾病|食物|手段)?|的话?|即可|为主|为宜)$"
    ),
}
# A finite or imperative verb, which makes a piece an independent clause.
_CLAUSE: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?:is|are|was|were|will|can|may|should|must|take|use|try|eat|drink|keep|get|do|see|consult|apply|have|has|go|make"
        r"|as|since|because|so|due|this|it|you|which|who|that|improve|helps?|ease|settle)\b"
        r"|^(?:start|begin|continue|increase|stay|call|ask|contact|seek|monitor|add|switch|choose|prefer|wash|elevate|wear|sip"
        r"|maintain|replace|rest$)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"^(?:多(?![发囊动肽种余次个梦糖])|因(?![素子])|要(?!素)|不[仅但只光]|但|须|宜|早|勤|改|适[当量]|尽[早快]|及时|定期|按时|休息|清淡|规律)|好$"
        r"|(?<![反效供])应(?!激)|会(?![阴厌])|是|可(?![乐可卡待疑逆])|需要|建议|注意|保[持证]|如果|避免|多吃|多喝|改用|服用|控制|预防|导致|引起|属于|有助|以便|从而|后$"
    ),
}
# Before a hedge that applies to a whole list.
_HEDGED_SUBJECTS = frozenset(
    {"", "it", "this", "that", "you", "it is", "this is", "您", "你", "这", "这是", "患者", "病人"}
)
_SUBJECT = re.compile(r"(?:most|many|it|this|you|they|he|she|the)\b", re.IGNORECASE)
# What a history says after the denials of a patient: "denies fever, takes aspirin", "denies fever, pulse 80".
_HISTORY = re.compile(
    r"(?:takes?|took|drinks|drank|eats|ate|smokes|smoked|uses|used|lives|lived|works|worked|sleeps|slept|feels|felt"
    r"|reports|reported|states|stated|says|said|goes|went|came|had|on)\b|[^\d]{0,40}\d",
    re.IGNORECASE,
)
# The start of an item that a list of what is missing does not include: 患者无发热、有咳嗽.
_OWN_FINDING = re.compile(r"有(?![无关])|伴(?!随)|可见|给予|予|考虑|建议|出现")
# The start of the main clause after a condition without a comma.
_MAIN_CLAUSE_START = re.compile(
    r"(?<=\w)\s+(?:(?:then|please)\s+)+|(?<!\byou)(?<!\bto)(?<!\bnot)(?<!\band)(?<!\bor)(?<=\w)\s+(?=(?:see|call|consult|contact|visit|seek|stop)\s)"
    rf"|(?<=[{HAN}])则",
    re.IGNORECASE,
)


def read_statements(text: str, lang: Lang) -> Iterator[Piece]:
    """Yield the statements of a text without markup, in order, each with the position of its own words.

    A statement completed with the governor of its list, or with its condition, is longer than its span.
    """
    for governed in govern_sentences(text, lang):
        if not is_disclaimer(governed.sentence.text, lang=lang):
            yield from _read_sentence(governed, text, lang)


def read_items(sentence: Piece, text: str, lang: Lang) -> Iterator[Piece]:
    """Yield the items of a sentence, each completed with the governor of its list.

    The position is that of an item's own words.
    """
    governed = GovernedSentence(sentence, heading=find_heading_before_colon(sentence, text, lang))
    items = split_into_items(governed, text, lang, courtesies=True)
    yield from _apply_governors(list(items), lang)


def _read_sentence(governed: GovernedSentence, text: str, lang: Lang) -> Iterator[Piece]:
    found = _join_conditions(list(split_into_items(governed, text, lang)), text, lang)
    condition = ""
    statements: list[Piece] = []
    for piece in _apply_governors(found, lang):
        if is_condition(piece.text):
            condition = piece.text
            continue
        stripped = _strip_lead_and_tail(piece, lang)
        if stripped is None or is_courtesy(stripped.text, lang=lang):
            continue
        if condition:
            stripped = _append_condition(stripped, condition)
            condition = ""
        statements.append(stripped)
    if condition and statements:
        # "See a doctor, if it lasts": the condition comes last.
        statements[-1] = _append_condition(statements[-1], condition)
    elif condition and (main := _MAIN_CLAUSE_START.search(condition)):
        # "If it lasts see a doctor" has no comma.
        statement = replace(governed.sentence, text=condition[main.end() :])
        stripped = _strip_lead_and_tail(statement, lang)
        if stripped is not None and not is_courtesy(stripped.text, lang=lang):
            statements.append(_append_condition(stripped, condition[: main.start()].strip()))
    yield from statements


def _join_conditions(items: list[Item], text: str, lang: Lang) -> list[Item]:
    """Return the items, joining a condition that continues after "or" or with examples: "if it swells or reddens"."""
    joined: list[Item] = []
    # Index behind the last of several examples.
    examples = 0
    for place, item in enumerate(items):
        start, end = joined[-1].piece.start if joined else 0, item.piece.end
        if item.example:
            examples = _find_last_example(items, place, lang) + 1
        goes_on = (
            joined
            and item.listed
            and (place < examples or not item.comma)
            and not item.after_contrast
            and end - start <= MAX_STATEMENT_CHARACTERS
        )
        if goes_on and is_condition(joined[-1].piece.text):
            joined[-1] = replace(joined[-1], piece=Piece(text[start:end], start, end))
        else:
            joined.append(item)
    return joined


def _find_last_example(items: Sequence[Item], first: int, lang: Lang) -> int:
    """Return the index of the last of several examples: of "c" in "such as a, b or c, see a doctor"."""
    last = first
    for place, item in enumerate(islice(items, first + 1, None), first + 1):
        too_long = item.piece.end - items[first].piece.start > MAX_STATEMENT_CHARACTERS
        ended = lang == "zh" and item.comma and last > first  # "如a、b，c" has two examples
        if too_long or ended or not item.listed or _is_clause(item.piece.text, lang):
            break
        if item.conjoined:
            last = place
    return last


def _apply_governors(found: list[Item], lang: Lang) -> Iterator[Piece]:
    """Yield the items, each completed with the negation or warning before or after its list."""
    groups: list[list[Item]] = []
    asides: list[list[Item]] = []
    for item in found:
        if item.aside and groups and not groups[-1][0].introduced:
            asides.append([item])
            continue
        starts = (
            not groups
            # What a colon introduces goes on to the end of the sentence.
            or not (item.listed or groups[-1][0].introduced)
            or item.introduced
            or item.after_contrast
            or is_condition(item.piece.text)
        )
        if starts or is_condition(groups[-1][-1].piece.text):
            groups.append([item])
        else:
            groups[-1].append(item)
    pieces: list[Piece] = []
    for group in [*groups, *asides]:
        completed = _append_predicates(_apply_governor_to_list(group, lang), [item.conjoined for item in group], lang)
        pieces += _apply_hedges(completed, lang)
    yield from sorted(pieces, key=attrgetter("start"))


def _apply_hedges(pieces: Iterable[Piece], lang: Lang) -> Iterator[Piece]:
    """Yield the items of a list, marked if they are called possible, each alone or all of them by the words before them.

    "It could be gout, an infection or an injury" hedges three diagnoses, "tea may help, rest and fluids" one remedy.
    """
    governed = False
    for piece in pieces:
        before = find_hedge(piece.text)
        governed = (governed and not _is_clause(piece.text, lang)) if before is None else before in _HEDGED_SUBJECTS
        yield replace(piece, possible=True) if governed or before is not None else piece


def _apply_governor_to_list(group: list[Item], lang: Lang) -> list[Piece]:
    governing = ""
    open_ended = forced = loose = conjoined = rejecting = False
    last_or = max((place for place, item in enumerate(group) if item.joined_by_or), default=-1)
    pieces: list[Piece] = []
    for place, item in enumerate(group):
        piece = item.piece
        if item.comma and lang == "zh" and not item.example and (conjoined or denies_being(governing)):
            # 无发热、皮疹，头痛三天: the list ends at the comma.
            governing = ""
        conjoined = conjoined or item.conjoined
        # Examples belong to the item before them, and what is listed with them.
        loose = loose and not item.example
        governor = find_governor(piece.text)
        own = _is_clause(piece.text[len(governor) :], lang)
        if (
            item.joined_by_or
            and (negator := find_negator(governing, lang))
            and _continues_denial(piece.text, governor, lang)
        ):
            # "Do not change formula or stop breastfeeding" forbids stopping.
            governor = ""
            prefix = negator if own or find_governor(piece.text) else governing
            piece = prepend_governor(piece, prefix, lang)
        elif governor and governor == piece.text:
            # A lone "No" answers the question and governs nothing, unlike "do not smoke".
            loose, governing = False, find_negator(governor, lang) if strip_final_verb(governor) != governor else ""
        elif governor:
            # "No imaging is needed, and most people improve": a complete clause governs nothing beyond it; "no biopsy"
            # in "no biopsy or surgery is needed" lacks its verb.
            # "Surgery, not drugs, for most" rejects drugs alone.
            rejecting = item.rejected or governor.lower() == "not"
            loose, forced = rejecting, item.introduced
            governing = "" if own and not forced else governor
            open_ended = not own and place == 0
        elif governing and not forced and _denies_by_itself(item):
            # "Avoid smoking, and aspirin should not be taken"; 不宜接种流感疫苗，也不接种肺炎球菌疫苗.
            loose, governing = False, ""
        elif (
            governing
            and (forced or not own or (open_ended and item is group[-1] and not _opens_clause(piece.text, lang)))
            # A negated verb applies to list items up to an "or", in Chinese up to a comma.
            and not (loose and (item.comma if lang == "zh" else place > last_or and (item.comma or not rejecting)))
            and (forced or lang == "en" or not is_remedy(piece.text))
            and not _OWN_FINDING.match(piece.text)
            and not (reports_denial(governing) and _HISTORY.match(piece.text))
        ):
            piece = prepend_governor(piece, (own and forced and find_negator(governing, lang)) or governing, lang)
        else:
            # "Gout is not contagious or hereditary": subject and verb apply to both.
            listing = find_listing_verb(piece.text, lang)
            verb = listing or find_denied_verb(piece.text)
            loose = not listing and (lang == "zh" or not advises_against(verb))
            governing = "" if _is_clause(piece.text[len(verb) :], lang) else verb
        pieces.append(piece)
    return pieces


def _denies_by_itself(item: Item) -> bool:
    """Return whether an item after a comma, or with a predicate, has a negation of its own."""
    return bool(find_denying_predicate(item.piece.text)) or (item.comma and is_negated(item.piece.text))


def _is_clause(text: str, lang: Lang) -> bool:
    """Return whether the words form a clause; a single verb does not, it needs its governor."""
    return _CLAUSE[lang].search(text) is not None and (lang == "zh" or " " in text.strip() or text.strip() == "rest")


def _continues_denial(text: str, governor: str, lang: Lang) -> bool:
    """Return whether an item after "or" continues the negation before it: it has no subject or negation of its own."""
    return not find_negator(governor, lang) and not _SUBJECT.match(text)


def _opens_clause(text: str, lang: Lang) -> bool:
    """Return whether an item begins with a verb or subject, like a clause that does not belong to the list."""
    return _SUBJECT.match(text) is not None or _CLAUSE[lang].match(text) is not None


def _append_predicates(pieces: list[Piece], conjoined: list[bool], lang: Lang) -> list[Piece]:
    """Complete the bare pieces before a negating predicate with it: "A and B should be avoided".

    Args:
        pieces: The items of a list.
        conjoined: For each, whether its separator is more than a comma: "rest, aspirin should be avoided" is not a
            list.
        lang: Their language.
    """
    completed = list(pieces)
    for last, predicate in enumerate(find_denying_predicate(piece.text) for piece in pieces):
        place = last
        # In Chinese a comma separates clauses, in English also the items before the last.
        while predicate and place and (conjoined[place] or (lang == "en" and place < last)):
            place -= 1
            text = completed[place].text
            if find_governor(text) or _CLAUSE[lang].search(text) or find_denying_predicate(text):
                break
            completed[place] = replace(pieces[place], text=f"{text}{'' if lang == 'zh' else ' '}{predicate}")
    return completed


def _append_condition(piece: Piece, condition: str) -> Piece:
    return replace(
        piece, text=f"{piece.text}（{condition}）" if has_chinese(condition) else f"{piece.text} ({condition})"
    )


def _strip_lead_and_tail(piece: Piece, lang: Lang) -> Piece | None:
    """Return an item without opening and closing words that add nothing; None if nothing is left."""
    in_place = piece.end - piece.start == len(piece.text)
    start, end = 0, len(piece.text)
    if lead := _LEAD[lang].match(piece.text):
        start = lead.end()
    if (tail := _TAIL[lang].search(piece.text, start)) and tail.start() > start:
        end = tail.start()
    end = min(end, start + MAX_STATEMENT_CHARACTERS)
    stripped = trim_piece(piece.text, start, end, offset=piece.start if in_place else 0)
    if stripped is None or len(stripped.text) < 2:
        return None
    return replace(stripped if in_place else piece, text=stripped.text, possible=piece.possible)
