"""Yes and no: whether a question asks for a yes or no, and the words that express it at the start of an answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.types import Lang

# A yes or no to the question, before the statement itself.
_LEADING_ANSWER = re.compile(
    r"^(?:yes|no|不|不会|不能|不是|不可以|是的?|会|能|可以)[,，。.;；:：!！]\s*(?=\w)", re.IGNORECASE
)
_LEADING_YES_NO = re.compile(
    r"^(?:yes|no)\b[,.;:!\s]*|^(?:是的?|能|可以|不能|不可以|不是|会|不会|不)(?:[,，。;；]|$)", re.IGNORECASE
)
_ASKS = re.compile(
    r"^(?:am|can|could|did|do|does|had|has|have|is|are|may|must|need|should|was|were|will|would|whether|safe|possible)\b"
    r"|能否|是否|可否|能不能|是不是|可不可以|要不要|需不需要|会不会|有没有|可以.{0,200}吗|能.{0,200}吗"
)
_ANSWER_WORDS = re.compile(
    r"^(?:(?:yes|no|not|can(?:not|['’]t)?|may|(?:should|must|is|are|do|does)(?:n['’]t)?|it|be|best|better|allowed|safe"
    r"|unsafe|ok|okay|fine|possible|impossible|recommended|advisable|likely|unlikely|avoid(?:ed)?|needed?|necessary"
    r"|unnecessary|normal)\b[ ,;:.]*)+"
    r"|^(?:不能|不可以?|不行|不宜|不是|不会|不需要?|不用|不必|不建议|不推荐|最好|没有?|无需|否|不|能够?|可以?|是的?|会|需要?|要"
    r"|应该?|应当|建议|推荐|有|避免|禁止|勿)+[，,、。 ]*"
)
_ASSENT = re.compile(
    r"\b(?:yes|can|may|could|should|safe(?:ly)?|fine|ok(?:ay)?|allowed|possible|possibly|recommend\w*|advis\w*|normal|need\w*"
    r"|necessary|likely|probably|must|sure|definitely|certainly)\b|能|可|是|会|需|应|要|建议|推荐|必"
)

# A cell of a table that says yes or no to its header, in words or as a mark.
_YES_CELL = re.compile(
    r"(?:[✓✔✅√☑]\ufe0f?\s*)?(?:yes|y|true|ok(?:ay)?|是|能|可以?|有|对)|[✓✔✅√☑]\ufe0f?", re.IGNORECASE
)
_NO_CELL = re.compile(
    r"(?:[✗✘✖❌🚫⛔×]\ufe0f?\s*)?(?:no|n|n/a|none|false|never|不|否|无|不能|不可以?|不行|没有)|[✗✘✖❌🚫⛔×xX]\ufe0f?",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"^(?:is|are|was|were|does|do) (?:it|they|this|these|i|you|we)\b\s*|(?<![?？吗呢])[?？吗呢]++\s*+$", re.IGNORECASE
)
_CHOICE = re.compile(r"\bor\b|还是", re.IGNORECASE)
_CHINESE_NEGATION = re.compile("[不没未](?![同良适孕育])")
_PRONOUN = "(?:he|it|she|that|there|they|this|we|you)"
_AUXILIARY = "(?:are|can|could|did|does|do|has|have|is|may|must|should|was|were|will|would)"
# A yes or no at the start of an answer, as a clause of its own. "Certainly! Here is ..." is an opening, and no yes.
_VERDICT = re.compile(
    r"\s*(?:(?P<yes>(?:absolutely|certainly|definitely|of course|sure)(?=[.!]?\s*$)|yes|yeah|yep|(?:是|对|可以|会)的?|能|需要|要|有"
    rf"|{_PRONOUN} {_AUXILIARY}(?=\s*(?:[.;!\n]|$)))"
    r"|(?P<no>no(?!\.\s?\d)|nope|(?:absolutely|certainly|definitely|of course) not|not at all|不是的?|不能|不可以|不会|不行|不要|不用|不需要|不必|没有|不|否"
    rf"|{_PRONOUN} (?:{_AUXILIARY}(?:n['’]t| ?not)|can['’]t)(?=\s*(?:[.;!\n]|$))))\s*(?=[,，。.;；:：!！\n]|$|(?<=\s){_PRONOUN}\b)",
    re.IGNORECASE,
)
# A verdict without a yes or no, which repeats the verb of its question: "it does".
_SHORT_REPLY = re.compile(rf"{_PRONOUN} (?P<verb>{_AUXILIARY})", re.IGNORECASE)
# What an answer says to a belief, without a verb of its own: "it is a myth", "they don't", 其实不用.
_REPLY: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"(?:(?:actually|but|however|in fact|in reality|yet"
        r"|(?:the )?(?:data|doctors|evidence|experts|research|science|studies)"
        r" (?:agrees?|found|proves?|says?|shows?|suggests?)(?: that)?),? )*"
        r"(?:he|it|she|that|there|they|this|we|you)(?: (?:actually|really|simply))?"
        r"(?:(?: is| are| was|['’]s)(?: (?:actually|completely|just|quite|simply))?"
        r" (?:(?P<false>not (?:correct|right|so|the case|true)|a (?:common )?(?:misconception|myth)|false|incorrect"
        r"|mistaken|nonsense|untrue|wrong)|(?P<true>correct|right|true))"
        r"| (?:are|can|could|did|do|does|has|have|is|must|should|was|were|will|would|ca|wo)(?P<no>n['’]?t|not| not)?)",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"(?:但是?|然而|不过|其实|实际上|事实上|[,，])*(?:[这那][种个]?(?:说法|观点|想法|做法|认识|样说)?)?(?:其实|都|并|完全)?"
        r"(?:(?P<false>(?:都?是)?(?:错误?的?|误区|谣言|假的|不实的?)|不(?:对|正确|是这样|科学|属实|成立)的?|非如此|没有?(?:科学)?根据)"
        r"|(?P<true>(?:确实)?是?(?:正确|对|真)的|没错|确实如此)"
        r"|(?P<no>不用|不需要?|不会|不能|不可以?|不是|没必要|不必)|(?:要|会|能|需要|可以|是)的?)"
    ),
}
_INVERSION = re.compile(
    r"^(?:do you (?:think|believe)(?: that)?"
    r"|(?:can|could|may|should|must|am|is|are|was|were|do|does|did|will|would|has|have|had)\b"
    r"(?: (?:i|we|he|she|it|they|this|that|there|these|those)\b)?|请问)\s*",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"^(?:(?:can|could|will|would) (?:you|anyone|someone|anybody|somebody) (?:please |kindly )?"
    r"(?:help|tell|explain|advise|suggest|recommend|look|check|read|give|let|say|share)"
    r"|(?:do you|does anyone) know|have you any idea|would (?:appreciate|like|love)|(?:may|can|could) i ask)\b|帮|咨询|请教|问一下|解释|看看",
    re.IGNORECASE,
)
# A question that may be answered by yes or no, whether or not `find_polar_question` can restate it.
_RIVAL: Mapping[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"(?:^|[,;] *)(?:and |or |but |so )?(?:(?:can|could|may|might|should|must|shall|will|would|is|are|am|was|were|do|does|did|has|have|had)"
        r"(?:n['’]?t)?|whether)\b(?! not\b)",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"吗|[么嘛吧呀](?=$|[？?])|(.)不\1|是否|能否|可否|有无|有没有"),
}
# A Chinese clause that asks, apart from a mere "is that so?" and from what also asks something else: 你知道为什么吗.
_ASKS_AT_END = re.compile(
    r"(?!(?:(?:这样|那样|这|那|你们?|您|大家)?(?:都|也)?(?:可以|可能|要紧|知道|明白|了解|听说|有人?知道|需要|行|好|对|是|能|会|要|有|懂|真)(?:的|了|过|吗)?吗)$)"
    r"(?!.*(?:什么|为何|怎|如何|哪|谁|多少|多久|多[大长高]|几|还是))[^，,]{2,200}吗$"
)
# A Chinese verdict other than 是, 对, 不 and 否 repeats the verb of its question, or another one of the same row.
_VERDICT_VERBS = (("能", "可"), ("要", "需", "用"), ("会",), ("有",))
_CHINESE_QUESTION = re.compile("是否|是不是|能否|能不能|可否|可不可以|有无|有没有|要不要|需不需要|会不会")
_MODAL = re.compile(r"^(?P<modal>can|could|may|might|must|should|will|would) (?:i|you|we|they|it)\b\s*", re.IGNORECASE)


def strip_answer(text: str) -> str:
    """Return a text without a yes or no before its statement; a lone "no" stays.

    >>> strip_answer("No, rest is enough"), strip_answer("no surgery")
    ('rest is enough', 'no surgery')
    """
    return _LEADING_ANSWER.sub("", text)


def strip_yes_no(text: str) -> str:
    """Return a text without "yes" or "no", or a Chinese equivalent that is a separate clause, at its start.

    >>> strip_yes_no("no. rest"), strip_yes_no("不能，要休息"), strip_yes_no("不能吃")
    ('rest', '要休息', '不能吃')
    """
    return _LEADING_YES_NO.sub("", text)


def asks_yes_no(folded: str) -> bool:
    """Return whether a term in lower case asks for a yes or no.

    >>> asks_yes_no("can i swim"), asks_yes_no("能否手术"), asks_yes_no("treatment")
    (True, True, False)
    """
    return _ASKS.search(folded) is not None


def strip_answer_words(folded: str) -> str:
    """Return the rest of a value in lower case, without all words at its start that mean yes or no.

    >>> strip_answer_words("not recommended, after 20 weeks"), strip_answer_words("不建议手术")
    ('after 20 weeks', '手术')
    """
    return _ANSWER_WORDS.sub("", folded)


def mentions_assent(folded: str) -> bool:
    """Return whether a text in lower case has any word that may mean yes."""
    return _ASSENT.search(folded) is not None


def read_verdict(cell: str) -> bool | None:
    """Return what a cell of a table says to its header: True for yes, False for no, None for anything else.

    >>> read_verdict("Yes"), read_verdict("❌"), read_verdict("不可以"), read_verdict("500 mg")
    (True, False, False, None)
    """
    if _YES_CELL.fullmatch(cell):
        return True
    return False if _NO_CELL.fullmatch(cell) else None


def strip_question(header: str) -> str:
    """Return a header without what makes it a question.

    >>> strip_question("Is it safe?"), strip_question("是否允许"), strip_question("孕期能不能吃")
    ('safe', '允许', '孕期能吃')
    """
    words = _QUESTION.sub("", _MODAL.sub(r"\g<modal> ", _QUESTION.sub("", header.strip()))).strip()
    return _CHINESE_QUESTION.sub(lambda found: _find_verb(found[0]), words, count=1)


def _find_verb(question: str) -> str:
    """Return the verb of a Chinese yes-no question, 可以 of 可不可以; "" for 是否."""
    if question == "是否":
        return ""
    return question.partition("不")[2] or question[0]


def find_polar_question(sentence: str) -> str | None:
    """Return the clause of a question that asks for a yes or no; None if there is none.

    >>> find_polar_question("He has a fever, should I worry"), find_polar_question("发烧了，要住院吗")
    ('should I worry', '要住院吗')
    >>> find_polar_question("What is it") is find_polar_question("Could you explain it") is None
    True
    """
    clause = re.split("[,，]", sentence)[-1].strip()
    asks = asks_yes_no(clause.lower()) or _ASKS_AT_END.match(clause)
    return clause if asks and not _REQUEST.search(clause) else None


def count_polar_questions(sentence: str, *, lang: Lang) -> int:
    """Return how many clauses of a question may be answered by yes or no.

    >>> count_polar_questions("Is it viral, and should I rest", lang="en")
    2
    >>> count_polar_questions("吃了头孢能喝酒吗", lang="zh")
    1
    """
    if lang == "en":
        return sum(1 for _ in _RIVAL["en"].finditer(sentence))
    return sum(_RIVAL["zh"].search(clause) is not None for clause in re.split("[,，]", sentence))


def is_ambiguous(question: str, *, before: str) -> bool:
    """Return whether a yes or no to a question may be meant in two ways: it offers a choice or is negated in Chinese.

    Args:
        question: The clause that asks.
        before: The clause before it, which may be its negated condition.

    >>> is_ambiguous("is it viral or bacterial", before=""), is_ambiguous("能好吗", before="不治疗")
    (True, True)
    >>> is_ambiguous("能不能洗澡", before="发烧了")
    False
    """
    negated = _CHINESE_NEGATION.search(strip_question(question)) or before.startswith(("不", "没", "别"))
    return bool(_CHOICE.search(question) or negated)


def find_verdict(answer: str) -> re.Match[str] | None:
    """Return the yes or no that an answer begins with, in the group "yes" or "no", if it is a clause of its own.

    >>> find_verdict("No, it is not.")["no"], find_verdict("不可以。")["no"], find_verdict("No surgery.")
    ('No', '不可以', None)
    >>> find_verdict("Certainly!")["yes"], find_verdict("Certainly! Antibiotics are not needed.")
    ('Certainly', None)
    >>> find_verdict("Yes it is.")["yes"], find_verdict("They do.")["yes"], find_verdict("They do harm.")
    ('Yes', 'They do', None)
    """
    return _VERDICT.match(answer)


def answer_question(question: str, verdict: re.Match[str], *, lang: Lang) -> str | None:
    """Return the statement that a yes or no to a question stands for; None if it may answer something else.

    >>> answer_question("Can I fly with asthma", find_verdict("Yes."), lang="en")
    'fly with asthma'
    >>> answer_question("Is it cancer", find_verdict("No."), lang="en")
    'cancer: no'
    >>> answer_question("Does it hurt", find_verdict("It doesn't."), lang="en")
    'hurt: no'
    >>> answer_question("Does it hurt", find_verdict("You can."), lang="en") is None
    True
    >>> answer_question("孕妇能不能吃海鲜", find_verdict("不能。"), lang="zh")
    '孕妇能吃海鲜：不能'
    >>> answer_question("孕妇能不能吃海鲜", find_verdict("没有。"), lang="zh") is None
    True
    """
    no = verdict["no"]
    statement = _INVERSION.sub("", question).strip()
    if lang == "en":
        reply = _SHORT_REPLY.match(verdict[0].strip())
        if reply and reply["verb"].lower() not in question.lower().split():
            return None
        return f"{statement}: no" if no else statement
    verbs = next((verbs for verbs in _VERDICT_VERBS if any(verb in verdict[0] for verb in verbs)), None)
    if verbs and not any(verb in question for verb in verbs):
        return None
    statement = strip_question(statement.rstrip("呀啊嘛呢"))
    # 否 alone is no negation to the reader of phrases.
    return f"{statement}：{no.replace('否', '不')}" if no else statement


def answer_header(header: str, *, yes: bool, lang: Lang) -> str:
    """Return the predicate that a yes or no to a header means.

    >>> answer_header("Allowed?", yes=False, lang="en"), answer_header("Can I eat it?", yes=False, lang="en")
    ('not allowed', 'can not eat it')
    >>> answer_header("孕期能否食用", yes=False, lang="zh"), answer_header("有无发热", yes=False, lang="zh")
    ('孕期不能食用', '没有发热')
    """
    words = strip_question(header)
    if lang == "zh":
        found = _CHINESE_QUESTION.search(header)
        place = found.start() if found else 0
        return words if yes else f"{words[:place]}{'没' if words.startswith('有', place) else '不'}{words[place:]}"
    if not words[1:2].isupper():
        words = words[:1].lower() + words[1:]
    if yes:
        return words
    return words.replace(" ", " not ", 1) if _MODAL.match(header) else f"not {words}".strip()


def find_reply(text: str, lang: Lang) -> re.Match[str] | None:
    """Return what a clause says to the one before it: "true" or "false", or else "no" if it denies; None for others.

    >>> find_reply("but it is a myth", "en")["false"], find_reply("studies show they don't", "en")["no"]
    ('a myth', "n't")
    >>> find_reply("其实不用", "zh")["no"], find_reply("it helps", "en") is None
    ('不用', True)
    """
    return _REPLY[lang].fullmatch(text)
