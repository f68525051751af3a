"""What phrases deny, how sure they are, and which words govern a list; the phrases were written for this table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.text.negation.stance import ends_with_negator, is_negated, mentions_denial, read_stance
from imapeval.text.negation.yes_no import answer_header

DENIED = """
no surgery needed | avoid alcohol | without fever | there is no evidence of cancer | fracture ruled out
眼部无虹膜炎 | 无晶体眼 | 无痛胃溃疡 | 镜检无性细胞 | 不应期待立即见效 | negative symptoms
the breast cancer is ER-negative
HIV negative | isn't contagious | isnt contagious | won't help | refrain from driving | stop warfarin
smoking cessation | quit smoking | contraindicated in pregnancy | stay away from pollen | give up smoking
unnecessary | out of the question | absence of fever | neither aspirin | nor ibuprofen | tea is off limits
hold off on surgery | 不需要手术 | 避免饮酒 | 已排除肿瘤 | 可以排除骨折 | 阴性 | 否认过敏 | 忌辛辣 | 禁食 | 戒烟
停用阿司匹林 | 远离花粉 | 别熬夜 | 勿热敷 | 严禁饮酒 | 不宜久坐 | 免做手术 | 并非癌症 | 避光保存
不宜也不接种 | 不发热也不咳嗽 | 没有发热，也没有咳嗽
no fever, no cough | no fever no cough | don't smoke and don't drink | avoid alcohol, avoid caffeine
it is not, and will never be, cancer | 戒烟戒酒 | 忌烟忌酒 | 不吸烟，不喝酒 | 不吸烟不喝酒 | 没有发热没有咳嗽
青霉素不安全 | 不安装支架 | 不安排手术 | 睡眠不安稳 | 孕妇不适合 | 不适用于儿童 | 不适宜运动 | 不同意手术 | 不同时服用
效果不明显 | 抗生素不管用 | 饮食不清淡 | 伤口不清洁 | 不清洗伤口 | 不全麻 | 检查不全面 | 预后不良好 | 不调整剂量
边缘不光滑 | 牙齿不整齐 | 大便不畅通 | 不久坐 | 血管不舒张 | 湿疹不断根
不吸烟者不用做CT | 不发热的人也不用隔离 | 不怀孕的不用查 | 不新鲜的海鲜不能吃 | 不建议携带者献血 | 不增加吸烟者的风险
the patient denies fever | 未见明显异常 | 没有症状的患者不需要手术
gallstones without symptoms need no operation | a cold without fever is no reason to wait
断药 | 没有必要手术 | 无必要手术 | X线诊断不了骨折 | 减少不了疼痛
do not lift weights to avoid injury | it is best to avoid salt | you need to avoid beer | try to avoid milk
patients are advised to avoid alcohol | exercises to avoid during pregnancy | take care to avoid infection
the wound fails to heal | it failed to help | nothing serious | she has given up alcohol | patients need to stop smoking
规律作息避免熬夜 | 保持清淡饮食避免辛辣 | 避免加重便秘的食物 | 尽量避免感染 | 今后注意避免感染
孕妇避免感冒 | 术后避免感染 | 不要揉搓避免感染
停药4周后不用复查 | 非必要不用退烧药 | 不喝酒的人不会得脂肪肝 | 不影响携带者生活
it would be a mistake to induce vomiting | dangerous to fly without oxygen | dangerous for children to fly
inducing vomiting is a bad idea
smoking in pregnancy is harmful
flying does more harm than good | flying is the last thing to do | having the vaccine would be unwise
the claim that vaccines cause autism is wrong | 催吐是错误的 | 感冒要吃抗生素的说法是错误的
gallstones cause no problems | a myth that milk causes phlegm | 症状不足以确诊
"""
AFFIRMED = """
心脏骤停 | 突发骤停 | 激素不可骤停 | 激素切勿骤停 | 避免骤停激素 | 钙通道阻断药 | 诊断酒精性肝病 | 间断药物治疗
激素断不了 | 离不开胰岛素 | 少不了锻炼
never fail to rest | failure to thrive
surgery needed | not without risk | do not stop aspirin | never skip a dose | avoid stopping the tablets
not only rest | nothing but rest | no doubt gout | no later than Monday | not more than 4 g | without delay
do not hesitate to call | whether or not it hurts | gram-negative sepsis | Rh negative blood | cannot help smoking
no problem | non-steroidal drugs | to stop bleeding | notable pain | nose drops | 不能不吃药 | 不要停药 | 不仅要休息
不超过3天 | 不妨热敷 | 腹部不适 | 月经不调 | 无菌敷料 | 无症状 | 除非怀孕 | 未婚 | 非甾体抗炎药 | 革兰阴性菌
没关系 | 禁忌症 | 特别注意 | 级别 | 心脏骤停 | 停经 | 戒断反应 | 少量饮水 | 无创通气 | 无需担心 | 避孕药 | 不手术也不行
gallstones without symptoms need an operation | a cold without fever is a reason to wait
patients with no symptoms need surgery | 没有症状的患者需要手术 | 未怀孕的女性可以服用
eat bran to avoid constipation | rest to avoid injury | exercises to avoid stiffness | you do not have to avoid milk
it is taken with food to avoid nausea | do not to avoid wheat
the best way to avoid flu is rest | a diet that avoids gluten | a diet designed to avoid gluten | it helps avoid gas
wear gloves so you avoid burns | you don't have to stop breastfeeding | no need to avoid milk
多喝水避免便秘 | 戴口罩可避免感染 | 避免便秘的食物 | 避免感染的最好方法是洗手 | 避孕套避免感染
吃些能避免便秘的水果 | 适当运动避免血栓
do not stop taking it, and never skip a dose | 不得不手术 | 不吃不行 | 不是没有风险 | 睡眠呼吸暂停
不自主运动 | 动作电位不应期 | 卵巢无性细胞瘤 | 无痛胃肠镜
不宁腿综合征 | 左下肺不张 | 骨不连 | 半身不遂 | 无名指肿胀 | 无痛胃镜 | triple-negative breast cancer | skip lesions
坐立不安 | 烦躁不安静脉注射地西泮 | 腹部不适用药后缓解 | 腹部不适合并发热 | 不同意见 | 不同时期 | 不同房间 | 原因不明
视物不清 | 口齿不清 | 心律不齐 | 肾功能不全 | 消化不良好转 | 月经不调整体治疗 | 咳嗽不断 | 不久痊愈 | 不管用什么药
不吸烟者做CT | 不发热的人要隔离 | 不怀孕的要查 | 不缓解者应手术
停药4周后复查 | 停药满4周再复查 | 药停满三个月才能怀孕 | 停用激素2周后手术 | 戒烟10年后风险降低 | 不喝酒的人也会得脂肪肝
不吸烟者风险高
吸烟者的风险是不吸烟者的10倍
it would be a mistake not to have the vaccine | not inducing vomiting is a bad idea | flying is not dangerous
no harm in having the vaccine | nothing speaks against the vaccine | high blood pressure is dangerous
vomiting is dangerous
having a high fever is dangerous
dangerous to the baby | 感冒不用吃药的说法是错误的
there is no objection to coffee | bleeding after the periods have stopped
"""


def split(table: str) -> list[str]:
    return [phrase.strip() for phrase in table.replace("\n", "|").split("|") if phrase.strip()]


@pytest.mark.parametrize("phrase", split(DENIED))
def test_denied(phrase):
    stance = read_stance(phrase)
    assert (stance.polarity, stance.certainty, stance.denies) == ("denied", "certain", True)
    assert is_negated(phrase)
    assert mentions_denial(phrase)


@pytest.mark.parametrize("phrase", split(AFFIRMED))
def test_affirmed(phrase):
    stance = read_stance(phrase)
    assert (stance.polarity, stance.certainty, stance.denies) == ("affirmed", "certain", False)
    assert not is_negated(phrase)


@pytest.mark.parametrize(
    ("phrase", "polarity", "certainty", "subject"),
    [
        ("kidney infection unlikely", "affirmed", "unlikely", "kidney infection"),
        ("hardly contagious", "affirmed", "unlikely", "contagious"),
        ("the risk of bleeding is very low", "affirmed", "unlikely", "the bleeding"),
        ("cannot rule out cancer", "affirmed", "possible", "cancer"),
        ("possibly gout", "affirmed", "possible", "gout"),
        ("may be gout", "affirmed", "possible", "gout"),
        ("suspected gout", "affirmed", "possible", "gout"),
        ("looks like gout", "affirmed", "possible", "gout"),
        ("probably not gout", "denied", "possible", "gout"),
        ("肾盂肾炎可能性不大", "affirmed", "unlikely", "肾盂肾炎"),
        ("几乎不会复发", "affirmed", "unlikely", "复发"),
        ("复发风险很小", "affirmed", "unlikely", "复发"),
        ("不排除肿瘤", "affirmed", "possible", "肿瘤"),
        ("不能排除肿瘤", "affirmed", "possible", "肿瘤"),
        ("可能是痛风", "affirmed", "possible", "痛风"),
        ("很可能是痛风", "affirmed", "possible", "痛风"),
        ("most likely gout", "affirmed", "possible", "gout"),
        ("疑似痛风", "affirmed", "possible", "痛风"),
        # Advice, and people.
        ("降低风险", "affirmed", "certain", "降低风险"),
        ("低风险人群", "affirmed", "certain", "低风险人群"),
        ("低风险前列腺癌", "affirmed", "certain", "低风险前列腺癌"),
        ("does not rule out cancer", "denied", "certain", "does rule out cancer"),
    ],
)
def test_certainty(phrase, polarity, certainty, subject):
    stance = read_stance(phrase)
    assert (stance.polarity, stance.certainty, stance.subject) == (polarity, certainty, subject)
    assert stance.denies == (certainty == "unlikely" or polarity == "denied")


@pytest.mark.parametrize(
    "phrase", ["eat less salt", "limit salt", "cut down on coffee", "少吃盐", "限制盐", "适量饮酒"]
)
def test_asking_for_less_is_not_a_denial(phrase):
    stance = read_stance(phrase)
    assert stance.asks_for_less
    assert not stance.denies


def test_double_negation():
    assert not read_stance("not without risk").denies
    assert not read_stance("unlikely to be absent").denies


@pytest.mark.parametrize(
    ("before", "denied"),
    [
        ("I am not ", True),
        ("she has never had a ", True),
        ("there are no signs of ", True),
        ("I don't have any ", True),
        ("the patient denies ", True),
        ("I am not sure about the ", False),
        ("I cannot sleep because of ", False),
        ("I have ", False),
        ("not only ", False),
        ("", False),
        ("我没有", True),
        ("未", True),
        ("否认有", True),
        ("我不", True),
        ("是不是", False),
        ("要不要", False),
        ("能不", False),
        ("没有任何", True),
        ("我有", False),
        ("不舒服，", False),
    ],
)
def test_endings_that_negate(before, denied):
    assert ends_with_negator(before) is denied


@given(st.text(max_size=80))
def test_any_text_is_parsed(text):
    stance = read_stance(text)
    assert stance == read_stance(text)
    assert len(stance.subject) <= len(text)


@pytest.mark.parametrize(
    ("header", "yes", "predicate"),
    [
        ("MRI needed?", True, "MRI needed"),
        ("CT", True, "CT"),
        ("Allowed?", True, "allowed"),
        ("Will it hurt?", False, "will not hurt"),
    ],
)
def test_headers_are_answered(header, yes, predicate):
    assert answer_header(header, yes=yes, lang="en") == predicate
