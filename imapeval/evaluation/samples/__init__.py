"""Reading samples: `read` turns a file, or any other source with a loader, into checked `Sample`s.

A new source needs a loader (see `imapeval.evaluation.samples.loaders`) and its entry in `LOADERS`.
"""

from imapeval.evaluation.samples.building import make_sample
from imapeval.evaluation.samples.loaders import LOADERS, shipped_samples
from imapeval.evaluation.samples.reading import (
    UNNAMED_SYSTEM,
    index_samples,
    name_system_group,
    read,
    system_label,
)

__all__ = [
    "LOADERS",
    "UNNAMED_SYSTEM",
    "index_samples",
    "make_sample",
    "name_system_group",
    "read",
    "shipped_samples",
    "system_label",
]
