"""`imapeval datasets`: the sample data that is part of imapeval, and how tokenizers cut the texts of any data."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.options import JsonOption
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.data.word_tokens import WordTokens

_COLUMNS = [
    Column("name", lambda row: row["name"], text=True, wrap=False),
    Column("samples", lambda row: row["samples"]),
    Column("path", lambda row: row["path"], text=True),
]


def datasets(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE...]", help="With --tokenizer: tables, or a folder with copies of DrBenchmark's data sets."
        ),
    ] = None,
    *,
    tokenizer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Print how many tokens it makes of a word, by task and language: a tokenizer.json, or "
            "tiktoken:ENCODING. Repeatable.",
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="With --tokenizer: a column with texts, or lists of words. Repeatable.  [default: text, tokens, "
            "question, reference, references, response]",
        ),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """List the shipped sample data; `imapeval score NAME` scores one of them.

    With FILE and --tokenizer: tokens per word, and the share of words that are kept whole, of each tokenizer.
    """
    if bool(files) != bool(tokenizer):
        raise UsageError("FILE and --tokenizer go together. Give both, or neither.")
    if text and not files:
        raise UsageError("--text names columns of FILE. Add FILE and --tokenizer, or leave it out.")
    if files and tokenizer:
        tokens = _count_tokens(files, tokenizer, text or [])
        emit_json(tokens) if json_output else _print_tokens(tokens)
        return
    from imapeval.evaluation.samples import read, shipped_samples

    rows = [{"name": name, "samples": len(read(path)), "path": str(path)} for name, path in shipped_samples().items()]
    emit_json(rows) if json_output else emit(rows, _COLUMNS)


def _count_tokens(files: "Sequence[Path]", names: "Sequence[str]", columns: "Sequence[str]") -> "list[WordTokens]":
    from imapeval.study.data.word_tokens import count_word_tokens, open_tokenizer, read_texts

    tokenizers = {name: open_tokenizer(name) for name in names}
    return [
        count_word_tokens(name, tokenizer, texts, task=task, lang=lang)
        for file in files
        for (task, lang), texts in read_texts(file, columns=columns).items()
        for name, tokenizer in tokenizers.items()
    ]


def _print_tokens(rows: "Sequence[WordTokens]") -> None:
    from imapeval.study.number_format import format_percent

    columns = [
        Column("task", "task", text=True),
        Column("lang", "lang", text=True),
        Column("tokenizer", "tokenizer", text=True),
        Column("texts", "texts", wrap=False),
        Column("words", "words", wrap=False),
        Column("tokens\nper word", lambda row: f"{row.tokens_per_word:.2f}", wrap=False),
        Column("words kept\nwhole", "whole", write=partial(format_percent, digits=3), wrap=False),
        Column("per word,\nby text", lambda row: f"{row.by_text:.2f}", wrap=False),
    ]
    emit(rows, columns, title="Tokens per word", width=UNLIMITED)
    echo("By text: the mean over texts, with the marks at their ends (DrBenchmark's sub-words per word).")
    if any(row.lang == "zh" for row in rows):
        echo("Chinese: per character; there are no words without a segmenter.")
