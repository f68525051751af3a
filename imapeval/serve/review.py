"""`imapeval review`: the answers of a run on a page on which people correct facts and relations."""

# Annotations are not postponed: FastAPI evaluates those of the functions in `make_app`.
import asyncio
import secrets
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from imapeval.errors import ImapEvalError, UsageError
from imapeval.evaluation.corrections import (
    CORRECTIONS,
    Change,
    Correction,
    Mark,
    append_correction,
    apply_corrections,
    read_corrections,
)
from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.rescoring import find_references_option, find_rescored_metrics, rescore
from imapeval.evaluation.runs import Run, name_run
from imapeval.evaluation.runs.reading import group_by_id
from imapeval.matching.protocol import Matcher
from imapeval.parsing import describe_validation_error
from imapeval.report.explorer_data import TextTable, collect_explorer_data, metric_axes
from imapeval.report.formatting import pluralize
from imapeval.report.page_frame import render_page, render_template
from imapeval.serve.guard import FASTAPI_OPTIONS, RequestGuard, RequestLimits
from imapeval.serve.http_error import HttpError, dump_json

if TYPE_CHECKING:
    from imapeval.evaluation.combine import References


class ReviewSession:
    """A run with its corrections.

    Args:
        run: The run.
        matcher: Relates corrected facts.
        who: Name of the person who corrects.

    Raises:
        InputError: A file of the run is broken.
        UsageError: The run has no facts.
    """

    def __init__(self, run: Run, matcher: Matcher, *, who: str) -> None:
        self._run, self._matcher, self._who = run, matcher, who
        samples = run.samples()
        # Each answer is shown by itself, but all of them share the columns of the page.
        absent = dict.fromkeys(name for sample in samples for name in sample.meta)
        self._samples = {sample.id: replace(sample, meta={**absent, **sample.meta}) for sample in samples}
        self._results = group_by_id(run.results())
        self._records = group_by_id(run.imaps())
        if not self._records:
            raise UsageError(f"{run.folder} has no facts to review. Score with a metric such as imapscore.")
        self._metrics = find_rescored_metrics(run)
        self._references: References = find_references_option(run)
        self._names = list(run.manifest["settings"]["metrics"])
        self._axes = metric_axes(chain.from_iterable(self._results.values()), self._names, run.ranges)
        self._texts = TextTable()
        self._corrections: dict[str, list[Correction]] = {}
        for correction in read_corrections(run.folder):
            self._corrections.setdefault(correction.id, []).append(correction)
        self._busy = asyncio.Lock()

    async def render(self) -> str:
        """Return the page."""
        reviews = [await self._review_to_dict(id_) for id_ in self._samples]
        data: dict[str, Any] = reviews[0] | {
            "samples": [sample for review in reviews for sample in review["samples"]],
            "texts": list(self._texts.numbers),
            "review": True,
        }
        count = sum(map(len, self._records.values()))
        return render_page(
            name_run(self._run),
            render_template("review.html", file=str(self._run.folder / CORRECTIONS), who=self._who),
            kind="imapeval review",
            lead=f"{pluralize(len(self._samples), 'answer')}, {pluralize(count, 'imap')}",
            sections={"answers": "Answers"},
            skip_to="answers",
            answers=data,
            served=True,
        )

    async def correct(self, id_: str, reference_index: int, reading: int, change: Change, *, texts: int) -> Any:
        """Save a correction, and return the answer as the page shows it, with the texts from this number on.

        Raises:
            UsageError: There is no such imap, or the change does not fit it.
            OSError: The correction cannot be saved.
        """
        correction = Correction(id=id_, reference_index=reference_index, reading=reading, who=self._who, change=change)
        if not any(
            (record.imap.reference_index, record.imap.reading) == (reference_index, reading)
            for record in self._records.get(id_, ())
        ):
            raise UsageError(f"the run has no such imap of {id_[:60]!r}.")
        # One after the other: a change is checked against those before it.
        async with self._busy:
            before = self._corrections.get(id_, [])
            self._corrections[id_] = (
                [other for other in before if other.key != correction.key]
                if isinstance(change, Mark) and change.kind == "reset"
                else [*before, correction]
            )
            try:
                # The corrections of one imap can be withdrawn even if those of another one do not fit.
                shown = await self._review_to_dict(id_, strict=change.kind != "reset")
                await asyncio.to_thread(append_correction, self._run.folder, correction)
            except BaseException:
                self._corrections[id_] = before
                raise
        return {"sample": shown["samples"][0], "texts": list(self._texts.numbers)[texts:]}

    async def _review_to_dict(self, id_: str, *, strict: bool = False) -> dict[str, Any]:
        """Return what the page shows of an answer, with its corrections.

        If they do not fit, such as a line that was written by hand, the answer is shown as the run has it, and why.

        Raises:
            UsageError: They do not fit, and `strict` is set.
        """
        sample, records, results = self._samples[id_], self._records.get(id_, []), self._results.get(id_, [])
        corrections = self._corrections.get(id_, [])
        problem = ""
        try:
            corrected = [await self._apply(record, corrections) for record in records] if corrections else []
        except UsageError as error:
            if strict:
                raise
            corrected, problem = [], str(error)
        if corrected:
            records = corrected
            outcomes = await rescore(sample, records, metrics=self._metrics, references=self._references)
            results = [
                replace(result, outcome=outcomes[result.metric]) if result.metric in outcomes else result
                for result in results
            ]
        data = collect_explorer_data(
            [sample], results, records, metrics=self._names, axes=self._axes, texts=self._texts
        )
        for record, imap in zip(records, data["samples"][0]["imaps"], strict=True):
            of_imap = [correction for correction in corrections if correction.key == record.key]
            marks = sum(isinstance(correction.change, Mark) for correction in of_imap)
            imap["review"] = {
                "corrections": len(of_imap) - marks,
                "checked": marks > 0,
                "problem": problem if of_imap else "",
            }
        return data

    async def _apply(self, record: ImapRecord, corrections: list[Correction]) -> ImapRecord:
        changes = [correction.change for correction in corrections if correction.key == record.key]
        return await apply_corrections(record, changes, sample=self._samples[record.id], matcher=self._matcher)


class _Posted(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str
    reference_index: int = Field(ge=0)
    reading: int = Field(ge=0)
    change: Change
    texts: int = Field(ge=0)


def make_app(session: ReviewSession) -> tuple[RequestGuard, str]:
    """Return the app, and the path of its page.

    The path holds a secret, because every user of this computer can send requests to its ports.
    """
    path = f"/{secrets.token_urlsafe(16)}/"
    app = FastAPI(**FASTAPI_OPTIONS)

    @app.get(path)
    async def page() -> Response:  # pyright: ignore[reportUnusedFunction]
        headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"}
        content = (await session.render()).encode(errors="replace")
        return Response(content, media_type="text/html; charset=utf-8", headers=headers)

    @app.post(f"{path}corrections")
    async def correct(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        try:
            posted = _Posted.model_validate_json(await request.body())
            saved = await session.correct(
                posted.id, posted.reference_index, posted.reading, posted.change, texts=posted.texts
            )
        except ValidationError as error:
            raise HttpError(422, "invalid", describe_validation_error(error)) from error
        except ImapEvalError as error:
            raise HttpError(422, "does-not-fit", f"{error} Reload the page if it is out of date.") from error
        except OSError as error:
            raise HttpError(500, "not-saved", f"The correction cannot be saved ({error.strerror}).") from error
        return Response(dump_json(saved), media_type="application/json")

    @app.exception_handler(HttpError)
    async def refuse(_: Request, error: HttpError) -> Response:  # pyright: ignore[reportUnusedFunction]
        return Response(error.body, error.status, media_type="application/json")

    return RequestGuard(app, RequestLimits(), token=None, posted=[f"{path}corrections"]), path
