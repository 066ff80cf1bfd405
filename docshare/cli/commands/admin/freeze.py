"""``docshare admin freeze`` and ``unfreeze``: block the links of a file during a review."""

from pathlib import Path
from typing import Annotated

import typer

from docshare.cli.framework.admin_channel import Data, resolve_data_dir, run_admin_command, run_change
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP
from docshare.cli.framework.context import current_context
from docshare.cli.framework.dry_run import DryRun
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.operator_files import resolve_reported_file
from docshare.cli.terminal.output import Column, Spec

app = App()

FROZEN_FILE = Spec(
    table=(
        Column("originalName", "NAME", role="bold", flexible=True),
        Column("shortId", "ID", role="id"),
        Column("frozenAt", "FROZEN", kind="when"),
    ),
    plain=("uuid", "shortId", "originalName", "frozenAt"),
    id="uuid",
)

FROZEN_FILES = Spec(
    table=(*FROZEN_FILE.table, Column("owner", "OWNER", rank=1, flexible=True)),
    plain=(*FROZEN_FILE.plain, "owner"),
    id="uuid",
    empty="no file is frozen",
)

File = Annotated[str, typer.Argument(metavar="FILE", help=f"{FILE_HELP} Also a link of a variant.")]


@app.command("freeze", spec=FROZEN_FILES)
def freeze(
    context: typer.Context,
    file: Annotated[str | None, typer.Argument(metavar="FILE", help=f"{FILE_HELP} Also a link of a variant.")] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the frozen files instead.")] = False,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Freeze the links of a file while it is being reviewed.

    Readers see a notice instead of the document; the owner can still open it. The design tool can no longer publish to
    it.

    Examples:

      docshare admin freeze aB3dE5fG7hJ9
      docshare admin freeze https://docs.example.com/offer
      docshare admin freeze --list
    """
    if listing == (file is not None):
        raise Stop(ExitCode.USAGE, "either FILE or --list is required")
    if file is None:
        current_context().emit(run_admin_command(context, data, "frozen"), FROZEN_FILES)
        return ExitCode.OK
    return run_change(context, data, dry_run, FROZEN_FILE, "freeze", file=_resolve_file(context, data, file))


@app.command("unfreeze", spec=FROZEN_FILE)
def unfreeze(context: typer.Context, file: File, data: Data = None, dry_run: DryRun = False) -> ExitCode:
    """Unfreeze the links of a file.

    Examples:

      docshare admin unfreeze aB3dE5fG7hJ9
    """
    return run_change(context, data, dry_run, FROZEN_FILE, "unfreeze", file=_resolve_file(context, data, file))


def _resolve_file(context: typer.Context, data: Path | None, file: str) -> str:
    return resolve_reported_file(current_context(), file, resolve_data_dir(context, data))
