"""Runs on disk: what lies in a run's folder is said in `imapeval.runs.reading`."""

from imapeval.runs.reading import Result, Run
from imapeval.runs.writing import RunSettings, RunWriter, export_csv, result_to_dict

__all__ = ["Result", "Run", "RunSettings", "RunWriter", "export_csv", "result_to_dict"]
