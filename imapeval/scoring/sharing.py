"""One scorer for each set of options: for hosts that call a bare function for every answer."""

from __future__ import annotations

import threading
from typing import Any

from imapeval.errors import UsageError
from imapeval.scoring.scorer import Scorer

_SCORERS: dict[str, Scorer] = {}
_LOCK = threading.Lock()


def shared_scorer(**options: Any) -> Scorer:
    """Return the scorer of these options, opened once for the process: for hosts that call a bare function.

    Args:
        **options: Of `Scorer`. None stands for an option that is not given.

    Raises:
        UsageError: See `Scorer`.
    """
    given = {name: value for name, value in options.items() if value is not None}
    key = repr(sorted(given.items()))
    with _LOCK:
        if key not in _SCORERS:
            try:
                _SCORERS[key] = Scorer(**given)
            except TypeError as error:
                raise UsageError(f"{error}. See imapeval.Scorer for the options.") from error
        return _SCORERS[key]
