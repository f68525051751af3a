import pytest

from imapeval.graph.linking.phrases import find_heads
from imapeval.text.dimensions.stages import find_stages, strip_stage


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("CKD4期", {"stage": {4}}),
        ("肺癌Ⅲ期", {"stage": {3}}),
        ("chronic kidney disease, Stage IV", {"stage": {4}}),
        ("子宫内膜癌IB1期", {"stage": {1}}),  # no second number
        ("stage IIIb", {"stage": {3}}),
        ("肺癌III-IV期", {"stage": {3, 4}}),
        ("CKD stages 2 to 4", {"stage": {2, 3, 4}}),
        ("2、4期压疮", {"stage": {2, 4}}),
        ("III期或IV期", {"stage": {3, 4}}),
        ("stage I, III-IV", {"stage": {1, 3, 4}}),
        ("stages 4-3 or 1", {"stage": {1, 3, 4}}),
        ("Ⅰ、Ⅲ-Ⅳ期", {"stage": {1, 3, 4}}),
        ("NYHA classes II and III", {"grade": {2, 3}}),
        ("高血压二级", {"grade": {2}}),
        ("III度烧伤", {"degree": {3}}),
        ("stage 2 tumour, grade 3", {"stage": {2}, "grade": {3}}),
        ("CIN1", {"grade": {1}}),
        ("乳腺BI-RADS 4类", {"grade": {4}}),
        ("BI-RADS category 5", {"grade": {5}}),
        ("NYHA II", {"grade": {2}}),
        ("Ⅱ期或Ⅲ期", {"stage": {2, 3}}),
        ("Ⅰ期至Ⅲ期", {"stage": {1, 2, 3}}),
        ("高血压1级到3级", {"grade": {1, 2, 3}}),
        ("第一期、第二期", {"stage": {1, 2}}),
        ("stage I or stage III", {"stage": {1, 3}}),
        ("stage 1 to stage 3", {"stage": {1, 2, 3}}),
        ("stages II, III, and IV", {"stage": {2, 3, 4}}),
        ("BI-RADS 3类或4类", {"grade": {3, 4}}),
        ("TI-RADS 3类，8毫米", {"grade": {3}}),
        ("2期或3级", {"stage": {2}, "grade": {3}}),
        ("stage 2 or grade 3", {"stage": {2}, "grade": {3}}),
        ("ASA II", {"grade": {2}}),
        ("ASA 3", {"grade": {3}}),
        # No stages.
        ("ASA 81 mg", {}),
        ("ASA 100", {}),
        ("ASA 5 mg daily", {}),
        ("ASA 1g", {}),
        ("ASA 2 tablets", {}),
        ("ASA 2 x daily", {}),
        ("ASA 2 x 100 mg", {}),
        ("ASA 3 days", {}),
        ("ASA 2片", {}),
        ("vaccine 3", {}),
        ("发热38度", {}),
        ("屈膝3度", {}),
        ("2019级", {}),
        ("7.5级", {}),
        ("三四级", {}),  # 3 to 4, which would be read as 4
        ("grade 1.5", {}),
        ("stage 10", {}),
        ("a stage 4-day course", {}),
        ("class C", {}),
        ("classification 2", {}),
        ("class in 2 hours", {}),
        ("IVF期", {}),
        ("周期", {}),
    ],
)
def test_numbers_of_stages(value: str, named: dict[str, set[int]]) -> None:
    assert find_stages(value)[0] == named


@pytest.mark.parametrize(
    ("norm", "rest"),
    [
        ("慢性肾脏病4期", "慢性肾脏病"),
        ("4期慢性肾脏病", "慢性肾脏病"),
        ("肺癌iiia期", "肺癌"),
        ("高血压病3级", "高血压病"),
        ("烧伤二度", "烧伤"),
        ("第三度房室传导阻滞", "房室传导阻滞"),
        ("肺癌中晚期", "肺癌"),
        ("慢性阻塞性肺疾病急性加重期", "慢性阻塞性肺疾病"),
        ("lung cancer stage iv", "lung cancer"),
        ("grade 2 hypertension", "hypertension"),
        ("heart failure nyha ii", "heart failure"),
        ("heart failure nyha class ii", "heart failure"),
        ("心衰nyha ii级", "心衰"),
        ("cervical cin 2", "cervical cin"),
        ("cin2", "cin"),
        ("lung cancer stage ii and iii", "lung cancer"),
        ("stage ii or stage iii lung cancer", "lung cancer"),
        ("lung cancer stage 2 or stage 3", "lung cancer"),
        ("stage i iii lung cancer", "lung cancer"),
        ("肺癌ii期或iii期", "肺癌"),
        ("肺癌ii期iii期", "肺癌"),
        ("ii期或iii期肺癌", "肺癌"),
        ("肺癌i期至iii期", "肺癌"),
        ("烧伤二度或三度", "烧伤"),
        # A stage alone stays, and so does one in the middle.
        ("stage ii and iii", "stage ii and iii"),
        ("stage ii or stage iii", "stage ii or stage iii"),
        ("ii期或iii期", "ii期或iii期"),
        ("ii期iii期", "ii期iii期"),
        ("lung cancer stage 2 or grade 3", "lung cancer stage 2 or grade 3"),
        ("肺癌早期或中期", "肺癌早期或中期"),
        ("take asa 5 mg", "take asa 5 mg"),
        ("4期", "4期"),
        ("急性期", "急性期"),
        ("stage 4", "stage 4"),
        ("asa ii", "asa ii"),
        ("青春期", "青春期"),
        ("月经期", "月经期"),
        ("肺癌4期化疗", "肺癌4期化疗"),
        ("stage fright", "stage fright"),
    ],
)
def test_stripped_stages(norm: str, rest: str) -> None:
    assert strip_stage(norm) == rest


def test_heads_before_a_stage() -> None:
    assert list(find_heads("左肺癌iv期"))[:2] == [("左肺癌", ""), ("肺癌", "左")]
    assert list(find_heads("stage 4 ckd")) == [("ckd", "")]
