"""Reporting checklist of a study with raters: items filled in from the data or `study.toml`, and missing ones.

Items 2 to 15 of GRRAS, the guidelines for reporting reliability and agreement studies (Kottner et al. 2011, Journal of
Clinical Epidemiology 64), and those items of the Human Evaluation Datasheet (HEDS: Shimorina and Belz 2022, HumEval)
that GRRAS lacks: how raters were found and paid, conflicts of interest, ethics. GRRAS 1 concerns the paper's title.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.agreement.measure import describe_left_out, find_title, has_own_questions
from imapeval.study.agreement.sentences import describe_agreement
from imapeval.study.data.about import KEYS
from imapeval.study.data.scales import describe_scale
from imapeval.study.number_format import format_percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.agreement.measure import Agreement
    from imapeval.study.data.rated import Rated


@dataclass(frozen=True, slots=True)
class ChecklistItem:
    """One thing to report.

    Attributes:
        guideline: The item of the guideline, such as "GRRAS 6".
        topic: Topic of the item.
        data: Sentences derived from the data; "" if none.
        stated: Text from `study.toml`; "" if none.
        missing: What remains to be reported; "" if nothing does.
        key: Key of `study.toml` for the item; None if it is derived from the data alone.
    """

    guideline: str
    topic: str
    data: str = ""
    stated: str = ""
    missing: str = ""
    key: str | None = None


_SHARES = ("exact", "within_step")
"""Statistics to which an answer of two raters contributes 0 or 1."""

_ITEMS = (
    ("GRRAS 2", "measuring instrument", "instrument"),
    ("GRRAS 3", "questions and answers", "questions"),
    ("GRRAS 4, 12", "raters", "raters"),
    ("GRRAS 5", "what is known already", "prior"),
    ("GRRAS 6", "sample size", "size"),
    ("GRRAS 7", "sampling", "sampling"),
    ("GRRAS 8", "rating process", "process"),
    ("GRRAS 8", "blinding", "blinding"),
    ("GRRAS 9", "independence of ratings", "independence"),
    ("GRRAS 10", "statistical analysis", None),
    ("GRRAS 11", "numbers included", None),
    ("GRRAS 12", "training", "training"),
    ("GRRAS 13", "reliability and agreement", None),
    ("GRRAS 14", "practical relevance", "relevance"),
    ("GRRAS 15", "detailed results", "availability"),
    ("HEDS 3.2", "recruitment and payment", "recruitment"),
    ("HEDS 3.2", "conflicts of interest", "conflicts"),
    ("HEDS 5", "ethics", "ethics"),
)
"""Guideline, topic and key of each item."""


def fill_checklist(
    rated: Rated, agreements: Sequence[Agreement], about: Mapping[str, str] | None = None
) -> list[ChecklistItem]:
    """Return the checklist; `about` is what `read_about` returns."""
    given = about or {}
    data = {
        "measuring instrument": _describe_scales(rated),
        "numbers included": _describe_numbers(rated),
        "statistical analysis": _describe_statistics(rated, agreements),
        "reliability and agreement": " ".join(describe_agreement(rated, agreements, ()))
        if any(row.value is not None for row in agreements)
        else "",
    }
    why = "; ".join(dict.fromkeys(row.reason for row in agreements if row.reason))
    lacking = {
        "measuring instrument": _find_undeclared(rated),
        "statistical analysis": "" if data["statistical analysis"] else why,
        "reliability and agreement": "" if data["reliability and agreement"] else why,
    }
    items: list[ChecklistItem] = []
    for guideline, topic, key in _ITEMS:
        stated = "" if key is None else given.get(key, "")
        asked = "" if key is None or stated else KEYS[key]
        missing = "; ".join(part for part in (asked, lacking.get(topic, "")) if part)
        items.append(ChecklistItem(guideline, topic, data.get(topic, ""), stated, missing, key))
    return items


def _describe_scales(rated: Rated) -> str:
    declared = [f"{name} ({describe_scale(scale)})" for name, scale in rated.scales.items()]
    declared += [name for name in rated.dimensions if name not in rated.scales]
    return f"Dimensions: {', '.join(declared)}."


def _find_undeclared(rated: Rated) -> str:
    names = [name for name in rated.dimensions if name not in rated.scales]
    return f"the scale of {', '.join(names)} (--scale {names[0]}=LOW:HIGH:STEP)" if names else ""


def _describe_numbers(rated: Rated) -> str:
    there = np.isfinite(rated.ratings).any(axis=1)
    systems = len(set(rated.systems))
    of_systems = f" by {systems} systems" if systems > 1 else ""
    questions = len(set(rated.questions[there].tolist()))
    # If each answer has a question of its own, the questions may just be unknown.
    to_questions = f" to {questions} questions" if questions < there.sum() else ""
    sentences = [f"{there.sum()} rated answers{to_questions}{of_systems}."]
    if not rated.by_rater:
        partly = [f"{name} {np.isnan(rated.ratings_of(name)[there]).sum()}" for name in rated.dimensions]
        sentences.append(f"Answers without a rating, by dimension: {', '.join(partly)}.")
        return " ".join(sentences)
    for name, table in rated.by_rater.items():
        given = np.isfinite(table)
        numbers, answers = np.unique(given.sum(axis=1)[there], return_counts=True)
        each = ", ".join(f"{count} with {number}" for number, count in zip(numbers, answers, strict=True))
        own = given.sum(axis=0)
        own = own[own > 0]
        if not len(own):
            sentences.append(f"{name}: no ratings.")
            continue
        share = 1 - given.sum() / (there.sum() * len(own))
        each_rater = f"{own.min()}" if own.min() == own.max() else f"{own.min()} to {own.max()}"
        sentences.append(
            f"{name}: {len(own)} rater{'s' * (len(own) > 1)} with {each_rater} ratings each; "
            f"answers by number of ratings: {each}"
            + (f"; {format_percent(share)} of all pairs of rater and answer are without a rating" if share > 0 else "")
            + "."
        )
    sentences.append("No rater rated an answer twice, so that agreement of raters with themselves is unknown.")
    return " ".join(sentences)


def _describe_statistics(rated: Rated, agreements: Sequence[Agreement]) -> str:
    titles = dict.fromkeys(find_title(row.statistic) for row in agreements if row.value is not None)
    if not titles:
        return ""
    wilson = ""
    if has_own_questions(rated) and any(row.statistic in _SHARES and row.raters == 2 for row in agreements):
        wilson = " The share of answers on which two raters agree has Wilson's interval."
    return (
        f"{'; '.join(titles)}. Intervals are 95% score intervals, with the variance from leaving out "
        f"{describe_left_out(rated)} in turn.{wilson} Missing ratings are left out."
    )
