"""A summary of a run in GitHub-flavoured Markdown, for a CI job or a comment."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from heapq import nlargest, nsmallest
from operator import itemgetter
from typing import TYPE_CHECKING

from imapeval.evaluation.samples import UNNAMED_SYSTEM
from imapeval.report.summary import describe_mean, format_contradictions, format_mean_interval
from imapeval.study.intervals.coverage import describe_mean_coverage
from imapeval.study.number_format import format_score
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from imapeval.explain.answers import ScoredAnswer
    from imapeval.report.summary import SummaryRow
    from imapeval.report.thresholds import AnyVerdict

MAX_WORST, MAX_REASONS, MAX_IDS, MAX_ROWS = 10, 20, 3, 200
"""Worst answers, reasons, ids per reason, and rows of the table of means that are listed; the rest is counted.
GitHub shows no summary of more than 1 MiB."""

_MAX_CHARACTERS = 300
"""Characters of a text from the data that are shown."""

_MARKUP = re.compile(r"[\\`*_\[\]<>|~&$@#]|:(?=\S)|(?<=www)\.", re.IGNORECASE)
"""Characters with a meaning within a line of GitHub-flavoured Markdown, or that make links, mentions or formulas."""

_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "$": "&#36;", "@": "&#64;", "#": "&#35;"}
"""Those that other processors than Markdown look for, so that a backslash may not be enough; the others get one."""

_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of the text after them."""


def write_markdown(
    answers: Sequence[ScoredAnswer],
    rows: Sequence[SummaryRow],
    verdicts: Sequence[AnyVerdict] = (),
    *,
    name: str,
    higher_is_better: Mapping[str, bool],
) -> str:
    """Return the summary: thresholds, means with intervals, answers that were not scored and why, the worst answers.

    Texts from the data, such as ids and its name, are escaped. The worst answers are those by the first metric in
    `higher_is_better`.
    """
    unscored = _Unscored()
    untried: Counter[tuple[str, str]] = Counter()
    systems: set[str] = set()
    metric = next(iter(higher_is_better))

    def go_through() -> Iterator[tuple[float, ScoredAnswer]]:
        for answer in answers:
            unscored.add(answer)
            systems.add(answer.system)
            untried.update(
                (name, system)
                for name, outcome in answer.outcomes.items()
                if outcome is None
                for system in ("", answer.system or UNNAMED_SYSTEM)
            )
            if isinstance(outcome := answer.outcomes.get(metric), Score):
                yield outcome.value, answer

    choose = nsmallest if higher_is_better[metric] else nlargest
    worst = choose(MAX_WORST, go_through(), key=itemgetter(0))
    parts = [
        f"## imapeval: {escape_markdown(name)}",
        "\n".join(f"- {'✅' if verdict.met else '❌'} {escape_markdown(str(verdict))}" for verdict in verdicts),
        _tabulate_means(rows, untried),
        *describe_mean_coverage(row.resampled for row in rows[:MAX_ROWS]),
        unscored.tabulate(of=len(answers)),
        _tabulate_worst(worst, metric, several=len(systems) > 1),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _tabulate_means(rows: Sequence[SummaryRow], untried: Counter[tuple[str, str]]) -> str:
    """Return the table; `untried` counts answers by metric and system, with "" for all systems together."""
    several = any(row.system for row in rows)
    counted = any(row.contradictions is not None for row in rows)
    titles = [
        "metric",
        *(["system"] if several else []),
        *("scored", "not scored"),
        *(["not tried"] if untried else []),
        *(["contradictions"] if counted else []),
        *("mean", "95% interval"),
    ]
    lines = [
        [
            escape_markdown(f"{row.metric} ({said})" if (said := describe_mean(row)) else row.metric),
            *([escape_markdown(row.system or "all")] if several else []),
            str(row.n),
            str(row.failed),
            *([str(untried[row.metric, row.system])] if untried else []),
            *([format_contradictions(row.contradictions)] if counted else []),
            "–" if row.mean is None else format_score(row.mean),
            format_mean_interval(row.low, row.high),
        ]
        for row in rows[:MAX_ROWS]
    ]
    more = f"\n\nand {len(rows) - MAX_ROWS} more rows" if len(rows) > MAX_ROWS else ""
    return tabulate(titles, lines, right=4 + bool(untried) + counted) + more


class _Unscored:
    """Why answers were not scored: how many there are of each reason, and the first ids."""

    def __init__(self) -> None:
        self._count = self._untried = 0
        self._reasons: Counter[tuple[str, str]] = Counter()
        self._ids: dict[tuple[str, str], list[str]] = {}

    def add(self, answer: ScoredAnswer) -> None:
        unscored = answer.unscored
        self._count += bool(unscored)
        self._untried += None in answer.outcomes.values()
        for reason in dict.fromkeys((f"{one.stage}/{one.kind}", one.message) for one in unscored.values()):
            self._reasons[reason] += 1
            if self._reasons[reason] <= MAX_IDS:
                self._ids.setdefault(reason, []).append(answer.sample.id)

    def tabulate(self, *, of: int) -> str:
        if not self._reasons:
            return ""
        lines = [
            [escape_markdown(f"{message} ({kind})"), str(n), ", ".join(map(escape_markdown, self._ids[kind, message]))]
            for (kind, message), n in self._reasons.most_common(MAX_REASONS)
        ]
        more = f"\n\nand {len(self._reasons) - MAX_REASONS} more reasons" if len(self._reasons) > MAX_REASONS else ""
        table = tabulate(["reason", "answers", "such as"], lines)
        verb = "was" if self._untried == 1 else "were"
        untried = f", {self._untried} of which {verb} not tried" if self._untried else ""
        return f"### Not scored: {self._count} of {of} answers{untried}\n\n{table}{more}"


def _tabulate_worst(worst: Sequence[tuple[float, ScoredAnswer]], metric: str, *, several: bool) -> str:
    if not worst:
        return ""
    lines = [
        [
            escape_markdown(answer.sample.id),
            *([escape_markdown(answer.system)] if several else []),
            format_score(value),
            escape_markdown(answer.facts),
        ]
        for value, answer in worst
    ]
    titles = ["answer", *(["system"] if several else []), escape_markdown(metric), "facts"]
    return f"### Worst answers by {escape_markdown(metric)}\n\n{tabulate(titles, lines)}"


def tabulate(titles: Sequence[str], lines: Sequence[Sequence[str]], *, right: int = 0) -> str:
    """Return a table; the last `right` columns are numbers."""
    rules = ["---"] * (len(titles) - right) + ["--:"] * right
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, rules, *lines))


def shorten_line(text: str, limit: int) -> str:
    """Return a text in one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def escape_markdown(text: str) -> str:
    """Return a text from the data in one line, escaped and cut."""
    line = shorten_line(text, _MAX_CHARACTERS)
    plain = "".join("\ufffd" if _is_invisible(character) else character for character in line)
    return _MARKUP.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), plain)


def _is_invisible(character: str) -> bool:
    return character in _DIRECTIONS or unicodedata.category(character) in ("Cc", "Cs")
