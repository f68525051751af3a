"""Phrases compared without words that only state that something is so."""

from itertools import combinations
from pathlib import Path

import pytest

from imapeval.text.comparison import gist
from imapeval.text.comparison.gist import find_gist
from imapeval.text.comparison.wordings import WordingVerdict, compare_wordings
from imapeval.text.negation.stance import read_stance
from imapeval.text.phrases import parse_phrase


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("diabetes confirmed", {"diabet"}),
        ("runs in families", set()),
        ("a stable fracture of the collarbone", {"fractur", "clavicl"}),
        ("目前已经明显好转", set()),
        ("肾结石", {"肾", "结", "石"}),
    ],
)
def test_only_words_that_say_what_it_is_about_are_kept(value, words):
    assert find_gist(value).words == words


@pytest.mark.parametrize(
    ("reference", "response", "verdict"),
    [
        ("diabetes confirmed", "diabetes ruled out", WordingVerdict.OPPOSITE),
        ("the rash is not contagious", "the rash spreads easily to others", WordingVerdict.OPPOSITE),
        ("keep the wound dry", "soak the wound every day", WordingVerdict.OTHER_SIDE),
        ("a two-week course of doxycycline", "doxycycline for ten days", WordingVerdict.OTHER_AMOUNT),
        ("cannot be passed to other people", "non-contagious", WordingVerdict.SAME),
        ("contraindicated in pregnancy", "must not be used by pregnant women", WordingVerdict.SAME),
        ("伤口不要沾水", "保持伤口干燥", WordingVerdict.SAME),
        ("孕妇禁用", "孕妇可安全使用", WordingVerdict.OPPOSITE),
        ("儿童禁用", "儿童可安全使用", WordingVerdict.OPPOSITE),
        ("非心源性胸痛", "心源性胸痛", WordingVerdict.OPPOSITE),
        # Opposites and equivalents of everyday language.
        ("identical twins", "fraternal twins", WordingVerdict.OTHER_SIDE),
        ("INR within target", "INR well above target", WordingVerdict.OTHER_SIDE),
        ("swallow the capsule whole", "open the capsule and sprinkle it", WordingVerdict.OTHER_SIDE),
        ("rotate injection sites", "inject the same spot each time", WordingVerdict.OTHER_SIDE),
        ("sexually acquired", "never acquired through sex", WordingVerdict.OPPOSITE),
        ("surgery is a must", "can be managed without an operation", WordingVerdict.OPPOSITE),
        ("self-limiting", "goes away by itself", WordingVerdict.SAME),
        ("inherited", "passed down from parents", WordingVerdict.SAME),
        ("safe for the fetus", "does not harm the unborn baby", WordingVerdict.SAME),
        ("does not always need surgery", "does not need surgery", None),
        ("seen in children", "not needed in children", None),
        ("chew the tablet", "swallow capsules whole", None),
        # What is a condition in one is an object in the other.
        ("alcohol is fine with metronidazole", "no alcohol while on metronidazole", WordingVerdict.OPPOSITE),
        ("vaping is safe in pregnancy", "do not vape while pregnant", WordingVerdict.OPPOSITE),
        ("可以根治", "目前无法根治", WordingVerdict.OPPOSITE),
        # "Negative" denies, and is no side.
        ("influenza test negative", "flu test positive", WordingVerdict.OPPOSITE),
        ("HIV negative", "HIV not detected", WordingVerdict.SAME),
        ("血培养阳性", "尿培养阴性", None),
        ("on an empty stomach", "without food", WordingVerdict.SAME),
        ("brought on by stress", "nothing to do with stress", WordingVerdict.OTHER_SIDE),
        ("at present", "appropriate management", None),
        ("surgery is not necessary", "eat normally before surgery", None),
        ("itching at night", "swelling in the morning", None),
        ("甲亢", "甲状腺功能减退", WordingVerdict.OTHER_SIDE),
        # The denial is of the verb, or two things are opposed.
        ("肾功能损害者减量", "肾功能正常者不减量", None),
        ("mild side effects are common", "severe side effects are rare", None),
        ("viral meningitis is mild", "bacterial meningitis is severe", None),
        ("stop the drug if you get a rash", "drug rash", None),
        ("LDL goal 70", "LDL level 160", None),
        ("vitamin D levels", "vitamin D", None),
        # Advice is not the opposite of the finding that it is given for.
        ("lower your blood pressure", "high blood pressure", None),
        ("血压升高", "降低血压", None),
        ("加大胰岛素剂量", "减少胰岛素剂量", WordingVerdict.OTHER_SIDE),
        ("high TSH with low T4", "low TSH with high T4", WordingVerdict.OTHER_SIDE),
        # Lists, part by part.
        ("TSH raised, T4 normal", "T4 normal, TSH raised", WordingVerdict.SAME),
        ("TSH raised, T4 normal", "TSH normal, T4 raised", WordingVerdict.OTHER_SIDE),
        ("fever without cough", "cough without fever", WordingVerdict.OPPOSITE),
        ("metformin 500 mg and glipizide 5 mg", "metformin 5 mg and glipizide 500 mg", WordingVerdict.OTHER_AMOUNT),
        ("有发热无咳嗽", "有咳嗽无发热", WordingVerdict.OPPOSITE),
        ("eat vegetables, avoid meat", "eat meat, avoid vegetables", WordingVerdict.OPPOSITE),
        ("eat vegetables, avoid meat", "avoid meat, eat vegetables", WordingVerdict.SAME),
        ("take iron with juice, not with milk", "take iron with milk, not with juice", WordingVerdict.OPPOSITE),
        ("早上2片，晚上1片", "早上1片，晚上2片", WordingVerdict.OTHER_AMOUNT),
        ("早2片晚1片", "早1片晚2片", WordingVerdict.OTHER_AMOUNT),
        # One denial for all.
        ("no fever, cough", "no cough, fever", WordingVerdict.SAME),
        ("无发热、咳嗽", "无咳嗽、发热", WordingVerdict.SAME),
        # Everyday opposites and equivalents.
        ("生理性黄疸", "病理性黄疸", WordingVerdict.OTHER_SIDE),
        ("每天多喝水", "限制饮水量", WordingVerdict.OTHER_SIDE),
        ("抬高患肢", "患肢放低下垂", WordingVerdict.OTHER_SIDE),
        ("改为口服", "改成静脉输液", WordingVerdict.OTHER_SIDE),
        ("意识清醒", "深度昏迷", WordingVerdict.OTHER_SIDE),
        ("忌辛辣", "辣的可以照吃", WordingVerdict.OPPOSITE),
        ("不需要手术", "用不着开刀", WordingVerdict.SAME),
        ("病因已经查明", "原因不清楚", WordingVerdict.OTHER_SIDE),
        ("病因已查明", "病因尚未查明", WordingVerdict.OTHER_SIDE),
        ("因未明确诊断", "已明确诊断", WordingVerdict.OPPOSITE),
        ("resectable tumour", "un-resectable tumour", WordingVerdict.OTHER_SIDE),
        ("related to diet", "un-related to diet", WordingVerdict.OTHER_SIDE),
        ("preventable", "un-preventable", WordingVerdict.OTHER_SIDE),
        ("treatable", "un-treatable", WordingVerdict.OTHER_SIDE),
        # What is only near the opposite.
        ("急性期冷敷", "缓解期热敷", None),
        ("夜间加重", "白天减轻", None),
        ("治疗便秘", "引起腹泻", None),
        # Not enough in common, or two things.
        ("treat for two weeks", "follow up in two weeks", None),
        ("metformin does not cause hypoglycaemia", "insulin causes hypoglycaemia", None),
        ("statins do not cause asthma", "insulin causes asthma", None),
        ("statins do not cause asthma", "statins cause asthma", WordingVerdict.OPPOSITE),
        ("Lyme disease is transmitted by ticks", "Lyme disease is not contagious", None),
        ("可以散步", "避免剧烈运动", None),
        ("不要游泳", "不要潜水", None),
        ("避免受凉", "脚部注意保暖", None),
        ("cured by surgery", "there is no cure for the cough", None),
        ("prescribe antibiotics", "breastfeeding should not be interrupted", None),
        ("high blood pressure", "low blood sugar", None),
        ("睾丸萎缩", "睾丸未降", None),
        ("缺乏维生素B12", "维生素D正常", None),
        ("糖尿病", "导致糖尿病", None),
        # Without treatment is a condition, unless a recovery needs none.
        ("fatal if untreated", "lethal without treatment", WordingVerdict.SAME),
        ("fatal without treatment", "not fatal", WordingVerdict.OPPOSITE),
        ("fatal without treatment", "fatal", WordingVerdict.BROADER),
        ("可致命", "不治疗可致命", WordingVerdict.NARROWER),
        ("resolves without treatment", "needs treatment to resolve", WordingVerdict.OPPOSITE),
        ("不治疗也能自愈", "能自愈", None),
        # "Lower" in the name of a part of the body.
        ("raise the legs", "elevate lower limbs", None),
        ("raise the legs", "lower the legs", WordingVerdict.OTHER_SIDE),
        # Two denials of one list.
        ("须戒烟禁酒", "不能再抽烟喝酒", WordingVerdict.SAME),
        ("未戒烟禁酒", "已戒烟酒", WordingVerdict.OPPOSITE),
        ("喂奶的妈妈要小心用", "哺乳期慎用", WordingVerdict.SAME),
        # What is denied is another point.
        ("your count is high", "a high count is usually not a cause for concern", None),
        ("your count is high", "your count is not extremely high", None),
        ("avoid strenuous exercise", "exercise regularly", None),
        ("不要剧烈运动", "规律运动", None),
        ("avoid strenuous exercise", "strenuous exercise is fine", WordingVerdict.OPPOSITE),
        ("hepatitis B antibodies", "hepatitis C antibodies", None),
        ("乙肝抗体检测", "丙肝抗体检测", None),
        ("an infection of the wound", "disinfection of the wound", None),
        ("bleeding after your menses have stopped", "bleeding after your period", None),
        ("至少6个月", "不应少于半年", WordingVerdict.SAME),
        ("at least 6 months", "should not be less than half a year", WordingVerdict.SAME),
        ("这种病并非不能治", "这种病不能治", WordingVerdict.OPPOSITE),
        # What a relative has.
        ("no history of hypertension", "her father had hypertension", None),
        ("没有高血压", "父亲有高血压", None),
        # With treatment and without: two cases.
        ("prognosis is poor without treatment", "prognosis is good with treatment", None),
        ("the outlook is poor without treatment", "the outlook is good", None),
        ("without treatment, meningitis is fatal", "meningitis is fatal without treatment", WordingVerdict.SAME),
        ("未治疗会复发", "未治疗不会复发", WordingVerdict.OPPOSITE),
        # What stops in the main clause is denied.
        ("since Monday the bleeding has stopped", "since Monday the bleeding has not stopped", WordingVerdict.OPPOSITE),
        ("停止禁酒", "禁酒", WordingVerdict.OPPOSITE),
        ("无皮疹并不发热", "皮疹并发热", WordingVerdict.OPPOSITE),
        # Caution is neither a ban nor permission.
        ("老年人谨慎使用", "老年人禁用", None),
        ("哺乳期慎用", "哺乳期可放心使用", WordingVerdict.OPPOSITE),
        # A relative of whom something is told, and one who is to do something.
        ("do not share towels with siblings", "share towels with siblings", WordingVerdict.OPPOSITE),
        ("母亲有糖尿病", "没有糖尿病", None),
        ("the count is not extremely high", "the count is extremely high", WordingVerdict.OPPOSITE),
        ("血糖不应低于4mmol/L", "血糖应低于4mmol/L", WordingVerdict.OTHER_AMOUNT),
        ("avoid exercise", "vigorous exercise is recommended", WordingVerdict.OPPOSITE),
        ("乙肝患者需检查", "丙肝患者需检查", WordingVerdict.OTHER_SIDE),
        ("患者死亡", "患者生存", WordingVerdict.OTHER_SIDE),
    ],
)
def test_gists_and_lists(reference, response, verdict):
    assert compare_wordings(reference, response) is verdict


UNKNOWN_CAUSE = (
    "病因不明",
    "病因未明",
    "病因尚不明确",
    "病因尚未明确",
    "病因至今未明",
    "原因未知",
    "原因不详",
    "尚未查明原因",
)


@pytest.mark.parametrize(("one", "other"), [*combinations(UNKNOWN_CAUSE, 2)])
def test_wordings_of_an_unknown_cause_do_not_contradict_each_other(one, other):
    assert compare_wordings(one, other) not in (WordingVerdict.OPPOSITE, WordingVerdict.OTHER_SIDE)


@pytest.mark.parametrize("value", ["İnherited disease", "stomach paın", "per oſ"])
def test_letters_that_only_ignoring_case_makes_equal(value):
    # With re.IGNORECASE, i is equal to ı and İ, and s to ſ; lower() leaves ı and ſ as they are.
    assert compare_wordings(value, "high blood pressure") is None


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_expressions_with_the_same_meaning(lang):
    table = Path(gist.__file__).parents[1] / "data" / f"same_{lang}.txt"
    rows = [line.partition(": ") for line in table.read_text(encoding="utf-8").splitlines()]
    forms = [form for _, _, others in rows for form in others.split("|")]
    assert len(forms) == len(set(forms)) > 800
    assert not {unified for unified, _, _ in rows} & set(forms)
    # The stance of a phrase is read before its words are unified.
    assert not [
        form
        for unified, _, others in rows
        for form in others.split("|")
        if read_stance(form).denies != read_stance(unified).denies
    ]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_expression_is_rewritten_before_it_is_looked_up(lang):
    table = Path(gist.__file__).parents[1] / "data" / f"same_{lang}.txt"
    rows = [line.partition(": ")[2] for line in table.read_text(encoding="utf-8").splitlines()]
    lost = [form for row in rows for form in row.split("|") if form not in parse_phrase(form).amounts.rest.lower()]
    assert lost == []
