"""Check whether a value is supported by the text that it was extracted from. Pure.

Models copy from the question, from the prompt's examples and from their own knowledge. A value counts only if most of
its content is in the text (words by their stem, Chinese by characters with a neighbour), all of its numbers are, and,
if it denies something, the text contains a denial. Words of the term ("治疗" in "药物治疗") and light words, which
many facts share ("take", "less", "避免"), neither need support nor provide it: "cut down on alcohol" supports "reduce
alcohol", but "eat less salt" does not support "eat less offal".
"""

from __future__ import annotations

import re
from functools import cached_property

from imapeval.text.amounts.vocabulary import SMALL_NUMBERS, TENS, TIMES
from imapeval.text.language import HAN
from imapeval.text.markup import INVISIBLE, fold_confusables
from imapeval.text.negation.stance import ADVICE_AGAINST, CHINESE_ADVICE_AGAINST, DENIALS, is_negated, mentions_denial
from imapeval.text.negation.yes_no import asks_yes_no, mentions_assent, strip_answer_words
from imapeval.text.normalise import stem

_MIN_SHARE = 0.5
"""More than this share of a value must be in the text."""

_WORD_WEIGHT = 2
"""Weight of a word relative to a Chinese character: a Chinese word has two."""

_LETTER = rf"[^\W\d_{HAN}]"
_WORD = re.compile(rf"{_LETTER}+(?:'[a-z]+)?")
# Only from the start of a word, to keep matching linear on long words.
_COMPOUND = re.compile(rf"(?<!{_LETTER}){_LETTER}++(?:-{_LETTER}++)++")
_CHINESE = re.compile(f"[{HAN}]+")
_NUMBER_WORDS = {
    **{word: f"{value:g}" for word, value in (SMALL_NUMBERS | TENS | TIMES).items()},
    **{"single": "1", "double": "2", "bid": "2", "tid": "3", "qid": "4"},
}
_NUMERAL = r"\d+(?:,\d{3}(?!\d))*(?:\.\d+)?"
_DIGITS = re.compile(_NUMERAL)
_NUMBER = re.compile(
    rf"{_NUMERAL}|\b(?:{'|'.join(_NUMBER_WORDS)})\b"
    r"|(?:(?<=\bin )|(?<=\bfor )|(?<=\bafter ))an?(?= (?:hour|day|week|month|year)\b)"
    r"|(?<=百分之)(?:[二三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九](?![百千万点]))"
    r"|(?<![一二三四五六七八九十百第])(?:[二三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九]|半)"
    r"(?=个?(?:小时|分钟|天|日|周|星期|礼拜|月|年|岁|次|片|粒|滴|倍|毫|克|颗|种))"
)
_DIGITS_ZH = {char: str(number) for number, char in enumerate("一二三四五六七八九", 1)} | {"": "", "两": "2"}
_COUNTS = {
    **_NUMBER_WORDS,
    **dict.fromkeys(("a", "an"), "1"),
    **{char: digit for char, digit in _DIGITS_ZH.items() if char},
    **{
        f"{tens}十{ones}": f"{_DIGITS_ZH[tens] or 1}{_DIGITS_ZH[ones] or 0}"
        for tens in ("", *"二三四五六七八九")
        for ones in ("", *"一二三四五六七八九")
    },
}

_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the of to in on at by for from with and or as is are was were be been being it its this that these those "
        "you your he she his her they their them i we our my me can may might could should would will do does if then "
        "than so such also very more most some any each per have has had there when while",
    )
)
_LIGHT_WORDS = frozenset(
    re.findall(
        r"\w+",
        # Denials are checked separately.
        f"{DENIALS} {ADVICE_AGAINST} likely probably possible possibly "
        "take use eat drink get give go see keep stay make try start need advise recommend consider "
        "increase help cause due "
        "doctor physician specialist clinic department test exam examination check treatment therapy "
        "mg g ml mcg kg hour hr h q day daily week month year time tablet dose every only about around",
    )
)
"""Words that many facts share, so that they are not evidence; compared by their stems."""
_LIGHT_CHINESE = re.compile(
    CHINESE_ADVICE_AGAINST + r"|需要|建议|推荐|考虑|可以|可能性?|应该?|应当|注意|保持"
    r"|使用|服用|少吃|多吃|少喝|多喝|多饮|少食|检查|治疗|就诊|每[天日次周]|毫克|毫升|的情况下"
)
_FUNCTION_CHARACTERS = frozenset("的了着过地得和与及或等也还都就并且是")


class GroundingText:
    """A text prepared for checking values against it.

    Args:
        text: Without zero-width characters.
    """

    def __init__(self, text: str) -> None:
        self._text = fold_case(text)

    def supports(self, value: str, *, term: str = "") -> bool:
        """Return whether the text supports a value of that term.

        The value for a yes-or-no question may say yes or no in other words than the text: only the rest of such a value
        must be in the text, and some assent or denial.
        """
        folded = fold_case(INVISIBLE.sub("", value))
        numbers = _find_numbers(folded, _NUMBER)
        # Digits first, because looking for number words takes longer.
        if numbers and not (numbers <= self._numerals or numbers <= self._numbers):
            return False
        if self.denies_without_support(folded):
            return False
        denies = is_negated(folded)
        folded_term = fold_case(term)
        if asks_yes_no(folded_term):
            limit = strip_answer_words(folded)
            if len(limit) < len(folded):
                share = self._share_in_text(limit, exclude=folded_term)
                if share is not None:
                    return share > _MIN_SHARE
                if denies:
                    return mentions_denial(self._text)
                # A text about the matter may assent in any words.
                return mentions_assent(self._text) or bool(self._share_in_text(folded_term, exclude=""))
        share = self._share_in_text(folded, exclude=folded_term)
        if share is None:
            share = self._share_in_text(folded, exclude="")
        # Without content words, every function word must be there, as every number is.
        return self._contains_all_words(folded) if share is None else share > _MIN_SHARE

    def denies_without_support(self, value: str) -> bool:
        """Return whether a value denies something and nothing in the text does."""
        return is_negated(value) and not mentions_denial(self._text)

    def contains_digits_of(self, value: str) -> bool:
        """Return whether every number that a value has in digits is in the text."""
        return _find_numbers(fold_case(value), _DIGITS) <= self._numerals

    def is_other_script(self, value: str) -> bool:
        """Return whether a value is written in a different script from the text."""
        return bool(_CHINESE.search(value)) != self._is_chinese and any(map(str.isalpha, value))

    @cached_property
    def _is_chinese(self) -> bool:
        """Whether it has more than two Chinese characters for each other word."""
        return sum(map(len, _CHINESE.findall(self._text))) > _WORD_WEIGHT * len(self._words)

    @cached_property
    def _words(self) -> frozenset[str]:
        words = _WORD.findall(self._text)
        if "-" in self._text:
            words += (compound.replace("-", "") for compound in _COMPOUND.findall(self._text))
        return frozenset(map(stem, words))

    @cached_property
    def _numerals(self) -> frozenset[str]:
        return _find_numbers(self._text, _DIGITS)

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return _find_numbers(self._text, _NUMBER)

    def _contains_all_words(self, folded: str) -> bool:
        """Return whether all words and Chinese characters of a value other than its numbers are in the text."""
        folded = _NUMBER.sub(" ", folded)
        return all(stem(word) in self._words for word in _WORD.findall(folded)) and all(
            char in self._text for run in _CHINESE.findall(folded) for char in run
        )

    def _share_in_text(self, folded: str, *, exclude: str) -> float | None:
        """Return the share of a value's content that is in the text; None if it has no content.

        Args:
            folded: The value.
            exclude: Text whose words are not counted as content, such as the term.
        """
        if "-" in folded:
            # "gastro-oesophageal" may be one word in the text.
            folded = _COMPOUND.sub(self._join, folded)
        excluded = {*map(stem, _WORD.findall(exclude))}
        words = [
            root
            for word in _WORD.findall(folded)
            if word not in _FUNCTION_WORDS
            and word not in _NUMBER_WORDS
            and (root := stem(word)) not in _LIGHT_STEMS
            and root not in excluded
        ]
        weight = _WORD_WEIGHT * len(words)
        found = _WORD_WEIGHT * sum(root in self._words for root in words)
        # The text may write a number in another way, which `supports` has compared: 三次 is "3次".
        chinese = _NUMBER.sub(lambda number: number[0] if number[0] in self._text else " ", folded)
        for run in _CHINESE.findall(_LIGHT_CHINESE.sub(" ", chinese)):
            # With a neighbour: single characters occur in any longer text.
            pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
            around = zip([pairs[0], *pairs], [*pairs, pairs[-1]], strict=True) if len(run) > 1 else [(run, run)]
            for char, (before, after) in zip(run, around, strict=True):
                if char in _FUNCTION_CHARACTERS or before in exclude or after in exclude:
                    continue
                weight += 1
                found += before in self._text or after in self._text
        return found / weight if weight else None

    def _join(self, compound: re.Match[str]) -> str:
        joined = compound[0].replace("-", "")
        return joined if stem(joined) in self._words else compound[0]


def fold_case(text: str) -> str:
    """Return the text in lower case and ordinary letters, with plain apostrophes, one character for one."""
    text = fold_confusables(text)
    folded = text.lower()
    if len(folded) != len(text):
        # The lower case of a few letters, such as the Turkish dotted capital I, has two characters.
        folded = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    return folded


def _find_numbers(folded: str, pattern: re.Pattern[str]) -> frozenset[str]:
    found: list[str] = pattern.findall(folded)
    return frozenset(_COUNTS.get(number) or _normalise_number(number) for number in found)


def _normalise_number(number: str) -> str:
    """Return a number in digits without commas and final zeros: 1,200.50 as 1200.5, 1.0 as 1."""
    number = number.replace(",", "")
    return number.rstrip("0").rstrip(".") if "." in number else number


_LIGHT_STEMS = frozenset(map(stem, _LIGHT_WORDS))
