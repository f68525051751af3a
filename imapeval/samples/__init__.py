"""Samples in: from a file, or anything a loader knows, to checked `Sample`s.

A new source is one loader (see `imapeval.samples.loaders`) and its entry in `LOADERS`.
"""

from imapeval.samples.loaders import LOADERS, Loader
from imapeval.samples.reading import locate, make_sample, read, shipped, system_of
from imapeval.samples.rows import Row
from imapeval.text.language import detect_lang

__all__ = ["LOADERS", "Loader", "Row", "detect_lang", "locate", "make_sample", "read", "shipped", "system_of"]
