"""``docshare admin outbox`` and ``docshare admin invite``: show emails, and invite people."""

from typing import Annotated

import typer

from docshare.cli.commands.invites import INVITE
from docshare.cli.framework.admin_channel import Data, resolve_data_dir, run_admin_command, run_change
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.framework.dry_run import DryRun
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.operator_files import OPERATOR_HELP, resolve_operator_file
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean
from docshare.contract.fields import is_uuid

app = App()

outbox = App("Show the emails that the instance sends.")
app.add_typer(outbox, name="outbox")

_SHORT_UUID_CHARS = 8  # of a UUID in the table; "outbox show" accepts any prefix

_MAIL = Spec(
    table=(
        Column("to", "TO", role="bold", flexible=True),
        Column("subject", "SUBJECT", flexible=True),
        Column("state", "STATE", role="warn", rank=1),
        Column("createdAt", "CREATED", kind="when", rank=3),
        Column("error", "ERROR", flexible=True, rank=4),
        Column("uuid", "UUID", role="id", show=lambda row: clean(str(row["uuid"])[:_SHORT_UUID_CHARS])),
    ),
    plain=("uuid", "state", "createdAt", "to", "subject", "attempts", "nextAttemptAt", "sentAt", "error"),
    id="uuid",
    empty="no emails",
)
_MESSAGE = Spec(plain=("message",), fields=_MAIL.plain, id="uuid")


@outbox.command("list", spec=_MAIL)
def outbox_list(context: typer.Context, data: Data = None) -> None:
    """List the emails of the last 30 days, newest first.

    STATE is 'sent', 'queued' (waiting for the next attempt), 'failed' (no more attempts), or 'kept' (created without a
    mail server). Configure a mail server with DOCSHARE_SMTP_URL.

    Examples:

      docshare admin outbox list
      docshare admin outbox list --json | jq -r '.[] | select(.state == "failed") | .error'
    """
    current_context().emit(run_admin_command(context, data, "outbox list"), _MAIL)


@outbox.command("show", spec=_MESSAGE)
def outbox_show(
    context: typer.Context,
    uuid: Annotated[str, typer.Argument(metavar="UUID", help="UUID from 'outbox list', or a prefix.")],
    data: Data = None,
) -> None:
    """Print an email with headers and text, as an .eml file.

    Examples:

      docshare admin outbox show 6f1c2e9a-3b0d-4d53-9a51-0c8d3f5f8f10 > mail.eml
    """
    ctx = current_context()
    mail = run_admin_command(context, data, "outbox show", uuid=_resolve_uuid(context, data, uuid))
    printer = ctx.emitter(_MESSAGE)
    if printer.is_default_shape:
        ctx.write(mail["message"])
    else:
        printer.emit(mail)


def _resolve_uuid(context: typer.Context, data: Data, prefix: str) -> str:
    """Return the UUID of the email that begins with ``prefix``, or ``prefix`` for none: the server rejects it.

    Raise Stop (2) if several emails match.
    """
    if is_uuid(prefix):
        return prefix
    listed = (str(row["uuid"]) for row in run_admin_command(context, data, "outbox list"))
    found = [uuid for uuid in listed if uuid.startswith(prefix.lower())]
    if len(found) > 1:
        raise Stop(ExitCode.USAGE, f"{len(found)} emails match {prefix!r}", hint="Use a longer prefix.")
    return found[0] if found else prefix


@app.command("invite", spec=INVITE)
def invite(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help=OPERATOR_HELP)],
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="Email address to invite.")],
    name: Annotated[str | None, typer.Option(help="Name of the person, as readers see it.")] = None,
    mail: Annotated[bool, typer.Option("--mail/--no-mail", help="Email the link, if there is a mail server.")] = True,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Invite a person to a file of any account.

    The person gets a personal link. An address that was already invited keeps its link.

    Examples:

      docshare admin invite aB3dE5fG7hJ9 ann@example.com --name "Ann Lee"
    """
    ctx = current_context()
    arguments = {"email": email, "name": name, "mail": "yes" if mail else "no"}
    return run_change(
        context,
        data,
        dry_run,
        INVITE,
        "invite",
        file=resolve_operator_file(ctx, file, resolve_data_dir(context, data)),
        **arguments,
    )
