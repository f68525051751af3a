"""Actions of the owner of a study: inviting raters, revoking links, ending the study. Each is logged."""

from __future__ import annotations

import secrets
import shlex
from typing import TYPE_CHECKING

import sqlalchemy as sa

from imapeval.errors import UsageError
from imapeval.rating import schema
from imapeval.rating.database import now
from imapeval.rating.setup import record_event
from imapeval.rating.store import OWNER, hash_secret, is_stopped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from imapeval.rating.store import RatingStudy

_SECRET_BYTES = 24
"""192 random bits."""


def make_link(base: str, secret: str) -> str:
    """Return the link that a rater opens. Browsers send nothing after "#" to servers, so it appears in no log.

    Args:
        base: Address of the server, such as "https://rate.example.org".
        secret: The rater's secret.
    """
    return f"{base.rstrip('/')}/enter#{secret}"


def issue_links(study: RatingStudy, names: Iterable[str], *, again: bool = False) -> dict[str, str]:
    """Give a free seat to each rater or, if `again`, replace the raters' links: for all, or for none if one fails.

    Returns:
        Secrets of the links by name. Only their hashes are stored: they cannot be shown again, only replaced.

    Raises:
        UsageError: A name is taken, no seat is free, or the study has been stopped; if `again`, there is no such rater.
    """
    with study.database.write() as connection:
        return {
            name: _reissue(connection, name) if again else _invite(connection, name, study.settings.panel)
            for name in names
        }


def _invite(connection: sa.Connection, name: str, seats: int) -> str:
    raters = schema.raters
    require_running(connection)
    check_name(connection, name)
    free = sa.select(raters.c.id).where(raters.c.name.is_(None)).order_by(raters.c.id).limit(1)
    seat = connection.scalar(free.with_for_update())
    if seat is None:
        raise UsageError(
            f"all {seats} seats are taken. To replace a rater who has left: imapeval rate reassign STUDY NAME --to "
            "NEW-NAME"
        )
    connection.execute(raters.update().where(raters.c.id == seat).values(name=name))
    record_event(connection, "invited", rater=seat, name=name)
    return issue_link(connection, seat)


def invite_owner(study: RatingStudy) -> str:
    """Return a new secret for the owner's pages; earlier ones are revoked."""
    with study.database.write() as connection:
        revoke_links(connection, None)
        record_event(connection, "owner's link")
        return issue_link(connection, None)


def _reissue(connection: sa.Connection, name: str) -> str:
    rater = find_rater(connection, name)
    revoke_links(connection, rater)
    record_event(connection, "reissued", rater=rater)
    return issue_link(connection, rater)


def revoke(study: RatingStudy, name: str) -> None:
    """Revoke a rater's link immediately. The rater's entries and items stay.

    Raises:
        UsageError: There is no such rater.
    """
    with study.database.write() as connection:
        rater = find_rater(connection, name)
        revoke_links(connection, rater)
        record_event(connection, "revoked", rater=rater)


def check_name(connection: sa.Connection, name: str) -> None:
    """Check the name of a new rater.

    Raises:
        UsageError: It is empty, cannot be printed, is taken, or is "owner".
    """
    if not name.strip() or name != name.strip() or not name.isprintable():
        raise UsageError(f"{name!r} is not a name. Give one without spaces around it.")
    if name == OWNER.name:
        # The log and the list of new links name the owner so.
        raise UsageError(f"{name!r} stands for you, the owner of the study. Give the rater another name.")
    if connection.scalar(sa.select(schema.raters.c.id).where(schema.raters.c.name == name)) is not None:
        raise UsageError(
            f"there is already a rater {name!r}. For a new link: imapeval rate invite STUDY --reissue "
            f"{shlex.quote(name)}"
        )


def require_running(connection: sa.Connection) -> None:
    """Check that raters still get answers.

    Raises:
        UsageError: The study has been stopped.
    """
    if is_stopped(connection):
        raise UsageError(
            "the study has been stopped, so raters get no further answers. Take its ratings with: imapeval rate export "
            "STUDY --out FILE"
        )


def find_rater(connection: sa.Connection, name: str) -> int:
    """Return the id of a rater.

    Raises:
        UsageError: There is no such rater.
    """
    id_ = connection.scalar(sa.select(schema.raters.c.id).where(schema.raters.c.name == name))
    if id_ is None:
        known = connection.scalars(sa.select(schema.raters.c.name).where(schema.raters.c.name.is_not(None))).all()
        raise UsageError(f"there is no rater {name!r}. Raters: {', '.join(sorted(known)) or 'none yet'}.")
    return id_


def issue_link(connection: sa.Connection, rater: int | None) -> str:
    """Store the hash of a new secret, and return the secret."""
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    connection.execute(schema.links.insert().values(secret_hash=hash_secret(secret), rater=rater, issued_at=now()))
    return secret


def revoke_links(connection: sa.Connection, rater: int | None) -> None:
    """Revoke all links of a rater, or of the owner (None)."""
    links = schema.links
    whose = links.c.rater.is_(None) if rater is None else links.c.rater == rater
    connection.execute(links.update().where(whose, links.c.revoked_at.is_(None)).values(revoked_at=now()))


def stop(study: RatingStudy, *, reason: str) -> None:
    """End the study: raters get no further items, only adjudicators do. Entries that raters made offline are accepted.

    Raises:
        UsageError: It has ended already.
    """
    with study.database.write() as connection:
        if is_stopped(connection):
            raise UsageError(
                "the study has been stopped already. Take its ratings with: imapeval rate export STUDY --out FILE"
            )
        record_event(connection, "stopped", reason=reason)
