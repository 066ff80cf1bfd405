"""``docshare admin outbox`` and ``docshare admin invite``: the mails of an instance, and who gets one."""

from typing import Annotated

import typer

from docshare.cli.admin_channel import Data, asked
from docshare.cli.context import current
from docshare.cli.invites import INVITE
from docshare.cli.output import Column, Spec
from docshare.cli.typer_compat import App

outbox = App("The mails that the instance wrote.")

_MAIL = Spec(
    table=(
        Column("to", "TO", role="bold", flexible=True),
        Column("subject", "SUBJECT", flexible=True, rank=2),
        Column("state", "STATE", role="warn", rank=1),
        Column("createdAt", "WRITTEN", kind="when", rank=3),
        Column("error", "ERROR", flexible=True, rank=4),
        Column("uuid", "UUID", role="id"),
    ),
    plain=("uuid", "state", "createdAt", "to", "subject", "attempts", "nextAttemptAt", "sentAt", "error"),
    id="uuid",
    empty="no mails",
)
_MESSAGE = Spec(plain=("message",), fields=_MAIL.plain, id="uuid")


@outbox.command("list", spec=_MAIL)
def outbox_list(context: typer.Context, data: Data = None) -> None:
    """List the mails of the last 30 days, newest first.

    STATE is 'sent', 'queued' (the next attempt is due), 'failed' (given up), or 'kept': written while no mail server
    was configured. A mail server is named by DOCSHARE_SMTP_URL.

    Examples:

      docshare admin outbox list
      docshare admin outbox list --json | jq -r '.[] | select(.state == "failed") | .error'
    """
    current().emit(asked(context, data, "outbox list"), _MAIL)


@outbox.command("show", spec=_MESSAGE)
def outbox_show(
    context: typer.Context,
    uuid: Annotated[str, typer.Argument(metavar="UUID", help="The mail, from 'outbox list'.")],
    data: Data = None,
) -> None:
    """Print one mail as it is sent: headers and text, which mail programs read as an .eml file.

    Examples:

      docshare admin outbox show 6f1c2e9a-3b0d-4d53-9a51-0c8d3f5f8f10 > mail.eml
    """
    ctx = current()
    mail = asked(context, data, "outbox show", uuid=uuid)
    printer = ctx.emitter(_MESSAGE)
    if printer.natural:
        ctx.write(mail["message"])
    else:
        printer.emit(mail)


def invite(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="UUID or short id of the file.")],
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="Whom to invite.")],
    name: Annotated[str | None, typer.Option(help="The person's name.")] = None,
    mail: Annotated[bool, typer.Option("--mail/--no-mail", help="Write to them, if there is a mail server.")] = True,
    data: Data = None,
) -> None:
    """Invite somebody to a file by a personal link, whosever file it is.

    An address that was invited before keeps its link.

    Examples:

      docshare admin invite aB3dE5fG7hJ9 ann@example.com --name "Ann Lee"
    """
    answer = asked(context, data, "invite", file=file, email=email, name=name, mail="yes" if mail else "no")
    current().emit(answer, INVITE)
