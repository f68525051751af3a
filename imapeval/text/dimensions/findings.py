"""Dimensions of findings and results.

No side contains a word that `imapeval.text.negation.stance` takes for a denial, unless that module calls the expression harmless
(不规则, 无症状, "non-"). An expression that contains one (治不好, 无痛, "no pain") is on the side that it denies, because the stance
supplies the denial.
"""

from imapeval.text.dimensions.course import NOT_NEGATED

_BEAT = r"(?:pulse|heart ?beats?|heart ?rate|heart)"
_HEART_ZH = r"(?:心率|心跳|脉搏|脉率|脉)"
_RHYTHM = r"(?:periods?|cycles?|menses|menstruation|pulse|heart ?beats?|heart ?rate|rhythm|breathing)"
_EDGE = r"(?:borders?|margins?|edges?|outlines?|contours?)"
_CHILD = r"(?:children|infants|babies|toddlers|newborns|adolescents|teenagers)"
_MAINLY = (
    r"\b(?:mainly|mostly|chiefly|primarily|predominantly|typically|usually|commonest|most common|most commonly|most often|more common|more often)"
    r" (?:seen |found |occurs |diagnosed )?(?:affects |affect |affecting |strikes |in |among |a disease of )"
)
_MAINLY_ZH = r"(?:多见于|常见于|多发于|好发于|多发生于|多发生在|常发生于|多为|主要见于|主要发生在|主要影响)"
_FEVER_NAMES = "".join(
    rf"(?<!{name} )"
    for name in [
        "hay",
        "dengue",
        "scarlet",
        "yellow",
        "rheumatic",
        "typhoid",
        "paratyphoid",
        "q",
        "lassa",
        "glandular",
        "trench",
        "valley",
        "spotted",
        "mediterranean",
        "haemorrhagic",
        "hemorrhagic",
        "relapsing",
        "childbed",
        "puerperal",
        "enteric",
        "ebola",
        "swine",
        "tick-bite",
        "bite",
        "oroya",
        "recurrent",
    ]
)

# Sides that exclude each other and say what they are about; something may be on neither.
STANDALONE = (
    (
        r"\bidentical(?= twins?\b)|(?<=twins are )identical\b|\bmonozygotic\b",
        r"\b(?:fraternal|non-?identical)(?= twins?\b)|(?<=twins are )(?:fraternal|non-?identical)\b|\bdizygotic\b",
    ),
    (
        r"\bun-?descended\b|\bcryptorchidism\b",
        r"\b(?:in(?:side)?|into) (?:the|his) scrotum\b|(?<!un-)\bdescended\b",
    ),
    # Size of an organ or lump.
    (
        r"\benlarge(?:d|s|ment)?\b(?! prostate)|\b(?:bigger|larger) than normal\b|\boversized\b|\b(?:has|have) (?:grown|got(?:ten)? (?:bigger|larger))\b|肿大|增大|变大|偏大|长大了|(?:(?<=[瘤块节囊肉])|(?<=较前)|(?<=上次)|(?<=以前)|(?<=之前))[又还在]?(?:明显|略|有所)?长大",
        r"\bnormal[- ]sized?\b|\bnormal in size\b|\bof normal size\b|\bsize (?:is |was |and shape )?(?:are )?(?:normal|within normal limits)\b|(?:大小|体积)(?:、?形态)?(?:尚|均|都|是|都是)?正常|正常大小",
        r"\b(?:shrunken|shrunk|shrank|shrinks?|shrinking|shrinkage)\b|\b(?:has|have) got(?:ten)? smaller\b|\b(?:smaller) than normal\b|\batrophied\b|缩小|变小|偏小|萎缩(?!性|侧索)",
    ),
    # Weight.
    (
        r"\bweight (?:gain(?:ed|s|ing)?|has gone up|is going up|went up|goes up|increas\w+)\b|\b(?:gain|gains|gained|gaining|put on|puts on|putting on) (?:some |any |extra |a lot of )?weight\b|\b(?:get|gets|got|getting) fat(?:ter)?\b"
        r"|体重(?:明显|逐渐)?(?:增加|上升|增长|上涨)|发胖|长胖|变胖|增重|增肥|长肉",
        r"\bweight (?:loss|lost|has gone down|is going down|went down|goes down|drop\w*|fell|falls|reduction)\b|\b(?:lose|loses|losing|lost|shed|sheds|shedding) (?:some |any |a lot of )?(?:weight|pounds|kilos)\b|\bslim(?:s|med|ming)? down\b"
        r"|体重(?:明显|逐渐)?(?:减轻|下降|减少|降低)|消瘦|变瘦|瘦了|减重|掉秤|体重[要需应得]?(?:减|降)(?:下来|下去|掉)",
    ),
    (
        r"\bover-?weight\b|\bobese\b|超重|过胖|太胖|偏胖|体重(?:超标|过重|偏重)",
        r"\bunder-?weight\b|\btoo thin\b|体重不足|过瘦|太瘦|偏瘦|体重(?:过轻|偏轻|太轻)",
        r"\b(?:normal|healthy|ideal) (?:body )?weight\b|体重正常|正常体重|标准体重",
    ),
    # Pulse and heart beat.
    (
        rf"\b(?:fast|rapid|racing|quick|pounding)(?= {_BEAT}\b)|(?<=pulse) (?:is |was |feels )?(?:too |very |rather )?(?:fast|rapid|racing|quick)\b|\b(?:heart ?beats?|heart ?rate|heart) (?:is |was |beats )?(?:too |very |rather )?(?:fast|rapid|racing|quick)\b"
        rf"|{_HEART_ZH}(?:跳得)?(?:过|偏|较|很|太|加|增|有点)?快",
        rf"\bslow(?= {_BEAT}\b)|(?<=pulse) (?:is |was |feels )?(?:too |very |rather )?slow\b|\b(?:heart ?beats?|heart ?rate|heart) (?:is |was |beats )?(?:too |very |rather )?slow(?:ly)?\b"
        rf"|{_HEART_ZH}(?:跳得)?(?:过|偏|较|很|太|减|变|有点)?慢",
    ),
    # Blood groups.
    (
        r"\bblood (?:group|type)(?: is|:)? a(?=$|[+,.;-]| (?:rh|pos|neg))|\b(?:type|group) a blood\b|(?<![a-z])A型血|血型[是为：:]?\s?A(?!B)",
        r"\bblood (?:group|type)(?: is|:)? b(?=$|[+,.;-]| (?:rh|pos|neg))|\b(?:type|group) b blood\b|(?<![a-z])B型血|血型[是为：:]?\s?B",
        r"\bblood (?:group|type)(?: is|:)? ab\b|\b(?:type|group) ab blood\b|(?<![a-z])AB型血|血型[是为：:]?\s?AB",
        r"\bblood (?:group|type)(?: is|:)? o\b|\b(?:type|group) o blood\b|(?<![a-z])[OＯ]型血|血型[是为：:]?\s?O",
    ),
    # Sharp or dull pain.
    (
        r"\b(?:sharp|stabbing|knife-?like|piercing|shooting|lancinating)(?=,? (?:\w+ )?pains?\b)|\bpains? (?:is|was|feels) (?:sharp|stabbing|piercing|shooting)\b|刺痛|锐痛|刀割样|刀割一样|针[扎刺](?:样|一样|似的)|电击样|撕裂样",
        r"\bdull aches?\b|\bdull\b(?=,? (?:\w+ )?pains?\b)|\bpains? (?:is|was|feels) dull\b|钝痛|隐痛|隐隐作痛|闷痛|酸痛|胀痛",
    ),
    # On exertion or at rest.
    (
        r"\b(?:on|with|during|upon) (?:physical )?(?:exertion|effort)\b|\bexertional\b|\beffort-induced\b|活动(?:后|时)|劳累(?:后|时|性)|劳力性|用力时|爬楼时",
        r"\b(?:even )?at rest\b|\bwhile resting\b|\bresting (?=pain|angina|dyspn|tremor)|\brest pain\b|静息(?:时|性|状态)?(?!心率|心电)|休息(?:时|状态下)|安静(?:时|状态)",
    ),
    # Menstrual flow and date.
    (
        r"\bheavy (?=periods?\b|menstrual|menses|flow)|\bperiods? (?:is|are|was|were) (?:very |too |quite )?heavy\b|(?:月经量?|经量|例假量?)(?:过|偏|较|很|太)?多",
        r"\b(?:light|scanty|scant) (?=periods?\b|menstrual|menses|flow)|\bperiods? (?:is|are|was|were) (?:very |quite )?(?:light|scanty)\b|(?:月经量?|经量|例假量?)(?:过|偏|较|很|太)?少",
    ),
    (
        r"\bperiods? (?:is |are |came |comes |come |arrived )?(?:too )?early\b|\bearly periods?\b|(?:月经|例假|经期)(?:会|总是|常)?提[前早]",
        r"\b(?:late|delayed|overdue) periods?\b|\bperiods? (?:is |are |came |comes |come )?(?:late|delayed|overdue)\b|(?:月经|例假|经期)(?:会|总是|常)?(?:推迟|延后|延迟|错后)",
    ),
    # Kinds of findings that exclude each other.
    (
        r"\bconductive\b(?= (?:hearing|deafness|loss)|$)|传导性(?=耳聋|听力|聋)|传音性",
        r"\bsensori-?neural\b|感音(?:神经)?性|神经性(?=耳聋|听力)",
        r"\bmixed (?=hearing)|混合性(?=耳聋|听力|聋)",
    ),
    (
        r"\bmicrocytic\b|小细胞(?=低色素)|小细胞性(?=贫血)",
        r"\bmacrocytic\b|大细胞性?(?=贫血)",
        r"\bnormocytic\b|正细胞性?(?=贫血|正色素)",
    ),
    (
        r"\bcystic\b(?! (?:fibrosis|duct|artery|acne))|\b(?:fluid|liquid)[- ]filled\b|\b(?:filled with|full of) (?:clear )?(?:fluid|liquid|water)\b|囊性(?!纤维)",
        r"(?<=is )a solid (?:lump|mass|nodule)\b|\bsolid(?= (?:lumps?|mass|nodules?|tumou?rs?|lesions?)\b)|\b(?:lump|mass|nodule|tumou?r|lesion) is solid\b|实性",
    ),
    (r"\bhot nodules?\b|热结节", r"\bcold nodules?\b|冷结节"),
    (
        r"中枢性|\bcentral (?=facial|vertigo|sleep apn|diabetes insip|cyanosis|hypothyr)",
        r"(?:周围|外周|末梢)性|\bperipheral (?=facial|vertigo|cyanosis)",
    ),
    (
        r"器质性|\b(?:organic|physical) (?=causes?\b|disease|lesion|disorder|problem|origin|illness)|\b(?:organic|physical) in origin\b",
        r"功能性(?!食品)|\bfunctional (?=disorder|dyspepsia|disease|problem|constipation|abdominal|symptoms?)|\bpsycho(?:somatic|genic)\b|\bpsychological (?=causes?\b|origin)|\bpsychological in origin\b|(?:(?<=purely )|(?<=mainly )|(?<=is )|(?<=are ))psychological\b|\ball in the mind\b",
    ),
    (
        r"\braised (?=lesions?\b|rash|spots?\b|moles?\b|borders?\b|bumps?\b|patch)|\bbumpy\b|凸起|隆起|高出皮[肤面]|突出皮[肤面]",
        r"\bflat (?=lesions?\b|rash|spots?\b|moles?\b|patch)|平坦|与皮肤齐平",
    ),
    (
        r"高危(?!妊娠|型|孕期)|高风险",
        r"低危(?!型)|低风险|(?:(?<=唐筛)|(?<=筛查))(?:顺利)?(?:通过|过关)",
        r"中危|中等风险",
    ),
    # Whom it affects mainly.
    (
        rf"{_MAINLY}(?:young |small )?{_CHILD}\b|\b(?:childhood|juvenile|paediatric|pediatric)[- ]onset\b|\bchildhood (?:illness|disease)\b|{_MAINLY_ZH}(?:婴幼儿|婴儿|小儿|儿童|幼儿|孩子|新生儿|青少年)",
        rf"{_MAINLY}(?:young |middle-aged )?adults?\b|\badult[- ]onset\b|{_MAINLY_ZH}(?:中青年|青壮年|成年?人|青年|中年)",
        rf"{_MAINLY}(?:the )?(?:elderly|older (?:people|adults|patients)|old people|seniors)\b|\blate[- ]onset\b|{_MAINLY_ZH}(?:老年|老人|中老年)",
    ),
    (
        rf"{_MAINLY}(?:young |older |middle-aged )?(?:m[ae]n|males|boys)\b|\b(?:m[ae]n|males|boys) (?:are|get it|have it|develop it|suffer)(?: affected| diagnosed| from it)? (?:more|most) (?:often|commonly|frequently)\b|\b(?:more|most) (?:common|frequent|often seen) (?:in|among) (?:m[ae]n|males|boys)\b|{_MAINLY_ZH}(?:青年|中年|老年|中老年)?(?:男性|男人|男孩)|男性(?:多于女性|更?(?:多见|常见|高发))",
        rf"{_MAINLY}(?:young |older |middle-aged )?(?:wom[ae]n|females|girls)\b|\b(?:wom[ae]n|females|girls) (?:are|get it|have it|develop it|suffer)(?: affected| diagnosed| from it)? (?:more|most) (?:often|commonly|frequently)\b|\b(?:more|most) (?:common|frequent|often seen) (?:in|among) (?:wom[ae]n|females|girls)\b|{_MAINLY_ZH}(?:青年|中年|老年|中老年|育龄)?(?:女性|妇女|女孩)|女性(?:多于男性|更?(?:多见|常见|高发))",
    ),
    # Birth.
    (
        r"\b(?:pre-?term|premature(?:ly)?)(?= (?:bab(?:y|ies)|infants?|births?|deliver\w+|labou?r|newborns?)\b)|\b(?:born|delivered|birth (?:is|was)|baby (?:is|was)) (?:pre-?term|prematurely|premature|too early)\b|早产(?:的?(?:新生儿|婴儿|儿))?",
        r"(?<!pre-)(?<!post-)\bterm (?=bab(?:y|ies)|infants?|births?|deliver\w+|newborns?)|\bfull[- ]term\b|\b(?:born|delivered) at term\b|足月(?:的?(?:新生儿|婴儿|产儿|儿))?",
        r"\bpost-?term\b|\b(?:past|after|beyond) (?:the|her|your) due date\b|过期(?:妊娠|产儿?|儿|孕期)|过预产期",
    ),
)

# The same, where one always applies: denying one side affirms the other. Some have only one side: its denial is the other.
STANDALONE_COMPLEMENTS = (
    # Fractures.
    (
        rf"{NOT_NEGATED}\bdisplaced\b|{NOT_NEGATED}\bdisplacement\b|\bout of (?:place|alignment|position|line)\b|\b(?:mis|mal)-?aligned\b|\b(?:ends|bones?|fragments|pieces) (?:have |has )?(?:moved|shifted)\b|移位|错位|错开|对位(?:不良|不佳|较?差)|成角畸形",
        r"\b(?:un|non-?)displaced\b|\bnon displaced\b|\bminimally displaced\b|\b(?:well|perfectly|properly|correctly|still)[- ]aligned\b|\bin (?:good |normal |perfect |satisfactory |anatomical )(?:alignment|position)\b|\bhairline (?=fractures?|cracks?)|对位(?:、?对线)?(?:情况)?(?:良好|[较很]?好|尚可|满意|佳)|对得(?:很)?[齐好]|裂纹骨折|骨裂",
    ),
    (
        r"\b(?:open|compound)(?= fractures?\b)|\bfractures? (?:is|was) (?:open|compound)\b|\bbones? (?:\w+ ){0,3}?through the skin\b|开放性(?=骨折|损伤|伤|气胸)|开放骨折",
        r"\b(?:closed|simple)(?= fractures?\b)|\bfractures? (?:is|was) closed\b|\bskin (?:is |was |remains |over \w+ \w+ is )?(?:intact|unbroken)\b|闭合性(?=骨折|损伤|伤|气胸)|闭合骨折|皮肤(?:完整|完好)",
    ),
    (
        r"\bstable(?= (?:fractures?|joints?|knee|spine|condition|vital)\b)|\b(?:haemo|hemo)dynamically stable\b|\b(?:fracture|joint|knee|spine|ankle|shoulder|vital signs|condition|blood pressure) (?:is|are|was|remains?) stable\b|(?<!不)稳定(?!型|性斑|斑块|剂|期)|平稳",
        r"\bunstable\b(?! angina)|不稳定?(?!型心绞痛|型|性心绞痛)|忽高忽低|时高时低|大起大落|忽快忽慢|(?:波动|起伏)(?:很|较|比较|非常|过)?大",
    ),
    (
        rf"{NOT_NEGATED}\bdislocat(?:ed|ion)\b|\bout of (?:the|its|his|her) socket\b|脱位|脱了?臼",
        r"\bin (?:the|its) socket\b|已(?:经)?复位|复位(?:成功|良好|满意)",
    ),
    # Wounds, infection and inflammation.
    (
        rf"{NOT_NEGATED}\binfected\b(?! (?:with|by|people|person|persons|patients|individuals|cells|animals?|mosquito\w*|ticks?|blood)\b)|\b(?:wound|incision|skin|surgical site) infection\b|\bfester\w*\b|\b(?:oozing|full of|draining|discharging|contains?|no|any|with) pus\b|\bpurulent\b|(?:伤口|切口|创面|创口|刀口|伤处|局部|继发|合并|发生|已经?|没有?|无)感染|化脓|流脓|溃脓",
        r"\b(?:wound|incision|cut|graze|stitches) (?:is |looks |appears |remains |are |look )?(?:clean|sterile)\b|\bclean (?=wounds?\b|incision|cuts?\b)|\buninfected\b|(?:伤口|切口|创面|创口|刀口)(?:很|比较|保持|处)?(?:干净|清洁)|甲级愈合",
    ),
    (r"(?<!non-)\binflamed\b|\binflammation\b|发炎|(?:有|无|没有?|明显|局部|急性|慢性)炎症",),
    (
        r"(?<!un-)\bhealed\b|\bheal(?:s|ing)? (?:well|nicely|up|over|completely|properly|normally)\b|愈合(?!不良|不佳|[较很]?差|缓慢)|长不?好|收口|结痂",
        r"\bun-?healed\b|\bnon-?healing\b|\bnon-?union\b|\b(?:slow|poor|delayed|impaired)(?:ly)? (?:to heal|heal(?:ing|s)?|wound healing)\b|\bdehisce(?:d|nce)\b|愈合(?:不良|不佳|[较很]?差|缓慢)|(?:伤口|切口|刀口)(?:又)?(?:裂开|崩开)",
    ),
    (
        r"\bviable (?=tissue|bowel|teeth|tooth|muscle|testi)|血运(?:良好|[较很]?好|尚可|正常)",
        r"\bnecrotic (?=tissue|bowel|skin|area|muscle|wound)|\b(?:tissue|bowel|skin|toe|foot|testi\w+) (?:is|has become|was) (?:necrotic|dead|gangrenous)\b|\bnon-?viable (?=tissue|bowel|muscle)|组织坏死|已经?坏死|血运(?:差|较差|障碍|不佳)|发黑坏死",
    ),
    # Swelling, redness, itch, pain.
    (
        r"\bswollen\b|\bswells?\b(?: up)?|\bswelling\b(?! (?:has |have )?(?:gone|went|goes|subsid|settled))|\bpuff(?:y|iness|ed up)\b|肿胀|红肿|浮肿|肿(?:了|起来|得|着)|[不没发]肿(?!瘤|块|物|大)",
        r"\bswelling (?:has |have )?(?:gone|went|goes|subsided|settled)(?: down)?\b|消肿|肿(?:已经?|都)?[消退]了",
    ),
    (
        r"(?<!non-)(?<!non )\b(?:itch(?:y|es|ing|ed)?|pruritic)\b|(?<!止)(?<!抗)痒(?!症|疹)",
        r"\bnon-?(?:itchy|itching|pruritic)\b|\bitch-free\b",
    ),
    (
        rf"\bpainful(?:ly)?\b|\bhurt(?:s|ing)?\b(?! (?:yourself|himself|herself|the baby|your baby))|(?<!cold )(?<!canker )(?<!bed )(?<!pressure )(?<!mouth )\bsore\b(?! throat)|{NOT_NEGATED}\btender\b(?!ness)|\btenderness\b|\b(?:no|any|without|free of) pain\b"
        r"|会(?:有点|很)?[疼痛]|(?:很|非常|特别|有点|感到|觉得|触之|一碰就|一按就|按着|摸着|明显)[疼痛]|不(?:怎么|太)?[疼痛]|[疼痛]得厉害|压痛|触痛|无痛(?!性|分娩|胃镜|肠镜|人流|内镜|苦)|[疼痛]痛?(?:感)?明显",
        r"\bpainless(?:ly)?\b(?! (?:abortion|colonoscopy|gastroscopy|deliver|labou?r|childbirth|thyroiditis))|\bpain[- ]free\b|\bnon-?tender\b|无痛性",
    ),
    (
        r"\bradiat(?:es|e|ed|ing)\b(?= |$)(?! oncolog)|\bspreads? (?:down |in)?to (?:the |your |his |her )?(?:left |right )?(?:arm|leg|jaw|back|shoulder|neck|groin)\b|\b(?:shoots?|travels?|shooting) (?:down|into|up) (?:the |your |his |her )?(?:left |right )?(?:leg|arm|neck|jaw|back)\b|放射(?:到|至|痛)|不放射(?!科|性|治)|向[^，,。]{1,6}放射|牵涉痛|窜到",
        r"\b(?:stays?|remains?) in one (?:place|spot)\b|(?:疼痛|痛)(?:点|处)?(?:固定|局限)",
    ),
    (
        r"\bpulsatile\b|\bpulsating\b|\bthrobbing\b|搏动性|搏动样|跳痛|一跳一跳",
        r"\bnon-?(?:pulsatile|pulsating|throbbing)\b|\bpressing (?=headache|pain)|\bband-?like\b|紧箍样|压迫样|紧箍感",
    ),
    # Symptoms in general.
    (
        r"(?<!pre-)\bsymptomatic\b(?! (?:treatment|relief|therapy|management|care))|\b(?:causes?|has|have|had|with|no|any|without|producing?) (?:any |no )?symptoms\b|[有无没](?:任何|明显)?(?<!无)症状|出现症状|症状(?:明显|典型)",
        r"\basymptomatic\b|\bsymptom[- ]free\b|\bsub-?clinical\b|无症状|亚临床",
    ),
    # Cough.
    (
        r"\b(?:dry|hacking|tickly|non-?productive|unproductive)(?= (?:\w+ )?cough)|\bcough (?:is|was) (?:dry|non-?productive|unproductive)\b|(?<!\d)干(?=咳)|刺激性(?=干?咳)",
        rf"\b(?:wet|chesty|phlegmy|moist|{NOT_NEGATED}productive)(?= (?:\w+ )?cough)|\bcough (?:is|was) (?:wet|chesty|{NOT_NEGATED}productive)\b|\b(?:bring|brings|bringing|cough|coughs|coughing|coughed) up (?:\w+ )?(?:phlegm|sputum|mucus)\b|\b(?:phlegm|sputum)\b|湿(?=咳)|咳不?出?痰|[有无没带伴]痰|痰多",
    ),
    # Fever.
    (
        rf"{_FEVER_NAMES}\b(?:r[au]n(?:ning|s)? a )?fever(?:s|ish)?\b(?! (?:blisters?|reducers?|clinic|seizures?|convulsions?|neutrop\w+|fits?))|\bfebrile\b(?! (?:seizures?|convulsions?|neutrop|fits?))|\b(?:running|runs|run|has|have|had|having) a (?:high |slight |raised )?temperature\b|\b(?:high|raised|elevated) temperature\b|(?<=temperature )(?:is|was) (?:high|raised|elevated|up)\b|\bpyrexia\b"
        r"|\b(?:thirty-(?:eight|nine)|forty)(?: point \w+)? degrees\b|\b(?:a |one )hundred (?:and )?(?:one|two|three|four)(?: point \w+)? degrees\b|(?<!\d)(?:3[89]|4[01])(?:\.\d)?\s?(?:°\s?C|℃|degrees? C)|(?<!\d)10[1-5](?:\.\d)?\s?(?:°\s?F|℉|degrees? F)"
        r"|发热(?!门诊|伴血小板)|发烧|高[烧热](?!量|带)|低[烧热](?!量)|(?<=体温)(?:明显)?(?:升高|增高|偏高|过高|[很较]高)|体温[达到在为有]{0,2}\s?(?:3[89]|4[01])|三十[八九]度|四十度",
        r"\bafebrile\b|\bapyrexial?\b|\bfever-?free\b|(?<=temperature )(?:is|was|has|remains)(?: now| been)? (?:back to |returned to |settled to |gone back to )?normal\b|\bnormal (?:body )?temperature\b|\bfever (?:has )?(?:gone|broken|broke|settled|subsided|resolved)\b"
        r"|(?<=体温)(?:已经?|一直|都|是)?(?:恢复|降至|降到|回到)?正常|(?:烧|热)(?:已经?)?退了|退[烧热]了|热退",
    ),
    # Hydration.
    (
        r"\bdehydrat(?:ed|ion)\b|脱水(?![药剂治机])",
        r"\b(?:well |adequately |properly )?hydrated\b|\beuvol(?:a)?emic\b|水分充足",
    ),
    # Immunity.
    (
        r"\bimmune (?:to|against)\b|\b(?:is|are|be|becomes?|not|already|am|you['’]re) immune\b|\bimmunity (?:to|against)\b|\b(?:has|have|had|gives?|confers?|provides?|no|lifelong|lasting) immunity\b|\bprotected against\b(?= (?:measles|rubella|hepatitis|infection|chickenpox|tetanus|the (?:virus|disease|infection)))"
        r"|(?:有|无|没有?|产生|具有|形成)(?:了|保护性|足够的?)?(?:抗体|免疫力)|(?:获得|终[身生])免疫|有免疫",
        r"\bnon-?immune\b|\bsusceptible to (?=measles|rubella|hepatitis|infection|chickenpox|varicella)|\bunprotected against\b|缺乏(?:免疫力|抗体)|易感(?!性|基因)",
    ),
    (
        r"\brh(?:esus)?[ -]?(?:factor )?(?:is )?(?:\(?d\)?[ -]?)?(?:positive\b|pos\b|\+)|Rh\s?[(（]?D?[)）]?\s?(?:血型)?(?:是|为)?(?:阳性?|＋|\+)",
        r"\brh(?:esus)?[ -]?(?:factor )?(?:is )?(?:\(?d\)?[ -]?)?(?:negative\b|neg\b|[-−–](?![a-z\d(]))|Rh\s?[(（]?D?[)）]?\s?(?:血型)?(?:是|为)?(?:阴性?|－)|熊猫血",
    ),
    (
        r"\bdiagnosis (?:is|was|has been) (?:confirmed|certain|definite|established|proven|clear)\b|\b(?:confirmed|definite|definitive|established) diagnosis\b|(?<!待)确诊|诊断(?:已经?)?明确",
        r"\bdiagnosis (?:is|was|remains) (?:still )?(?:uncertain|unclear|unconfirmed|only suspected|tentative|provisional)\b|\b(?:suspected|provisional|tentative|presumptive|working) diagnosis\b|疑诊|拟诊|待确诊|疑似病例|诊断待定",
    ),
    (
        r"(?<!non-)\bpalpable\b|\bcan(?:not)? be felt\b|(?:可|能|未|可以|可能)?(?:触及|扪及)|摸[得不]?[到着]",
        r"\b(?:im|non-?)palpable\b",
    ),
    (
        r"\bvisible\b|\bvisuali[sz]ed\b|肉眼可见|看得[见到]|看不[见到]",
        r"\binvisible\b|\bhidden from view\b|肉眼难辨",
    ),
    # Shape, consistency, mobility.
    (
        r"\bsymmetric(?:al|ally)?\b|\bsymmetry\b|对称",
        r"\basymmetr(?:ic|ical|ically|y)\b|\blop-?sided\b|一大一小|一高一低",
    ),
    (
        r"\bsoft(?= (?:lumps?|mass|nodules?|swelling|abdomen|belly|stools?|cervix)\b)|\b(?:lump|mass|nodule|it|swelling|abdomen|belly|stools?|consistency) (?:is|feels|was|are) (?:quite |very )?(?:soft|squishy)\b|质地?(?:较|偏|很)?(?:柔?软)|腹(?:部)?(?:平)?软|大便(?:较|很|偏)?软",
        r"\b(?:hard|firm)(?= (?:lumps?|mass|nodules?|swelling|abdomen|belly|stools?)\b)|\b(?:lump|mass|nodule|it|swelling|abdomen|belly|stools?|consistency) (?:is|feels|was|are) (?:quite |very |rock |stony )?(?:hard|firm)\b|\b(?:rock|stony) hard\b|\bindurated\b|腹(?:部|肌)?紧张|质地?(?:较|偏|很|坚|中等偏)?硬|坚硬|发硬|板状腹|大便(?:较|很|偏|干|太)?硬",
    ),
    (
        r"\b(?:freely )?mov(?:e)?able\b(?! type)|\bmobile(?= (?:lumps?|mass|nodules?)\b|$)|\bfreely mobile\b|\bmoves? (?:freely|easily|around|about|under the (?:skin|fingers?))\b|活动度(?:尚|较|很)?(?:好|可|佳|良好)|推[得不]动|[可能](?:以|够)?(?:被)?推动|可活动(?!性)",
        r"\bfixed(?= (?:lumps?|mass|nodules?|to the (?:skin|chest|underlying|deeper|tissue))\b)|\b(?:lump|mass|nodule|it) (?:is|feels|was) (?:fixed|tethered)\b|\bimmobile (?=lump|mass|nodule)|\bimmovable\b|活动度(?:较|很)?(?:差|欠佳|不佳)|(?<=肿块|包块|结节|位置)(?:是|比较|较)?固定|与[^，,。]{1,6}粘连",
    ),
    (
        rf"\bregular(?= {_RHYTHM}\b)|\b{_RHYTHM} (?:is|are|was|were)(?: not|n['’]t)? (?:very |quite |always )?regular\b|(?:月经|经期|周期|例假|大姨妈|心律|脉搏|心跳|脉律|节律)(?:周期|一直|很|比较|非常|还算)?不?(?:准时?|规律|规则|整齐|齐)(?<!不规律)(?<!不规则)(?<!不齐)(?<!不整齐)|(?<!不)律齐",
        r"\birregular(?:ly)?(?! (?:astigmatism|diet|sleep|bones?|meals|borders?|margins?|edges?|outlines?|contours?|shape))\b|\barrhythmic\b|\bskips? (?:a )?beats?\b|\b(?:erratic|unpredictable) (?=periods?|cycles?)|(?:月经|经期|周期|例假|心律|脉搏|心跳|脉律|节律)(?:周期|很|一直)?(?:不规律|不规则|不齐|不整|紊乱|不调)|(?:月经|例假)(?:乱了|很乱)|心律失常",
    ),
    (
        rf"\b(?:regular|smooth|sharp|clear|well-?defined|even|distinct)(?= {_EDGE}\b)|\b{_EDGE} (?:is|are|was|were) (?:regular|smooth|sharp|well-?defined|clear|even)\b|\bwell[- ](?:defined|circumscribed|demarcated)\b|边[缘界](?:较|很|比较)?(?:光滑|光整|整齐|规则)|边[缘界](?:较|很|比较)?清[楚晰]?|形态规则",
        rf"\b(?:irregular|jagged|ragged|blurred|ill-?defined|uneven|indistinct|notched)(?= {_EDGE}\b)|\b{_EDGE} (?:is|are|was|were) (?:irregular|jagged|ragged|blurred|ill-?defined|uneven|indistinct)\b|\b(?:ill|poorly)[- ](?:defined|circumscribed|demarcated)\b|\bspiculated\b|边[缘界](?:模糊|不清[楚晰]?|不规则|不整齐?|欠清|毛糙|粗糙)|毛刺|形态不规则",
    ),
    (
        r"(?<!non-)\bblanch(?:es|ing|able)?\b|\bfades? (?:under|on|when|with) (?:pressure|press\w*|a glass)\b|(?:压之|按压后?|加压后?)(?:可|会|能)?不?[褪退]色",
        r"\bnon-?blanch(?:ing|able)\b",
    ),
    (
        r"\bcloudy\b|\bturbid\b|\bmurky\b|浑浊|混浊(?!症)",
        r"\bclear(?= (?:urine|discharge|fluid|liquid|mucus)\b)|(?<=urine )(?:is |was |looks )?clear\b|(?<=discharge )(?:is |was )?clear\b|(?<=fluid )(?:is |was )?clear\b|清亮|清澈",
    ),
    (
        r"\b(?:foul|bad|unpleasant|fishy|strong|offensive)[- ](?:smell(?:ing)?|odou?r)\b|\bsmelly\b|\bmalodorous\b|\bstinks?\b|臭味|异味|腥臭|恶臭|有味",
        r"\bodou?r(?:less|-free)\b",
    ),
    # Vessels, tubes, hernias, cervix.
    (
        r"\breducible\b|\b(?:goes|go|slips?|pops?) back in\b|\b(?:can|cannot|can['’]t) (?:easily |still )?be pushed back\b(?: in\b)?|[可能](?:以|够)?(?:自行)?(?:回纳|还纳|推回去?|塞回去?)|自行回纳|(?:推|按|塞)[得不]回去?",
        r"\birreducible\b|\bincarcerated (?=hernia)|\bstrangulated\b|(?<=hernia )is (?:incarcerated|stuck|trapped)\b|嵌顿|绞窄",
    ),
    (
        r"\bcervix (?:is|was|has) (?:\w+ )?(?:open|dilated|opened)\b|\bopen cervix\b|宫口(?:已经?|尚?未|还?没有?)?(?:开|扩张)",
        r"\bcervix (?:is|was|remains) (?:long and |still )?closed\b|\bclosed cervix\b|宫口(?:仍|还)?(?:关闭|闭合|紧闭)",
    ),
    # Functions.
    (
        r"\b(?:regularly |normally )?ovulat(?:es?|ing)\b(?: normally| regularly)?|(?:\bregular |\bnormal )ovulation\b|\bovulatory (?=cycles?)",
        r"\b(?:cycles? (?:is|are) )?an-?ovulat(?:ory|ion)\b",
    ),
    (
        r"\b(?:good|normal|healthy|hearty) appetite\b|\bappetite (?:is|was|remains) (?:good|normal|fine)\b|\b(?:eats?|eating|feeds?|feeding) well\b|食欲(?:很|较|还|尚)?(?:好|良好|正常|佳|可)|胃口(?:很|较|还)?不?好|胃口(?:正常|不错)|吃得(?:香|下)|纳可|食欲(?:旺盛|增加|增强|大增|亢进)|胃口大[开增]",
        r"\b(?:poor|decreased|reduced|lost (?:his|her|their)) appetite\b|\bloss of appetite\b|\bappetite (?:is|was|has) (?:poor|reduced|decreased|gone)\b|\boff (?:his|her|their|your|its) food\b|\b(?:eats?|eating|feeds?|feeding) poorly\b|食欲(?:很|较)?(?:差|下降|减退|不振|不佳)|胃口(?:很|较)?差|纳差|吃不下",
    ),
    (
        r"\bsleep(?:s|ing)? (?:very |quite )?(?:well|soundly)\b|\bgood (?:night['’]s )?sleep\b|\bsleep is (?:good|normal|fine)\b|睡得(?:很|比较)?(?:好|香|着|安稳)|睡眠(?:很|较|质量)?(?:好|良好|正常|尚可|不错|充足|充分)",
        r"\bsleep(?:s|ing)? (?:very |quite )?(?:badly|poorly)\b|\b(?:poor|broken|disturbed) sleep\b|\b(?:trouble|difficulty|problems) (?:falling asleep|sleeping)\b|(?<!fatal familial )\binsomnia\b(?! severity)|\bsleepless(?:ness)?\b|睡眠(?:很|较|质量)?(?:差|不佳|障碍|不足|缺乏|太少|过少)|失眠|睡不[好着]",
    ),
    (
        r"\bsensation (?:is|was|remains) (?:intact|normal|preserved)\b|\b(?:intact|normal|preserved) sensation\b|感觉(?:功能)?(?:正常|存在|良好)",
        r"\bnumb(?:ness)?\b|\b(?:loss of|lost|reduced|impaired|decreased) (?:sensation|feeling)\b|麻木|发麻|失去(?:知觉|感觉)|感觉(?:减退|消失|丧失|障碍)",
    ),
    (
        r"\bformed (?=stools?\b)|\bstools? (?:is|are|was|were) formed\b|(?:大便|便便|粪便)(?:已|已经)?不?成形",
        r"\b(?:loose|watery|runny|liquid)(?= (?:stools?|motions?|bowel)\b)|\bunformed\b|(?:大便|便便|粪便)(?:较|很|偏|比较)?稀|水样便|稀便|稀水便|拉稀",
    ),
)

# Sides that need a subject and of which one always applies.
COMPLEMENTS = (
    (
        r"(?<!in-)\bsufficient(?=$| (?:levels?|stores|intake|amounts?)\b)|\b(?:is|are|was|were|remains?) (?:adequate|sufficient|plentiful)\b|\badequate(?=$| (?:levels?|stores|intake|amounts?)\b)|\breplete\b",
        r"\bdeficient$|\binadequate(?=$| (?:levels?|stores|intake|amounts?)\b)|\bdepleted\b|\binsufficient(?=$| (?:levels?|stores|intake|amounts?)\b)",
    ),
    (
        r"\b(?:with|without|no|with(?:out)? iv|with(?:out)? intravenous) contrast\b(?: dye| medium| agent| material)?|\bcontrast[- ]enhanced\b|(?<!non-)(?<!non )\bcontrast(?: (?:dye|medium|agent))?\b(?! (?:allerg|reaction|sensit|nephro|bath|induced))",
        r"\bunenhanced\b|\bnon-?contrast\b|\bplain (?=ct\b|mri\b|scan)",
    ),
    (
        r"(?<!non-)(?<!non )(?<!c-)(?<!c )\breactive(?= (?:tests?|results?|for (?:hiv|syphilis|hepatitis))\b)|\b(?:hiv|rpr|vdrl|tpha|test|result|serology|screen|is|was|came back|pupils?|are) reactive\b",
        r"\bnon-?reactive\b|\b(?:fixed|unreactive|unresponsive)(?= (?:dilated )?pupils?\b)|\bpupils? (?:are|is) (?:fixed|unreactive)\b",
    ),
    (r"\bsero-?positive\b", r"\bsero-?negative\b"),
    (
        r"\btypical (?=symptoms?\b|features?\b|presentation|signs?\b|rash|picture|case)|(?<!非)(?<!不)典型(?!肺炎)",
        r"\batypical (?=symptoms?\b|features?\b|presentation|signs?\b|rash|picture|case)|不典型",
    ),
)

# Sides that need a subject; both may be false.
CONTRARIES = (
    (
        r"\b(?:dilat\w+|widen\w*)\b|扩张|扩大|散大",
        r"\b(?:constrict\w*|narrow\w*|pinpoint(?= pupil))\b|狭窄|缩小|变窄|针尖(?=样?瞳孔)",
    ),
    (r"\bsunken\b|\bsunk in\b|\bdepressed(?= fontanel)", r"\bbulg(?:es?|ing)\b(?! discs?| disks?)"),
    (
        r"\b(?:low[- ]lying|pr(?:a)?evia)(?= placenta|$)|(?<=placenta )(?:is )?(?:low[- ]lying|pr(?:a)?evia)\b|\bcover(?:s|ing) the cervix\b",
        r"\b(?:well )?(?:clear of|away from) (?:the )?(?:cervix|os)\b|(?<=placenta )(?:is )?(?:high|fundal)\b",
    ),
    (
        r"\b(?:impacted|un-?erupted)(?= (?:wisdom |third )?(?:teeth|tooth|molars?|canines?)\b)|(?<=tooth )(?:is )?(?:impacted|un-?erupted)\b",
        r"\b(?:fully |already )?(?<!un-)erupted\b|\b(?:has|have) come through\b",
    ),
    (
        r"\b(?:past|old|previous|former|earlier|prior|resolved)(?= infections?\b)|(?<=infection )(?:is|was) (?:old|past|long ago|in the past)\b",
        r"\b(?:current|recent|active|ongoing|fresh|present)(?= infections?\b)|(?<=infection )is (?:current|recent|active|fresh|ongoing)\b",
    ),
    (
        r"\binflamed\b",
        r"\b(?:looks?|looked|appears?|appeared) (?:entirely |perfectly |completely )?(?:healthy|normal|fine)\b|\b(?:healthy|normal)[- ]looking\b",
    ),
    # A test that is normal or shows something.
    (
        r"(?<!than )(?<!below )(?<!above )(?<!below the )(?<!above the )\bnormal\b|\bunremarkable\b|\b(?:all|completely|entirely) clear\b|\bclear(?=$)",
        r"\b(?:shows?|showed|showing|reveals?|revealed|demonstrate[sd]?|found)(?! no\b)(?= (?:an? |the |some )?(?:\w+ ){0,2}?(?:abscess|an(?:a)?emia|aneurysm|bleeding|blockage|cancer|clots?|cysts?|dysplasia|effusion|fractures?|gallstones?"
        r"|h(?:a)?emorrhage|infarct\w*|infection|inflammation|lesions?|lumps?|malignan\w+|mass|metastas[ei]s|narrowing|nodules?|o?edema|pneumonia|polyps?|shadow|stenosis|stones?|tear|thromb\w+|tumou?rs?|ulcers?)\b)",
    ),
    (
        r"\b(?:rapid|fast|short|quick)(?:ly)?[- ]acting\b(?! insulin)|\bimmediate[- ]release\b",
        r"\b(?:long|slow|intermediate)[- ]acting\b(?! insulin)|\b(?:extended|sustained|prolonged|modified|slow)[- ]release\b",
    ),
    (
        r"\bthin(?= (?:layer|film|coat|coating|smear)\b)|\bthinly\b",
        r"\bthick(?= (?:layer|film|coat|coating)\b)|\bthickly\b|\bgenerously\b",
    ),
    (r"\bmedial(?:ly)?\b|内侧", r"\blateral(?:ly)?\b(?! thinking)|外侧"),
    (r"\bproximal(?:ly)?\b|近(?:心)?端", r"\bdistal(?:ly)?\b|远(?:心)?端"),
)
