"""``docshare admin freeze`` and ``unfreeze``: links on hold while what they show is being reviewed."""

from typing import Annotated

import typer

from docshare.cli.admin_channel import Data, changed
from docshare.cli.dry_run import Doing
from docshare.cli.exits import ExitCode
from docshare.cli.output import Column, Spec
from docshare.cli.typer_compat import App

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

File = Annotated[
    str, typer.Argument(metavar="FILE", help="UUID, short id or link name, also of a link made for one recipient.")
]


@app.command("freeze", spec=FROZEN)
def freeze(context: typer.Context, file: File, data: Data = None, dry_run: Doing = False) -> ExitCode:
    """Freeze the links of a file while it is being reviewed.

    Readers get a page that says so and nothing of the document; its owner keeps reading it. The design tool cannot
    publish to it any more.

    Examples:

      docshare admin freeze aB3dE5fG7hJ9
    """
    return changed(context, data, dry_run, FROZEN, "freeze", file=file)


@app.command("unfreeze", spec=FROZEN)
def unfreeze(context: typer.Context, file: File, data: Data = None, dry_run: Doing = False) -> ExitCode:
    """Open the links of a frozen file again.

    Examples:

      docshare admin unfreeze aB3dE5fG7hJ9
    """
    return changed(context, data, dry_run, FROZEN, "unfreeze", file=file)
