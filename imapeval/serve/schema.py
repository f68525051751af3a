"""Request and response bodies, modelled on `Scorer`, `Assessment.to_dict` and the lines of `imaps.jsonl`."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from imapeval.report.thresholds import VerdictWord
from imapeval.types import Certainty, Decider, Lang, Polarity, Relation

MAX_ANSWERS = 100
"""Maximum number of answers per request. Scoring them takes about a second, well within the time limit."""

MAX_REFERENCES = 20
"""Maximum number of references per answer; each is extracted and compared."""

MAX_TURNS = 200
"""Maximum number of turns in a dialogue. Validating half a million blocks the server for seconds."""

MAX_VALUE = 1000
"""Maximum length of a value to relate; values are phrases."""

Reference = str | Annotated[list[str], Field(max_length=MAX_REFERENCES)]


class _RequestBody(BaseModel):
    # Otherwise a misspelt field would be ignored.
    model_config = ConfigDict(frozen=True, extra="forbid")


def _with_example(**fields: str) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [{**fields}]})


class Turn(_RequestBody):
    """One turn of a dialogue."""

    role: Literal["user", "assistant"]
    content: str


class Answer(_RequestBody):
    """An answer to score. If it cannot be scored, `score` is null and `failure` says why; that is not an error."""

    model_config = _with_example(
        question="How is a breast abscess treated?",
        reference="The abscess is drained, and flucloxacillin is given for 10 days.",
        response="It is drained with a needle, and an antibiotic is given.",
        id="abscess",
    )

    response: str | None = Field(description="The answer; null if there is none.")
    question: str | None = Field(None, description="What was asked.")
    reference: Reference | None = Field(
        None,
        description=f"The clinician's answer, or up to {MAX_REFERENCES}; the server decides how they are combined.",
    )
    turns: list[Turn] | None = Field(
        None,
        max_length=MAX_TURNS,
        description=f"A dialogue of up to {MAX_TURNS} turns in place of `question`, ending with a turn of the user.",
    )
    lang: Lang | None = Field(None, description="By default detected from the question's script.")
    id: str = Field("", description="An identifier of your own for the answer.")
    threshold: Annotated[float, Field(strict=True, allow_inf_nan=False)] | None = Field(
        None,
        description="What the score has to reach or, if lower is better, must not exceed, for a `verdict`.",
    )


class Answers(_RequestBody):
    """Several answers to score."""

    answers: list[Answer] = Field(max_length=MAX_ANSWERS)


class Texts(_RequestBody):
    """Texts to extract facts from."""

    model_config = _with_example(question="How is asthma treated?", response="With an inhaler of salbutamol.")

    question: str = Field(description="What was asked.")
    response: str = Field("", description="The answer.")
    reference: Reference | None = Field(None, description="The clinician's answer, or several.")
    lang: Lang | None = Field(None, description="By default detected from the question's script.")
    id: str = Field("", description="An identifier of your own for the imaps.")


class Values(_RequestBody):
    """Two values to relate."""

    model_config = _with_example(reference="penicillin", response="antibiotic therapy")

    reference: str = Field(max_length=MAX_VALUE, pattern=r"\S", description="The reference's value.")
    response: str = Field(max_length=MAX_VALUE, pattern=r"\S", description="The response's value.")
    lang: Literal["en", "zh"] | None = Field(None, description="By default detected from the values' script.")


class Failed(BaseModel):
    """Why there is no score: the stage, a short name and a sentence."""

    stage: str
    kind: str
    message: str
    raw: str | None = Field(None, description="The text that could not be used; absent if there is none.")


class PairOut(BaseModel):
    """A term and a value; `span` is its position in the text, and the other fields qualify it."""

    term: str
    value: str
    span: tuple[int, int] | None = None
    polarity: Polarity = "affirmed"
    certainty: Certainty = "certain"
    condition: str = Field("", description="The condition under which alone it holds, as written.")
    amounts: list[str] = Field([], description="Doses, durations and other amounts in the value, as written.")
    importance: float = Field(1.0, description="How much it matters to the question, 0..1: its weight in the score.")


class RelationOut(BaseModel):
    """How a reference's value relates to a response's."""

    term: str
    reference: str
    other_term: str = Field("", description="The term of the response's value if it differs.")
    response: str
    relation: Relation
    similarity: float = 0.0
    decided_by: Decider = "recorded"
    evidence: dict[str, Any] | None = None


class ImapOut(BaseModel):
    """The facts of question, reference and response as pairs: a line of `imaps.jsonl`."""

    id: str
    reference_index: int = 0
    reading: int = 0
    query: list[PairOut]
    constraint: list[PairOut]
    reference: list[PairOut]
    response: list[PairOut]
    relations: list[RelationOut] | None = None


class MetricOut(BaseModel):
    """The outcome of one metric: a line of `results.jsonl`."""

    score: float | None
    parts: dict[str, float]
    failure: Failed | None
    signature: str
    repetitions: list[list[float]] = Field(
        [], description="The scores whose mean it is: a row for each reading, a column for each judgement. Else absent."
    )


class UsageOut(BaseModel):
    """The usage of the language model."""

    calls: int
    cached: int
    failed: int
    estimated: int
    prompt_tokens: int
    completion_tokens: int
    reused_tokens: int
    usd: float | None


class VerdictOut(BaseModel):
    """Whether the score meets the threshold, and how sure that is (`imapeval.report.thresholds.AnswerVerdict`)."""

    metric: str
    higher_is_better: bool
    threshold: float
    verdict: VerdictWord
    met: bool
    low: float | None = Field(description="Lower end of the 95% interval of the score; null without repetitions.")
    high: float | None
    repetitions: int = Field(description="Number of readings or judgements whose mean the score is.")


class Assessed(BaseModel):
    """One answer with its outcomes. `score`, `parts` and `failure` are those of the first metric."""

    id: str
    score: float | None = Field(description="null if there is none, and then `failure` says why.")
    parts: dict[str, float]
    failure: Failed | None
    reason: str = Field(description="The score in words, and the facts that the response has and lacks.")
    metrics: dict[str, MetricOut]
    imaps: list[ImapOut]
    usage: UsageOut | None = Field(description="null without a language model.")
    verdict: VerdictOut | None = Field(None, description="Absent without a `threshold`, null without a score.")


class AllAssessed(BaseModel):
    """The answers in order, and the mean of each metric over the answers that it scored."""

    answers: list[Assessed]
    means: dict[str, float | None]
    failed: int = Field(description="Number of answers that some metric could not score.")
    missing: int = Field(description="Number of those whose `response` is null.")


class Extracted(BaseModel):
    """One imap per reference and reading; none if extraction failed, and then `failure` says why."""

    id: str
    imaps: list[ImapOut]
    failure: Failed | None


class Related(BaseModel):
    """How the two values relate, as in `imapeval relate --json`; all null if that could not be decided."""

    relation: Relation | None
    credit: float | None
    decided_by: Literal["text", "graph", "fact-model", "encoder", "llm"] | None
    evidence: dict[str, Any] | None
    similarity: float | None
    failure: Failed | None


class Health(BaseModel):
    """What is loaded."""

    status: Literal["ok"]
    version: str
    metrics: dict[str, str] = Field(description="The signature of each metric: everything that can change its score.")
    llm: str | None = Field(description="The language model; its availability is not checked.")


class Problem(BaseModel):
    """An error: a short name and a sentence."""

    kind: str
    message: str


class ErrorOut(BaseModel):
    """The body of every response whose status is not 200."""

    error: Problem
