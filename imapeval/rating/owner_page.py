"""The owner's page: how a study of ratings stands. It changes nothing: that is what the commands are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.rating.monitoring import overview
from imapeval.rating.pages import load_texts, render
from imapeval.study.agreement.measure import find_title

if TYPE_CHECKING:
    from imapeval.rating.store import RatingStudy


def render_owner(study: RatingStudy, lang: str) -> tuple[str, str]:
    """Return the page, and its content security policy."""
    found, texts = overview(study), load_texts(lang)["owner"]
    return render(
        "owner.html",
        lang,
        settings=study.settings,
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


def _format_number(number: float | None, digits: int) -> str:
    return "–" if number is None else f"{number:.{digits}f}"
