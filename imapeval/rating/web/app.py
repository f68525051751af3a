"""`imapeval rate serve`: the web app on which raters rate and the owner follows the study.

A rater's link has the secret in its fragment, which browsers send to no server: the page `/enter` posts it once and
gets a cookie that scripts cannot read. For every request, the rater is looked up in the study by the cookie. Pages
load nothing from elsewhere; style and script are allowed by hash. Requests that change something must come from these
pages.
"""

# Annotations are not postponed: FastAPI evaluates those of the functions in `make_app`.
import hashlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

from fastapi import Depends, FastAPI, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException

from imapeval.errors import ImapEvalError, UsageError
from imapeval.parsing import describe_validation_error
from imapeval.rating.model import Entry, Item, Rater, RatingConflictError, UnknownItemError
from imapeval.rating.monitoring import overview
from imapeval.rating.store import RatingStudy, hash_secret
from imapeval.rating.web.pages import LANGUAGES, choose_language, render_enter, render_owner, render_rating
from imapeval.serve.guard import FASTAPI_OPTIONS, RequestGuard, RequestLimits
from imapeval.serve.http_error import PROTECTIVE_HEADERS, HttpError, dump_json

if TYPE_CHECKING:
    from imapeval.serve.guard import App, Message, Receive, Scope, Send

_SESSION, _LANGUAGE = "imapeval_link", "imapeval_lang"
"""Names of the cookies. Over HTTPS, the first one begins with "__Host-": no other host of the domain can set it."""

_LINK = "imapeval-link"
"""Header in which a page names its rater: the cookie is that of the link opened last, maybe in another tab."""

_MONTH = 31 * 24 * 3600
"""Seconds that a browser keeps the cookies."""

_FAILURES_PER_MINUTE, _REQUESTS_PER_MINUTE = 20, 600
"""Wrong secrets from one address, and requests with one link: a fast rater makes 60."""

_MAX_CLIENTS = 10_000
"""Clients whose requests are counted; those who asked longest ago are forgotten."""

_LINKS_SECONDS, _OVERVIEW_SECONDS = 1.0, 10.0
"""How long the list of valid links, and the state on the owner's page, may be out of date."""

_Token = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]

_M = TypeVar("_M", bound=BaseModel)
_T = TypeVar("_T")


class _Secret(BaseModel):
    model_config = ConfigDict(extra="forbid")

    secret: str = Field(min_length=16, max_length=200, pattern=r"^[A-Za-z0-9_-]+$")


async def _read_body(request: Request) -> bytes:
    return await request.body()


_Body = Annotated[bytes, Depends(_read_body)]
"""With it, functions that use the database need not be asynchronous: they run in threads."""


def make_app(study: RatingStudy, limits: RequestLimits, *, secure: bool) -> "App":
    """Return the app.

    Args:
        study: The study.
        limits: Limits of size and time.
        secure: Whether browsers reach it over HTTPS only, so that cookies are sent over HTTPS only.
    """
    app = FastAPI(**FASTAPI_OPTIONS)
    session = f"__Host-{_SESSION}" if secure else _SESSION
    failures, requests = _RateLimit(_FAILURES_PER_MINUTE), _RateLimit(_REQUESTS_PER_MINUTE)
    find_links = _Recent(study.list_links, _LINKS_SECONDS)
    find_overview = _Recent(lambda: overview(study), _OVERVIEW_SECONDS)

    def name_page(rater: Rater) -> str:
        # The same after the rater has got a new link: what waits in the browser is then sent with that.
        return hashlib.sha256(f"{study.settings.model_dump_json()}/{rater.id}".encode()).hexdigest()[:16]

    def identify(request: Request, secret: str) -> Rater | None:
        # Many wrong secrets must neither burden the database nor lock out anybody: behind a reverse proxy with https,
        # all raters have the same address.
        if not secret:
            return None
        address = request.client.host if request.client else ""
        if failures.is_exceeded(address) and hash_secret(secret) not in find_links():
            raise failures.refuse(address)
        rater = study.identify(secret)
        if rater is None:
            failures.count(address)
        return rater

    def authorise(request: Request) -> Rater:
        rater = identify(request, request.cookies.get(session, ""))
        if rater is None or request.headers.get(_LINK) not in {None, name_page(rater)}:
            raise HttpError(401, "no-link", "Open your personal link again. If it no longer works, ask for a new one.")
        if requests.is_exceeded(client := str(rater.id)):
            raise requests.refuse(client)
        requests.count(client)
        return rater

    def authorise_rater(request: Request) -> Rater:
        rater = authorise(request)
        if rater.role == "owner":
            raise HttpError(403, "owner", "The owner of a study does not rate. Use a rater's link.")
        return rater

    def page(content: str, policy: str, *, status: int = 200) -> Response:
        headers = {"Content-Security-Policy": policy}
        return Response(content.encode(errors="replace"), status, headers, media_type="text/html; charset=utf-8")

    def find_language(request: Request) -> str:
        asked = request.query_params.get("lang") or request.cookies.get(_LANGUAGE)
        return choose_language(asked, request.headers.get("accept-language", ""))

    @cache
    def make_enter_page(lang: str) -> tuple[str, str]:
        return render_enter(study.settings, lang)

    @app.get("/enter")
    def enter(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        return page(*make_enter_page(find_language(request)))

    @app.post("/session")
    def begin(request: Request, body: _Body) -> Response:  # pyright: ignore[reportUnusedFunction]
        _require_same_origin(request)
        secret = _parse(_Secret, body).secret
        if identify(request, secret) is None:
            raise HttpError(401, "no-link", "This link is not valid, or no longer. Ask for a new one.")
        response = _json({"ok": True})
        response.set_cookie(session, secret, max_age=_MONTH, path="/", secure=secure, httponly=True, samesite="strict")
        return response

    @app.get("/")
    def show(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        lang = find_language(request)
        try:
            rater = authorise(request)
        except HttpError as error:
            if error.status != 401:
                raise
            return page(*make_enter_page(lang), status=401)
        if rater.role == "owner":
            rendered = render_owner(study.settings, lang, find_overview())
        else:
            rendered = render_rating(study.settings, lang, name_page(rater))
        response = page(*rendered)
        if request.query_params.get("lang") in LANGUAGES:
            response.set_cookie(_LANGUAGE, lang, max_age=_MONTH, path="/", secure=secure, samesite="strict")
        return response

    @app.get("/api/next")
    def find_next(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        rater = authorise_rater(request)
        return _json(_item_to_dict(study, rater, study.next_item(rater)))

    @app.get("/api/at/{position}")
    def find_at(request: Request, position: int) -> Response:  # pyright: ignore[reportUnusedFunction]
        rater = authorise_rater(request)
        return _json(_item_to_dict(study, rater, study.item_at(rater, position)))

    @app.get("/api/history/{token}")
    def list_history(request: Request, token: _Token) -> Response:  # pyright: ignore[reportUnusedFunction]
        entries = study.history(authorise_rater(request), token)
        return _json([asdict(one) for one in entries])

    @app.post("/api/items/{token}")
    def save(request: Request, token: _Token, body: _Body) -> Response:  # pyright: ignore[reportUnusedFunction]
        _require_same_origin(request)
        rater = authorise_rater(request)
        saved = study.save(rater, token, _parse(Entry, body))
        return _json(asdict(saved) | {"progress": asdict(study.progress(rater))})

    @app.exception_handler(HttpError)
    async def refuse(_: Request, error: HttpError) -> Response:  # pyright: ignore[reportUnusedFunction]
        return _reply(error)

    @app.exception_handler(RequestValidationError)
    async def find_nothing(_: Request, __: RequestValidationError) -> Response:  # pyright: ignore[reportUnusedFunction]
        return _reply(HttpError(404, "not-found", "There is no such page."))

    @app.exception_handler(HTTPException)
    async def reject(_: Request, error: HTTPException) -> Response:  # pyright: ignore[reportUnusedFunction]
        known = {404: ("not-found", "There is no such page."), 405: ("bad-method", "The page has no such method.")}
        kind, message = known.get(error.status_code, ("bad-request", "The request is malformed."))
        return _reply(HttpError(error.status_code, kind, message, error.headers))

    @app.exception_handler(ImapEvalError)
    async def explain(_: Request, error: ImapEvalError) -> Response:  # pyright: ignore[reportUnusedFunction]
        known = (
            (UnknownItemError, 404, "not-found"),
            (RatingConflictError, 409, "conflict"),
            (UsageError, 422, "invalid"),
        )
        for kind, status, name in known:
            if isinstance(error, kind):
                return _reply(HttpError(status, name, str(error)))
        # Raters learn nothing else about a database that fails.
        return _reply(
            HttpError(503, "not-saved", "The study cannot be reached at the moment. Nothing is lost; try again.")
        )

    return _add_headers(RequestGuard(app, limits, token=None, posted=["/session", "/api/items/"], any_host=True))


class _RateLimit:
    """A token bucket for each client, filled evenly and holding a minute's worth.

    Args:
        per_minute: Requests of one client.
    """

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, client: str) -> None:
        """Count a request."""
        with self._lock:
            left = self._find_left(client)
            self._left.pop(client, None)
            self._left[client] = max(0.0, left - 1), time.monotonic()
            if len(self._left) > _MAX_CLIENTS:
                self._left.popitem(last=False)

    def is_exceeded(self, client: str) -> bool:
        """Return whether the client has used up its requests."""
        with self._lock:
            return self._find_left(client) < 1

    def refuse(self, client: str) -> HttpError:
        """Return the refusal of a further request, with the seconds to wait."""
        with self._lock:
            seconds = (1 - self._find_left(client)) * 60 / self._per_minute
        return HttpError(
            429, "too-often", "Too many requests. Wait a moment.", {"Retry-After": str(max(1, math.ceil(seconds)))}
        )

    def _find_left(self, client: str) -> float:
        now = time.monotonic()
        left, before = self._left.get(client, (float(self._per_minute), now))
        return min(self._per_minute, left + (now - before) * self._per_minute / 60)


class _Recent(Generic[_T]):
    """A value that may be some seconds old: concurrent requests, and those soon after, compute it only once.

    At most a tenth of the time is spent on it.
    """

    def __init__(self, make: Callable[[], _T], seconds: float) -> None:
        self._make, self._seconds = make, seconds
        self._made: tuple[float, _T] | None = None
        self._lock = threading.Lock()

    def __call__(self) -> _T:
        with self._lock:
            begun = time.monotonic()
            if self._made is None or begun > self._made[0]:
                value = self._make()
                ended = time.monotonic()
                self._made = ended + max(self._seconds, 9 * (ended - begun)), value
            return self._made[1]


def _add_headers(app: "App") -> "App":
    """Give every response the headers that protect it, errors of the server included."""

    async def wrapped(scope: "Scope", receive: "Receive", send: "Send") -> None:
        async def send_with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in PROTECTIVE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await app(scope, receive, send_with_headers)

    return wrapped


def _require_same_origin(request: Request) -> None:
    """Refuse a request that another site's page makes; a strict cookie alone would admit sites on the same domain.

    As in `CrossOriginProtection` of Go's net/http, the browser's Sec-Fetch-Site decides. Without it (old browsers, and
    all browsers without https), Origin must name this host; a server in front may have changed Host.

    Raises:
        HttpError: 403.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    own = not origin or origin.partition("://")[2] == request.headers.get("host")
    if site != "same-origin" if site else not own:
        raise HttpError(403, "foreign-origin", "The request comes from another page.")


def _parse(kind: type[_M], body: bytes) -> _M:
    try:
        return kind.model_validate_json(body, strict=True)
    except ValidationError as error:
        raise HttpError(422, "invalid", describe_validation_error(error)) from error


def _json(content: Any) -> Response:
    return Response(dump_json(content), media_type="application/json")


def _reply(error: HttpError) -> Response:
    return Response(error.body, error.status, error.headers, media_type="application/json")


def _item_to_dict(study: RatingStudy, rater: Rater, item: Item | None) -> dict[str, Any]:
    shown: dict[str, Any] | None = None
    if item is not None:
        shown = asdict(item) | {"entry": None if item.entry is None else item.entry.model_dump(mode="json")}
        # Nothing but the rating itself, so that no rater can be recognised.
        shown["earlier"] = [one.model_dump(mode="json", exclude={"client_id", "seconds"}) for one in item.earlier]
        feedback = study.feedback(rater, item.token) if item.training and item.complete else None
        shown["feedback"] = None if feedback is None else asdict(feedback)
    return {"item": shown, "progress": asdict(study.progress(rater))}
