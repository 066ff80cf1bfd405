"""``docshare admin trash`` and ``sweep``: manage deleted files, and purge expired ones."""

from typing import Annotated

import typer

from docshare.cli.framework.admin_channel import Data, Email, run_admin_command, run_change
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.framework.dry_run import DryRun
from docshare.cli.framework.exits import ExitCode
from docshare.cli.framework.prompts import confirm_irreversible
from docshare.cli.terminal.output import Column, Spec

app = App()
trash = App("List, restore, and purge deleted files.")
app.add_typer(trash, name="trash")

_TRASH = Spec(
    table=(
        Column("originalName", "NAME", role="bold", flexible=True),
        Column("shortId", "ID", role="id"),
        Column("size", "SIZE", kind="size"),
        Column("trashedAt", "DELETED", kind="when"),
        Column("purgeAt", "PURGED", kind="when"),
        Column("slug", "SLUG"),
    ),
    plain=("uuid", "shortId", "originalName", "size", "trashedAt", "purgeAt", "slug"),
    id="uuid",
    empty="the trash is empty",
)
_COUNTS = ("burned", "purged", "expired", "removed")
_SWEEP = Spec(table=tuple(Column(name, name.upper()) for name in _COUNTS), plain=_COUNTS)


_TrashedFile = Annotated[str, typer.Argument(metavar="FILE", help="UUID or short id of the deleted file.")]


@trash.command("list", spec=_TRASH)
def trash_list(context: typer.Context, email: Email, data: Data = None) -> None:
    """List the files in the trash of an account, newest first.

    Examples:

      docshare admin trash list ada@example.com
    """
    current_context().emit(run_admin_command(context, data, "trash list", email=email), _TRASH)


@trash.command("restore", spec=_TRASH)
def trash_restore(context: typer.Context, file: _TrashedFile, data: Data = None, dry_run: DryRun = False) -> ExitCode:
    """Restore a deleted file with link, readership, and events.

    The restored file counts toward the file limit of the account.

    Examples:

      docshare admin trash restore aB3dE5fG7hJ9
    """
    return run_change(context, data, dry_run, _TRASH, "trash restore", file=file)


@trash.command("purge", spec=_TRASH)
def trash_purge(
    context: typer.Context,
    file: _TrashedFile,
    typed: Annotated[str | None, typer.Option("--confirm", metavar="FILE", help="Confirm by repeating FILE.")] = None,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Purge a deleted file and its readership now.

    This cannot be undone.

    Examples:

      docshare admin trash purge aB3dE5fG7hJ9 --yes
    """
    if not dry_run:
        confirm_irreversible(current_context(), f"Purging {file} with its readership", [file], typed=typed)
    return run_change(context, data, dry_run, _TRASH, "trash purge", file=file)


@app.command("sweep", spec=_SWEEP)
def sweep(context: typer.Context, data: Data = None, dry_run: DryRun = False) -> ExitCode:
    """Purge burned, expired, and long-deleted files now.

    A running server does this every few seconds.

    Examples:

      docshare admin sweep
    """
    return run_change(context, data, dry_run, _SWEEP, "sweep")
