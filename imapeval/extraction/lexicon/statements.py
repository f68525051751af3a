"""Split an answer into statements: each list item with the words that govern its list, each clause with its condition.

Pure; uses no dictionary. "Avoid coffee, tea and beer" states three things to avoid, "no biopsy or surgery is
needed" two things that are not needed, and "if it lasts, see a doctor" one thing under a condition.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.clauses import Piece, trim_piece
from imapeval.extraction.lexicon.coordination import names_nothing
from imapeval.extraction.lexicon.cues import is_courtesy
from imapeval.extraction.lexicon.frames import drop_disclaimers, is_frame, is_setting, names_case, strip_speaker
from imapeval.extraction.lexicon.headings import GovernedSentence, find_heading_before_colon, govern_sentences
from imapeval.extraction.lexicon.items import prepend_governor, split_into_items
from imapeval.extraction.lexicon.main_clauses import split_main_clause
from imapeval.extraction.lexicon.reports import resolve_reports
from imapeval.extraction.lexicon.scope import apply_governors, is_clause
from imapeval.extraction.lexicon.tables import read_table, split_tables
from imapeval.text.language import HAN, has_chinese
from imapeval.text.negation.governors import UNTRUE, find_governor
from imapeval.text.negation.hazards import is_hazard
from imapeval.text.negation.stance import NEGATING_CHARACTERS, is_negated
from imapeval.text.negation.yes_no import answer_question, find_polar_question, find_verdict, is_ambiguous
from imapeval.text.phrases import is_condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from imapeval.extraction.lexicon.items import Item
    from imapeval.types import Lang

MAX_STATEMENT_CHARACTERS = 200
"""Longest statement, in characters; a longer clause is cut. No single fact needs more."""

_MAX_VERDICT_CHARACTERS = 40
"""Characters of a sentence that are searched for a yes or no."""

# Openings that add nothing to a statement.
_LEAD: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"^(?:(?:and|or|but|so|then|while|also|however|therefore|additionally|in addition|first(?:ly)?|second(?:ly)?|finally|yet"
        r"|if possible|please|kindly|usually|generally|typically|overall|in general|in (?:this|your|some|most|many|severe|rare) cases?"
        r"|sometimes|often|especially|particularly|for now|at present|as well)[, ]+"
        r"|(?:(?:i|we|they|the doctor|doctors?|your doctor) )?(?:(?:would|will|can|should|may|also) )*(?:add|be aware|emphasi[sz]e|explain|keep in mind|know|mention|note"
        r"|point out|reassure you|remember|say|state|stress|tell you|understand)s? that\s+"
        r"|(?:i|we) (?:would |will |do |can |strongly )*(?:suggest|recommend|advise|think|believe|feel|see)(?: that| you| to)*\s+"
        r"|(?:it|this|that|there|which|who|these|those|they)(?:'s| is| are| may be| might be| could be| can be| would be| will be| seems(?: to be)?"
        r"| sounds like| looks like| appears(?: to be)?)(?: also| likely| possible| probably| most likely| advisable"
        r"| recommended| important| best| better| necessary| essential| crucial| a good idea| possible that| that)*(?: to| that)?\s+"
        r"|(?:this|it|that|what you (?:describe|have|report)|your (?:story|symptoms?|description|findings?|results?|history))(?: most| very)?(?: likely| probably)?"
        r" (?:fits?(?: with| best with)?|points? to(?:wards?)?|indicates?|is typical of|are typical of|is due to|means?)(?: that| a diagnosis of)?\s+"
        r"|(?:you|he|she|they|one(?! (?:and|or|to)\b)|patients?|the patient|the doctor|your doctor|your (?:child|son|daughter|mother|father|baby|wife|husband))"
        r"(?: may| might| can| could| should| must| need(?:s)? to| have to| has to| will| would| are advised to"
        r"| are| is| also| just| simply| probably| definitely| then| better| likely)*\s+)+",
        re.IGNORECASE,
    ),
    # The lookaheads exclude other words: 先天 is "congenital", 并发症 a complication, 进行性 "progressive".
    "zh": re.compile(
        r"^(?:首先|其次|然后|最后|但是?|不过|同时|另外|此外|由于|虽然|从而|并且|而且|而(?!是非)|且|则|因此|所以|那么|(?:一般|通常|总体|总的)(?:而言|来[说讲看]|情况下)|一般(?![状情的])|通常(?!的)|建议|应该|应当|应(?![激用急])|可以"
        r"|可能(?!的)|也许|或许|需要|必须|需(?!氧)|要么|要(?!素|不要)|可(?![乐卡疑逆待吸]|能的)|请|(?:您|你|患者|病人|该(?:患者)?)的?|这种情况下?|还(?!原)|也|并(?![发非])|再(?![生次发])"
        r"|先(?![天兆])|及时|尽快|积极|适当|考虑|给予|进行(?!性)|采取|采用|使用|接受|服用|选用|选择(?!性)|通过|包括|例如|比如"
        r"|如(?![果何此])|是(?!否|不)|有(?![助利效关时些氧])|为(?!了)|以(?=提供|减[少轻]|[降减]低|缓解|改善|提高|防止|预防|促进|恢复|[维保]持|控制|帮助|增[加强]|达到|止)|做|即(?![使将]))+"
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
# Two short steps whose order is what a sentence states. Doses are compared each for itself.
_ORDER: Mapping[Lang, tuple[re.Pattern[str], str]] = {
    "en": (
        re.compile(
            r"(?:(?:(?:at )?first|begin with|start with),? )?(?P<first>[^,;:\d]{3,40}?)(?: first)?"
            r"(?:,? (?:and )?then|, followed by) (?:add |switch to )?(?P<second>[^,;:\d]{3,40})",
            re.IGNORECASE,
        ),
        "{first} before {second}",
    ),
    "zh": (
        re.compile(
            r"(?:一般|通常|建议|需要?|应该?)?先(?!天|兆)(?P<first>[^，,。；：\d]{1,10})[，,]"
            r"(?:然后|之后|接着|随后|再|后)再?(?P<second>[^，,。；：\d]{1,10})"
        ),
        "先{first}后{second}",
    ),
}
_FINITE = r"(?:is|are|was|were|has|can(?:not)?|could|may|might|will|would|should|must)"
_VERB = re.compile(rf"{_FINITE}\s(?!(?:i|we|you|he|she|it|they|this|that|there)\b)", re.IGNORECASE)
_SUBJECT = re.compile(
    rf"(?P<subject>[^,;:()]{{2,60}}?)\s{_FINITE}\b",
    re.IGNORECASE,
)
_SUBORDINATOR = re.compile(
    r"(?:^|(?<=\s))(?:also|although|and|as|because|but|however|since|so(?: that)?|that|then|while)\s", re.IGNORECASE
)
_RELATIVE = re.compile(r"(?:(?:at|by|for|from|in|of|on|to|with) )?(?:that|where|which|who)\b", re.IGNORECASE)
_RELATIVE_END = re.compile(r"\s(?:that|which|who)$", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:i|we|you|he|she|it|they|this|that|these|those|there|which|who|what|one)$", re.IGNORECASE)
# Without what may be a verb: "smoking delays healing".
_NAME = re.compile(r"(?:(?:a|an|the) )?(?:[\w'’-]*[^\Wsd_] ){0,2}[\w'’-]+")
_CONJUNCTION = re.compile("^(?:所以|因此|但是?|而且?|并且?|且)")
# A Chinese name of one character, such as 鱼: no answer, function word, degree, time, place, count, person or
# part of the body, as in 肝、肾功能.
_SHORT_NAME = re.compile(
    rf"(?![的了着过得地吗呢吧么嘛呀啊哦嗯唉亲哈呵嘿喂哎咦哟啦对好行是有在可能会要应宜需必须请也都就还和与跟或及等而但且并则即如因若既为将被把给让从到向以于之所当同此这那该其你您我他她它谁啥何做用"
    rf"{NEGATING_CHARACTERS}先再又才很更最较多少大小高低长短轻中重快慢早晚今明昨前后左右上下内外男女人者次天日周月年时分秒个种类项点片粒例注答问甲乙丙丁阴阳零一二两三四五六七八九十头颈背胸腹心肝脾肺肾胃肠胆脑眼耳口鼻舌手足脚腿臂腰肩膝])[{HAN}]"
)
_UNCLOSED = re.compile(r"\s?[(（][^()（）]*$")
_PREVENTION = re.compile(r"\w to (?:avoid|prevent) |\w(?:以|可以?|能够?|来|从而)(?:避免|预防|防止)", re.IGNORECASE)
"""Before what an action prevents."""


def read_statements(text: str, lang: Lang, *, purposes: bool = False) -> Iterator[Piece]:
    """Yield the statements of a text without markup, in order, each with the position of its own words.

    A statement completed with the governor of its list, or with its condition, is longer than its span. What something
    serves (为了确诊) is a statement only if `purposes`.
    """
    for start, end, table in split_tables(text, lang):
        if table is not None:
            for found in read_table(table, lang):
                if isinstance(found, Piece):
                    yield replace(found, text=found.text[:MAX_STATEMENT_CHARACTERS])
                else:
                    yield from _read_sentence(found, text, lang, purposes=purposes)
            continue
        part = text[start:end]
        for governed in _answer_questions(resolve_reports(govern_sentences(part, lang), lang), part, lang):
            if isinstance(governed, Piece):
                yield replace(governed, start=governed.start + start, end=governed.end + start)
                continue
            for sentence in drop_disclaimers(governed.sentence, lang):
                for piece in _read_sentence(replace(governed, sentence=sentence), part, lang, purposes=purposes):
                    yield replace(piece, start=piece.start + start, end=piece.end + start)


def _answer_questions(
    sentences: Iterable[GovernedSentence | Piece], text: str, lang: Lang
) -> Iterator[GovernedSentence | Piece]:
    """Yield the sentences, and in place of a question and a yes or no to it, the statement that it stands for."""
    asked: GovernedSentence | None = None
    for governed in sentences:
        if isinstance(governed, Piece):
            if asked is not None:
                yield asked
                asked = None
            yield governed
            continue
        sentence = governed.sentence
        if asked is not None:
            answer = strip_speaker(sentence)
            verdict = find_verdict(text[answer.start :][:_MAX_VERDICT_CHARACTERS])
            question = find_polar_question(strip_speaker(asked.sentence).text)
            statement = None
            if verdict and question and not is_ambiguous(question, before=""):
                statement = answer_question(question, verdict, lang=lang)
            if verdict is None or statement is None:
                yield asked
            else:
                end = answer.start + verdict.end()
                yield Piece(statement[:MAX_STATEMENT_CHARACTERS], answer.start, end)
                rest = trim_piece(text, end, max(end, sentence.end))
                asked = None
                if rest is not None:
                    yield replace(governed, sentence=rest)
                continue
        asked = governed if text.startswith(("?", "？"), sentence.end) else None
        if asked is None:
            yield governed
    if asked is not None:
        yield asked


def read_items(sentence: Piece, text: str, lang: Lang) -> Iterator[Piece]:
    """Yield the items of a sentence, each completed with the governor of its list.

    The position is that of an item's own words.
    """
    governed = GovernedSentence(sentence, heading=find_heading_before_colon(sentence, text, lang))
    items = split_into_items(governed, text, lang, courtesies=True)
    yield from apply_governors(list(items), lang)


def _read_sentence(governed: GovernedSentence, text: str, lang: Lang, *, purposes: bool) -> Iterator[Piece]:
    found = _join_clauses(list(split_into_items(governed, text, lang)), text, lang)
    condition, case = "", governed.case
    untrue = UNTRUE[lang] in (governed.governor, governed.heading and governed.heading.governor)
    statements: list[Piece] = []
    unused: Piece | None = None
    for piece in _complete_subjects(apply_governors(found, lang), text):
        in_place = piece.end - piece.start == len(piece.text)
        if in_place and is_frame(piece, text, purposes=not purposes):
            continue
        # A myth that denies something: what is true instead is not said.
        if untrue and is_negated(piece.text.removeprefix(UNTRUE[lang])):
            continue
        if in_place and text.startswith((":", "："), piece.end) and names_case(piece.text, lang):
            case, unused = piece.text, piece
            continue
        stated, main = split_main_clause(piece.text, comma=text.startswith(",", piece.end))
        if main or is_condition(piece.text) or (in_place and is_setting(piece, text)):
            condition = _join_conditions(condition, _CONJUNCTION.sub("", stated))
            if not main:
                continue
            piece = replace(piece, text=main)
        stripped = _strip_lead_and_tail(piece, lang)
        if (
            stripped is None
            or is_courtesy(stripped.text, lang=lang)
            or (names_nothing(stripped.text) and not condition)
        ):
            condition = "" if main else condition
            continue
        if condition or case:
            stripped = _append_condition(stripped, _join_conditions(condition, case))
            condition = ""
        statements.append(stripped)
        unused = None
    if unused is not None:
        statements.append(unused)  # "Pregnant women: yes", or "Mild:" above a paragraph
    if condition and statements:
        # "See a doctor, if it lasts": the condition comes last.
        statements[-1] = _append_condition(statements[-1], condition)
    if len(statements) > 1 and (order := _find_order(governed.sentence.text, lang)):
        ordered = replace(statements[-1], text=order)
        if governed.governor:
            ordered = prepend_governor(ordered, governed.governor, lang)
        statements = [_append_condition(ordered, governed.case) if governed.case else ordered]
    yield from statements


def _find_order(sentence: str, lang: Lang) -> str | None:
    """Return the order of two steps that a sentence states; None if it states none or denies something.

    >>> _find_order("Use salbutamol first, then the steroid", "en"), _find_order("先补液，再输血", "zh")
    ('Use salbutamol before the steroid', '先补液后输血')
    """
    pattern, order = _ORDER[lang]
    found = pattern.fullmatch(sentence)
    if found is None or is_condition(found["first"]) or is_negated(sentence):
        return None
    return order.format(**found.groupdict())


def _complete_subjects(pieces: Iterable[Piece], text: str) -> Iterator[Piece]:
    """Yield the pieces of a sentence; one that begins with an English verb gets the subject of the one before it.

    "Gout, a kind of arthritis, is painful and can recur" states that gout is painful, and that it can recur.
    """
    subject = ""
    opens = True
    for piece in pieces:
        if subject and _VERB.match(piece.text):
            yield replace(piece, text=f"{subject} {piece.text}")
            continue
        if _RELATIVE.match(piece.text):
            pass  # "Gout, which is common, can recur"
        elif found := _SUBJECT.match(piece.text):
            subject = _RELATIVE_END.sub("", _SUBORDINATOR.split(found["subject"])[-1])
            if _PRONOUN.match(subject) or is_condition(piece.text) or is_negated(subject):
                subject = ""
        elif opens:
            is_name = _NAME.fullmatch(piece.text) and not (is_clause(piece.text, "en") or is_frame(piece, text))
            subject = piece.text if is_name and not find_governor(piece.text) else ""
        opens = text.startswith((":", "："), piece.end)
        yield piece


def _join_clauses(items: list[Item], text: str, lang: Lang) -> list[Item]:
    """Return the items, joining a condition that continues after "or" or with examples: "if it swells or reddens".

    So is what else is prevented: "drink water to prevent constipation, dehydration and stones".
    """
    joined: list[Item] = []
    # Index behind the last of several examples.
    examples = 0
    for place, item in enumerate(items):
        start, end = joined[-1].piece.start if joined else 0, item.piece.end
        if item.example:
            examples = _find_last_example(items, place, lang) + 1
        goes_on = joined and item.listed and not item.after_contrast and end - start <= MAX_STATEMENT_CHARACTERS
        completes_condition = goes_on and (place < examples or not item.comma) and is_condition(joined[-1].piece.text)
        if completes_condition or (
            goes_on and is_hazard(item.piece.text) and _PREVENTION.search(joined[-1].piece.text)
        ):
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
        if too_long or ended or not item.listed or is_clause(item.piece.text, lang):
            break
        if item.conjoined:
            last = place
    return last


def _join_conditions(first: str, second: str) -> str:
    return ("，" if has_chinese(second or first) else ", ").join(filter(None, (first, second)))


def _append_condition(piece: Piece, condition: str) -> Piece:
    condition = _UNCLOSED.sub("", condition)
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
    is_name = in_place and _SHORT_NAME.fullmatch(piece.text)
    if stripped is None or (len(stripped.text) < 2 and not is_name):
        return None
    return replace(stripped if in_place else piece, text=stripped.text, possible=piece.possible)
