"""``docshare whoami``: show the account behind the credential."""

from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.terminal.output import Column, Spec

app = App()

_ACCOUNT = Spec(
    table=(
        Column("email", "email", role="bold"),
        Column("name", "name"),
        Column("tier", "plan"),
        Column("limits.activeFiles", "files"),
        Column("limits.maxActiveFiles", "file limit"),
        Column("limits.maxUploadBytes", "upload limit", kind="size"),
        Column("uuid", "uuid", role="dim"),
    ),
    plain=("email", "tier", "uuid", "name"),
    fields=("subscription", "isAdmin", "created_at", "limits"),
    id="uuid",
)


@app.command("whoami", spec=_ACCOUNT)
def whoami() -> None:
    """Show the account behind the credential.

    Prints the profile and the server on standard error.

    Examples:

      docshare whoami
      docshare whoami --fields tier
      docshare whoami --json --profile work
    """
    ctx = current_context()
    printer = ctx.emitter(_ACCOUNT)
    printer.emit(ctx.client().account.show())
    connection = ctx.connection
    if printer.is_for_people:
        name = f"profile {connection.profile.value}, " if connection.profile.value else ""
        ctx.note(f"{name}{connection.origin}, credential from {connection.source}")
