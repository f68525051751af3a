"""The pages of a study of ratings, in English and Chinese, each with its content security policy."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

if TYPE_CHECKING:
    from imapeval.rating.model import StudySettings

_PAGE = Path(__file__).parent / "page"
_SCRIPTS = ("queue.js", "words.js", "scale.js", "rate.js")

LANGUAGES = ("en", "zh")


def choose_language(asked: str | None, accepted: str) -> str:
    """Return the language of a page.

    Args:
        asked: What the rater has chosen; anything else than a known language does not count.
        accepted: The header Accept-Language.
    """
    if asked in LANGUAGES:
        return asked
    preferred = [part.partition(";")[0].strip()[:2].lower() for part in accepted.split(",")]
    return next((lang for lang in preferred if lang in LANGUAGES), "en")


def render_enter(settings: StudySettings, lang: str) -> tuple[str, str]:
    """Return the page that takes the secret out of a link, and its content security policy."""
    return render("enter.html", lang, scripts=("enter.js",), settings=settings)


def render_rating(settings: StudySettings, lang: str, link: str) -> tuple[str, str]:
    """Return the page on which a rater rates, and its content security policy.

    Args:
        settings: Of the study.
        lang: Language of the page.
        link: Tells a rater from others whose links are opened in the same browser.
    """
    data = {
        "link": link,
        "texts": load_texts(lang),
        "dimensions": [one.model_dump() for one in settings.dimensions],
        "references": settings.show_reference,
    }
    return render("rate.html", lang, scripts=_SCRIPTS, settings=settings, data=data)


def render(name: str, lang: str, *, scripts: tuple[str, ...] = (), data: Any = None, **values: Any) -> tuple[str, str]:
    """Return a page of `page/`, and its content security policy.

    Args:
        name: File of the template.
        lang: Language of its texts, which it has as `t`.
        scripts: Files of its script.
        data: JSON for the script; None for none.
        values: What the template shows; every text is escaped.
    """
    style, script = _read("rate.css"), "\n".join(map(_read, scripts))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    # "<" would end the script element.
    shown = "" if data is None else json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    page = (
        _templates()
        .get_template(name)
        .render(values, lang=lang, t=load_texts(lang), style=style, script=script, data=shown)
    )
    return page, policy


@cache
def load_texts(lang: str) -> dict[str, Any]:
    """Return the texts of all pages in a language, by name; those of the owner's page under "owner"."""
    return json.loads(_read("texts.json"))[lang]


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(_PAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


@cache
def _read(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    if not content:
        return "'none'"
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
