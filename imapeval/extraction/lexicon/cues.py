"""Cue tables of the offline extractor: query terms of questions, and phrases that state no fact.

Written for the paper's nine tasks and the wording of patients' questions; not fitted to rated data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.clauses import split_sentences

if TYPE_CHECKING:
    from imapeval.graph.model import ConceptType
    from imapeval.types import Lang


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A query term that the offline extractor knows.

    Attributes:
        key: Name in all languages, and the English label.
        zh: The Chinese label.
        question_cues: Wordings of a question that ask for it, per language; none for advice, for which any question asks
            without them.
        types: Types of concepts whose mention in an answer informs about it.
        answer_cue: Wordings of an answer that inform about it if no concept decides.
    """

    key: str
    zh: str
    question_cues: dict[Lang, re.Pattern[str]]
    types: tuple[ConceptType, ...]
    answer_cue: re.Pattern[str]

    def label(self, lang: Lang) -> str:
        """Return the term as it is written in imaps of that language."""
        return self.zh if lang == "zh" else self.key


def _make_term(
    key: str, zh: str, cue_en: str, cue_zh: str, types: tuple[ConceptType, ...], answer_cue: str
) -> QueryTerm:
    question_cues: dict[Lang, re.Pattern[str]] = {"en": re.compile(cue_en, re.IGNORECASE), "zh": re.compile(cue_zh)}
    return QueryTerm(key, zh, question_cues, types, re.compile(answer_cue, re.IGNORECASE))


_ADVICE = QueryTerm(
    "advice",
    "建议",
    {},
    ("lifestyle", "procedure", "drug", "test", "department"),
    re.compile(r"\bavoid\b|\btry\b|\bshould\b|\brecommend|\badvis|\bconsult|建议|注意|避免|保持|应", re.IGNORECASE),
)
"""The term of a question without any cue: people write to a doctor to learn what to do."""

TERMS: tuple[QueryTerm, ...] = (
    _make_term(
        "diagnosis",
        "诊断",
        r"\bwhat (?:is|could|can|might|may) (?:it|this|that|these|be|the (?:problem|matter))|\bwhat(?:'s| is| are) wrong"
        r"|\bwhat (?:disease|condition|illness|disorder|(?:do i|does (?:he|she)) have(?! to\b)|am i (?:suffering|dealing))"
        r"|\bdiagnos\w+|\bcould (?:it|this|that|i|he|she) (?:be|have)\b|\bdo i have\b(?! to\b)|\bis (?:it|this) an?\b(?! (?:good|bad) idea\b)"
        r"|\bmost likely (?:disease|condition|explanation)\b|\bwhat (?:happened|happens|is happening|is going on)",
        r"什么病|何病|啥病|哪种病|什么疾病|哪种疾病|什么问题|诊断(?!出|为|结果|后|的)|(?:可能|会)是什么|是不是(?!需要|要|可以|应该)"
        r"|怎么回事|咋回事|怎么了|得了什么|患(?:有|了)?什么|患了哪|可能患|什么类型|哪种类型|什么情况",
        ("disease",),
        r"\bdiagnos|suggest(?:s|ive)|consistent with|诊断为|考虑为|提示|属于",
    ),
    _make_term(
        "cause",
        "病因",
        r"\bwhy\b|\bcauses?\b|\bcausing\b|\breasons?\b|\bdue to what|\bresult of what|\bwhat (?:led|leads) to|\btrigger",
        r"为什么|为何|原因|病因|怎么引起|什么引起|引起的吗|导致的吗|怎么导致|什么导致|何致|怎么会|怎么得|诱因|发病机制",
        ("disease", "factor", "organism"),
        r"\bbecause\b|\bdue to\b|\bcaused? by\b|\bresults? (?:of|from)\b|引起|导致|由于|所致|造成|诱发",
    ),
    _make_term(
        "treatment",
        "治疗",
        r"\btreat(?:ment|ments|ed|ing|s)?\b|\bcur(?:e|ed|able)\b|\bremed|\bget rid\b|\bwhat (?:should|can|do|must|shall) (?:i|we|he|she) do"
        r"|\btherap|\bmanage(?:d|ment)?\b|\bsurgery\b|\boperation\b|\bhow (?:to|do|can|should) (?:i|we) (?:stop|reduce|relieve|get|fix|heal)"
        r"|\bfirst[- ]aid\b|\brelie[fv]|\bsolution\b",
        r"怎么治|如何治|怎样治|治疗|疗法|怎么办|咋办|怎样处理|如何处理|怎么处理|如何缓解|怎么缓解|手术|急救|能治|根治|治愈|怎么解决",
        ("drug", "procedure"),
        r"\btreat|\bsurg|\btherap|\boperation|手术|治疗|疗法|用药|服用|口服",
    ),
    _make_term(
        "medicine",
        "药物",
        r"\b(?:which|what|any|some|other|recommend|suggest|prescribe|take|taking|best)\b[^.?!]{0,30}"
        r"\b(?:medicines?|medications?|drugs?|tablets?|pills?|antibiotics?|ointments?|creams?|syrups?|drops?|painkillers?)\b",
        r"什么药|哪些药|何药|啥药|哪种药|吃药|用药|药物|药品|抗生素",
        ("drug",),
        r"\bmedicin|\bmedicat|\bdrugs?\b|\btablets?\b|\bpills?\b|\bcapsules?\b|药|片|胶囊|颗粒|使用$",
    ),
    _make_term(
        "test",
        "检查",
        r"\b(?:which|what|any|other|further|more|need|get|do|require|take)\b[^.?!]{0,30}"
        r"\b(?:tests?|scans?|investigations?|x-?rays?|exams?|examinations?|screenings?|blood ?work|labs?|checked|tested)\b"
        r"|\bhow (?:is|can|do|would) (?:it|this|they|doctors?)\b[^.?!]{0,20}\b(?:confirmed?|detected?|diagnosed?)\b",
        r"(?:哪些|什么|哪种|做|需要|如何|怎么|怎样|进行|应该|何种|啥)[^。？！，]{0,12}(?:检查|化验|检测|检验|筛查|复查|测试)"
        r"|检查(?:什么|哪些|项目)|怎么查|如何确诊|怎么确诊|如何诊断|怎么诊断|拍片",
        ("test",),
        r"\btest|\bscan\b|\bx-?ray|\bultrasound|\bbiops|\bexamin|检查|化验|检测|筛查|检验|造影|活检|测定|试验|抗体|抗原|补体|因子|转氨酶|水平",
    ),
    _make_term(
        "department",
        "科室",
        r"\b(?:which|what) (?:kind of |type of |sort of )?(?:doctor|specialist|department|clinic|physician)\b"
        r"|\bwhom? (?:should|do|to|can) (?:i |we )?(?:see|consult|visit|go)\b|\bwhere should (?:i|we) go\b",
        r"哪个科|什么科|哪科|何科|哪些科|哪一科|科室|挂(?:哪|什么)|看哪个|找什么医生|去哪里看",
        ("department",),
        r"\bspecialist\b|\bdepartment\b|\bclinic\b|科(?:就诊|医生|门诊)?$|就诊|挂号",
    ),
    _make_term(
        "symptom",
        "症状",
        r"\b(?:what|which|any|other|early)\b[^.?!]{0,25}\b(?:symptoms?|signs?|manifestations?)\b|\bsymptoms of\b"
        r"|\bhow (?:do|will|can|would) (?:i|we) (?:know|tell|feel)\b|\bwarning signs?\b",
        r"(?:哪些|什么|何|有啥|早期|主要|典型)[^。？！，]{0,8}(?:症状|表现|体征|征兆|反应)|症状(?:有|是)|临床表现|有什么感觉",
        ("symptom",),
        r"\bsymptom|\bsigns?\b|症状|表现",
    ),
    _make_term(
        "prognosis",
        "预后",
        r"\bprognosis\b|\blife expectancy\b|\bsurviv|\brecover|\bhow long\b|\bwill (?:it|this|i|he|she|my|the)\b"
        r"|\bgo away\b|\bheal(?:s|ed)?\b|\bchances?\b|\bwhen (?:will|can)\b|\bpermanent",
        r"预后|多久|多长时间|能活|寿命|会好吗|能好吗|恢复|几天|后果|会不会|能否治|治得好|复发|自愈|生存",
        (),
        r"\brecover|\bdays?\b|\bweeks?\b|\bmonths?\b|\bresolve|\bheal|恢复|痊愈|好转|复发|[天周月年]内",
    ),
    _make_term(
        "risk",
        "风险",
        r"\bdangerous\b|\bserious\b|\bworr(?:y|ied|ying)\b|\brisks?\b|\bsafe(?:ly|ty)?\b|\bharmful\b|\bside[- ]effects?\b"
        r"|\bcomplications?\b|\bnormal\b|\bconcern(?:ed)?\b|\bbad\b|\bfatal\b|\bharm\b|\baffect\b|\bcontraindicat",
        r"危险|严重吗|要紧吗|风险|危害|有影响|影响吗|副作用|不良反应|安全|并发症|正常吗|有事吗|致命|禁忌|有害",
        ("symptom",),
        r"\brisk|\bdanger|\bserious|\bsafe|\bnormal\b|\bno need to worry|危险|严重|风险|正常|安全",
    ),
    _make_term(
        "contagion",
        "传染性",
        r"\bcontagious\b|\binfectious\b|\btransmi(?:t|ss)\w*|\bspreads?\b|\bcatch(?:ing)?\b|\bpass(?:ed)? on\b",
        r"传染|传播|会传给",
        (),
        r"\bcontagious|\btransmi|\bspread|传染|传播",
    ),
    _make_term(
        "heredity",
        "遗传",
        r"\bhereditary\b|\bgenetic\b|\binherit|\brun in (?:the )?famil",
        r"遗传|基因",
        (),
        r"遗传|\bgenetic|\binherit",
    ),
    _make_term(
        "prevention",
        "预防",
        r"\bprevent(?:ion|ed|ing|s|ive)?\b|\bhow (?:to|can i|do i) avoid\b|\bprotect\b|\bvaccin",
        r"预防|防止|如何避免|怎么避免|怎样避免|疫苗",
        ("lifestyle", "procedure"),
        r"\bprevent|\bavoid|\bvaccin|预防|避免|接种",
    ),
    _make_term(
        "dose",
        "用法用量",
        r"\bdos(?:e|es|age|ing)\b|\bhow (?:much|many|often)\b|\bhow should (?:i|it) (?:take|be taken)\b|\bmg\b[^.]{0,20}\?",
        r"剂量|用量|用法|怎么吃|怎么服|吃多少|几片|几次|多少毫克|服多久|如何服用|怎么用",
        (),
        r"\d\s*(?:mg|ml|g|mcg|iu|tablets?|times|drops)\b|\bdaily\b|\bonce\b|\btwice\b|\d\s*(?:毫克|克|毫升|片|次|粒|滴)|每[日天次]",
    ),
    _make_term(
        "diet",
        "饮食",
        r"\bdiet(?:ary|s)?\b|\bfoods?\b|\beat(?:ing)?\b|\bdrink\b|\bnutrition|\bsupplements?\b",
        r"饮食|吃什么(?!药)|(?<!医生说不)能吃(?!药)|忌口|食物|食疗|喝什么|营养|水果",
        ("lifestyle",),
        r"\bdiet|\bfood|\beat\b|\bdrink|\bfruit|\bvegetable|饮食|食物|多吃|少吃|忌|多喝|蔬菜|水果",
    ),
    _make_term(
        "meaning",
        "结果解读",
        r"\bwhat does (?:this|it|that|the|my)\b[^.?!]{0,40}\bmean|\bmean(?:s|ing)?\b|\binterpret|\bexplain\b|\bnormal range\b"
        r"|\b(?:my|these|the) (?:results?|reports?)\b",
        r"什么意思|说明什么|代表什么|意味|怎么看|解读|结果(?:正常|说明|怎|如何)|报告|是什么意思",
        ("disease", "symptom"),
        r"\bmeans?\b|\bindicat|\bsuggest|说明|意味|提示|表明|表示",
    ),
    _ADVICE,
)
"""In order of precedence for a clause that could inform about several of them."""

_COURTESY: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"^(?:hi(?!-)|hello|dear|hey|greetings|good (?:morning|evening|day|afternoon)|welcome|thanks?|thank you|regards|cheers"
        r"|(?:best|warm|kind) (?:wishes|regards)|all the best|get well(?!-)|best of luck|good luck|god bless)\b"
        r"|^take care(?: of (?:yoursel(?:f|ves)|your health))?(?=$|[.,!;]| (?:and|dr|dear)\b)"
        r"|^(?:can )?(?:well |fully )?understand your\b|^(?:i|we) (?:can |do |fully |completely |totally |really )*(?:well )?(?:understand|appreciate|have (?:read|gone|reviewed|noted|gone through)|went through|read"
        r"|hope|wish|am (?:glad|happy|sorry|dr)|(?:would|will) be (?:glad|happy)|hear)\b"
        r"|^(?:i'?m|we'?re) (?:sorry|glad|happy|here)\b|^(?:hope|hoping(?! for\b)|wish(?:ing)?)\b|^as an ai\b"
        r"|^(?:let me know|feel free|do not hesitate|don'?t hesitate|please (?:revert|let me know|feel free|do not hesitate|write back)"
        r"|revert(?=$|[.,!]| (?:back\b|with\b|to (?:me|us)\b))|get back(?=$|[.,!]| (?:with\b|to (?:me|us)\b))|write back|for (?:more|further) (?:information|queries|details|assistance))"
        r"|^if you have (?:any )?(?:doubts?|quer(?:y|ies)|questions?|(?:more|other|further|additional) (?:[\w-]+ )?(?:doubts?|quer(?:y|ies)|questions?|concerns?|clarifications?|information))\b"
        r"|^(?:however|also|therefore|additionally|in (?:addition|summary|conclusion|general)|overall|finally|please note|it is important to note(?: that)?|note|"
        r"here are (?:some|a few)\b.*|remember|disclaimer|yes|sure|okay|ok|so|then|well|thus|hence|otherwise|moreover|furthermore|besides"
        r"|but|and|or|if|not|etc|e\.?g|i\.?e|you|because|since|when|while)$",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"^(?:[您你]们?好|大家好|好[的吧]?$|尊敬的|感谢|谢谢|祝您?|希望(?:以上|对|我|能|您|你)|欢迎|很高兴|抱歉|对不起|作为(?:一个)?(?:AI|人工智能))"
        r"|以上(?:信息|内容|这些)|(?:^|[,，:：;；。]\s*|(?<=[^\W\d岁周月天日年次期级度分])(?<![a-zA-Z])\s|希望|关于|对于?|根据|综合|结合|参[考照]|针对|基于|按照?|遵[循从照]|采纳|请|[我您你]的)以上(?:是|为|建议|仅|只是|都)"
        r"|总之$|请注意$|需要注意的是$|注意$|此外$|另外$|同时$|最后$|首先$|其次$|^等(?:等|项目|指标|措施|方法|症状|药物|检查|方式|治疗)?$|^以下(?![肢腹颌唇背身壁叶午半]|段(?!落)|部(?![位分门]))|如下$"
        r"|如(?:果|有)?.{0,6}(?:其他|更多|任何)?(?:疑问|问题).{0,6}(?:请|可以|随时)|(?:这|这些)(?:只)?是一?些|^(?:这|以上).{0,4}[只仅]是.{0,12}(?:解释|建议|信息|方案|参考|选择)|^(?:记住|重要的是|综上所述)$"
        r"|具体(?:的)?.{0,14}(?:根据|由医生|因人而异|遵医嘱|取决于)|根据.{0,10}(?:具体|个体|个人|实际)(?:的)?(?:情况|病情)|因人而异"
    ),
}


def is_courtesy(item: str, *, lang: Lang) -> bool:
    """Return whether an item is a greeting, a courtesy or only a connective."""
    return bool(_COURTESY[lang].search(item))


_ASKING: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"\?|^(?:what|why|how|which|who|where|when|is|are|can|could|should|do|does|did|will|would|am|may|any)\b"
        r"|\b(?:please|kindly|advise|suggest|help|tell me|let me know|i (?:want|need|would like) to know|wonder)",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"[？?]|吗|呢|什么|怎|如何|哪|是否|请问|为何|多久|多少|何种|能不能|可不可以|要不要|会不会|该不该|是不是"
    ),
}


def find_asked_terms(question: str, *, lang: Lang) -> tuple[QueryTerm, ...]:
    """Return the terms that a question asks for, in order of appearance of their first cue.

    If it has interrogative sentences, only these count: "He had surgery. Why does it hurt?" asks for a cause. It may
    ask for several terms ("what is it and how to treat it"). Without any cue, it asks for advice.
    """
    sentences = [f"{piece.text}{question[piece.end : piece.end + 1]}" for piece in split_sentences(question)]
    asking = " \n ".join([sentence for sentence in sentences if _ASKING[lang].search(sentence)] or sentences)
    hits = [
        (hit.start(), term) for term in TERMS if (cue := term.question_cues.get(lang)) and (hit := cue.search(asking))
    ]
    return tuple(term for _, term in sorted(hits, key=lambda hit: hit[0])) or (_ADVICE,)
