"""Reads `study.toml`: facts about a study with raters that the data does not contain.

Every key is optional and holds a text, such as `training = "One hour, with 20 answers that are not in the study."`
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from imapeval.errors import InputError
from imapeval.files import refuse_stream
from imapeval.parsing import parse_toml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE = "study.toml"

KEYS: Mapping[str, str] = {
    "instrument": "what the raters were shown and asked, and what the ends of each scale mean",
    "questions": "which questions and answers are meant: field, language, where they come from",
    "raters": "who rated: profession, specialty, experience, languages",
    "prior": "what is known of the agreement of such raters, and why it is measured again",
    "size": "why so many answers, raters and ratings of an answer",
    "sampling": "how answers and raters were chosen, and who rated which answers",
    "process": "how ratings were made: tool, order, time, what else raters could see or look up",
    "blinding": "whether raters knew the system, the reference answer, scores, or the aim",
    "independence": "whether raters worked alone, and whether differences were discussed before these ratings",
    "training": "how raters were instructed and trained, and on which answers",
    "recruitment": "how raters were found and paid",
    "conflicts": "ties of the raters to the authors or the systems",
    "ethics": "approval by an ethics committee, or why none was needed; patients' data",
    "relevance": "what this agreement means in practice",
    "availability": "where ratings, instructions and answers can be had",
}
"""Content of each key."""


def find_about(folder: Path) -> Path | None:
    """Return the `study.toml` of a folder; None if there is none."""
    path = folder / FILE
    return path if path.is_file() else None


def read_about(path: Path) -> dict[str, str]:
    """Read a `study.toml`.

    Returns:
        Texts by key, without empty ones.

    Raises:
        InputError: The file cannot be read, is a pipe or a device, is not TOML, or has a line of over 10,000
            characters, an unknown key or a value that is not a text.
    """
    refuse_stream(path)
    try:
        text = path.read_text(encoding="utf-8-sig")  # Windows Notepad writes a byte-order mark
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path, fix="Make it readable.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 ({error})", path=path, fix="Save it as UTF-8.") from error
    content = parse_toml(text, path)
    for key, value in content.items():
        if key not in KEYS:
            raise _refuse(f"unknown key {key[:60]!r}", key, path, text, fix=f"The keys are {', '.join(KEYS)}.")
        if not isinstance(value, str):
            raise _refuse(f"{key} is {_name(value)}, not a text", key, path, text, fix=f'Write {key} = "...".')
    return {key: " ".join(value.split()) for key, value in content.items() if value.strip()}


def _name(value: Any) -> str:
    kinds = {dict: "a table", list: "a list", bool: "true or false"}
    return next((name for kind, name in kinds.items() if isinstance(value, kind)), "a number or a date")


def _refuse(problem: str, key: str, path: Path, text: str, *, fix: str) -> InputError:
    place = re.compile(rf"""\s*+\[*+\s*+["']?{re.escape(key)}["']?\s*[].=]""")
    line = next((number for number, line in enumerate(text.split("\n"), 1) if place.match(line)), None)
    return InputError(problem, path=path, line=line, fix=fix)
