"""Amounts in English and Chinese phrases, and how those of two phrases relate.

If a conversion is not by definition, its source is given in the row; all others follow from the SI, from the
Gregorian calendar, or from the degree Fahrenheit (°C = (°F - 32) x 5/9).
"""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imapeval.text.amounts.compare import AmountRelation, Amounts, compare_amounts, find_amounts
from imapeval.text.amounts.units import conversion_factor
from imapeval.text.amounts.vocabulary import BASE_UNITS
from imapeval.text.amounts.vocabulary import UNITS_BY_NAME as UNIT_NAMES

HOUR = 1 / 24
MINUTE = HOUR / 60

SAME = [
    # Units that are left out
    ("heart rate around 130", "heart rate around 130 bpm"),
    ("eGFR 85", "eGFR 85 mL/min"),
    ("LVEF 0.35", "LVEF 35%"),
    ("HbA1c below 7", "HbA1c below 7%"),
    ("2.0-3.0", "INR维持在2到3之间"),
    ("低于2.6即可", "<2.6 mmol/L"),
    ("2.5 ± 0.5", "2.0-3.0"),
    ("32+0 weeks", "exactly 32 weeks"),
    ("potassium 5.8 mEq/L", "potassium 5.8 mmol/L"),
    ("5 mg OD", "5 mg once daily"),
    ("24h尿量<400 ml", "每日尿量少于400毫升"),
    ("2 tablets of 250 mg", "2 tablets of 0.25 g"),
    ("pulse 64 per minute", "pulse 64 bpm"),
    ("七成", "70%"),
    # Doses
    ("ibuprofen 0.5 g", "ibuprofen 500 mg"),
    ("levothyroxine 50 µg", "levothyroxine 50 mcg"),
    ("levothyroxine 50 ug", "左甲状腺素50微克"),
    ("0.4 mg of folic acid", "叶酸400微克"),
    ("1,000 mg paracetamol", "1000 mg paracetamol"),
    (".5 mg lorazepam", "0.5 mg lorazepam"),
    ("１０ｍｇ", "10 mg"),
    ("5㎎", "5 mg"),
    ("布洛芬0.3克", "ibuprofen 300 mg"),
    ("1.5 L of water", "1500 ml water"),
    ("饮水2000毫升", "drink 2 litres"),
    ("one teaspoon", "5 ml"),  # 21 CFR 101.9(b)(5)(viii)
    ("2 tbsp", "30 mL"),  # 21 CFR 101.9(b)(5)(viii)
    ("150 lb", "68 kg"),  # 1 lb is 0.45359237 kg by definition: 68.04 kg
    ("减重10斤", "lose 5 kg"),  # half a kilogram: 度量衡法 of 1929, article 5
    ("half a tablet", "半片"),
    ("1/2 tablet", "½片"),
    ("1½ tablets", "一片半"),
    ("2 puffs", "两喷"),
    ("5 drops", "五滴"),
    ("10,000 units", "1万单位"),
    ("800,000 U", "80万U"),
    ("2 g once daily", "2000 mg every day"),
    ("2,000 kcal", "8370 kJ"),  # a thermochemical calorie is 4.184 J: 8368 kJ
    # Per weight, per volume
    ("10 mg/kg", "每公斤体重10毫克"),
    ("10 mg/kg/day", "10毫克/公斤/日"),
    ("15 mg/kg per dose", "15 mg/kg"),
    ("125 mg/5 mL", "25 mg/ml"),
    ("haemoglobin 8 g/dL", "血红蛋白80g/L"),
    ("glucose 5.5 mmol/L", "血糖5.5毫摩尔/升"),
    # Both units in: ADA, Standards of Care 2024; NCEP ATP III (2001); AMA Manual of Style, 11th edition (factor 88.4)
    ("fasting glucose 126 mg/dL", "空腹血糖7.0 mmol/L"),
    ("total cholesterol 200 mg/dL", "胆固醇5.17 mmol/L"),
    ("creatinine 1.5 mg/dL", "creatinine 133 μmol/L"),
    ("platelet count 250,000", "platelet count of 250000"),
    ("INR维持在2.0~2.5", "INR 2.0-2.5"),
    ("day 5", "第五天"),
    ("WBC 12×10⁹/L", "白细胞12 x 10^9/L"),
    ("platelets 150,000/μL", "血小板150×10^9/L"),
    ("4-10×10^9/L", "4～10×10⁹/L"),
    ("50%", "百分之五十"),
    ("10-20 percent", "10%～20%"),
    ("BMI 25 kg/m²", "BMI 25 kg/m2"),
    ("eGFR 60 mL/min/1.73m²", "eGFR 60 ml/min"),
    ("heart rate 72 beats per minute", "心率72次/分"),
    ("每分钟60～100次", "60-100 bpm"),
    # How often
    ("twice a day", "每日两次"),
    ("two times per day", "bid"),
    ("b.i.d.", "一天2次"),
    ("TID", "日三次"),
    ("thrice daily", "每天3次"),
    ("qid", "四次/日"),
    ("qd", "每日1次"),
    ("q8h", "每8小时一次"),
    ("every 8 hours", "three times a day"),
    ("every 4-6 hours", "每4～6小时一次"),
    ("every-12-hours", "Q12H"),
    ("1 g 6-hourly", "1 g every 6 hours"),
    ("4 to 6 hourly", "every 4-6 hours"),
    ("half-hourly", "every 30 minutes"),
    ("one hourly check", "hourly"),
    ("every other day", "隔日一次"),
    ("on alternate days", "隔天一次"),
    ("每48小时用一回", "隔日用药一次"),
    ("每隔一天", "every second day"),
    ("weekly", "每周一次"),
    ("once a week", "一周一次"),
    ("once every two weeks", "fortnightly"),
    ("10 mg at night", "每晚10毫克"),
    ("20 mg nightly", "晚上一次，每次20毫克"),
    ("every four weeks", "once a month"),
    ("every 3 months", "quarterly"),
    ("每半年", "every 6 months"),
    ("once a year", "annually"),
    ("five days weekly", "5 days a week"),
    ("2-3 times a day", "一日2～3次"),
    ("two or three times a week", "一周两三次"),
    ("每日早晚各1次", "twice daily"),
    ("一天三次，一次两片", "每次2片，每日3次"),
    ("take 1 pill every 12 hours", "一天两次，每次1片"),
    # What falls to a day
    ("30 mg a day", "10 mg three times daily"),
    ("2000 ml per day", "每天饮水2升"),
    ("two tablets a day", "1 tablet twice a day"),
    ("the daily maximum is 4 g", "don't exceed 4,000 mg in 24 hours"),
    ("2 litres of water a day", "每日饮水2000毫升"),
    ("30 minutes a day", "每天快走半小时"),
    # Durations
    ("rest for two weeks", "rest for 14 days"),
    ("for a week", "连用7天"),
    ("a fortnight", "两周"),
    ("48 hours", "2天"),
    ("half a year", "半年"),
    ("半年", "6 months"),
    ("半年", "180天"),  # by the tolerance: a month has 28 to 31 days
    ("一个月", "30天"),
    ("一个月", "four weeks"),
    ("30天", "four weeks"),
    ("three months", "90 days"),
    ("three months", "12 weeks"),
    ("a year", "12个月"),
    ("one year", "365 days"),
    ("one year", "52 weeks"),
    ("a year and a half", "18个月"),
    ("半小时", "30分钟"),
    ("一刻钟", "15 minutes"),
    ("a quarter of an hour", "15分钟"),
    ("一周半", "10.5 days"),
    ("一个半月", "a month and a half"),
    ("两三天", "2-3 days"),
    ("3～5天", "3至5天"),
    ("3到5天", "three to five days"),
    ("between 5 and 7 days", "5-7天"),
    ("a couple of days", "两天"),
    ("twenty-four hours", "二十四小时"),
    ("a day or two", "一两天"),
    ("约5天", "5天左右"),
    ("about 10 days", "9 days"),  # by the tolerance for "about", a tenth
    ("24小时内", "within a day"),
    ("at least 3 days", "三天以上"),
    ("no more than 5 days", "不超过5天"),
    ("before week 12", "up to 12 weeks"),
    # Temperatures
    ("38.5 °C", "101.3 °F"),
    ("38.5度", "３８.５℃"),
    ("store at −20 °C", "储存于-20℃"),
    ("38度5", "38.5 °C"),
    ("38.9 ℃", "102 F"),  # 38.89: by the tolerance, a tenth of a degree
    ("over 38 °C", "体温超过38度"),
    ("a temperature of 39 degrees", "体温39℃"),
    # Ages
    ("under 5 years", "5岁以下"),
    ("children under 2 years", "未满24个月的幼儿"),
    ("children over 12", "12岁以上"),
    ("not under the age of 16", "16岁以上"),
    ("under the age of 2 years", "younger than 2"),
    ("65 years old", "65岁"),
    ("6-month-old", "6个月大"),
    ("6 months of age", "半岁"),
    ("adults 65 or older", "65岁及以上"),
    ("people over 60", "over 60s"),
    ("aged 6-12 years", "6～12岁"),
    ("younger than 18", "未满18岁"),
    # Blood pressures
    ("140/90", "140/90 mmHg"),
    ("120/80毫米汞柱", "120 over 80"),
    ("blood pressure below 130/80", "收缩压低于130，舒张压低于80"),
    ("16/10 kPa", "120/75 mmHg"),  # 1 kPa is 7.50062 mmHg (NIST SP 811): 120.0/75.0
    ("from 12 years", "aged 12 or older"),
    ("from 12 years of age", "12岁以上"),
    # Several of a kind
    ("10 mg then 20 mg", "20毫克，10毫克"),
    # Bounds: 民法典, article 1259, counts 以上 and 以下 with the number, and so do their negations.
    ("no greater than 5 mg", "at most 5 mg"),
    ("not longer than 5 days", "up to 5 days"),
    ("greater than or equal to 5 days", ">= 5 days"),
    ("大于等于5天", "至少5天"),
    ("小于或等于5天", "不超过5天"),
    ("切勿超过4克", "不超过4克"),
    ("至少间隔4小时", "每天最多6次"),
    ("10 mg q.d.s.", "10 mg four times daily"),  # British National Formulary, abbreviations of dose instructions
    ("10 mg b.d.", "10 mg twice daily"),
    ("10 mg t.d.s.", "10 mg three times daily"),
    ("HbA1c 6-monthly", "HbA1c every 6 months"),
    ("2-weekly", "every two weeks"),
    ("infuse over 30 minutes", "infuse for 30 minutes"),
    ("three quarters of an hour", "45 minutes"),
    ("store at minus 20 °C", "store at -20 °C"),
    ("零下18℃", "-18 °C"),
    ("taking ibuprofen at bedtime", "take ibuprofen at night"),
    # Once more in brackets
    ("fever above 38°C (100.4°F)", "fever above 38°C"),
    ("fever above 38°C (above 100.4°F)", "fever above 38°C"),
    ("体温超过38.5℃（101.3℉）", "体温超过38.5℃"),
    ("ibuprofen 0.5 g (500 mg) every 12 hours (twice a day)", "ibuprofen 500 mg twice a day"),
    ("isolate for 7 days ( one week )", "isolate for 7 days"),
    ("at least 70 kg (154 lb)", "at least 70 kg"),
]
NARROWER_B = [
    ("several days", "5 days"),
    ("数周", "3周"),
    ("at least 3 days", "5 days"),
    ("at least 3 days", "3 days"),
    ("within a week", "5 days"),
    ("3-7 days", "4-5 days"),
    ("under 5 years", "3 years old"),
    ("5岁以下", "aged 2 to 4"),
    ("60岁以上", "a 70-year-old"),
    ("38 °C以上", "39.5℃"),
    ("每日2～4次", "three times a day"),
    ("up to 4 times a day", "每日两次"),
    ("no more than 4 g a day", "1 g three times daily"),
    ("blood pressure below 140/90", "120/80 mmHg"),
    ("不超过2周", "十天"),
    ("over 38 °C for at least 3 days", "39 °C for 5 days"),
    ("200-400 mg every 6 hours", "400 mg every 6 hours"),
    ("tens of mg, 10-20 mg", "15毫克"),
    ("6个月以上婴儿", "an 8-month-old"),
    ("from 12 years", "aged 15"),
    ("from 12 years", "aged 12"),
    ("from 12 years of age", "aged 15"),
    ("from 2 to 12 years", "aged 5"),
    ("400 mg (400-800 mg)", "400 mg"),  # not the same in other words
]
OVERLAPPING = [
    ("1-2 weeks", "10-20 days"),
    ("3-5 days", "5-7 days"),
    ("10 mg then 20 mg", "10 mg"),
    ("at least 3 days", "up to 5 days"),
    ("under 10 years", "over 5 years"),
    ("30-50%", "40%～60%"),
    ("at least 200 mg for up to 5 days", "400 mg for 3-7 days"),
    ("10 mg for at least 5 days", "7 days"),
    ("at least 5 mg (at least 10 mg)", "at least 5 mg"),
    ("50 mg (100 mg)", "50 mg"),
]
DIFFERENT = [
    ("2.0-3.0", "3.5-4.5"),
    ("<1.4 mmol/L", "低于2.6即可"),
    ("<360 μmol/L", "降到480以下即达标"),
    ("孕32+4周", "孕26周"),
    ("48 bpm", "heart rate around 130"),
    ("paracetamol 1 g 6-hourly", "paracetamol 1 g 8-hourly"),
    ("store at -20 °C", "store at 20 °C"),
    ("3-monthly", "monthly"),
    ("two thirds of a tablet", "a tablet"),
    ("oxycodone 5 mg/325 mg", "oxycodone 10 mg/650 mg"),
    ("2 tablets of 250 mg", "250 mg"),
    ("五年生存率九成", "五年生存率不足两成"),
    ("from 3 months of age", "from 12 years"),
    ("from 2 to 12 years", "aged 15"),
    ("a few weeks", "several months"),
    ("within an hour", "数周"),
    ("几天", "几个月"),
    ("INR target 2 to 3", "INR target 4 to 5"),
    ("BMI of 19", "BMI of 34"),
    ("空腹血糖6.1", "空腹血糖16.1"),
    ("心率58次/分，血糖6", "血糖9"),
    ("第7天拆线", "第14天拆线"),
    ("day 5 of the cycle", "day 21 of the cycle"),
    ("under 5 years", "over 5 years"),
    ("5岁以下", "5岁以上"),
    ("under 5 years", "5 years old"),
    ("ibuprofen 400 mg", "ibuprofen 200 mg"),
    ("布洛芬0.3克", "布洛芬0.2克"),
    ("50 mg", "50 mcg"),
    ("5 days", "2 weeks"),
    ("6 weeks", "two months"),
    ("a month", "32 days"),
    ("10 months", "11个月"),
    ("23 months", "two years"),
    ("30 days", "6 weeks"),
    ("每日三次", "每日一次"),
    ("every 6 hours", "every 8 hours"),
    ("每8h一次", "每6h一次"),
    ("once a week", "once a day"),
    ("daily", "every other day"),
    ("38℃", "39℃"),
    ("100.4 °F", "39.5 °C"),
    ("体温38℃以下", "体温39℃以上"),
    ("children under 6", "children over 12"),
    ("未满18岁", "60岁以上"),
    ("140/90", "160/100"),
    ("blood pressure below 130/80", "150/95 mmHg"),
    ("120/80", "120/95"),
    ("8 g/dL", "8 g/L"),
    ("12×10^9/L", "4×10^9/L"),
    ("5%", "10%"),
    ("two tablets", "三片"),
    ("10 mg/kg", "20 mg/kg"),
    ("10 mg then 20 mg", "30 mg then 40 mg"),
    ("within 24 hours", "after more than 3 days: at least 72 hours"),
    ("at most 5 days", "at least 2 weeks"),
    ("at most 5 days", "at least 5 days"),
    ("no more than 4 g a day", "每天不少于6克"),
    ("for 3 days, 400 mg", "for 7 days, 400 mg"),
    ("100 times a minute", "每分钟60次"),
    ("30 minutes a day", "每天2小时"),
    ("400 mg once daily", "200 mg twice daily"),
]
ONE_SIDED = [
    ("2 tablets of 250 mg", "500 mg"),
    ("age 65", "65 years"),  # an age is no duration
    ("ibuprofen 400 mg", "ibuprofen"),
    ("400 mg every 8 hours", "every 8 hours"),
    ("10 mg for 5 days", "10 mg"),
    ("每日3次，每次1片", "每日3次"),
    ("2 tablets", "2 drops"),
    ("sodium 140 mmol/L", "sodium 322 mg/dL"),  # no clinician writes it so
    ("400 mg a day", "400 mg"),
    ("1000 IU", "25 micrograms"),
]
NOTHING = [
    ("CA 125", "CA 199"),
    ("type 2 diabetes", "stage 3"),
    ("vitamin B12", "COVID-19"),
    ("L4-L5", "H1N1"),
    ("2019年", "in 2019"),
    ("", "penicillin"),
]
RELATED = [
    *((*pair, AmountRelation.SAME) for pair in SAME),
    *((*pair, AmountRelation.NARROWER_B) for pair in NARROWER_B),
    *((*pair, AmountRelation.OVERLAPPING) for pair in OVERLAPPING),
    *((*pair, AmountRelation.DIFFERENT) for pair in DIFFERENT),
    *((*pair, AmountRelation.ONE_SIDED) for pair in ONE_SIDED),
    *((*pair, None) for pair in NOTHING),
]
SWAPPED = {
    AmountRelation.NARROWER_A: AmountRelation.NARROWER_B,
    AmountRelation.NARROWER_B: AmountRelation.NARROWER_A,
}


def relate(a: str, b: str) -> AmountRelation | None:
    return compare_amounts(find_amounts(a), find_amounts(b))


def swap(relation: AmountRelation | None) -> AmountRelation | None:
    return relation and SWAPPED.get(relation, relation)


def read(text: str) -> list[tuple[str, float | None, float | None]]:
    return [(item.dimension, item.low, item.high) for item in find_amounts(text).items]


def test_the_table_is_large_enough() -> None:
    assert len({(a, b) for a, b, _ in RELATED}) == len(RELATED) >= 120


@pytest.mark.parametrize(("a", "b", "relation"), RELATED)
def test_relations(a: str, b: str, relation: AmountRelation | None) -> None:
    assert relate(a, b) is relation
    assert relate(b, a) is swap(relation)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 mg", [("mass", 10, 10)]),
        ("5 μg", [("mass", 0.005, 0.005)]),
        ("70 kg", [("mass", 70e6, 70e6)]),
        ("10 lb", [("mass", 4535923.7, 4535923.7)]),  # 0.45359237 kg by definition
        ("2 L", [("volume", 2000, 2000)]),
        ("1 tbsp", [("volume", 15, 15)]),  # 21 CFR 101.9(b)(5)(viii)
        ("250 cc", [("volume", 250, 250)]),
        ("20,000 IU", [("international units", 20000, 20000)]),
        ("10 units", [("international units", 10, 10)]),
        ("国际单位", []),
        ("3 drops", [("drops", 3, 3)]),
        ("1袋", [("sachets", 1, 1)]),
        ("1支", [("vials", 1, 1)]),
        ("twenty-one tablets", [("tablets", 21, 21)]),
        ("九十九粒", [("tablets", 99, 99)]),
        ("一百二十毫升", [("volume", 120, 120)]),
        ("three hundred mg", [("mass", 300, 300)]),
        ("三点五毫克", [("mass", 3.5, 3.5)]),
        ("2 million units", [("international units", 2e6, 2e6)]),
        ("10 mg/kg", [("mass per mass", 1e-5, 1e-5)]),
        ("7.0 mmol/L", [("substance per volume", 0.007, 0.007)]),
        ("60 mL/min/1.73m²", [("volume per duration", 86400, 86400)]),
        ("120 mmHg", [("pressure", 120, 120)]),
        ("systolic pressure of 140 mmHg", [("systolic pressure", 140, 140)]),
        ("140/90", [("systolic pressure", 140, 140), ("diastolic pressure", 90, 90)]),
        ("130-139/85-89", [("systolic pressure", 130, 139), ("diastolic pressure", 85, 89)]),
        ("130/80-139/89", [("systolic pressure", 130, 139), ("diastolic pressure", 80, 89)]),
        ("875/125 mg", [("mass", 875, 875), ("mass", 125, 125)]),
        ("5 cm", [("length", 5, 5)]),
        ("2 inches", [("length", 5.08, 5.08)]),  # 2.54 cm by definition
        ("20 Gy", [("radiation dose", 20, 20)]),
        ("2000 calories", [("energy", 2000, 2000)]),  # those of food
        ("10 mEq", [("equivalents", 10, 10)]),
        ("3倍", [("ratio", 3, 3)]),
        ("3 times higher", [("ratio", 3, 3)]),
        ("3 doses", [("count", 3, 3)]),
        ("五六次", [("count", 5, 6)]),
        ("once daily", [("frequency", 1, 1)]),
        ("hourly", [("frequency", 24, 24)]),
        ("q4-6h", [("frequency", 4, 6)]),
        ("every third day", [("frequency", pytest.approx(1 / 3), pytest.approx(1 / 3))]),
        ("biw", [("frequency", pytest.approx(2 / 7), pytest.approx(2 / 7))]),
        ("5 cigarettes a day", [("frequency", 1, 1)]),
        ("2片/日", [("tablets per duration", 2, 2)]),
        ("一天吃3回", [("frequency", 3, 3)]),
        ("3天后复查一次", [("duration", 3, 3), ("count", 1, 1)]),
        ("发热3天呕吐2次", [("duration", 3, 3), ("count", 2, 2)]),
        ("早中晚各服2片", [("frequency", 3, 3), ("tablets", 2, 2)]),
        ("10 mg at night", [("mass", 10, 10), ("frequency", 1, 1)]),
        ("avoid driving at night", []),
        ("至少隔日换药", [("frequency", 0.5, None)]),
        (
            "temperature -101 °F",
            [("temperature", pytest.approx(101 * 5 / 9 - 160 / 9), pytest.approx(101 * 5 / 9 - 160 / 9))],
        ),
        ("1 in 10 000", [("share", pytest.approx(0.01), pytest.approx(0.01))]),
        ("must not be higher than 38 °C", [("temperature", None, 38)]),
        ("不能高于38℃", [("temperature", None, 38)]),
        ("cough at night", []),
        ("several times a day", []),
        ("activities of daily living", []),
        ("一周三次", [("frequency", pytest.approx(3 / 7), pytest.approx(3 / 7))]),
        ("an hour before meals", [("duration", pytest.approx(HOUR), pytest.approx(HOUR))]),
        ("半小时", [("duration", pytest.approx(30 * MINUTE), pytest.approx(30 * MINUTE))]),
        ("十天半个月", [("duration", 10, pytest.approx(30.4375 / 2))]),
        ("10多天", [("duration", 10, 20)]),
        ("3天余", [("duration", 3, 4)]),
        ("5+ days", [("duration", 5, None)]),
        ("a week later", [("duration", 7, 7)]),
        ("5-year survival", [("duration", 1826.25, 1826.25)]),
        ("smoked for over 20 years", [("duration", 7305, None)]),
        ("after week 20 of pregnancy", [("duration", 140, None)]),
        ("under 5 years", [("age", None, 5)]),
        ("children over 12", [("age", 12, None)]),
        ("children over 12 kg", [("mass", 12e6, None)]),
        ("children 6 to 12", [("age", 6, 12)]),
        ("6 months to 2 years old", [("age", 0.5, 2)]),
        ("6个月～3岁", [("age", 0.5, 3)]),
        ("1岁半", [("age", 1.5, 1.5)]),
        ("3个月以下婴儿", [("age", None, 0.25)]),
        ("6月龄", [("age", 0.5, 0.5)]),
        ("101.3 °F", [("temperature", 38.5, 38.5)]),
        ("38度5", [("temperature", 38.5, 38.5)]),
        ("fever of 104", [("temperature", 40, 40)]),
        ("a temperature of 104 degrees", [("temperature", 40, 40)]),
        ("head of the bed at 30 degrees", []),
        ("flexion to 90°", []),
        ("床头抬高30度", []),
        ("水温60度", [("temperature", 60, 60)]),
        ("体温超过38.5", [("temperature", 38.5, None)]),
        ("不得超过3天", [("duration", None, 3)]),
        ("至少治疗六个月", [("duration", 182.625, None)]),
        ("2 x 500 mg", [("mass", 500, 500)]),
        ("3x daily", [("frequency", 3, 3)]),
        ("兩個星期", [("duration", 14, 14)]),
        ("①每日2次", [("frequency", 2, 2)]),
        ("10⁹", []),
        ("10⁹/L", []),
        ("below -70 °C", [("temperature", None, -70)]),
        ("-20 to 25 °C", [("temperature", -20, 25)]),
        ("2-8°C", [("temperature", 2, 8)]),
        ("2 °C -8 °C", [("temperature", 2, 8)]),
        ("4℃，-20℃", [("temperature", 4, 4), ("temperature", -20, -20)]),
        ("- 20 °C", [("temperature", 20, 20)]),
        ("体温-38.5℃", [("temperature", 38.5, 38.5)]),
        ("HbA1c below 53", [("value of hba1c", None, 53)]),
        ("aim for 7", [("number", 7, 7)]),
        ("calcium 4 mEq/L", [("equivalents per volume", 0.004, 0.004)]),
        ("aspirin 75 mg PO OD", [("mass", 75, 75), ("frequency", 1, 1)]),
        ("HbA1c below 1", [("share", None, 1)]),
        ("drops OD", []),
        ("should not be longer than 5 days", [("duration", None, 5)]),
        ("must not be shorter than 5 days", [("duration", 5, None)]),
        ("至少间隔4小时", [("frequency", None, 6)]),
        ("间隔4小时以上", [("frequency", None, 6)]),
        ("5/325 mg", [("mass", 5, 5), ("mass", 325, 325)]),
        ("37.5/325 mg", [("mass", 37.5, 37.5), ("mass", 325, 325)]),
        ("-4 °F", [("temperature", -20, -20)]),
        ("-38度5", [("temperature", -38.5, -38.5)]),
        ("1 000 mg", [("mass", 1000, 1000)]),  # SI brochure, 5.4.4: a space between groups of three digits
        ("150 000 IU", [("international units", 150000, 150000)]),
        ("2 500 mg", [("mass", 500, 500)]),  # two tablets of 500 mg
        ("6 weekly sessions", [("frequency", pytest.approx(1 / 7), pytest.approx(1 / 7))]),
        ("twice weekly", [("frequency", pytest.approx(2 / 7), pytest.approx(2 / 7))]),
        ("days 3-5", [("number of the day", 3, 5)]),
        ("between the ages of 12 and 17", [("age", 12, 17)]),
        ("between ages 12 and 17", [("age", 12, 17)]),
        ("the infusion lasts over 30 minutes", [("duration", pytest.approx(30 * MINUTE), None)]),
        ("give to children over 5 years", [("age", 5, None)]),
    ],
)
def test_readings(text: str, expected: list[tuple[str, float | None, float | None]]) -> None:
    assert read(text) == expected


NAMES = """
type 2 diabetes|stage 3 CKD|grade 2 sprain|vitamin B12|COVID-19|L4-L5|C5-6|hepatitis B|T3|omega-3 capsules|H1N1|HbA1c
IL-6|5-HT3 antagonist|6-MP|CA19-9|12-lead ECG|2D echo|in 2019|2019年|2020年3月|5月3日|三月|十二月|3月份|星期三|call 911
24/7|20/20 vision|70/30 insulin|two-thirds of patients|half of the patients|one in five|a second opinion|a D&C
a drop in blood pressure|once the fever is gone|every now and then|at once|first-line|0,5 mg|1:1000|国际单位
第二胎|第3次|第 3 个|2型糖尿病|3期|Ⅱ度房室传导阻滞|二度烧伤|百日咳|半月板损伤|十二指肠溃疡|一般|一氧化碳|半身不遂
半夏|半流质饮食|三七|百合|四肢|一次性|十几天|次数多|一成人|隔离|横膈|三分之一|一片红斑|两侧|初三|周一至周五
""".strip("\n")


@pytest.mark.parametrize("text", NAMES.replace("\n", "|").split("|"))
def test_names_and_ordinals_are_not_amounts(text: str) -> None:
    assert find_amounts(text) == Amounts((), text)


def test_comparatives() -> None:
    (under,) = find_amounts("under 5 days").items
    (most,) = find_amounts("at most 5 days").items
    (about,) = find_amounts("大约5天").items
    assert (under.high, under.exclusive, under.approximate) == (5, True, False)
    assert (most.high, most.exclusive) == (5, False)
    assert (about.low, about.high, about.approximate) == (5, 5, True)


@pytest.mark.parametrize(
    ("text", "pieces", "rest"),
    [
        ("take 10 mg twice daily with food", ["10 mg", "twice daily"], "take , , with food"),
        ("ibuprofen (400 mg)", ["400 mg"], "ibuprofen (,)"),
        ("at least 3 days of rest", ["at least 3 days"], ", of rest"),
        ("每天饮水２升以上", ["每天饮水２升以上"], ",饮水,"),
        ("至少治疗六个月", ["至少治疗六个月"], ",治疗,"),
        ("体温38.5℃以上", ["38.5℃以上"], "体温,"),
        ("每次1片，每日3次", ["每次1片", "每日3次"], ",，,"),
        ("½片", ["½片"], ","),
        ("白细胞4×10⁹/L↑", ["4×10⁹/L"], "白细胞,↑"),
        ("血压140/90", ["140/90", "140/90"], "血压,"),
        ("penicillin", [], "penicillin"),
    ],
)
def test_remaining_text(text: str, pieces: list[str], rest: str) -> None:
    found = find_amounts(text)
    assert [item.text for item in found.items] == pieces
    assert [text[slice(*item.span)] for item in found.items] == pieces
    assert found.rest == rest


# Pieces in any order: numbers, units, comparatives and their context.
PIECES = """
10|2.5|1,000|3-5|½|一|两三|二十|半|a|an|half|two|once|twice|twenty-one|0|a quarter of an |百分之
120/80-140/90|140/90|×10⁹| mg|μg|kg| ml| days|天|个月|周|岁| years old|℃| °F|度|%|次|片|/kg|/日
h|x|半个月| mmHg| kPa|月|年|日|每
每日|隔|every |each |per |q| daily|早晚各|times |at least |under |about |至少|不超过|以上|以下|左右| or more|+
 to |至| and |、|，| |-|/|children |体温
""".strip("\n")
pieces = st.sampled_from(PIECES.replace("\n", "|").split("|"))
phrases = st.lists(pieces, max_size=8).map("".join) | st.text(max_size=30)


@given(phrases, phrases)
@settings(max_examples=500)
def test_comparisons_are_symmetric(a: str, b: str) -> None:
    first, second = find_amounts(a), find_amounts(b)
    assert compare_amounts(first, second) is swap(compare_amounts(second, first))


@given(phrases)
@settings(max_examples=500)
def test_readings_are_sound(text: str) -> None:
    found = find_amounts(text)
    assert compare_amounts(found, found) is (AmountRelation.SAME if found.items else None)
    places = [item.span[0] for item in found.items]
    assert places == sorted(places)
    for item in found.items:
        assert item.text == text[slice(*item.span)] != ""
        assert item.low is not None or item.high is not None
        assert item.low is None or item.high is None or item.low <= item.high
    assert found.items or found.rest == text


ONES = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"


@given(st.integers(1, 99), st.sampled_from([("mg", "毫克"), ("days", "天"), ("ml", "毫升"), ("tablets", "片")]))
def test_numerals_agree_with_digits(number: int, unit: tuple[str, str]) -> None:
    ones = ["", *ONES.split(), "eighteen", "nineteen"]
    english = ones[number] if number < 20 else f"{TENS.split()[number // 10 - 2]}-{ones[number % 10]}".strip("-")
    digits = ["", *"一二三四五六七八九"]
    tens = "" if number < 10 else "十" if number < 20 else digits[number // 10] + "十"
    chinese = tens + digits[number % 10]
    assert read(f"{english} {unit[0]}") == read(f"{chinese}{unit[1]}") == read(f"{number} {unit[0]}") != []


def test_every_unit_is_known_to_pint() -> None:
    factors = {unit: conversion_factor(unit, BASE_UNITS[dimension]) for dimension, unit in UNIT_NAMES.values() if unit}
    assert min(factors.values()) > 0
    assert len(factors) > 40


def test_pint_is_imported_only_for_conversions() -> None:
    code = (
        "import sys; from imapeval.text.amounts.compare import find_amounts; "
        "find_amounts('5 mg for 3 days, 每日两次'); sys.exit('pint' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
