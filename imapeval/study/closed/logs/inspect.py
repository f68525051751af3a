"""Reads multiple-choice answers out of logs of Inspect AI (`.eval`, `.json`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from imapeval.evaluation.samples.inspect_log import load_inspect
from imapeval.evaluation.samples.rows import read_number
from imapeval.study.closed.logs.answers import ClosedAnswer, choose, find_right, infer_labels, name_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Inspect's letters for correct, incorrect, partial and no answer, and words, as its `value_to_float` counts them."""

_HEAD = re.compile(rb'\s*\{\s*"version":\s*\d+,\s*"status":\s*"\w+",\s*"eval":')
"""How a `.json` log begins, which tells it from a table."""


def is_inspect(path: Path) -> bool:
    """Return whether a file is a log of Inspect."""
    if path.suffix != ".json" or not path.is_file():
        return path.suffix == ".eval"
    with path.open("rb") as file:
        return _HEAD.match(file.read(200)) is not None


def read_inspect(path: Path) -> Iterator[ClosedAnswer]:
    """Yield the answers of a log.

    A solver that shows options shuffled logs them, and the answer, in their original order; a data set that is shuffled
    is logged as it was shown. The choice read by Inspect's scorer is used if there is one; otherwise the answer is read
    here.

    Raises:
        InputError: The file is not a log of Inspect.
        MissingExtraError: `inspect-ai` is not installed.
    """
    rows = [row.fields for row in load_inspect(str(path))]
    common = infer_labels([row["references"] for row in rows])
    several = len({row["epoch"] for row in rows}) > 1
    for row in rows:
        options = tuple(map(str, cast("list[Any]", row.get("choices") or ())))
        labels = name_options(len(options)) or common
        scores: dict[str, float] = {}
        for name, value in row.items():
            if name.startswith("score.") and (number := _read_score(value)) is not None:
                scores[name.removeprefix("score.")] = number
        text = cast("str | None", row["response"])
        chosen = next((str(value) for name, value in row.items() if name.startswith("chosen.")), text)
        cut = row.get("stop_reason") == "max_tokens"
        # `choice()` counts all right options and no other as correct.
        gold, _ = find_right(row["references"], labels, options)
        every = bool(options) and len(gold) > 1
        yield ClosedAnswer(
            task=str(row["task"]),
            model=str(row["system"]),
            item=str(row["sample_id"]),
            run=str(row["epoch"]) if several else "",
            question=_find_question(row),
            labels=labels,
            options=options,
            gold=gold,
            every=every,
            text=text,
            choice=choose(chosen, labels, options, cut=cut, every=every),
            scores=scores,
        )


def _read_score(value: Any) -> float | None:
    if isinstance(value, str) and (known := _VALUES.get(value, _VALUES.get(value.lower()))) is not None:
        return known
    return float(value) if isinstance(value, bool) else read_number(value)


def _find_question(row: Mapping[str, Any]) -> str:
    """Return the last question; earlier ones are few-shot examples."""
    if "question" in row:
        return str(row["question"])
    return next((turn["content"] for turn in reversed(row["turns"]) if turn["role"] == "user"), "")
