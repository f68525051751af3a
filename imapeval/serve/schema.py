"""What goes in and comes out over HTTP: close to `Scorer`, `Assessment.to_dict` and the lines of `imaps.jsonl`."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from imapeval.types import Certainty, Decider, Lang, Polarity, Relation

MAX_ANSWERS = 100
"""Answers in one request. Scoring them takes a second, which is short beside the time limit."""

MAX_REFERENCES = 20
"""References of one answer; each is read and compared."""

MAX_TURNS = 200
"""Turns of a dialogue. To say what is wrong with half a million takes seconds, in which nobody else is answered."""

MAX_VALUE = 1000
"""Characters of a value to relate: a value is a phrase."""

Reference = str | Annotated[list[str], Field(max_length=MAX_REFERENCES)]


class _RequestBody(BaseModel):
    # A field that is misspelt would otherwise pass for one that is not given.
    model_config = ConfigDict(frozen=True, extra="forbid")


def _with_example(**fields: str) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [{**fields}]})


class Turn(_RequestBody):
    """One turn of a dialogue."""

    role: Literal["user", "assistant"]
    content: str


class Answer(_RequestBody):
    """An answer to score. What cannot be scored is no error: it comes back with `score` null and a `failure`."""

    model_config = _with_example(
        question="How is a breast abscess treated?",
        reference="The abscess is drained, and flucloxacillin is given for 10 days.",
        response="It is drained with a needle, and an antibiotic is given.",
        id="abscess",
    )

    response: str | None = Field(description="The answer. null, where whoever should have answered did not.")
    question: str | None = Field(None, description="What was asked.")
    reference: Reference | None = Field(
        None, description=f"The clinician's answer, or up to {MAX_REFERENCES}; the server says how they count."
    )
    turns: list[Turn] | None = Field(
        None,
        max_length=MAX_TURNS,
        description=f"A dialogue of up to {MAX_TURNS} turns in place of `question`; the user's turn is last.",
    )
    lang: Lang | None = Field(None, description="By default told by the question's script.")
    id: str = Field("", description="For you to find the answer again.")


class Answers(_RequestBody):
    """Several answers to score."""

    answers: list[Answer] = Field(max_length=MAX_ANSWERS)


class Texts(_RequestBody):
    """Texts to read."""

    model_config = _with_example(question="How is asthma treated?", response="With an inhaler of salbutamol.")

    question: str = Field(description="What was asked.")
    response: str = Field("", description="The answer.")
    reference: Reference | None = Field(None, description="The clinician's answer, or several.")
    lang: Lang | None = Field(None, description="By default told by the question's script.")
    id: str = Field("", description="For you to find the imaps again.")


class Values(_RequestBody):
    """Two values to relate."""

    model_config = _with_example(reference="penicillin", response="antibiotic therapy")

    reference: str = Field(max_length=MAX_VALUE, pattern=r"\S", description="The reference's value.")
    response: str = Field(max_length=MAX_VALUE, pattern=r"\S", description="The response's value.")
    lang: Lang | None = Field(None, description="By default told by the values' script.")


class Failed(BaseModel):
    """Why there is no score: where it happened, a short name, and a sentence."""

    stage: str
    kind: str
    message: str
    raw: str | None = Field(None, description="What could not be read; absent where there is nothing.")


class PairOut(BaseModel):
    """A term and a value; `span` is its place in the text it was read from, the others are what qualifies it."""

    term: str
    value: str
    span: tuple[int, int] | None = None
    polarity: Polarity = "affirmed"
    certainty: Certainty = "certain"
    condition: str = Field("", description="Under which condition alone it holds, as written.")
    amounts: list[str] = Field([], description="Doses, durations and other amounts in it, as written.")


class RelationOut(BaseModel):
    """How a reference's value relates to a response's."""

    term: str
    reference: str
    other_term: str = Field("", description="The response value's term where it is another one.")
    response: str
    relation: Relation
    similarity: float = 0.0
    decided_by: Decider = "recorded"
    evidence: dict[str, Any] | None = None


class ImapOut(BaseModel):
    """What question, reference and response say, as pairs: a line of `imaps.jsonl`."""

    id: str
    reference_index: int = 0
    reading: int = 0
    query: list[PairOut]
    constraint: list[PairOut]
    reference: list[PairOut]
    response: list[PairOut]
    relations: list[RelationOut] | None = None


class MetricOut(BaseModel):
    """What came out for one metric: a line of `results.jsonl`."""

    score: float | None
    parts: dict[str, float]
    failure: Failed | None
    signature: str


class Usage(BaseModel):
    """What the language model's work cost."""

    calls: int
    cached: int
    failed: int
    estimated: int
    prompt_tokens: int
    completion_tokens: int
    reused_tokens: int
    usd: float | None


class Assessed(BaseModel):
    """One answer with what came out for it. `score`, `parts` and `failure` are those of the first metric."""

    id: str
    score: float | None = Field(description="null where there is none; `failure` says why. Never 0 in its place.")
    parts: dict[str, float]
    failure: Failed | None
    reason: str = Field(description="The score in words, and what the response has and lacks.")
    metrics: dict[str, MetricOut]
    imaps: list[ImapOut]
    usage: Usage | None = Field(description="null where no language model was asked.")


class AllAssessed(BaseModel):
    """The answers in their order, and each metric's mean over those that it scored."""

    answers: list[Assessed]
    means: dict[str, float | None]
    failed: int = Field(description="How many answers some metric could not score.")
    missing: int = Field(description="How many of them are no answers: `response` is null.")


class Extracted(BaseModel):
    """One imap for each reference and reading; none where the texts could not be read, and `failure` says why."""

    id: str
    imaps: list[ImapOut]
    failure: Failed | None


class Related(BaseModel):
    """How the two values relate, as `imapeval relate --json` says it; all null where that could not be said."""

    relation: Relation | None
    credit: float | None
    decided_by: Literal["text", "graph", "llm", "encoder"] | None
    evidence: dict[str, Any] | None
    similarity: float | None
    failure: Failed | None


class Health(BaseModel):
    """What is loaded."""

    status: Literal["ok"]
    version: str
    metrics: dict[str, str] = Field(description="The signature of each metric: all that can change its number.")
    llm: str | None = Field(description="The language model; whether it answers is not tried.")


class Problem(BaseModel):
    """What went wrong: a short name, and a sentence."""

    kind: str
    message: str


class ErrorOut(BaseModel):
    """The body of every answer whose status is not 200."""

    error: Problem
