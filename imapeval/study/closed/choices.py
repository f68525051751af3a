"""Reads which option a free-text answer to a multiple-choice question chooses.

The rules, in this order; the first that applies decides:

1. The answer is a label and nothing else, or begins with one: "B", "(B)", "**B.** Aspirin", "B，因为". Not so if it
   goes on to other options without a word of explanation, which is a list of them. If it goes on to say that the answer
   is another one, it states both, and rule 2 decides. The text of an option that begins like another's label, such as
   "E. coli" as option D, is no label.
2. It states one: "the answer is (B)", "I would choose B", "答案：B", "故选B", "la bonne réponse est la B". If it states
   several different ones, the last counts when it is called final, and none otherwise. What is denied ("I would not
   choose A", "option A is wrong") or asked ("is the answer A?") is not stated, "a" before a word is an article, and
   "I" before a verb is the pronoun.
3. It is the text of exactly one option, also after its label, or states it: "Aspirin.", "A (Aspirin)", "The answer is
   aspirin because".
4. It says nothing but that it does not answer: a refusal.

Several labels at once ("A and C", "AC") choose nothing: `several`. Anything else is `unread`. Nothing is guessed: a
letter somewhere in the prose is no choice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from imapeval.llm.structured.faults import looks_like_refusal
from imapeval.llm.structured.json_objects import strip_reasoning
from imapeval.text.language import HAN
from imapeval.text.negation.stance import is_choice_denied
from imapeval.text.normalise import normalise_unicode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Reading = Literal["read", "several", "refused", "cut", "unread", "missing"]
"""How an answer was read: `cut` if it ended at the token limit before choosing, `missing` if there is no answer."""

READINGS: tuple[Reading, ...] = get_args(Reading)

_MARKUP = r"[*_`#$]+|\\(?:boxed|text|mathrm|textbf)\b"
"""Markdown and TeX around a label."""

_BEGIN, _END = rf"(?<![^\W{HAN}]|['’])", rf"(?![^\W{HAN}]|['’])"
"""What precedes and follows a name or label: no letter or digit, except a Chinese character."""

_BRACKETS = str.maketrans(dict.fromkeys('()[]{}<>"“”‘「」『』【】《》', " "))

_STATED = re.compile(
    r"(?:answer|option|choice|choose|pick|select|go with)\s*(?:choice|option|letter)?\s*"
    r"(?:is|are|would be|should be|must be|:|=|-)*\s*(?:therefore|thus|(?:most )?[a-z]{2,12}ly|option|choice)?"
    r"\s*[:=]?\s*(?P<english>LABELS)(?!\w|(?-i:-[a-z\d])|['’])"
    r"|(?:答案|选项|选择|应选|故选|选|答)\s*(?:应该|应当|应)?\s*(?:是|为|选)?\s*[:：]?\s*(?P<chinese>LABELS)END"
    r"|(?:r[ée]ponses?|choix|propositions?|choisi(?:s|rais?)|opte(?:rais?)? pour)\s*"
    r"(?:(?:correct|exact|just|final|bonn)es?\s*)?(?:(?:est|sont|serait|:|=)\s*){0,3}"
    r"(?:(?:donc|probablement|la|le|l['’]|r[ée]ponse|option|proposition)\s*){0,4}(?P<french>LABELS)(?![\w'’])"
    r"|(?<![\w'’])(?P<first>LABELS)\s*(?:is (?:the )?(?:correct|right|best)|"
    r"est (?:la bonne|correcte?|exacte?|juste)|(?:项|选项)?(?:是|为)?(?:正确|对的|最佳))"
    r"|(?:\bnot|\bpas|不[是选])\s*(?:option\s*)?(?:LABELS)\s*,?\s*(?:but|mais|而是|而选)\s*(?:rather|option|plut[ôo]t)?"
    r"\s*(?P<instead>LABELS)END".replace("END", _END),
    re.IGNORECASE,
)

_WHY = r"because|since|as|due|given|for|which|car|parce|puisque|因为|由于"
"""Words that begin an explanation."""

_PRONOUN = (
    r"I\s+(?:(?:also|just|still|then|now|(?!only)[a-z]+ly)\s+)?(?:am|was|have|had|do|did|don|think|thought|believed?|"
    r"would|will|can|cannot|could|should|might|may|must|choose|chose|pick(?:ed)?|select(?:ed)?|go|went|guess|suspect|say|"
    r"feel|felt|know|assume|consider|conclude|recommend|suggest|agree|prefer|need|want|see|find|found|get|got|g[ia]ve|"
    r"arrived?|reach(?:ed)?)\b"
)
"""The pronoun "I" with a verb: "I only" and "I (heparin)" have a label, such as one of A to J."""

_ARTICLE = re.compile(rf"a\s+[^\W\d_]|A\s+(?!(?:{_WHY}|is|and|or|but|not|est|et|ou|mais)\b)[a-zà-ÿ]|{_PRONOUN}")
"""Matches a beginning "a" that is an article or the French verb, and the pronoun "I"; "A Aspirin" has a label."""

_CLAUSE = re.compile(r"[.,:;!?。，：；！？]|\b(?:but|so|therefore|mais|donc)\b|但|所以|因此", re.IGNORECASE)
_REACH = 30
"""Number of characters before a statement that are searched for a denial or for "final"."""

_ANSWER_IS = r"(?:answer|r[ée]ponse|答案)\s*(?:is|est|是|为|:|=)+\s*(?:option|choice)?\s*"
"""Phrases before a label that state it as the answer, unlike in "option A is wrong"."""

_EXPLAINS = re.compile(
    r"explan|explic|rational|reason|because|why|incorrect|wrong|other option|"
    r"\bcar\b|en effet|parce qu|\bfau(?:x|sse)\b|解析|解释|分析|因为|理由|错误",
    re.IGNORECASE,
)

_FINAL = re.compile(r"final(?:ly)?|in conclusion|therefore|so the|\bdonc\b|最终|综上|因此|所以|故", re.IGNORECASE)

_SAID = re.compile(
    r"(?:(?:answer|option|choice)\s*(?:is|:)|r[ée]ponse\s*(?:est|:)|答案\s*(?:是|为|[:：]))\s*"
    r"(?::\s*)?(?:(?:the|la|le|les|l['’])\s*)?([^.;。；]+)",
    re.IGNORECASE,
)

_JOINT = r"(?:\s*(?:,|/|&|\+|、|，|and|or|et|ou|和|与|或|及|还是)\s*){1,2}"


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice that an answer makes.

    Attributes:
        label: The label of the option; None unless `reading` is "read", or if several are chosen.
        reading: How it was read.
        several: Labels chosen together, as in "A and C"; empty if the answer does not join several.
    """

    label: str | None
    reading: Reading
    several: frozenset[str] = frozenset()


def read_choice(
    answer: str | None, labels: Sequence[str], *, texts: Mapping[str, str] | None = None, cut: bool = False
) -> Choice:
    """Read which option an answer chooses, in upper or lower case; `cut` says that it ended at the token limit.

    Labels are those of the options, such as A to E, or "yes", "no" and "maybe"; `texts` are the options' texts by
    label, if they are known.
    """
    if answer is None or not answer.strip():
        return Choice(None, "missing")
    known = {_fold_case(label): label for label in labels}
    pattern = "|".join(sorted(map(re.escape, labels), key=len, reverse=True))
    text = _remove_markup(strip_reasoning(answer), pattern)
    # Keep a punctuation mark after the label of "B) Aspirin".
    text = re.sub(rf"(?<![\w'’])({pattern})\s*[)\]】]", r"\1. ", text, flags=re.IGNORECASE)
    plain = " ".join(text.translate(_BRACKETS).split())
    text = _part_joined(plain, labels)
    if texts:
        text, texts = _join_names(text, texts, pattern)
    found = _find_leading(text, pattern, known)
    if found is None or found.label is not None:
        found = _find_stated(text, pattern, known, leading=found)
    if found is None:
        found = _find_before_denied(text, pattern, known)
    if found is None and texts:
        found = _find_option_text(text, texts)
    if found is not None and found.several and texts:
        # "AB型" may be the text of an option.
        found = _find_option_text(plain, texts) or found
    if found is not None:
        return found
    if looks_like_refusal(text):
        return Choice(None, "refused")
    return Choice(None, "cut" if cut else "unread")


def _remove_markup(text: str, pattern: str) -> str:
    """Return a text without Markdown, TeX and tags.

    "<B>" is a label unless the text has "</B>" too, and "< 35 or > 45" is no tag.
    """
    text = normalise_unicode(text, "NFKC")
    # A look-ahead for "</B>" behind each "<B>" would take quadratic time.
    closed = "|".join(map(re.escape, set(re.findall(rf"</({pattern})>", text)))) or "(?!)"
    tag = rf"<(?![\s\d=]|(?!(?:{closed})>)(?:{pattern})>)[^<>\n]{{1,20}}>"
    return re.sub(rf"{_MARKUP}|{tag}", " ", text)


def _part_joined(text: str, labels: Sequence[str]) -> str:
    """Return a text with commas between labels that stand together in their order: "ABD", "A B"."""
    letters = "".join(label for label in labels if re.fullmatch("[A-Z]", label))
    if not letters:
        return text

    def part(found: re.Match[str]) -> str:
        joined = found[0].replace(" ", "")
        return "、".join(joined) if list(joined) == sorted(set(joined)) else found[0]

    return re.sub(rf"(?<![A-Za-z0-9'’])[{letters}](?: ?[{letters}])+{_END}", part, text)


def _join_names(text: str, texts: Mapping[str, str], pattern: str) -> tuple[str, dict[str, str]]:
    """Return the answer and the options with names that begin like another's label joined: "E. coli" as "E_coli"."""
    name = re.compile(rf"({pattern})(?:\.\s*|-|,(?=\d))(?=\w)", re.IGNORECASE)
    options: dict[str, str] = {}
    for label, option in texts.items():
        plain = _remove_markup(option, pattern).translate(_BRACKETS)
        written = " ".join(plain.split())
        options[label] = option
        # "B-aspirin" is a label and its option's text; "B-cell lymphoma" may be the text of another option.
        if written:
            own = rf"(?<![\w'’])({re.escape(label)})-(?={re.escape(written)}(?!\w))"
            text = re.sub(own, r"\1. ", text, flags=re.IGNORECASE)
        begins = name.match(written)
        if begins and _fold_case(begins[1]) != _fold_case(label):
            options[label] = joined = f"{begins[1]}_{written[begins.end() :]}"
            text = re.sub(rf"{_BEGIN}{re.escape(written)}{_END}", lambda _, to=joined: to, text, flags=re.IGNORECASE)
    return text, options


def _find_leading(text: str, pattern: str, known: Mapping[str, str]) -> Choice | None:
    """Return the choice of an answer that begins with a label, followed by a mark or nothing."""
    listed = rf"(?:both |either )?(?P<all>(?:{pattern}){_further_labels(pattern, known)}){_END}(?:[两三四五](?=项))?"
    several = re.match(listed, text, re.IGNORECASE)
    if several:
        if is_choice_denied("", text, several.end()):
            return None
        return _choose_several(several["all"], pattern, known)
    # "B - Aspirin" and "B-Aspirin" begin with a label, "B-cell lymphoma" does not.
    begins = re.match(rf"(?P<label>{pattern})\s*(?:$|[.:,;)。：，；、!]|(?-i:-(?![a-z\d])))", text, re.IGNORECASE)
    if begins is None:
        return None
    label = known[_fold_case(begins["label"])]
    # A list of options, such as "A. Aspirin: no. B. Paracetamol: yes.", begins with a label and chooses nothing.
    for other in re.finditer(rf"(?<![\w'’])({pattern})\s*[.:：)](?:\s|$)", text[begins.end() :]):
        if known[_fold_case(other[1])] != label:
            before = text[begins.end() : begins.end() + other.start()]
            if is_choice_denied(_CLAUSE.split(before)[-1], text, begins.end() + other.end(1)):
                continue
            explained = _EXPLAINS.search(before) or re.search(f"{_ANSWER_IS}$", before, re.IGNORECASE)
            return Choice(label, "read") if explained else None
    return Choice(label, "read")


def _further_labels(pattern: str, known: Mapping[str, str]) -> str:
    """Return the pattern of the labels that are joined to one."""
    # "Yes, no difference was seen" chooses yes, and "B, a beta blocker" chooses B.
    words = "|".join(["(?-i:a)", *(re.escape(label) for label in known.values() if len(label) > 1)])
    explained = rf"\.?\s*[,，、]\s*(?:{words})\s+(?!(?:and|or|et|ou)\b)[^\W\d_]"
    # "B, and I am sure" has the pronoun.
    pronoun = rf"\.?{_JOINT}(?-i:{_PRONOUN})"
    # "B，C反应蛋白升高" goes on with a noun.
    goes_on = "[项选均都全皆两三四五是为正错不对和与及或也同符合说这属可有最更并但所故中之]|因[为此而]"
    noun = rf",\s*(?:{pattern})(?!{goes_on})[{HAN}]"
    return rf"(?:(?!{explained}|{pronoun}|{noun})\.?{_JOINT}(?:{pattern}))+"


def _choose_several(joined: str, pattern: str, known: Mapping[str, str]) -> Choice:
    found = re.findall(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])", joined, re.IGNORECASE)
    labels = frozenset(known[_fold_case(label)] for label in found)
    if len(labels) == 1:
        return Choice(next(iter(labels)), "read")
    # "A or C" is undecided.
    either = re.search(r"\bor\b|\bou\b|或|还是|/", joined, re.IGNORECASE)
    return Choice(None, "several", frozenset() if either else labels)


def _find_stated(text: str, pattern: str, known: Mapping[str, str], *, leading: Choice | None) -> Choice | None:
    """Return the choice that an answer states, or with which it begins if it states no other answer."""
    stated = re.compile(_STATED.pattern.replace("LABELS", pattern), re.IGNORECASE)
    found: list[tuple[str, str]] = []
    if leading is not None and leading.label is not None:
        answers = re.findall(rf"{_ANSWER_IS}({pattern})(?![\w'’])", text, re.IGNORECASE)
        if {known[_fold_case(answer)] for answer in answers} <= {leading.label}:
            return leading
        found.append((leading.label, ""))
    joint = re.compile(rf"{_further_labels(pattern, known)}{_END}", re.IGNORECASE)
    for match in stated.finditer(text):
        which = match.lastgroup or ""  # one alternative has matched, and each has one group
        end = match.end(which)
        others = joint.match(text, end)
        after = others.end() if others else end
        before = _CLAUSE.split(text[max(0, match.start() - _REACH) : match.start()])[-1]
        denied = which != "instead" and is_choice_denied(before, text, after)
        if denied or _ARTICLE.match(text, match.start(which)):
            continue
        if others:
            return _choose_several(text[match.start(which) : after], pattern, known)
        if not re.match(r"\s*[?？]", text[after : after + 3]):
            found.append((known[_fold_case(match[which])], text[max(0, match.start() - _REACH) : match.end()]))
    if not found:
        return None
    last, said = found[-1]
    if len({label for label, _ in found}) == 1 or _FINAL.search(said):
        return Choice(last, "read")
    return Choice(None, "several")


def _find_before_denied(text: str, pattern: str, known: Mapping[str, str]) -> Choice | None:
    """Return what precedes the comma of "B，A错误" and "ABD，C错误", whose rest alone is denied."""
    listed = rf"(?:{pattern})(?:[、和与及](?:{pattern}))*"
    found = re.match(rf"({listed}),\s*{listed}(?!\s*(?:are|were|both|sont|都|均))", text, re.IGNORECASE)
    if found is None or not is_choice_denied("", text, found.end()):
        return None
    return _choose_several(found[1], pattern, known)


def _find_option_text(text: str, texts: Mapping[str, str]) -> Choice | None:
    """Return the option whose text is the answer, or what the answer says to be right."""
    said = _SAID.search(text)
    whole, stated = _fold(text), _fold(said[1]) if said else ""
    matching: list[str] = []
    for label, option in texts.items():
        folded = _fold(option)
        rest = stated[len(folded) :] if stated.startswith(folded) else None
        explained = rest is not None and re.match(rf"$| (?:{_WHY}|{re.escape(label.casefold())}$)", rest)
        if folded and (whole in (folded, f"{label.casefold()} {folded}") or explained):
            matching.append(label)
    return Choice(matching[0], "read") if len(matching) == 1 else None


def _fold_case(text: str) -> str:
    # `re.IGNORECASE` takes the Turkish letters for an i, and `casefold` does not.
    return text.replace("İ", "i").replace("ı", "i").casefold()


def _fold(text: str) -> str:
    words = re.sub(r"[^\w%+\-./]+", " ", normalise_unicode(text, "NFKC").casefold())
    return " ".join(words.rstrip(". ").split())
