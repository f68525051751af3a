"""Reading samples: `read` turns a file, or any other source with a loader, into checked `Sample`s.

A new source needs a loader (see `imapeval.evaluation.samples.loaders`) and its entry in `LOADERS`.
"""

from imapeval.evaluation.samples.building import make_sample
from imapeval.evaluation.samples.loaders import LOADERS, Loader, shipped_samples
from imapeval.evaluation.samples.reading import (
    UNNAMED_SYSTEM,
    index_samples,
    name_system_group,
    read,
    resolve_source,
    system_label,
)
from imapeval.evaluation.samples.rows import Row
from imapeval.text.language import detect_lang

__all__ = [
    "LOADERS",
    "UNNAMED_SYSTEM",
    "Loader",
    "Row",
    "detect_lang",
    "index_samples",
    "make_sample",
    "name_system_group",
    "read",
    "resolve_source",
    "shipped_samples",
    "system_label",
]
