"""The page at /docs: the OpenAPI description as HTML without scripts and external resources."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a }
h2 { border-top: 1px solid #bbb; padding-top: 1rem } code, pre { font-family: ui-monospace, monospace; font-size: .9em }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; vertical-align: top; padding: .2rem .6rem }
tr { border-bottom: 1px solid #ddd } pre { background: #f4f4f4; padding: .6rem; overflow-x: auto }
"""


def render_docs_page(description: Mapping[str, Any]) -> str:
    """Return the HTML page of an OpenAPI description."""
    info, schemas = description["info"], description["components"]["schemas"]
    title = f"{escape(info['title'])} {escape(info['version'])}"
    paths = "".join(
        _render_operation(method, path, operation)
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    )
    shapes = "".join(_render_schema(name, shape) for name, shape in schemas.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f'<h1>{title}</h1><p>{escape(info["description"])}</p><p>For machines: <a href="/openapi.json">openapi.json'
        f"</a></p>{paths}<h2>Shapes</h2>{shapes}</body></html>"
    )


def _render_operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    schema = _find_schema(operation.get("requestBody", {}))
    body = f"<p>Send {_render_type(schema)}.</p>" if schema else ""
    rows = "".join(
        f"<tr><td>{escape(status)}</td><td>{_render_type(_find_schema(response))}</td><td>{escape(response['description'])}</td>"
        "</tr>"
        for status, response in operation["responses"].items()
    )
    return (
        f"<h2><code>{escape(method.upper())} {escape(path)}</code></h2>"
        f"<p>{escape(operation.get('description', ''))}</p>{body}<table>{rows}</table>"
    )


def _find_schema(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return body.get("content", {}).get("application/json", {}).get("schema", {})


def _render_schema(name: str, shape: Mapping[str, Any]) -> str:
    required = shape.get("required", ())
    rows = "".join(
        f"<tr><td><code>{escape(field)}</code>{'' if field in required else ' (optional)'}</td>"
        f"<td>{_render_type(kind)}</td><td>{escape(kind.get('description', ''))}</td></tr>"
        for field, kind in shape.get("properties", {}).items()
    )
    description = escape(shape.get("description", ""))
    examples = "".join(
        f"<pre>{escape(json.dumps(example, ensure_ascii=False, indent=2))}</pre>"
        for example in shape.get("examples", ())
    )
    heading = f'<h3 id="{escape(name)}"><code>{escape(name)}</code></h3>'
    return f"{heading}<p>{description}</p><table>{rows}</table>{examples}"


def _render_type(kind: Mapping[str, Any]) -> str:
    """Return a JSON schema in a few words of HTML."""
    if "$ref" in kind:
        name = escape(kind["$ref"].rpartition("/")[2])
        return f'<a href="#{name}"><code>{name}</code></a>'
    if "anyOf" in kind:
        return " or ".join(map(_render_type, kind["anyOf"]))
    for word in ("enum", "const"):
        if word in kind:
            return f"<code>{escape(json.dumps(kind[word]))}</code>"
    if kind.get("type") == "array" and "items" in kind:
        return f"list of {_render_type(kind['items'])}"
    if kind.get("type") == "object" and isinstance(kind.get("additionalProperties"), dict):
        return f"object of {_render_type(kind['additionalProperties'])}"
    return escape(str(kind.get("type", "anything")))
