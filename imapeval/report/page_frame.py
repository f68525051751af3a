"""The frame, style and content security policy of all pages.

Style and script are part of the page and allowed by hash in its content security policy, so that nothing in the data
could run or be fetched, even if escaping failed.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from imapeval import __version__
from imapeval.files import write_private_file
from imapeval.redaction import replace_controls
from imapeval.report.explorer_data import dump_for_script

if TYPE_CHECKING:
    from collections.abc import Mapping

_PAGE = Path(__file__).parent / "page"
_STYLES = ("style.css", "study.css")
_SCRIPTS = ("dom.js", "find.js", "list.js", "facts.js", "sample.js", "review.js", "main.js")


def render_page(
    heading: str,
    main: str,
    *,
    kind: str,
    lead: str,
    sections: Mapping[str, str],
    skip_to: str,
    answers: Mapping[str, Any] | None = None,
    served: bool = False,
) -> str:
    """Return a whole page.

    Args:
        heading: Title of the page, as text.
        main: Its sections, as markup.
        kind: Kind of page, as text.
        lead: The line below the heading, as text.
        sections: Titles for the navigation, as text, by the section's id.
        skip_to: The section that the first link of the page leads to.
        answers: Data of the explorer, from `collect_explorer_data`; None for a page without explorer and script.
        served: The page is not a file, and its script may send requests to the server that it comes from.
    """
    style = "\n".join(map(_read, _STYLES))
    script = "" if answers is None else "\n".join(map(_read, _SCRIPTS))
    return render_template(
        "frame.html",
        heading=heading,
        kind=kind,
        lead=lead,
        sections=sections,
        main=main,
        skip_to=skip_to,
        version=__version__,
        style=style,
        style_hash=hash_source(style),
        script=script,
        script_hash=hash_source(script),
        data="" if answers is None else dump_for_script(answers),
        served=served,
    )


def render_template(name: str, **values: Any) -> str:
    """Return a template of `page/` with its values, in which every text is escaped."""
    return load_templates(_PAGE).get_template(name).render(values)


def write_page(page: str, path: Path) -> None:
    """Write a page, without control characters and those that change the direction of writing.

    Its folder is made if necessary.

    Raises:
        UsageError: The file cannot be written.
    """
    # A column that is passed through may hold a lone surrogate, which UTF-8 cannot encode.
    content = replace_controls(page).encode(errors="replace")
    write_private_file(path, content, fix="Make the folder writable or free some space.")


@cache
def load_templates(folder: Path) -> Environment:
    """Return the templates of a folder, which escape every text."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def hash_source(content: str) -> str:
    """Return the source expression of a content security policy that allows this style or script, and no other."""
    if not content:
        return "'none'"
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _read(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")
