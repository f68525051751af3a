"""Statements that are neither torn nor frames of others; the sentences were written for this table."""

import pytest

from imapeval.extraction.lexicon.statements import read_statements
from imapeval.text.negation.stance import read_stance

STATEMENTS = {
    # What is said of several things together is one statement.
    "Thirst and tiredness are common.": ["Thirst are common", "tiredness are common"],
    "Itching and swelling are common.": ["Itching are common", "swelling are common"],
    "He needs a scan, an ECG, and drugs can help.": ["needs a scan", "an ECG", "drugs can help"],
    "Your count shows a low iron level, and the cause is obvious.": [
        "Your count shows a low iron level",
        "the cause is obvious",
    ],
    "A small or medium tear can heal.": ["A small or medium tear can heal"],
    "It depends on its size and location.": ["It depends on its size and location"],
    "It causes dryness of the mouth and nose.": ["It causes dryness of the mouth and nose"],
    "The swelling lasts a week or two.": ["The swelling lasts a week or two"],
    "疟疾是由寄生虫、蚊子等叮咬传播的。": ["疟疾是由寄生虫、蚊子等叮咬传播"],
    "麻疹和风疹的传播途径不同。": ["麻疹和风疹的传播途径不同"],
    "食管与胃之间有括约肌。": ["食管与胃之间有括约肌"],
    "预后取决于肿瘤的大小和位置。": ["预后取决于肿瘤的大小和位置"],
    "钙有助于骨骼和牙齿的发育。": ["钙有助于骨骼和牙齿的发育"],
    "吸烟或饮酒会诱发痛风。": ["吸烟会诱发痛风", "饮酒会诱发痛风"],
    "术前要做血常规、心电图等检查。": ["术前要做血常规", "心电图"],
    "痰会从鼻子或嘴里流出。": ["痰会从鼻子或嘴里流出"],
    "皲裂是指手或脚上出现裂口。": ["皲裂是指手或脚上出现裂口"],
    "该药可致眩晕，尤其是在起床或站立时。": ["药可致眩晕（尤其是在起床或站立时）"],
    # Names of one character, but no words that are none, and no parts of the body that share what is said of the last.
    "可以吃鱼、肉、蛋。": ["吃鱼", "肉", "蛋"],
    "查血、尿、便": ["查血", "尿", "便"],
    "三餐：粥、面、饭": ["三餐", "粥", "面", "饭"],
    "对，早、晚要休息。": ["晚要休息"],
    "肝、肾功能正常": ["肾功能正常"],
    # A subject is that of each verb behind it.
    "Asthma, a lung disease, is chronic and can be mild.": [
        "Asthma",
        "a lung disease",
        "Asthma is chronic",
        "Asthma can be mild",
    ],
    "Running daily is tiring and may not be wise.": ["Running daily is tiring", "Running daily may not be wise"],
    "Take iron tablets and rest, can be repeated.": ["Take iron tablets", "rest", "can be repeated"],
    "Jogging stresses knees and should be stopped.": ["Jogging stresses knees", "should be stopped"],
    "A sleep study, which is painless, will prove it.": ["A sleep study", "painless", "A sleep study will prove it"],
    "Take one or two daily.": ["Take one or two daily"],
    # But what is listed is not, and what is denied of several things is denied of each.
    "Take it with milk and two biscuits.": ["Take it with milk", "two biscuits"],
    "Mumps and measles are two different diseases.": ["Mumps and measles are two different diseases"],
    "It may cause thirst and tiredness.": ["It may cause thirst", "tiredness"],
    "Thirst and tiredness are unlikely.": ["Thirst are unlikely", "tiredness are unlikely"],
    "没有头晕和腿部的麻木。": ["没有头晕", "没有腿部的麻木"],
    "They do not affect pressure or the kidneys.": ["do not affect pressure", "do not affect the kidneys"],
    "不用粉剂、不捂纱布。": ["不用粉剂", "不捂纱布"],
    "避免紧身、不透气的衣服。": ["避免紧身", "避免不透气的衣服"],
    "不吃生冷、不易消化食物。": ["不吃生冷", "不吃不易消化食物"],
    "不要久坐、不活动。": ["不要久坐", "不要不活动"],
    "没有胸痛、无法平卧。": ["没有胸痛", "没有无法平卧"],
    "避免饮酒和驾车。": ["避免饮酒", "避免驾车"],
    "吸烟和饮酒都不可以。": ["吸烟都不可以", "饮酒都不可以"],
    # A remark in brackets does not separate a verb from its subject, and brackets are closed.
    "Anuria (no urine at all) is rare.": ["Anuria (no urine at all) is rare"],
    "如果有症状（如头晕、耳鸣等），应就诊。": ["就诊（如果有症状）"],
    "少尿（每天不足四百毫升）会损害肾脏。": ["少尿（每天不足四百毫升）会损害肾脏"],
    # What introduces a list states nothing.
    "痛风的治疗主要包括降尿酸、止痛，而哮喘的治疗方案包括吸入激素。": ["降尿酸", "止痛", "吸入激素"],
    "You need the following tests: ECG, MRI.": ["ECG", "MRI"],
    "需要以下检查和治疗：抽血、输液。": ["抽血", "输液"],
    "Causes:\n- smoking\n- age": ["smoking", "age"],
    "病因包括但不限于感染、外伤。": ["感染", "外伤"],
    "Based on your symptoms, it is gout.": ["gout"],
    "根据您的描述，考虑痛风。": ["痛风"],
    # Nor do a conjunction or reporting verb at its beginning, and a purpose such as finding out.
    "而哮喘可以控制，且不会传染。": ["哮喘可以控制", "不会传染"],
    "一般来说，通常情况下会好转。": ["会好转"],
    "I would explain that your rash is not typical of measles.": ["your rash is not typical of measles"],
    "复查肝功能，以评估疗效，以减轻疼痛。": ["复查肝功能", "减轻疼痛"],
    # The time of what follows is its condition.
    "血压稳定后，可以出院。": ["出院（血压稳定后）"],
    "因此手术后，需要复查。": ["复查（手术后）"],
    "虽然少见，但如果痰中带血或气促，应就诊。": ["少见", "就诊（如果痰中带血或气促）"],
    "发热会消退，但如果持续，需要进一步检查。": ["发热会消退", "进一步检查（如果持续）"],
    # What a chatbot says of itself.
    "As an AI model, I cannot examine you, make a diagnosis or prescribe drugs, but rest helps.": ["rest helps"],
    "I am a language model and not a doctor, but I can give you some advice.": [],
    "I am not able to diagnose this. Drink water.": ["Drink water"],
    "我是一个AI助手，无法进行医学诊断，但这是痛风。": ["这是痛风"],
    "我不是医生，不能提供诊断和治疗建议。请多喝水。": ["多喝水"],
    "我不是医生，但可以提供一些信息。": [],
    "无法给出具体的诊断和治疗建议。": [],
    # What a doctor says is none of it.
    "I am not worried about it.": ["I am not worried about it"],
    "I cannot see a fracture.": ["I cannot see a fracture"],
    "无法进行手术。": ["无法进行手术"],
}
STANCES = {
    "The bleeding is not because of the tablets.": [True],
    "头晕不是因为贫血，而是因为低血糖。": [True, False],
    "不是由病毒、细菌引起的。": [True],
    "Ask your doctor whether or not to stop it.": [False],
    "Causes including, but not limited to, smoking and age.": [False, False],
    "The plan is not including surgery.": [True],
    "治疗不包括手术、化疗。": [True],
    "The nurse can't feel it in your arm or see it on a scan.": [True, True],
    "Do not rub it or heat it.": [True, True],
    "It is not possible to stop snoring or cure deafness.": [True, True],
    "让孩子不接触病人的口水或痰。": [True],
    "Shoes for people not wearing socks or tights.": [True],
    "头晕、乏力也不一定都是缺铁造成。": [False],
    "Without fever, cough or rash.": [True, True, True],
    "Without zinc, hair grows badly.": [True, False],
    "There is no proof for it, and these herbs can be toxic.": [True, False],
    # What is done besides is not denied.
    "Stop rubbing it and keep it dry until it is gone.": [True, False],
    "Avoid picking it up, as holding and rocking will hurt.": [True, False, False],
    "A cyst without a wall is rare and may be drained.": [False, False],
    "Resting, avoiding stairs, and taking your tablets.": [False, True, False],
    "避免爬楼，并根据医嘱服药，同时用冰敷。": [True, False, False],
    "It's the mildest cream, and for a week atrophy isn't a risk.": [False, True],
    "避免熬夜，建立规律的作息。": [True, False],
    "不要抽烟，因为烟草会伤肺。": [True, False],
    "不可断食，否则有低血糖的风险。": [True, False],
    "避免吸烟，而治疗方法包括吸氧、手术。": [True, False, False],
    "避免过饱，尤其是在睡前，多运动。": [True, False],
    # A list goes on up to its conjunction, a new piece of advice, or a measure of its own.
    "Avoid juice, cola and sweets.": [True, True, True],
    "Avoid beer and wine, red meat and seafood.": [True, True, True, True],
    "Do not touch the eye, press the lid or wear lenses.": [True, True, True],
    "No juice or sweets, walk 30 min after meals.": [True, True, False],
    "No aspirin or ibuprofen, paracetamol is ok.": [True, True, False],
    "No beer, little red meat.": [True, False],
    "Don't scrub, push it back in now.": [True, False],
    "Avoid alcohol, and tell your doctor about it.": [True, False],
    "Stop alcohol for 6 weeks and repeat LFTs.": [True, False],
    "You need not stop milk unless he gets hives or vomiting.": [False, False],
    "Pain that is not controlled, persistent vomiting, or rash.": [True, False, False],
    "Fever, no urine, or vomiting.": [False, True, False],
    "Stopping suddenly could cause weakness, low blood pressure and collapse.": [True, False, False],
    "There is no need to drop push-ups or bench press.": [True, True],
    "Don't donate blood now, and report low mood.": [True, False],
    "No butter or ice, and leave blisters intact.": [True, True, False],
    "There's no vaccine, and people can catch it twice.": [True, False],
    "Avoid coffee, and alcohol.": [True, True],
    "Avoid smoking, and second-hand smoke.": [True, True],
    "Do not take aspirin or ibuprofen, and herbal supplements.": [True, True, True],
    "Mild headache, no fever, neck stiffness, vomiting.": [False, True, True, True],
    "Avoid perfumes, leave-on products, and bleach.": [True, True, True],
    "Plenty of water, no coffee, cola or juice.": [False, True, True, True],
    # A predicate with a subject of its own is not shared.
    "You have fever, vomiting, or you can't pass urine.": [False, False, True],
    "It causes birth defects, and condoms are not reliable.": [False, True],
    "Confusion and sweating is a significant sign.": [False, False],
    "Beer, wine and coffee are not allowed.": [True, True, True],
    "No weight loss, small clots or blood.": [True, True, True],
    "Avoid stress, repeat infections and smoking.": [True, True, True],
    "Avoid raw eggs, throw rugs, and soft cheese.": [True, True, True],
    "不能吃阿司匹林，布洛芬，萘普生。": [True, True, True],
    "不要吃辛辣食物，油腻，海鲜。": [True, True, True],
    "不可自行停药，每月查肝功。": [False, False],
    "别用洗液冲阴道，穿棉内裤。": [True, False],
    "不要骂，先听她说。": [True, False],
    "禁食三天，吃止泻药。": [True, False],
    "淋巴结无转移、Ki67较低。": [True, False],
    "没有血压偏高、血糖偏高。": [True, True],
    "否认胸痛、血压偏高。": [True, True],
    "可减少无脑儿、脊柱裂。": [False, False],
    "不要抽烟，喝酒，熬夜。": [True, True, True],
    "忌烟、辛辣食物，海鲜。": [True, True, False],
    "高热、结膜充血无分泌物、口唇干裂。": [False, True, False],
    "6小时无尿、精神差、眼窝凹陷。": [True, False, False],
    "既往无糖尿病、高血压。": [True, True],
    "戒烟、肺康复。": [True, False],
    "戒烟、酒。": [True, True],
    "不需要禁食绿叶蔬菜（如菠菜、生菜）。": [False, False, False],
    "不要自行停药、换药。": [False, True],
    "降尿酸药（别嘌醇、非布司他）。": [False, False, False],
    "别忘了吃药，多喝水。": [False, False],
    "看有没有肌瘤、腺肌症。": [False, False],
    "要不要吃药\n- 按肺结核规范治疗": [False, False],
}


@pytest.mark.parametrize(("text", "statements"), STATEMENTS.items())
def test_statements_are_whole(text, statements):
    lang = "en" if text.isascii() else "zh"
    assert [piece.text for piece in read_statements(text, lang)] == statements


@pytest.mark.parametrize(("text", "denied"), STANCES.items())
def test_denials_are_neither_lost_nor_turned(text, denied):
    lang = "en" if text.isascii() else "zh"
    assert [read_stance(piece.text).denies for piece in read_statements(text, lang)] == denied
