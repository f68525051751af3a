"""Negation and its scope: what a phrase denies or advises against, and how certain it is.

"No surgery needed" is not "surgery needed", and "stop warfarin" is not "continue warfarin". Words that negate are listed
here, in `imapeval.text.negation.governors` and `imapeval.text.negation.yes_no`; other packages build their patterns from these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from imapeval.text.dimensions.general import LOWER
from imapeval.text.language import HAN
from imapeval.text.negation.hazards import CHINESE_HAZARD, CHINESE_REMEDY
from imapeval.text.negation.yes_no import strip_answer
from imapeval.text.required import RarePattern

if TYPE_CHECKING:
    from imapeval.types import Certainty, Polarity

NEGATING_WORDS = (
    r"no|not|non|never|without|avoid\w*|stop\w*|discontinu\w*|withdraw\w*|absence|absent|lack|exclud\w*|rule|ruled"
    r"|unlikely|negative|quit|free"
)
NEGATING_CHARACTERS = "不无未非没勿忌禁停避除否"
"""Words, as alternatives of a pattern, and Chinese characters of which any may negate a name beside them."""

DENIALS = "no not never without cannot nor neither unlikely"
ADVICE_AGAINST = "avoid stop quit limit reduce cut decrease less fewer cessation"
CHINESE_ADVICE_AGAINST = r"不需要?|不建议|不推荐|不宜|不可以?|不能|不用|不要|不必|无需|无须|避免|禁止"
"""Words of denials, and of advice against something or for less of it, that do not name it; the English ones separated
by spaces, the Chinese ones as alternatives of a pattern."""

# Who a Chinese statement is about, and verbs that are denied themselves: 不吸烟者, but not 不影响携带者.
_PEOPLE = r"(?:(?<!患)者|的(?:患者|病人|人|女性|男性|孕妇|儿童|孩子|成人|老人))"
_DENIES_VERB = r"(?!建议|推荐|主张|提倡|允许|存在|适[合用宜]|[是要应宜必可能让给需用属得会])"

# Phrases that contain a negator but deny nothing, or that express amounts or certainty. Matched first.
_HARMLESS = RarePattern(
    r"\bnot (?:only|just|merely|simply|to mention|least)\b|\bno (?:doubt|later than|earlier than|sooner than|more than|less than|fewer than|matter)\b"
    r"|\bnot (?:more|less|later|earlier|sooner|fewer|longer) than\b|\bwithout (?:delay|fail|doubt|hesitation|question)\b|\b(?:before|after) stopping\b"
    # What is done so that something is avoided, or avoids it by itself.
    r"|(?<=\w )(?:in order|so as) to avoid\b|\b(?:designed|intended|meant|used) to avoid\b|\b(?:that|which|who) (?:(?:can|may|will) )?avoids?\b"
    r"|\b(?:ways?|methods?|keys?) (?:to avoid|of avoiding)\b(?=[\w\s'’-]{1,40} (?:is|are)\b)"
    r"|\bhelp(?:s|ed|ing)? (?:(?:you|them|him|her|us|people|patients|to) ){0,2}avoid(?:ing)?\b|\bso (?:that )?(?:you|they|he|she|it|we) (?:(?:can|may|will) )?avoid\b"
    rf"|(?<=\w)以(?:避免|免)|(?:(?<=可)|(?<=可以)|(?<=能够)|(?<=(?<!可)能)|(?<=从而)|(?<=有效)|(?<=有助于)|(?<=有利于)|(?<=帮助)|(?<=用于)|(?<=[^将未近后本]来))避免"
    rf"|避免(?={CHINESE_HAZARD}(?:发生)?的{CHINESE_REMEDY})"
    r"|\b(?:do not|don['’]?t|never) (?:hesitate|forget|worry|be afraid)(?: (?:to|about))?\b|\bwhether or not\b|\bif not\b"
    r"|\bnot (?:necessarily|always|sure|certain|clear|known|yet known)\b|\b(?:gram|rh|rhesus)[ -]negative\b|\bno[.] ?\d"
    # Names.
    r"|\btriple[ -]negative\b|\bnegative (?=(?:inotrop\w+|predictive|pressure)\b)|\bskip (?=lesions?\b)"
    r"|不(?:宁腿|动杆菌|自主(?:运动|活动|抽动|收缩|震颤)|随意运动|应期(?![待望]))|(?<=肺)不张|(?<=骨)不连|(?<=半身)不遂|三阴性?"
    r"|无(?:痛(?=分娩|胃肠?镜|肠镜|人流)|名指|花果|水乙醇|乳链球菌|性细胞(?=瘤)|张力(?=[疝修]))"
    # What ends before something else happens: "spotting after the period has stopped".
    r"|(?<=\w )\b(?:after|until|once|when|since|as soon as) (?:[\w'’-]+ ){1,5}?stop(?:s|ped)(?=[.,;]|$)|^(?:after|until|once|when|since|as soon as) (?:[\w'’-]+ ){1,5}?stop(?:s|ped)(?=,)"
    # Who or what a statement is about: "gallstones without symptoms need no operation".
    # "A diet without salt is advised" is advice against salt.
    r"|(?<=\w )(?<!\b(?:is|be) )(?<!\b(?:are|was) )(?<!\bwere )with(?:out| no) (?:\w+ ){0,2}?\w+"
    r"(?= (?:needs?|can|could|may|might|should|must|will|would|do|does|has|have|requires?"
    r"|(?:is|are|was|were)(?! (?:advi[cs]ed|advisable|recommended|suggested|preferred|preferable|best|better|enough|sufficient|safe|possible)))\b)"
    rf"|(?:没有|无|未(?![见发])|(?<=[是比与和于较])不|不{_DENIES_VERB})(?=[^不没无未勿，]{{1,6}}{_PEOPLE}"
    rf".{{0,2}}(?:不|无|[需应可须要会是能建做用查打禁慎])|[^不没无未勿，,的]{{1,3}}{_PEOPLE}(?:[^的，,、。；)）\s]|的[,\d]))"
    rf"|不{_DENIES_VERB}(?=[^不没无未勿，]{{1,6}}的[^不没无未勿，]{{0,4}}(?:不[用需必要能宜可]|无需|无须|(?<![主重])要(?!素)|[需应须]|可以))"
    r"|\bnothing (?:but|else than|to do with|(?:speaks |to be said )?against)\b|\bno harm (?=in\b)|\bcan(?:not|['’]t| not) help\b|(?<!\bcause )(?<!causes )(?<!\bhave )(?<!\bhas )(?<!\bhad )(?<!\bgive )(?<!gives )\bno problems?\b|\bno objections?\b|\bnon[- ](?=\w)"
    r"|(?<=[烧热])不退|(?<=治)不愈|(?<=[睡受站走吃喘透坐忍])不[着了下过稳好住动]|(?:(?<=[离缺])|(?<!减少)(?<=少))不[开了]|不(?:仅|但|只|光(?![滑整])|止)(?:仅|是|要)?|不(?:超过|少于|低于|高于|多于|大于|小于|足(?!以)|妨|得不|断(?![根奶])|久(?![坐站卧])"
    # Not where the next word is what "not" denies: 不安 is restless, 不安全 unsafe.
    r"|管(?!用(?!什么|啥|[哪何多不没])|理(?!由))|论|如|同(?!意(?![见义])|时[服吃喝使用]|房(?!间))|良(?!好(?![转发]))|适(?!合(?!并)|用(?!药)|[宜于])|孕|育|明(?![显白])|稳|齐|整(?!齐)"
    r"|全(?!麻|面(?![部临色]))|规则|规律|典型|调(?!整(?!体)|[节高低])|饱和|锈钢|振|佳|畅(?!通(?!过))|当|清(?![淡洁洗理])"
    r"|耐受?|舒(?:服|(?![张适展]))|安(?!全|装|排|静(?!脉)|稳)|一定|一样|确定|清楚|可缺|可或缺|可避免|能不|可不|得已|要紧|要担心|用担心|必担心|客气)|必不可少|无(?:论|创|菌|脑儿|痰咳|效者|痛性|症状|力|机|关紧要|须担心|需担心)"
    r"|没(?:关系|事|问题)|有没有|有无|会不会|是不是|能不能|要不要|可不可以|未(?:来|婚|成年|必)|非(?:甾体|常|典|那|处方|特异|淋|酒精|霍奇金|小细胞|ST)|除非|(?:革兰氏?|Rh)阴性|失禁|禁(?:忌症|忌证|区)"
    r"|(?:特|区|差|鉴|类|级|分|性|个|辨|识|告|离|派|各|送)别|别(?:名|人|处|的|称|忘)|淹没|沉没|(?<!不[可要能宜应得会])(?<![勿忌免止不])骤停|呼吸暂停|停(?:经|搏|跳|留|车)|(?:(?<=[^\s，,。])停止|停[药用服]|(?<=药)停|戒[烟酒])(?=[^，,。；、不没无]{0,6},?(?:[以之]?(?:前(?![列庭])|后(?![叶遗]))|再(?![次发])|才))|非必[要须](?=[不别勿])"
    # A result that something depends on: 阴性3年后复查.
    r"|阴性(?=[者则时]|,?[以之]?(?:后|再|每|定期|复查|随访|可(?!能)|需|应|要(?!是)|建议|不|无需|继续))"
    r"|戒断|少(?:量|许|数|见|年|儿|女|妇|尿|白|于|部分)"
    # A cause that is not known, like 病因不明.
    r"|(?:(?<=[病原]因)|(?<=[病原]因[尚还仍暂])|(?<=[病原]因(?:至今|目前)))(?:未(?=明|查明|知)|不(?=详))|未(?=查明[病原]因)",
)
# "To avoid" behind an action is its purpose, and advice behind some words: "it is better to avoid milk".
_PURPOSE = RarePattern(
    r"^(?P<main>(?:(?:please|always|also|then|just|and|regularly|gently|slowly|(?:you|they|we|patients?|people) (?:should|can|may|must|could|need to|have to)|(?:try|make sure|remember|be sure) to"
    r"|it(?:['’]s| is) (?:best|better|important|advisable|recommended|a good idea) to) )*"
    # An action, what is given or used, or advice against something.
    r"(?:(?:adjust|appl|bath|breath|brush|chang|chew|check|choos|clean|complet|consum|continu|cook|cover|cut|do(?! not|n['’]t)|drain|drink|eat|elevat|exercis|finish|floss|follow|gargl|get|giv|hold"
    r"|ice|inject|keep(?! trying)|lie|lift|lower|maintain|manag|massag|moisturi[sz]|mov|perform|practi[cs]|reduc|remov|replac|rest|rins|rotat|shower|sit|sleep|soak|split|stand|start|stay|store"
    r"|stretch|support|swallow|take(?! care| steps| measures| precautions)|tak(?=ing)|treat|trim|use(?! caution| care)|us(?=ing)|vaccinat|walk|warm|wash|wear)(?:e|ing|y)?\b"
    r"|(?:[\w'’-]+ ){0,8}?(?:(?:is|are|was|were|be|been) (?:\w+ly )?(?:added|adjusted|applied|changed|combined|done|given|performed|prescribed|reduced|started|taken|treated|used)"
    r"|antibiotics|diet|drugs|exercises|fluids|foods|medications?|medicines?|physiotherapy|sunscreen|surgery|therapy|treatment"
    r"|(?:(?:do(?:es)?|can|could|may|must|should)(?: not|n['’]?t)|cannot|never|no)(?! to avoid\b)|avoid\w*|limit\w*|quit\w*|refrain\w*|stop\w*))\b"
    r"(?: (?!(?:able|about|advised|asked|attempts?|benefit|best|better|careful|cause|enough|essential|evidence|going|good|grounds|h[aei]r?[dsvm]e?|how|idea|important|indication|late|learn|like|necessary"
    r"|need(?:s|ed)?|needless|or|ought|people|patients?|plan|point|prudent|reasons?|recommended|required|safe(?:r|st)?|sensible|sure|them|told|tr(?:y|ies|ied|ying)|us|want(?:s|ed)?|ways?|wise|women|you) to avoid\b)"
    r"[\w'’%/-]+){0,12}?)(?P<purpose> to avoid)(?= (?!(?:after|and|are|as|at|because|before|due|during|for|if|in|include[ds]?|including|is|like|on|or|such|the following|these|until|when|while|with)\b)\w)"
    # In Chinese, whatever precedes a hazard, unless it says who should avoid it, or when.
    rf"|^(?P<main_zh>(?:(?!避免)[^，,。；;：:]){{2,14}}?(?<![要应请需者人们您你时内前后中期间季天])(?<!建议|注意|尽量|必须|最好|务必|同时|患者|孕妇|儿童|宝宝|孩子|平时|日常|严格|继续))(?P<purpose_zh>避免)(?=(?:发生|出现|引起)?{CHINESE_HAZARD})",
)

_UNLIKELY = RarePattern(
    r"\b(?:(?:very|highly|rather|quite) )?(?:unlikely|improbable|not (?:very |at all )?(?:likely|probable))\b"
    r"|\b(?:risk|chances?|probability|likelihood|odds)(?: of)?\b(?P<what>[^,.;]{0,40}?)\b(?:(?:very|extremely|rather|quite|is|are) )+(?:low|small|slim|remote|minimal|tiny)\b"
    r"|\b(?:low|small|little|minimal|slim|remote|tiny) (?:risk|chances?|probability|likelihood)\b|\b(?:hardly|scarcely|barely|seldom|rarely)\b"
    r"|可能性?(?:不大|很小|较小|极小|很低|较低|极低|不高|甚微)|(?:不太|不大|不怎么|不)可能(?!排除)|几乎不(?:会|可能)?|(?:概率|几率|机会|风险)(?:很|较|极|非常)?(?:小|低)",
)
_HEDGE = RarePattern(
    r"\b(?:may|might|could)(?: be| have| also| well)*\b|\bcan be\b|\b(?:possibl[ey]|probabl[ey]|perhaps|maybe|presumably|likely|potential(?:ly)?)\b"
    r"|\b(?:suspected|suspicion of|suspicious (?:for|of)|suggests?|suggestive of|consistent with|indicative of|sounds like|looks like|seems?(?: to be)?|appears?(?: to be)?)\b"
    r"|可能(?:是|为|有|会)?|也许|或许|大概|多半|疑似|怀疑(?:是|为)?|考虑(?:是|为)|像是|似乎|估计(?:是|为)?|有可能"
)
_CERTAINTY: tuple[tuple[Certainty, RarePattern], ...] = (
    (
        "possible",
        RarePattern(
            r"\b(?:can(?:not|['’]?t| not)|could(?:n['’]?t| not)|not possible to) (?:be )?(?:ruled? out|excluded?)\b"
            r"|(?:不|不能|不可|无法|尚不能)(?:完全)?排除",
        ),
    ),
    ("unlikely", _UNLIKELY),
    (
        "possible",
        RarePattern(rf"(?:\b(?:most|very|quite|highly) (?=likely|probabl)|[很极最](?=可能))?(?:{_HEDGE.pattern})"),
    ),
)

# Each match flips the polarity.
_DENIAL = RarePattern(
    r"\bno (?:chances?|risk|signs?|evidence|need|danger|indication|possibility|reason)(?: (?:of|for|to))?\b|\bden(?:y|ies|ied)\b|\b(?:no|not|never|without|cannot|nor|neither|none|nothing|unnecessary|needless|absent|absence of|free of|lack(?:s|ing)?(?: of)?)\b|(?<!be )\b(?:ruled out|excluded)\b"
    r"|n['’]t\b|\b(?:misconception|myth|fallacy|untrue)\b|\bundetect(?:ed|able|ably)\b|\bfail(?:s|ed|ing)? to (?=\w)|\b(?:do|does|did|is|are|was|should|would|could|has|have|ca|wo)nt\b|\bneg(?:ative)?\b|\bout of the question\b"
    r"|不|(?:无|没有?)(?:必要|明显)?|未(?:(?:发现|见)(?:明显)?)?|勿|并非|非(?=必[须要])|阴性|(?:已经?|基本|能够?|可以?)排除|除外$|排除了|否认|免(?=做|于|除)|(?<=可)免$|莫(?=要|吃|喝|用)|甭",
)
# An action that is called wrong ("it would be dangerous to fly", "flying is a bad idea"), or a claim: 这种说法是错误的.
_WRONG = (
    r"(?:(?:an? )?(?:(?:big|common|grave|great|serious|terrible) )*(?:bad idea|error|mistake|no-no)"
    r"|dangerous|foolish|hazardous|irresponsible|risky|unwise|wrong)"
)
_CALLED_WRONG = RarePattern(
    rf"\b(?P<infinitive>{_WRONG})(?= (?:for (?:\w+ ){{1,3}})?(?:not )?to (?!(?:an?|the|your|my|his|her|their|its|others?|people|patients"
    r"|children|babies|health|pregnant|women|humans?|animals|pets|you|us|them|think|say|believe|assume)\b)\w)(?!.*\bwithout\b)"
    r"|^(?!(?:bleeding|burning|coughing|itching|sneezing|swelling|vomiting|wheezing)\b"
    # A state, not an action: "having a high fever is dangerous".
    r"|(?:being|having)\b.{1,60} (?:dangerous|harmful|hazardous|risky)$)(?:not )?\w{2,}ing\b[^,.;]{1,60}? "
    rf"(?P<gerund>{_WRONG}|harmful|the last thing (?:to do|you (?:should|want to) do))$"
    r"|(?<=\w )(?P<harm>do(?:es|ing)? more harm than good)\b"
    r"|^(?:the )?(?:belief|claim|idea|notion|statement|view) that [^,.;]{1,100}? (?P<claim>(?:a myth|baseless|false|incorrect|unfounded|untrue|wrong))$"
    r"|(?P<chinese>(?:这[种个]?)?(?:说法|观点|做法|想法|认识|观念|传言)?(?<!不)(?:都是|属于|纯属|是|为)(?:错误?的|谣言|误区|误解|伪科学|不实的))$"
)
_AGAINST = RarePattern(
    r"\b(?:avoid(?:s|ed|ing|ance(?: of)?)?|refrain(?:s|ed|ing)?(?: from)?|abstain(?:s|ed|ing)?(?: from)?|abstinence(?: from)?|(?:(?<!to )|(?<=ha[sd] to )|(?<=have to )|(?<=needs to )|(?<=need to )|(?<=told to )|(?<=advised to )|(?<=asked to )|(?<=best to )|(?<=important to )|(?<=necessary to ))stop(?:s|ped|ping)?|quit(?:s|ting)?"
    r"|ceas(?:e[sd]?|ing)|cessation(?: of)?|discontinu(?:e[sd]?|ing|ation)(?: of)?|withdraw(?:s|n|ing|al of)?|withhold(?:s|ing)?|skip(?:s|ping)?|omit(?:s|ted|ting)?|(?:leav(?:es?|ing)|left) out(?! (?:of|at|in|on|to|for|overnight)\b)"
    r"|contraindicated|contraindication|forbidden|forbid(?:s|ding)?|prohibited|banned|ban|unsafe|inadvisable|unsuitable|discouraged|disallowed|off[- ]limits|unhealthy)\b"
    r"|\b(?:keep|stay|steer) (?:away|clear)(?: (?:from|of))?\b|\bg(?:ive[sn]?|ave|iving) up\b|\b(?:come|get|wean) off\b|\bhold off(?: on)?\b"
    r"|避免|避开|避(?=风|光)|禁止|禁用|禁忌|禁(?=[食酒烟欲服饮吃])|严禁|忌(?:口|用|食|服|吃|喝|饮)?|戒(?:掉|除)?|停(?:用|止|服|掉|吃|喝|下)?|(?<![诊判推阻间隔])断(?=[药烟酒]|不[了掉])|远离|杜绝|拒绝|慎用|别(?!嘌)(?=["
    + HAN
    + "])|不宜",
)
# Advice to have less of something: close to advice against it, but the opposite neither of that nor of advice to have it.
_RESTRAINT = re.compile(
    rf"\b(?:limit|restrict|reduc|decreas|{LOWER}|minimi[sz]|moderat|less|fewer|cut(?:ting)? (?:down|back)|go easy)\w*\b|少(?=[吃喝食饮用做碰接熬晒])|减少|限制|控制|适量|节制|慎",
    re.IGNORECASE,
)

_NOR = re.compile(
    r"(?<=\w) nor\b|(?P<first>(?:不[宜要能应可必需该]?|没有?|无需?|未|勿)(?:(?!"
    + _PEOPLE
    + r")[^不没无未勿，,；;。]){0,8}[，,]?)[也又](?:不[宜要能应可必需该]?|没有?|无需?|未|勿)(?![行可能好])",
    re.IGNORECASE,
)
"""The second negation of "neither A nor B", "not A nor B" and 不A也不B, which does not undo the first."""

_REPEATED = re.compile(
    rf"(?P<negator>[戒忌禁无没未勿别]|不[要必用需宜]|不(?![得能可会是应敢要必用需宜]))[{HAN}]{{1,4}}?(?=(?P=negator)(?![行可了])[{HAN}])"
    r"|[戒忌禁停][烟酒药食水欲](?=[戒忌禁][烟酒欲])"
)
_COORDINATION = re.compile(r",(?=\s)|[，、;；]|\b(?:and|or|but)\b|(?<=\w) (?=no \w)|[和与及且]|并(?!非)", re.IGNORECASE)
"""Where a part of a phrase begins that may have a negation of its own: "no fever, no cough", or in Chinese the same word
again, or another one: 戒烟戒酒, 戒烟禁酒. Elsewhere a second negation undoes the first: "do not stop", 不得不."""

_PLACEHOLDER_START = 0xE000
_MAX_CHARACTERS = 0x1800
"""Private-use characters (U+E000 to U+F8FF, 6,400 of them) are placeholders for harmless phrases, so longer texts are cut
to fewer characters."""
_PLACEHOLDER = re.compile("[\ue000-\uf8ff]")


# Other words that may express a denial.
_WARNING = re.compile(
    r"\b(?:until|wait|postpone\w*|harmful|risky|dangerous|bad|instead|rather than)\b|[无没未勿禁忌非别否戒停免莫]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Stance:
    """Whether a phrase affirms or denies its subject.

    Attributes:
        polarity: "affirmed", or "denied" if it denies or advises against its subject.
        certainty: How certain it is.
        asks_for_less: Whether it asks for less of something.
        subject: The phrase without the words that express the stance.
        negated: Whether it has words that deny or advise against something, even where two of them cancel out.
    """

    polarity: Polarity
    certainty: Certainty
    asks_for_less: bool
    subject: str
    negated: bool

    @property
    def negated_twice(self) -> bool:
        """Whether one negation undoes another: "not dangerous to fly"."""
        return self.negated and self.polarity == "affirmed"

    @property
    def denies(self) -> bool:
        """Whether it amounts to "no": denied, advised against, or called unlikely."""
        return (self.polarity == "denied") != (self.certainty == "unlikely")


@lru_cache(maxsize=1 << 13)
def read_stance(text: str) -> Stance:
    """Parse the stance of a short phrase. Two negators affirm.

    >>> [read_stance(text).polarity for text in ("no surgery needed", "avoid alcohol", "not without risk", "腹部不适")]
    ['denied', 'denied', 'affirmed', 'affirmed']
    >>> read_stance("kidney infection unlikely")
    Stance(polarity='affirmed', certainty='unlikely', asks_for_less=False, subject='kidney infection', negated=False)
    """
    kept: list[str] = []

    def keep(words: str) -> str:
        kept.append(words)
        return chr(_PLACEHOLDER_START + len(kept) - 1)

    # Each harmless phrase becomes one placeholder, so that nothing is found inside it. "No, it is not" and "neither A nor
    # B" deny once.
    text = _NOR.sub(_join_denials, strip_answer(text[:_MAX_CHARACTERS]))
    rest = _PLACEHOLDER.sub(" ", text)
    if purpose := _PURPOSE.match(rest):
        start, end = purpose.span("purpose" if purpose["purpose"] else "purpose_zh")
        rest = rest[:start] + keep(rest[start:end]) + rest[end:]
    rest = _HARMLESS.sub(lambda found: keep(found[0]), rest)
    certainty: Certainty = "certain"
    for degree, pattern in _CERTAINTY:
        stripped = pattern.sub(_keep_subject, rest)
        if stripped != rest:
            rest = stripped
            certainty = degree if certainty == "certain" else certainty
    denied, negations = _remove_negations(rest)
    negated = negations > 0
    if negations > 1:
        parts = _COORDINATION.split(_REPEATED.sub(r"\g<0>，", rest))
        each = [number for part in parts if (number := _remove_negations(part)[1])]
        # Each denies for itself, and a second one in the first part governs them all: 不要不吃不喝.
        if each and all(number % 2 for number in each[1:]):
            negations = each[0]
    return Stance(
        "denied" if negations % 2 else "affirmed",
        certainty,
        _RESTRAINT.search(denied) is not None,
        " ".join(_PLACEHOLDER.sub(lambda found: kept[ord(found[0]) - _PLACEHOLDER_START], denied).split()),
        negated,
    )


def _remove_negations(text: str) -> tuple[str, int]:
    """Return a text without the words that negate or advise against something, and their number."""
    wrong = _CALLED_WRONG.search(text)
    if wrong and wrong.lastgroup:
        start, end = wrong.span(wrong.lastgroup)
        text = f"{text[:start]} {text[end:]}"
    against, warnings = _AGAINST.subn(" ", text)
    denied, denials = _DENIAL.subn(" ", against)
    return denied, warnings + denials + (wrong is not None)


def read_denied_part(text: str) -> str:
    """Return what follows the last word that negates or advises against something; "" if there is none.

    >>> read_denied_part("a raised count is not a cause for concern")
    ' a cause for concern'
    """
    marked = _AGAINST.sub("\n", _DENIAL.sub("\n", _HARMLESS.sub(" ", text)))
    return marked.rpartition("\n")[2] if "\n" in marked else ""


def _join_denials(found: re.Match[str]) -> str:
    return f"{found['first']}或" if found["first"] else " or"


def _keep_subject(found: re.Match[str]) -> str:
    return f" {found.groupdict().get('what') or ''} "


def mentions_denial(text: str) -> bool:
    """Return whether a text of any length may contain a denial, a warning or advice against something."""
    return any(pattern.search(text) for pattern in (_DENIAL, _AGAINST, _WARNING, _UNLIKELY, _CALLED_WRONG))


_DENYING_END = re.compile(
    r"\b(?:no|not|never|without|den(?:y|ies|ied|ying)|neither|nor|free of|cannot|(?:do|does|did|is|was|has|have|had)n['’]?t)"
    r"(?: (?:have|had|has|having|got|been|be|get|show|any|an?|the|signs?|symptoms?|history|known|current|recent|of))*\s*$"
    r"|(?:没有?|无|未|否认|(?<![是能会要该可好])不[伴是]?|没(?=得|患))(?:有|出现|发现|伴|见|患|得过?|任何|明显|过|的)*\s*$",
    re.IGNORECASE,
)

# Before and after a name of something that may be chosen, in English, Chinese and French.
_DENIED_BEFORE = re.compile(
    r"\b(?:not|never|cannot|neither|nor|ne|pas)\b|n['’]t\b|\bn['’]|(?:不(?:能|应|应该|应当|可|可以|宜|要|会|是|建议)?|并非|勿|别)$",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    r"\s*(?:(?:项|选项)\s*)?(?:(?:is|are|was|were|would be|seems?|est|sont)\s*(?:both |all |clearly |also )?"
    r"(?:not\b|n['’]t|pas\b|wrong|incorrect|false|fau(?:x|sse)|inexact)|n['’]est|ne\b|"
    r"(?:都|均)?(?:是|为)?(?:错|不正确|不对|有误|不是))",
    re.IGNORECASE,
)


def is_choice_denied(before: str, text: str, after: int) -> bool:
    """Return whether a chosen option is denied, by the words before it or by those from position `after` of a text on.

    >>> is_choice_denied("it is not ", "it is not A", 11), is_choice_denied("", "B is wrong", 1), is_choice_denied("", "B", 1)
    (True, True, False)
    """
    return _DENIED_BEFORE.search(before) is not None or _DENIED_AFTER.match(text, after) is not None


def ends_with_negator(text: str) -> bool:
    """Return whether a text ends with words that negate the name after it.

    >>> [ends_with_negator(text) for text in ("I am not", "she never had a", "未", "I cannot sleep for", "not only")]
    [True, True, True, False, False]
    """
    return _DENYING_END.search(text) is not None


def advises_against(text: str) -> bool:
    """Return whether a phrase contains advice against something: "to be avoided", but not "without fever"."""
    return _AGAINST.search(text) is not None


def find_hedge(text: str) -> str | None:
    """Return the part of a phrase before words that call something possible, in lower case; None without such words.

    >>> find_hedge("It could be gout"), find_hedge("也许痛风"), find_hedge("it is gout")
    ('it', '', None)
    """
    found = _HEDGE.search(text)
    return text[: found.start()].strip().lower() if found else None


def is_negated(text: str) -> bool:
    """Return whether a phrase denies something or advises against it."""
    return read_stance(text).polarity == "denied"
