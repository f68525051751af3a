"""A study that is being served: rated over HTTP, and in a browser."""

import json
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any

from imapeval.rating import Dimension, RatingStudy, StudySettings
from imapeval.rating.administration import invite_owner, issue_links
from imapeval.rating.setup import StudyContent, create_study
from imapeval.rating.web.app import make_app
from imapeval.serve.guard import RequestLimits
from imapeval.types import Sample
from tests.serve.server import run_app

DIMENSIONS = tuple(Dimension(name=name, low=0, high=5, step=0.5) for name in ("accuracy", "completeness"))
SYSTEMS = ("Alphabot", "Betabot", "Gammabot")
ANSWERS = [
    Sample(
        f"secret-id-{n}",
        f"What helps against ailment {n // 3}?",
        (f"Reference {n // 3}.",),
        f"Drink tea 阿司匹林 🙂 number {n}.\nThen <b>rest</b>.",
        system=SYSTEMS[n % 3],
    )
    for n in range(12)
]
PRACTICE = Sample(
    "practice-1",
    "A practice question?",
    ("Yes.",),
    "A practice answer.",
    ratings={"accuracy": 4.0, "completeness": 2.0},
    meta={"explanation": "It leaves out the dose."},
)


def enter(**values: Any) -> dict[str, Any]:
    """Return an entry as a page sends it."""
    return {"client_id": secrets.token_hex(8), "values": {"accuracy": 3.5, "completeness": 4.0}, **values}


@dataclass
class Site:
    """A study that is being served."""

    study: RatingStudy
    port: int
    secrets: dict[str, str]
    seen: list[bytes] = field(default_factory=list[bytes])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, path: str, body: object = None, *, secret: str = "", raw: bytes | None = None, **headers: str
    ) -> tuple[int, Any, dict[str, str]]:
        """Send a request; the headers are given with underscores."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if secret:
            sent["Cookie"] = f"imapeval_link={secret}"
        content = raw if raw is not None else None if body is None else json.dumps(body).encode()
        if content is not None:
            sent.setdefault("Content-Type", "application/json")
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request("GET" if content is None else "POST", path, content, sent)
            response = connection.getresponse()
            given = dict(response.getheaders())
            text = response.read()
            self.seen.append(repr(given).encode() + text)
            kind = given.get("content-type", "")
            return response.status, json.loads(text) if kind == "application/json" else text.decode(), given


@contextmanager
def serve(
    place: str,
    content: StudyContent,
    *,
    dimensions: tuple[Dimension, ...] = DIMENSIONS,
    facts: bool = False,
    secure: bool = False,
) -> Iterator[Site]:
    """Make a study with two raters and serve it."""
    settings = StudySettings(
        title="Ailments",
        instructions="Be strict.\n\nTake your time.",
        dimensions=dimensions,
        raters_per_answer=2,
        panel=2,
        facts=facts,
    )
    create_study(place, settings, content)
    with RatingStudy(place) as study:
        links = issue_links(study, ("anna", "ben")) | {"owner": invite_owner(study)}
        with run_app(make_app(study, RequestLimits(), secure=secure)) as (port, _):
            yield Site(study, port, links)
