"""Parse a short phrase into its subject, its stance (affirmed or denied), its condition and its amounts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from imapeval.text.amounts.compare import find_amounts
from imapeval.text.language import HAN, has_chinese
from imapeval.text.negation.stance import read_stance
from imapeval.text.negation.yes_no import strip_yes_no
from imapeval.text.normalise import BRACKETS, is_abbreviation, normalise, simplify, stem
from imapeval.text.roles import find_roles
from imapeval.text.synonyms import unify_synonyms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from imapeval.text.amounts.compare import Amounts
    from imapeval.text.negation.stance import Stance
    from imapeval.text.roles import Roles
    from imapeval.types import Pair

_CONDITION = (
    r"(?:only |especially |particularly |and |but )?(?:if|when|whenever|unless|until|provided(?: that)?(?! by\b)|in case(?: of)?|as long as"
    r"|(?<!\bat )once(?! (?:an?|per|every|each|daily|weekly|monthly|yearly|only|more|again|or|if|when|in the (?:morning|afternoon|evening)|at (?:night|noon|bedtime)|before bed(?:time)?|as|now)\b)|(?<!\b(?-i:a) )while|should (?:the|it|you|he|she|they|there)\b)\b"
)
_CONDITION_ZH = r"(?:如果|如(?=[果有无需不出症疼痛发])|若是?|假如|倘若|要是|一旦|万一|除非|直到|只要|只有|(?:即[使便]|就算|哪怕)(?=[^，,也都仍]*[不没无未]))"
_IN_BRACKETS = re.compile(
    rf"(?<!\s)\s*[(（](?P<inside>{_CONDITION}[^()（）]*|{_CONDITION_ZH}[^()（）]*|[^()（）]*(?:时|的话|情况下|者|后|前|期间))[)）]\s*$",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    rf"(?<![\s,，])[\s,，]+(?P<inside>{_CONDITION}\s.+)$|(?<![,，])[,，](?P<zh>{_CONDITION_ZH}.+)$",
    re.IGNORECASE | re.DOTALL,
)
_BEFORE = re.compile(
    rf"^(?P<inside>{_CONDITION}\s[^,，]+)[,，]\s*(?=\S)|^(?P<zh>{_CONDITION_ZH}[^,，]+|[^,，]*(?:的话|情况下)|[^,，]{{2,}}(?<![小同随按定暂及])时)[,，]\s*(?=\S)",
    re.IGNORECASE,
)
_ONLY_CONDITION = re.compile(
    rf"^(?!while\b[^,]*(?:n['’]t|\bnot)\b){_CONDITION}\s|^{_CONDITION_ZH}|(?:的话|情况下)$|^.{{2,}}(?<![小同随按定暂及])时$",
    re.IGNORECASE,
)

# The words that only introduce a condition; "unless" denies what follows.
_CONJUNCTION = re.compile(
    rf"^(?:only )?(?:(?P<negative>unless\b|除非)|(?!until\b|直到)(?:{_CONDITION}|{_CONDITION_ZH}))"
    r"|(?:的?时候?|的话|的?情况下)$",
    re.IGNORECASE,
)

# "Fatal without treatment" and 不治疗可致命 say what happens then; "clears up without treatment" says that none is needed.
_WITHOUT = (
    r"without (?:(?:any|proper|prompt|early|timely|adequate|appropriate|medical|specific) )*(?:treatment|therapy)"
)
_WITHOUT_ZH = r"(?:不|未|没有?)(?:(?:经过?|进行|及时|积极|得到|接受|加以|正规|规范))*(?:治疗|医治|诊治)"
_UNTREATED = re.compile(
    rf"(?<=[a-z]) (?P<inside>{_WITHOUT}|(?<!is )(?<!was )(?<!were )(?<!been )(?<!are )(?<!be )left untreated)[.]?$"
    rf"|^(?P<front>{_WITHOUT}),? (?=\S)"
    rf"|^(?P<zh>(?:{_CONDITION_ZH})?{_WITHOUT_ZH}(?:的?话|时)?)[，,]?(?=也?不[会可引]|可能?|[会将则就易常]|容易|病情|最终|往往)",
    re.IGNORECASE,
)
_IF_UNTREATED = re.compile(
    rf"(?:{_CONDITION} )?(?:it |they |this )?(?:is |are |left )*(?:untreated|not (?:properly )?treated|{_WITHOUT})"
    rf"|unless (?:it is |they are )?treated|(?:{_CONDITION_ZH})?{_WITHOUT_ZH}(?:的?话|时)?",
    re.IGNORECASE,
)
# A negation before 就, 才 or 也 and a word of advice is a condition: 没有症状就不用吃药, 不喝酒也会得; not 不能吃也不能喝,
# which denies both, nor 不吃药也能好, which says that none is needed.
_ADVISES = r"[不别勿可能会要应该需必得用]|无[需须]|没有?必要"
_NEGATIVE_BEFORE = re.compile(
    rf"^(?!{_WITHOUT_ZH})(?P<zh>(?:没有?|[无未]|不(?![宜要能应可必需该会用管论仅但只光]))[^不没无未勿别，,。；]{{1,10}}?)"
    rf"(?:[就才](?={_ADVISES}|是)|也(?!不[^宜要能应可必需会用])(?!(?:可以|[能会可])(?:自[行己然]?)?[好愈痊恢消缓])(?={_ADVISES}))"
    r"|^(?P<unless>非必[要须])(?=[不别勿])"
    r"|^(?P<even>(?:即[使便]|就算|哪怕)[^，,。；]{0,10}[不没无未][^，,。；]{1,10}?)(?:也|都|仍)"
)
_RECOVERS = re.compile(
    r"\b(?:resolv|heal|clear|go(?:es)? away|disappear|recover|improv|better|settle|subside|cure|manag|control|surviv|pass)",
    re.IGNORECASE,
)

_TEMPERATURE = re.compile(
    r"\b(?:fever|(?:body )?temperature)s?(?: (?:of|is|at|reaches))?\b|(?:体温|[高低]?(?:发热|发烧|热(?!水)|烧))[达至到在为]?",
    re.IGNORECASE,
)
_PRESSURE = re.compile(
    r"\b(?:(?:systolic|diastolic) )?(?:(?:arterial )?blood )?pressure\b|血压|收缩压|舒张压|高压|低压", re.IGNORECASE
)
_AGE = re.compile(r"\bage[ds]?\b|年龄", re.IGNORECASE)
_AS_NEEDED = re.compile(
    r"(?:if|when|where) (?:it is |it's )?(?:needed|necessary|required)|(?:如有)?(?:必要|需要)(?:时|的话)", re.IGNORECASE
)
_LATIN_WORDS = re.compile(r"[a-z0-9]+")
# A name, not the article: "vitamin A", 维生素A, "A positive".
_LETTER_A = re.compile(
    r"(?P<before>\b(?i:vitamin|hep(?:atitis)?|influenza|flu|type|group|ha?emophilia|toxin|class|factor|gaba|pugh) )A\b(?!['’])"
    rf"|(?<=\w )A(?=\W*$)|(?<=[{HAN}])A(?![A-Za-z\d])|^A(?=[{HAN}]| Rh| (?:posi|nega)tive$)"
)
_CHINESE_RUNS = re.compile(f"[{HAN}]+")
_PUNCTUATION = re.compile(r"[,，、;；。:：!！?？()（）]")
FUNCTION_WORDS = frozenset(
    normalise(word)
    for word in re.findall(
        r"\w+",
        "a an the of to for in on at by with and or as is are be been being was were it its this that these those there "
        "you your i my he his she her they their them we our will would can could may might should shall must need "
        "needed do does did have has had please also then so very "
        # Verbs and phrases that only express that something is advised or done.
        "take taking taken took use using used give giving given gave get getting got gotten receive receiving received "
        "try trying tried keep keeping kept continue continuing continued start starting started begin began beginning "
        "begun recommend recommended recommending advise advised advising necessary required require indicated allowed fine ok okay "
        "yes safe treatment treat therapy stay regularly usually often always normally generally typically "
        "strictly very highly extremely quite really rather fairly almost all any most many some several",
    )
)
FUNCTION_CHARACTERS = frozenset("的了是有在和与或及吗要需用应该可以能会请也都就还做喝吃饮服必须")


# "Not only A but also B" states A and B. "Not just a cold" and 不仅是感冒 are more than a cold.
_CORRELATIVE = re.compile(
    r"\bnot only\b|(?<=\bbut )also\b|\bbut(?= also\b)|(?:不仅|不但|不光)(?!是)|而且|并且", re.IGNORECASE
)


def _by_length(words: str) -> tuple[str, ...]:
    return tuple(sorted(words.split(), key=len, reverse=True))


# Words at either end of a statement that only express that something is taken, advised, possible or done.
_BEFORE_SUBJECT = frozenset(
    normalise(word)
    for word in re.findall(
        r"\w+",
        "to any the a an your my our his her their some of also please only just then always usually often generally normally "
        "typically you i we he she they it this that patient people should must may can could would will shall might "
        "need needed ought have has had be is are was were been being do does did take taking taken use using used "
        "give giving given get getting receive receiving try trying keep continue continuing carry on start starting begin "
        "beginning recommend recommended recommending advise advised suggest suggested consider considered "
        "considering prescribe prescribed prescribing prefer preferred doctor physician gp clinician see consult visit drink "
        "drinking eat eating apply applying administer administered undergo undergoing perform performed",
    )
)
_AFTER_SUBJECT = frozenset(
    re.findall(
        r"\w+",
        "should must may can could would will shall might ought to be is are was were been being also usually often generally normally "
        "typically still already taken used given started tried prescribed recommended advised suggested considered preferred "
        "administered performed done okay ok fine safe allowed permitted possible needed required necessary indicated appropriate "
        "suitable acceptable useful helpful beneficial effective essential important a an the first line choice option too now here "
        # Left over where an amount was: "renal calculus of", "doxycycline for".
        "please of for at by per in",
    )
)
_BEFORE_SUBJECT_ZH = _by_length(
    "一般 通常 常 常规 首选 首先 优先 先 可 可以 能 能够 应 应该 应当 需 需要 必须 须 要 建议 推荐 考虑 尝试 试用 试试 给 给予 服用 口服 服 使用 采用 应用 进行 做 吃 喝 饮用 "
    "食用 用 开 开始 继续 医生 会 请 您 你 患者 病人 适当 及时 尽早 立即 马上 也 还 都 再 一些 个 发现 明显 点 的 是 有 为"
)
_AFTER_SUBJECT_ZH = _by_length(
    "应 应该 应当 必须 须 要 可 可以 能 会 都 也 一律 使用 服用 食用 饮用 吃 喝 用 为主 为宜 为好 首选 为首选 是首选 就可以 也可以 就行 也行 即可 没问题 比较好 最好 "
    "有效 有用 有益 是 的 了 吧 过"
)


@dataclass(frozen=True)
class Phrase:
    """A parsed phrase, ready to be compared with others.

    Attributes:
        core: The phrase without its condition, as written.
        text: The core with its synonyms unified; `stance` and `amounts` are read from it.
        condition: The condition under which it holds, as written; "" for none.
        stance: Whether the core affirms or denies its subject, and how certainly.
        amounts: The core's amounts.
    """

    # The rest is derived from these when it is first needed: many phrases are parsed for one or two of its properties.
    core: str
    text: str
    condition: str
    stance: Stance
    amounts: Amounts

    @cached_property
    def subject(self) -> str:
        """Normal form of what the core is about: "cetirizine" of "cetirizine can be taken".

        Without amounts, words of stance, and words at either end that only express that something is taken, advised,
        possible or done.
        """
        return _strip_frame(strip_yes_no(self.stance.subject))

    @cached_property
    def whole(self) -> str:
        """Normal form of the core."""
        return normalise(self.text)

    @cached_property
    def outside(self) -> str:
        """Normal form of the text outside brackets; equal to `whole` if there are none."""
        return normalise(BRACKETS.sub(" ", self.text)) if self._brackets else self.whole

    @cached_property
    def inside(self) -> frozenset[str]:
        """Normal forms of the texts in brackets, except amounts."""
        return frozenset(form for text in self._brackets if not find_amounts(text).items and (form := normalise(text)))

    @cached_property
    def qualified(self) -> bool:
        """Whether brackets hold anything but abbreviations, which may narrow the text outside."""
        return not all(map(is_abbreviation, self._brackets))

    @cached_property
    def words(self) -> frozenset[str]:
        """Content words of the subject (Chinese: characters), without amounts and light words."""
        stems, runs = self._content
        return stems.union("".join(runs))

    @cached_property
    def tokens(self) -> frozenset[str]:
        """The same, but Chinese as pairs of neighbouring characters; used to measure overlap."""
        stems, runs = self._content
        return stems.union(*([run[i : i + 2] for i in range(len(run) - 1)] or [run] for run in runs))

    @cached_property
    def roles(self) -> Roles | None:
        """What the core puts in an order ("MRI before biopsy"); None if nothing."""
        return find_roles(self.amounts.rest)

    @cached_property
    def role_words(self) -> tuple[frozenset[str], frozenset[str]]:
        """Content words of what the roles put first, and of the other; none if there are no roles."""
        named = (self.roles.first, self.roles.second) if self.roles else ("", "")
        return find_content_words(named[0]), find_content_words(named[1])

    @cached_property
    def _brackets(self) -> list[str]:
        return [found.group(1) for found in BRACKETS.finditer(self.text)]

    @cached_property
    def _content(self) -> tuple[frozenset[str], list[str]]:
        """The stems of the English content words of the subject, and its runs of Chinese characters."""
        about = self.stance.subject
        dimensions = {amount.dimension for amount in self.amounts.items}
        if "temperature" in dimensions:
            # "Fever of 39 °C", "temperature 39 °C" and 39℃: the amount itself shows what is measured.
            about = _TEMPERATURE.sub(" ", about)
        # So do "over 65 years" and 140/90.
        if "age" in dimensions:
            about = _AGE.sub(" ", about)
        if {"systolic pressure", "diastolic pressure"} <= dimensions:
            about = _PRESSURE.sub(" ", about)
        latin, chinese = _find_words(about)
        return frozenset(map(stem, latin)), chinese


# 2 kB each; more than a batch of answers usually has of facts and parts of facts.
@lru_cache(maxsize=1 << 13)
def parse_phrase(value: str) -> Phrase:
    """Parse a phrase. Pure; cached, because each value is compared with many others.

    >>> phrase = parse_phrase("no alcohol (if the stomach is upset)")
    >>> phrase.core, phrase.condition, phrase.stance.polarity, sorted(phrase.words)
    ('no alcohol', 'if the stomach is upset', 'denied', ['alcohol'])
    """
    core, condition = split_condition(value)
    text = unify_synonyms(simplify(_CORRELATIVE.sub(" ", core)))
    amounts = find_amounts(text)
    # Without the amounts: "not more than 3 days" and 未满3岁 deny nothing.
    return Phrase(core, text, condition, read_stance(amounts.rest), amounts)


def split_condition(value: str) -> tuple[str, str]:
    """Split a phrase into its core and its condition ("" if it has none).

    >>> split_condition("see a doctor if the fever lasts")
    ('see a doctor', 'if the fever lasts')
    >>> split_condition("萘普生（肾功能正常时）")
    ('萘普生', '肾功能正常时')
    """
    for pattern in (_IN_BRACKETS, _BEHIND, _BEFORE, _UNTREATED, _NEGATIVE_BEFORE):
        found = pattern.search(value)
        if found is None or (pattern is _UNTREATED and _RECOVERS.search(value)):
            continue
        core = (value[: found.start()] + value[found.end() :]).strip(" ,，;；.。")
        condition = next(filter(None, found.groups())).strip()
        # "If needed" is a schedule.
        if any(map(str.isalnum, core)) and not _AS_NEEDED.fullmatch(condition):
            return core, condition
    return value, ""


def parse_condition(condition: str) -> Phrase:
    """Parse a condition without its conjunction, so that "if it swells" and "when it swells" are the same.

    All ways of saying "if untreated" count as the same condition.

    >>> parse_condition("when the fever lasts").whole, parse_condition("unless it swells").stance.polarity
    ('the fever last', 'denied')
    """
    if _IF_UNTREATED.fullmatch(condition):
        return parse_phrase("untreated")
    return parse_phrase(_CONJUNCTION.sub(lambda found: " not " if found["negative"] else "", condition))


def is_untreated(phrase: Phrase) -> bool:
    """Return whether a phrase holds if nothing is treated."""
    return _IF_UNTREATED.fullmatch(phrase.condition) is not None


def join_condition(phrase: Phrase, other: Phrase | None = None) -> Phrase:
    """Return a phrase with its condition as a part of its core, unless only the condition, not `other`, has a negator.

    >>> join_condition(parse_phrase("do not vape while pregnant")).core
    'do not vape pregnant'
    """
    denies = parse_condition(phrase.condition).stance.denies
    if not phrase.condition or (denies and not (other and other.stance.negated)):
        return phrase
    return parse_phrase(f"{phrase.core} {_CONJUNCTION.sub('', phrase.condition).strip()}")


def find_content_words(text: str) -> frozenset[str]:
    """Return the content words of a text, as stems, and its Chinese characters."""
    latin, chinese = _find_words(text)
    return frozenset(map(stem, latin)).union("".join(chinese))


def is_condition(text: str) -> bool:
    """Return whether a clause states nothing but a condition for another clause.

    >>> [is_condition(text) for text in ("if it lasts", "如果发烧", "高烧不退时", "rest")]
    [True, True, True, False]
    """
    return _ONLY_CONDITION.search(text) is not None


def annotate_pair(pair: Pair) -> Pair:
    """Return a pair with the fields that can be parsed from its value: polarity, certainty, condition and amounts."""
    phrase = parse_phrase(pair.value)
    return replace(
        pair,
        polarity=phrase.stance.polarity,
        certainty=phrase.stance.certainty,
        condition=phrase.condition,
        amounts=tuple(amount.text for amount in phrase.amounts.items),
    )


def drop_self_contradictions(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs without those that a text both affirms and denies: together they state nothing.

    An affirmation and a denial under different conditions, or one of them without a condition, may both hold and stay.

    >>> from imapeval.types import Pair
    >>> pairs = [Pair("a", "aspirin"), Pair("a", "no aspirin"), Pair("a", "rest")]
    >>> [pair.value for pair in drop_self_contradictions(pairs)]
    ['rest']
    """
    kept = list(pairs)
    phrases = [parse_phrase(pair.value) for pair in kept]
    about = [(phrase.words, normalise(phrase.condition)) for phrase in phrases]
    stances: dict[tuple[frozenset[str], str], set[bool]] = {}
    for phrase, key in zip(phrases, about, strict=True):
        if phrase.words:
            stances.setdefault(key, set()).add(phrase.stance.denies)
    return [pair for pair, key in zip(kept, about, strict=True) if len(stances.get(key, ())) < 2]


def _strip_frame(statement: str) -> str:
    """Return the normal form of what a statement is about."""
    words = normalise(_LETTER_A.sub(r"\g<before> lettera ", statement)).split()
    start, end = 0, len(words)
    while start < end and words[start] in _BEFORE_SUBJECT:
        start += 1
    while end > start and words[end - 1] in _AFTER_SUBJECT:
        end -= 1
    rest = " ".join(words[start:end]).replace("lettera", "a")
    if not has_chinese(rest):
        return rest
    start, end = 0, len(rest)
    while word := next((word for word in _BEFORE_SUBJECT_ZH if rest.startswith(word, start, end)), ""):
        start += len(word)
    while word := next((word for word in _AFTER_SUBJECT_ZH if rest.endswith(word, start, end)), ""):
        end -= len(word)
    return rest[start:end]


def _find_words(text: str) -> tuple[list[str], list[str]]:
    """Return the English content words of a text, and its runs of Chinese characters without light characters."""
    latin: list[str] = []
    chinese: list[str] = []
    for part in _PUNCTUATION.split(strip_yes_no(text)):
        norm = normalise(_LETTER_A.sub(r"\g<before> lettera ", part))
        latin += [word for word in _LATIN_WORDS.findall(norm) if word not in FUNCTION_WORDS]
        runs = ("".join(c for c in run if c not in FUNCTION_CHARACTERS) for run in _CHINESE_RUNS.findall(norm))
        chinese += filter(None, runs)
    return latin, chinese
