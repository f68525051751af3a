"""What may stand in the files of a run, checked as it is read: people edit them, disks and programs damage them."""

import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import from_json

from imapeval.types import Failure, Lang, Outcome, Sample, Score, Turn

_SURROGATE_ESCAPE = b"\\ud"
"""How the escape of a lone surrogate begins."""

_MAX_PLACE_LENGTH = 80
"""Characters of a place in a file that a message names: the keys of damaged JSON may be of any length."""


_Count = Annotated[int, Field(ge=0)]
_Bound = float | None


class _StrictModel(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)


class _Price(_StrictModel):
    prompt: Annotated[float, Field(ge=0)]
    completion: Annotated[float, Field(ge=0)]
    reused: Annotated[float, Field(ge=0)] | None = None
    source: str = ""


class Usage(_StrictModel):
    """What the work of a language model cost: `Ledger.report`."""

    calls: _Count
    cached: _Count
    failed: _Count
    estimated: _Count
    prompt_tokens: _Count
    completion_tokens: _Count
    reused_tokens: _Count
    usd: Annotated[float, Field(ge=0)] | None
    price: _Price | None


class _Data(_StrictModel):
    source: str
    samples: _Count
    sha256: str


class _Settings(_StrictModel):
    metrics: dict[str, str]
    extractor: str
    matcher: str
    seed: _Count
    resources: dict[str, str]
    ranges: dict[str, Annotated[list[_Bound], Field(min_length=2, max_length=2)]] = {}


class Manifest(_StrictModel):
    """`manifest.json`. What has a default may be absent."""

    imapeval: str
    started: Annotated[str, Field(pattern=r"^[0-9T:.+Z-]+$")]
    data: _Data
    settings: _Settings
    finished: str | None = None
    counts: dict[str, _Count] | None = None
    usage: Usage | None = None
    command: list[str] = []
    python: str = ""
    platform: str = ""
    libraries: dict[str, str] = {}


class _Turn(_StrictModel):
    role: Annotated[str, Field(pattern="^(user|assistant)$")]
    content: str


class SampleLine(_StrictModel):
    """A line of `samples.jsonl`."""

    id: str
    question: str
    references: list[str]
    response: str | None
    lang: Lang
    system: str
    ratings: dict[str, float]
    meta: dict[str, Any]
    turns: list[_Turn] = []

    def sample(self) -> Sample:
        """Return what the line says."""
        return Sample(
            id=self.id,
            question=self.question,
            references=tuple(self.references),
            response=self.response or "",
            lang=self.lang,
            system=self.system,
            ratings=self.ratings,
            meta=self.meta,
            turns=tuple(Turn("user" if turn.role == "user" else "assistant", turn.content) for turn in self.turns),
            answered=self.response is not None,
        )


class _Failure(_StrictModel):
    stage: str
    kind: str
    message: str
    raw: str | None = None


class ResultLine(_StrictModel):
    """A line of `results.jsonl`."""

    id: str
    metric: str
    score: float | None
    parts: dict[str, float]
    failure: _Failure | None
    signature: str

    @model_validator(mode="after")
    def _check_outcome(self) -> "ResultLine":
        if (self.score is None) == (self.failure is None):
            raise ValueError("there must be either a score or a failure")
        return self

    def outcome(self) -> Outcome:
        """Return what the line says."""
        if self.failure is not None:
            return Failure(**dict(self.failure))
        return Score(self.score or 0.0, self.parts)


def parse_json(content: bytes) -> Any:
    """Return what a JSON text says, half characters in it too, and what Python writes for numbers that JSON has not.

    Raises:
        ValueError: It is no JSON.
    """
    if _SURROGATE_ESCAPE not in content:
        return from_json(content)  # several times as fast as json, but half a character is an error to it
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("too many brackets within brackets") from error


def describe_validation_error(error: ValueError) -> str:
    """Return what is wrong in words: of pydantic's errors the first one, with its place."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))[:_MAX_PLACE_LENGTH]
    return f"{place + ': ' if place else ''}{first['msg']}"
