"""Runs on disk: what lies in a run's folder is said in `imapeval.runs.reading`."""

from imapeval.runs.reading import Result, Run
from imapeval.runs.writing import RunWriter, Settings, export_csv, tell

__all__ = ["Result", "Run", "RunWriter", "Settings", "export_csv", "tell"]
