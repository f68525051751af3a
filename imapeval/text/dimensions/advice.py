"""Dimensions of advice: what to take, eat and do, and how.

Words of denial and advice against something (stop, avoid, skip, 停, 禁, 忌, 不) are read before the sides. Where usage
has only a denied form ("skip the missed dose", 戒酒, 避光), the side contains it, or what remains of it, for what it
denies. Dimensions with one side are about one thing that is either advised or not. They stand alone only where the
thing occurs in advice alone ("drive"), and otherwise are in `COMPLEMENTS` ("alcohol").
"""

from __future__ import annotations

_YOUR = r"(?:the |your |his |her |their |its |an? |any |some |this |that |these |those )?"
_LIMB = r"(?:affected |injured |sore |swollen |broken |sprained |operated |bad |left |right )?(?:legs?|arms?|limbs?|foot|feet|hands?|ankles?|knees?|wrists?|extremit(?:y|ies))"


def _nutrient(latin: str, chinese: str, *, loose: bool = False) -> tuple[str, str]:
    """Return the sides "more of it" and "less of it" of what is eaten; loose if it is no laboratory value or symptom."""
    diet = "" if loose else r"[- ](?:diets?|foods?|intake|meals?|snacks?|drinks?)\b"
    behind = r"(?:your |the |dietary |intake of |amounts? of |foods? (?:rich|high) in ){0,2}"
    # The name itself stays behind: "more water" and "less salt" are opposed in the row of more and less.
    what, food = (
        rf"(?= {behind}(?:{latin})\b(?! (?:excretion|loss|levels?|concentration)))",
        rf"(?=[- ](?:{latin})\b{diet})",
    )
    named = rf"(?=(?:点|些)?(?:含|高|富含)?(?:{chinese})(?!排|丢|流失|分泌|的?浓度|水平))"
    meal = rf"(?=(?:{chinese})(?:饮食|食[物品谱]|膳食|的食))"
    return (
        rf"\b(?:(?:eat(?:ing)?|drink(?:ing)?|have|take|get|consum(?:e|ing)|include) )?(?:more|extra|additional|plenty of|lots of|boost|increas(?:e|ing)){what}|\badd(?:ing)?(?= (?:some |extra |more )?(?:{latin})\b)"
        rf"|\b(?:high|higher){food}|\b(?:rich|high) in(?= (?:{latin})\b)"
        rf"|高{meal}|(?:多(?:吃|摄入?|补充?|食用?|进|放)|富含|补充?|增加){named}",
        rf"\b(?:(?:eat(?:ing)?|drink(?:ing)?|have|take|use|using) )?(?:less|little|fewer|limit(?:ing|ed)?|restrict(?:ing|ed)?|reduc(?:e|ing)|decreas(?:e|ing)|minimi[sz](?:e|ing)|cut(?:ting)?(?: (?:down|back)(?: on)?)?|go(?:ing)? easy on|watch){what}"
        rf"|\b(?:low|lower|reduced){food}|\b(?:low|poor) in(?= (?:{latin})\b)"
        rf"|低{meal}|[限控](?:制)?(?=(?:{chinese})(?!血|尿))|(?:少(?:吃|摄入?|食用?|进|放)|减少){named}",
    )


CONTRARIES = (
    # Whoever avoids it may well take other exercise.
    (
        r"\b(?:strenuous|vigorous|intense) (?:physical )?(?:exercis(?:e|es|ing)|activit(?:y|ies))\b|[剧激]烈(?:的)?(?:运动|锻炼|活动)",
    ),
)
STANDALONE = (
    # --- doses and courses
    (
        r"\b(?:increas(?:e|ed|ing)|rais(?:e|ed|ing)|doubl(?:e|ed|ing)|up|step(?:ped|ping)? up|higher) (?:of )?(?:the |your |his |her |its )?(?:daily )?(?:dose|dosage|dosing)\b|\bdos(?:e|age) (?:(?:increase|escalation)|(?:is |should be |must be |has to be |needs to be |can be )?(?:doubled|increased|raised))\b|\bup-?titrat\w*|\btitrat\w+ up(?:wards?)?\b"
        r"|加量|增量|加大(?:用|药|剂)量|增加(?:用|药|剂)量|上调剂量|剂量(?:加大|增加|上调|加倍|翻倍|调高)|[加增]量?[到至]|加倍(?=[服用吃])|提高剂量",
        r"\b(?:reduc(?:e|ed|ing)|lower(?:ed|ing)?|decreas(?:e|ed|ing)|cut(?:ting)?|halv(?:e|ed|ing)|step(?:ped|ping)? down|smaller) (?:of )?(?:the |your |his |her |its )?(?:daily )?(?:dose|dosage|dosing)\b|\bdos(?:e|age) (?:reduction|(?:is |should be |must be |has to be |needs to be |can be )?(?:halved|reduced|lowered|decreased))\b|\bdown-?titrat\w*|\btitrat\w+ down(?:wards?)?\b"
        r"|减量|减少(?:用|药|剂)量|降低剂量|下调剂量|剂量(?:减少|降低|下调|减半|调低)|减量?[到至为]|减半(?=[服用吃])|减药",
        r"\b(?:same|usual|current|existing|present|unchanged) (?:daily )?(?:dose|dosage)\b|\b(?:dose|dosage) (?:is |stays |remains |should (?:stay|remain) )?(?:unchanged|the same|as it is)\b|原剂?量|维持剂?量|照原来的?量|按原来的?量",
    ),
    (
        r"\b(?:finish\w*|complet(?:e|ed|ing)) (?:up )?(?:all (?:of )?)?(?:the |your |his |her |a |this )?(?:full |whole |entire |prescribed )?(?:antibiotics? |treatment )?(?:course|pack|prescription|bottle)\b|\b(?:the |a )?(?:full|whole|entire|complete) (?:\w+ )?course\b"
        r"|\b(?:take|use|finish) (?:them|it) all\b|\bto the (?:very )?end(?: of (?:the )?(?:course|treatment|packet))?\b|\buntil (?:they are|it is|the (?:course|packet|bottle) is) (?:all )?(?:finished|gone|completed|empty)\b"
        r"|足疗程|全疗程|足量足疗程|(?:完整|整个|全部|一个)疗程|(?:吃|服|用|打)(?:完|满|够|足)(?:整个|全部|一个|规定的?)?疗程|完成(?:整个|全部|全)?疗程",
        r"\b(?:as soon as|once|when) (?:you |he |she |the child |the patient |symptoms? |it )?(?:feels?|are|is|gets?|improves?|settles?|eases?|goes?|clears?) (?:a bit |much )?(?:better|well|away|up)\b|\b(?:earl(?:y|ier) if|if) (?:you )?feel(?:ing)? better\b"
        r"|见好就(?=[收停])|(?:好[转了]|症状(?:好转|消失|缓解))[后时]?(?:就|即|便)(?:可以?)?(?=停)",
    ),
    # --- ways of giving a drug
    (
        r"\b(?:inject(?:ed|ion|ions|able|ables|ing)?|jabs?|needles?|shots?(?! of (?:pain|espresso)))\b|注射|打针|针剂|打(?=胰岛素|屁股针)|静滴|静推|静注|静脉(?:滴注|输注|输液|点滴|推注)|打点滴|输液|吊瓶|吊针|挂水|肌注",
        r"\binsert(?:ed|ing)?\b(?= (?:\w+ ){0,3}vaginally\b)|\b(?:intravaginal(?:ly)?|vaginally|per vaginam|into the vagina|vaginal (?:tablets?|gel|creams?|rings?|suppositor(?:y|ies)|pessar(?:y|ies)|route|use|progesterone)|pessar(?:y|ies))\b|阴道(?:给药|用药|栓|塞|纳|上药|内给|用)|塞阴道",
        r"\bswallow(?:ed)?(?= (?:the |your |a |each )?(?:tablets?|pills?|capsules?)\b)|\b(?:by mouth|oral(?:ly)?(?! (?:cavity|sex|hygiene|health|ulcer|mucos|thrush|cancer|candid|lesion|surg))(?: (?:tablets?|form|medication|dose|therapy|route))?|(?:as|in) (?:an? )?(?:tablets?|pills?|capsules?|syrup)(?: form)?)\b|口服|内服",
        r"\b(?:rectal(?:ly)? (?:use|route|tablets?|gel|suppositor(?:y|ies))|per rectum|into the (?:rectum|back passage|bottom))\b|直肠给药|塞肛|肛塞|纳肛|肛门给药",
        r"\bsublingual(?:ly)?\b|\bunder (?:the|your) tongue\b|舌下含?[服化]|舌头?底下",
        r"外用|外涂|外搽|外擦|外敷",
    ),
    # --- position and movement
    (
        rf"\b(?:elevat\w+|rais(?:e|ed|es|ing)|prop\w*(?: up)?|lift\w* up) {_YOUR}{_LIMB}\b(?: (?:up )?(?:above|over) (?:the |your )?heart(?: level)?)?|\b(?:keep|put|hold) {_YOUR}{_LIMB} (?:up|raised|elevated|high)\b|\b{_LIMB} (?:should be |must be |is |are )?(?:elevated|raised|up|above (?:the )?heart)\b|\b(?:head of the bed|bed head) (?:raised|elevated|up)\b"
        r"|抬高(?=[^，,；;。]{0,4}(?:肢|腿|脚|足|手|臂|床头|头|臀))|(?:肢|腿|脚|足|手|臂|床头|头部|臀部)[^，,；;。段]{0,4}(?:抬高|垫高|抬起|举高)|垫高",
        rf"\blower(?:ed|ing)? {_YOUR}{_LIMB}\b|\b(?:let|keep|hang|hold|leave) {_YOUR}{_LIMB} (?:down|hang(?:ing)?(?: down)?|dangl(?:e|ing)|low|below)\b|\b{_LIMB} (?:should |must )?(?:hang(?:s|ing)?(?: down)?|dangl(?:e|es|ing)|down)\b|\bdependent position\b"
        r"|(?<=[肢腿臂])(?:自然|保持|应|要|需)?(?:放低|下垂|垂下|低垂|低于心脏)(?:下垂)?(?!体|症)",
    ),
    (
        r"\b(?:lie|lay|lying|stay lying) (?:down|flat|still)\b|\b(?:recumbent|lying)\b(?<!semi-recumbent)|躺(?:下|着|平|好)|平卧|卧位(?<!半卧位)(?<!侧卧位)(?<!俯卧位)(?<!仰卧位)",
        r"\b(?:sit|sits|sitting|seated|sat)(?: up(?:right)?| down| still)?\b|\bupright\b|\bsemi-?recumbent\b|\bpropped up\b|坐(?=位|起|着|直|下|立)|半[卧坐]位?|端坐|直坐",
        r"\b(?:stand|stands)(?: up| still)?\b(?! (?:out|for|by)\b)|(?<!-)(?<!long )\bstanding\b(?: up)?(?! (?:order|committee|history))|站(?=立|着|起|直|位)|直立(?!性)",
    ),
    (
        r"\b(?:keep|kept|hold|held) (?:it |the \w+ |your \w+ )?(?:very |completely |absolutely )?still\b|\b(?:splint(?:ed|ing|s)?|(?:in|with|needs?|wear|apply) (?:a |the )?(?:plaster|cast|sling|brace|boot|collar))\b|(?:石膏|夹板|支具|支架|绷带|吊带|颈托)固定|固定(?=患[肢处]|关节|伤肢|肢体)|打石膏|上夹板",
        r"\b(?:move|moving|bend|bending|exercise|exercising|use|using|flex) (?:the |your |his |her )(?:joint|finger|fingers|toes?|knee|elbow|shoulder|wrist|ankle|hand|arm|leg|neck|back)s?\b|\brange[- ]of[- ](?:motion|movement)\b|\bearly (?:movement|motion)\b"
        r"|屈伸",
    ),
    (
        r"\b(?:ice[- ]?packs?|cold[- ]packs?|cold compress(?:es)?|cold application|bag of (?:frozen )?(?:peas|ice)|frozen peas|appl(?:y|ying) (?:ice|cold)|put(?:ting)? (?:some )?ice|cool(?:ing)? (?:it|the burn|the skin)|icing|use ice|cold therapy|cryotherapy pack)\b|冰敷|冷敷|冰袋|凉敷|冰块|冷疗|冷毛巾",
        r"\b(?:heat[- ]?packs?|heating pads?|hot[- ]packs?|(?:hot|warm)(?: moist)? compress(?:es)?|(?:hot|warm) water bottles?|hot-water bottles?|appl(?:y|ying) (?:heat|warmth)|heat lamps?|warm flannel|wheat bag|use heat|heat therapy)\b|热敷|热水袋|暖水袋|暖宝宝|烤灯|热疗|温敷|热毛巾|烤电",
    ),
    (
        r"\b(?:wrap(?:ped|ping)? (?:(?:him|her|the (?:child(?:ren)?|baby)|it) )?(?:up(?: warmly| well)?|warmly)|bundl(?:e|ed|ing) up|extra (?:blankets?|clothes|layers)|sweat it out|(?:warm|thick|heavy) (?:clothes|clothing|blankets))\b|捂汗|捂热|裹紧|多穿|穿厚|厚被|盖厚|发汗退[烧热]",
        r"\b(?:(?:undress|unwrap)\w*(?: (?:him|her|it|the (?:child(?:ren)?|baby)))?|(?:light|thin|fewer) (?:clothes|clothing|blankets?|layers)|remove (?:excess )?(?:clothes|clothing|layers)|take off (?:clothes|layers)|strip(?:ped)? (?:him|her|the (?:child(?:ren)?|baby)) (?:off|down))\b|减少?衣|少穿|穿薄|衣着?宽松凉爽|松开衣|解开衣|散热|脱(?:掉)?衣",
    ),
    (
        r"\b(?:tight(?:ly)?|snug(?:ly)?|firm(?:ly)?)(?: bandag\w+| clothing| clothes| underwear| shoes| fitting|-fitting)\b|紧身|过紧|扎紧|勒紧",
        r"\b(?:loose(?:ly)?)(?: bandag\w+| clothing| clothes| underwear| shoes| fitting|-fitting)\b|宽松|松散(?=包)|轻松包",
    ),
    (
        r"\b(?:wak(?:e|ing|en) (?:him|her|them|the (?:baby|child(?:ren)?|patient)|your (?:baby|child(?:ren)?))|wake up every)\b|叫醒|唤醒(?!试验)|弄醒",
        r"\b(?:let|leave|leaving|allow) (?:him|her|them|the (?:baby|child(?:ren)?|patient)|your (?:baby|child(?:ren)?)) (?:to )?sleep(?:ing)?\b|让(?:他|她|孩子|宝宝|病人|患者)睡|任其睡",
    ),
    # --- food
    _nutrient(r"salt|sodium|salty foods?", r"盐|钠|咸|食盐"),
    _nutrient(
        r"sugars?|sweets?|sweet foods?|sugary (?:foods?|drinks?)|carbohydrates?|carbs",
        r"糖分?(?!皮质|尿|蛋白|苷|化)|甜食?|碳水(?:化合物)?|主食",
    ),
    _nutrient(r"fib(?:re|er)|roughage|wholegrains?|bran", r"(?:膳食)?纤维(?!蛋白|素|瘤|化|肌|环)|粗粮", loose=True),
    _nutrient(r"proteins?", r"(?:优质)?蛋白质?(?!尿|酶)"),
    _nutrient(r"potassium", r"钾"),
    _nutrient(r"(?:saturated |animal )?fats?", r"脂肪?(?!血|蛋白|肝|瘤|酶|质)|油脂"),
    _nutrient(r"purines?|purine-rich foods?", r"嘌呤"),
    _nutrient(r"iodine|seaweed", r"碘"),
    _nutrient(r"phosph(?:ate|orus)", r"磷"),
    _nutrient(r"calcium", r"钙"),
    _nutrient(r"iron", r"铁"),
    _nutrient(r"oxalates?", r"草酸"),
    _nutrient(r"vitamin k|leafy greens|green vegetables|leafy vegetables", r"维生素\s?K|绿叶(?:蔬)?菜"),
    (
        r"\b(?:drink(?:ing)? )?(?:plenty(?: of)?|lots(?: of)?|more|extra|enough|increased?|push|high|generous|good|liberal|adequate|encourage)(?=(?: your| the| oral| daily)? (?:fluids?|water|liquids?)\b)|\bdrink(?:ing)? (?:plenty|lots|more|a lot|freely|generously)(?= |$)|\b(?:stay|keep|keeping|staying) (?:well )?hydrated\b|\bhydrate well\b"
        r"|(?:多(?:喝|饮|补充?)(?:点|些)?|大量(?:喝|饮)|补充?|充足的?|勤喝|增加)(?=(?:温|热|白|开|饮)?(?:开)?水(?!肿|泡|疱|钠|痘)|液体|饮水)|多喝(?=$|，)|饮水(?:充足|量?增加)",
        r"\b(?:fluid|water)[- ]restrict\w*|\b(?:drink(?:ing)? )?(?:restrict\w*|limit\w*|reduc(?:e|ing)|curtail|minimi[sz]e|less|fewer|little|cut(?:ting)?(?: (?:down|back)(?: on)?)?)(?=(?: your| the| oral| daily)?(?: intake of)? (?:fluids?|water|liquids?)\b)|\bdrink(?:ing)? (?:less|little|sparingly)\b"
        r"|[限控](?=水)|(?:限制|控制|减少)(?=饮水|喝水|水分?(?!肿|泡|疱|钠)|液体(?!渗)|入量|入水|进水)|少(?:喝|饮)(?=水)|饮水量?(?:限制|减少)",
    ),
    (
        r"\b(?:greasy|oily|fatty|fried|deep-fried|rich) (?:foods?|meals?|diet|dishes|meat)\b|油腻|油炸(?:食[品物])?|肥腻|大鱼大肉|肥肉",
        r"\b(?:bland|light|plain|non-greasy) (?:foods?|meals?|diet|dishes)\b|清淡|素淡|素食为主",
    ),
    (
        r"\b(?:eat(?:ing)? )?raw (?:meat|fish|eggs?|foods?|milk|seafood|shellfish|oysters?|vegetables?|liver|sprouts|diet)\b|\b(?:undercooked|uncooked|underdone|rare meat|unpasteuri[sz]ed|sushi|sashimi|runny eggs?)\b|生(?:吃|食|鱼片?|肉|鸡?蛋|海鲜|奶|牛奶)|半生(?:不熟)?|生的(?=[肉鱼蛋菜])|未煮熟|溏心",
        r"\b(?:(?:eat(?:ing)? )?(?:(?:meat|fish|eggs?|foods?|seafood|shellfish|poultry|chicken) )?(?:must be |should be |has to be |needs to be )?(?:well[- ]cooked|(?:thoroughly|fully|properly) cooked)|cook(?:ed)? (?:thoroughly|through|well|properly)|cooked (?:meat|fish|eggs?|foods?|vegetables?|seafood)|well[- ]done|pasteuri[sz]ed|hard[- ]boiled)\b|(?<!未)煮熟|煮透|熟透|全熟|(?<!未)(?<!不)熟食|烧熟|做熟",
    ),
    (
        r"\bcold (?:drinks?|foods?|water|beverages?)\b|\b(?:iced|chilled|ice-cold) (?:drinks?|water|foods?|beverages?)\b|\bice[- ]?creams?\b|冷饮|生冷|冰水|冰镇|凉的(?=[饮食东])|冷食|冰淇淋|雪糕|凉食|喝冰的",
        r"\b(?:warm|hot|lukewarm) (?:drinks?|foods?|water|beverages?|liquids?)\b|温水|热水(?!袋)|温热|热饮|温开水|热食",
    ),
    (
        r"\b(?:small(?:er)?(?:,)? (?:and )?(?:more )?frequent meals?|little and often|frequent small meals?|small meals?|smaller portions?)\b|少食多餐|少量多餐|少吃多餐",
        r"\b(?:(?:large|big|heavy|bigger) (?:and infrequent )?meals?|(?:two|three|a few) (?:large|big|full|square) meals|infrequent meals)\b|暴饮暴食|吃(?:得)?(?:过|太)饱|饱餐|大餐",
    ),
    # --- washing, dressing
    (
        r"\b(?:baths?|bathe|bathing|tub|soaking in (?:a |the )?(?:bath|tub)|take a bath)\b(?<!sitz bath)(?<!sitz baths)|盆浴|泡澡|泡浴|泡温泉",
        r"\b(?:shower(?:s|ing|ed)?|take a shower)\b|淋浴|冲凉|冲澡",
    ),
    (
        r"\b(?:contact lens(?:es)?|contacts)\b(?! (?:with|of|between))|隐形(?:眼镜)?|角膜接触镜",
        r"\b(?:(?<!sun)glasses|spectacles|specs)\b|框架(?:眼)?镜|(?<!隐形)眼镜(?!蛇)",
    ),
    # --- operations and tests
    (
        r"\b(?:under (?:a )?)?(?:local|topical) (?:an(?:a)?esth\w+|freezing|numbing)|\bunder (?:a )?local\b|\bnumb(?:ed|ing)? (?:the )?(?:area|skin|gum)|局麻|局部麻醉|表面麻醉|浸润麻醉",
        r"\b(?:under (?:a )?)?general an(?:a)?esth\w+|\bunder (?:a )?general\b|\b(?:put|fully|completely|while) (?:you )?(?:to sleep|asleep)\b|全麻|全身麻醉",
        r"\b(?:under (?:a |an )?)?(?:spinal|epidural|regional|neuraxial) (?:an(?:a)?esth\w+|block|injection)\b|半麻|腰麻|椎管内麻醉|硬膜外麻醉|脊麻|半身麻醉|神经阻滞麻醉",
    ),
    (
        r"\b(?:laparoscop\w+|keyhole(?: surgery| operation)?|minimally[- ]invasive|minimal access|thoracoscop\w+|arthroscop\w+|robotic(?:ally)?[- ](?:assisted|surgery))\b|腹腔镜|微创|胸腔镜|关节镜|打孔手术|机器人手术",
        r"\bopen (?:surgery|operation|procedure|repair|approach|cholecystectomy|appendi[cx]ectomy|appendectomy|hernia repair|resection|surgical|hysterectomy|myomectomy|heart surgery)\b|\b(?:laparotomy|thoracotomy|sternotomy)\b|开腹|开放(?:式|性)?手术|开胸|剖腹(?!产)|大切口|切开手术",
    ),
    (
        r"\b(?:induc(?:e|ed|tion)(?: of)?(?: the)? labou?r|labou?r (?:is |was |be )?induced|terminat(?:e|ion|ing)(?: of)?(?: the)? pregnancy|abort(?:ion|ed)?)\b|引产|终止妊娠|催产|人流|打掉|流掉|人工流产|堕胎",
        r"\b(?:continu(?:e|ing|ation)(?: of| with)?(?: the)? pregnancy|keep(?:ing)? the (?:baby|pregnancy)|carry(?:ing)? (?:the pregnancy |it )?to term|let nature take its course|expectant management of (?:the )?pregnancy|save the pregnancy)\b|保胎(?:治疗)?|继续(?:妊娠|怀孕)|留下(?:孩子|宝宝|胎儿)|等待自然(?:发动|临产|分娩)|安胎",
    ),
    (
        r"\b(?:feed(?:ing)? on demand|demand feed(?:ing)?|whenever (?:the )?(?:baby|he|she) (?:is hungry|wants))\b|按需(?:喂养|哺乳|喂奶)|饿了就喂|想吃就喂",
        r"\b(?:scheduled feed(?:ing|s)?|feed(?:ing)? (?:to a|on a|by the) (?:schedule|timetable|clock|strict schedule)|timed feeds)\b|定时(?:喂养|哺乳|喂奶)",
    ),
    (
        r"\b(?:repair(?:ed)?|stitch(?:ed|ing)? (?:up|closed|it|the)|sutur(?:e|ed|ing) (?:it|the|is|needed|closed)|clos(?:e|ed|ing) (?:it )?with (?:stitches|sutures)|(?:needs?|requires?) (?:stitches|sutures|suturing|stitching))\b|缝合|缝针|缝几针|要缝",
        r"\b(?:(?:left|leave) (?:it |the wound )?(?:to heal|open to heal)|heal(?:s|ing)? by (?:secondary|second) intention|secondary intention|steri-?strips? only|glued? instead)\b|二期愈合|换药愈合|开放换药",
    ),
    (
        r"\b(?:fluoride toothpaste|fluoridated|with fluoride)\b|含氟",
        r"\bfluoride-free\b|无氟",
    ),
    (
        r"\b(?:soft|liquid|pureed|mushy|semi-solid) (?:foods?|diet|meals?)\b|软食|流质|半流质|流食|糊状",
        r"\b(?:hard|solid|crunchy|tough|rough|chewy) (?:foods?|diet|meals?)\b|硬(?:的)?(?:食物?|物|东西)|坚硬|固体食物|粗糙食物|普食",
    ),
    (
        r"\b(?:chlorhexidine|antiseptics?|iodine|povidone-iodine|hydrogen peroxide|surgical spirit|rubbing alcohol|disinfect\w*) (?:on|to|for|into|over) (?:it|the|your)\b|用(?:酒精|双氧水|碘伏|碘酒|消毒液|药水)(?:消毒|擦|涂|冲洗|清洗)",
        r"\b(?:plain|clean|tap|soapy|running|cooled boiled) water(?: only| alone| and soap)?\b|\b(?:soap and water|saline|salt water)\b|清水|肥皂水|生理盐水|流动水|自来水",
    ),
)

STANDALONE_COMPLEMENTS = (
    # --- missed doses: "skip the missed dose" denies the side
    (
        r"\b(?:doubl(?:e|ed|ing)(?: up)?(?: on)?|take (?:a |an )?(?:double|extra|two)|two|mak(?:e|ing) up(?: for)?(?: with)?|catch(?:ing)? up(?: on| with)?|compensat(?:e|ing)(?: for)?) (?:the |your |a |any |of the )?(?:next |missed |forgotten |double |extra )*(?:doses?|tablets?|pills?|one)(?= (?:to|at|if|for|next|together|missed|you)|$)"
        r"|\bdouble dos(?:e|es|ing)\b|\b(?:skip|omit|leave out) (?:the |a |any |your )?(?:missed|forgotten) (?:dose|tablet|pill)\b|双倍(?:剂量|补|服|吃)|加倍补?(?=服|吃)|补(?:服|吃)(?:双倍|两倍|漏服)|一次吃两次的?量|漏服(?:的)?(?:剂量|药)?(?:要|需|应)?补",
    ),
    # --- storage
    (
        r"\b(?:protect(?:ed|ing)? from (?:direct )?(?:sun ?)?light|light-?(?:proof|resistant|protected)|in (?:the )?dark(?: place| bottle)?|in a dark (?:place|cupboard|bottle)|out of (?:direct )?(?:sun ?)?light|shielded from (?:sun ?)?light|(?:in|inside) (?:its|the) (?:outer |original )?(?:carton|box))\b|遮光|暗处|阴暗处|棕色瓶",
        r"\b(?:in|to|into) (?:direct |bright |strong |full )?(?:sun ?)?light\b(?<!protected from light)|avoid (?:direct |bright )?(?:sun ?)?light\b|\b(?:keep |stay )?away from (?:direct |bright )?(?:sun ?)?light\b|\bon (?:a|the) (?:sunny )?window ?sill\b|(?:避光|(?<![避遮见背感])光)(?=保存|存放|储存|贮存)|避光(?=放|$|[，,、])|见光|(?:放|存放|置)?(?:在|于)?(?:阳光|日光)(?:直射|照射|下)(?:保存|存放)?|向阳处|(?:强光|光照)(?=下|处|保存)",
    ),
    (
        r"\bshak(?:e|en|ing) (?:the |it |them |this |your )?(?:bottle|suspension|inhaler|vial|pen|syrup|medicine|mixture|well|before|vigorously|thoroughly|first|up)\b|\bshak(?:e|en|ing) (?:it|them)\b|(?<=not )\bshake(?=$|[,.;])|\bwell shaken\b|摇匀后?|振摇|摇晃(?=药|瓶|后|均|$)|摇一摇|用力摇|震荡摇",
    ),
    # --- weight, limbs
    (
        r"(?<!non-)(?<!non )(?<!partial )\b(?:full(?:y)? weight[- ]?bearing|weight[- ]?bearing|(?:full )?weight on(?: (?:the|your|that|his|her) (?:leg|foot|ankle|knee|hip))?|bear(?:ing)? (?:full |any |your )?weight|put(?:ting)? (?:any |full |your )?weight on|plac(?:e|ing) (?:any |full )?weight on|stand(?:ing)? on (?:it|the|that) ?(?:leg|foot|ankle)?|walk(?:ing)? on (?:it|the (?:leg|foot|ankle)|that (?:leg|foot|ankle)))\b|(?<!免)负重(?!训练)|承重|下地(?:行走|走路|走|活动|负重)?|踩地|着地(?:行走|走)?",
        r"\bnon[- ]weight[- ]?bearing\b|\b(?:keep|keeping|take|taking|kept) (?:all |the |your |any )?weight off\b|\b(?:keep|stay|staying|keeping) off (?:it|your|the|that) ?(?:foot|feet|leg|ankle|knee)?\b|\boff (?:your|the) feet\b|\b(?:on|with|use|using) crutches\b|免负重|拄(?:着)?(?:双)?拐|扶拐|坐轮椅",
    ),
    (
        r"\b(?:massag(?:e|ed|es|ing)|knead(?:ed|ing)?|rub(?:bing|bed)? (?:the |your |it |on )(?:area|leg|calf|breast|muscle|joint|swelling|lump|spot|bruise)?)\b(?<!cardiac massage)(?<!heart massage)|(?<!心脏)(?<!心)按摩|按揉|揉搓|搓揉|推拿|揉捏",
    ),
    # --- wounds and skin
    (
        r"\b(?:cover(?:ed|ing)? (?:it|them|up|(?:the|your) (?:wound|burn|cut|graze|blister|rash|area|sore|spots|skin|lesion|eye)s?|with (?:a |sterile |clean |cling )?\w+|by a)|(?:keep|leave) (?:it |the \w+ )covered|(?:under|with|apply|needs?) (?:a |an )?(?:dry |sterile |clean |occlusive )?(?:dressing|bandage|plaster|gauze|band-?aid)s?|bandag(?:e|ed|ing))\b|包扎|覆盖(?:伤口|创面|纱布)|(?:用|盖)(?:上)?(?:无菌)?纱布(?:包扎|包|盖|覆盖|裹)?(?:好|上|住|着|起来)?|贴创可贴|敷料(?:覆盖|包)|遮盖",
        r"\b(?:uncovered|(?:leave|left|leaving|keep) (?:it |the \w+ )?(?:open|exposed|undressed|unbandaged)(?: to (?:the )?air)?|(?:open|exposed) to (?:the )?air|in the open air|let (?:the )?air get to|let (?:it|the \w+) breathe)\b|敞开|暴露(?=疗法|创面|伤口|在空气)|(?:创面|伤口)(?:保持)?(?:暴露|透气|开放)|透气|晾着|裸露|敞着",
    ),
    (
        r"(?<!cat )(?<!cat-)\bscratch(?:ing)?\b(?! (?:test|disease|mark|wound|injur|from|by|on))|\bpick(?:ing)? (?:at )?(?:the |your |a |any )?(?:scabs?|skin|spots|crusts?|it)\b|搔抓|抓挠|挠(?=痒|抓|患|皮|它|破|$)|抓(?=痒|破|患处|伤口|皮肤|挠)|抠(?=痂|皮|掉|伤)",
    ),
    (r"\b(?:touch(?:ing)?|rub(?:bing)?) (?:the |your |his |her )?(?:eyes?|face)\b|揉(?:搓)?眼|摸(?=眼|脸)",),
    # --- poisoning and first aid
    (
        r"\b(?:induc(?:e|ed|ing)|provok(?:e|ing)|forc(?:e|ing)|trigger(?:ing)?) (?:yourself to |him to |her to |the child to )?vomit(?:ing)?\b|\bmake (?:him|her|them|yourself|the (?:child(?:ren)?|patient|person)|your child(?:ren)?) (?:vomit(?:ing)?|throw up|be sick|sick)\b|\b(?:vomit|sick) on purpose\b|\binduction of vomiting\b|\bself-induced vomiting\b|催吐|诱吐|抠喉|引吐|使其呕吐|诱导呕吐",
    ),
    (
        r"\b(?:suck(?:ing|ed)?(?: out)? (?:the |out the )?(?:venom|poison|wound|bite)|suction(?:ing)? (?:of )?the (?:bite|wound))\b|(?:用嘴)?吸(?:出)?(?:毒液|毒血)|口吸毒",
    ),
    (r"\btourniquets?\b|止血带|(?:扎|绑|捆)(?:紧|住)(?:伤口)?(?:近心端|上方|上端)",),
    (
        r"\b(?:put(?:ting)?|plac(?:e|ing)|stick(?:ing)?|forc(?:e|ing)|insert(?:ing)?) (?:anything|something|objects?|fingers?|a \w+) (?:in|into|between) (?:the |his |her |their |your )?(?:mouth|teeth)\b|(?:往|向)(?:嘴|口)(?:里|中|内)?塞|撬(?:开)?(?:牙|嘴)|塞(?:毛巾|勺子|东西|物品|筷子)",
    ),
    (
        r"\b(?:restrain(?:ed|ing)?|hold(?:ing)? (?:him|her|them|the (?:child(?:ren)?|patient|person)) down|pin(?:ning)? down) ?(?:him|her|them|the (?:child(?:ren)?|patient|person)|movements?)?\b|按住(?:病人|患者|孩子|肢体|手脚|身体)|强行按压(?:肢体|患者)|强压(?:肢体|患者)|束缚(?=患|病|肢)",
    ),
    # --- pregnancy; "pregnant" and 怀孕 may have been unified to "pregnancy" and 孕期
    (
        r"\b(?:get(?:ting)?|becom(?:e|ing)|fall(?:ing)?|being) pregnan(?:t|cy)\b|\b(?:try(?:ing)? (?:for a baby|to (?:conceive|get pregnan(?:t|cy)))|conceiv(?:e|ing)|plan(?:ning)? (?:a |for a |for )?(?:pregnancy|baby)|start(?:ing)? a family|have (?:a baby|children|more children|another baby))\b|备孕|要(?:孩子|小孩|宝宝|二胎)|受孕|怀上|(?<=[能可])(?:怀孕|孕期)|(?<=可以)(?:怀孕|孕期)|(?:再次|尽快|近期|准备|计划|打算)(?:怀孕|孕期|妊娠)|生(?:二胎|孩子)",
        r"\b(?:contracepti(?:on|ves?)|birth control|condoms?|family planning)\b(?<!emergency contraception)|避孕(?!失败|药|套破)|采取避孕|安全套",
    ),
    # --- daily life
    (
        r"\b(?:(?:fit to |able to )?driv(?:e|ing)(?! (?:force|pressure|factor|by|up|down|the))|(?:get |getting |sit )?behind the wheel|at the wheel|operat(?:e|ing) (?:heavy |dangerous )?(?:machinery|machines|vehicles?)|use (?:heavy )?machinery)\b|开车|驾车|驾驶(?!员)|操作(?:精密|重型|大型|危险)?(?:机器|机械|仪器)|高空作业",
    ),
    (
        r"\b(?:fly(?:ing)?|air travel|travel(?:ling|ing)? by (?:air|plane)|(?:take|board|go on|taking) (?:a |the )?(?:flight|plane)s?|long[- ]haul flights?|by plane)\b|坐飞机|乘(?:坐)?飞机|搭飞机|坐航班|飞行(?!员)|空中旅行",
    ),
    (r"\b(?:swim(?:ming)?|go in(?:to)? the (?:pool|sea|water)|diving)\b|游泳|下水|潜水|去泳池|玩水",),
    (
        r"\b(?:sun ?bath(?:e|ing)|sun exposure|expos(?:e|ed|ure)(?: \w+)? to (?:the )?(?:sun|sunlight|uv)|(?:in|out in|get(?:ting)?(?: some| more| enough| plenty of| increase| regular| daily)?|into|avoid|away from) (?:the )?(?:direct |strong |full |midday )?(?:sun|sunshine|sunlight)(?! through)|tanning|sun ?beds?|solariums?)\b(?!screen)|多?(?:去|出去)?晒(?:一|晒|晒晒)?太阳|日晒|日光浴|(?<=[暴曝])晒|晒(?=黑|背)|多晒|阳光(?:照射|暴晒)|见太阳|紫外线照射",
        r"\b(?:sun ?screens?|sun ?block|sun cream|spf|(?:in|seek|stay in) (?:the )?shade|sun[- ]protect(?:ion|ive)|cover(?:ing)? up from the sun|protect(?:ed|ing)? (?:\w+ ){0,2}from (?:the )?sun|(?:hide|shelter|stay) (?:away )?(?:from|out of) (?:the )?sun|out of the sun|sun hat)\b|(?:注意|做好|采取)?防晒|遮阳|打伞|阴凉处(?=休|待|活)",
    ),
    (
        r"\b(?:go(?:es|ing)?|return(?:ing|s)?|attend(?:ing|s)?|send(?:ing)?|be|back)(?: (?:back|him|her|them|the child(?:ren)?|your child(?:ren)?|straight))? (?:to |at |in )?(?:school|nursery|work|day ?care|kindergarten|child ?care|classes|creche|preschool)\b|\b(?:fit (?:for|to) work|working normally|resume work|keep working)\b|\b(?:(?:keep|kept|stay) away from|excluded? from|avoid) (?:school|nursery|work|day ?care)\b"
        r"|上(?:学|班|课|幼儿园|托)|复[课工学]|返[校岗工]|去(?:学校|幼儿园|上学|上班|托儿所)|入园|入托|送(?:去|到)?(?:学校|幼儿园)|停[课工]|恢复工作|正常工作",
        r"\b(?:(?:stay|stays|staying|keep|kept|keeping|be|time|remain)(?: (?:him|her|them|the child(?:ren)?|your child(?:ren)?|at home))? (?:off|home|out of|at home)(?: from)?(?: school| work| nursery| day ?care| kindergarten)?(?<!out of)|(?:keep|kept) (?:him|her|them|the child(?:ren)?|your child(?:ren)?) (?:away|home|off|back)(?: from)? (?:school|nursery|work|day ?care)|off (?:school|work|nursery|sick)|home from (?:school|work|nursery)|sick leave|signed off(?: work)?|sick note|absent from (?:school|work|nursery))\b|请(?:病)?假|病假|休学|缺课|歇工|休工",
    ),
    (
        r"\b(?:self-?isolat(?:e|es|ed|ing|ion)|isolat(?:e|es|ing|ion)(?! of)|(?<!in )isolated from (?:others|other|people|family)|in isolation|quarantin(?:e|ed|ing)|separate room|own room|keep (?:their |your |a )?distance)\b|隔离(?!霜|剂|衣|措施不)|分房|单独(?:一间|房间|居住|住)|单间",
        r"\b(?:mix(?:es|ing)? with (?:other|others|people|friends|family|children|classmates)|sociali[sz](?:e|es|ing)|(?:normal|close|free) contact with (?:other|others|people|family)|see (?:other people|friends|visitors)|share a (?:room|bed)|have visitors)\b|(?:与|和|跟)(?:他人|别人|家人|其他人|孩子|同学|旁人)(?:正常|密切|一起)?(?:接触|来往|交往|玩|同住|同睡)|聚会|正常社交|聚集|同房间住",
    ),
    (
        r"\b(?:lift(?:s|ing)? (?:any |up )?(?:heavy|weights?)(?: objects?| things| loads?| items)?|heavy (?:lifting|loads?|manual work|labou?r)|carry(?:ing)? (?:heavy|weights|shopping)|weight ?lifting|weight training|strain(?:ing)? yourself)\b|提重物|搬重物|拿重物|拎重物|举重|重体力|干重活|提拿重物|抬重物|搬东西",
    ),
    (
        r"\b(?:blow(?:ing)? (?:the |your |his |her )?nose|nose[- ]blowing)\b|擤鼻涕?|擤",
        r"\b(?:wip(?:e|ing)|dab(?:bing)?|sniff(?:ing)?) (?:the |your |his |her )?nose\b|擦鼻涕",
    ),
    (
        r"\b(?:cotton (?:buds?|swabs?)|q-?tips?|ear (?:picks?|candles?|candling)|(?:clean|poke|poking|digging|cleaning)(?: \w+)? (?:in |inside )?(?:the |your )?ears?(?: canal)?)\b|棉签(?=掏|挖|清|伸)|掏耳朵?|挖耳朵?|采耳|耳烛",
    ),
    (
        r"\b(?:face ?masks?|face coverings?|surgical masks?|wear(?:ing)? (?:a )?mask|masks? (?:is|are|should|must|can|in public|indoors))\b|口罩",
    ),
    (
        r"\b(?:compression (?:stockings?|socks|hosiery|bandages?|garments?)|support (?:stockings?|hosiery|tights)|elastic stockings)\b|弹力袜|压力袜|弹力绷带|加压绷带|循序减压袜",
    ),
    (r"\b(?:donat(?:e|es|ing|ion)(?: of)? blood|blood don(?:ation|ating|or)|giv(?:e|ing) blood)\b|献血|捐血",),
    (
        r"\b(?:hair dye|dy(?:e|eing) (?:the |your |her )?hair|colou?r(?:ing)? (?:the |your |her )?hair|hair colou?r(?:ing)?|perm(?:s|ing)?)\b|染发|烫发|烫头|染头发",
    ),
    (
        r"\b(?:share|sharing) (?:the |your |his |her |their |any |personal )?(?:towels?|cutlery|cups?|utensils|bedding|combs?|toothbrush(?:es)?|razors?|glasses|dishes|clothes|clothing|flannels?|needles)\b|共用(?!一)|合用(?=毛巾|餐具|牙刷|剃)|公用(?=毛巾|餐具)|同用(?=毛巾|餐)",
        r"\b(?:separate|own|individual) (?:towels?|cutlery|cups?|utensils|bedding|combs?|toothbrush(?:es)?|dishes)\b|专用(?=毛巾|餐具|洗|碗)|单独用(?=毛巾|餐)|分餐|碗筷分开|分开(?=洗|用毛巾|用餐具)|毛巾分开",
    ),
    (
        r"\b(?:co-?sleep(?:ing)?|bed[- ]?shar(?:e|ing)|sleep(?:s|ing)? in (?:your|the parents'|the same) bed)\b|同床|同睡",
        r"\b(?:own cot|separate cot|in (?:a|their|his|her) (?:own )?(?:cot|crib))\b|独睡|分床|单独小床|婴儿床",
    ),
    # --- partner, telling
    (
        r"\b(?:treat(?:ed|ing|ment of)?|test(?:ed|ing)?) (?:of )?(?:the |your |his |her |all |both |sexual |regular |male |female )*partners?\b|\bpartners? (?:also |both )?(?:needs?|requires?|should|must|has to|have to|does|do|is|are)(?: not)?(?: also| be| to| both| need| require| any| to be)* (?:treat(?:ed|ment)|therapy|tested)\b|\b(?:both partners (?:treated|need treatment)|partner (?:treatment|therapy))\b|(?:性伴侣?|配偶|伴侣|丈夫|老公|爱人|男方|妻子|女方|夫妻|双方)[^，,；;。]{0,8}(?:治疗|同治|用药)",
    ),
    (
        r"\b(?:tell(?:ing)?|inform(?:ed|ing)?|notif(?:y|ied|ying)|warn(?:ed)?|let) (?:the |your |his |her |any |all |sexual |every |a )*(?:doctors?|dentists?|pharmacist|nurse|surgeon|anaesthetist|anesthesiologist|partners?|family|school|employer|patient|contacts?|parents?|gp|dvla)(?: know)?\b|\b(?:disclos(?:e|ed|ing|ure)|be open about|speak openly)\b|告知|告诉|如实(?=说|告|讲|回答)|通知(?=医|家|性伴|学校|伴侣)|讲明|坦白",
        r"\b(?:keep(?:ing)? (?:it |this |the \w+ )?(?:secret|private|confidential|to yourself)|conceal(?:ed|ing|ment)?|hid(?:e|ing) (?:it|this|the diagnosis|your)|cover(?:ing)? it up)\b|保密|隐瞒|瞒着|瞒(?=住|报|医)|保守秘密|藏着",
    ),
)

COMPLEMENTS = (
    # --- one-sided: other names of what is advised or not
    (
        r"\b(?:drink(?:ing)? )?(?:an occasional drink|the odd drink|social drinking|(?:any |some |drinking )?alcohol|alcoholic (?:drinks?|beverages?)|beer|wine|spirits|liquor|booze)\b(?!-|[- ](?:wipe|swab|rub|withdrawal|based|gel|use disorder|abuse|dependence|dependency|poisoning|intoxication|syndrome|pad|solution|hand|injection|septal|ablation))(?: consumption| intake)?"
        r"|(?:喝|饮)?[点些]?(?<![限少控减节])酒(?!精|渣|窝|石|糟|曲|酿)|[戒忌禁断]酒(?!精)|酒类|含酒精(?:的)?(?:饮料|饮品)|沾酒|酗酒",
    ),
    (
        r"\b(?:smok(?:e|es|ing)(?! (?:inhalation|detector|alarm|particle|exposure))(?: cigarettes| tobacco)?|cigarettes?|tobacco|vap(?:e|es|ing)|nicotine products)\b",
    ),
    (
        r"\b(?:drink(?:ing)? )?(?:coffee|caffein(?:e|ated)(?: drinks?| beverages?)?)\b(?![- ]ground)|(?:喝|饮)?咖啡(?:因)?(?!色|样|渣|豆|牛奶)",
    ),
    (
        r"\b(?:spicy|spic(?:e|es|ed)|hot and spicy|chill?i(?:es|s)?|curr(?:y|ies)|pungent)\b(?: foods?| dishes| meals)?|辛辣(?:刺激)?(?:食物|食品|性)?|辣(?:的|食|椒(?!素)|味)|麻辣|吃辣|刺激性(?:食物|食品|饮食)",
    ),
    (r"\b(?:dairy(?: products?| foods?)?|milk products?)\b|奶制品|乳制品|奶类",),
    (r"\bgrapefruit(?: juice)?\b|西柚汁?|葡萄柚汁?",),
    (r"\b(?:seafood|shellfish)\b(?! allergy)|海鲜|海产品?|发物",),
    (
        r"\b(?:have (?:sex|intercourse)|having sex|(?:sexual|vaginal|penetrative)? ?intercourse|sexual (?:activity|relations)|(?:abstain(?:ing)? from|refrain from|avoid|stop|no) sex|sex (?:is|can|may|should)|mak(?:e|ing) love)\b|同房(?!间)|性生活|性交(?!痛|困难)|房事|夫妻生活|行房|禁欲|性行为",
    ),
    (
        r"\b(?:cosmetics|mascara|eye ?liner|foundation cream|(?:eye )?make-?up(?! (?:for|of|the|your|a))|wear(?:ing)? make[- ]up)\b|化妆(?:品)?|彩妆|眼妆|上妆|画眼线",
    ),
    (
        r"\b(?:breast[- ]?fe(?:e)?d(?:ing|s)?|nurs(?:e|ing) (?:the|your|her|a) (?:baby|infant|child)|lactat(?:ing|ion)(?! acid)|nursing mothers?)\b(?: (?:the|your|her) (?:baby|infant|child(?:ren)?)\b)?|母乳喂养|(?:停止?|暂停|继续|坚持|照常|照样|正常)(?:喂)?(?:哺乳期?|母乳|喂奶)|喂母乳|哺乳(?!动物|类|期)|亲喂|哺喂",
        r"\bwean(?:ed|ing)? (?:the |your |her )?(?:baby|infant|child(?:ren)?)\b|断(?:母)?[奶乳]|回奶",
    ),
    (r"\bimmuni[sz](?:e|ed|ing|ations?)\b|(?:预防)?接种(?:疫苗)?|(?:打|注射)疫苗|打预防针|疫苗接种",),
    (
        r"\b(?:biops(?:y|ies|ied)|tissue sampl(?:e|es|ing)|(?:take|taking) a (?:tissue )?sample)\b|(?:穿刺|病理|组织)?活检|活组织检查|取组织(?:化验|检查|送检)|取样送检",
    ),
    (
        r"\b(?:follow(?:ed)?[- ]?up(?: visits?| appointments?| scans?)?|check-?ups?|re-?check(?:s|ed|ing)?|re-?examin(?:e|ed|ation)|reassess(?:ed|ment)?|review appointments?|(?:come|go|coming) back (?:for (?:an? |the )?(?:review|check|check-?up|follow[- ]?up)|in|for|to (?:the|see))|return for (?:an? |the )?(?:review|check-?up|follow[- ]?up)|be seen again|return (?:visit|appointment)s?|repeat (?:test|scan|visit|check)s?)\b|复查|复诊|随访|回诊|复检|随诊|再次就诊",
    ),
    (r"\b(?:screen(?:ed|ing)?(?! (?:time|use|door))(?: tests?| programmes?| programs?)?)\b|筛查|普查|筛检",),
    (
        r"\b(?:(?:urgent |specialist )?refer(?:red|ral|rals|ring)?(?! (?:pain|otalgia|to as|itch))(?: to (?:an? |the )?(?:specialist|hospital))?|see(?:ing)? (?:an? |the )?specialist|specialist (?:opinion|input|assessment|review))\b|转诊|转院|转科|转上级(?:医院)?|会诊|看专科|专科就诊",
    ),
    (
        r"\b(?:antibiotics?|antibacterials?|anti-?microbials?)\b(?![- ](?:resist|associated|prophyl))|抗生素(?!相关)|抗菌(?:药物?|素)(?!相关)",
    ),
    (
        r"\b(?:in|for|by|to) (?:young |small |older |all )?(?:children|kids|paediatric patients|pediatric patients|youngsters|minors)\b|(?:儿童|小儿|幼儿|孩子|小孩|婴幼儿)(?=[可能禁慎忌不适也都均]|使用|服用)",
    ),
    (
        r"\b(?:the elderly|elderly(?: (?:people|patients|persons|adults))?|older (?:people|adults|patients|persons|age)|seniors|senior citizens|geriatric patients?|old people|pensioners|the aged)\b|老人|老年人|老年(?=患者|病人|人群)|高龄(?:者|人群|患者)|长者|年长者|上了年纪的人",
    ),
    (
        r"\b(?:drivers|people who drive|machine operators|those who drive|pilots)\b|司机|驾驶员|驾车者|开车的人|高空作业者|驾驶人员",
    ),
    (r"\b(?:tampons?|menstrual cups?)\b|卫生棉条|月经杯|棉条",),
    (
        r"\b(?:(?:vaginal )?douch(?:e|es|ing)|vaginal (?:washes|irrigation|wash))\b|冲洗阴道|阴道冲洗|灌洗阴道|洗阴道|私处洗液|妇科洗液",
    ),
    (r"\b(?:pacifiers?|dummies|dummy(?= (?:use|is|can|may|should|at)))\b|安抚奶嘴|奶嘴(?=使用|可|会|吸)",),
    (
        r"\b(?:(?:tv|television|phone|tablet|computer|screen) (?:use|viewing|time)|watch(?:ing)? (?:tv|television))\b|看(?:电视|手机|电脑|屏幕|平板)|玩手机|电子屏幕|电子产品",
    ),
    (
        r"\b(?:herbal (?:medicines?|remed(?:y|ies)|supplements?|products?|preparations?)|herbs|traditional chinese medicines?|tcm|chinese herbs?)\b|中(?:草)?药|中成药|草药",
    ),
    (r"\b(?:sunflower|peanuts?|tree nuts|nuts)\b(?! allerg)|坚果|花生(?!过敏)|果仁",),
    (r"\b(?:gluten|wheat products?|wheat, barley and rye)\b|麸质|面筋|谷蛋白|麦麸蛋白",),
    (
        r"\b(?:fizzy drinks?|carbonated (?:drinks?|beverages?)|soft drinks?|sodas?(?! (?:bicarb|lime))|sugary drinks?|cola)\b|碳酸饮料|汽水|可乐|甜饮料|含糖饮料",
    ),
    (r"\b(?:strong )?tea\b(?! (?:tree|spoon))|浓茶|(?:喝|饮)茶|茶水",),
    (r"\b(?:plaster cast|plaster|cast) (?:off|removal)\b|拆石膏|去石膏",),
    # --- two-sided, of something named
    (
        r"\b(?:needs?|requires?|must be|should be|has to be|have to be|ought to be)(?: to be| prompt| urgent| early| active| some| any| specific)* (?:treated|treatment)\b|\btreatment (?:is |was )?(?:needed|necessary|required|essential|indicated|warranted|recommended)\b|(?:需要?|必须|应当?|要)(?:积极|及时|尽早|接受|进行|特殊|药物|同时|一起|一并|也)*治疗(?!期)",
        r"\b(?:untreated|left alone|leave (?:it|them|the (?:lump|cyst|wart|mole|lesion)) (?:alone|be)|let (?:it|nature) (?:run its course|take its course|be))\b|放任|顺其自然|听之任之|放着(?:别管|就)|置之",
    ),
    (
        r"\b(?:permissible|allowable|advisable|approved|licensed|a good idea)\b|获批|提倡",
        r"\b(?:taboo|ill-advised|unwise|inappropriate|a bad idea|undesirable|detrimental|out of bounds|unacceptable|counterproductive|unlicensed)\b|有害(?!垃圾)|大错|有违|违规",
    ),
    (
        r"\b(?:beneficial|helpful|useful|effective|worthwhile|works well|(?:will|can|may|might|could|would|do|does) (?:not )?help(?= ?[.]?$| (?:with|against)\b)|helps(?= ?[.]?$| (?:with|against)\b)|(?:will|can|may|might|could|would|do|does) (?:not )?work(?= ?[.]?$| (?:well|for|against)\b)|works(?= ?[.]?$| (?:well|for|against)\b))\b|有(?:效|用|益|帮助|好处)|管用|见效|起效|奏效",
        r"\b(?:useless|ineffective|pointless|futile|worthless|fruitless|unhelpful)\b|徒劳|白费|白吃",
    ),
    (
        r"\b(?:compulsory|mandatory|obligatory|indispensable|a must|imperative)\b|强制|硬性",
        r"\b(?:optional|voluntary|superfluous|discretionary|dispensable|redundant)\b|可选|自愿|可做可(?=不)|多余|多此一举",
    ),
    (
        r"\b(?:brand(?:ed|-name)?|original brand|proprietary)\b(?= (?:version|drug|product|medicine|name|only))|原研药?|品牌药|进口药",
        r"\bgenerics?\b(?: (?:version|drug|product|medicine)s?)?|仿制药|国产药",
    ),
    (
        r"\b(?:over[- ]the[- ]counter|otc|without (?:a )?prescription|off the shelf)\b|非处方药?|药店(?:就能|可以?|可直接)买",
        r"\b(?:prescription[- ]only|on prescription|(?<!without )(?<!without a )(?:(?:needs?|requires?) (?:a )?prescription|prescription (?:needed|required|only|medicine|drug))|prescribed by)\b|(?<!非)处方药|凭处方|医生开",
    ),
)
