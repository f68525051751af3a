"""Loaders of rows: file formats, public benchmarks, Hugging Face datasets, logs of Inspect.

A loader is a function from a source (a path or a name, as on the command line) to rows with these columns: `id,
question | turns, reference | references, response, system, lang, ratings.*`. The rows of all loaders are checked by
`imapeval.evaluation.samples.reading`.
"""

from __future__ import annotations

import difflib
import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from imapeval import _resources
from imapeval._optional import require
from imapeval.errors import InputError, UsageError
from imapeval.evaluation.samples.files.formats import FILE_LOADERS, SUFFIXES, is_data_file, read_file
from imapeval.evaluation.samples.files.text_lines import STDIN
from imapeval.evaluation.samples.inspect_log import load_inspect
from imapeval.evaluation.samples.mediqa_eval import load_mediqa_eval, split_language
from imapeval.evaluation.samples.rows import Row, error_at, list_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from imapeval.evaluation.samples.rows import ReadOptions


Loader: TypeAlias = "Callable[[str, ReadOptions], Iterable[Row]]"
"""Returns the rows of a source; a bad one with an error, unless the options are strict."""

_HF_PREFIX = "hf:"

_IMAPSCORE_SYSTEMS = {"gpt4_prediction": "GPT-4", "palm2_prediction": "PaLM-2", "chatgpt_prediction": "ChatGPT"}
_IMAPSCORE_COLUMNS = {
    "Question": "question",
    "Doctor_Response": "reference",
    "Average_accuracy_score": "ratings.accuracy",
    "Average_completeness_score": "ratings.completeness",
    "Average_specific_scores": "ratings.specificity",
}


def load_imapscore(source: str, options: ReadOptions) -> Iterator[Row]:
    """Yield the rows of the public imapScore benchmark (github.com/HathyHuimin/imapScore): a file, or all in a folder.

    The files are `*.txt`: JSON lines with `Question`, `Doctor_Response`, one column `<system>_prediction` and mean
    ratings. Ids are `<file stem>:<row>`, rows counted from 0; the dataset's name (`HMedQA`, `iCliniq`) goes to
    `meta["dataset"]`.

    Raises:
        InputError: A row has no, or more than one, prediction column; or a folder has no such file.
    """
    path = Path(source)
    if not path.is_dir():
        yield from _load_imapscore_file(path, options)
        return
    files = sorted(path.glob("*.txt"))
    if not files:
        raise InputError("has no .txt file", path=path, fix="Give the folder with the upstream imapScore files.")
    for file in files:
        yield from _load_imapscore_file(file, options)


def _load_imapscore_file(path: Path, options: ReadOptions) -> Iterator[Row]:
    for row in read_file(str(path), options, kind="jsonl"):
        if row.error is not None:
            yield row
            continue
        predictions = [name for name in row.fields if name.endswith("_prediction")]
        if len(predictions) != 1:
            raise error_at(
                row,
                path,
                f"expected one column '<system>_prediction', found {len(predictions)} in {list_columns(row.fields)}",
                fix="Give an upstream imapScore file, or leave out the loader.",
            )
        (prediction,) = predictions
        system = _IMAPSCORE_SYSTEMS.get(prediction, prediction.removesuffix("_prediction"))
        fields = {_IMAPSCORE_COLUMNS.get(name, name): value for name, value in row.fields.items()}
        fields["response"] = fields.pop(prediction)
        fields["id"] = f"{path.stem}:{row.number - 1}"
        fields["system"] = system
        fields["dataset"] = path.stem.removesuffix(f"-{system}")
        yield Row(row.number, row.line, fields, str(path))


def load_hf(source: str, options: ReadOptions) -> Iterator[Row]:
    """Yield the rows of a Hugging Face dataset: `hf:NAME` or `hf:NAME:SPLIT` (NAME may be a local folder).

    Raises:
        UsageError: There is no name, or the dataset has several splits and none is named.
        InputError: The dataset cannot be loaded.
        MissingExtraError: `datasets` is not installed.
    """
    name, _, split = source.removeprefix(_HF_PREFIX).partition(":")
    if not name:
        raise UsageError(f"{source!r} does not name a dataset. Write hf:NAME or hf:NAME:SPLIT.")
    datasets: Any = require("datasets", distribution="datasets", extra="hf", needed_for="Loading Hugging Face datasets")
    try:
        loaded = datasets.load_dataset(name)
    # For missing names, scripts and damaged files alike; of these it says in the cause what is wrong.
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise InputError(
            f"{source}: cannot be loaded ({error.__cause__ or error})", fix="Check the name, files and connection."
        ) from error
    splits = list(loaded)
    if not split and len(splits) == 1:
        (split,) = splits
    if split not in splits:
        raise UsageError(f"the dataset {name!r} has the splits {', '.join(splits)}. Write hf:{name}:<split>.")
    for number, fields in enumerate(loaded[split], 1):
        yield Row(number, number, fields, unit="row")


LOADERS: Mapping[str, Loader] = {
    **FILE_LOADERS,
    "imapscore": load_imapscore,
    "mediqa-eval": load_mediqa_eval,
    "hf": load_hf,
    "inspect": load_inspect,
}
"""All loaders by their name for `--loader`; the names are also in `imapeval.evaluation.loader_names`."""


def shipped_samples() -> dict[str, Path]:
    """Return the files of the sample data that ships with imapeval, by name."""
    return {path.stem: path for path in sorted(_resources.find("datasets").glob("*.jsonl"))}


def list_files(source: str, loader: str | None = None) -> list[str]:
    """Return the files of a source: those of a folder or a pattern; anything else is returned unchanged.

    For mediqa-eval, a pattern may end in a language, as in "answers*.csv:en". A loader that is named may read folders,
    so that a pattern which matches no file stands for the folders that it matches.

    Raises:
        InputError: A folder has no file of a known type, or a pattern matches none.
    """
    path = Path(source)
    reads_names = loader is not None and loader not in FILE_LOADERS
    if source == STDIN or source.startswith(_HF_PREFIX) or (reads_names and path.is_dir()):
        return [source]
    pattern, lang = split_language(source) if loader == "mediqa-eval" else (source, "")
    if path.is_dir():
        found = [str(file) for file in path.iterdir() if is_data_file(file) and file.is_file()]
    elif not Path(pattern).exists() and glob.has_magic(pattern):
        matches = glob.glob(pattern, recursive=True)  # noqa: PTH207  # a pattern may be absolute
        found = [match for match in matches if not Path(match).is_dir()]
        if reads_names:
            # Without a match, the loader says what it needs.
            found = [f"{match}:{lang}" if lang else match for match in found or matches] or [source]
    else:
        return [source]
    if not found:
        raise InputError(
            "has no file of a known type" if path.is_dir() else "there is no such file",
            path=source,
            fix=f"Give files of type {', '.join(SUFFIXES)}, also with .gz.",
        )
    return sorted(found)


def choose_loader(source: str, name: str | None = None) -> Loader:
    """Return the loader with this name, or the one for the type of the source.

    Raises:
        UsageError: Unknown loader name.
        InputError: No name is given, and there is no such file.
    """
    if name is not None:
        if name not in LOADERS:
            raise UsageError(f"unknown loader {name!r}. Loaders: {', '.join(LOADERS)}.")
        return LOADERS[name]
    if source.startswith(_HF_PREFIX):
        return load_hf
    if source != STDIN and not Path(source).exists():
        close = difflib.get_close_matches(source, shipped_samples(), n=1)
        meant = f"Did you mean the shipped sample {close[0]}?" if close else "Check the path;"
        raise InputError("no such file", path=source, fix=f"{meant} `imapeval datasets` lists what ships.")
    return load_inspect if Path(source).suffix.lower() == ".eval" else read_file
