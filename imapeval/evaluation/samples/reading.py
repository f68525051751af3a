"""Reads samples from a source: chooses loader and columns, assigns ids, draws questions."""

from __future__ import annotations

import random
import re
import sys
from array import array
from dataclasses import replace
from itertools import compress, islice
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.ids import IdIndex, list_first
from imapeval.evaluation.samples.building import SampleBuilder
from imapeval.evaluation.samples.columns import choose_columns, unify_names
from imapeval.evaluation.samples.files.formats import is_data_file
from imapeval.evaluation.samples.files.text_lines import SHOWN_STDIN, STDIN
from imapeval.evaluation.samples.loaders import choose_loader, list_files, shipped_samples
from imapeval.evaluation.samples.rows import ReadOptions, error_at
from imapeval.evaluation.samples.spool import Mapped, spool
from imapeval.redaction import get_logger
from imapeval.remote import download, is_url, resolve_file_url
from imapeval.text.identity import identify_question
from imapeval.text.language import detect_lang, has_chinese
from imapeval.types import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from imapeval.evaluation.samples.rows import Row
    from imapeval.types import Sample

UNNAMED_SYSTEM = "(no system)"
"""Label of answers without a system; "" stands for all systems together."""

_MAX_NAMED = 3
"""Maximum number of bad rows that are listed; the others are only counted."""

_WORD = re.compile(r"[^\W\d_]{2,}")

_SENTENCE = 3
"""Minimum number of words in Latin letters that are not an answer in Chinese, as "HBsAg" and "INR 2-3" may be."""

_log = get_logger(__name__)


def read(
    path: str | Path | Sequence[str | Path],
    *,
    loader: str | None = None,
    columns: Mapping[str, str] | None = None,
    missing: Iterable[str] = (),
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    encoding: str | None = None,
    sheet: str | None = None,
    strict: bool = False,
) -> Sequence[Sample]:
    """Read samples.

    Columns: `id`, `question`, `response`, and optionally `reference` (text) or `references` (list; in CSV a JSON list;
    or columns `reference1`, `reference2` and so on), `system`, `lang` and ratings, as `ratings.<dimension>` or as an
    object `ratings`. Other common names are used if ours are absent, which is logged. Every other column goes to
    `meta`. If no row has an id, the row numbers are the ids; if ids repeat, but not within a system, the system is
    added. Without `lang`, the language is detected from the question's script. Samples without a reference are allowed;
    metrics that need one fail for them with a reason.

    An empty response is an answer and is scored. A missing response is not scored: null, NaN (which pandas writes for
    it), an empty cell in CSV and Excel, a row without the column that others have, or a text listed in `missing`.

    In place of `question` there may be `turns`, a dialogue in a form that `read_turns` accepts (in CSV as JSON). Its
    last turn is the response if it is the assistant's; otherwise the response is the column `response`.

    Args:
        path: A file, "-" for standard input, the name of a shipped sample, or a source of the loader (`hf:NAME:SPLIT`).
            A folder means all its data files, a pattern such as "data/*.parquet" those that match, in the order of
            their names. Several files are read as one source.
        loader: A name in `LOADERS`; None recognises the format.
        columns: Column mapping for data with other names: our name -> the data's name, or a path into nested values,
            such as "answers.text". Several columns separated by commas mean, for `response`, those of several systems,
            each named after its column, and, for `reference`, several references.
        missing: Texts that mean that there is no response, such as "N/A"; surrounding white space is ignored.
        limit: Maximum number of rows; later ones are neither read nor checked. None reads all.
        sample: Number of questions that are drawn at random, with all their answers; None takes all.
        seed: Random seed of the draw.
        encoding: Encoding of a text file; None recognises it.
        sheet: Sheet of an Excel file; None takes the only one with a table.
        strict: Whether the first bad row is an error. Otherwise each is a sample with a `fault`, which is logged; if
            there is no good row, the first bad one is an error all the same.

    Returns:
        The samples in the order of the data, at least one. Those after the first 10,000 are in a temporary file.

    Raises:
        InputError: The content is invalid; names file, line and fix.
        UsageError: The loader is unknown, the mapping names an unknown column of ours, or `limit` or `sample` is less
            than 1.
        MissingExtraError: The loader needs a package that is not installed.
    """
    for name, number in (("limit", limit), ("sample", sample)):
        if number is not None and number < 1:
            raise UsageError(f"{name} is {number}. Give 1 or more, or None for all.")
    paths = [path] if isinstance(path, str | Path) else path
    options = ReadOptions(encoding, sheet, strict)
    with TemporaryDirectory(prefix="imapeval-", ignore_cleanup_errors=True) as folder:
        sources = _find_sources(paths, loader, folder=Path(folder))
        most = None if limit is None else min(limit, sys.maxsize)
        headers: dict[str, dict[str, None]] = {}
        rows = spool(islice(_read_rows(sources, loader, options, headers), most))
    names = [name for _, name in sources]
    source = SHOWN_STDIN if names == [STDIN] else " ".join(names if len(names) == 1 else map(str, paths))
    if not rows:
        raise InputError("there are no rows", path=source, fix="Give a file with at least one row.")
    spreadsheet = all(not row.has_null for row in rows if row.error is None)
    if len(headers) > 1:
        rows = unify_names(rows, headers, columns or {}, spreadsheet=spreadsheet)
    found = choose_columns(Mapped(rows, attrgetter("fields")), columns or {}, path=source, spreadsheet=spreadsheet)
    builder = SampleBuilder(source, found, missing=missing)
    made = spool((replace(row, fields={}), *built) for row in rows for built in builder.build_all(row, strict=strict))
    if all(error is not None for _, _, error in made):
        raise cast("InputError", made[0][2])
    samples = _assign_ids(made, source=source, strict=strict, wide=bool(found.systems))
    _log_faults(samples, source=source)
    _log_unusual_answers(samples, source=source)
    if len(headers) > 1 and not (found.has("system") or found.systems):
        _log_answered_again(made, source=source)
    return samples if sample is None else _draw_questions(samples, sample, seed=seed, source=source)


def _find_sources(paths: Sequence[str | Path], loader: str | None, *, folder: Path) -> list[tuple[str, str]]:
    """Return the source to read, and its name in messages: for a URL, a copy in `folder` and the URL."""
    sources: list[tuple[str, str]] = []
    for number, path in enumerate(paths):
        path = resolve_file_url(str(path))
        if is_url(path) and not re.match("hf:/(?!/)", path):  # `hf:/FOLDER` is a data set of Hugging Face's on disk
            copies = folder / str(number)
            copies.mkdir()
            sources += [(str(copy), url) for copy, url in download(path, copies, select=is_data_file)]
        else:
            sources += [(file, file) for file in list_files(resolve_source(path), loader)]
    return sources


def _read_rows(
    sources: Sequence[tuple[str, str]], loader: str | None, options: ReadOptions, headers: dict[str, dict[str, None]]
) -> Iterator[Row]:
    """Yield the rows of all sources, numbered consecutively; the columns of each of several go to `headers`."""
    before = 0
    for source, name in sources:
        number = 0
        try:
            for row in choose_loader(source, loader)(source, options):
                number = row.number
                if row.error is not None and source != name:
                    row = replace(row, error=_rename(row.error, name))
                if len(sources) > 1:
                    row = replace(row, number=before + number, file=row.file or name)
                    headers.setdefault(row.file, {}).update(dict.fromkeys(row.fields))
                yield row
        except InputError as error:
            if source == name:
                raise
            raise _rename(error, name) from error
        before += number


def _rename(error: InputError, name: str) -> InputError:
    return InputError(error.problem, fix=error.fix, path=name, line=error.line, unit=error.unit)


def _log_faults(samples: Sequence[Sample], *, source: str) -> None:
    faults = (sample.fault.message for sample in samples if sample.fault is not None)
    named = list(islice(faults, _MAX_NAMED))
    count = len(named) + sum(1 for _ in faults)
    if count:
        more = f" (the first {_MAX_NAMED} follow)" if count > _MAX_NAMED else ""
        _log.warning(
            "%s: %d of %d answers are not scored%s: %s",
            source,
            count,
            len(samples),
            more,
            " ".join(dict.fromkeys(named)),
        )


def _log_unusual_answers(samples: Sequence[Sample], *, source: str) -> None:
    """Say how many answers are empty, and which are in another language than their question."""
    empty = elsewhere = 0
    named: list[str] = []
    for sample in samples:
        if not sample.answered or sample.fault is not None:
            continue
        if not sample.response.strip():
            empty += 1
        elif _is_in_another(sample):
            elsewhere += 1
            named += [sample.id] if len(named) < _MAX_NAMED else []
    if empty:
        _log.warning(
            "%s: %d of %d responses are empty, and count as answers that say nothing. If they are missing, add "
            '--missing ""',
            source,
            empty,
            len(samples),
        )
    if elsewhere:
        _log.warning(
            "%s: %d of %d responses are in another language than their question, and are scored like the others: %s%s",
            source,
            elsewhere,
            len(samples),
            ", ".join(named),
            f" and {elsewhere - len(named)} more" if elsewhere > len(named) else "",
        )


def _is_in_another(sample: Sample) -> bool:
    """Return whether the response is Chinese and the question English, or the other way round."""
    text = sample.response
    if sample.lang == "zh":
        return detect_lang(text) == "en" and len(_WORD.findall(text)) >= _SENTENCE
    # Most texts have no Chinese character, which is found out faster than their share.
    return sample.lang == "en" and has_chinese(text) and detect_lang(text) == "zh"


def _log_answered_again(made: Sequence[tuple[Row, Sample, InputError | None]], *, source: str) -> None:
    """Say that a question is answered in two files if nothing tells whether these are of two systems."""

    def identify(item: tuple[Row, Sample, InputError | None]) -> str:
        row, sample, error = item
        return repr(row.number if error else identify_question(sample.question, sample.references))

    repeated = IdIndex(Mapped(made, identify)).repeated
    if repeated is None:
        return
    first, again = (made[position][0] for position in repeated)
    if first.file != again.file:
        _log.warning(
            "%s: no column names the systems, so all answers count as those of one, although the question on %s is "
            "answered again on %s. If the files are of several systems, add a column 'system', or score each file by "
            "itself and compare the runs",
            source,
            _locate(first),
            _locate(again),
        )


def _draw_questions(samples: Sequence[Sample], size: int, *, seed: int, source: str) -> Sequence[Sample]:
    """Return the answers to some questions, in the order of the data."""
    # By their hashes of 64 bits, for millions. Rows that cannot be read may have no question.
    asking = (sample for sample in samples if sample.question.strip())
    questions = list(dict.fromkeys(map(_hash_question, asking)))
    chosen = set(random.Random(seed).sample(questions, min(size, len(questions))))
    drawn = spool(sample for sample in samples if _hash_question(sample) in chosen)
    _log.warning(
        "%s: %d of %d answers, to %d of %d questions drawn with seed %d",
        source,
        len(drawn),
        len(samples),
        len(chosen),
        len(questions),
        seed,
    )
    return drawn


def _hash_question(sample: Sample) -> int:
    return hash(identify_question(sample.question, sample.references))


def resolve_source(path: str | Path) -> str:
    """Return the source as loaders take it; the name of shipped sample data becomes its file."""
    source = str(path)
    if source == STDIN or Path(source).suffix or Path(source).exists():
        return source
    return str(shipped_samples().get(source, source))


def _assign_ids(
    made: Sequence[tuple[Row, Sample, InputError | None]], *, source: str, strict: bool, wide: bool
) -> Sequence[Sample]:
    """Return the samples with unique ids, or reject duplicate ones.

    If no row has an id, the row numbers are the ids. If each row has several systems, or ids repeat but not within a
    system, the system is added.
    """
    numbered = not any(sample.id for _, sample, _ in made)

    def number() -> Iterator[Sample]:
        for row, sample, error in made:
            if sample.id:
                yield sample
                continue
            if not (numbered or error):
                refused = error_at(
                    row, source, "this row has no id, but others have", fix="Give every row an id, or none."
                )
                if strict:
                    raise refused
                sample = replace(sample, fault=Failure("sample", "bad-input", str(refused)))
            yield replace(sample, id=str(row.number) if numbered else _locate(row), numbered=numbered)

    samples = spool(number())
    index = index_samples(samples)
    repeated = index.repeated
    if repeated and IdIndex(Mapped(samples, lambda sample: repr((sample.id, sample.system)))).repeated is None:
        if not wide:
            _log.warning(
                "%s: ids repeat between systems (%s), so all ids are ID/SYSTEM",
                source,
                list_first(_find_repeated(samples, index)),
            )
        samples = spool(
            replace(sample, id=f"{sample.id}/{sample.system}" if sample.system else sample.id) for sample in samples
        )
        repeated = index_samples(samples).repeated
    if repeated:
        first, again = (made[position][0] for position in repeated)
        id_ = samples[repeated[0]].id
        raise error_at(
            again,
            source,
            f"the id {id_!r} is on {_locate(first)} and again on {_locate(again)}",
            fix="Make ids unique, for example by adding the system's name.",
        )
    return samples


def _locate(row: Row) -> str:
    """Return where a row is, with its file if the source has several."""
    return f"{row.file}, {row.unit} {row.line}" if row.file else f"{row.unit} {row.line}"


def _find_repeated(samples: Sequence[Sample], index: IdIndex) -> Sequence[str]:
    """Return the ids of several samples."""
    is_repeated = bytearray(len(samples))
    for position, sample in enumerate(samples):
        first = index.get(sample.id)
        if first is not None and first != position:
            is_repeated[first] = True
    return Mapped(array("Q", compress(range(len(samples)), is_repeated)), lambda position: samples[position].id)


def index_samples(samples: Sequence[Sample]) -> IdIndex:
    """Return the positions of samples by id."""
    return IdIndex(Mapped(samples, attrgetter("id")))


def system_label(sample: Sample) -> str:
    """Return the system as reports show it: with its dataset if the data names one, such as "HMedQA/GPT-4"."""
    dataset = sample.meta.get("dataset")
    return f"{dataset}/{sample.system}" if isinstance(dataset, str) and dataset else sample.system


def name_system_group(sample: Sample) -> str:
    """Return the name of the group of samples that a sample counts for: its system, or `UNNAMED_SYSTEM`."""
    return system_label(sample) or UNNAMED_SYSTEM
