"""Which of two things comes first, is chosen, causes or acts on the other: "MRI before biopsy", "insulin lowers glucose".

A bag of words is the same for both, so phrases with such a word are also compared by the order of what it joins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# A is first, is chosen or is the cause, and B is the other. Every gap has a maximum length, to keep matching linear.
_A, _B = r"(?P<a>\S.{0,80}?)", r"(?P<b>\S.{0,80}?)"
# What one thing does to another; both patterns take the verb without its ending.
_ACTION = (
    r"(?P<verb>activat|affect|aggravat|block|decreas|enhanc|improv|increas|infect|inhibit|lower|protect|rais|reduc|reliev|stimulat|strengthen"
    r"|suppress|weaken|worsen)"
)
_ACTION_ZH = "(?P<verb>保护|传染给?|传给|促进|刺激|改善|缓解|激活|加重|减弱|减少|降低|升高|抑制|影响|增[加强]|阻断)(?![剂素药者性症期的]|因子|作用)"
# "It lowers blood glucose" and "slowly lowers it" do not name what does.
_NAMED = r"(?!\w+ly \w+(?: |$))(?!(?:also|and|it|that|they|this|to|we|which|you)\b|可以|会(?![阴厌])|能(?![量力])|还(?!原)|也|从?而)"
# "Sleep improves with exercise" and "pain increases quickly" have no object.
_NO_PHRASE = (
    r"(?!(?:after|as|at|by|due|during|for|from|if|in|on|over|to|until|when|while|with|within|without|\w+ly$)\b)"
)
# What is better is chosen; whether its effect is named as well makes no difference.
_EFFECT = "(?:的?(?:治疗)?(?:效果|疗效|作用))"
_BETTER = "(?:更加?|还|要|那么|这么)?(?:有效|好|强|佳)(?:些|一些)?"
_MAIN = "的?(?:最?(?:常见|主要|重要|严重)的?)?"
_CAUSE = f"{_MAIN}(?:病因|原因|诱因|起因)"
_RESULT = f"{_MAIN}(?:后果|结果|并发症|表现|症状)"
_COMES = "(?: (?:comes?|goes|go|is given|are given))?"
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("choice", rf"^(?:instead of|rather than|in place of) {_B}, {_A}$"),
        ("choice", rf"\b(?:replac(?:e|ed|ing)) {_B} (?:with|by) {_A}$"),
        ("choice", rf"\b(?:switch|chang|convert|mov|step)\w* (?:from )?{_B} (?:in)?to {_A}$"),
        ("choice", rf"\bfrom {_B} to {_A}$"),
        ("choice", rf"\bsubstitut\w+ {_A} for {_B}$"),
        (
            "choice",
            rf"^{_A},? (?:instead of|rather than|in place of|in preference to|as opposed to|than|preferred (?:to|over)|superior to"
            rf"|(?:chosen|favou?red|recommended) over|preferable to|replac(?:es|ing)) {_B}$",
        ),
        ("choice", rf"^{_B} (?:is |are )?(?:inferior to|replaced (?:by|with)) {_A}$"),
        ("sequence", rf"^(?:before|prior to) {_B}, {_A}$"),
        ("sequence", rf"^(?:after|following|once) {_A}, {_B}$"),
        ("sequence", rf"^{_A},?{_COMES} (?:before|prior to|(?:and )?then|followed by|preced(?:es|ing)) {_B}$"),
        ("sequence", rf"^{_B},?{_COMES} (?:after|following|preceded by) {_A}$"),
        (
            "cause",
            rf"^{_B} (?:is |are |was |were )?(?:caused by|due to|the result of|results? from|secondary to) {_A}$",
        ),
        (
            "cause",
            rf"^{_A} (?:can |may |might |could )?(?:causes?|leads? to|results? in|triggers?|induces?|produces?) {_B}$",
        ),
        ("choice", rf"(?:从|由|将|把){_B}(?:换|改|转|更换|替换|转换|调整)(?:成|为|用|到){_A}$"),
        ("choice", rf"^{_B}(?:换成|换为|改为|改成|改用|换用|转为){_A}$"),
        ("choice", rf"^(?:用|以|使用)?{_A}{_EFFECT}?(?:代替|替代|取代|而非|而不是|优于|好于|胜过|强于){_B}$"),
        ("choice", rf"^{_A}{_EFFECT}?比{_B}{_EFFECT}?{_BETTER}$"),
        ("choice", rf"^{_B}{_EFFECT}?(?:不如|不及){_A}(?<=\S){_BETTER}$"),
        ("choice", rf"^{_B}{_EFFECT}?(?:不如|不及|劣于|差于|逊于){_A}$"),
        # What one has more of belongs to the first: "CT敏感", 胸片.
        ("choice", rf"^{_A}(?P<quality>[高低大小多少快慢重轻长短早晚])于{_B}$"),
        (
            "choice",
            rf"^{_A}比{_B}(?:更为?|还|较|要|(?=[常多少高低大小快慢强弱轻重早晚]\S?$))(?P<quality>\S.{{0,40}})$",
        ),
        ("choice", rf"^{_A}比{_B}$"),
        ("sequence", rf"^先{_A}[,，]?(?:之后|然后|接着|随后|最后|再|后){_B}$"),
        ("sequence", rf"^{_A}[,，]?(?:之后|然后|接着|随后)再?{_B}$"),
        ("sequence", rf"^{_A}(?:先于|早于){_B}$"),
        ("sequence", rf"^{_A}[,，]?再(?=[做行查用服吃给打进使接]){_B}$"),
        (
            "sequence",
            rf"^{_B}(?<![睡饭餐])(?:之|以)?前[,，]?(?=先|应|需|要|须|做|行|进行|服|用|给|查|使用){_A}$",
        ),
        ("sequence", rf"^{_A}(?<![饭餐])(?:之|以)?后[,，]?(?=再|才|应|需|要|须|做|行|进行|服|用|给|查|使用){_B}$"),
        ("cause", rf"^{_B}(?:是?由|因|是){_A}(?:引起|导致|造成|所致|引发)的?$"),
        ("cause", rf"^{_B}(?:是|为|属于)?(?:继发于|源于|归因于|起因于){_A}$"),
        ("cause", rf"^{_A}(?:是|为){_B}{_CAUSE}$"),
        ("cause", rf"^{_B}{_CAUSE}(?:是|为){_A}$"),
        ("cause", rf"^{_B}(?:是|为){_A}{_RESULT}$"),
        ("cause", rf"^{_A}{_RESULT}(?:是|为){_B}$"),
        ("cause", rf"^{_A}(?:会|可|可能|能)?(?:引起|导致|造成|引发|诱发)(?!的$){_B}$"),
        (
            "action",
            rf"^{_NAMED}{_A}(?<!\bthe)(?<!\ba) (?:can |may |might |could |will )?{_ACTION}e?s? {_NO_PHRASE}{_B}$",
        ),
        ("action", rf"^{_B} (?:is|are|was|were|be|been) {_ACTION}e?d by {_A}$"),
        (
            "action",
            rf"^{_NAMED}{_A}(?:会|可以?|可能|能够?)?{_ACTION_ZH}(?!(?:了|得?(?:很|非常)?(?:明显|显著|迅速|缓慢|较快))?$){_B}$",
        ),
        ("action", rf"^{_B}(?:会|可以?|可能|能够?)?被{_A}{_ACTION_ZH}$"),
    )
)
_HINT = re.compile(
    rf"{_ACTION}|{_ACTION_ZH.replace('verb', 'verb_zh')}"
    r"|instead|rather|place of|replac|substitut|\bto\b|than|prefer|over|before|prior|then|follow|preced|after|once|caus|due"
    r"|result|lead|trigger|induc|produc|secondary|换|改|转|代替|替代|取代|而非|而不是|[优好胜强差劣逊]|不如|不及|于|比|[为是]|先|后|前|再|接着|引|导致|造成|所致|诱发",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Roles:
    """What a phrase puts first, chooses or calls the cause, and the other thing.

    Attributes:
        kind: What joins the two: "sequence", "choice", "cause" or a verb without its ending, such as "lower".
        first: What comes first, is chosen, is the cause, or acts on the other, as written.
        second: The other.
    """

    kind: str
    first: str
    second: str

    @property
    def needs_words(self) -> bool:
        """Whether the same words without such a joint do not say the same: "MRI and biopsy" for "MRI before biopsy"."""
        return self.kind in ("sequence", "choice", "cause")

    def is_turned(self, text: str) -> bool:
        """Return whether the text from which these are names the second thing first."""
        return text.find(self.second) < text.find(self.first)


def find_roles(text: str) -> Roles | None:
    """Return the two things that a phrase puts in an order; None if there are none.

    >>> find_roles("switch from aspirin to clopidogrel")
    Roles(kind='choice', first='clopidogrel', second='aspirin')
    >>> find_roles("glucose is lowered by insulin")
    Roles(kind='lower', first='insulin', second='glucose')
    >>> find_roles("biopsy after MRI") == find_roles("MRI before biopsy")
    True
    >>> find_roles("fluids and rest")
    """
    if not _HINT.search(text):
        return None
    for kind, pattern in _PATTERNS:
        if found := pattern.search(text):
            groups = found.groupdict()
            return Roles(groups.get("verb", kind).lower(), found["a"] + groups.get("quality", ""), found["b"])
    return None
