"""The FastAPI app: paths, responses and error handling."""

# Annotations are not postponed: FastAPI evaluates those of the functions in `_add_routes`.
import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from imapeval import __version__
from imapeval.errors import ServiceError, UsageError
from imapeval.evaluation import imap_files
from imapeval.evaluation.imap_files import ImapRecord
from imapeval.metrics.base import Metric
from imapeval.metrics.imapscore import compute_credit
from imapeval.report.thresholds import Threshold, judge_answer, make_threshold
from imapeval.scoring import Assessment, Assessments, Scorer
from imapeval.serve import schema
from imapeval.serve.docs_page import render_docs_page
from imapeval.serve.guard import FASTAPI_OPTIONS, RequestGuard, RequestLimits
from imapeval.serve.http_error import STATUS_DESCRIPTIONS, HttpError, dump_json
from imapeval.serve.work_queue import WorkQueue
from imapeval.types import Failure, Match

_ANY_REQUEST_STATUSES = (400, 403, 405, 408, 413, 500, 503)
_POST_STATUSES = (*_ANY_REQUEST_STATUSES, 401, 415, 422, 502, 504)

DESCRIPTION = """How well does a medical answer agree with a clinician's, fact by fact?

An answer that cannot be scored is not an error: it is returned with status 200, `score` null and a `failure` that says
why. Every other status has the body `{"error": {"kind": "...", "message": "..."}}`.
"""


@dataclass(frozen=True, slots=True)
class LoadedScorer:
    """A scorer that is ready to answer requests.

    Attributes:
        scorer: The scorer.
        signatures: Signatures of its metrics, by name.
        llm: Name of the language model; None without one.
    """

    scorer: Scorer
    signatures: dict[str, str]
    llm: str | None


class _JsonResponse(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return dump_json(content)


def load(scorer: Scorer, *, llm: str | None = None) -> LoadedScorer:
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
    return LoadedScorer(scorer, dict(scorer.score(response=None).signatures), llm)


def make_app(loaded: LoadedScorer, limits: RequestLimits, *, token: str | None = None) -> RequestGuard:
    """Return the whole service as an ASGI app."""
    work = WorkQueue(loaded.scorer, limits)

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
        generate_unique_id_function=lambda route: route.name,
        **FASTAPI_OPTIONS,
    )
    # The server also logs those that are only an Exception.
    for kind in (HTTPException, RequestValidationError, HttpError, ServiceError, Exception):
        app.add_exception_handler(kind, _handle_error)
    posted = _add_routes(app, loaded, work)
    _add_pages(app, cache(lambda: _make_openapi(app, loaded.scorer.metrics[0], with_token=token is not None)))
    return RequestGuard(app, limits, token=token, posted=posted)


def _add_routes(app: FastAPI, loaded: LoadedScorer, work: WorkQueue) -> list[str]:
    """Add the paths of the service, and return those that accept JSON."""
    scorer, router = loaded.scorer, APIRouter(responses=_document_errors(_POST_STATUSES))

    @app.get("/health", response_model=schema.Health, responses=_document_errors(_ANY_REQUEST_STATUSES))
    async def health() -> Response:  # pyright: ignore[reportUnusedFunction]
        """Return the status of the server, and what is loaded."""
        return _JsonResponse(
            {"status": "ok", "version": __version__, "metrics": loaded.signatures, "llm": loaded.llm},
        )

    @router.post("/score", response_model=schema.Assessed)
    async def score(answer: schema.Answer) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Score one answer."""
        (limit,) = _read_limits([answer], scorer.metrics[0])
        (assessed,) = await work.score([_to_fields(answer)])
        # For an answer of several pages this takes a second, during which other requests must be served.
        return _JsonResponse(await asyncio.to_thread(_assessment_to_dict, answer, assessed, limit))

    @router.post("/score-all", response_model=schema.AllAssessed)
    async def score_all(body: schema.Answers) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Score several answers, and return the mean of each metric over the answers that it scored."""
        limits = _read_limits(body.answers, scorer.metrics[0])
        assessed = await work.score([_to_fields(answer) for answer in body.answers])
        return _JsonResponse(await asyncio.to_thread(_assessments_to_dict, body, assessed, limits, scorer.metrics))

    @router.post("/extract", response_model=schema.Extracted)
    async def extract(texts: schema.Texts) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Extract the facts of texts as pairs of a term and a value, without scoring them."""
        found = await work.run(
            scorer.aextract(
                question=texts.question, response=texts.response, reference=texts.reference, lang=texts.lang
            )
        )
        failure = found if isinstance(found, Failure) else None
        imaps = () if isinstance(found, Failure) else found
        records = [json.loads(imap_files.dump_record(ImapRecord(texts.id, imap, None))) for imap in imaps]
        return _JsonResponse({"id": texts.id, "imaps": records, "failure": failure and failure.to_dict()})

    @router.post("/relate", response_model=schema.Related)
    async def relate(values: schema.Values) -> Response:  # pyright: ignore[reportUnusedFunction]
        """Return how a value of the reference relates to one of the response."""
        found = await work.run(scorer.arelate(values.reference, values.response, lang=values.lang))
        return _JsonResponse(_match_to_dict(found))

    app.include_router(router)
    return [route.path for route in router.routes if isinstance(route, APIRoute)]


def _add_pages(app: FastAPI, describe: Callable[[], dict[str, Any]]) -> None:
    # No scripts, and nothing from other servers.
    headers = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}

    async def show_description(_: Request) -> Response:
        return _JsonResponse(describe())

    async def show_page(_: Request) -> Response:
        return HTMLResponse(render_docs_page(describe()), headers=headers)

    app.add_route("/openapi.json", show_description)
    app.add_route("/docs", show_page)


def _document_errors(statuses: Sequence[int]) -> dict[int | str, dict[str, Any]]:
    return {
        status: {"model": schema.ErrorOut, "description": STATUS_DESCRIPTIONS[status]} for status in sorted(statuses)
    }


def _make_openapi(app: FastAPI, metric: Metric, *, with_token: bool) -> dict[str, Any]:
    description = app.openapi()
    number, _ = description["components"]["schemas"]["Answer"]["properties"]["threshold"]["anyOf"]
    bounds = zip(("minimum", "maximum"), metric.range, strict=True)
    number.update({name: bound for name, bound in bounds if bound is not None})
    if with_token:
        description["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, operations in description["paths"].items():
        for operation in operations.values():
            if with_token and path != "/health":
                operation["security"] = [{"token": []}]
            _document_headers(operation["responses"])
    return description


def _document_headers(responses: dict[str, Any]) -> None:
    text = {"schema": {"type": "string"}, "required": True}
    for status, header in (("401", "WWW-Authenticate"), ("405", "Allow"), ("503", "Retry-After")):
        if status in responses:
            responses[status]["headers"] = {header: text}


async def _handle_error(_: Request, error: Exception) -> Response:
    """Return the response for an error."""
    refusal = _to_http_error(error)
    return Response(refusal.body, refusal.status, dict(refusal.headers), "application/json")


def _to_http_error(error: Exception) -> HttpError:
    if isinstance(error, HttpError):
        return error
    if isinstance(error, RequestValidationError):
        return _describe_invalid_request(error)
    if isinstance(error, HTTPException):
        kind = {400: "bad-json", 404: "not-found", 405: "bad-method"}.get(error.status_code, "bad-request")
        return HttpError(
            error.status_code,
            kind,
            STATUS_DESCRIPTIONS.get(error.status_code, "The request was rejected."),
            error.headers or {},
        )
    if isinstance(error, ServiceError):
        return HttpError(502, error.kind, str(error))
    return HttpError(500, "internal", "Internal error. See the log of the server.")


def _describe_invalid_request(error: RequestValidationError) -> HttpError:
    """Return which field is invalid and why, without its content."""
    errors: Sequence[Any] = error.errors()
    first = errors[0]
    location = ".".join(str(part) for part in first["loc"][1:])
    if first["type"] == "json_invalid":
        return HttpError(400, "bad-json", f"The body is not valid JSON (at character {location}). Send an object.")
    others = len(errors) - 1
    more = f" There {'is 1 more error' if others == 1 else f'are {others} more errors'}." if others else ""
    return HttpError(422, "bad-field", f"{location or 'the body'}: {first['msg']}.{more} See /docs for the fields.")


def _to_fields(answer: schema.Answer) -> dict[str, Any]:
    return answer.model_dump(exclude={"threshold"})


def _read_limits(answers: Sequence[schema.Answer], metric: Metric) -> list[Threshold | None]:
    try:
        return [make_threshold(metric, answer.threshold) for answer in answers]
    except UsageError as error:
        raise HttpError(422, "bad-field", str(error)) from error


def _assessment_to_dict(answer: schema.Answer, assessed: Assessment, limit: Threshold | None) -> dict[str, Any]:
    found = assessed.to_dict() | {"id": answer.id}
    if limit is not None:
        verdict = judge_answer(assessed.outcomes, limit)
        found["verdict"] = None if verdict is None else verdict.to_dict()
    return found


def _assessments_to_dict(
    body: schema.Answers, assessed: Sequence[Assessment], limits: Sequence[Threshold | None], metrics: Sequence[Metric]
) -> dict[str, Any]:
    whole = Assessments(assessed, metrics=[metric.name for metric in metrics])
    results = [_assessment_to_dict(*row) for row in zip(body.answers, assessed, limits, strict=True)]
    return {"answers": results, "means": whole.means, "failed": len(whole.failed), "missing": len(whole.missing)}


def _match_to_dict(found: Match | Failure) -> dict[str, Any]:
    if isinstance(found, Failure):
        nothing = dict.fromkeys(("relation", "credit", "decided_by", "evidence", "similarity"))
        return {**nothing, "failure": found.to_dict()}
    return {
        "relation": found.relation.value,
        "credit": round(compute_credit(found), 4),
        "decided_by": found.decided_by,
        "evidence": dict(found.evidence),
        "similarity": round(found.similarity, 4),
        "failure": None,
    }
