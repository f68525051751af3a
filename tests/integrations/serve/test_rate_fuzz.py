"""`imapeval rate serve` by schemathesis, against a description of its seven routes that is written here: with a rater's
link, with the owner's, and with none.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("schemathesis", reason="schemathesis is not installed here: python3 .ci/frameworks.py serve")

from imapeval.rating.setup import StudyContent
from imapeval.rating.web import app
from tests.rating.site import ANSWERS, PRACTICE, Site, enter, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "pattern": r"^[^\u0000]*$"}
COUNT: Schema = {"type": "integer", "minimum": 0}
RATING: Schema = {"enum": [step / 2 for step in range(11)]}


def make_object(required: Schema, optional: Schema | None = None) -> Schema:
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": [*required],
        "additionalProperties": False,
    }


def name_all(schema: Schema, *names: str) -> Schema:
    return dict.fromkeys(names, schema)


def make_list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


# Each dimension is either rated or cannot be judged. Other tests mark errors in the text of an answer.
ENTRY = make_object(
    {"client_id": {"type": "string", "pattern": "^[A-Za-z0-9_-]{8,64}$"}},
    {
        "values": make_object({}, {"accuracy": RATING}),
        "cannot_judge": make_object({}, {"completeness": TEXT | {"maxLength": 1000}}),
        "comment": TEXT | {"maxLength": 10_000},
        "confidence": {"enum": [1, 2, 3, None]},
        "spans": make_list(
            make_object({"kind": {"const": "missing"}, "text": TEXT | {"minLength": 1, "maxLength": 20_000}})
        )
        | {"maxItems": 200},
        "seconds": {"type": "number", "minimum": 0, "maximum": 86_400},
    },
)
ERROR = make_object({"error": make_object({"kind": {"type": "string"}, "message": {"type": "string"}})})
PROGRESS = make_object(
    {
        **name_all(COUNT, "done", "total", "training_total"),
        "open": make_list(COUNT),
        "stopped": {"type": "boolean"},
    }
)
FEEDBACK = make_object({"expected": {"type": "object"}, "explanation": TEXT})
# Whatever else a reply had might name a system, an answer or a rater.
ITEM = make_object(
    {
        **name_all({"type": "string"}, "token", "question", "response", "lang"),
        **name_all({"type": "boolean"}, "training", "adjudication", "complete"),
        **name_all({"type": "array"}, "references", "facts", "earlier"),
        **name_all(COUNT, "position", "total"),
        "entry": or_null({"type": "object"}),
        "feedback": or_null(FEEDBACK),
    }
)
SHOWN = make_object({"item": or_null(ITEM), "progress": PROGRESS})
SAVED = make_object(
    {
        "revision": COUNT,
        "complete": {"type": "boolean"},
        "repeated": {"type": "boolean"},
        "feedback": or_null(FEEDBACK),
        "progress": PROGRESS,
    }
)
HISTORY = make_list(make_object({"saved_at": {"type": "string"}, "values": {"type": "object"}}))
HTML, JSON = "text/html; charset=utf-8", "application/json"


def describe(tokens: list[str]) -> Schema:
    """Return the OpenAPI description of a study.

    Args:
        tokens: Names of items that the rater has.
    """

    def reply(content: Schema, kind: str = JSON) -> Schema:
        return {"description": "-", "content": {kind: {"schema": content}}}

    def operation(*parameters: Schema, found: Schema, errors: tuple[int, ...], body: Schema | None = None) -> Schema:
        described: Schema = {
            "parameters": list(parameters),
            "responses": {"200": found, **{str(status): reply(ERROR) for status in errors}},
        }
        if body is not None:
            described["requestBody"] = {"required": True, "content": {JSON: {"schema": body}}}
        return described

    def parameter(name: str, place: str, schema: Schema) -> Schema:
        return {"name": name, "in": place, "required": place == "path", "schema": schema}

    language = (parameter("lang", "query", {"type": "string"}), parameter("Accept-Language", "header", TEXT))
    token = parameter("token", "path", {"enum": tokens})
    page = {"type": "string"}
    paths = {
        "/": {"get": operation(*language, found=reply(page, HTML), errors=(429,))},
        "/enter": {"get": operation(*language, found=reply(page, HTML), errors=())},
        "/session": {
            "post": operation(
                found=reply(make_object({"ok": {"const": True}})),
                errors=(400, 401, 403, 413, 415, 422),
                body=make_object({"secret": {"type": "string", "pattern": "^[A-Za-z0-9_-]{16,200}$"}}),
            )
        },
        "/api/next": {"get": operation(found=reply(SHOWN), errors=(401, 403))},
        "/api/at/{position}": {
            "get": operation(
                parameter("position", "path", {"type": "integer"}), found=reply(SHOWN), errors=(401, 403, 404)
            )
        },
        "/api/history/{token}": {"get": operation(token, found=reply(HISTORY), errors=(401, 403, 404))},
        "/api/items/{token}": {
            "post": operation(token, found=reply(SAVED), errors=(400, 401, 403, 404, 409, 413, 415, 422), body=ENTRY)
        },
    }
    paths["/"]["get"]["responses"]["401"] = reply(page, HTML)
    return {"openapi": "3.1.0", "info": {"title": "imapeval rate", "version": "1"}, "paths": paths}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    # Otherwise nearly every request would be one too many.
    for limit in ("_REQUESTS_PER_MINUTE", "_FAILURES_PER_MINUTE"):
        monkeypatch.setattr(app, limit, 10**9)
    with serve(str(tmp_path / "study.db"), StudyContent(ANSWERS, training=[PRACTICE])) as site:
        yield site


def list_tokens(site: Site) -> list[str]:
    """Rate the practice item and another one, and return what they and the next one are called."""
    tokens: list[str] = []
    for _ in range(3):
        tokens.append(site.ask("/api/next", secret=site.secrets["anna"])[1]["item"]["token"])
        if len(tokens) < 3:
            assert site.ask(f"/api/items/{tokens[-1]}", enter(), secret=site.secrets["anna"])[0] == 200
    return tokens


def fuzz(site: Site, name: str, description: Schema, folder: Path, *, examples: int) -> tuple[int, str]:
    (folder / "openapi.json").write_text(json.dumps(description))
    command = [str(Path(sys.executable).with_name("st")), "run", str(folder / "openapi.json"), "--url", site.address]
    command += ["--checks", "all", "--no-color", "--seed", "7", "--max-examples", str(examples)]
    if name:
        command += ["--header", f"Cookie: imapeval_link={site.secrets[name]}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["anna", "owner", ""], ids=["rater", "owner", "nobody"])
def test_every_route(site: Site, tmp_path: Path, name: str):
    tokens = list_tokens(site)
    code, told = fuzz(site, name, describe(tokens), tmp_path, examples=30)
    assert code == 0, told
    assert "Tested: 7" in told
    # Entries got through with the rater's link, and with no other.
    counts = [len(site.ask(f"/api/history/{token}", secret=site.secrets["anna"])[1]) for token in tokens]
    assert (sum(counts) > 2) == (name == "anna")


def test_what_is_wrong_would_be_seen(site: Site, tmp_path: Path):
    description = describe(list_tokens(site))
    del description["paths"]["/api/items/{token}"]["post"]["responses"]["422"]
    shown = description["paths"]["/api/next"]["get"]["responses"]["200"]["content"][JSON]["schema"]
    shown["required"] = [*shown["required"], "system"]
    code, told = fuzz(site, "anna", description, tmp_path, examples=5)
    assert code == 1
    assert "Response violates schema" in told
    assert "Undocumented" in told, told
