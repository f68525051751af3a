"""Words that exclude each other: acute and chronic, high and low, before and after, type 1 and type 2, 3期 and 4期.

Two values that differ only in such a word are different, although for a sentence encoder "acute pancreatitis" and
"chronic pancreatitis" are nearly identical.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from imapeval.text.normalise import stem
from imapeval.text.stages import SCALES, find_stages

if TYPE_CHECKING:
    from collections.abc import Mapping


def _read_antonyms(pairs: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in pairs.split():
        a, b = map(stem, pair.split("-"))
        found.setdefault(a, set()).add(b)
        found.setdefault(b, set()).add(a)
    return {word: frozenset(others) for word, others in found.items()}


LOWER = (
    r"lower(?! (?:abdom|back|body|bowel|eyelid|extremit|gi\b|jaw|leg|limb|lip|lobe|molar|quadrant|respiratory|teeth|tooth"
    r"|tract|urinary))"
)
"""The word "lower" where it means less, as a pattern: not in "lower back"."""

_TIMES_OF_DAY = (
    r"\bmornings?\b|\bbreakfast\b|清?晨[起间]?|[每一]早|早[上间起]|早(?=餐|饭|[晚饭]|[一二两三半\d]|各|中晚)",
    r"\b(?:noon|midday|lunch)\b|中午|午[餐饭]|早中晚",
    r"\b(?:evenings?|nights?|nightly|bedtime|dinner|supper|qhs|qn)\b|[每一]晚|晚[上间]|晚(?=餐|饭|[一二两三半\d]|各)|睡前|夜[间里]",
)
_LETTERS = tuple(
    rf"(?:(?<=hepatitis )|(?<=influenza )|(?<=flu )|(?<=type )|(?<=group )|(?<=vitamin )|(?<=haemophilia )|(?<=hemophilia ))\b{latin}\b|{chinese}(?=型|肝|流)"
    for latin, chinese in zip("abcde", "甲乙丙丁戊", strict=True)
)
# Sides that exclude each other, although something may be on neither. Each row is one dimension, each pattern one side
# of it. Chinese patterns are limited to contexts where they have this meaning.
_CONTRARIES = (
    (r"\bacute\b|急性", r"\bchronic\b|慢性"),
    (
        r"\b(?:increas\w+|elevat\w+|rais(?:e|ed|es|ing)|ris(?:es?|ing)|go(?:es)? up|climb\w*|high|higher|rich)\b|升高|增高|增加|增多|偏高|过高|过多|上升|富含",
        rf"\b(?:decreas\w+|reduc\w+|{LOWER}\w*|fall(?:s|ing)?|drops?|dropping|go(?:es)? down|declin\w+|diminish\w*|low|poor in)\b"
        r"|降低|减低|减少|下降|偏低|过低|过少|(?<=体重)减轻",
    ),
    (
        r"\bhyper(?=[a-z]{4})|亢进|高(?=血[压糖脂钾钠钙]|热量|脂|盐|糖|蛋白|纤维|[钠钾磷钙铁碘]|嘌呤)",
        r"\bhypo(?=[a-z]{4})|减退|低下|低(?=血[压糖脂钾钠钙]|热量|脂|盐|糖|蛋白|纤维|[钠钾磷钙铁碘]|嘌呤)",
    ),
    (r"\bleft\b(?! (?:in|over|out|alone|untreated))|左", r"\bright\b(?! (?:away|now|after))|右"),
    (r"\bupper\b|上(?=肢|腹|呼吸道|消化道|颌)", r"\blower\b|下(?=肢|腹|呼吸道|消化道|颌)"),
    (r"\bbefore\b|(?<=[餐饭术产经])前", r"\bafter\b|(?<=[餐饭术产经])后"),
    (r"\btype[ -]?(?:1|i|one)\b|(?:1|一|Ⅰ|\bI)型", r"\btype[ -]?(?:2|ii|two)\b|(?:2|二|Ⅱ|\bII)型"),
    _LETTERS,
    (r"\bvir(?:al|us(?:es)?)\b|病毒性?", r"\bbacteri(?:al|a|um)\b|细菌性?", r"\bfung(?:al|us|i)\b|真菌性?"),
    (
        r"\b(?:bed rest|rest in bed|in bed|immobili[sz]\w+)\b|卧床(?:休息)?",
        r"\b(?:active|activity|(?:strenuous |vigorous |intense )?exercise)\b|剧烈运动|运动|锻炼|活动",
    ),
    (
        r"\b(?:immediate(?:ly)?|now|today|urgent(?:ly)?)\b|立即",
        r"\b(?:wait|delay\w*|postpon\w*|defer\w*|later|no hurry)\b|推迟|暂缓|延[后迟期]|不急|以后再",
    ),
    (
        r"\bfirst trimester\b|孕早期|早孕|头三个月",
        r"\bsecond trimester\b|孕中期",
        r"\b(?:third|last) trimester\b|孕晚期",
    ),
    (r"\bsystolic\b|收缩(?=压|期)", r"\bdiastolic\b|舒张(?=压|期)"),
    (r"\bearly\b|早(?=中?期)", r"中(?=晚?期)", r"\b(?:late|advanced)\b|晚(?=期)"),
    (
        r"\boral(?:ly)?\b|口服",
        r"\bintravenous(?:ly)?\b|\bIV\b|静脉(?:注射|滴注|给药)?",
        r"\btopical(?:ly)?\b|外用|局部",
        r"\bintramuscular\b|肌肉注射",
        r"\bsubcutaneous\b|皮下注射",
        r"\b(?:rectal|suppositor(?:y|ies))\b|直肠给药|栓剂",
        r"\bsublingual\b|舌下含服",
        r"\b(?:inhaled|inhalation|nebuli[sz]\w+)\b|吸入|雾化",
    ),
    (r"\bmild(?:ly)?\b|\bslight(?:ly)?\b|轻[度微]", r"\bmoderate(?:ly)?\b|中度", r"\bsevere(?:ly)?\b|重[度症]|严重"),
    (
        r"\b(?:reliev\w+|eas(?:e|es|ed|ing)|alleviat\w+|improv\w+|lessen\w*|sooth\w+|better)\b|缓解|减轻|改善|好转|变好",
        r"\b(?:aggravat\w+|worsen\w*|exacerbat\w+|intensif\w+|worse)\b|加重|恶化|加剧|变差|变坏",
    ),
    (
        r"\b(?:good|favou?rable|excellent|well)\b|(?<!不)良好|(?<=预后)[较很]?好|(?<=效果)[较很]?好|乐观",
        r"\b(?:poor|bad|unfavou?rable|dismal|grim|poorly)\b|[较很]差|(?<=预后)(?:差|不良|不佳)|(?<=效果)(?:差|不佳)|恶劣",
    ),
    (
        r"\b(?:most|the majority|nearly all|almost all)\b|大多数?|(?<!大)多数|大部分|绝大部分",
        r"\b(?:few|a minority|hardly any|only some)\b|极?少数|小部分|个别",
    ),
    (
        r"\b(?:common(?:ly)?|frequent(?:ly)?|often|usual(?:ly)?)\b|常见|多见|经常",
        r"\b(?:rare(?:ly)?|seldom|infrequent(?:ly)?|exceptional(?:ly)?)\b|罕见|少见|偶尔|很少",
    ),
    (
        r"\b(?:remov\w+|tak(?:e|en|ing) (?:it |them )?out|extract\w*|excis\w+|pull(?:ed|ing)? out)\b|拔除|取出|摘除|切除|拔出|拔掉|拆除",
        r"\b(?:lef?t (?:it |them )?in(?: place)?|leave (?:it |them )?in(?: place)?|in place|in situ|leav(?:e|ing)(?=.{1,30}\bin (?:place|situ))|retain\w*|preserv\w+)\b|保留|留置|留在(?:原位|原处)?",
    ),
    (
        r"\b(?:inpatient|hospitali[sz]\w+|hospital admission|admit\w*)\b|住院",
        r"\b(?:outpatient|at home|home care|discharg\w+)\b|门诊|居家|在家|出院",
    ),
    (
        r"\b(?:surg(?:ery|ical|ically))\b|手术",
        r"\b(?:conservative(?:ly)?|non-?operative(?:ly)?|non-?surgical(?:ly)?)\b|保守",
    ),
    (
        r"\b(?:chew\w*|crush\w*)\b|嚼碎|咀嚼|嚼服|压碎|碾碎",
        r"\b(?:swallow\w* (?:it |them )?whole|whole)\b|整片|整粒|吞服|整吞",
    ),
    (
        r"\b(?:prone|face down|on (?:the|your|his|her) (?:stomach|front|tummy|abdomen))\b|俯卧|趴",
        r"\b(?:supine|face up|on (?:the|your|his|her) back)\b|仰卧|平躺",
        r"\bon (?:the|your|his|her) side\b|侧卧",
    ),
    (r"\b(?:unilateral(?:ly)?|one-sided)\b|单侧|一侧", r"\b(?:bilateral(?:ly)?|both sides)\b|双侧|两侧"),
    (r"\b(?:sing(?:le|ular)|solitary)\b|单发|单胎", r"\b(?:multiple|several)\b|多发|多胎|双胎"),
    (r"\b(?:partial(?:ly)?|incomplete(?:ly)?)\b|部分(?!人)", r"\b(?:complete(?:ly)?|total(?:ly)?)\b|(?<!不)完全|全部"),
    (r"\b(?:systemic(?:ally)?|generali[sz]ed|whole body)\b|全身", r"\b(?:local(?:ly)?|locali[sz]ed)\b|局部|局限"),
    (r"\b(?:short[- ]term|briefly)\b|短期|短时间", r"\b(?:long[- ]term|prolonged)\b|长期|长时间"),
    (r"\b(?:indoors?|inside)\b|室内|屋内", r"\b(?:outdoors?|outside)\b|室外|户外|屋外"),
    (r"\b(?:dry|dried)\b|干燥|擦干", r"\b(?:wet|moist|damp|humid)\b|湿润|潮湿|湿敷"),
    (
        r"\b(?:refrigerat\w+|in (?:the|a) (?:fridge|refrigerator))\b|冷藏(?:保存)?|冰箱|(?<!\d)2\s*(?:°C|℃)?\s*(?:-|–|~|～|to|至|到)\s*8\s*(?:°C|℃|摄氏度)",
        r"\b(?:at )?room temperature\b|(?:常温|室温)(?:保存)?",
        r"\b(?:fr(?:ee|o)z\w+|in (?:the|a) freezer)\b|冷冻",
    ),
    (
        r"\b(?:cold|cool|ice|iced|icy)\b|冷(?=敷|水|饮|食|疗|的)|冰(?=敷|水|块|袋)|凉水",
        r"\b(?:warm|hot|heat|heated)\b|热(?=敷|水|饮|食|疗|的)|温水",
    ),
    (r"\b(?:premenopausal|before menopause)\b|绝经前", r"\b(?:postmenopausal|after menopause)\b|绝经后"),
    (
        r"\b(?:vaginal (?:delivery|birth)|natural birth|natural delivery)\b|顺产|自然分娩|阴道分娩",
        r"\b(?:c(?:a?e)sare?an(?: section| delivery)?|c-section)\b|剖宫产|剖腹产",
    ),
    (r"\bbreast-?(?:fe(?:e)?d\w*| ?milk)\b|母乳", r"\b(?:formula|bottle-?fe(?:e)?d\w*)\b|奶粉|配方奶|人工喂养"),
    (r"\b(?:obstructive|obstructed)\b|梗阻性|阻塞性", r"\brestrictive\b|限制性"),
    (r"\b(?:isch(?:a)?emic|infarct\w*)\b|缺血性|缺血", r"\bha?emorrhagic\b|出血性"),
    (r"\bopen[- ]angle\b|开角", r"\b(?:closed?|narrow)[- ]angle\b|闭角"),
    (r"\b(?:dilat\w+|widen\w*)\b|扩张|扩大|散大", r"\b(?:constrict\w*|narrow\w*)\b|狭窄|缩小|变窄"),
    (r"过速|过快", r"过缓|过慢"),
    (r"便秘", r"腹泻|稀便"),
    (r"\b(?:liquids?|fluid diet)\b|流质|流食", r"\bsolids?\b|固体|干饭|普食"),
    (
        r"\b(?:combin\w+|together|concomitant\w*|alongside)\b|联合|合用|同服|同时(?=服|使|用)|一起",
        r"\b(?:alone|monotherapy|separately|on its own)\b|单独|单用|单药|分开",
    ),
    (r"\b(?:primary)\b|原发性?", r"\b(?:secondary)\b|继发性?"),
    (r"\b(?:congenital|inborn|hereditary)\b|先天性?|遗传性", r"\bacquired\b|后天性?|获得性"),
    (r"\b(?:metasta\w+|disseminated)\b|转移|扩散|播散", r"\blocali[sz]ed\b|局限"),
    (r"\b(?:sensitive|susceptible)\b|敏感", r"\b(?:resistant|insensitive)\b|耐药"),
    (r"\bagonists?\b|激动剂|促进|刺激|激活", r"\b(?:antagonists?|blockers?|inhibitors?)\b|拮抗剂|阻滞剂|抑制剂?"),
    (
        r"\bself-?limit\w+|\bgoes away (?:on its own|by itself)\b|自限|自愈|自行(?:消退|好转|缓解|恢复|消失)",
        r"\bprogressive\b|进行性|持续进展",
    ),
    (
        r"\b(?:lean\w*|tilt\w*|bend\w*) (?:your head |the head |it )?forwards?\b|前倾|低头",
        r"\b(?:lean\w*|tilt\w*|bend\w*) (?:your head |the head |it )?backwards?\b|\bhead back\b|后仰|仰头",
    ),
    (
        r"\bconscious\b|\bawake\b|清醒|(?<=神志)清楚?|(?<=意识)清楚?",
        r"\b(?:unconscious|comatose|in a coma)\b|昏迷|(?:意识|神志)不清",
    ),
    (
        r"\bfirst[- ]line\b|\bfirst choice\b|一线|首选",
        r"\b(?:second|third|last)[- ](?:line|choice|resort)\b|二线|三线|次选|备选|末线",
    ),
    (r"\bevery day\b|\bdaily\b|\bregular(?:ly)?\b|规律|按时", r"\bas needed\b|\bonly when\b|必要时"),
    (r"\b(?:intravaginal|through the nose|by nose|nasal(?:ly)?)\b|经鼻|用鼻", r"\bthrough the mouth\b|用口|用嘴"),
    (r"显性", r"隐性"),
    (r"\b(?:anterior|front)\b|前(?=壁|侧|部)", r"\b(?:posterior|back)\b(?! (?:pain|ache))|后(?=壁|侧|部)"),
    (r"近端", r"远端"),
    (
        r"\b(?:elevated|raised|high)\b|升高|增高|偏高|过高|高于正常",
        r"\blow\b|降低|减低|偏低|过低|低于正常",
        r"(?<!to )(?<!than )\bnormal(?:ly)?\b|(?<![于至到复])正常",
    ),
    (
        r"\b(?:in )?breech(?: position| presentation)?\b|臀位",
        r"\b(?:lying |in )?(?:head[- ](?:first|down)|cephalic|vertex)(?: position| presentation)?\b|头位",
        r"\btransverse lie\b|横位",
    ),
    (r"\b(?:patent|unobstructed)\b|通畅|畅通", r"\b(?:blocked|obstructed|occluded)\b|堵塞|阻塞|闭塞|不通"),
    (r"\bintact\b|完好|完整", r"\b(?:torn|ruptured?|burst|pop(?:ped)?)\b|撕裂|断裂|破裂"),
    (
        r"\b(?:gradual(?:ly)?|slowly|step by step)\b|逐渐|逐步|缓慢",
        r"\b(?:abrupt(?:ly)?|sudden(?:ly)?|all at once)\b|突然|(?<!步)骤(?!停)",
    ),
    (r"浅(?=表|层|部|Ⅱ|二)", r"深(?=层|部|Ⅱ|二)"),
    _TIMES_OF_DAY,
)
TIME_OF_DAY = len(_CONTRARIES) - 1
"""Number of the dimension of morning, noon and night."""
# Sides of which one always applies, so that denying one affirms the other: "not harmful" is "harmless".
_COMPLEMENTS = (
    (r"\bbenign\b|良性", r"\bmalignan(?:t|cy)\b|恶性"),
    (r"\b(?:safe(?:ly)?|harmless)\b|安全|无害|放心", r"\b(?:dangerous|harmful|risky|hazardous)\b|危险|有害|有风险"),
    (
        r"\b(?:on an? )?empty stomach\b|\bfasting\b|空腹|\bbefore meals\b",
        r"\b(?:with food|after meals)\b|[餐饭]后|随餐",
    ),
    (r"\btemporar(?:y|ily)\b|\btransient(?:ly)?\b|暂时|一过性", r"\bpermanent(?:ly)?\b|\blifelong\b|永久|终身"),
    (r"\blive\b(?: attenuated)?|\battenuated\b|减毒活?|活疫苗", r"\b(?:inactivated|killed)\b|灭活"),
    (
        r"\b(?:start\w*|begin\w*|initiat\w+|continu\w+|resum\w+|restart\w*|tak(?:e|es|ing)|give|use)\b|开始|继续|恢复(?=[服用使])",
        r"\b(?:hold|suspend\w*|paus\w+|interrupt\w*)\b|中断",
    ),
    (r"\bpossible\b|可能", r"\bimpossible\b"),
    (r"\b(?:curable|cured?)\b|治愈|可治", r"\bincurable\b"),
    (r"\babnormal\w*\b|(?:发现|存在|提示|出现)?异常", r"\bnormal(?:ly)?\b|正常"),
    (r"\b(?:dies|died|dead|fatal|death)\b|死亡|致命", r"\b(?:survive[sd]?|survival|alive)\b|存活"),
    (r"\bcommon\b|常见", r"\buncommon\b"),
    (r"\b(?:c(?:ame|omes) back )?positive\b|阳性", r"\b(?:c(?:ame|omes) back )?negative\b|阴性"),
)
_DIMENSIONS: tuple[tuple[re.Pattern[str], ...], ...] = tuple(
    tuple(re.compile(side, re.IGNORECASE) for side in sides) for sides in (*_CONTRARIES, *_COMPLEMENTS)
)
RESULT = len(_DIMENSIONS) - 1
"""Number of the dimension of positive and negative, the last of the table."""


_ANTONYMS: Mapping[str, frozenset[str]] = _read_antonyms(
    "increase-decrease increase-reduce increase-lower raise-lower raise-reduce rise-fall high-low higher-lower more-less "
    "more-fewer most-least left-right upper-lower before-after early-late earlier-later first-last morning-night "
    "morning-evening morning-bedtime day-night hot-cold warm-cold heat-cold heat-ice warm-ice warm-cool safe-dangerous "
    "safe-harmful harmless-harmful harmless-serious harmless-dangerous mild-severe mild-serious mild-strong "
    "reversible-irreversible curable-incurable common-rare common-uncommon often-seldom often-rarely usually-rarely "
    "always-never strong-weak local-general localised-generalised ischemic-hemorrhagic ischaemic-haemorrhagic "
    "congenital-acquired normal-abnormal positive-negative short-long shorter-longer dry-wet dry-moist forward-backward "
    "forwards-backwards cause-prevent begin-end open-closed inside-outside internal-external full-empty gain-loss "
    "male-female man-woman better-worse improve-worsen fast-slow rapid-slow quick-slow soft-hard loose-tight "
    "sitting-standing sitting-lying enlarged-shrunken benign-malignant acute-chronic primary-secondary single-multiple "
    "unilateral-bilateral systolic-diastolic overactive-underactive pass-persist resolve-persist enough-insufficient "
    "present-absent raise-drop above-below over-under with-without up-down excellent-poor good-poor good-bad well-poorly "
    "better-poorly much-little plenty-little reduced-preserved hereditary-acquired forward-back "
    "first-second first-third second-third helpful-useless advisable-pointless painful-painless thick-thin wide-narrow "
    "deep-shallow deep-superficial heavy-light easy-difficult easy-hard sudden-gradual suddenly-gradually "
    "continuous-intermittent constant-intermittent proximal-distal anterior-posterior medial-lateral central-peripheral "
    "systemic-topical obstructive-restrictive dominant-recessive constrict-dilate tachycardia-bradycardia "
    "symptomatic-asymptomatic sterile-infected tighten-loosen inhale-exhale refrigerate-freeze raw-cooked alive-dead "
    "hold-start hold-continue hold-resume stimulate-suppress stimulate-inhibit activate-inhibit promote-inhibit "
    "sensitive-resistant live-inactivated stable-progressive agonist-antagonist push-pull "
    "cover-expose attach-detach sleep-wake asleep-awake relax-tense contract-relax flex-extend adduct-abduct "
    "nose-mouth minimum-maximum minimal-maximal majority-minority relieve-aggravate relieve-worsen ease-worsen "
    "improve-deteriorate success-failure succeed-fail accept-refuse allow-forbid permit-forbid healthy-diseased "
    "thrombocytopenia-thrombocytosis leukopenia-leukocytosis constipation-diarrhoea fat-thin clean-dirty sharp-blunt "
    "young-old elderly-young newborn-adult smooth-rough sweet-bitter empty-replete full-fasting "
    "前-后 早-晚 大-小 多-少 高-低 上-下 左-右 内-外 轻-重 快-慢 强-弱 冷-热 干-湿 干-潮 开-关 男-女 升-降 长-短 阴-阳 新-旧 生-熟 软-硬 松-紧 "
    "粗-细 厚-薄 深-浅 远-近 增-减 增-降 加-减 有-无 急-慢 抬-垂 良-恶 缺-出 先-后 藏-冻 坐-卧 站-卧 坐-站 仰-俯 胖-瘦 开-闭 睁-闭 升-落 "
    "咸-淡 生-死 正-负 显-隐 单-双 单-多 稀-稠 松-硬 留-拔 进-退 涨-跌 鼻-嘴 鼻-口"
)


@dataclass(frozen=True, slots=True)
class Opposites:
    """The words of a value that have opposites.

    Attributes:
        sides: Number of a dimension to the numbers of the sides of it that the value names. Stages, grades and degrees
            are dimensions too; their sides are the stage numbers.
        rest: The value without these words.
    """

    sides: dict[int, frozenset[int]]
    rest: str


@lru_cache(maxsize=1 << 16)
def find_opposites(value: str) -> Opposites:
    """Find the words of a value that have opposites.

    >>> find_opposites("chronic hepatitis B").sides
    {0: frozenset({1}), 7: frozenset({1})}
    """
    # Stages first: the IV of "stage IV" does not mean intravenous.
    stages, unstaged = find_stages(value)
    taken = {len(_DIMENSIONS) + SCALES.index(scale): numbers for scale, numbers in stages.items()}
    # Words of several dimensions may overlap: 饭后 is after the meal, and not on an empty stomach.
    rest = list(unstaged)
    for dimension, sides in enumerate(_DIMENSIONS):
        for number, side in enumerate(sides):
            for found in side.finditer(unstaged):
                taken[dimension] = taken.get(dimension, frozenset()) | {number}
                rest[found.start() : found.end()] = " " * len(found[0])
    return Opposites(taken, "".join(rest))


def are_opposed(a: Opposites, b: Opposites) -> bool:
    """Return whether two values name different sides of any dimension.

    >>> are_opposed(find_opposites("acute bronchitis"), find_opposites("chronic bronchitis"))
    True
    >>> are_opposed(find_opposites("acute on chronic kidney failure"), find_opposites("chronic kidney failure"))
    False
    """
    return bool(_list_opposed(a, b))


def are_complements(a: Opposites, b: Opposites) -> bool:
    """Return whether two values name the two sides of a dimension of which one is the denial of the other.

    >>> are_complements(find_opposites("harmful"), find_opposites("safe"))
    True
    >>> are_complements(find_opposites("left arm"), find_opposites("right arm"))
    False
    """
    opposed = _list_opposed(a, b)
    return bool(opposed) and all(len(_CONTRARIES) <= dimension < len(_DIMENSIONS) for dimension in opposed)


def _list_opposed(a: Opposites, b: Opposites) -> list[int]:
    return [number for number in a.sides.keys() & b.sides.keys() if a.sides[number].isdisjoint(b.sides[number])]


_NEGATING_PREFIX = re.compile(r"^(?:un|in|im|ir|non|dis|de)(?=[a-z]{4})")
_PREFIXES = (
    ("hyper", "hypo"),
    ("over", "under"),
    ("pre", "post"),
    ("ante", "post"),
    ("intra", "extra"),
    ("tachy", "brady"),
    ("macro", "micro"),
    ("poly", "oligo"),
    ("homo", "hetero"),
    ("endo", "exo"),
    ("supra", "infra"),
)
_SUFFIXES = (("penia", "cytosis"), ("ful", "less"))
"""Beginnings and endings that exclude each other; stems may have lost the last letters."""


def are_antonyms(a: str, b: str) -> bool:
    """Return whether two words, as stems or Chinese characters, exclude each other.

    >>> are_antonyms("high", "low"), are_antonyms("displac", "undisplac"), are_antonyms("前", "后")
    (True, True, True)
    """
    return b in _list_antonyms(a) or a in _list_antonyms(b)


@lru_cache(maxsize=1 << 16)
def _list_antonyms(word: str) -> frozenset[str]:
    """Return the antonyms of a word in the table, and the words formed with an opposite beginning or ending."""
    return frozenset(
        (
            *_ANTONYMS.get(word, ()),
            _NEGATING_PREFIX.sub("", word),
            *(other + word[len(one) :] for one, other in _PREFIXES if word.startswith(one)),
            *(word[: -len(one)] + other for one, other in _SUFFIXES if word.endswith(one)),
        )
    )
