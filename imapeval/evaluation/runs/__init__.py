"""Runs on disk; `imapeval.evaluation.runs.reading` describes the files of a run's folder."""

from imapeval.evaluation.runs.naming import format_command, name_run, name_source
from imapeval.evaluation.runs.outcomes import Outcomes
from imapeval.evaluation.runs.reading import Result, Run, group_by_id
from imapeval.evaluation.runs.table import TableFormat, check_format, export_table
from imapeval.evaluation.runs.writing import RunSettings, RunWriter, is_being_written, result_to_dict

__all__ = [
    "Outcomes",
    "Result",
    "Run",
    "RunSettings",
    "RunWriter",
    "TableFormat",
    "check_format",
    "export_table",
    "format_command",
    "group_by_id",
    "is_being_written",
    "name_run",
    "name_source",
    "result_to_dict",
]
