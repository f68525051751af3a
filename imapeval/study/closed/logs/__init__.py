"""Answers to closed questions, out of the logs of evaluation harnesses: one module per format."""

from imapeval.study.closed.logs.answers import ClosedAnswer as ClosedAnswer
from imapeval.study.closed.logs.reading import holds_logs as holds_logs
from imapeval.study.closed.logs.reading import read_logs as read_logs
