"""``docshare admin freeze`` and ``unfreeze``: links on hold while what they show is being reviewed."""

from typing import Annotated

import typer

from docshare.cli.framework.admin_channel import Data, asked, changed
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, of_reported
from docshare.cli.framework.context import current
from docshare.cli.framework.dry_run import Doing
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Column, Spec

app = App()

FROZEN = Spec(
    table=(
        Column("originalName", "NAME", role="bold", flexible=True),
        Column("shortId", "ID", role="id"),
        Column("frozenAt", "FROZEN", kind="when"),
    ),
    plain=("uuid", "shortId", "originalName", "frozenAt"),
    id="uuid",
)

LIST = Spec(
    table=(*FROZEN.table, Column("owner", "OWNER", rank=1, flexible=True)),
    plain=(*FROZEN.plain, "owner"),
    id="uuid",
    empty="no file is frozen",
)

File = Annotated[str, typer.Argument(metavar="FILE", help=f"{FILE_HELP} Also a link made for one recipient.")]


@app.command("freeze", spec=LIST)
def freeze(
    context: typer.Context,
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help=f"{FILE_HELP} Also a link made for one recipient.")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the frozen files instead.")] = False,
    data: Data = None,
    dry_run: Doing = False,
) -> ExitCode:
    """Freeze the links of a file while it is being reviewed.

    Readers get a page that says so and nothing of the document; its owner keeps reading it. The design tool cannot
    publish to it any more.

    Examples:

      docshare admin freeze aB3dE5fG7hJ9
      docshare admin freeze https://docs.example.com/offer
      docshare admin freeze --list
    """
    if listing == (file is not None):
        raise Stop(ExitCode.USAGE, "give a FILE or --list, and not both")
    if file is None:
        current().emit(asked(context, data, "frozen"), LIST)
        return ExitCode.OK
    return changed(context, data, dry_run, FROZEN, "freeze", file=of_reported(current(), file))


@app.command("unfreeze", spec=FROZEN)
def unfreeze(context: typer.Context, file: File, data: Data = None, dry_run: Doing = False) -> ExitCode:
    """Open the links of a frozen file again.

    Examples:

      docshare admin unfreeze aB3dE5fG7hJ9
    """
    return changed(context, data, dry_run, FROZEN, "unfreeze", file=of_reported(current(), file))
