"""The pages of a study of ratings, in English and Chinese, each with its content security policy."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from imapeval.report.explorer_data import dump_for_script
from imapeval.report.page_frame import hash_source, load_templates
from imapeval.study.agreement.measure import find_title

if TYPE_CHECKING:
    from imapeval.rating.model import StudySettings
    from imapeval.rating.monitoring import Overview

_PAGE = Path(__file__).parent / "page"
_SCRIPTS = ("queue.js", "words.js", "scale.js", "rate.js")

LANGUAGES = ("en", "zh")


def choose_language(asked: str | None, accepted: str) -> str:
    """Return the language of a page.

    Args:
        asked: The language that the rater has chosen; ignored if unknown.
        accepted: The header Accept-Language.
    """
    if asked in LANGUAGES:
        return asked
    preferred = [part.partition(";")[0].strip()[:2].lower() for part in accepted.split(",")]
    return next((lang for lang in preferred if lang in LANGUAGES), "en")


def render_enter(settings: StudySettings, lang: str) -> tuple[str, str]:
    """Return the page that exchanges the secret of a link for a cookie, and its content security policy."""
    return _render("enter.html", lang, scripts=("enter.js",), settings=settings)


def render_rating(settings: StudySettings, lang: str, link: str) -> tuple[str, str]:
    """Return the page on which a rater rates, and its content security policy.

    Args:
        settings: Settings of the study.
        lang: Language of the page.
        link: Distinguishes raters whose links are opened in the same browser.
    """
    data = {
        "link": link,
        "texts": load_texts(lang),
        "dimensions": [one.model_dump() for one in settings.dimensions],
    }
    return _render("rate.html", lang, scripts=_SCRIPTS, settings=settings, data=data)


def render_owner(settings: StudySettings, lang: str, found: Overview) -> tuple[str, str]:
    """Return the owner's page, and its content security policy. It only shows: changes are made by commands.

    Args:
        settings: Settings of the study.
        lang: Language of the page.
        found: State of the study.
    """
    texts = load_texts(lang)["owner"]
    return _render(
        "owner.html",
        lang,
        settings=settings,
        o=texts,
        found=found,
        progress=texts["progress"].format(
            ratings=found.ratings,
            ratings_total=found.ratings_total,
            complete=found.complete,
            answers=found.answers,
        ),
        flags=[(row.name, flag) for row in found.raters for flag in row.flags],
        agreement=[(find_title(row.statistic), row) for row in found.agreement if row.value is not None],
        number=_format_number,
    )


def _render(name: str, lang: str, *, scripts: tuple[str, ...] = (), data: Any = None, **values: Any) -> tuple[str, str]:
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
        f"default-src 'none'; style-src {hash_source(style)}; script-src {hash_source(script)}; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    shown = "" if data is None else dump_for_script(data)
    page = (
        load_templates(_PAGE)
        .get_template(name)
        .render(values, lang=lang, t=load_texts(lang), style=style, script=script, data=shown)
    )
    return page, policy


@cache
def load_texts(lang: str) -> dict[str, Any]:
    """Return the texts of all pages in a language, by name; those of the owner's page under "owner"."""
    return json.loads(_read("texts.json"))[lang]


@cache
def _read(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def _format_number(number: float | None, digits: int) -> str:
    return "–" if number is None else f"{number:.{digits}f}"
