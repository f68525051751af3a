"""Unifies expressions with the same meaning: abbreviations in prescriptions and records, times, lay words.

"Paracetamol prn" and "paracetamol when needed" differ only in such an expression. The tables hold wordings that
clinicians and patients use within a phrase; names of diseases, drugs and tests are in the graph.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from imapeval.text.markup import spell_signs

if TYPE_CHECKING:
    from collections.abc import Iterable

# Unified form: the other forms, separated by "|". They are matched as listed, ignoring case, and as whole words.
_ENGLISH = """
as needed: prn|p.r.n.|as required|as necessary|when needed|when necessary|when required|if needed|if necessary|if required|on demand
before meals: a.c.|before food|before eating|before a meal|before each meal|prior to meals|preprandial|preprandially|pre-meal
after meals: p.c.|after food|after eating|after a meal|after each meal|postprandial|postprandially|post-meal
with food: with meals|with a meal|with each meal|at mealtimes|at mealtime|during meals
immediately: at once|right away|straight away|straightaway|without delay|promptly|right now|as soon as possible|asap|a.s.a.p.
at bedtime: h.s.|before bed|before bedtime|before going to bed|before you go to bed|before sleep|before sleeping|before going to sleep|before you go to sleep|when going to bed
at night: nocte|in the night|at nighttime
in the morning: in the mornings
in the evening: in the evenings
every morning: qam|q.a.m.|each morning|every day in the morning|daily in the morning|once daily in the morning|mane
every evening: qpm|q.p.m.|each evening|every day in the evening|daily in the evening|once daily in the evening
every night: each night|every day at night|daily at night|once daily at night|once daily at bedtime|every night at bedtime
oral: p.o.|by mouth|per os|orally
intravenous: i.v.|intravenously|into a vein|into the vein
intramuscular: i.m.|intramuscularly|into the muscle|into a muscle
subcutaneous: s.c.|subq|subcut|subcutaneously|under the skin
sublingual: s.l.|sublingually|under the tongue
rectal: p.r.|per rectum|rectally|into the rectum
topical: topically|on the skin|to the skin
inhaled: by inhalation|via inhaler|by inhaler|with an inhaler
cause: lead to|leads to
not restricted: unrestricted|without restriction|without restrictions|without any restriction|without any restrictions
hereditary: inherited
normal: within normal limits|within the normal limits|within normal range|within the normal range|in the normal range|unremarkable|wnl
inhale: breathe in
exhale: breathe out
nil by mouth: npo|n.p.o.|nbm|nothing by mouth|nothing to eat or drink|do not eat or drink|don't eat or drink|no food or drink
harmless: nothing to worry about|nothing to be worried about|nothing to be concerned about|no cause for concern|no cause for alarm
lifelong: for life|life-long|for the rest of your life|for the rest of his life|for the rest of her life|for the rest of their lives
lifelong: for the rest of life|indefinitely|throughout life|all your life|forever
left: left-sided|left sided|left side
right: right-sided|right sided|right side
over the counter: otc|over-the-counter|non-prescription|nonprescription|without prescription|without a prescription
blood pressure: bp
heart rate: pulse|pulse rate
respiratory rate: rr|breathing rate
oxygen saturation: spo2|o2 saturation|o2 sat|o2 sats|sats
body mass index: bmi
blood sugar: blood glucose|bsl|glucose level|sugar level
fasting blood sugar: fbg|fbs|fasting glucose|fasting plasma glucose|fpg
hemoglobin: haemoglobin|hb|hgb
hba1c: a1c|hb a1c|glycated hemoglobin|glycated haemoglobin|glycosylated hemoglobin|hemoglobin a1c|haemoglobin a1c
complete blood count: cbc|fbc|full blood count
blood test: bloods|blood work|bloodwork|blood tests|blood draw
ecg: ekg|electrocardiogram|electrocardiography
mri: magnetic resonance imaging|mr imaging|mri scan
ct: computed tomography|computerised tomography|computerized tomography|ct scan|cat scan
tsh: thyroid-stimulating hormone|thyroid stimulating hormone
chest x-ray: cxr|chest radiograph|chest radiography|chest film|x-ray of the chest
ultrasound: ultrasonography|sonography|sonogram|ultrasound scan|us scan
urine test: urinalysis|u/a|urine analysis|urine dipstick
follow up: f/u|followup|follow-up
history of: h/o|hx of|hx
treatment: tx|rx
diagnosis: dx
symptoms: sx
fracture: fx
50% of patients: half of patients|half the patients|half of the patients|half of all patients|half patients|one in two patients
50% of people: half of people|half the people|half of the people|half of all people|half people|one in two people
50% of cases: half of cases|half the cases|half of the cases|half of all cases|half cases|one in two cases
with: w/
without: w/o
rule out: r/o
complains of: c/o
after: s/p|status post
emergency department: a&e|accident and emergency|emergency room|casualty department
family doctor: gp|pcp|general practitioner|primary care physician|primary care doctor|primary care provider|family physician
call an ambulance: call 911|call 999|call 112|dial 911|dial 999|ring 999|call emergency services|call for an ambulance
hospital admission: hospitalisation|hospitalization|admission to hospital
surgery: operation|operative treatment|surgical treatment|surgical procedure
physiotherapy: physical therapy|physio
painkiller: pain reliever|pain medication|pain medicine|pain killer|analgesic
painkillers: pain relievers|pain killers|analgesics
vaccination: immunisation|immunization|vaccinations
influenza vaccine: flu shot|flu jab|flu vaccine|influenza shot|flu vaccination|influenza vaccination
contagious: infectious|communicable|transmissible|catching
antibiotics: antibiotic therapy|antibiotic treatment|course of antibiotics|antibiotic
steroids: steroid therapy|corticosteroids|corticosteroid therapy
chemotherapy: chemo
radiotherapy: radiation therapy|radiation treatment
side effects: adverse effects|adverse reactions|side-effects|side effect
abdomen: belly|tummy
legs: lower limbs|lower limb|lower extremity|lower extremities
arms: upper limbs|upper limb|upper extremity|upper extremities
vomiting: throwing up|being sick
diarrhoea: loose stools|the runs|watery stools
urinating: peeing|passing urine|passing water
urine: pee
stool: poo|poop|feces|faeces|bowel movement
periods: menses|menstruation|menstrual bleeding
breastfeeding: breast-feeding|lactation|lactating
pregnancy: gestation
children: kids|kid|child
elderly: older people|older adults|seniors
smoking: cigarettes|tobacco|smoking cigarettes
alcohol: alcoholic drinks|alcoholic beverages|drinking alcohol|booze
fluids: liquids|liquid
exercise: physical activity|physical exercise|working out
weight loss: losing weight|lose weight
weight gain: gaining weight|gain weight
swelling: puffiness
itching: itchiness|pruritus|itchy
bruise: contusion
cut: laceration
cold compress: ice pack|ice packs|cold pack|cold packs|cold compresses|icing
warm compress: heat pack|heating pad|warm pack|hot pack|warm compresses|hot compress|hot compresses|heat packs
"""
# Written without points and only at the end of a phrase or before a schedule, because they are other things elsewhere:
# "AC joint", "PO box".
_AT_THE_END = """
before meals: ac
after meals: pc
at bedtime: hs
immediately: stat
oral: po
intravenous: iv
intramuscular: im
subcutaneous: sc|sq
sublingual: sl
as needed: sos
"""
_CHINESE = """
必要时: 需要时|按需|如有需要时|如有需要|有需要时|必要的话|需要的时候
左: 左侧|左边
右: 右侧|右边
左侧卧: 左侧躺
右侧卧: 右侧躺
饭前: 餐前|进餐前|吃饭前|进食前|用餐前
饭后: 餐后|进餐后|吃饭后|进食后|用餐后|吃完饭后
随餐: 餐中|进餐时|吃饭时|用餐时|与食物同服|与餐同服|和食物一起
睡前: 临睡前|就寝前|入睡前|睡觉前|临睡时
立即: 马上|立刻|即刻|尽快|尽早|赶紧|赶快|第一时间
每晚: 每天晚上|每日晚上|每天夜里|每天晚间|每日晚间
每早: 每天早上|每日早上|每天早晨|每日早晨|每天清晨|每日清晨|每日晨起|每天晨起
口服: 经口服用|内服|经口
静脉注射: 静注|静推|静脉推注
静脉滴注: 静滴|静脉输液|静点|打点滴|吊水|挂水
肌肉注射: 肌注|肌内注射
皮下注射: 皮下给药
舌下含服: 舌下含化|含服
外用: 外敷|外涂|外擦|局部涂抹
终身: 终生|一辈子|一生
就医: 就诊|看医生|看病|求医|去医院|到医院|上医院
叫救护车: 拨打120|打120|呼叫120|拨120
急诊: 急诊科|急诊室
复查: 复诊|随访|随诊
手术: 开刀|动手术
验血: 抽血化验|抽血检查|化验血|血液检查|血检
尿检: 验尿|尿液检查|化验尿
超声: B超|彩超|超声波
医生: 大夫|医师
儿童: 小孩|孩子|小朋友|小儿
婴儿: 宝宝
老年人: 老人|长者|老年患者
孕期: 妊娠期|怀孕期间|怀孕期|妊娠期间|孕期间|怀孕时
哺乳期: 哺乳期间|母乳喂养期间|母乳喂养期
哺乳: 母乳喂养|喂母乳
发热: 发烧
腹泻: 拉肚子|拉稀
腹痛: 肚子痛|肚子疼
头痛: 头疼
喉咙痛: 嗓子疼|嗓子痛|咽痛|喉咙疼|咽喉痛
呕吐: 吐了
便秘: 大便干结|排便困难
小便: 尿液|排尿
大便: 粪便|排便
月经: 例假|大姨妈
不限制: 不受限制|不受限|不加限制|不作限制|无限制|没有限制
限制: 受限制|受限
少喝水: 限制饮水|限水|控制饮水|减少饮水|少饮水
辛辣: 吃辣|辣的食物
已: 已经
传染: 传染性|有传染性|具有传染性|具传染性
烟: 吸烟|抽烟|香烟|烟草
酒: 饮酒|喝酒|酒精饮料|酒类
多喝水: 多饮水|大量饮水|大量喝水|增加饮水
运动: 锻炼|体育锻炼|身体锻炼
剧烈运动: 激烈运动|剧烈活动
卧床: 卧床休息|静卧|静养
副作用: 不良反应|毒副作用
慎用: 谨慎使用|谨慎用药|小心使用|小心用|慎重使用|慎重用药
止痛药: 镇痛药|止疼药
抗生素: 抗菌药物|抗菌药
疫苗: 预防针
冷敷: 冰敷
热敷: 温敷
减肥: 减重|减轻体重
甲状腺功能: 甲功
正常: 在正常范围内|在正常范围
胸片: 胸部X线片|胸部X光片|胸部X线|胸部X光|胸部平片|X线胸片
预后好: 预后佳|预后良好|预后较好|预后很好
引起: 导致|引发|造成
血糖: 血糖值|葡萄糖水平
心率: 脉搏|心跳次数
住院: 入院
出院: 离院
复发: 再发
治愈: 痊愈|根治|治好
50%的患者: 一半患者|一半的患者|半数患者|半数的患者
50%的病人: 一半病人|一半的病人|半数病人|半数的病人
50%的人: 一半人|一半的人|半数人|半数的人
"""


def read_synonyms(table: str) -> dict[str, str]:
    """Return the unified form of each other form in a table of lines `unified form: other|other`."""
    rows = (line.partition(": ") for line in table.strip().splitlines())
    return {other.lower(): unified for unified, _, others in rows for other in others.split("|")}


def join_alternatives(words: Iterable[str]) -> str:
    """Return a pattern for any of the words, the longest first; by first letters, which makes the search fast."""
    by_letter: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        by_letter.setdefault(re.escape(word[0]), []).append(re.escape(word[1:]))
    branches = "|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in by_letter.items())
    return f"(?=[{''.join(by_letter)}])(?:{branches})"


_WORDS, _LAST_WORDS, _CHINESE_WORDS = map(read_synonyms, (_ENGLISH, _AT_THE_END, _CHINESE))
# The unified form is matched too, because it may contain one of the others.
_WORDS.update({unified: unified for unified in _WORDS.values()})
_CHINESE_WORDS.update({unified: unified for unified in _CHINESE_WORDS.values()})
_UNIFIED = {**_LAST_WORDS, **_WORDS, **_CHINESE_WORDS}
_PATTERN = re.compile(
    # The IV of "stage IV" and "factor IV" is a number.
    rf"(?<![a-z0-9.&/-])(?:{join_alternatives(_WORDS)})(?![a-z0-9&/-])"
    rf"|(?<=\s)(?<!stage\s)(?<!grade\s)(?<!class\s)(?<!type\s)(?<!phase\s)(?<!factor\s)(?:{join_alternatives(_LAST_WORDS)})"
    r"(?=$|\s(?:once|twice|every|daily|[bt]id|qid|q\s?\d|for|x?\d|as needed|prn)\b)"
    rf"|^(?:{join_alternatives(_LAST_WORDS)})$|{join_alternatives(_CHINESE_WORDS)}",
    re.IGNORECASE,
)


# What two negations demand: 非手术不可, 不打胰岛素不行, 不能不补叶酸.
_DEMAND = re.compile(
    "(?:非(?!处方|典型|布|甾)(?=[^，。；、不非]+不可$)|(?<!不)不(?![饱洁明锈])(?=[^，。；、不非]+(?:不可以|不行)$))"
    "(?P<done>[^，。；、不非]{1,12})不(?:可以?|行)$|(?<![能可应该])(?:不[能可得应该]|不可以|不应该)不(?=[^同适宜良明足全安])"
)
_NO_FINDING = re.compile(r"(?<![有没])(?:未见|未发现|没有|无)(?:明显)?异常$")


# The second vertebra of L4-5 or L4/5, which is also written L4-L5.
_SEGMENT = re.compile(r"(?<![A-Za-z\d])([CTLS])(\d{1,2})[-–/](\d{1,2})(?![\d./%]|\s?(?:[a-zμ]{1,6}/|[mn]g\b))")
_MAX_SEGMENTS = 5
# What one is told to taper off is stopped gradually, but symptoms only taper off.
_TAPER = re.compile(
    r"^((?:(?:please|then|slowly|gradually|do not|don['’]t|never) )?)(?:taper|wean|phas)(?:e?d|ing|e)? (?:off|out)"
    r"(?= (?!(?:after|as|at|by|during|from|gradually|in|on|over|slowly|to|when|with|within)\b)\w)",
    re.IGNORECASE,
)


def _name_segment(found: re.Match[str]) -> str:
    letter, first, last = found.groups()
    return f"{letter}{first}-{letter}{last}" if 0 < int(last) - int(first) <= _MAX_SEGMENTS else found[0]


def unify_synonyms(text: str) -> str:
    """Return a phrase with each expression of the tables in its unified form.

    >>> unify_synonyms("ibuprofen PRN after food"), unify_synonyms("每天早上餐后服用")
    ('ibuprofen as needed after meals', '每早饭后服用')
    >>> unify_synonyms("AC joint")
    'AC joint'
    """
    # Ignoring case, i is equal to ı and İ, and s to ſ: such a word is found but is not in the table.
    unified = _PATTERN.sub(lambda found: _UNIFIED.get(found[0].lower(), found[0]), " ".join(spell_signs(text).split()))
    unified = _TAPER.sub(r"\1stop gradually", _SEGMENT.sub(_name_segment, unified))
    return _DEMAND.sub(lambda found: f"必须{found['done'] or ''}", _NO_FINDING.sub("正常", unified))
