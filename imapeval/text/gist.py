"""The gist of a phrase: the sides that it takes and its content words, without words that only state that something is so.

"Diabetes confirmed" and "diabetes ruled out" are about diabetes, 孕妇可安全使用 and 孕期禁用 about pregnancy. What such words
add is lost, so gists are compared only where the wordings themselves determine no relation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from imapeval.text.dimensions.table import STANDALONE
from imapeval.text.opposites import find_opposites
from imapeval.text.phrases import find_content_words, parse_phrase
from imapeval.text.synonyms import join_alternatives, read_table

if TYPE_CHECKING:
    from imapeval.text.opposites import Opposites

_PREDICATES = re.compile(
    r"\b(?:confirm\w*|found|find|finding|seen|see|shows?|showed|shown|reveal\w*|detect\w*|noted|present|exists?|occurs?|appears?|evident|known"
    r"|allowed|permitted|accept\w*|encourag\w*|suggest\w*|possibl[ey]|compatible|suitable|appropriate|poses?|carr(?:y|ies)|remains?|becomes?|turns? out"
    r"|completely|strictly|absolutely|physically|straight|only|just|full|next|appointments?|departments?|visits?|doctors?|easily|readily|fully|again|already|currently|still|even|ever|definitely|clearly|obvious(?:ly)?"
    r"|intake|amount|level|levels|count|reading|readings|value|values|course|courses|period|schedule|time|times|result|results|status|condition|use|usage|dose|dosing|doses"
    r"|people|persons?|patients?|others|someone|anyone|everyone|somebody|disease|illness|to be|aim|target|goal|store|stored|storage"
    r"|manag\w+|perform\w*|done|made|make|makes|doing|let|come|comes|goes?|going|need(?:s|ed)?|want|likely|certain|effect|effects|every day|do|does|did|within|weeks|months|days|few|range)\b"
    r"|目前|现在|已经?|明显|显示|提示|具有?|可以?|鼓励|绝对|给药|服用|使用|服药|用药|治疗|只能?|必须|建议|需要?|应该?|能够?|会|法|安全|情况|方式|直接|属于?|由|(?:引起|导致|造成|所致)的?$|经|再次?|为|疗程|连用|连续|吃药|就诊|就医|就行|去|挂|看|来|做|把|被|让|行|一次性?"
    r"|检查|结果|水平|数值?|计数|期间|时候?|病人|人|其他|大概|大约|左右|现|仍|尚|还|本|该|此|这个?|种|病(?=不|无|会|$)|疾病|进行|增加|日常|平时|保持|保存|存放|放|特殊|专门|特别|量|有|无|没有?|未|不",
    re.IGNORECASE,
)


@cache
def _read_same() -> tuple[dict[str, str], re.Pattern[str]]:
    """Return the unified form of each expression of the tables in `data`, and a pattern for the expressions."""
    english, chinese = (
        read_table((Path(__file__).parent / "data" / f"same_{lang}.txt").read_text(encoding="utf-8"))
        for lang in ("en", "zh")
    )
    pattern = rf"(?<![a-z0-9])(?:{join_alternatives(english)})(?![a-z0-9])|{join_alternatives(chinese)}"
    return english | chinese, re.compile(pattern, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Gist:
    """The gist of a phrase.

    Attributes:
        opposites: The sides that it takes.
        words: Its content words without those of the sides, as stems; Chinese characters.
        standalone: The dimensions of its sides that say by themselves what the phrase is about.
        reversed: Whether "non" denies it: "non-contagious".
    """

    opposites: Opposites
    words: frozenset[str]
    standalone: frozenset[int]
    reversed: bool


# As many as there are parsed phrases.
@lru_cache(maxsize=1 << 12)
def find_gist(value: str) -> Gist:
    """Return the gist of a phrase.

    >>> find_gist("diabetes confirmed").words, find_gist("does not easily spread to others").words
    (frozenset({'diabet'}), frozenset())
    """
    unified, pattern = _read_same()
    text = pattern.sub(lambda found: unified[found[0].lower()], parse_phrase(value).amounts.rest)
    opposites = find_opposites(text)
    words = find_content_words(_PREDICATES.sub(" ", parse_phrase(opposites.remainder).stance.subject))
    standalone = frozenset(number for number in opposites.sides if number in STANDALONE)
    return Gist(opposites, words - {"non"}, standalone, "non" in words)
