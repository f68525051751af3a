"""Signatures: everything that can change a score, in one line.

The idea is sacrebleu's: scores without a signature cannot be compared. Its signatures are written by hand and miss
parameters; these are derived from the fields of a dataclass, so that no option is forgotten.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Value = str | int | float | bool | None


def signature(name: str, /, *parts: Any, **values: Value) -> str:
    """Join a name, the fields of dataclass instances and single values to `name|key:value|...`.

    Args:
        name: Name of what is signed, such as "imapscore".
        parts: Dataclass instances; each field whose metadata lacks `signature=False` becomes `key:value`.
        values: Further entries, in the given order.

    Returns:
        A line without white space.

    Raises:
        TypeError: A part is not a dataclass instance, or a value is not a scalar.
    """
    entries: list[tuple[str, Value]] = []
    for part in parts:
        entries.extend(_signed_fields(part).items())
    entries.extend(values.items())
    return "|".join([name, *(f"{key}:{_format_value(key, value)}" for key, value in entries)])


def _signed_fields(part: Any) -> Mapping[str, Value]:
    if not dataclasses.is_dataclass(part) or isinstance(part, type):
        raise TypeError(f"only dataclass instances can be signed, not {part!r}")
    return {f.name: getattr(part, f.name) for f in dataclasses.fields(part) if f.metadata.get("signature", True)}


def _format_value(key: str, value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        shown = format(value, "g")
        return shown if float(shown) == value else repr(float(value))
    if isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # guards untyped callers
        return "_".join(value.replace("|", "/").split())
    raise TypeError(f"signature entry {key!r} has the unsignable value {value!r}")
