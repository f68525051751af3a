"""One self-contained HTML page about a run: opens from a file, loads nothing, runs nothing but its own script.

Style and script stand in the page and are named by hash in its content security policy, so that nothing that comes
in with the data could run or be fetched, even where escaping failed.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from imapeval import __version__
from imapeval.errors import UsageError
from imapeval.report import payload, sections
from imapeval.report.summary import summarise
from imapeval.runs import Run
from imapeval.samples import system_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.types import Sample

_PAGE = Path(__file__).parent / "page"
_SCRIPTS = ("dom.js", "list.js", "sample.js", "main.js")


def write_report(folder: Path) -> Path:
    """Write `report.html` into a run's folder, finished or not, and return its path.

    Raises:
        InputError: There is no run in the folder, or a file of it is broken.
        UsageError: The page cannot be written.
    """
    path = folder / "report.html"
    page = render(Run(folder))
    try:
        # A column that is only passed through may hold half a character, which UTF-8 cannot.
        path.write_bytes(page.encode(errors="replace"))
    except OSError as error:
        raise UsageError(
            f"cannot write {path} ({error.strerror}). Make the folder writable or free some space."
        ) from error
    return path


def render(run: Run) -> str:
    """Return the page."""
    settings = run.manifest["settings"]
    metrics = list(settings["metrics"])
    samples, results = run.samples(), run.results()
    rows = summarise(samples, results, metrics=metrics, seed=settings["seed"])
    failures = sections.show_failures(results)
    titles = {"scores": "Scores", "failures": "Failures", "answers": "Answers", "settings": "How it was made"}
    links = [f'<a href="#{name}">{title}</a>' for name, title in titles.items() if failures or name != "failures"]
    heading = Path(str(run.manifest["data"]["source"])).stem or run.folder.resolve().name
    style, script = _read("style.css"), "\n".join(map(_read, _SCRIPTS))
    return Template(_read("page.html")).substitute(
        title=escape(f"{heading}: imapeval report"),
        heading=escape(heading),
        lead=escape(_count(samples, metrics)),
        nav="".join(links),
        scores=sections.show_scores(rows, samples, results),
        failures=failures,
        settings=sections.show_settings(run.manifest),
        version=__version__,
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        data=payload.dump_for_script(payload.collect(samples, results, run.imaps(), metrics=metrics)),
    )


def _count(samples: Sequence[Sample], metrics: Sequence[str]) -> str:
    counts = [
        (len(samples), "answer"),
        (len({sample.question for sample in samples}), "question"),
        (len({system_of(sample) for sample in samples}), "system"),
        (len(metrics), "metric"),
    ]
    return ", ".join(f"{number:,} {noun}{'' if number == 1 else 's'}" for number, noun in counts)


def _read(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"
