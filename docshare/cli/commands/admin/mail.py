"""``docshare admin outbox`` and ``docshare admin invite``: the mails of an instance, and who gets one."""

from typing import Annotated

import typer

from docshare.cli.commands.invites import INVITE
from docshare.cli.framework.admin_channel import Data, resolve_data_dir, run_admin_command, run_change
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import OPERATOR_HELP, resolve_operator_file
from docshare.cli.framework.context import current_context
from docshare.cli.framework.dry_run import DryRun
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean
from docshare.contract.fields import is_uuid

app = App()

outbox = App("The mails that the instance wrote.")
app.add_typer(outbox, name="outbox")

_SHORT_UUID_CHARS = 8  # characters of a UUID that people see, and that "outbox show" understands

_MAIL = Spec(
    table=(
        Column("to", "TO", role="bold", flexible=True),
        Column("subject", "SUBJECT", flexible=True),
        Column("state", "STATE", role="warn", rank=1),
        Column("createdAt", "WRITTEN", kind="when", rank=3),
        Column("error", "ERROR", flexible=True, rank=4),
        Column("uuid", "MAIL", role="id", show=lambda row: clean(str(row["uuid"])[:_SHORT_UUID_CHARS])),
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
    current_context().emit(run_admin_command(context, data, "outbox list"), _MAIL)


@outbox.command("show", spec=_MESSAGE)
def outbox_show(
    context: typer.Context,
    uuid: Annotated[str, typer.Argument(metavar="MAIL", help="UUID from 'outbox list', or its beginning.")],
    data: Data = None,
) -> None:
    """Print one mail as it is sent: headers and text, which mail programs read as an .eml file.

    Examples:

      docshare admin outbox show 6f1c2e9a-3b0d-4d53-9a51-0c8d3f5f8f10 > mail.eml
    """
    ctx = current_context()
    mail = run_admin_command(context, data, "outbox show", uuid=_resolve_uuid(context, data, uuid))
    printer = ctx.emitter(_MESSAGE)
    if printer.natural:
        ctx.write(mail["message"])
    else:
        printer.emit(mail)


def _resolve_uuid(context: typer.Context, data: Data, beginning: str) -> str:
    """The UUID of the one mail that begins so; what fits none is left to be refused. Stop (2) where it fits many."""
    if is_uuid(beginning):
        return beginning
    listed = (str(row["uuid"]) for row in run_admin_command(context, data, "outbox list"))
    found = [uuid for uuid in listed if uuid.startswith(beginning.lower())]
    if len(found) > 1:
        raise Stop(ExitCode.USAGE, f"{len(found)} mails begin with {beginning!r}", hint="Write more of the UUID.")
    return found[0] if found else beginning


@app.command("invite", spec=INVITE)
def invite(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help=OPERATOR_HELP)],
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="Whom to invite.")],
    name: Annotated[str | None, typer.Option(help="The person's name.")] = None,
    mail: Annotated[bool, typer.Option("--mail/--no-mail", help="Write to them, if there is a mail server.")] = True,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Invite somebody to a file by a personal link, whosever file it is.

    An address that was invited before keeps its link.

    Examples:

      docshare admin invite aB3dE5fG7hJ9 ann@example.com --name "Ann Lee"
    """
    ctx = current_context()
    wish = {"email": email, "name": name, "mail": "yes" if mail else "no"}
    return run_change(
        context,
        data,
        dry_run,
        INVITE,
        "invite",
        file=resolve_operator_file(ctx, file, resolve_data_dir(context, data)),
        **wish,
    )
