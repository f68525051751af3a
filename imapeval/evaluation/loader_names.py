"""Names for `--loader`, apart from the loaders: every command lists them, and importing the readers takes time."""

from __future__ import annotations

from typing import Literal, get_args

FileFormat = Literal["jsonl", "json", "csv", "tsv", "parquet", "arrow", "xlsx"]

LOADER_NAMES: tuple[str, ...] = (*get_args(FileFormat), "imapscore", "mediqa-eval", "hf", "inspect")
"""The names in `imapeval.evaluation.samples.LOADERS`, in the same order."""
