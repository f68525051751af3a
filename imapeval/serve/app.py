"""The app: its paths, and what each answers."""

# Not postponed: FastAPI reads the annotations of the functions in `_add_paths`.
import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from imapeval import __version__, imapfile
from imapeval.errors import ServiceError
from imapeval.imapfile import ImapRecord
from imapeval.metrics.imapscore import credit
from imapeval.scoring import Assessment, Assessments, Scorer
from imapeval.serve import schema
from imapeval.serve.guard import Guard
from imapeval.serve.limits import Limits
from imapeval.serve.page import write_page
from imapeval.serve.refusal import STATUSES, RefusedError, dump
from imapeval.serve.work import Work
from imapeval.types import Failure, Match

_ALWAYS = (400, 403, 405, 408, 413, 500, 503)
_POSTED = (*_ALWAYS, 401, 415, 422, 502, 504)

DESCRIPTION = """How well does a medical answer agree with a clinician's, fact by fact?

What cannot be scored is no error: it comes back with status 200, `score` null and a `failure` that says why. Every
other status has the body `{"error": {"kind": "...", "message": "..."}}`.
"""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What is open and ready.

    Attributes:
        signatures: Of the scorer's metrics.
        llm: What the language model is called; None where there is none.
    """

    scorer: Scorer
    signatures: dict[str, str]
    llm: str | None


class _Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return dump(content)


def load(scorer: Scorer, *, llm: str | None = None) -> Loaded:
    """Open everything that a request may need, so that the first one does not wait; no language model is asked.

    Raises:
        ImapEvalError: Something that is needed is not there.
    """
    # Equal values are related by their wording, whoever else relates others.
    scorer.relate("fever", "fever")
    if llm is None:
        scorer.score(
            question="How is asthma treated?", reference="A salbutamol inhaler.", response="An inhaler and rest."
        )
    return Loaded(scorer, dict(scorer.score(response=None).signatures), llm)


def make_app(loaded: Loaded, limits: Limits, *, token: str | None = None) -> Guard:
    """Return the whole service as an ASGI app."""
    work = Work(loaded.scorer, limits)

    @asynccontextmanager
    async def live(_: FastAPI) -> AsyncGenerator[None]:
        work.start()
        yield
        work.stop()

    app = FastAPI(
        title="imapeval",
        version=__version__,
        description=DESCRIPTION,
        lifespan=live,
        # The pages that FastAPI ships load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        # Where the process has a provider of OpenTelemetry, it would send what errors say, and they quote texts.
        telemetry={"logs": False},
    )
    app.add_exception_handler(HTTPException, _tell)
    app.add_exception_handler(RequestValidationError, _tell)
    app.add_exception_handler(RefusedError, _tell)
    app.add_exception_handler(ServiceError, _tell)
    # These the server also logs.
    app.add_exception_handler(Exception, _tell)
    _add_paths(app, loaded, work)
    description = _describe(app, with_token=token is not None)
    posted = [path for path, operations in description["paths"].items() if "post" in operations]
    _add_pages(app, description)
    return Guard(app, limits, token=token, posted=posted)


def _add_paths(app: FastAPI, loaded: Loaded, work: Work) -> None:
    scorer = loaded.scorer

    @app.get("/health", response_model=schema.Health, responses=_declare(_ALWAYS), operation_id="health")
    async def health() -> Response:  # pyright: ignore[reportUnusedFunction]
        """Say that the service is up, and what is loaded."""
        return _Json(
            {"status": "ok", "version": __version__, "metrics": loaded.signatures, "llm": loaded.llm},
        )

    @app.post("/score", response_model=schema.Assessed, responses=_declare(_POSTED), operation_id="score")
    async def score(answer: schema.Answer) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Score one answer."""
        (assessed,) = await work.score([answer.model_dump()])
        # Of an answer of several pages that takes a second, in which others are to be answered.
        return _Json(await asyncio.to_thread(assessed.to_dict) | {"id": answer.id})

    @app.post("/score-all", response_model=schema.AllAssessed, responses=_declare(_POSTED), operation_id="score_all")
    async def score_all(given: schema.Answers) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Score several answers, and tell each metric's mean over those that it scored."""
        assessed = await work.score([answer.model_dump() for answer in given.answers])
        return _Json(await asyncio.to_thread(_tell_all, given, assessed))

    @app.post("/extract", response_model=schema.Extracted, responses=_declare(_POSTED), operation_id="extract")
    async def extract(texts: schema.Texts) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Read what texts say, as pairs of a term and a value, without scoring them."""
        found = await work.do(
            scorer.aextract(
                question=texts.question, response=texts.response, reference=texts.reference, lang=texts.lang
            )
        )
        failure = found if isinstance(found, Failure) else None
        imaps = () if isinstance(found, Failure) else found
        told = [json.loads(imapfile.dump(ImapRecord(texts.id, imap, None))) for imap in imaps]
        return _Json({"id": texts.id, "imaps": told, "failure": _tell_failure(failure)})

    @app.post("/relate", response_model=schema.Related, responses=_declare(_POSTED), operation_id="relate")
    async def relate(values: schema.Values) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Say how a reference's value relates to a response's."""
        found = await work.do(scorer.arelate(values.reference, values.response, lang=values.lang))
        return _Json(_tell_match(found))


def _add_pages(app: FastAPI, description: dict[str, Any]) -> None:
    page = write_page(description)
    # Nothing but what stands in it: no script, nothing from elsewhere.
    headers = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}

    async def show_description(_: Request) -> Response:
        return _Json(description)

    async def show_page(_: Request) -> Response:
        return HTMLResponse(page, headers=headers)

    app.add_route("/openapi.json", show_description)
    app.add_route("/docs", show_page)


def _declare(statuses: Sequence[int]) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": schema.ErrorOut, "description": STATUSES[status]} for status in sorted(statuses)}


def _describe(app: FastAPI, *, with_token: bool) -> dict[str, Any]:
    description = app.openapi()
    if with_token:
        schemes = {"token": {"type": "http", "scheme": "bearer"}}
        description.setdefault("components", {})["securitySchemes"] = schemes
        for path, operations in description["paths"].items():
            if path != "/health":
                for operation in operations.values():
                    operation["security"] = [{"token": []}]
    for operations in description["paths"].values():
        for operation in operations.values():
            _declare_headers(operation["responses"])
    return description


def _declare_headers(responses: dict[str, Any]) -> None:
    text = {"schema": {"type": "string"}, "required": True}
    for status, header in (("401", "WWW-Authenticate"), ("405", "Allow"), ("503", "Retry-After")):
        if status in responses:
            responses[status]["headers"] = {header: text}


async def _tell(_: Request, error: Exception) -> Response:
    """Say what went wrong, in the one form."""
    refusal = _refusal_of(error)
    return Response(refusal.body, refusal.status, dict(refusal.headers), "application/json")


def _refusal_of(error: Exception) -> RefusedError:
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, RequestValidationError):
        return _explain(error)
    if isinstance(error, HTTPException):
        kind = {400: "bad-json", 404: "not-found", 405: "bad-method"}.get(error.status_code, "bad-request")
        return RefusedError(error.status_code, kind, STATUSES.get(error.status_code, "No."), error.headers or {})
    if isinstance(error, ServiceError):
        return RefusedError(502, error.kind, str(error))
    return RefusedError(500, "internal", "A fault of the server. Its log says more.")


def _explain(error: RequestValidationError) -> RefusedError:
    """Say which field is wrong and why, but not what it holds."""
    errors: Sequence[Any] = error.errors()
    first = errors[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    if first["type"] == "json_invalid":
        return RefusedError(400, "bad-json", f"The body is no JSON (at character {place}). Send an object.")
    said = f"{place}: {first['msg']}" if place else f"{first['msg']}: the body"
    more = f" There are {len(errors) - 1} more." if len(errors) > 1 else ""
    return RefusedError(422, "bad-field", f"{said}.{more} /docs shows the fields.")


def _tell_all(given: schema.Answers, assessed: Sequence[Assessment]) -> dict[str, Any]:
    whole = Assessments(assessed)
    told = [item.to_dict() | {"id": answer.id} for item, answer in zip(assessed, given.answers, strict=True)]
    return {"answers": told, "means": whole.means, "failed": len(whole.failed), "missing": len(whole.missing)}


def _tell_failure(failure: Failure | None) -> dict[str, Any] | None:
    if failure is None:
        return None
    return {"stage": failure.stage, "kind": failure.kind, "message": failure.message}


def _tell_match(found: Match | Failure) -> dict[str, Any]:
    if isinstance(found, Failure):
        nothing = dict.fromkeys(("relation", "credit", "decided_by", "evidence", "similarity"))
        return {**nothing, "failure": _tell_failure(found)}
    return {
        "relation": found.relation.value,
        "credit": round(credit(found), 4),
        "decided_by": found.decided_by,
        "evidence": dict(found.evidence),
        "similarity": round(found.similarity, 4),
        "failure": None,
    }
