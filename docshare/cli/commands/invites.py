"""``docshare invites``: personal links for email addresses."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.bulk import run_each
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import DryRunSend, format_body, print_requests
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean
from docshare.contract.wire import drop_none

app = App("Invite people by email, each with a personal link.")

INVITE = Spec(
    table=(
        Column("email", "EMAIL", role="bold", flexible=True),
        Column("name", "NAME", rank=3),
        Column("url", "LINK", role="id", link="url"),
        Column("createdAt", "INVITED", kind="when", rank=4),
        Column("viewedAt", "READ", kind="when", rank=1),
    ),
    plain=("url", "email", "uuid", "createdAt", "viewedAt", "name"),
    id="url",
    empty="no invitations; create one with: docshare invites create FILE EMAIL",
)

_File = Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)]


@app.command("list", spec=INVITE)
def list_invites(file: _File) -> None:
    """List the people invited to a file.

    [Pro] Newest first. READ is the time of the first counted view; it is empty for people who have not read the file.

    Examples:

      docshare invites list @last
      docshare invites list slug:offer --json | jq -r '.[] | select(.viewedAt == null) | .email'
    """
    ctx = current_context()
    with ctx.client() as client:
        ctx.emit(client.invites.list(FileResolver(ctx, client).resolve(file)), INVITE)


def _render_row(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    yield f"{context.out_screen.paint('id', clean(str(row['url'])))}  {clean(str(row['email']))}"


_CREATE_SPEC = Spec(plain=("url",), fields=INVITE.plain, id="url", human=_render_row, once=("url",))


@app.command("create", spec=_CREATE_SPEC)
def create(
    file: _File,
    emails: Annotated[list[str], typer.Argument(metavar="EMAIL...", help="Email addresses to invite.")],
    name: Annotated[str | None, typer.Option(help="Name of the person (only with one address).")] = None,
    mail: Annotated[bool, typer.Option("--mail/--no-mail", help="Have the server email the links.")] = True,
    dry_run: DryRunSend = False,
) -> ExitCode:
    """Invite people to a file, each with a personal link.

    [Pro] The server emails the links if it has a mail server; the links are printed in any case. A personal link skips
    a gate that only asks for an email address, and the readership report lists the reader under the invited address.
    Inviting an address again prints its existing link.

    Examples:

      docshare invites create @last ann@example.com --name "Ann Lee"
      docshare invites create slug:offer ann@example.com bob@example.com --no-mail
    """
    if name is not None and len(emails) > 1:
        raise Stop(
            ExitCode.USAGE, "--name requires exactly one address", hint="Invite each person with a separate command."
        )
    ctx = current_context()
    with ctx.client() as client:
        uuid = FileResolver(ctx, client).resolve(file)
        addresses = list(dict.fromkeys(emails))
        if dry_run:
            bodies = (drop_none({"email": email, "mail": mail, "name": name}) for email in addresses)
            return print_requests(
                ctx, [("POST", f"/api/v1/files/{uuid}/invites", format_body(body)) for body in bodies]
            )
        invite = partial(client.invites.create, uuid, name=name, mail=mail)
        return run_each(ctx, ctx.emitter(_CREATE_SPEC), addresses, "email", invite)
