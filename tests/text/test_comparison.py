import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.text.comparison.similarity import measure_wording_similarity
from imapeval.text.comparison.wordings import CONTRADICTIONS, WordingVerdict, compare_wordings

SAME = [
    ("taper off atenolol", "stop atenolol gradually"),
    ("CT不如MRI那么好", "MRI比CT好"),
    ("Lactic acidosis is rare", "rarely lactic acidosis"),
    ("recurrence is uncommon in children", "it seldom recurs in children"),
    ("hematocrit (Hct)", "hematocrit"),
    ("treat once stable", "treat when stable"),
    ("coronavirus disease (Covid)", "coronavirus disease"),
    ("HER2-negative breast cancer", "breast cancer that is HER2 negative"),
    ("肌酐正常，尿酸360umol/L", "肌酐正常，尿酸6mg/dL"),  # uric acid weighs 168.11 g/mol: 6 mg/dL are 357 umol/L
    ("食欲不振", "食欲下降"),
    ("月经不调", "月经失调"),
    ("心律不齐", "心律失常"),
    ("azithromycin first day 500 mg", "azithromycin 500 mg first day"),
    ("LDL below 55 mg/dL", "LDL below 1.4 mmol/L"),  # both units in: ESC/EAS guidelines on dyslipidaemias, 2019
    ("ER(+)PR(-)", "ER positive, PR negative"),
    ("Computed Tomography (CT)", "CT"),
    ("血清谷丙转氨酶（ALT）", "ALT"),
    ("diarrhoea", "Diarrhea"),
    ("每日三次", "每日3次"),
    ("孕妇不能不补叶酸", "孕妇要补叶酸"),
    ("1型糖尿病不打胰岛素不行", "1型糖尿病必须打胰岛素"),
    ("阑尾穿孔非手术不可", "阑尾穿孔必须手术"),
    ("twice a day", "2 times a day"),
    ("insulin lowers glucose", "glucose is lowered by insulin"),
    ("metformin lowers glucose", "metformin to lower glucose"),
    ("slowly increase the dose", "the dose increases slowly"),
    ("exercise lowers blood pressure in adults", "in adults, exercise lowers blood pressure"),
    ("明显降低血压", "血压降低明显"),
    ("weight loss improves sleep apnoea", "sleep apnoea improves with weight loss"),
    ("氟康唑抑制华法林", "华法林被氟康唑抑制"),
    ("贫血是肾衰引起的", "肾衰引起贫血"),
    ("rest for two weeks", "rest for 14 days"),
    ("L4-5 disc herniation", "herniated disc L4-L5"),
    ("L4/5椎间盘突出", "L4-L5椎间盘突出"),
    ("nothing to worry about", "there is no cause for concern"),
    ("(−)", "阴性"),
    ("free T4 - 12 pmol/L", "free T4 12 pmol/L"),
    ("more common in men than in women", "less common in women than in men"),
    ("do not fly within a week of surgery", "fly at least 7 days after surgery"),
    ("never give ibuprofen under 3 months", "ibuprofen from 3 months"),
    ("IgM positive, IgG negative", "IgG negative, IgM positive"),
    ("stop the benzodiazepine gradually", "taper off the benzodiazepine"),
    ("ibuprofen 0.5 g", "ibuprofen 500 mg"),
    ("CT 检查", "CT检查"),
    ("levothyroxine 50 µg", "levothyroxine 50 mcg"),
    ("体温３８℃", "体温38度"),
    ("1,000 mg paracetamol", "1000 mg paracetamol"),
    (".5 mg lorazepam", "0.5 mg lorazepam"),
    ("年龄3周岁", "年龄3岁"),
    ("扑热息痛（对乙酰氨基酚）", "对乙酰氨基酚（扑热息痛）"),
    ("ibuprofen (400 mg)", "ibuprofen 400 mg"),
    ("computed tomography (CT)", "computed tomography"),
    ("每日3次，每次1片", "每次1片，每日3次"),
    ("ibuprofen 400 mg twice daily", "400 mg ibuprofen twice daily"),
    ("避免饮酒", "不要饮酒"),
    ("avoid alcohol", "do not drink alcohol"),
    ("do not stop the tablets", "continue the tablets"),
    ("see a doctor if the fever lasts", "see a doctor when the fever lasts"),
    ("MRI before biopsy", "before biopsy, MRI"),
    ("MRI before biopsy", "biopsy after MRI"),
    ("use the spray before the steroid", "the steroid comes after the spray"),
    ("bleeding is caused by warfarin", "warfarin causes bleeding"),
    ("一天三次", "早中晚各一次"),
    ("不要吸烟", "戒烟"),
    ("paracetamol prn", "paracetamol when needed"),
    ("ibuprofen after food", "ibuprofen p.c."),
    ("w/o fever", "without fever"),
    ("必要时服用", "需要时服用"),
    ("每晚一次", "每天晚上1次"),
    ("fever of 39 °C", "temperature 102.2 °F"),
    ("BP 120/80", "blood pressure 120/80 mmHg"),
    ("BP 120/80", "120/80 mmHg"),
    ("不用手术", "没有必要开刀"),
    ("激素断不了", "激素不能停"),
    ("started metformin", "metformin received"),
    ("began insulin", "started insulin"),
    ("避免骤停激素", "不可骤停激素"),
    ("心脏可能骤停", "心脏骤停"),
    ("not uncommon", "common"),
    ("not harmful", "safe"),
    ("1 in 1,000 patients", "0.1% of patients"),
    ("half of patients recover", "50% of patients recover"),
    ("一半的患者可以治愈", "50%的患者可以治愈"),
    ("不宜接种流感疫苗", "不宜也不接种流感疫苗"),
    ("men are affected more often than women", "women are affected less often than men"),
    ("heparin is better than warfarin", "warfarin is worse than heparin"),
    ("apixaban is safer than warfarin", "warfarin is riskier than apixaban"),
    ("boys are taller than girls", "girls are shorter than boys"),
    ("头孢比青霉素更安全", "青霉素不如头孢安全"),
    ("the incidence in women is higher than in men", "the incidence in men is lower than in women"),
    ("女性发病率高于男性", "男性发病率比女性低"),
    ("女性发病率高于男性", "男性发病率低于女性"),
    ("灭活疫苗的副作用比减毒疫苗小", "减毒疫苗副作用大于灭活疫苗"),
    ("布洛芬比对乙酰氨基酚更有效", "布洛芬效果优于对乙酰氨基酚"),
    ("肾病是高血压的并发症", "高血压引起肾病"),
    ("use calcium with vitamin D", "use vitamin D with calcium"),
    ("treatment is not needed unless there is vomiting", "treatment is needed only if there is vomiting"),
    ("pain in the leg with swelling", "swelling in the leg with pain"),
    ("the best treatment is rest", "rest is the best treatment"),
    ("paracetamol is as effective as ibuprofen", "ibuprofen is as effective as paracetamol"),
    ("no fever, no cough", "no cough, no fever"),
    ("腹痛伴呕吐", "呕吐伴腹痛"),
    ("目前不需要手术", "目前手术都不需要"),
    ("不需要穿刺", "穿刺都不需要"),
    ("不吃鱼、不吃肉", "不吃肉、不吃鱼"),
    ("每天早上服用降压药", "降压药每天早上服用"),
    ("not only painful but also swollen", "painful and swollen"),
    ("不仅疼痛而且肿胀", "疼痛和肿胀"),
    ("左侧肾结石", "左肾结石"),
    ("右邊橈骨骨折", "右侧桡骨骨折"),
    ("no lower back pain", "not any lower back pain"),
    ("the disorder is hereditary", "it is an inherited disorder"),
    ("nil by mouth after midnight", "nothing to eat or drink after midnight"),
    ("high calcium", "calcium ↑"),
    ("血钙升高", "血钙↑"),
    ("glucose > 10 mmol/L", "glucose above 10 mmol/L"),
    ("on the right side", "the appendix is on the right"),
    ("the pain is at night", "at night"),
    ("breathe in slowly", "inhale slowly"),
    ("nil by mouth after midnight", "do not eat or drink after midnight"),
    ("预后良好", "预后佳"),
    ("computed  tomography", "CT"),
    ("weakness on the left side", "left-sided weakness"),
    ("colonoscopy", "a colonoscopy ought to be done"),
    ("gallstones", "the patient most likely has gallstones"),
    ("胆结石", "患者很可能是胆结石"),
    ("肠镜", "应该做个肠镜"),
    ("headache in the morning", "headache in the mornings"),
    # Circumstances may stand anywhere.
    ("in the morning take the tablet with food", "with food take the tablet in the morning"),
    ("for fever give paracetamol to children", "to children give paracetamol for fever"),
    ("every day check your feet for wounds", "for wounds check your feet every day"),
    ("during pregnancy iron is needed in higher doses", "in higher doses iron is needed during pregnancy"),
    ("高血压是中风的主要原因", "中风的主要原因是高血压"),
    ("脑卒中是高血压的常见并发症", "高血压的常见并发症是脑卒中"),
    ("缺铁是贫血最常见的原因", "贫血最常见的原因是缺铁"),
]
NARROWER = [
    ("ibuprofen", "ibuprofen 400 mg"),
    ("ibuprofen", "ibuprofen (400 mg)"),
    ("rest for 1-4 weeks", "rest for 2 weeks"),
    ("once a day", "every morning"),
    ("see a doctor", "see a doctor if the fever lasts"),
]
OPPOSITE = [
    ("surgery is needed", "surgery is rarely needed"),
    ("negative feedback remains", "positive feedback"),
    ("a negative test does not exclude HIV", "a negative test means no HIV"),
    ("a normal ECG does not exclude infarction", "a normal ECG excludes infarction"),
    ("无虹膜", "有虹膜"),
    ("不应期待立即见效", "应期待立即见效"),
    ("do not take echinacea while breastfeeding", "take echinacea when breastfeeding"),
    # Under one condition that denies.
    ("如果没有症状，可以上班", "没有症状不能上班"),
    ("driving is allowed if there are no seizures", "driving is not allowed without seizures"),
    ("it does not cause infertility", "the vaccine causes infertility"),
    ("carbs do not cause diabetes", "carbohydrates cause diabetes"),
    ("soy does not cause cancer", "soya causes cancer"),
    ("do not taper off insulin", "taper off insulin"),
    ("it spreads", "it does not spread"),
    ("(-)", "阳性"),
    ("IgM positive, IgG negative", "IgM negative, IgG positive"),
    ("no need to worry", "you should worry"),
    ("contagious for up to 5 days", "not contagious for at least 5 days"),
    ("take it for at least 7 days", "do not take it for up to 7 days"),
    ("no bleeding within 24 hours", "bleeding for over 24 hours"),
    ("停用前列腺素", "使用前列腺素"),
    ("伤口不愈合", "伤口愈合"),
    ("gallstones without symptoms need no operation", "gallstones without symptoms need an urgent operation"),
    ("do not drive or operate machinery", "driving is allowed"),
    ("无发热", "明显发热"),
    ("no surgery needed", "surgery needed"),
    ("不需要手术", "需要手术"),
    ("not contagious", "contagious"),
    ("masturbation does not cause infertility", "masturbation leads to infertility"),
    ("大便隐血(+)", "大便隐血（-）"),
    ("HIV test negative", "HIV positive"),
    ("HBsAg (+)", "negative for HBsAg"),
    ("无传染性", "有传染性"),
    ("you don't need antibiotics", "you need antibiotics"),
    ("you dont need antibiotics", "you need antibiotics"),
    ("do not stop aspirin", "stop aspirin"),
    ("neither X-ray nor CT is needed", "a CT is needed"),
    ("阴性", "阳性"),
    ("negative", "positive"),
    ("停药", "继续服药"),
    ("不宜饮酒或吸烟", "可以吸烟"),
    ("not uncommon", "uncommon"),
    ("limit salt", "do not limit salt"),
    ("reduce the dose", "do not reduce the dose"),
    ("限制饮酒", "饮酒不受限制"),
    ("restricted diet", "unrestricted diet"),
    ("活动受限制", "活动不受限"),
    ("make up for the missed dose", "leave out the missed dose"),
    ("making up for the missed dose", "skip the missed dose"),
    ("禁欲", "同房"),
]
OTHER_AMOUNT = [
    ("T4 – 12 pmol/L", "T4 – 25 pmol/L"),
    ("<130/80 mmHg", "控制在150/90以下就行"),
    ("HbA1c > 7%", "HbA1c < 7%"),
    ("血糖>10mmol/L", "血糖<10mmol/L"),
    ("早3片晚1片", "早1片晚3片"),
    ("3 tablets in the morning and 1 tablet at night", "1 tablet in the morning and 3 tablets at night"),
    ("platelet count 250,000", "platelet count 40,000"),
    ("resting pulse of 58 per minute", "resting pulse of 125 per minute"),
    ("ceftriaxone 1 g intravenously every 24 hours", "ceftriaxone 2 g IV once daily"),
    ("blood pressure of 140/90", "pressure was 120/80"),
    ("BP 140/90", "120/80 mmHg"),
    ("ibuprofen 400 mg", "ibuprofen 200 mg"),
    ("5 days", "2 weeks"),
    ("每日三次", "每日一次"),
    ("布洛芬0.3克", "布洛芬0.2克"),
    ("ibuprofen (400 mg)", "ibuprofen (200 mg)"),
    ("每8h一次", "每6h一次"),
    # Two limits on the same side are two targets.
    ("体温38℃以上", "体温39℃以上"),
    ("lifelong", "for two weeks"),
    ("两个疗程", "四个疗程"),
    ("1 in 1000", "1 in 10"),
    ("HbA1c below 6.5%", "HbA1c below 8%"),
    ("target blood pressure below 130/80", "target blood pressure below 150/90"),
    ("空腹血糖低于5.3 mmol/L", "空腹血糖低于7.8 mmol/L"),
    ("take paracetamol if the fever is above 38.5", "take paracetamol if the fever is above 39.5"),
    ("take paracetamol if the fever is above 38.5", "take paracetamol if the fever is below 38.5"),
    (
        "call an ambulance if a seizure lasts more than 5 minutes",
        "call an ambulance if a seizure lasts more than 30 minutes",
    ),
]
OTHER_SIDE = [
    ("低风险前列腺癌", "高风险前列腺癌"),
    ("early surgery", "late surgery"),
    ("breathe in", "breathe out"),
    ("吸气", "呼气"),
    ("flexion of the knee", "extension of the knee"),
    ("屈膝", "伸膝"),
    ("Low TSH", "↑ TSH"),
    ("血钙↑", "血钙↓"),
    ("未见明显异常", "发现异常"),
    ("骨密度降低", "骨密度正常"),
    ("uric acid is within the normal range", "elevated uric acid"),
    ("the baby is in breech position", "the baby is lying head down"),
    ("双侧输卵管通畅", "双侧输卵管堵塞"),
    ("store at 2-8 °C", "store at room temperature"),
    ("2~8℃冷藏", "常温保存"),
    ("左侧卧位", "右侧卧位"),
    ("acute pancreatitis", "chronic pancreatitis"),
    ("dilated pupils", "pinpoint pupils"),
    ("瞳孔散大", "针尖样瞳孔"),
    ("benign tumor", "malignant tumor"),
    ("increase insulin", "decrease insulin"),
    ("hyperthyroidism", "hypothyroidism"),
    ("type 1 diabetes", "type 2 diabetes"),
    ("hepatitis A", "hepatitis B"),
    ("left arm pain", "right arm pain"),
    ("oral antibiotics", "intravenous antibiotics"),
    ("急性支气管炎", "慢性支气管炎"),
    ("血压升高", "血压下降"),
    ("高血压", "低血压"),
    ("甲状腺功能亢进", "甲状腺功能减退"),
    ("乙肝", "丙肝"),
    ("1型糖尿病", "2型糖尿病"),
    ("饭前服用", "饭后服用"),
    ("慢性肾脏病4期", "慢性肾脏病3期"),
    ("stage IV CKD", "CKD stage 3"),
    ("高血压Ⅱ级", "3级高血压"),
    ("二度烧伤", "III度烧伤"),
    ("肺癌早期", "晚期肺癌"),
    ("early lung cancer", "advanced lung cancer"),
    ("every morning", "every evening"),
    ("prednisone every morning", "prednisone nightly"),
    ("take 5 mg in the morning", "take 5 mg at bedtime"),
    ("睡前服用", "晨起服用"),
    ("早餐前", "晚餐前"),
    ("start insulin glargine tonight", "hold insulin glargine tonight"),
    ("the vaccine is live attenuated", "the vaccine is inactivated"),
    ("type A influenza", "type B influenza"),
    ("vaccinate now", "delay vaccination"),
    ("leave the drain in place", "remove the drain"),
    ("thrombocytopenia", "thrombocytosis"),
    ("tachypnea", "bradypnea"),
    ("安全", "有风险"),
    ("预后良好", "预后较差"),
    ("建议卧床休息", "建议剧烈运动"),
    ("内服", "外用"),
]
OTHER_ORDER = [
    ("T4 is converted to T3", "T3 converts to T4"),
    ("obesity increases risk of diabetes", "diabetes increased risk of obesity"),
    ("take it in the morning rather than at night", "take it at night rather than in the morning"),
    ("中风的主要原因是高血压", "高血压的主要原因是中风"),
    ("女性比男性多见", "男性比女性多见"),
    ("肝癌比胃癌少见", "胃癌比肝癌少见"),
    ("give ibuprofen instead of aspirin", "give aspirin instead of ibuprofen"),
    ("instead of aspirin, give ibuprofen", "give aspirin instead of ibuprofen"),
    ("switch from aspirin to clopidogrel", "switch from clopidogrel to aspirin"),
    ("replace aspirin with clopidogrel", "replace clopidogrel with aspirin"),
    ("MRI before biopsy", "biopsy before MRI"),
    ("MRI before biopsy", "MRI after biopsy"),
    ("first CT, then MRI", "first MRI, then CT"),
    ("warfarin causes bleeding", "bleeding causes warfarin"),
    ("paracetamol is safer than ibuprofen", "ibuprofen is safer than paracetamol"),
    ("青霉素优于头孢", "头孢优于青霉素"),
    ("头孢比青霉素更安全", "青霉素比头孢更安全"),
    ("从阿司匹林换成氯吡格雷", "从氯吡格雷换成阿司匹林"),
    ("先做CT再做MRI", "先做MRI再做CT"),
    ("高血压引起肾病", "肾病引起高血压"),
    ("黄疸由胆结石引起", "胆结石是黄疸引起的"),
    ("手术先于化疗", "化疗先于手术"),
    # What acts on the other.
    ("insulin lowers glucose", "glucose lowers insulin"),
    ("TSH stimulates the thyroid", "TSH is stimulated by the thyroid"),
    ("妈妈把乙肝传给宝宝", "宝宝把乙肝传给妈妈"),
    ("氟康唑抑制华法林", "氟康唑被华法林抑制"),
    # Whatever joins them.
    ("T4 is converted to T3", "T3 is converted to T4"),
    ("jaundice is a symptom of hepatitis", "hepatitis is a symptom of jaundice"),
    ("clarithromycin increases the level of simvastatin", "simvastatin increases the level of clarithromycin"),
    ("MRI is better than CT for the spinal cord", "CT is better than MRI for the spinal cord"),
    ("correct the anaemia before giving iron", "give iron before correcting the anaemia"),
    ("add insulin to metformin", "you should add metformin to insulin"),
    ("surgery works better than drugs for most people", "drugs work better than surgery for most people"),
    ("the dose was reduced from 20 mg to 10 mg", "the dose was reduced from 10 mg to 20 mg"),
    ("smokers have twice the risk of non-smokers", "non-smokers have twice the risk of smokers"),
    ("父亲把肾捐给儿子", "儿子把肾捐给父亲"),
    ("心衰继发于冠心病", "冠心病继发于心衰"),
    ("女性发病率高于男性", "男性发病率高于女性"),
    ("高血压引起肾病", "高血压是肾病的并发症"),
    ("头低脚高", "头高脚低"),
    ("吸烟者肺癌风险是不吸烟者的10倍", "不吸烟者肺癌风险是吸烟者的10倍"),
]
OTHER_CASE = [
    ("如果低风险，不需要化疗", "如果高风险，不需要化疗"),
    ("no imaging is needed if the D-dimer is negative", "no imaging is needed if the D-dimer is positive"),
    ("do a CT if the pain is on the right side", "do a CT if the pain is on the left side"),
    ("safe if pregnant", "safe if not pregnant"),
    ("take it unless you are pregnant", "take it if you are pregnant"),
    ("you can fly if you feel well", "you can fly if you feel unwell"),
    ("阴道镜（HPV阳性时）", "阴道镜（HPV阴性时）"),
]
OPEN = [
    ("death is rare", "rarely severe"),
    ("liver damage is not rare", "rarely liver damage"),
    ("relapse is rare in children", "rarely relapses in adults"),
    ("apixaban is less risky than warfarin", "apixaban is safer than warfarin"),
    ("低风险前列腺癌", "前列腺癌"),
    ("低风险房颤不需要抗凝", "房颤需要抗凝"),
    ("metformin does not cause it", "insulin causes it"),
    # Other words that begin alike.
    ("early infection", "ear infection"),
    ("ferrous sulfate", "ferric sulfate"),
    ("numb toes", "number of toes"),
    ("Asthma (Mild)", "Asthma"),
    ("hepatitis A.", "hepatitis"),
    # Names with a negator.
    ("triple-negative breast cancer", "breast cancer"),
    ("negative pressure wound therapy", "pressure wound therapy"),
    ("三阴性乳腺癌", "乳腺癌"),
    ("无痛胃镜", "胃镜"),
    ("鲍曼不动杆菌感染", "鲍曼杆菌感染"),
    # Under a condition that denies.
    ("ibuprofen if there is no ulcer", "ibuprofen is safe with an ulcer"),
    ("1000", "1,000 mg"),
    ("<70", "<1.8 mmol/L"),
    ("3", "every 8 hours"),
    ("tranexamic acid 1 g within 24 hours", "tranexamic acid 1 g per day"),
    ("≥140/90 mmHg", "目标<130/80 mmHg"),
    ("> 7.0 mmol/L", "target < 6.1 mmol/L"),
    ("instil 1 ml OD", "instil 1 ml daily"),
    ("pain will taper off as you heal", "pain will continue as you heal"),
    ("magnesium sulfate 16 mEq in saline", "magnesium sulfate 16 mmol in saline"),
    ("50", "50 mg/L"),
    ("2023", "2024"),
    ("phosphate 30 mEq", "phosphate 30 mmol"),
    ("no benefit within 2 weeks", "benefit after at least 2 weeks"),
    ("not dangerous to fly with asthma", "safe to fly with asthma"),
    ("having high blood pressure is dangerous", "high blood pressure is dangerous"),
    ("smoking during pregnancy is dangerous", "smoking in pregnancy is harmful"),
    ("it works fast for most people", "it works quickly for most people"),
    ("节欲", "禁欲"),  # restraint, not abstinence
    ("day 10", "week 2"),
    ("第1周", "第3天"),
    ("布洛芬口服", "布洛芬"),
    ("reduced to normal TSH", "normal TSH"),
    ("注射步骤", "缓慢注射"),
    ("尿蛋白(+)", "尿蛋白(+++)"),
    ("未见异常密度影", "未见密度影"),
    ("live vaccine", "liver vaccine"),
    ("not just a cold", "a cold"),
    ("不仅是感冒", "感冒"),
    ("左侧卧位", "左卵巢囊肿"),
    ("signs of cervicitis with bacterial vaginosis (infection)", "infection"),
    ("acute on chronic kidney failure", "chronic kidney failure"),
    ("high blood pressure", "low salt diet"),
    ("高血压", "低盐饮食"),
    ("oral antibiotics", "antibiotics"),
    ("see a doctor if the fever lasts three days", "see a doctor if there is blood in the stool"),
    ("treatment is needed if the test is positive", "treatment is not needed if the test is negative"),
    ("avoid ibuprofen if you have asthma", "take ibuprofen if you have arthritis"),
    ("ibuprofen (if kidneys are healthy)", "ibuprofen (if kidneys are damaged)"),
    ("take aspirin if the fever is above 38.5", "do not take aspirin if the fever is below 38.5"),
    ("如果胸痛就服用阿司匹林", "如果感冒就服用阿司匹林"),
    ("penicillin", "antibiotic therapy"),
    ("避免油腻食物", "清淡饮食"),
    ("腹部不适", "腹部疼痛"),
    ("无创通气", "机械通气"),
    ("paracetamol (500 mg)", "ibuprofen (500 mg)"),
    ("阿司匹林（口服）", "青霉素（口服）"),
    ("surgery (if needed)", "antibiotics (if needed)"),
    ("men get it more often than women", "women are diagnosed less often than men"),
    ("头孢比青霉素更安全", "头孢比青霉素更便宜"),
    # One order in other words.
    ("gout affects men more often than women", "women get gout less often than men"),
    ("give antibiotics before surgery", "surgery follows after antibiotics"),
    ("inject insulin before meals", "eat after injecting insulin"),
    ("穿刺之前先消毒", "消毒后再穿刺"),
    ("hepatitis (viral)", "hepatitis (alcoholic)"),
    ("腹部不舒服", "腹部不适"),
    ("gram-negative infection", "bacterial infection"),
    ("diabetes (type 1)", "diabetes"),
    ("哮喘（重度）", "哮喘"),
    # The same characters in other words.
    ("肺癌III-IV期", "肺癌IV期"),
    ("肺癌中晚期", "肺癌晚期"),
    ("肺癌早中期", "肺癌早期"),
    ("肺癌III期", "肺癌III级"),
    ("stage IV melanoma", "oral melanoma"),
    ("慢性肾脏病4期", "慢性肾脏病"),
    ("avoid salt", "limit salt"),
    ("少吃盐", "不吃盐"),
    ("limit salt to 5 g a day", "do not limit salt to 2 g a day"),
]

_TURNED: dict[WordingVerdict | None, WordingVerdict] = {
    WordingVerdict.NARROWER: WordingVerdict.BROADER,
    WordingVerdict.BROADER: WordingVerdict.NARROWER,
}


@pytest.mark.parametrize(
    ("reference", "response", "verdict"),
    [
        *((*pair, WordingVerdict.SAME) for pair in SAME),
        *((*pair, WordingVerdict.OPPOSITE) for pair in OPPOSITE),
        *((*pair, WordingVerdict.OTHER_AMOUNT) for pair in OTHER_AMOUNT),
        *((*pair, WordingVerdict.OTHER_SIDE) for pair in OTHER_SIDE),
        *((*pair, WordingVerdict.OTHER_ORDER) for pair in OTHER_ORDER),
        *((*pair, WordingVerdict.OTHER_CASE) for pair in OTHER_CASE),
        *((*pair, WordingVerdict.NARROWER) for pair in NARROWER),
        *((*pair, None) for pair in OPEN),
    ],
)
def test_verdicts(reference: str, response: str, verdict: WordingVerdict | None) -> None:
    assert compare_wordings(reference, response) is verdict
    assert compare_wordings(response, reference) is _TURNED.get(verdict, verdict)


texts = st.text(max_size=40) | st.from_regex(r"(no |不)?[a-z]{1,6} \d{1,3} ?(mg|days|次)", fullmatch=True)


@given(texts, texts)
def test_symmetry_and_bounds(a: str, b: str) -> None:
    verdict, likeness = compare_wordings(a, b), measure_wording_similarity(a, b)
    assert compare_wordings(b, a) is _TURNED.get(verdict, verdict)
    assert measure_wording_similarity(b, a) == likeness
    assert 0 <= likeness.overlap <= 1
    assert 0 <= likeness.weight <= 1


@given(texts)
def test_a_value_never_contradicts_itself(value: str) -> None:
    assert compare_wordings(value, value) in (WordingVerdict.SAME, None)
    assert measure_wording_similarity(value, value).weight == 1


def test_every_unit_is_known() -> None:
    units = "mcg μg µg ug 微克 mg 毫克 kg 千克 公斤 g 克 ml 毫升 l 升 % ％ °C ℃ second seconds 秒 min mins minutes "
    units += "分钟 h hr hrs hours 小时 day days 天 日 week weeks 周 星期 month months 月 个月 yr years 年 岁 times 次 "
    units += "tablets pill 片 粒 drops 滴"
    for unit in units.split():
        for text in (f"3 {unit}", f"3{unit}", f"3 {unit.upper()}"):
            assert compare_wordings(text, text.replace("3", "4")) is WordingVerdict.OTHER_AMOUNT, text


def test_overlap_counts_words_and_chinese_bigrams() -> None:
    # 2 * |common| / (|a| + |b|): 2*1/(2+2); 腹部/部疼/疼痛 against 疼痛: 2*1/(3+1)
    assert measure_wording_similarity("steam inhalation", "steam bath").overlap == 0.5
    assert measure_wording_similarity("腹部疼痛", "疼痛").overlap == 0.5
    assert measure_wording_similarity("the", "of").overlap == 0.0


def test_affirmation_and_denial_have_no_similarity() -> None:
    assert measure_wording_similarity("rest the knee", "do not rest the knee").weight == 0
    assert measure_wording_similarity("do not rest the knee", "never rest the knee").weight == 1


@pytest.mark.parametrize(
    ("reference", "response", "weight"),
    [
        ("L4-L5 disc herniation", "L5-S1 disc herniation", 0),
        ("A型", "O型", 0),
        ("T2N0M0", "T3N1M0", 0),
        ("factor VIII deficiency", "factor IX deficiency", 0),
        ("GABA A", "GABA B", 0),
        # Possibly other names of one thing.
        ("vitamin D", "vitamin D3", 0.75),
        ("HER2 positive", "ERBB2 positive", 0.75),
        ("MTHFR C677T", "MTHFR 677CT", 0.75),
        ("vitamin B9", "vitamin M", 0.75),
        ("P. acnes", "C. acnes", 0.75),
    ],
)
def test_another_code_is_another_thing(reference: str, response: str, weight: float) -> None:
    assert measure_wording_similarity(reference, response).weight == weight


def test_a_replaced_word_reduces_the_weight() -> None:
    # Two of the three words are common: 1 - 2/3 / 2. A word more is nothing else in its place.
    assert measure_wording_similarity(
        "hold the tooth by the crown", "hold the tooth by the root"
    ).weight == pytest.approx(2 / 3)
    assert measure_wording_similarity("hold the tooth by the crown", "hold the tooth").weight == 1
    assert measure_wording_similarity("rest", "physiotherapy").weight == 1


def test_what_is_left_out_of_a_place_is_not_left_out() -> None:
    assert compare_wordings("Keep it at room temperature", "Leave out at room temperature") not in CONTRADICTIONS
    assert compare_wordings("avoid dairy", "leaves out dairy") is WordingVerdict.SAME


def test_different_conditions_are_not_a_contradiction() -> None:
    assert compare_wordings("take ibuprofen", "do not take ibuprofen") is WordingVerdict.OPPOSITE
    assert compare_wordings("take ibuprofen if it hurts", "do not take ibuprofen if the kidneys are ill") is None
    assert (
        compare_wordings("take ibuprofen if it hurts", "do not take ibuprofen if it hurts") is WordingVerdict.OPPOSITE
    )


def test_phrases_without_content_words_contradict_unless_only_one_is_an_amount() -> None:
    assert compare_wordings("needed", "not needed") is WordingVerdict.OPPOSITE
    assert compare_wordings("不需要", "需要3天") is WordingVerdict.OPPOSITE
    assert compare_wordings("diet without salt is advised", "diet with salt is advised") is WordingVerdict.OPPOSITE
    assert compare_wordings("in 50%", "most do not need treatment") is None
    assert compare_wordings("10-16 years of age", "not when you are first drunk") is None
