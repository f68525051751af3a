"""Dimensions of the course of a disease: how it begins, spreads and ends, what causes it and how serious it is."""

from __future__ import annotations

NOT_NEGATED = r"(?<!non-)(?<!non )(?<!un-)"
_ORGAN_NODES = r"(?:lymph|nodes?\b|liver|lungs?\b|bones?\b|brain|other (?:organs?|parts|areas)|distant|nearby|surrounding|neighbou?ring|elsewhere|another part)"
_PREGNANCY = r"(?:f(?:o)?etus|pregnancy|embryo|baby)"

STANDALONE = (
    (
        r"\bmyopi[ac]\b|\b(?:near|short)-?sighted(?:ness)?\b",
        r"\bhyperopi[ac]\b|\bhypermetropi[ac]\b|\b(?:far|long)-?sighted(?:ness)?\b",
    ),
    # Kinds of a disease that exclude each other.
    (
        r"\bphysiologic(?:al)?(?= (?:jaundice|murmurs?|gyn|phimosis|leuk|discharge|tremor|anisocoria)\b)|生理性(?!盐水)",
        r"\bpathologic(?:al)?(?= (?:jaundice|murmurs?|gyn|phimosis|leuk|discharge|tremor|anisocoria)\b)|病理性(?!骨折|检|诊|类)",
    ),
    (r"真性(?!红细胞)", r"假性(?!动脉瘤)"),
    (r"吸气性(?=呼吸困难|喘鸣|三凹)", r"呼气性(?=呼吸困难|喘鸣)"),
    (r"风寒(?!湿)|寒[性证]", r"风热|热[性证](?!惊厥|痉挛)"),
    (r"虚[证症]", r"实[证症](?!据|明)"),
    (r"营养(?:过剩|过度)", r"营养(?:不良|不足|缺乏)", r"营养(?:均衡|良好|充足)"),
    (r"(?<!不)有力(?!地|量|证)", r"微弱|细弱|(?<!肌)无力(?!症)"),
    (r"\b(?:expensive|costly)\b|昂贵|[较很太]贵", r"\b(?:cheap|inexpensive|affordable)\b|便宜|低廉|廉价"),
    (r"溶血性(?=黄疸)", r"肝细胞性(?=黄疸)", r"(?:梗阻|阻塞|淤胆|胆汁淤积)性(?=黄疸)"),
    (
        r"\b(?:lymphoblastic|lymphocytic|lymphoid)(?= leuk)|淋巴(?:母)?(?:细胞)?(?:性)?(?=白血病)",
        r"\b(?:myelo(?:blastic|id|cytic|genous)|granulocytic)(?= leuk)|(?:髓系|髓性|髓细胞性?|粒细胞性?|非淋巴细胞性?)(?=白血病)",
    ),
    (
        r"(?<!de-)\bcompensated(?= (?:cirrhosis|liver|heart|phase|stage|shock|acidosis|alkalosis)\b)|(?<!失)代偿[期性]",
        r"\bdecompensated\b|失代偿[期性]?",
    ),
    (
        r"\bdepressive (?=(?:episode|phase|state)\b)|抑郁(?:相|发作|期)",
        r"\bmanic (?=(?:episode|phase|state)\b)|轻?躁狂(?:相|发作|期)",
    ),
    (
        r"\b(?:full|filled) bladder\b|憋足?尿|膀胱充盈|充盈膀胱|涨尿",
        r"\b(?:empty|emptied) bladder\b|排空(?:小便|膀胱|尿液?)|排净(?:小便|尿液?)|膀胱排空",
    ),
    # Constant or intermittent.
    (
        r"\b(?:constant(?:ly)?|continuous(?:ly)?(?! (?:positive|passive|ambulatory|renal|glucose|subcut|infusion|monitor))|persistent(?:ly)?(?! (?:vegetative|left|pulmonary|fetal|truncus|infection))|unremitting|incessant(?:ly)?|nonstop|ever-present|(?:a)?round the clock|all the time)\b"
        r"|持续性|持续(?=疼|痛|发热|发烧|高热|高烧|咳|出血|呕吐|存在|不断|不退|不缓解)|一直(?=[疼痛咳]|发烧|发热|存在)|时时刻刻|从早到晚",
        r"\b(?:intermittent(?:ly)?(?! (?:positive|pneumatic|claudication|fasting|cathet|porphyria))|episodic(?:ally)?(?! ataxia)|sporadic(?:ally)?(?! (?:creutz|amyot|hemip|breast|case))|(?:comes?|came|coming|went) and go(?:es|ing)?|on and off|off and on|on-and-off"
        r"|now and (?:then|again)|from time to time|in (?:bouts|spells|waves|episodes|attacks)|paroxysmal(?! nocturnal)|every so often)\b"
        r"|间歇性?(?!跛行)|间断性?|阵发性?(?!睡眠)|一阵一阵|一阵阵|时断时续|断断续续|时好时坏|时轻时重",
    ),
    # First episode or recurrent.
    (
        r"\b(?:first|initial|single|isolated|one-off)[- ](?:ever )?(?:episode|attack|occurrence|event|seizure|bout)\b|\bfirst-ever\b|\bnew[- ]onset\b|\bnewly diagnosed\b"
        r"|\bfirst time\b(?= (?:it|this|he|she|they|I) )|首次发[作病]|第一次(?:发[作病]|得这|患|犯)|初次发[作病]|初发|首发(?!症状)|新发(?!现)",
        r"\b(?:recurrent|recurring|repeated|frequent|previous|multiple|second|third) (?:episodes?|attacks?|seizures?|bouts?|infections?)\b"
        r"|反复(?:发作|出现|感染)|多次发作|屡次|屡发|第[二三]次发[作病]|复发性",
    ),
    # Course: stable, worse, better.
    (
        r"(?<!hemodynamically )(?<!haemodynamically )\b(?:stable|unchanged|static|plateaued)\b(?! (?:angina|isotope|fracture|joint))|(?<!不)稳定(?!型|性|斑块|剂|期)|平稳|维持现状",
        r"\b(?:progress(?:ed|es|ing)|progression|deteriorat\w+|worsen\w*|(?:get(?:s|ting)?|got|became|becom(?:es|ing)|grow(?:s|ing)) worse|going downhill)\b"
        r"|病情(?:进展|恶化|加重|变重|反复)|恶化|有(?:所)?进展|进展(?=了|迅速|较?快)|越来越(?:重|差|严重|厉害)|每况愈下",
        r"\b(?:improv(?:ed|es|ing|ement)|(?:get(?:s|ting)?|got|becom(?:es|ing)|feel(?:s|ing)?) better|on the mend|recovering)\b"
        r"|(?:有所|明显|逐渐|病情|症状)(?:好转|改善|减轻)|越来越(?:好|轻)|一天比一天好",
    ),
    # Grows fast or slowly.
    (
        r"\b(?:fast|rapid|rapidly|quick|quickly)[- ](?:grow|progress|spread)\w*|\b(?:fast|rapidly|quickly)[- ]advancing\b|\b(?:grow|grows|grew|progress|progresses|spreads|advances?|develops?) (?:very |quite )?(?:fast|quickly|rapidly)\b|(?<!passive-)\baggressive\b(?! (?:fibromat|person|behavi|treatment|therapy|outburst))"
        r"|长得(?:很|比较|非常)?快|生长(?:迅速|较?快|很快)|进展(?:迅速|较?快|很快)|短期内(?:明显)?(?:增大|长大)",
        r"\b(?:slow|slowly)[- ](?:grow|progress)\w*|\bslow(?:ly)?[- ]advancing\b|\b(?:grow|grows|grew|progress|progresses|advances?|develops?) (?:very |quite )?slowly\b|\bindolent\b"
        r"|长得(?:很|比较|非常)?慢|生长(?:缓慢|较?慢|很慢)|进展(?:缓慢|较?慢|很慢)|发展缓慢",
    ),
    # Active disease or remission.
    (
        r"\bactive (?=disease|tuberculosis|tb\b|infection|inflammation|phase|hepatitis|colitis|arthritis|bleeding)|\b(?:disease|infection|tb|tuberculosis) is (?:still )?active\b|\bin (?:a )?flare\b|\b(?:has|have) relapsed\b|\bin relapse\b"
        r"|(?:处于)?活动期|发作期|活动性(?=肺?结核|感染|出血|病变|炎症)|处于活动",
        r"\b(?:in|into|achiev\w+) (?:complete |partial |full |clinical )?remission\b|\bquiescent\b|\bdormant\b|\blatent\b|\binactive (?=disease|phase|infection|tuberculosis|tb\b|carrier)"
        r"|缓解期|静止期|稳定期|间歇期|潜伏性|潜伏感染|病情缓解",
    ),
)

# Sides that need a subject.
CONTRARIES = (
    (
        r"\b(?:has|have|is|are) (?:now )?(?:dissolved|gone|disappeared|vanished|cleared)(?: up| away)?\b(?: completely)?",
        r"\b(?:is |are )?still (?:there|present|visible)\b(?: on (?:the |an? )?(?:scan|x-ray|ultrasound|ct|mri)\b)?",
    ),
    (
        r"\bonly (?:at night|overnight|in bed)\b|\b(?:at night|overnight|nights) only\b",
        r"\b(?:a?round the clock|day and night|all day|24 hours a day|at all times|all the time)\b",
    ),
    (r"\b(?:x|sex)-linked\b|性染色体|伴性|(?:x|性)-?连锁", r"\bautosomal\b|常染色体"),
    (r"苍白|惨白|煞白", r"潮红|红润|泛红"),
    (r"提前|提早", r"推迟|延[后迟]|错后"),
    (r"(?<!证)(?<!持)(?<!需)(?<!要)(?:充足|充裕|足够|充沛)(?=$|[，,。\s])", r"(?:不足|缺乏|匮乏)(?=$|[，,。\s])"),
    (r"缓释|控释", r"速释|普通片|普通剂型"),
    (r"大剂量|足量|高剂量", r"小剂量|低剂量"),
    (
        r"(?:(?<=margin )|(?<=margins )|(?<=node )|(?<=nodes ))(?:is |are |were )?(?:clear|uninvolved)\b",
        r"(?:(?<=margin )|(?<=margins )|(?<=node )|(?<=nodes ))(?:is |are |were )?(?:involved|positive|affected)\b",
    ),
    (
        r"\bblur(?:red|ry)\b",
        r"\b(?:clear|sharp)(?= (?:eyesight|vision)\b)|(?<=vision )(?:is |remains )?(?:clear|sharp)\b",
    ),
    (
        r"\b(?:milk|baby|infant|primary|deciduous)(?= (?:tooth|teeth)\b)",
        r"\b(?:permanent|adult|second)(?= (?:tooth|teeth)\b)",
    ),
    (r"\b(?:innocent|physiologic(?:al)?)\b", r"\bpathologic(?:al)?\b(?! (?:fracture|exam|report|stag))"),
    (
        r"\brotat(?:e|ed|ing)\b(?: (?:the |your )?(?:injection )?sites?\b)?|\b(?:different|new|another) (?:site|spot|place|area) (?:each|every) time\b|\b(?:change|vary|alternate) (?:the |your )?(?:injection )?sites?\b",
        r"\b(?:in |at )?(?:the )?same (?:site|spot|place|area)\b(?: (?:each|every) time\b)?",
    ),
    (r"\blukewarm\b|\btepid\b", r"\bhot(?= (?:baths?|showers?)\b)|(?<=baths as )hot\b"),
    (
        r"\b(?:pre-?diabet(?:es|ic)|borderline)(?= range\b)",
        r"(?<!pre-)(?<!non-)\bdiabet(?:es|ic)(?= range\b)",
        r"\b(?:normal|non-?diabetic)(?= range\b)",
    ),
)

STANDALONE_COMPLEMENTS = (
    # Recurrence.
    (
        r"\brecur(?:s|red|ring|rences?)?\b|\brelaps(?:e|es|ed|ing)\b(?! (?:fever|polychondritis)|-remitting)|\breappear\w*\b|\bflare(?:s|d)? up\b|\bflare-ups?\b|\b(?:happens?|occurs?) again\b"
        r"|\b(?:comes?|came|coming|grows?|grew|growing) back\b(?! (?:to|in|if|for|when|after|within|tomorrow|next|as|and see|immediately|positive|negative|normal|clear|abnormal)\b)"
        r"|复发(?!性)|再发|再犯|又犯|反复发作|卷土重来|再次?发作|死灰复燃",
    ),
    # Prognosis.
    (
        r"\b(?:good|excellent|favou?rable|bright|very good) (?:prognosis|outlook|outcomes?)\b|\b(?:prognosis|outlook|outcomes?) (?:is |are |remains )?(?:usually |generally |very |quite |overall |mostly |still |not )?(?:very |so )?(?:good|excellent|favou?rable|bright)\b"
        r"|\b(?:full|complete|good) recovery\b|\brecovers? (?:fully|completely|well)\b|\b(?:do|does) (?:very )?well\b"
        r"|预后[^不，,。；]{0,5}(?:良好|[较很]好|佳|理想|乐观)|预后好|完全康复|恢复得(?:很|较|比较)?好|恢复良好",
        r"\b(?:poor|bad|dismal|grim|unfavou?rable|guarded|bleak) (?:prognosis|outlook|outcomes?)\b|\b(?:prognosis|outlook|outcomes?) (?:is |are |remains )?(?:usually |generally |very |quite |overall |mostly )?(?:poor|bad|dismal|grim|unfavou?rable|guarded|bleak)\b"
        r"|\bincomplete recovery\b|\b(?:do|does) (?:very )?poorly\b|预后[^不，,。；]{0,5}(?:较差|很差|极差|凶险|恶劣|不良|不佳)|预后差|恢复(?:得?(?:很|较)?差|不佳|不良)",
    ),
    # Spread of a tumour.
    (
        r"\bmetasta(?:sis|ses|tic|si[sz]ed|si[sz]e|si[sz]es|si[sz]ing)\b|\b(?:has|have|had|already|not|n['’]t|yet) spread\b(?! (?:in)?to (?:the |your |his |her )?(?:lymph|nodes?\b|liver|lungs?\b|bones?\b|brain|other |distant|nearby))(?! to (?:others|people|anyone|someone|your|family|her |his ))"
        rf"|\b(?:(?:has|have|had|already) )?spread(?:s|ing)? (?:in)?to (?:the |your |his |her )?{_ORGAN_NODES}(?: organs?\b| parts(?: of the body)?\b)?|\bspread(?:s|ing)? beyond\b|\bsecondaries\b|\bsecondary (?:tumou?rs?|deposits)\b"
        r"|(?:发生|出现|已经?|有|无|没有?|未|未见|远处|淋巴结?|肝|骨|脑|肺)转移(?!因子|酶)|扩散|播散|转移灶|转移了",
        r"\bconfined to (?!bed\b|home\b|a wheelchair)(?:the |one |a single |its )?\w+|\bcarcinoma in situ\b|\bhas stayed in\b|\blimited to (?:the |one |a single )|局限(?:于|在)|原位癌",
    ),
    # Invasive or not.
    (
        r"(?<!non-)(?<!non )(?<!minimally )(?<!less )\binvasive(?= (?:cancer|carcinoma|tumou?r|ductal|lobular|disease|growth|mole)|$)|(?<!非)浸润性|(?<!非)侵袭性(?!真菌|曲霉|葡萄胎|肺)",
        r"\bnon-?invasive (?=cancer|carcinoma|tumou?r|ductal|disease)|\bpre-?invasive\b|非浸润性?|非侵袭性",
    ),
    (
        r"(?<!un-)(?<!non-)\b(?:resectable|operable)\b|\bcan be (?:removed(?: surgically| by surgery)?|operated(?: on)?|resected|cut out)\b|[可能](?:够|以)?(?:手术)?切除|(?:还|尚|仍)[能可]以?(?:手术|切(?!开|口|忌|勿|除))|[有无]手术(?:切除)?的?机会",
        r"\b(?:un|non)-?(?:resectable|operable)\b|\binoperable\b|(?:失去|丧失|错过)了?手术(?:切除)?的?(?:机会|时机)",
    ),
    # How serious and urgent.
    (
        r"(?<!nothing )(?<!non[- ])\bserious(?:ly)?\b|\blife[- ]threatening\b|\bworr(?:ying|isome)\b|\balarming\b|(?<!nothing )\bsinister\b|(?<!nothing )\bto worry about\b|\b(?:cause|reason) for (?:concern|alarm|worry)\b|(?<!disease )\bcritically ill\b"
        r"|(?<!症状)严重(?!急性呼吸)|危重|凶险|危及生命|生命危险|要命|大碍|碍事|大问题|问题(?=不大)|(?<!不)(?<!无关)要紧(?!事)",
        r"\bnon[- ]?serious\b|\bharmless\b|\btrivial\b|\bnothing (?:serious|sinister|to worry about|to be (?:worried|concerned) about|dangerous)\b|\binsignificant\b|\b(?:a )?minor (?=problem|illness|injury|condition|ailment|complaint)|无关紧要|不要紧|小毛病|小问题",
    ),
    (
        rf"{NOT_NEGATED}\b(?:medical |surgical |true |real |an )?emergency\b(?! (?:contracep|medic|nursing|admission|department|room|number|services?|kit|physician|doctor|surgery|caesar|cesar|call))|{NOT_NEGATED}\burgent(?:ly)?\b|\btime[- ]critical\b|\b(?:go|going|get|head|rush)(?: straight| immediately)? to (?:the |an |your nearest |the nearest )?(?:emergency(?: department| room)?|er|casualty)\b|急症|紧急(?!避孕)|刻不容缓|危急(?!值)|急需",
        r"\bnon-?(?:urgent|emergency)\b|\bnon (?:urgent|emergency)\b|\belective(?:ly)?\b|\b(?:it |this |that )?can (?:safely )?wait\b(?: for (?:a |the |your )?(?:routine|next|regular) (?:visit|appointment|check-?up))?|\b(?:book|make|schedule|arrange) (?:an? |your )?(?:routine|regular) (?:visit|appointment|check-?up)\b|择期|可以等|可以缓",
    ),
    (
        r"\bcomplications?\b|(?<!un-)\bcomplicated\b(?= by|$)|并发症|合并症",
        r"\bun-?complicated\b|\buneventful(?:ly)?\b",
    ),
    (
        r"\bsequelae?\b|\blasting (?:damage|effects?|problems?|harm|injury|consequences)\b|\blong[- ]term (?:damage|consequences|effects|problems)\b|\bafter-?effects?\b|\bresidual (?:symptoms?|deficits?|damage|weakness|disability)\b|\bpermanent damage\b|后遗症|落下(?:病根|毛病|残疾)|留下?(?:病根|残疾|后遗症?)",
    ),
    (r"\bscar(?:s|red|ring)\b|\b(?:a|any|no|leaves?) scar\b|疤痕(?!疙瘩|体质|子宫)|留(?:下)?(?:疤|印子|痕迹)",),
    (
        r"(?<!un-)\bpreventable\b|\b(?:can|cannot|could) be prevented\b|(?:可以?|能够?)预防|预防得了",
        r"\bun-?preventable\b|\bunavoidable\b|\binevitable\b",
    ),
    (
        r"(?<!un-)\btreatable\b|\brespond(?:s|ed|ing)?(?: very| quite)?(?: well)? to (?:treatment|therapy|antibiotics|steroids|medication|medicines?|drugs|chemotherapy)\b|治疗(?:反应|效果)(?:很|较|比较)?(?:良好|好|佳)|对[^，,。]{1,8}(?:反应良好|治疗有效)",
        r"\brefractory\b(?! (?:error|period))|\bintractable\b|\btreatment[- ]resistant\b|\bun-?treatable\b|难治性?|顽固性?|治疗(?:反应|效果)(?:较|很)?(?:差|不佳|不良)|疗效(?:较|很)?(?:差|不佳)",
    ),
    (
        r"\b(?:well|adequately|tightly|fully)[- ]controlled\b|\bunder (?:good )?control\b|\bgood control\b|控制(?:得)?(?:很|较|比较)?(?:好|良好|理想|满意|平稳|稳定)|控制达标|得到(?:了)?控制|控制[得不](?:住|好|理想)",
        r"\b(?:poorly|badly|inadequately)[- ]controlled\b|\buncontrolled\b|\bout of control\b|\bpoor(?:ly)? control\b|控制(?:得)?(?:较|很)?(?:不佳|不良|差)|失控",
    ),
    # Cause. 引起, 导致 and 所致 stay light words.
    (
        r"(?<!un-)\brelated to\b|\bassociated with\b|(?<!un-)\b(?:linked|connected) (?:to|with)\b|\battribut(?:able|ed) to\b|\b(?:caused|triggered|provoked|brought on|set off) by\b(?! (?:an? )?(?:virus|bacteri|fung))|\bdue to\b(?! (?:an? )?(?:virus|bacteri|fung))|\bstem(?:s|med|ming)? from\b|\bplays? (?:a|any|no) (?:part|role)\b|(?<!nothing )\bto do with\b|\b(?:is|are|was|were) (?:behind|responsible for|to blame)\b"
        r"|(?<!没)(?:有关系?|相关(?!科|专|检查|症状|知识)|无关(?!紧要)|没有关系|脱不了干系)",
        r"\bun-?related to\b|\bun-?(?:linked|connected) (?:to|with)\b|\bindependent of\b|\bnothing to do with\b|\bcoincidental(?:ly)?\b|(?:(?<=[与和跟同].)|(?<=[与和跟同].{2})|(?<=[与和跟同].{3})|(?<=[与和跟同].{4})|(?<=[与和跟同].{5}))没关系",
    ),
    # Pregnancy.
    (
        rf"\b{_PREGNANCY} (?:is|was) (?:still )?(?:alive|viable|living)\b|\bviable (?={_PREGNANCY}|intrauterine|gestation)|\blive (?=births?\b|born|f(?:o)?etus|intrauterine|twins)|\b(?:f(?:o)?etal |pregnancy )?heart ?beat (?:is|was) (?:present|seen|detected|heard|visible)\b|活胎|(?:胎儿|孕期|胚胎)(?:仍|还|是)?(?:存活|活着|活的)|(?<=胎心)(?:搏动)?(?:存在|可见)",
        rf"\bstillb(?:irth|orn)s?\b|\b(?:has|have|had) miscarried\b|\b(?:intrauterine|f(?:o)?etal|in utero|pregnancy) (?:death|demise)\b|\b{_PREGNANCY} (?:is|was|has) (?:dead|died)\b|\bdead (?={_PREGNANCY})|\bnon-?viable (?={_PREGNANCY}|gestation)|\bmissed (?:miscarriage|abortion)\b|死胎|胎死|死产|(?<=胎心)(?:搏动)?消失|稽留流产",
    ),
    (
        r"\bintra-?uterine(?= (?:pregnancy|gestation|sac)\b)|(?:(?<=pregnancy )|(?<=sac )|(?<=embryo ))(?:is )?(?:(?:in(?:side)?|within) the (?:uterus|womb)|intra-?uterine\b)|宫内(?:早)?(?:妊娠|孕(?:囊|期)?|怀孕|早孕)|(?:(?<=孕囊)|(?<=胚胎)|(?<=受精卵))(?:位于|在|着床(?:在|于)|种植(?:在|于))(?:子?宫腔?|子宫里)内?(?!外|角|颈)",
        r"\bectopic(?= (?:pregnanc|gestation))|\bpregnancy is (?:ectopic|tubal)\b|\btubal (?=pregnanc)|\boutside (?:of )?the (?:uterus|womb)\b|\bextra-?uterine\b|宫外(?:孕|妊娠)|异位(?:妊娠|孕期)|输卵管(?:妊娠|孕期)|(?:(?<=孕囊)|(?<=胚胎)|(?<=受精卵))(?:位于|在|着床(?:在|于)|种植(?:在|于))(?:输卵管|宫角|宫外|子宫外)内?",
    ),
    (
        r"\bfertile\b|\bfertility (?:is |remains )(?:usually )?(?:normal|preserved|unaffected|intact)\b|\b(?:can|cannot|can['’]t|could|able to) (?:still |also |naturally )?(?:conceive|(?:get|become|fall) pregnan(?:t|cy)|have (?:children|a baby|babies)|father (?:a child|children))\b|有生育能力|能(?:够)?(?:再|正常|自然)?(?:怀孕|受孕|生育|怀上|生孩子|要孩子)|保留生育",
        r"\binfertil(?:e|ity)\b|\b(?:unable to|difficulty|trouble|harder to) (?:conceiv(?:e|ing)|(?:get|become|getting|becoming) pregnan(?:t|cy)|have (?:children|a baby))\b|\b(?:affects?|impairs?|damages?|harms?|reduces?) (?:your |his |her |the |their |future |male |female )?fertility\b|不孕(?!不育科)|不育(?!科)|影响(?:到|今后的?|以后|将来)?(?:生育|怀孕|受孕|孕期|生孩子)|丧失生育|生育能力(?:下降|降低|受损|丧失)",
    ),
    # Whether the cause is known.
    (
        r"(?:病因|原因)(?:已经?|现已|基本|都|是)?(?:查明|明确|清楚|找到|查清|弄清)(?!性)|(?:已经?|现已)查明(?:病因|原因)",
        r"(?:病因|原因)(?:尚|还|至今|目前|仍|暂)?(?:[不未]明确?|不清楚?|不详|未(?:查明|知))|(?:尚|还|至今|目前|仍)?未查明(?:病因|原因)|不明原因",
    ),
    # Length of life.
    (
        r"\b(?:normal|full|same|near-normal) life ?(?:span|expectancy)\b|\blife ?(?:span|expectancy) (?:is|remains) (?:usually |generally |nearly |almost )?(?:normal|unaffected|unchanged|the same)\b|\blives? (?:a |as )?(?:normal|full|long)(?: a)? (?:life|lives)\b|寿命(?:一般|通常|基本|也)?(?:正常|如常)|正常寿命|寿命与常人(?:一样|相同|相当)",
        r"\b(?:shorten\w*|reduc\w+|affects?|decreas\w+|limits?) (?:the |your |his |her |their )?(?:life|lives|life ?span|life ?expectancy)\b(?!-)|\b(?:shorter|reduced|limited|shortened) (?:life ?(?:span|expectancy)|life)\b|\blife ?(?:span|expectancy) (?:is|may be|can be) (?:reduced|shortened|shorter|lower|affected)\b|影响(?:到)?寿命|缩短寿命|寿命也?(?:会|可能)?(?:明显|显著|往往|通常)?(?:缩短|较短|变短|减少|受影响)|短命|折寿|减寿",
    ),
    (
        r"(?<!non-)(?<!non )\btoxic(?:ity)?\b(?! (?:shock|epidermal|megacolon|adenoma|nodular|multinodular|goit|encephal|polyneur|neurop|hepatitis|synovitis|amblyopia|leuko))|\bpoisonous\b|有毒(?!副)|[无没]毒(?!副)|毒性(?:大|较大|很大|强|作用)",
        r"\bnon-?(?:toxic|poisonous)\b",
    ),
)
