"""Runs on disk; `imapeval.evaluation.runs.reading` describes the files of a run's folder."""

from imapeval.evaluation.runs.reading import Result, Run, group_by_id
from imapeval.evaluation.runs.writing import RunSettings, RunWriter, export_csv, is_being_written, result_to_dict

__all__ = [
    "Result",
    "Run",
    "RunSettings",
    "RunWriter",
    "export_csv",
    "group_by_id",
    "is_being_written",
    "result_to_dict",
]
