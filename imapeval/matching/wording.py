"""Relate two values by what their wordings share: an end, or all but one place.

Of two values of which one ends in the other, the longer one is often a kind of the shorter one.
"Severe headache" is a headache and 十二指肠恶性淋巴瘤 is a 恶性淋巴瘤, whether or not a graph knows them: in both
languages the head of a noun phrase comes last. Not always: German measles is not measles, and hay fever is not fever.
So the words before the head must be a degree, a course, a side, an age or a place in the body; and the longer value
must not be a lay name ("stomach flu") or a drug, whose kind only the graph knows. The result is a guess and the last
resort.

Two values that differ in one place are related like what stands there: "cetirizine for the hives" is more precise than
"an antihistamine for the hives".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from imapeval.graph.linking.phrases import is_enumeration, is_phrase, strip_qualifier
from imapeval.text.language import HAN, has_chinese
from imapeval.text.normalise import normalise
from imapeval.text.phrases import find_content_words, parse_phrase
from imapeval.types import Relation

if TYPE_CHECKING:
    from imapeval.graph.store.graph import Graph

_DEGREE_ADJECTIVES = (
    "acute chronic subacute mild moderate severe serious slight intense extreme strong sudden early late advanced "
    "recurrent persistent intermittent occasional frequent constant progressive primary secondary congenital "
    "bilateral unilateral left right upper lower anterior posterior medial lateral central peripheral local localized "
    "generalized diffuse focal multiple single solitary massive extensive minor major juvenile pediatric childhood "
    "infantile neonatal adult senile elderly nocturnal daily regular routine general oral topical intravenous"
)
# Adjectives of place; nouns ("knee pain") are looked up in the graph.
_PLACE_ADJECTIVES = (
    "abdominal anal aortic articular axillary biliary bronchial cardiac cardiovascular carotid cerebral cervical "
    "colonic colorectal coronary cranial cutaneous dental dermal duodenal endometrial epigastric esophageal facial "
    "femoral gastric gastrointestinal genital genitourinary gingival hepatic ileal inguinal intestinal intracranial "
    "laryngeal lumbar lymphatic mammary maxillary mediastinal meningeal muscular musculoskeletal nasal ocular orbital "
    "ovarian pancreatic pelvic perianal pericardial periorbital pharyngeal pleural prostatic pulmonary rectal renal "
    "respiratory retinal skeletal spinal splenic testicular thoracic thyroid tracheal tubal urethral urinary uterine "
    "vaginal valvular vascular venous vertebral vesical visceral vulvar"
)
_NARROWING_ADJECTIVES = frozenset(f"{_DEGREE_ADJECTIVES} {_PLACE_ADJECTIVES}".split())
"""English words that only narrow the noun after them."""


_TYPE = re.compile(f"(?!可能|排除|既往|先兆|预防|流行|[阴阳隐])(?:(?![抗假疑模非类伪似]|血型)[{HAN}]){{1,6}}[型性]")
"""A type or cause before a disease: 寻常型 in 寻常型银屑病, 新生血管性 in 新生血管性青光眼."""


def relate_by_head(graph: Graph, reference: str, response: str) -> tuple[Relation, dict[str, Any]] | None:
    """Relate two values of which one is the other preceded by words that only narrow it.

    Body parts, lay names and drugs are those of the graph.

    Returns:
        Belonging or containment, and the evidence: `head` and `modifier` in normal form, and the `confidence`, which
        is "low". None if neither ends in the other, or the words before it may change its meaning.
    """
    a, b = normalise(reference), normalise(response)
    relation, head = (Relation.BELONGING, b) if len(a) > len(b) else (Relation.CONTAINMENT, a)
    longer = max(a, b, key=len)
    # Few values end in another one, and whether they list things takes longer to find out.
    modifier = _find_modifier(longer, head)
    if not modifier or is_enumeration(reference) or is_enumeration(response) or not (is_phrase(a) and is_phrase(b)):
        return None
    if not _only_narrows(graph, modifier) or _is_one_name(graph, longer):
        return None
    return relation, {"head": head, "modifier": modifier, "confidence": "low"}


_ARTICLES = frozenset(("a", "an", "the"))
_TURNING = re.compile(r"\b(?:than|except|other|unlike|rather|instead|above|below|over|under)\b|除|比|不如")
"""Words with which something more precise does not make the whole more precise."""


def find_replacement(reference: str, response: str) -> tuple[str, str] | None:
    """Return what two values have in the one place where they differ; amounts, conditions and articles are left out.

    None if one of them has nothing there, if everything differs, or if only one of the values denies something.

    >>> find_replacement("take an antihistamine for the hives", "take cetirizine 10 mg for the hives")
    ('antihistamine', 'cetirizine')
    """
    a, b = parse_phrase(reference), parse_phrase(response)
    if a.words.isdisjoint(b.words) or a.stance.denies != b.stance.denies:
        return None
    ours, theirs = (_split_words(phrase.amounts.rest) for phrase in (a, b))
    shorter = min(len(ours), len(theirs))
    start = next((place for place in range(shorter) if ours[place] != theirs[place]), shorter)
    end = next((place for place in range(shorter - start) if ours[-1 - place] != theirs[-1 - place]), shorter - start)
    space = "" if has_chinese(reference) else " "
    first, second = (space.join(words[start : len(words) - end]) for words in (ours, theirs))
    # Single Chinese characters are seldom words.
    if min(len(first), len(second)) < (1 if space else 2):
        return None
    shared = space.join((*ours[:start], *ours[len(ours) - end :]))
    return (first, second) if find_content_words(shared) and not _TURNING.search(shared) else None


_FINDING = re.compile(
    r"\b(?:pains?|aches?|swellings?|swollen|rash(?:es)?|fractures?|infections?|inflammations?|cancers?|tumou?rs?|bleeding"
    r"|injur(?:y|ies)|ulcers?)\b"
    r"|[痛肿疹炎癌瘤]|骨折|感染|出血|损伤|溃疡",
    re.IGNORECASE,
)


def names_finding(value: str) -> bool:
    """Return whether a value names a finding that a part of the body shares with the whole: "infection", 骨折."""
    return _FINDING.search(value) is not None


def _split_words(text: str) -> list[str]:
    """Return the English words of a text, or its characters if it has Chinese ones."""
    norm = normalise(text)
    return list(norm) if has_chinese(norm) else [word for word in norm.split() if word not in _ARTICLES]


def _find_modifier(norm: str, head: str) -> str:
    """Return the words before the head, "" if the value does not end in the head."""
    if has_chinese(head):
        # Too many words end in a single character, such as 病 and 炎, without being a kind of it.
        return norm[: -len(head)] if len(head) > 1 and norm.endswith(head) else ""
    return norm.removesuffix(f" {head}") if head and norm.endswith(f" {head}") else ""


def _only_narrows(graph: Graph, modifier: str) -> bool:
    if has_chinese(modifier):
        rest = strip_qualifier(modifier)
        return (
            not rest
            or _TYPE.fullmatch(rest) is not None
            or any(graph.lookup(place, types=["body_part"]) for place in (rest, rest.rstrip("性的型部")))
        )
    places = [word for word in modifier.split() if word not in _NARROWING_ADJECTIVES]
    return not places or bool(graph.lookup(" ".join(places), types=["body_part"]))


def _is_one_name(graph: Graph, norm: str) -> bool:
    """Return whether a value is a name whose words do not say what it is, such as "stomach flu" and 左氧氟沙星."""
    for concept in graph.lookup(norm):
        if graph.concept(concept).type == "drug":
            return True
        if any(name.kind == "lay" and normalise(name.text) == norm for name in graph.names(concept)):
            return True
    return False
