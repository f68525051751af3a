"""The normal form of names: spelling variants of one name become the same string.

Everything that looks up, stores or scans for names goes through `normalise`, so that "Alzheimer’s Disease", "ALZHEIMER
DISEASE" and "Alzheimers disease" share one key. The form is a key, not English: "graves disease" becomes "grave
disease", on both sides of every comparison.

For texts without Chinese characters it works word by word: `normalise(a + " " + b)` equals
`normalise(a) + " " + normalise(b)` if neither is empty. A scanner may therefore normalise the words of a text once and
join them to windows.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

from imapeval.text.language import HAN, has_chinese

BRACKETS = re.compile(r"[(（\[【]([^()（）\[\]【】]{1,60})[)）\]】]")
"""A bracketed stretch of text; the group is the text inside."""

_MAX_ABBREVIATION = 5
"""Longest abbreviation, in characters of its normal form."""

_MAX_CACHED_CHARACTERS = 64
"""Longest text whose normal form is cached, in characters: values are, answers are not."""

_AROUND_HAN = re.compile(f"(?<=[{HAN}]) +|(?<! ) ++(?=[{HAN}])")
_MAX_MARKS = 30
"""Marks on one letter that are kept: no writing has more (Unicode's stream-safe form, UAX #15)."""

_MANY_MARKS = re.compile(rf"[^\x00-\x7f\w]{{{_MAX_MARKS + 1},}}")
"""What may be too many marks on one letter: no mark is a character of a word for `re`."""

_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u201b\u02bc\u00b4`\u2032\uff07", "'"))
_POSSESSIVE = re.compile(r"(?<=\w)'s\b")
_SEPARATOR = re.compile(r"[^\w+%.]|_|(?<!\d)\.|\.(?!\d)")
_SPACES = re.compile(r" {2,}")
_WORD = re.compile(r"(?<![a-z0-9])[a-z]{4,}(?![a-z0-9])")

# Spelled out, because running text says "beta blocker" where a name table says "β-blocker".
_GREEK = str.maketrans({"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "κ": "kappa", "ω": "omega"})

# British to American spelling. Only patterns that no American medical word contains in another sense: "oedem" excepts
# "angioedema" and "oesoph" excepts "gastroesophageal", where the o belongs to the first part of the word. Each group
# starts with letters that all its patterns contain, because a search for these takes a thirtieth of the time.
_SPELLINGS: tuple[tuple[str, tuple[tuple[re.Pattern[str], str], ...]], ...] = tuple(
    (needed, tuple((re.compile(pattern), american) for pattern, american in patterns))
    for needed, patterns in (
        (
            "ae",
            (
                (r"aem", "em"),  # haemorrhage, anaemia, leukaemia, ischaemic
                (r"aesth", "esth"),  # anaesthesia, paraesthesia
                (r"aetiol", "etiol"),
                (r"caec", "cec"),
                (r"caesar", "cesar"),
                (r"faec", "fec"),
                (r"gynaec", "gynec"),
                (r"paed", "ped"),  # paediatric, orthopaedic
                (r"phaeo", "pheo"),
            ),
        ),
        (
            "oe",
            (
                (r"rrhoe", "rrhe"),  # diarrhoea, gonorrhoea
                (r"pnoe(?=[ai])", "pne"),  # apnoea, dyspnoeic
                (r"amoeb", "ameb"),
                (r"coeli", "celi"),
                (r"foet", "fet"),
                (r"homoeo", "homeo"),
                (r"manoeuv", "maneuv"),
                (r"(?<!angi)oedem", "edem"),
                (r"(?:\b|(?<=o))oesoph", "esoph"),
                (r"(?:\b|(?<=o))oestr", "estr"),
            ),
        ),
        ("cesarian", ((r"cesarian", "cesarean"),)),
        ("leuco", ((r"leuco", "leuko"),)),
        ("sulph", ((r"sulph", "sulf"),)),
        ("our", ((r"(tum|col|behavi|lab|hum|od|fav|vap)our", r"\1or"),)),
        ("tre", ((r"(cen|li|ti|me)tre(s?)$", r"\1ter\2"),)),
        ("fibre", ((r"fibre(s?)$", r"fiber\1"),)),
        ("isation", ((r"isation(s?)$", r"ization\1"),)),
        ("ise", ((r"(?<=\w\w)(al|ar|at|er|il|im|on|or|un|ur)is(e|ed|er|es)$", r"\1iz\2"), (r"^practise", "practice"))),
        ("ising", ((r"(?<=\w\w)(al|ar|at|er|il|im|on|or|un|ur)ising$", r"\1izing"),)),
        ("lyse", ((r"lyse([dr]?)$", r"lyze\1"),)),  # not "analyses", which is a plural as well
        ("programme", ((r"^programme(s?)$", r"program\1"),)),
        ("ageing", ((r"^ageing$", "aging"),)),
    )
)

# Words in -s that are singular, or whose singular would be another word ("aids", "aid").
_SINGULARS = (
    "aids ards ascites atlas bias biceps caries chaos diabetes facies feces forceps gas glans graves herpes "
    "hives lens measles menses mers mons mumps pancreas pcos pons psoas quadriceps rabies rickets sars "
    "scabies series shingles species stapes tabes triceps yaws yes"
)
_NO_PLURAL = frozenset(_SINGULARS.split())
_IRREGULAR = {
    "abuses": "abuse",
    "biases": "bias",
    "calories": "calorie",
    "calves": "calf",
    "cookies": "cookie",
    "crises": "crisis",
    "excuses": "excuse",
    "feet": "foot",
    "gases": "gas",
    "indices": "index",
    "lenses": "lens",
    "mangoes": "mango",
    "metastases": "metastasis",
    "misuses": "misuse",
    "overuses": "overuse",
    "pelvises": "pelvis",
    "teeth": "tooth",
    "testes": "testis",
    "uses": "use",
}

_OSES = re.compile(r"(?:[cd]o|[moprsx]po)ses$")
"""Endings of plurals of words in -ose: glucoses, overdoses, purposes, but not diagnoses, polyposes."""
_CHES = re.compile(r"(?:[^a]|ea|oa|eta|tta)ches$")
"""Endings of plurals in -es: branches, reaches, approaches, attaches, but not headaches."""


def fold_plural(word: str) -> str:
    """Return the singular of a lower-case English word if a safe rule gives one, else the word itself.

    >>> [fold_plural(word) for word in ("allergies", "abscesses", "diagnoses", "viruses", "kidneys", "pancreas")]
    ['allergy', 'abscess', 'diagnosis', 'virus', 'kidney', 'pancreas']
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")) or word in _NO_PLURAL:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("itides"):
        return word[:-4] + "is"
    if word.endswith(("yses", "theses")) or (word.endswith("oses") and len(word) > 6 and not _OSES.search(word)):
        return word[:-2] + "is"
    if word.endswith(("sses", "xes", "shes")) or _CHES.search(word):
        return word[:-2]
    if word.endswith("uses") and not word.endswith(("auses", "fuses", "ouses")):
        return word[:-2]
    if word.endswith("toes") and len(word) > 4:
        return word[:-2]
    return word[:-1]


def _fold_word(word: str) -> str:
    # To a fixed point: one replacement may expose another pattern ("catheterises"). Every step shortens the word or
    # turns s into z, so the loop ends.
    while True:
        folded = word
        for needed, patterns in _SPELLINGS:
            if needed in folded:
                for pattern, american in patterns:
                    folded = pattern.sub(american, folded)
        folded = fold_plural(folded)
        if folded == word:
            return word
        word = folded


@cache
def _load_simplified() -> dict[int, str]:
    # OpenCC's table of single characters (kg/make_simplified.py). Converting character by character sometimes gives
    # wrong Chinese, but a key need only be the same on both sides.
    traditional, simplified = Path(__file__).parent.joinpath("data/simplified.txt").read_text(encoding="utf-8").split()
    return {ord(old): new for old, new in zip(traditional, simplified, strict=True)}


def normalise_unicode(text: str, form: Literal["NFC", "NFKC", "NFKD"]) -> str:
    """Return `unicodedata.normalize` in linear time: it takes quadratic time to sort the marks of one letter."""
    if _MANY_MARKS.search(text):
        marks = 0
        kept: list[str] = []
        for char in text:
            marks = marks + 1 if unicodedata.combining(char) else 0
            if marks <= _MAX_MARKS:
                kept.append(char)
        text = "".join(kept)
    return unicodedata.normalize(form, text)


def _fold_letters(text: str) -> str:
    # Compatibility forms, case and diacritics ("Sjögren" is also written "Sjogren"). Repeated, because one pass may
    # compose characters that the next decomposes.
    while True:
        decomposed = normalise_unicode(normalise_unicode(text, "NFKC").casefold(), "NFKD")
        bare = "".join(char for char in decomposed if not unicodedata.combining(char))
        folded = unicodedata.normalize("NFKC", bare).translate(_GREEK).translate(_load_simplified())
        if folded == text:
            return text
        text = folded


# ASCII text, which most names are, needs only one table and a few of the patterns.
_ASCII_FOLDS = bytes(ord(chr(n).lower() if chr(n).isalnum() or chr(n) in "+%." else " ") for n in range(128)) * 2
# The pattern starts with the point itself, so that the search can skip to it in a long chemical name.
_LONE_POINT = re.compile(r"\.(?:(?<!\d\.)|(?!\d))")


@lru_cache(maxsize=1 << 16)
def _fold_token(token: str) -> str:
    if token.isalpha():
        return _fold_word(token)
    return _WORD.sub(lambda match: _fold_word(match.group()), token)


def _normalise_ascii(text: str) -> str:
    if "'" in text or "`" in text:
        text = _POSSESSIVE.sub("", text.lower().replace("`", "'"))
    text = text.replace("&", " and ").encode("ascii").translate(_ASCII_FOLDS).decode("ascii")
    if "." in text:
        text = _LONE_POINT.sub(" ", text)
    # No word of fewer than four letters has another form.
    return " ".join([token if len(token) < 4 else _fold_token(token) for token in text.split()])


def simplify(text: str) -> str:
    """Return a text with its traditional Chinese characters simplified, character by character.

    >>> simplify("右邊")
    '右边'
    """
    return text if text.isascii() else text.translate(_load_simplified())


def normalise(text: str) -> str:
    """Return the normal form of a name or stretch of text; "" if it has nothing but punctuation.

    Compatibility forms (NFKC), case and diacritics are folded; possessives, dashes and punctuation are removed (signs
    that carry meaning stay: +, % and decimal points); English words get American spelling and the singular; traditional
    characters are simplified, and spaces next to a Chinese character are removed. Idempotent.

    >>> normalise("Alzheimer’s Disease")
    'alzheimer disease'
    >>> normalise("Iron-deficiency  ANAEMIAS")
    'iron deficiency anemia'
    >>> normalise("腎臟癥狀")
    '肾脏症状'
    >>> normalise("HbA1c < 7.5 %")
    'hba1c 7.5 %'
    >>> normalise("CT 检查") == normalise("ＣＴ检查")
    True
    """
    # Each value is compared with many others.
    return _normalise_cached(text) if len(text) <= _MAX_CACHED_CHARACTERS else _normalise(text)


def _normalise(text: str) -> str:
    if text.isascii():
        return _normalise_ascii(text)
    text = _fold_letters(text.translate(_APOSTROPHES)).translate(_APOSTROPHES)
    text = _POSSESSIVE.sub("", text).replace("&", " and ")
    text = _SPACES.sub(" ", _SEPARATOR.sub(" ", text)).strip()
    if not text.isascii():
        text = _AROUND_HAN.sub("", text)
    return _WORD.sub(lambda match: _fold_token(match.group()), text)


_normalise_cached = lru_cache(maxsize=1 << 15)(_normalise)

_VOWEL = re.compile("[aeiouy]", re.IGNORECASE)
# Abbreviations that are also written like words: "(Covid)".
_ACRONYMS = frozenset({"aids", "alt", "covid", "cpap", "elisa", "mers", "sars", "tdap"})


def is_abbreviation(inside: str) -> bool:
    """Return whether a text in brackets only abbreviates the text before them.

    >>> [is_abbreviation(text) for text in ("CT", "Mg", "Hgb", "Mild", "type 1", "急性")]
    [True, True, True, False, False, False]
    """
    if len(normalise(inside)) > _MAX_ABBREVIATION or has_chinese(inside):
        return False
    # A word may begin with a capital, too: "(Mild)".
    is_word = len(inside) > 2 and _VOWEL.search(inside) and inside.lower() not in _ACRONYMS
    return any(map(str.isupper, inside[1:])) or (inside[:1].isupper() and not is_word)


_MAX_RENAMED_WORDS, _MAX_RENAMED_CHARACTERS = 4, 10


def is_short_name(norm: str) -> bool:
    """Return whether a normal form is so short that a text in brackets after it is another name of the whole of it.

    >>> is_short_name("the white one"), is_short_name("a possible cervicitis with bacterial vaginosis")
    (True, False)
    """
    if has_chinese(norm):
        return len(norm) <= _MAX_RENAMED_CHARACTERS
    return norm.count(" ") < _MAX_RENAMED_WORDS


_ENDING = re.compile(
    r"(?:'s|ments?|(?:at)?ions?|ated?|ating|ives?|ivity|ists?|ities|ity|ous|ical|ic|al|us|ings?|ies|ied|iers?|ers?|est|ed"
    r"|es|en|ly|n|s|e|y)$"
)
_BRITISH = re.compile("ae|oo?e")
"""Anaemia, oesophagus, gastro-oesophageal: an e in American spelling, so that both spellings have the same stem."""

_UNSTEMMED = frozenset(("early", "ferric", "number"))
"""Words whose stem would be that of another word: ear, ferrous, numb."""


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the common stem of the forms of a word: "chang" of change and changing. For comparison only."""
    if word in _UNSTEMMED or any(map(str.isdigit, word)):
        return word  # Or a code, such as V600E.
    word = _BRITISH.sub("e", word)
    ending = _ENDING.search(word)
    if ending and ending.start() < 3:
        # The "e" of "drive", not "ive"; "live" keeps its own, because "liver" has that stem.
        ending = _ENDING.search(word, 4)
    stem = word[: ending.start()] if ending else word
    return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem
