"""The schema of the files of a run. It is checked on reading, because files get edited and damaged."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from imapeval.types import Failure, Lang, Outcome, Sample, Score, Turn

_Count = Annotated[int, Field(ge=0)]
_Bound = float | None


class _StrictModel(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)


class _Price(_StrictModel):
    prompt: Annotated[float, Field(ge=0)]
    completion: Annotated[float, Field(ge=0)]
    reused: Annotated[float, Field(ge=0)] | None = None
    source: str = ""


class RunUsage(_StrictModel):
    """Usage and cost of a language model: the content of `Ledger.report`."""

    calls: _Count
    cached: _Count
    failed: _Count
    estimated: _Count
    prompt_tokens: _Count
    completion_tokens: _Count
    reused_tokens: _Count
    usd: Annotated[float, Field(ge=0)] | None
    uncertain_usd: Annotated[float, Field(ge=0)] | None = None
    price: _Price | None


class _Data(_StrictModel):
    source: str
    samples: _Count
    sha256: str
    numbered: bool = False


class _Settings(_StrictModel):
    metrics: dict[str, str]
    extractor: str
    matcher: str
    seed: _Count
    resources: dict[str, str]
    ranges: dict[str, Annotated[list[_Bound], Field(min_length=2, max_length=2)]] = {}


class Manifest(_StrictModel):
    """`manifest.json`; fields with a default are optional."""

    imapeval: str
    started: Annotated[str, Field(pattern=r"^[0-9T:.+Z-]+$")]
    data: _Data
    settings: _Settings
    finished: str | None = None
    counts: dict[str, _Count] | None = None
    usage: RunUsage | None = None
    command: list[str] = []
    options: dict[str, Any] = {}
    python: str = ""
    platform: str = ""
    libraries: dict[str, str] = {}


class _Turn(_StrictModel):
    role: Annotated[str, Field(pattern="^(user|assistant)$")]
    content: str


class _Failure(_StrictModel):
    stage: str
    kind: str
    message: str
    raw: str | None = None


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
    turns: list[_Turn] = Field(default_factory=list["_Turn"])
    fault: _Failure | None = None

    def sample(self) -> Sample:
        """Return the sample."""
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
            fault=None if self.fault is None else Failure(**dict(self.fault)),
        )


class ResultLine(_StrictModel):
    """A line of `results.jsonl`."""

    id: str
    metric: str
    score: float | None
    parts: dict[str, float]
    failure: _Failure | None
    signature: str
    repetitions: list[list[float]] = Field(default_factory=list[list[float]])

    @model_validator(mode="after")
    def _check_outcome(self) -> "ResultLine":
        if (self.score is None) == (self.failure is None):
            raise ValueError("there must be either a score or a failure")
        if len(set(map(len, self.repetitions))) > 1:
            raise ValueError("the repetitions must be rows of one length")
        return self

    def outcome(self) -> Outcome:
        """Return the score or the failure."""
        if self.failure is not None:
            return Failure(**dict(self.failure))
        return Score(self.score or 0.0, self.parts, tuple(map(tuple, self.repetitions)))
