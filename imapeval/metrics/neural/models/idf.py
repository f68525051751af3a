"""Inverse document frequencies: weights of tokens by their rarity in a collection of texts.

The collection is a file of samples, such as the one being scored, so that a weight does not depend on which samples
happen to be scored together.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from imapeval.errors import InputError
from imapeval.parsing import describe_validation_error
from imapeval.text.language import detect_lang

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from imapeval.types import Lang

Side = Literal["references", "responses"]

SIDES: tuple[Side, ...] = get_args(Side)


@dataclass(frozen=True, slots=True)
class TokenWeights:
    """Inverse document frequencies: log((n + 1) / (texts with the token + 1)).

    As in bert_score 0.3.13 and moverscore 1.0.3 (`get_idf_dict`); a token that occurs in every text has weight 0.

    Attributes:
        known: Weight of every token that occurs.
        unseen: Weight of any other.
    """

    known: Mapping[int, float]
    unseen: float

    def weigh(self, ids: Sequence[int]) -> list[float]:
        """Return the weight of each token."""
        return [self.known.get(token, self.unseen) for token in ids]


def count_token_weights(texts: Iterable[Sequence[int]]) -> TokenWeights:
    """Return the weights of tokens in a collection of texts, each given as its token ids."""
    total = 0
    counts: Counter[int] = Counter()
    for ids in texts:
        total += 1
        counts.update(set(ids))
    return TokenWeights(
        {token: math.log((total + 1) / (number + 1)) for token, number in counts.items()}, math.log(total + 1)
    )


def read_collection(path: Path, side: Side, *, lang: Lang) -> list[str]:
    """Return the texts of one side of a file of samples.

    Args:
        path: JSON Lines with `reference` or `references`, `response`, and `lang`; without `lang` the language is that
            of the script of the `question` or, without one, of the other texts.
        side: Which texts.
        lang: Lines in other languages are skipped.

    Raises:
        InputError: The file cannot be read, or a line is not a sample.
    """
    try:
        # Not splitlines, which also cuts at U+2028 and U+0085: JSON allows them in a text.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the file cannot be read ({error})", path=path, fix="Give a file of samples in JSON Lines (UTF-8)."
        ) from error
    texts: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            sample = _Sample.model_validate_json(line)
        except ValidationError as error:
            raise InputError(
                f"not a sample ({describe_validation_error(error)})",
                path=path,
                line=number,
                fix="Write one JSON object per line, with `reference` (or `references`) and `response`.",
            ) from error
        if (sample.lang or sample.detect_lang()) == lang:
            texts.extend(sample.texts(side))
    return texts


class _Sample(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    question: str | None = None
    reference: str | tuple[str, ...] | None = None
    references: tuple[str, ...] | None = None
    response: str | None = None
    lang: str | None = None

    def texts(self, side: Side) -> list[str]:
        if side == "responses":
            return [self.response] if self.response else []
        given = (self.reference,) if isinstance(self.reference, str) else self.reference or ()
        return [text for text in (*given, *(self.references or ())) if text]

    def detect_lang(self) -> Lang:
        """Return the language of the script."""
        texts = [self.question] if self.question else [text for side in SIDES for text in self.texts(side)]
        return detect_lang("".join(texts))
