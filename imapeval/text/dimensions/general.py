"""Dimensions that occur in facts of every kind: acute or chronic, high or low, contagious or not."""

from __future__ import annotations

LOWER = (
    r"lower(?! (?:abdom|back|body|bowel|eyelid|extremit|gi\b|jaw|leg|limb|lip|lobe|molar|quadrant|respiratory|teeth|tooth"
    r"|tract|urinary))"
)
"""The word "lower" where it means less, as a pattern: not in "lower back"."""

TIMES_OF_DAY = (
    r"\bmornings?\b|\bbreakfast\b|清?晨[起间]?|[每一]早|早[上间起]|早(?=餐|饭|[晚饭]|[一二两三半\d]|各|中晚)"
    r"|\b(?:on (?:waking|rising|getting up)|first thing|upon (?:waking|awakening)|when you (?:wake|get) up)\b|起床(?:后|时)|睡醒后|上午",
    r"\b(?:noon|lunch)\b|中午|午[餐饭]|早中晚"
    r"|\b(?:lunchtime|mid-?day|noontime)\b|正午|午间|午时",
    r"\b(?:evenings?|nights?|nightly|bedtime|dinner|supper|qhs|qn)\b|[每一]晚|晚[上间]|晚(?=餐|饭|[一二两三半\d]|各)|睡前|夜[间里]"
    r"|\b(?:before (?:going to )?(?:bed|sleep)|on going to bed|on retiring|last thing at night|tonight|in the p\.?m\.?)\b|临睡|入睡前|睡觉前|就寝前|傍晚|夜晚",
)
# Antibodies against hepatitis B and against hepatitis C are two tests, and both may be done.
_NO_TEST = r"(?! (?:(?:virus|viral|surface|core|e|igm|igg) ){0,3}?(?:anti(?:body|bodies|gens?)|vaccin\w+|tests?|serolog\w+|panel|dna|rna|immunoglobulin)\b)"
_NO_TEST_ZH = (
    r"(?!(?:型?肝炎?|型?流感?|型)(?:病毒)?(?:表面|核心|e|E)?(?:抗原|抗体|疫苗|检[测查]|筛查|化验|免疫球蛋白|病毒载量))"
)
_LETTERS = tuple(
    rf"(?:(?<=hepatitis )|(?<=influenza )|(?<=flu )|(?<=type )|(?<=group )|(?<=vitamin )|(?<=haemophilia )|(?<=hemophilia ))\b{latin}\b{_NO_TEST}|{chinese}(?=型|肝|流){_NO_TEST_ZH}"
    for latin, chinese in zip("abcde", "甲乙丙丁戊", strict=True)
)
LEVEL = (
    r"\b(?:elevated|raised|high)\b|\babove (?:the )?normal(?: range| limits?)?\b|升高|增高|偏高|过高|高于正常"
    r"|\b(?:on the high side|over the limit|too high|increased(?! to\b)|(?:well |far |just |slightly )?(?:above|over) (?:the )?(?:target|goal|therapeutic)(?: range)?|supratherapeutic)\b|超标|高出正常|过量|攀升|飙升|走高|上扬|猛增|激增|骤升|高(?=血[糖钾钠钙脂](?!素)|尿酸)",
    r"\blow\b|\bbelow (?:the )?normal(?: range| limits?)?\b|降低|减低|下降(?![到至])|回落|骤降|偏低|过低|偏矮|过矮|低于正常|低(?=血[糖钾钠钙])"
    r"|\b(?:on the low side|(?<!-)deficient|insufficient|depleted|(?:reduced|decreased|diminished|impaired)(?! to\b)|loss of (?=hearing|smell|taste|sensation|memory|strength)|(?:(?<=hearing )|(?<=memory )|(?<=strength ))loss|(?:well |far |just |slightly )?(?:below|under) (?:the )?(?:target|goal|therapeutic)(?: range)?|subtherapeutic|suppressed(?= (?:tsh|acth|lh|fsh|cortisol)\b)|(?:(?<=tsh )|(?<=acth )|(?<=cortisol ))(?:is |was |levels? )?suppressed)\b|不足(?![为月])|缺乏",
    r"(?<!to )(?<!than )(?<!below )(?<!above )(?<!below the )(?<!above the )\bnormal(?:ly)?\b|\b(?:with)?in (?:the )?(?:target|therapeutic)(?: range)?\b|\b(?:on|at) (?:target|goal)\b|(?<![于至到复])正常|(?<=分数)保留(?:型)?|(?<![出过于])(?:已?回到|降到|落在|处于|在)?(?:参考|正常)值?范围(?:之?内)?",
)
QUANTITY = (
    r"\b(?:increas\w+|elevat\w+|rais(?:e|ed|es|ing)|ris(?:es?|ing)|go(?:es)? up|climb\w*|high|(?<!\bor )higher|rich)\b|升高|增高|增加|增多|偏高|过高|过多|上升|攀升|飙升|走高|上扬|猛增|激增|骤升|富含"
    r"|\b(?:doubl(?:e|ed|ing)(?![ -](?:vision|blind|lumen|strand|check))|step(?:ped|ping)? up|titrat\w+ up(?:wards?)?|up-?titrat\w*|bump(?:ed)? up|turn(?:ed)? up|boost(?:ed|ing)?(?! dose)|plenty of|lots of|liberal(?:ly)?|generous|extra(?= (?:fluids?|salt|water|fib(?:re|er)|protein|calcium|iron|dose|tablets?)))\b|加量|增量|加大|上调|调高|提高|加倍|翻倍|多(?=[吃喝饮摄补](?!药))|大量(?=[饮喝摄补])|加强(?=营养|剂量)",
    rf"\b(?:decreas\w+|reduc\w+|(?!(?<=\bor )lower\b){LOWER}\w*|fall(?:s|ing)?|(?<!eye )(?<!ear )(?<!nose )(?<!vitamin )(?<!eye)drops?(?! (?:in|into|of|to|twice|once|daily|at|every))|dropping|go(?:es)? down|declin\w+|diminish\w*|low|poor in)\b"
    r"|降低|减低|减少|下降|偏低|过低|过少|回落|走低|下滑|骤降|(?<=体重)减轻"
    r"|\b(?:cut(?:s|ting)?(?= (?:the |your |down|back|dose|salt|sugar|fat))|halv(?:e|ed|ing)|titrat\w+ down(?:wards?)?|down-?titrat\w*|step(?:ped|ping)? down|restrict(?:s|ed|ing)? (?=(?:your |the |dietary |daily )?(?:fluids?|salt|sodium|sugar|protein|potassium|fat|water|alcohol|intake|calories|fib(?:re|er)|caffeine|phosph))|limit(?:s|ed|ing)? (?=(?:your |the |dietary |daily )?(?:fluids?|salt|sodium|sugar|protein|potassium|fat|water|alcohol|intake|calories|caffeine|phosph))|sparing(?:ly)?)\b|减量|减半|下调|调低|减药|降量|限(?=[盐水钠糖钾酒]|制(?:饮|摄|[盐水钠糖钾]|蛋白|热量))|控(?=[盐糖水油])|少(?=[吃喝饮摄放盐糖油](?!药))|略减",
)
# Sides that exclude each other, although something may be on neither. Each row is one dimension, each pattern one side
# of it. Chinese patterns are limited to contexts where they have this meaning.
CONTRARIES = (
    (r"\bacute\b|急性", r"\bchronic\b|慢性"),
    QUANTITY,
    (
        r"\bhyper(?=[a-z]{4})|亢进|增强(?=$)|(?<=增生)(?:极度|明显|重度|异常)?活跃|高(?=血[压糖脂钾钠钙]|热量|脂|盐|糖|蛋白|纤维|[钠钾磷钙铁碘]|嘌呤)",
        r"\bhypo(?=[a-z]{4})|减退|减弱|低下(?!垂)|低(?=血[压糖脂钾钠钙]|热量|脂|盐|糖|蛋白|纤维|[钠钾磷钙铁碘]|嘌呤)",
    ),
    (
        r"\bleft\b(?! (?:in|over|out|alone|untreated))|左(?!右)",
        r"\bright\b(?! (?:away|now|after))|(?<!左)右",
        r"\bboth (?=eyes|ears|legs|arms|knees|hips|sides|breasts|kidneys|lungs|feet|hands)|\bbilateral(?:ly)?\b|双侧|两侧"
        r"|\bboth (?=test(?:es|icles?)\b|ovar(?:y|ies)\b|wrists|shoulders|elbows|ankles|thighs|calves|tonsils|nostrils|lobes)|双(?=眼|耳|肺|肾|膝|下肢|上肢|足|手|乳)|左右(?=.{1,6}[都均])",
    ),
    (r"\bupper\b|上(?=肢|腹|呼吸道|消化道|颌)", r"\blower\b|下(?=肢|腹|呼吸道|消化道|颌)"),
    (r"\bbefore\b|(?<=[餐饭术产经])前", r"\bafter\b|(?<=[餐饭术产经])后"),
    (r"\btype[ -]?(?:1|i|one)\b|(?:1|一|Ⅰ|\bI)型", r"\btype[ -]?(?:2|ii|two)\b|(?:2|二|Ⅱ|\bII)型"),
    _LETTERS,
    (
        r"(?:\b(?:caused by|due to) (?:an? )?)?\bvir(?:al|us(?:es)?)\b|病毒性?",
        r"(?:\b(?:caused by|due to) (?:an? )?)?\bbacteri(?:al|a|um)\b|细菌性?",
        r"(?:\b(?:caused by|due to) (?:an? )?)?\bfung(?:al|us|i)\b|真菌性?",
    ),
    (
        r"\bfirst trimester\b|孕早期|早孕|头三个月",
        r"\bsecond trimester\b|孕中期",
        r"\b(?:third|last) trimester\b|孕晚期",
    ),
    (r"\bsystolic\b|收缩(?=压|期)", r"\bdiastolic\b|舒张(?=压|期)"),
    (
        r"\bearly\b|早(?=中?期)"
        r"|\b(?:initial|beginning)(?= stages?\b)|初(?=期)|刚起病",
        r"中(?=晚?期)",
        r"\b(?:late|advanced)\b|晚(?=期)"
        r"|\b(?:end|final|terminal)(?=[- ]stages?\b)|末(?=期)|晚(?=[期了才]发现)",
    ),
    (
        r"\boral(?:ly)?\b|口服"
        r"|\b(?:by mouth|per os|drinkable|swallowed)\b|内服|经口(?=服|给)|吃的药",
        r"\bintravenous(?:ly)?\b|\bIV\b|静脉(?:注射|滴注|给药|输注|输液|点滴|推注)?"
        r"|\b(?:(?:via|by|on|with|as) (?:a |an )?(?:drip|infusion)|into (?:a|the) vein|infus(?:ed|ions?))\b|打点滴|输液|吊瓶|吊针|挂水|静滴|静注|静推|静点|打吊",
        r"\btopical(?:ly)?\b|外用|局部"
        r"|\b(?:(?:on|to|onto|into) the (?:affected )?skin|appl(?:y|ied) (?:it |the cream |the ointment )?(?:to|on) (?:the|your) (?:skin|area|rash|affected)|rub(?:bed)? (?:in|into|on)|(?:as|in) (?:a |an )?(?:cream|ointment|gel|lotion))\b|外涂|外擦|外搽|涂抹|涂搽|外敷|贴敷|涂(?=在|药|于|患)|抹(?=在|药|于|患)|擦(?=药|患处)",
        r"\bintramuscular\b|肌肉注射"
        r"|\b(?:intramuscularly|into (?:a|the) muscle|i\.m\.)|肌注|肌内注射|打屁股针|臀部注射",
        r"\bsubcutaneous\b|皮下注射"
        r"|\b(?:subcutaneously|under the skin|sub-?cut|into the fatty tissue|s\.c\.)|皮下(?=给药|打针|推注)|肚皮针|打肚皮",
        r"\b(?:rectal|suppositor(?:y|ies))\b|直肠给药|栓剂"
        r"|\b(?:rectally|per rectum|into the (?:rectum|back passage|bottom)|enemas?)\b|塞肛|肛塞|纳肛|灌肠|肛门(?:给药|用药|塞)",
        r"\bsublingual\b|舌下含服"
        r"|\b(?:sublingually|under (?:the|your) tongue|beneath the tongue)\b|舌下(?!腺|神经|囊肿|静脉|肿|含服)|舌头(?:底)?下|含在舌",
        r"\b(?:inhaled|inhalation|nebuli[sz]\w+)\b|吸入|雾化"
        r"|\b(?:inhal(?:e|es|er|ers|ing)|puffers?|by inhaler|breath(?:e|ed|ing) in the (?:medicine|drug|spray|powder))\b|喷吸|气雾剂|吸药",
    ),
    (
        r"\bmild(?:ly)?\b|\bslight(?:ly)?\b|轻[度微]",
        r"\bmoderate(?:ly)?\b|中度",
        r"\bsevere(?:ly)?\b|重[度症]|严重|凶险|危重|险恶",
    ),
    (
        r"\b(?:reliev\w+|eas(?:e|es|ed|ing)|alleviat\w+|improv\w+|lessen\w*|sooth\w+|better)\b|缓解|减轻|改善|好转|变好|消退",
        r"\b(?:aggravat\w+|worsen\w*|exacerbat\w+|intensif\w+|worse)\b|加重|恶化|加剧|变差|变坏",
    ),
    (
        r"\b(?:good|favou?rable|excellent|well)\b|(?<!不)良好|(?<=预后|效果|疗效|吸收|耐受|血运|弹性|通气)[较很]?好|乐观",
        r"\b(?:poor|bad|unfavou?rable|dismal|grim|poorly)\b|[较很]差|(?<=预后)(?:差|不良|不佳)|(?<=效果|疗效|吸收|耐受|血运|弹性|通气)(?:差|不佳|不良)|恶劣",
    ),
    (
        r"\b(?:most|the majority|nearly all|almost all)\b|绝?大多数?|(?<!大)多数|绝?大部分|多半(?=[都会能可要有是的在需])",
        r"\b(?:few|a minority|hardly any|only some)\b|极?少数|小部分|个别",
    ),
    (
        r"\b(?:common(?:ly)?|frequent(?:ly)?|often|(?<!as )usual(?:ly)?)\b|常见|多见|经常"
        r"|\b(?:prevalent|widespread|(?:happens|occurs) a lot|many people (?:have|get)|(?:seen|found|present|occurs?|happens?|develops?) in (?:most|the majority of|nearly all|almost all))\b|普遍|高发|时常|常有|很多人(?:都)?[有会得]|发[病生]率(?:较|很|比较|非常)?高",
        r"\b(?:rare(?:ly)?|seldom|infrequent(?:ly)?|exceptional(?:ly)?)\b|罕见|少见|偶尔|很少"
        r"|\b(?:once in a blue moon|(?:seen|found|present|occurs?|happens?|develops?) in (?:(?:very |only a )?few|hardly any|a (?:small )?minority of))\b|偶[见有]|少有|罕有|极少|难得(?=见|发)|发[病生]率(?:较|很|比较|非常)?低",
    ),
    (
        r"\b(?:unilateral(?:ly)?|one-sided|(?:(?:only|just) (?:on |in )?)?one side(?: only)?|(?:only |just )?one (?=(?:kidney|lung|eye|ear|leg|arm|knee|hip|breast|testicle|ovary)\b(?! at a time)))\b|单侧|一侧",
        r"\b(?:bilateral(?:ly)?|both sides|both (?=(?:kidneys?|lungs?|eyes?|ears?|legs?|arms?|knees?|hips?|breasts?|testicles?|testes|ovary|ovaries|feet|hands?)\b))|双侧|两侧",
    ),
    (
        r"\b(?:sing(?:le|ular)|solitary)\b|单发|单胎"
        r"|\b(?:only|just) one\b|\bone (?=lesion|lump|nodule|tumou?r|stone|polyp|mole|f(?:o)?etus|baby)|\bsingleton\b|单个|孤立性?|(?:只有|仅有?|就)[一1]个|单一",
        r"\b(?:multiple|several)\b|多发|多胎|双胎"
        r"|\b(?:numerous|multifocal(?! intraocular| lens)|(?:two|three|four|many|a few)(?= (?:lesions|lumps|nodules|tumou?rs|stones|polyps|moles|f(?:o)?etuses|babies))|twins?|triplets)\b|多个|好几个|数个|多处|多灶性?|双胞胎|三胞胎",
    ),
    (
        r"\b(?:partial(?:ly)?|incomplete(?:ly)?)\b|部分(?!人)"
        r"|\b(?:partly|in part)\b|不全(?=性|流产|骨折|梗阻)",
        r"\b(?:complete(?:ly)?|total(?:ly)?)\b|(?<!不)完全|全部"
        r"|\b(?:entire(?:ly)?|wholly|in full)\b|\b100 ?%|彻底|完全性",
    ),
    (
        r"\b(?:systemic(?:ally)?|generali[sz]ed|whole body)\b|全身|弥漫性?|泛发性?",
        r"\b(?:local(?:ly)?|locali[sz]ed)\b|局部|局限",
    ),
    (
        r"\b(?:short[- ]term|briefly|for a short (?:time|while|period)|for (?:only |just )?a few (?:days|weeks)(?: only)?)\b|短期|短时间",
        r"\b(?:long[- ]term|prolonged|lifelong|indefinitely|for (?:many )?years)\b|长期|长时间",
    ),
    (r"\b(?:indoors?|inside)\b|室内|屋内", r"\b(?:outdoors?|outside)\b|室外|户外|屋外"),
    (
        r"\b(?:cold|cool|ice|iced|icy)\b|冷(?=敷|水|饮|食|疗|的)|冰(?=敷|水|块|袋)|凉水",
        r"\b(?:warm|hot|heat|heated)\b|热(?=敷|水|饮|食|疗|的)|温水",
    ),
    (
        r"\b(?:pre-?menopausal|before (?:the )?menopause)\b|绝经前",
        r"\b(?:post-?menopausal|(?:after|past|through|reached|completed) (?:the )?menopause|menopause (?:has |is |was )?(?:already |been )?(?:reached|completed?|over))\b|绝经后",
    ),
    (
        r"\bbreast-?(?:fe(?:e)?d\w*| ?milk)\b|母乳(?:喂养)?|哺乳(?!动物|类|期)",
        r"\b(?:formula|bottle-?fe(?:e)?d\w*)\b|奶粉|配方奶|人工喂养"
        r"|\b(?:infant formula|top-?up feeds?|wean(?:ing)? (?:the |your )?(?:baby|infant|child)|bottle feeds?|artificial feeding)\b|断(?:母)?[奶乳]|代乳|回奶|喂牛奶",
    ),
    (r"\b(?:obstructive|obstructed)\b|梗阻性|阻塞性", r"\brestrictive\b|限制性"),
    (r"\b(?:isch(?:a)?emic|infarct\w*)\b|缺血性|缺血", r"\bha?emorrhagic\b|出血性"),
    (r"\bopen[- ]angle\b|开角", r"\b(?:closed?|narrow)[- ]angle\b|\bangle[- ]closure\b|闭角"),
    (r"过速|过快", r"过缓|过慢"),
    (r"便秘|(?:大便)?(?:干结|干硬|燥结)", r"腹泻|(?:大便)?(?:稀溏|溏稀|溏薄)|便溏|稀便"),
    (r"\b(?:liquids?|fluid diet)\b|流质|流食", r"\bsolids?\b|固体|干饭|普食"),
    (
        r"\b(?:combin\w+|together|concomitant\w*|alongside|mix(?:ed)?(?= with\b))\b|联合|合用|同服|同时(?=服|使|用)|一起"
        r"|\b(?:at the same time|simultaneous(?:ly)?|concurrent(?:ly)?|co-?administ\w+|in the same (?:syringe|glass|visit)|jointly|in combination)\b|同时(?=吃|给|打|接种|口)|一块儿?(?=吃|服|用|打)|混(?:在一起|着|用|合[服用])|并用|同吃|合服|搭配(?=吃|服|用)|配合(?=服|用|使用)",
        r"\b(?:alone|monotherapy|separately|on its own)\b|单独|单用|单药|分开"
        r"|\b(?:apart(?! from)|spaced? (?:out|apart)|stagger(?:ed|ing)?|at (?:a )?(?:different|separate) (?:times?|hours)|by itself|single(?:-| )agent|hours (?:apart|between)|separat(?:e|ed|ing)(?= (?:the |your )?\w+ (?:and|from)\b))\b|错开|隔开|分时|间隔(?=服|用|开|至少|[一二两三四半几\d])|岔开|一种药",
    ),
    (r"\b(?:primary)\b|原发性?", r"\b(?:secondary)\b|继发性?"),
    (
        r"\b(?:congenital|inborn)\b|先天性?|生下来就(?:有|是)的?|出生(?:时|后)?就有的?|与生俱来的?|娘胎里带来?的?|天生(?:就有|就是)?的?",
        r"(?<!community-)(?<!hospital-)\bacquired\b|后天性?|(?<!社区)(?<!医院)获得性|(?:长大|成年|出生)以?后才?(?:得|患|有|出现)的?",
    ),
    (r"\b(?:metasta\w+|disseminated)\b|转移|扩散|播散", r"\blocali[sz]ed\b|局限"),
    (
        r"\b(?:sensitive|susceptible|respond(?:s|ed|ing)?(?= (?:well )?to\b)|responsive(?= to\b))\b|敏感",
        r"\b(?:resistant|insensitive|refractory(?= to\b)|unresponsive(?= to\b))\b|耐药",
    ),
    (r"\bagonists?\b|激动剂|促进|刺激|激活", r"\b(?:antagonists?|blockers?|inhibitors?)\b|拮抗剂|阻滞剂|抑制剂?"),
    (
        r"\b(?:lean\w*|tilt\w*|bend\w*) (?:your head |the head |it )?forwards?\b|\bante(?:verted|version|flexed|flexion)\b|前倾|低头",
        r"\b(?:lean\w*|tilt\w*|bend\w*) (?:your head |the head |it )?backwards?\b|\bretro(?:verted|version|flexed|flexion)\b|\bhead back\b|后仰|仰头",
    ),
    (
        r"\bfirst[- ]line\b|\bfirst choice\b|一线|首选",
        r"\b(?:second|third|last)[- ](?:line|choice|resort)\b|二线|三线|次选|备选|末线",
    ),
    (
        r"\bevery day\b|\bdaily\b|\bregular(?:ly)?\b|规律|按时"
        r"|\b(?:on a (?:fixed |regular |strict )?schedule|(?:a)?round the clock|each day|continuous(?:ly)?|every single day|long-term daily|without gaps)\b|每[天日](?=都|坚持|服|吃|用|一)|天天|定时|坚持(?=[每服用吃吸打长])|持续(?=[服用吃])|不间断|按点|定期",
        r"\bonly when\b|必要时"
        r"|\b(?:(?:as|when|where|if)(?: and when)? (?:required|necessary|needed)|p\.?r\.?n\b\.?|on demand|only if|when symptoms (?:occur|appear|flare)|when it hurts|for attacks only|rescue)\b|按需|需要(?:时|的时候)|有(?:症状|需要|疼痛)(?:时|的时候|才|再)|[疼痛]的?时候?(?=才?[服用吃再])|发作时(?=才?[服用吃吸含喷])|不舒服(?:时|才|再)|难受(?:时|才|再)|临时(?=[服用吃])",
    ),
    (r"\b(?:intravaginal|through the nose|by nose|nasal(?:ly)?)\b|经鼻|用鼻", r"\bthrough the mouth\b|用口|用嘴"),
    (
        r"显性"
        r"|\b(?:autosomal[- ]|x-linked )?dominant\b(?! (?:hand|arm|side|leg|eye|hemisphere))",
        r"隐性"
        r"|\b(?:autosomal[- ]|x-linked )?recessive\b",
    ),
    (
        r"\b(?:anterior|front)\b|前(?=壁|侧|部)",
        r"\bposterior\b|(?<!came )(?<!come )(?<!comes )(?<!go )(?<!going )(?<!get )(?<!lower )\bback\b(?! (?:pain|ache|to|in\b|if|when))|后(?=壁|侧|部)",
    ),
    LEVEL,
    (
        r"\b(?:in )?breech(?: position| presentation)?\b|臀位"
        r"|\b(?:bottom|feet|foot|buttocks)[- ](?:first|down)\b|臀先露|足先露|屁股(?:在下|朝下|先)|臀部(?:在下|朝下)",
        r"\b(?:lying |in )?(?:head[- ](?:first|down)|cephalic|vertex)(?: position| presentation)?\b|头位"
        r"|\bhead (?:is )?(?:engaged|downwards?|pointing down)\b|头先露|头(?:朝|在|向)下|(?:胎头|头)已?入盆",
        r"\btransverse lie\b|横位"
        r"|\b(?:lying )?sideways\b|\btransverse (?=position|presentation)|肩先露|横(?:着|在)",
    ),
    (
        r"浅(?=表|层|部|Ⅱ|二)"
        r"|\bsuperficial(?:ly)?\b|表浅|浅(?=[静度])",
        r"深(?=层|部|Ⅱ|二)"
        r"|\bdeep(?= (?:burns?|wounds?|cuts?|ulcers?|infections?|lacerations?|tissue|veins?)\b)|深(?=[静度达及])",
    ),
    (
        r"\b(?:immediate(?:ly)?|now|today|same day|urgent(?:ly)?)\b|立即|当天|按时"
        r"|\b(?:straight ?away|right away|as soon as possible|asap|without delay|emergency(?! contracept)|(?:call|dial|ring|phone)(?: for)? (?:911|999|112|120|an ambulance)|prompt(?:ly)?|instantly|this minute|at the earliest)\b|尽快|马上|立刻|赶[紧快]|即刻|尽早|及早|及时|急诊|紧急|拨?打120|叫救护车|火速|第一时间|抓紧",
        r"\b(?:wait|delay\w*|postpon\w*|defer\w*|later|no hurry|routine(?= (?:visit|appointment|review|follow))|next (?:week|month|year))\b|推迟|暂缓|延[后迟期]|不急|以后再"
        r"|\b(?:put(?:ting)? off|hold(?:ing)? fire|elective(?:ly)?|watchful waiting|watch and wait|in due course|some other time|reschedul\w+|can wait)\b|择期|缓(?=打|种|做|一缓|接)|往后(?=推|延|挪)|晚点|过(?:几|一段|些)[天时日]|等(?:到|待|几天|等|一等|病好)|改期|迟些|暂不|观望",
    ),
    TIMES_OF_DAY,
)
# Sides that exclude each other and that say what they are about: "bed rest" and "stay active" need no other words in common.
STANDALONE = (
    (
        r"\b(?:(?:strict |complete |absolute |total )?bed ?rest|rest in bed|in bed|immobili[sz]\w+)\b|卧床(?:休息)?|制动"
        r"|\b(?:(?:stay|remain|keep)(?:ing)? in bed|confined to bed|take it easy|(?:complete|absolute|strict|total|plenty of|adequate) (?:bed ?)?rest|rest(?= (?:up|at home|completely|quietly|as much|for|and)|$)|rest(?:ing)? (?:the|your) (?:leg|knee|arm|ankle|foot|wrist|joint|back|voice|shoulder|elbow|hand)|put your feet up|lie down and rest|inactiv\w+|sedentary)\b|静养|静卧|躺床|床上休息|绝对休息|多休息|注意休息|充分休息|休养|歇着|躺着(?:休|别)|静息(?!痛|心)",
        r"\b(?:active|activity|activities|mobili[sz]e\w*|ambulat\w+|out of bed|(?:strenuous |vigorous |intense )?exercise)\b|[剧激]烈运动|多?运动|多?锻炼|多?下床(?:活动|行走|走动)?|多?活动(?!期|性|度|义)"
        r"|\b(?:keep(?:ing)? (?:moving|mobile|going)|mov(?:e|ing) (?:about|around)|get(?:ting)? (?:up|moving)|walk(?:ing)? (?:about|around|daily|regularly|more)|(?:stay(?:ing)? |keep(?:ing)? )?up and (?:about|moving)|physical activity|exercis(?:es|ing)|stay(?:ing)? (?:mobile|fit)|sports?|jogging|running(?! (?:nose|a\b)))\b|下地|多动|走动|起床走|多走|健身|体育课|跑步|早期活动|体力活动|动起来|起来走|散步|多?(?:下地|下床)(?:走动|走路|行走|活动|走走)?|多(?:运动|锻炼|活动)",
    ),
    (
        r"\b(?:remov\w+|tak(?:e|en|ing) (?:it |them )?out|extract\w*|excis\w+|pull(?:ed|ing)? out)\b|拔除|取出|摘除|切除|拔出|拔掉|拆除"
        r"|\b(?:tak(?:e|en|ing) (?:the |your |that )?(?:stitches|sutures|staples|coil|iud|tooth|teeth|plate|screws?|drain|tube|catheter|tick|splinter|stone|implant) out|com(?:e|es|ing) out|pull(?:ed|ing)? (?:the |your |that )?(?:tick|tube|object|splinter|knife)(?: out)?|pull(?:ed|ing)?(?= (?:the |your |that |a )?(?:tooth|teeth)\b)|tick removal|whipped out|clear(?:ed)? out|dug out|take off)\b|拔(?=牙|管|智齿|了|下)|拆(?=线|石膏|掉|了|钉)|取(?=环|掉|下|钉|钢|异物|支架|管)|摘(?=掉|环|下)|夹(?=出|掉|走)|挖(?=出|掉)|剔除|去除(?!率)|割(?=掉|除|了)|清除异物|抠出|抽出(?=异|刀)|切掉",
        r"\b(?:left (?:it |them )?in(?: place)?|leave (?:it |them )?in(?: place)?|in place|in situ|leav(?:e|ing)(?=.{1,30}\bin (?:place|situ))|retain\w*|preserv\w+|sav(?:e|ed|ing)(?= the| your| his| her))\b|保留|留置|留在(?:原位|原处)?"
        r"|\b(?:(?:stay|stays|staying|remain|remains|remaining|kept|keep|keeping) (?:it |them |the \w+ |your \w+ )?(?:in place|in situ|in position|put)|(?:leave|left|leaving) (?:it|them|the \w+|your \w+) (?:where (?:it is|they are))|keep(?:ing)? an eye on|(?:leave|leaving|left|keep)(?= (?:the|your) \w+ in(?: place)?$)|keep(?= (?:the|your) (?:tooth|teeth|coil|iud|gallbladder|implant|appendix|tonsils|uterus)\b)|keep (?:the|your) stitches)\b|留着|留下(?=牙|环|智齿)|留(?=在体内|在原|住)|继续(?=戴环|留置|放置)|原位(?=保|固定)|保牙|保住|放着|(?:定期|随访|动态|密切|先)?观察(?:着)?(?=即可|就[行好可]|为主)",
    ),
    (
        r"\b(?:inpatient|hospitali[sz]\w+|hospital admission|admit\w*)\b|住院"
        r"|\b(?:stay(?:ing)? in (?:the )?hospital|kept in(?: hospital| overnight)?|in hospital|hospital stay|on (?:a|the) ward)\b|入院|收住|收治|留院|留观|住进医院",
        r"\b(?:outpatient|at home|home care|discharg\w+)\b|门诊|居家|在家|出院"
        r"|\b(?:sent home|go(?:ing|es)? home|day[- ]case|as a day patient|home treatment|in the community|ambulatory(?= (?:care|treatment|surgery)))\b|回家|家中|家里|家庭(?:治疗|护理)|日间手术",
    ),
    (
        r"\b(?:surg(?:ery|ical|ically)|operat(?:e|ed|ing|ions?)(?! (?:theat|room|by |(?:heavy |a |any )?(?:machin|vehic)))(?: on)?)\b|(?<!非)手术"
        r"|\bunder the knife\b|开刀|动刀|动手术",
        r"\b(?:conservative(?:ly)?|non-?operative(?:ly)?|non-?surgical(?:ly)?)\b|保守|非手术"
        r"|\b(?:watchful waiting|medical(?:ly)? (?:managed|management|treatment)|medication (?:alone|only)|expectant(?:ly)? manage\w*)\b|药物治疗即可|内科治疗|期待治疗|(?:定期|随访|动态|密切|先)?观察(?:着)?(?=即可|就[行好可]|为主)",
    ),
    (
        r"\b(?:chew\w*|crush\w*)\b|\band (?:sprinkle|stir|empty) (?:it|them|the contents)\b|嚼碎后?|咬(?:碎|烂|开)后?|咀嚼|嚼服|压碎|碾碎|掰开"
        r"|\b(?:(?:break(?:ing)?|split(?:ting)?|grind(?:ing)?|cut(?:ting)?|halv(?:e|ing)|divid(?:e|ing)|open(?:ing)?)(?= (?:up )?(?:the |your |a |these |any )?(?:tablets?|capsules?|pills?)\b)|ground up|broken in half)\b|掰(?=半|碎|成|断|着)|研(?:碎|磨|成粉|末)|捣碎|磨(?:碎|成粉)|嚼(?=着|了|烂)|打开胶囊|拆开胶囊|去掉胶囊|倒出(?:来)?(?=[服吃])|弄碎|切开服|\b(?:dissolv\w+|mix\w*|stir\w*|dispers\w+) (?:it |them |the (?:tablets?|powder|granules|contents|sachets?) )?in(?:to)? (?:a |some |half a )?(?:glass of |cup of )?(?:warm |cold |cool )?(?:water|juice|milk|liquid)\b|\b(?:suck(?:ed|ing)?|let|dissolve) (?:it|on it|(?:on )?the (?:tablet|lozenge))\b|(?:泡腾片?)?(?:溶于|溶解在|放入|化在)(?:温|冷|凉)?(?:开)?水(?:中|里)?(?:后|再)?|冲服|含化",
        r"\b(?:swallow\w* (?:it |them )?whole|swallow\w*(?= (?:the |your |these |any )?(?:tablets?|capsules?|pills?) whole\b)|whole)\b|整片|整粒|吞服|整吞"
        r"|\b(?:in one piece|unchewed|uncrushed|unbroken tablets?|as a whole)\b|整个(?:吞|咽)|完整(?=吞|服)|囫囵|直接吞|吞下整",
    ),
    (
        r"\b(?:prone|face down|on (?:the|your|his|her|its|their) (?:stomach|front|tummy|abdomen))\b|俯卧|趴",
        r"\b(?:supine|face up|(?:flat )?on (?:the|your|his|her|its|their) back)\b|仰卧(?:位|睡)?|平躺(?:着|睡)?",
        r"\bon (?:the|your|his|her|its|their) side\b|(?:\b(?:lie|lies|lying) |(?<=sleep )|(?<=sleeping ))on (?:the|your|his|her|its|their) (?:left|right)(?: side)?(?= |$)|侧卧(?:位|睡)?|侧(?:躺|睡)",
    ),
    (
        r"\b(?:refrigerat\w+|in (?:(?:the|a) )?(?:fridge|refrigerator))\b|冷藏(?:保存|室)?|冰箱|(?<!\d)2\s*(?:°C|℃)?\s*(?:-|–|~|～|to|至|到)\s*8\s*(?:°C|℃|摄氏度)"
        r"|\b(?:(?:keep|kept|store|stored) (?:it |them )?(?:cool|cold|chilled)|chilled|cold chain|cold storage)\b|冷处|低温(?=保存|存放)|放冰箱",
        r"\b(?:at )?room temperature\b|(?:常温|室温)(?:保存)?"
        r"|\b(?:out of the (?:fridge|refrigerator)|unrefrigerated|in (?:a|the) (?:cupboard|cabinet|drawer)|(?:below|under|up to|at) (?:25|30) ?(?:°|℃|degrees|c\b))|阴凉(?=干燥|处|通风)|(?:10|15|20)\s*(?:-|~|～|至|到)\s*(?:25|30)\s*(?:℃|度|°C)",
        r"\b(?:fr(?:ee|o)z\w+|in (?:the|a) freezer)\b|冷冻"
        r"|\b(?:deep[- ]?fr(?:eeze|eezer|ozen))\b|冰冻|冻(?=存|起来|住|上|冰)|结冰|速冻",
    ),
    (
        r"\bself-?limit\w+|\b(?:goes|go|going|clears?|resolves?|disappears?|heals?) (?:away )?(?:on (?:its|their) own|by (?:itself|themselves)|spontaneously)\b|\bgoes away without treatment\b|自限性?|自愈|自行(?:消退|好转|缓解|恢复|消失)"
        r"|\boutgr(?:ow|ew)\w*\b|\bgrows? out of it\b|\bself-resolv\w+\b|\b(?:clear|clears|cleared|settle|settles|settled|pass|passes|get better|gets better|gone|went|disappear)(?: up| away| down)? (?:on (?:its|their) own|by (?:itself|themselves)|spontaneously|in time|with time|in a few days)\b|自己(?:就|也|慢慢)?(?:会|能|可以)(?:慢慢)?(?:好|消|退|恢复|长好)|[会能](?:慢慢)?自己(?:慢慢)?(?:好|消|退|恢复|长好)|自然(?:会好|好转|消退|痊愈|恢复)|长大(?:后|了)?(?:就|会|自然)(?:好|消失|自愈)",
        r"\bprogressive\b|进行性|持续进展",
    ),
    (
        r"\bconscious\b|\bawake\b|清醒"
        r"|\b(?:alert(?! (?:your|the|a|bracelet|system))|orient(?:at)?ed (?:to|in) (?:time|place|person))\b|神[志清]清(?:楚|醒|晰)?|意识清(?:楚|醒|晰)?|有意识|醒(?:了|着)(?!来)",
        r"\b(?:unconscious|comatose|in a coma)\b|[浅中深轻重]?度?昏迷|(?:意识|神志)不清"
        r"|\b(?:pass(?:es|ed)? out|black(?:s|ed) ?out|faint(?:s|ed)|unresponsive(?! to)|loss of consciousness|(?:lost|loses?|losing) consciousness|knocked out)\b|晕倒|晕过去|昏倒|昏厥|昏过去|(?:意识|神志)(?:模糊|障碍|混乱)|意识丧失|(?:失去|丧失)意识",
    ),
    (
        r"\b(?:patent|unobstructed)\b|通畅|畅通"
        r"|\b(?:arter(?:y|ies)|vessels?|airways?|veins?|ducts?|tubes?|shunt|stent|graft|catheter) (?:is|are|was|were|remains?) (?:wide |still |fully )?(?:open|clear)\b|\bopen (?=arter|vessels?|airways?|coronar|veins?\b|ducts?\b)|\b(?:flows?|flowing|drains?|draining) freely\b|顺畅",
        r"\b(?:blocked|obstructed|occluded)\b|堵塞|阻塞|闭塞|(?<!轻度)(?<!轻微)狭窄|不通"
        r"|\b(?:blockages?|clogged|plugged|bunged up|bottlenecked)\b|堵(?:了|住|死|上|得)|阻死",
    ),
    (
        r"\bintact\b|\b(?:leav(?:e|ing)|left|keep(?:ing)?|kept)(?= (?:the |a |any |your |it |them )*(?:blisters? )?(?:intact|unbroken|unpopped)\b)|完好|完整"
        r"|\b(?:unbroken|unpopped|(?<=blister )(?:alone|be)|(?<=blisters )(?:alone|be))\b|保持原样|未破"
        r"|\b(?:unruptured|in one piece)\b|连续性好",
        r"\b(?:torn|ruptured?|burst(?! blisters? (?:can|may|is|are|should|must|need))|pop(?:ped|ping)?|perforat\w+|punctur\w+|lanc(?:e|ed|ing))\b|撕裂|断裂|破裂|穿孔|[刺挑戳弄]破"
        r"|\b(?:prick(?:ed|ing)?(?! test)|squeez(?:e|ed|ing)(?= (?:the |a |your |pimples?|spots?|blisters?|it))|drain(?:ed|ing)? (?:the )?blisters?)\b|[挑剪]开|抠破|扎破|捅破|剪破|挤破|挤(?=痘|青春痘|粉刺|脓)|破皮"
        r"|\bbroke(?= (?:open|through))|\b(?:waters?|membranes) (?:have |has )?(?:broke|gone)\b|破水|断了|破了|裂(?:了|开)",
    ),
    (
        r"\b(?:gradual(?:ly)?|slow(?:ly)?|step by step|taper\w*)\b|逐渐|逐步|缓慢|慢慢"
        r"|\b(?:wean(?:ed|ing)?|phas(?:e|ed|ing) out|bit by bit|little by little|a little at a time|in (?:small )?(?:steps|stages)|stepwise|over (?:several|a few|some) (?:days|weeks|months)|by degrees|incremental(?:ly)?)\b|渐渐|一点点(?=[减撤停加])|阶梯式|递减|循序渐进|分(?:次|步|阶段)(?=[减撤停])|缓缓|慢(?=减|停|撤)"
        r"|\b(?:insidious(?:ly)?|creeps? up|over (?:the course of )?(?:several |many |a few )?(?:weeks|months|years)(?= |$)(?! old))\b|隐匿(?=起病|发病|性)|起病隐匿|隐袭|日渐|一点一点|渐进性|(?:起|发)病(?:较|很|比较)?[缓慢]",
        r"\b(?:abrupt(?:ly)?|sudden(?:ly)?|all at once)\b|突然|骤然|(?<!步)骤(?!停)"
        r"|\b(?:cold turkey|in one go|overnight(?= (?:stop|withdraw))|from one day to the next|on your own initiative)\b|一下子|一下(?=[停减撤])|猛然|贸然|擅自|自行(?=停|减|加|增|换|调)|直接(?=停|撤|断)|立马停|一次性?(?=停|撤)|说停就"
        r"|\b(?:out of the blue|out of nowhere|in an instant|(?:with|within|in) (?:seconds|minutes)(?= |$)|rapid[- ]onset|acute[- ]onset)\b|突发(?!性耳聋|事件|公共|奇)|忽然|突如其来|(?:起|发)病(?:很|较|比较|非常)?急|急性起病|说来就来",
    ),
    (
        r"\b(?:vaginal (?:delivery|birth)|natural birth|natural delivery)\b|(?:具备|符合|有)?顺产(?:的?(?:条件|指征))?|自然分娩|阴道分娩"
        r"|\b(?:deliver(?:ed)? vaginally|(?:normal|spontaneous) (?:delivery|birth|labou?r)|trial of labou?r|vbac)\b|顺生|经阴道(?:分娩|试产|生)|阴道试产|平产|自己生",
        r"\b(?:c(?:a?e)sare?an(?: section| delivery)?)\b|剖宫产|剖腹产"
        r"|\bc-?sections?\b|剖宫|剖腹生|剖产",
    ),
)
SAFETY = (
    r"\b(?:safe(?:ly)?|harmless)\b|安全(?!性(?:较|很)?[差低])|无害|放心",
    r"\b(?:dangerous|harmful|risky|hazardous|harms?(?! reduction))\b|危险|有害|有风险|安全性(?:较|很)?[差低]",
)
# The same, where one always applies.
STANDALONE_COMPLEMENTS = (
    (
        r"\b(?:dry|dried)\b|干燥|擦干"
        r"|\b(?:away from water|out of (?:the )?water|waterproof(?:ed)?|water out of)\b|干爽|晾干|吹干|防水|保持干",
        r"\b(?:wet|moist|damp|humid|soak\w*)\b|湿润|潮湿|湿敷|浸泡|[沾碰]水"
        r"|\b(?:(?:get(?:ting)?|under|contact with|splash\w*|immers\w+(?: in)?) (?:the |it |running |any )?water|submerg\w+|rins(?:e|ed|ing)|drench\w*)\b|沾湿|弄湿|打湿|淋湿|浸水|泡水|进水(?!量)|见水|遇水|湿水",
    ),
    (
        r"\bbenign\b|良性"
        r"|\bnoncancerous\b|\bnonmalignant\b|\b(?:innocent|harmless) (?=murmurs?|moles?|lumps?|growths?|cysts?|spots?\b)|(?:(?<=lump is )|(?<=growth is )|(?<=mole is )|(?<=cyst is )|(?<=tumor is )|(?<=tumour is ))(?:harmless|innocent)",
        r"\b(?:malignan(?:t|cy)|cancerous)\b|恶性|癌变"
        r"|\b(?:is|be|was|been|into|to|not|n['’]t|as) (?:a |skin |breast )?cancer\b(?! (?:screen|centre|center|patient|treat))|是癌(?!胚)|癌性|癌细胞|恶变|变(?:成)?癌|癌化",
    ),
    SAFETY,
    (
        r"\b(?:on an? )?empty stomach\b|\bfasting\b|空腹|空着肚子"
        r"|\bbefore (?:foods?|eat(?:ing)?|meals?|a meal|each meal|breakfast|lunch|dinner|supper)\b|\b(?:away from|separate(?:ly)? from) (?:food|meals)\b|\bbetween meals\b|[餐饭]前(?!血糖|胰岛素)|(?:吃|用)[饭餐]前|进食前|饿着(?:肚子)?|空肚子|两餐(?:之)?间|\bfast(?=(?: overnight)?(?: for| from| before| until| overnight| after midnight|$))|\b(?:fasted|nil (?:by|per) (?:mouth|oral)|npo|nothing (?:to eat|by mouth|oral|after midnight)|without breakfast)\b",
        r"\b(?:with a (?:full )?meal|on a full stomach)\b|[餐饭]后|随餐|饱腹(?:时|状态下?)?|饱食后"
        r"|\b(?:with|during|straight after|immediately after|just after|after|at) (?:the |a |your |each |every |some |main |any |evening |largest )*(?:foods?|meals?|eat|mealtimes?|breakfast|lunch|dinner|supper|eating|snacks?)\b|\bwithout (?:any )?(?:foods?|meals?|eat|eating)\b|与食物同(?:服|时)|和食物一起|伴餐|随(?:食|饭)|[餐饭]中|[餐饭]时|进餐(?:时|中)|进食时(?=[服用吃])|就餐时|吃饭时|边吃饭边|同餐|吃[饱完][饭后]?|\beat(?:ing)?(?: and drink(?:ing)?)? (?:normally|as usual|as normal|freely|beforehand|breakfast)\b|\b(?:normal|usual|regular|ordinary) (?:diet|meals?|eating|foods?)\b|\bhave (?:a |your )?(?:normal |light |usual )?(?:breakfast|meal)\b|正常(?:饮食|进食|吃饭|用餐)|照常(?:吃|进食|饮食|用餐)|普通饮食|禁食(?!用|管|物)|可以?(?:进食|吃早[饭餐]|吃东西)|进食后(?=[服用吃])",
    ),
    (
        r"\btemporar(?:y|ily)\b|\btransient(?:ly)?\b|\breversible\b|\brecovers\b|\b(?:will|can|may|usually|likely to) (?:fully |completely )?(?:recover|return)s?\b|暂时性?|一过性|可?逆转?|短暂|[会能可](?:以|完全)*恢复"
        r"|\b(?:short-lived|transitory|fleeting|passing|wears? off|wearing off|for the time being|(?:grows?|growing) back|regrows?|(?:be |been )?(?:reversed|undone))\b(?! (?:urine|water|stools?|wind|gas|out|shoulder|transcri))|一时性|会好起来|[能会](?:够)?(?:再)?长(?:回来|出来)|过(?:一阵子?|段时间|几天|些日子)(?:就|会|自然)(?:好|消|恢复)",
        r"\b(?:permanent(?:ly)?|lifelong|irreversible|irreversibly)\b|永久性?|终身"
        r"|\b(?:life-long|for good|for ever|everlasting)\b|终生|一辈子|永远|一生(?=[都要服吃])|伴随一生",
    ),
    (
        r"\b(?:known |fully (?=curable\b))?cur(?:able|ed?|es|ing)\b|治愈|可治|断根|根除"
        r"|\beradicat(?:e|ed|es|ing|ion)\b|\b(?:get|gets|getting) rid of (?:it|this|the \w+) (?:completely|entirely|for good)\b|根治|除根|治[得不]?好|治得了|去[得不]?了?根|痊愈|彻底(?:治好|好)",
        r"\bincurable\b|绝症",
    ),
    (
        r"\b(?:contagious|infectious|communicable|transmissible|catching|(?:spreads?|transmitted|passed|passes)(?: on)?"
        r"(?: (?:(?:very |so |quite )?(?:easily|readily))(?= |$)|(?: (?:easily|readily))? (?:from person to person|between people|to (?:others|other people|people|anyone|someone else)))"
        r"|catch (?:it|this)(?: from (?:one another|others?|someone|anyone|other people))?)\b|有?传染(?:性|给(?:别人|他人|家人|旁人|其他人|孩子))?|人传人|传给(?:别人|他人|家人|旁人|其他人)?|传播"
        r"|\b(?:pass|passes|give|gives|spread|spreads|transmit|transmits) (?:it|this|the (?:infection|virus|disease|illness|bug)) (?:on )?to (?:others|other people|people|anyone|someone|family|your|the baby|close contacts)\b|\bperson[- ]to[- ]person\b|\bcaught from (?:others|other people|other|another person|another|someone(?: else)?|anyone|an infected person|an infected)\b|\binfect(?:s|ing)? (?:others|other people|your family|family members|contacts)\b|\bcatchable\b|过给(?:别人|家人|孩子)|互相传|会传人|感染(?:给)?(?:别人|他人|家人|旁人)",
    ),
    (
        r"\b(?:heritable|hereditary|inherit\w*|genetic(?:ally)?|familial|runs? in (?:the )?famil(?:y|ies)"
        r"|passed (?:on |down )?to (?:(?:your|the|his|her|their) )?(?:children|child|offspring|bab(?:y|ies)))\b|遗传(?:性(?:疾病)?|病(?!史|学|理))?(?:给?(?:子女|孩子|儿童|后代|下一代))?"
        r"|\bpass(?:es|ed|ing)? (?:it |this )?(?:on|down) (?:through|in|within) (?:the |your |a )?(?:famil(?:y|ies)|generations)\b|\b(?:handed|passed) down\b(?: (?:from|by) (?:the |your |his |her |one['’]s |a )?(?:parents?|mother|father))?(?: (?:by|through|in|via) (?:the |your )?genes\b)?|\b(?:passed on|transmitted|passed) (?:genetically|by (?:the |your )?genes|(?:from|by) (?:the |your |his |her |one['’]s |a )?parents?)\b|家族性(?!腺瘤|息肉|高胆|地中海)|家族遗传|传给(?:儿子|女儿|宝宝|后人|下一辈)|代代相传",
        r"(?<!community-)(?<!hospital-)\bacquired\b|后天性?|(?<!社区)(?<!医院)获得性",
    ),
    (
        r"\b(?:addictive|addiction|habit[- ]forming|dependen(?:ce|cy|t))\b|成瘾性?|上瘾|依赖性?"
        r"|\b(?:addicts?|addicted|hooked(?: on)?|physical dependence)\b|产生依赖|药物依赖|有瘾",
    ),
)
START = (
    r"\b(?:start\w*|begin\w*|initiat\w+|continu\w+|resum\w+|restart\w*|tak(?:e|es|ing)|give|use)\b|开始|继续|恢复(?=[服用使])"
    r"|\b(?:carry(?:ing)? on(?: with| taking| using)?|(?:keep|go) (?:on )?(?:taking|using|giving)|(?:stay|remain|kept|keep|stays)(?: him| her)? on(?= (?!(?:a |the )?(?:side|back|alert|feet|hold)\b))|go(?:ing)? back (?:on|to taking)|recommenc\w+|commenc\w+|stick with|persist with|put (?:him|her|you|the patient) on|introduc(?:e|ed|ing)|prescrib(?:e|ed|ing)|go ahead with|maintain(?:ed|ing)?)\b|坚持(?=[服用吃打使治])|接着(?=[服用吃打])|照常(?=[服用吃使])|照旧(?=[服用吃])|维持(?=用药|服药|治疗|原方案)|启用|重新(?=[服用吃开使])|启动(?=治疗|用药|抗)|起用|用上|服上|终身服|一直[服用吃]|长期[服用吃]",
    r"\b(?:hold|suspend\w*|paus\w+|interrupt\w*)\b|中断"
    r"|\b(?:on hold|(?:take|have|taking) a break from|treatment (?:break|holiday)|drug holiday|temporar(?:y|ily) (?:suspension|interruption)|hold(?:ing)? (?:the|this|your)|withheld|terminat(?:e|ed|ing|ion)(?! pregnan| of (?:the )?pregnan)|lay(?:ing)? off|cut(?:ting)? out|done away with|abandon\w*)\b|中止|终止(?!妊娠|密码)|撤(?=药|掉|除)|搁置|先缓",
)
# One side only: "negative" is a denial, so "negative" and "not detected" both deny it.
RESULT = (
    r"\b(?:(?:c(?:ame|omes) back|test(?:s|ed)?) )?(?:positive|negative)\b|\b(?:un)?detect(?:ed|able|ably|s)\b|[阳阴]性"
    r"|(?<=[a-z0-9])(?:高|强|过|低)?表达|检不?出(?!率)|查不?出|测不?出|检测到|查到(?!医)",
)
# Sides that need a subject and of which one always applies, so that denying one affirms the other: "not harmful" is "harmless".
COMPLEMENTS = (
    (r"\blive\b(?: attenuated)?|\battenuated\b|减毒活?|(?<!灭)活疫苗", r"\b(?:inactivated|killed)\b|灭活"),
    (r"(?<!as )\bpossible\b|可能", r"\bimpossible\b"),
    (
        r"\babnormal\w*\b|(?:发现|存在|提示|出现)?异常"
        r"|\b(?:out of range|outside (?:of )?(?:the )?reference (?:range|limits)|out of the reference range)\b|超标|超出(?:参考|标准)|(?<=发育|智力)(?:迟缓|落后|低下|障碍|缺陷)|(?<=[肝肾])(?:功能?)?(?:衰竭?|不全|受损|障碍|损害)",
        r"(?<!than )(?<!below )(?<!above )(?<!below the )(?<!above the )\bnormal(?:ly)?\b|功?(?<![高低大小多少长短快慢]于)(?<!超过)(?<![超高]出)正常|(?<![出过于])(?:已?回到|降到|落在|处于|在)?(?:参考|正常)值?范围(?:之?内)?",
    ),
    (
        r"\b(?:dies|died|dead|fatal|death)\b|死亡|致命"
        r"|\b(?:(?:is|be|often|usually|potentially) lethal|deadly|(?:can|could|may|will) kill|kills)\b|送命|丧命|死(?=于|去|了)",
        r"\b(?:survive[sd]?|survival|alive)\b|存活|生存(?![率期质])"
        r"|\b(?:surviving|survivors?|pulls? through|pulled through)\b|活下来|生还|幸存",
    ),
    (r"\bcommon\b|常见", r"\buncommon\b"),
    START,
    RESULT,
    (r"(?<=切缘)(?:可?见|有)(?:癌|肿瘤|癌细胞)?(?:残留|累及|浸润)", r"(?<=切缘)干净"),
)
