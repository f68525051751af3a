"""Runs on disk: what lies in a run's folder is said in `imapeval.evaluation.runs.reading`."""

from imapeval.evaluation.runs.reading import Result, Run
from imapeval.evaluation.runs.writing import RunSettings, RunWriter, export_csv, result_to_dict

__all__ = ["Result", "Run", "RunSettings", "RunWriter", "export_csv", "result_to_dict"]
