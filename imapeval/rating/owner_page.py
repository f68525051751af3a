"""The owner's page: how a study of ratings stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.rating.pages import render

if TYPE_CHECKING:
    from imapeval.rating.store import RatingStudy


def render_owner(study: RatingStudy, lang: str) -> tuple[str, str]:
    """Return the page, and its content security policy."""
    return render("enter.html", lang, settings=study.settings)
