"""One answer to one closed question, whatever harness logged it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from itertools import chain, count, islice, product
from typing import TYPE_CHECKING, Any, cast

from imapeval.evaluation.samples.rows import is_blank
from imapeval.study.closed.choices import Choice, read_choice
from imapeval.text.normalise import normalise_unicode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class ClosedAnswer:
    """One answer of one model.

    Attributes:
        task: Name of the task.
        model: Name of the model.
        item: Id of the question, the same for all models.
        run: Which of several runs, such as a seed; "" for a single one.
        question: Text of the question; "" if the log has none.
        labels: Labels of the options in the order shown, such as A to D; empty if the question is open-ended.
        options: Their texts, in the same order; empty if the log has none.
        gold: The right labels.
        text: Text by the model; None where the log has only the likelihoods of the options.
        choice: Its choice, read by the rules of `imapeval.study.closed.choices` or the likeliest option.
        scores: Scores by the harness, by name of the metric.
        group: Answers of one group are not independent, such as several questions on one text; "" if there is none.
        every: Whether the choice is right only if it is the whole set of right labels; otherwise any one of them is
            right.
    """

    task: str
    model: str
    item: str
    run: str
    question: str
    labels: tuple[str, ...]
    options: tuple[str, ...]
    gold: frozenset[str]
    text: str | None
    choice: Choice
    scores: Mapping[str, float] = field(default_factory=dict[str, float])
    group: str = ""
    every: bool = False

    @property
    def right(self) -> bool | None:
        """Whether the choice is right; None if none could be read."""
        if self.every:
            chosen = self.choice.several or frozenset({self.choice.label} - {None})
            return chosen == self.gold if chosen else None
        return None if self.choice.label is None else self.choice.label in self.gold


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_TEXTS, _LABELS = ("text", "texts", "choices", "options"), ("label", "labels", "key", "keys")
_SINGLE = (
    ("opa", "opb", "opc", "opd", "ope"),
    ("A", "B", "C", "D", "E", "F"),
    ("op1", "op2", "op3", "op4", "op5"),
    ("ending0", "ending1", "ending2", "ending3", "ending4"),
)
"""Columns that hold one option each, as in MedMCQA, CMB, CareQA and lm-evaluation-harness's MedQA."""

_MAX_LABELS = 10
_MIN_ANSWERS_PER_LABEL = 5
_VERDICTS = ({"yes", "no", "maybe"}, {"true", "false"})


def name_options(number: int) -> tuple[str, ...]:
    """Return labels for options that have none: A to Z, then AA, AB and so on."""
    labels = chain.from_iterable(product(_LETTERS, repeat=length) for length in count(1))
    return tuple(islice(map("".join, labels), number))


def find_options(record: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels and texts of a question's options; empty if the record has none.

    Known are a list or an object under `options` or `choices`, also as a text in JSON, as in MedQA, MMLU and ARC, and a
    column for each option, as in MedMCQA, CMB and CareQA. Labels are bare: "A" for "(A)" and for the full-width letter.
    """
    for name in ("options", "choices", "option"):
        given = decode_list(record.get(name))
        if isinstance(given, dict) and given:
            fields = cast("dict[str, Any]", given)
            texts = next((fields[key] for key in _TEXTS if isinstance(fields.get(key), list)), None)
            labels = next((fields[key] for key in _LABELS if isinstance(fields.get(key), list)), None)
            if texts is not None:
                return _label(texts, labels)
            return _label(tuple(fields.values()), tuple(fields))
        if isinstance(given, list) and given:
            items = cast("list[Any]", given)
            if all(isinstance(item, dict) for item in items):
                records = cast("list[dict[str, Any]]", items)
                labels = [next((r[key] for key in _LABELS if key in r), None) for r in records]
                texts = [next((r[key] for key in ("text", "value") if key in r), "") for r in records]
                return _label(texts, None if None in labels else labels)
            return _label(items, None)
    for names in _SINGLE:
        texts = [text if _is_text(text := record.get(name)) else None for name in names]
        # Numbers alone in columns A, B and so on may be anything, such as likelihoods.
        worded = len(names[0]) > 1 or any(isinstance(text, str) for text in texts)
        if worded and sum(text is not None for text in texts) > 1:
            return _label(texts, None)
    return (), ()


def decode_list(value: Any) -> Any:
    """Return the list or object that a cell of a text file holds, or the value itself."""
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _is_text(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool) and not is_blank(value)


def _label(texts: Sequence[Any], labels: Sequence[Any] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = name_options(len(texts)) if labels is None or len(labels) != len(texts) else labels
    given = list(zip(map(bare_label, map(str, names)), texts, strict=True))
    # Files of questions with four and five options have an empty fifth one in some rows.
    present = [(name, text) for name, text in given if not is_blank(text)] or given
    return tuple(name for name, _ in present), tuple(str(text) for _, text in present)


def bare_label(label: str) -> str:
    """Return a label without brackets and full stop, and its letters and digits not full-width, as answers are read."""
    written = normalise_unicode(label, "NFKC")
    bare = written.strip("()[]. ")
    return bare if bare.isalnum() else written


def find_gold(given: Any, labels: Sequence[str], options: Sequence[str]) -> frozenset[str]:
    """Return the right labels from a label, the text of an option, a position counted from 0, or a list of these.

    Without options the answer itself is the label, such as "yes".
    """
    if isinstance(given, (list, tuple)):
        return frozenset[str]().union(*(find_gold(one, labels, options) for one in _flatten(given)))
    text = str(given).strip()
    if not labels:
        # "(B)", as in BBH; the brackets are no part of an answer.
        lettered = re.fullmatch(r"\(([A-Za-z])\)", text)
        return frozenset({lettered[1] if lettered else text}) if text else frozenset()
    folded = {label.casefold(): label for label in labels}
    if text.casefold() in folded:
        return frozenset({folded[text.casefold()]})
    worded = text.casefold()
    # If several options have the same text, all are right.
    if found := frozenset(
        label for label, option in zip(labels, options, strict=False) if option.strip().casefold() == worded
    ):
        return found
    if (bare := bare_label(text).casefold()) in folded:  # "(B)", as in mmlu_flan
        return frozenset({folded[bare]})
    return find_by_place(read_place(text), labels)


def read_place(given: Any) -> int | None:
    """Return a whole number of at most three digits; None if the value is not one.

    It may be 2.0, which pandas writes in a column of whole numbers with gaps.
    """
    text = str(given).strip().removesuffix(".0")
    return int(text) if text.isdecimal() and len(text) <= 3 else None


def find_by_place(place: int | None, labels: Sequence[str]) -> frozenset[str]:
    """Return the label at a place counted from 0, in which absent options count; empty if there is none."""
    if place is None or place < 0:
        return frozenset()
    named = name_options(len(_LETTERS))
    # Letters that do not begin with A, such as F and T, are not A to Z with some absent.
    lettered = labels[:1] == named[:1] and set(labels) <= set(named) and list(labels) == sorted(labels)
    return frozenset((named if lettered else labels)[place : place + 1]) & frozenset(labels)


def find_right(given: Any, labels: Sequence[str], options: Sequence[str]) -> tuple[frozenset[str], bool]:
    """Return the right labels, and whether all of them have to be chosen; see `find_gold` and `find_all_gold`."""
    if gold := find_gold(given, labels, options):
        return gold, False
    together = "".join(map(str, cast("Sequence[Any]", given))) if isinstance(given, (list, tuple)) else given
    gold = find_all_gold(together, labels)
    return gold, bool(gold)


def _flatten(given: Any) -> Iterator[Any]:
    """Yield what is in a list and the lists in it; without recursion, since a log may nest hundreds."""
    pending = [given]
    while pending:
        one = pending.pop()
        if isinstance(one, (list, tuple)):
            pending += reversed(cast("Sequence[Any]", one))
        else:
            yield one


def find_all_gold(given: Any, labels: Sequence[str]) -> frozenset[str]:
    """Return the labels that are right together, as in CMB ("ABD", "A,B,D"); empty if a text is no such list."""
    known = {label.casefold(): label for label in labels if len(label) == 1}
    written = normalise_unicode(str(given), "NFKC")
    found = [known.get(letter.casefold()) for letter in re.sub(r"[\s,;，、]", "", written)]
    if len(found) < 2 or None in found or len(set(found)) < len(found):
        return frozenset()
    return frozenset(label for label in found if label is not None)


def infer_labels(golds: Sequence[Any]) -> tuple[str, ...]:
    """Return the labels of a task whose questions have no options, such as yes, no and maybe; empty if open-ended.

    Each question has one right answer, or a list. They count as labels if they are few and repeated: at most ten, each
    five times on average. Yes implies no as a label, and true implies false, since all answers of a small sample may be
    yes.
    """
    texts = [text for gold in golds for text in find_gold(gold, (), ())]
    labels = complete_labels(texts)
    if any({label.casefold() for label in labels} <= verdicts for verdicts in _VERDICTS):
        return labels
    few = 2 <= len(labels) <= _MAX_LABELS and len(texts) >= _MIN_ANSWERS_PER_LABEL * len(labels)
    return labels if few else ()


def complete_labels(golds: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct right answers in order, completed with the missing one of yes and no, or true and false.

    Of spellings that differ in case alone, the first in order is the label. The added one follows the case of the first
    right answer: "No" beside "Yes".
    """
    folded = {label.casefold(): label for label in sorted(set(golds), reverse=True)}
    labels = sorted(folded.values())
    for verdicts in _VERDICTS:
        if folded and folded.keys() <= verdicts:
            write = next((way for way in (str.upper, str.title) if labels[0] == way(labels[0])), str.lower)
            labels += [write(label) for label in verdicts - {"maybe"} - folded.keys()]
    return tuple(sorted(labels))


def find_first_place(record: Mapping[str, Any], places: Iterable[Any]) -> int | None:
    """Return whether a table, by one of its rows, counts right options from 0 or 1; None if it does not say.

    CareQA's `cop` counts from 1 (its task in lm-evaluation-harness takes 1 off). MedMCQA's counts from 1 in its
    authors' files (github.com/medmcqa/medmcqa), and from 0 in openlifescienceai/medmcqa on Hugging Face: a position
    among `places` that is possible in only one of the two decides. Other tables count from 0.
    """
    names = next((names for names in _SINGLE if names[0] in ("opa", "op1") and {*names[:2]} <= record.keys()), None)
    if names is None:
        return 0
    if names[0] == "op1" and "cop" in record:
        return 1
    given = set(map(read_place, places))
    size = max((place for place, name in enumerate(names, 1) if not is_blank(record.get(name))), default=0)
    if None in given or 0 in given:
        return 0
    return 1 if size in given else None


def choose(
    text: str | None, labels: Sequence[str], options: Sequence[str], *, cut: bool = False, every: bool = False
) -> Choice:
    """Return the choice of an answer (see `read_choice`); with `every`, several labels together are a choice.

    An answer to an open-ended question, which has no labels, chooses nothing.
    """
    if not labels:
        return Choice(None, "unread")
    texts = dict(zip(labels, options, strict=False)) if options else None
    choice = read_choice(text, labels, texts=texts, cut=cut)
    return replace(choice, reading="read") if every and choice.several else choice
