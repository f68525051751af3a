"""Reads `samples_TASK_DATE.jsonl` of lm-evaluation-harness (`--log_samples`).

Every line is one document and one filter. The model is named by the folder, in which the harness writes "/" as "__".
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import InputError
from imapeval.evaluation.samples.rows import read_number
from imapeval.parsing import parse_json
from imapeval.study.closed.choices import Choice
from imapeval.study.closed.logs.answers import (
    ClosedAnswer,
    choose,
    find_by_place,
    find_gold,
    find_options,
    find_right,
    infer_labels,
    name_options,
    read_place,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_NAME = re.compile(r"samples_(?P<task>.+?)_\d{4}-\d\d-\d\dT[\d.:-]+\.jsonl")

_QUESTION = ("question", "Question", "QUESTION", "query", "sent1", "input")


def is_lm_eval(head: Mapping[str, Any]) -> bool:
    """Return whether a file's first record is one of the harness."""
    return {"doc_id", "doc", "resps", "filtered_resps"} <= head.keys()


def read_lm_eval(path: Path) -> Iterator[ClosedAnswer]:
    """Yield the answers of a file.

    Raises:
        InputError: A line is not a record of the harness, or differs from another of the same document and filter.
    """
    named = _NAME.fullmatch(path.name)
    task = named["task"] if named else path.stem.removeprefix("samples_")
    model = path.resolve().parent.name.replace("__", "/")
    # Line number and record, by document and filter.
    documents: dict[str, dict[str, tuple[int, dict[str, Any]]]] = {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            record = _read_record(line, path, number)
            filtered = documents.setdefault(str(record["doc_id"]), {})
            first, known = filtered.setdefault(_filter_of(record), (number, record))
            # Compared as text, because NaN is not equal to itself.
            if known is not record and json.dumps(known) != json.dumps(record):
                raise InputError(
                    f"has another sample of document {record['doc_id']!r} and filter {_filter_of(record)!r} than line "
                    f"{first}",
                    path=path,
                    line=number,
                    fix="Remove the line that does not belong to this run.",
                )
    found = [[record for _, record in filtered.values()] for filtered in documents.values()]
    common = infer_labels([records[0].get("target") for records in found])
    for records in found:
        yield _read_document(records, task=task, model=model, common=common)


def _read_record(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        record = parse_json(line)
        if not is_lm_eval(record) or not isinstance(record["doc"], dict):
            raise ValueError("keys are missing")
        metrics = cast("Any", record.get("metrics") or [])
        if not isinstance(metrics, list) or not all(isinstance(name, str) for name in cast("list[Any]", metrics)):
            raise ValueError("'metrics' is not a list of names")
        _check_responses(record["resps"])
    except (ValueError, AttributeError) as error:
        raise InputError(
            f"is not a sample of lm-evaluation-harness ({error})",
            path=path,
            line=number,
            fix="Give a file that `lm_eval --log_samples` wrote.",
        ) from error
    return cast("dict[str, Any]", record)


def _check_responses(responses: Any) -> None:
    """Raise `ValueError` for what is neither texts, nor nulls, nor likelihoods of the options."""
    if not (isinstance(responses, list) and responses):
        raise ValueError("'resps' is not a list of responses")
    given: Any = cast("list[Any]", responses)
    if len(given) > 1 and isinstance(given[0], list) and isinstance(given[0][:1] and given[0][0], list):
        if _read_likelihoods(given) is None:
            raise ValueError("'resps' is not a likelihood of each option")
        return
    while isinstance(given, list) and given:
        given = cast("list[Any]", given)[0]
    if not (given is None or isinstance(given, (str, float))):
        raise ValueError("'resps' is not a list of responses")


def _filter_of(record: Mapping[str, Any]) -> str:
    return str(record.get("filter", "none"))


def _read_document(
    records: Sequence[dict[str, Any]], *, task: str, model: str, common: tuple[str, ...]
) -> ClosedAnswer:
    record = records[0]
    doc: dict[str, Any] = record["doc"]
    scores: dict[str, float] = {}
    for one in records:
        suffix = f",{_filter_of(one)}" if len(records) > 1 else ""
        for name in one.get("metrics") or ():
            value = one.get(name)
            number = float(value) if isinstance(value, bool) else read_number(value)
            if number is not None and not isinstance(value, str):
                scores[f"{name}{suffix}"] = number
    labels, options = find_options(doc)
    likelihoods = _read_likelihoods(record["resps"])
    target = record.get("target")
    every = False
    if likelihoods is not None:
        if "acc_mutual_info" in (record.get("metrics") or ()):
            likelihoods = likelihoods[: len(likelihoods) // 2]  # The others are of the options without the question.
        if len(labels) != len(likelihoods):
            labels, options = name_options(len(likelihoods)), _read_continuations(record, len(likelihoods))
        choice = _choose_likeliest(likelihoods, labels)
        text = None
        # The harness logs the position of the right option, which another one may have as its label or text.
        gold = find_by_place(read_place(target), labels) or find_gold(target, labels, options)
    else:
        text = _first_text(record["resps"])
        labels = labels or common
        gold, every = find_right(target, labels, options)
        choice = choose(text, labels, options, every=every)
    question = next((doc[name] for name in _QUESTION if isinstance(doc.get(name), str)), "")
    return ClosedAnswer(
        task=task,
        model=model,
        item=str(doc.get("id", doc.get("unique_id", record["doc_id"]))),
        run="",
        question=question,
        labels=labels,
        options=options,
        gold=gold,
        text=text,
        choice=choice,
        scores=scores,
        every=every,
    )


def _choose_likeliest(likelihoods: Sequence[float], labels: Sequence[str]) -> Choice:
    highest = max(likelihoods)
    # With NaN, or no possible option, the preferred option is unknown.
    if any(map(math.isnan, likelihoods)) or math.isinf(highest):
        return Choice(None, "unread")
    return Choice(labels[likelihoods.index(highest)], "read")


def _read_likelihoods(responses: Any) -> list[float] | None:
    """Return the log-likelihood of each option, or None if the model wrote a text.

    A response is `[[log-likelihood, whether greedy]]`, with numbers as texts; "-inf" is an impossible option.
    """
    try:
        found = [float(number) for ((number, _greedy),) in responses]
    except (TypeError, ValueError, OverflowError):
        return None
    return found if len(found) > 1 else None


def _read_continuations(record: Mapping[str, Any], number: int) -> tuple[str, ...]:
    """Return the texts whose likelihood was computed, such as those of yes, no and maybe; empty if the log has none."""
    arguments = record.get("arguments")
    if not isinstance(arguments, dict):
        return ()
    given = [cast("dict[str, Any]", arguments).get(f"gen_args_{n}") for n in range(number)]
    texts = [cast("dict[str, Any]", one).get("arg_1") for one in given if isinstance(one, dict)]
    return tuple(str(text).strip() for text in texts) if len(texts) == number and None not in texts else ()


def _first_text(responses: Any) -> str | None:
    while isinstance(responses, list):
        responses = cast("list[Any]", responses)[0] if responses else None
    return responses if isinstance(responses, str) else None
