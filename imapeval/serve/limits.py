"""How much the server takes on."""

from __future__ import annotations

from dataclasses import dataclass

from imapeval.errors import UsageError


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the server takes on, beyond which it refuses.

    Attributes:
        body: Bytes of a request's body.
        work: Seconds that a request may take from when it has arrived.
        waiting: Answers that wait or are being scored.
        arriving: Seconds in which the head of a request must arrive, and again its body; and in which somebody who
            reads a response too slowly must catch up.
        connections: Open ones.

    Raises:
        UsageError: One is not above 0.
    """

    body: int = 1 << 20
    work: float = 60.0
    waiting: int = 1000
    arriving: float = 10.0
    connections: int = 1000

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise UsageError(f"the limit {name!r} is {getattr(self, name)}. Give more than 0.")
