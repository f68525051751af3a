"""Rewords answers with a language model, to see whether scores stay the same.

A rewording is checked automatically: it is not empty, is in the answer's language, with the answer's numbers,
and neither the answer itself nor an earlier rewording of it. Whether the meaning is kept a person must say, at least of
some.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from imapeval.errors import ExtractionError, ImapEvalError
from imapeval.evaluation.extract import find_rejection, guard_sample
from imapeval.evaluation.samples.columns import NAMES
from imapeval.llm.protocol import Request
from imapeval.llm.structured import faults, json_objects, templates
from imapeval.llm.structured.client import OutputFormat, StructuredOutputClient
from imapeval.study.robustness.repeats import ORIGINAL_COLUMN
from imapeval.text.language import detect_lang
from imapeval.types import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from imapeval.llm.protocol import Completion, Model
    from imapeval.types import Sample

TASK = "reword"
VERSION = 1
"""Version of the prompt."""

TEMPERATURE = 0.7
"""Sampling temperature, so that several rewordings of one answer differ. Our choice, not tuned."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"reworded": {"type": "string"}},
    "required": ["reworded"],
    "additionalProperties": False,
}

_ROOM = 64
"""Tokens for the JSON around a rewording, and for one that is longer than a short answer."""

_TOKENS = 2
"""Tokens reserved for each character of the answer. English takes a fourth of one, Chinese 1 to 1.5 in tokenizers that
know it."""

_NOTE = "judge-retry"
"""The prompt with which a second request says what was wrong; it fits every task that asks for JSON."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def rewording_signature(model: Model) -> str:
    """Return what made the rewordings: model, prompt and sampling."""
    return f"{model.identity}|{templates.prompt_identity(TASK, VERSION)}|temperature:{TEMPERATURE:g}"


async def reword_answers(
    samples: Sequence[Sample],
    *,
    model: Model,
    count: int = 1,
    stop: asyncio.Event | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, list[Sample | Failure]]:
    """Return for each sample its rewordings, or why there are none, by the sample's id and in their order.

    A rewording is a sample with the id "ID#1", "ID#2", ..., the response in other words, without ratings, which nobody
    gave to it; `meta` names what it rewords (`repeats.ORIGINAL_COLUMN`). As many answers are reworded at a time as the
    model can make use of; the rewordings of one answer one after the other, each with a seed of its own.

    Args:
        samples: Samples with a response.
        model: The model that rewords.
        count: Number of rewordings of each.
        stop: Once it is set no further sample is begun; those under way are finished.
        progress: Called with 1 for each finished sample.

    Raises:
        ImapEvalError: Something that concerns all samples alike; raised once what was under way is done, and paid for.
    """
    halt = stop or asyncio.Event()
    fatal: list[ImapEvalError] = []
    made: dict[str, list[Sample | Failure]] = {}
    waiting, client = iter(samples), StructuredOutputClient(model, retry_note=_NOTE)

    async def work() -> None:
        for sample in waiting:
            if halt.is_set() or fatal:
                return
            try:
                made[sample.id] = await _reword_all(sample, client, count)
            except ImapEvalError as error:
                fatal.append(error)
                return
            progress(1)

    await asyncio.gather(*(work() for _ in range(min(model.concurrency, len(samples)))))
    if fatal:
        raise fatal[0]
    return {sample.id: made[sample.id] for sample in samples if sample.id in made}


async def _reword_all(sample: Sample, client: StructuredOutputClient, count: int) -> list[Sample | Failure]:
    if refused := find_rejection(sample):
        return [refused] * count
    if not any(map(str.isalnum, sample.response)):
        return [Failure("rewording", "no-answer", "the response is empty: there is nothing to reword")] * count
    known = {keep_letters_and_digits(sample.response)}
    made: list[Sample | Failure] = []
    for number in range(1, count + 1):
        text = await guard_sample("rewording", _ask(sample, client, seed=number, known=known))
        if isinstance(text, Failure):
            made.append(replace(text, stage="rewording") if text.stage == "extraction" else text)
            continue
        known.add(keep_letters_and_digits(text))
        made.append(
            replace(
                sample,
                id=f"{sample.id}#{number}",
                response=text,
                ratings={},
                meta={**sample.meta, ORIGINAL_COLUMN: sample.id},
            )
        )
    return made


async def _ask(sample: Sample, client: StructuredOutputClient, *, seed: int, known: set[str]) -> str:
    lang = detect_lang(sample.response)
    messages = templates.load(TASK, lang=lang, version=VERSION).render(answer=sample.response)

    def make(form: OutputFormat) -> Request:
        return Request(
            messages,
            schema=SCHEMA if form is OutputFormat.SCHEMA else None,
            schema_name=TASK,
            json=form is OutputFormat.JSON,
            max_tokens=_ROOM + _TOKENS * len(sample.response),
            temperature=TEMPERATURE,
            seed=seed,
        )

    def parse(completion: Completion) -> str:
        return read_rewording(completion.text, original=sample.response, known=known)

    return await client.complete(make, parse, lang=lang)


def read_rewording(completion: str, *, original: str, known: AbstractSet[str] = frozenset()) -> str:
    """Return the rewording of an answer that a completion holds, an object with the key "reworded".

    It may not repeat a known text; these are as `keep_letters_and_digits` returns them.

    Raises:
        ExtractionError: It cannot be read (kinds of `imapeval.llm.structured.faults`), is in another language
            ("wrong-language"), lacks a number of the original ("lost-numbers"), or says nothing in other words
            ("not-reworded").
    """
    try:
        said = json_objects.find_json_object(completion, "reworded")["reworded"]
    except ExtractionError as error:
        raise faults.refine_error(error) from None
    # Broken surrogates can stand in JSON but in no file.
    text = said.encode("utf-8", "replace").decode().strip() if isinstance(said, str) else ""
    if not any(map(str.isalnum, text)):
        raise faults.fault_error("empty-object", completion)
    if detect_lang(text) != detect_lang(original):
        raise faults.fault_error("wrong-language", completion)
    if lost := {*_NUMBER.findall(original)} - {*_NUMBER.findall(text)}:
        raise ExtractionError(
            f"the rewording lacks numbers of the answer: {', '.join(sorted(lost))}", kind="lost-numbers", raw=completion
        )
    if keep_letters_and_digits(text) in known | {keep_letters_and_digits(original)}:
        raise ExtractionError(
            "the model wrote the answer itself, or a rewording that it had written before",
            kind="not-reworded",
            raw=text,
        )
    return text


def sample_to_json_line(sample: Sample) -> str:
    """Return a rewording as a line of a samples file, which `imapeval.evaluation.samples.read` takes."""
    # A column that was not read as a field is not to be read as one from here.
    fields: dict[str, Any] = {name: value for name, value in sample.meta.items() if name not in NAMES}
    fields["id"] = sample.id
    if sample.turns:
        fields["turns"] = [{"role": turn.role, "content": turn.content} for turn in sample.turns[:-1]]
    else:
        fields["question"] = sample.question
    fields |= {"response": sample.response, "lang": sample.lang, "system": sample.system}
    if sample.references:
        fields["references"] = list(sample.references)
    # Parquet columns may hold dates and the like, which are only passed through.
    line = json.dumps(fields, ensure_ascii=False, default=str)
    # Extra columns may hold lone surrogates, which become escapes, as in `samples.jsonl`.
    return line.encode(errors="backslashreplace").decode()


def keep_letters_and_digits(text: str) -> str:
    """Return letters and digits alone, in lower case: other spaces, case or punctuation is no other wording."""
    return "".join(character for character in text.casefold() if character.isalnum())
