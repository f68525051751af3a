"""Names of what people avoid by doing something, rather than by leaving it out: complications, symptoms, accidents."""

from __future__ import annotations

import re

_HAZARD = (
    r"(?:infections?|dehydration|constipation|diarrh?o?ea|complications?|injur(?:y|ies)|falls?|stress|fatigue|tiredness|pain"
    r"|stiffness|bleeding|(?:blood )?clots?|swelling|reflux|heartburn|relapses?|recurrences?|flares?(?:[- ]?ups?)?|weight (?:gain|loss)"
    r"|cramps?|scar(?:s|ring)|nausea|vomiting|stones?|anxiety|depression|(?:low|high) blood (?:sugar|pressure)|headaches?|burns?|sunburn"
    r"|deficienc(?:y|ies)|side effects?|bed ?sores|pressure (?:sores|ulcers)|muscle loss|isolation|boredom|insomnia|fractures?|stroke"
    r"|disease|\w{3,}(?:itis|osis|[ae]mia|algia|pathy))"
)
CHINESE_HAZARD = (
    r"(?:便秘|感染|复发|脱水|腹泻|出血|并发症|损伤|受伤|跌倒|摔倒|骨折|血栓|疲劳|压力|疼痛|[头腹胃腰背关]节?痛|水肿|肿胀|僵硬|粘连|压疮|褥疮"
    r"|晒伤|烫伤|反流|呕吐|恶心|[高低]血[糖压脂]|感冒|误吸|窒息|(?:肌肉)?萎缩|骨质疏松|贫血|结石|抽筋|痉挛|缺钙|营养不良|副作用|不良反应|焦虑|抑郁|失眠|上火"
    r"|(?![引导致发诱])[^\W\d_a-z]{1,4}?(?:炎|(?<![致发])病|症))"
)
"""Pattern of such names in Chinese."""
CHINESE_REMEDY = r"(?:(?:最[好佳有效]{1,2}|主要|有效|常[用见])的?)?(?:食[物品材]|水果|蔬菜|药物?|方法|办法|措施|方式|运动|锻炼|动作|[体睡坐]姿|姿势|体位|饮食|建议|技巧|习惯|手段|关键)"
"""Names of what is eaten or done to avoid a hazard: 避免便秘的食物."""

_NAME = re.compile(rf"(?:\w+ ){{0,2}}{_HAZARD}|{CHINESE_HAZARD}", re.IGNORECASE)


def is_hazard(text: str) -> bool:
    """Return whether a text names nothing but what is avoided by doing something.

    >>> is_hazard("Infection"), is_hazard("caffeine"), is_hazard("便秘")
    (True, False, True)
    """
    return _NAME.fullmatch(text) is not None
