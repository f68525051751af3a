"""`imapeval rate invite`, `revoke`, `reassign` and `adjudicate`."""

from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.rate.inputs import DEFAULT_URL, BaseUrlOption, StudyArgument, open_study
from imapeval.cli.options import JsonOption
from imapeval.cli.output import echo, emit_json
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from imapeval.rating.reassignment import HandedOver


def invite(
    study: StudyArgument,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Raters, as the export names them.")
    ] = None,
    *,
    reissue: Annotated[
        bool, typer.Option("--reissue", help="Replace the links of raters; the old ones stop working.")
    ] = False,
    owner: Annotated[bool, typer.Option("--owner", help="Print a new link for yourself, to the owner's page.")] = False,
    url: BaseUrlOption = DEFAULT_URL,
    json_output: JsonOption = False,
) -> None:
    """Print a secret link for each rater, to hand over in private. Links cannot be shown again, only replaced.

    After the end of the study, only --reissue and --owner are possible.
    """
    with open_study(study) as opened:
        from imapeval.rating import administration

        if not names and not owner:
            raise UsageError("name the raters to invite, or give --owner. Example: imapeval rate invite STUDY anna ben")
        secrets = administration.issue_links(opened, names or (), again=reissue)
        if owner:
            secrets["owner"] = administration.invite_owner(opened)
        links = {name: administration.make_link(url, secret) for name, secret in secrets.items()}
    if json_output:
        emit_json(links)
        return
    for name, link in links.items():
        echo(f"{name}: {link}")


def revoke(
    study: StudyArgument, name: Annotated[str, typer.Argument(metavar="NAME", help="Rater whose link stops working.")]
) -> None:
    """Revoke a rater's link at once. The rater's ratings and unrated answers stay."""
    with open_study(study) as opened:
        from imapeval.rating import administration

        administration.revoke(opened, name)
    echo(f"The link of {name} no longer works.")


def reassign(
    study: StudyArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Rater who leaves.")],
    *,
    to: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="New or existing rater who takes over.  [default: all others]"),
    ] = None,
    url: BaseUrlOption = DEFAULT_URL,
    json_output: JsonOption = False,
) -> None:
    """Give a rater's unrated answers to raters who have not had them, and revoke the rater's link.

    After the end of the study, raters get no further answers: use imapeval rate revoke.
    """
    with open_study(study) as opened:
        from imapeval.rating import reassignment

        found = reassignment.reassign(opened, name, to=to)
    if not json_output:
        echo(f"{name} has left the study; the link no longer works.")
        if to is not None and not found.given and not found.open:
            echo(f"{name} had no unrated answers, so {to} gets no answers and no new link.")
    _print(found, url, new=to, as_json=json_output)


def adjudicate(
    study: StudyArgument,
    *,
    by: Annotated[str, typer.Option(metavar="NAME", help="Adjudicator: somebody who does not rate in this study.")],
    apart: Annotated[
        float, typer.Option(min=0, metavar="POINTS", help="Minimum difference between two ratings in a dimension.")
    ],
    url: BaseUrlOption = DEFAULT_URL,
    json_output: JsonOption = False,
) -> None:
    """Give the answers on which raters differ most to an adjudicator, who sees their ratings but no names.

    Only answers with all their ratings are given, after the end of the study also others. Run it again later for
    further ones.
    """
    with open_study(study) as opened:
        from imapeval.rating import reassignment
        from imapeval.rating.monitoring import overview

        found = overview(opened)
        answers = [
            answer.id
            for answer in found.disputed
            if answer.apart >= apart and (found.stopped or answer.raters == opened.settings.raters_per_answer)
        ]
        given = reassignment.adjudicate(opened, answers, by=by)
    _print(given, url, new=by, as_json=json_output)


def _print(found: "HandedOver", url: str, *, new: str | None, as_json: bool) -> None:
    from imapeval.rating.administration import make_link
    from imapeval.report.formatting import pluralize

    link = None if found.secret is None else make_link(url, found.secret)
    if as_json:
        emit_json({"given": found.given, "open": found.open, "link": link})
        return
    for name, count in found.given.items():
        echo(f"{name} gets {pluralize(count, 'answer')}.")
    if found.open:
        who, fix, end = (
            ("everybody", "Add a rater", " --to NEW-NAME") if new is None else (new, "Give them to the others", "")
        )
        echo(
            f"{pluralize(found.open, 'rating')} still without a rater, because {who} has had those answers. {fix}: "
            f"imapeval rate reassign STUDY NAME{end}"
        )
    if link is not None:
        echo(f"{new}: {link}")
