"""``docshare admin check``: check the integrity of the instance and repair it."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from docshare.cli.commands.admin.instance import (
    load_config_of,
    lock_data_dir,
    make_progress_callback,
    open_external_blobs,
    require_instance,
    snapshot_database,
    translate_backup_errors,
)
from docshare.cli.framework.admin_channel import Data
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import DryRun
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal import progress
from docshare.cli.terminal.output import Column, Spec
from docshare.private_files import is_locked

app = App()

CHECK = Spec(
    table=(
        Column("ok", "OK", kind="flag"),
        Column("check", "CHECK"),
        Column("detail", "FOUND", flexible=True),
        Column("fix", "FIX", flexible=True, rank=1),
    ),
    plain=("check", "ok", "detail", "fix"),
)


@app.command("check", spec=CHECK)
def check(
    context: typer.Context,
    quick: Annotated[bool, typer.Option("--quick", help="Compare sizes without reading documents.")] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what is possible, while no server is running.")
    ] = False,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Check the database, documents, keys, and permissions.

    The command reads and decrypts every document and compares its SHA-256. A server may be
    running. --repair fixes permissions, rebuilds indexes, freezes the links of damaged documents, and moves
    unreferenced files to a directory "lost-and-found" with a report. It deletes nothing. The directory may contain
    files that were deleted just before a crash, so empty it after reviewing the report.

    The exit code is 13 if the check finds a problem.

    Examples:

      docshare admin check
      docshare admin check --quick --json
      docshare admin check --repair
    """
    from docshare.server.backup.checking import InstanceCheck
    from docshare.server.runtime import open_vault

    ctx = current_context()
    directory = require_instance(context, data)
    config = load_config_of(directory)
    if repair and config.database_url is not None:
        raise Stop(ExitCode.USAGE, "--repair needs a SQLite database; this one is on a PostgreSQL server")
    if repair and config.storage is not None:
        raise Stop(ExitCode.USAGE, "--repair needs documents in the data directory; these are in DOCSHARE_STORAGE_URL")
    done = []
    with translate_backup_errors(directory):
        if repair and not dry_run:
            from docshare.server.backup.repairing import repair as mend

            with lock_data_dir(directory):
                done = mend(directory, open_vault(config), now=ctx.now())
        with snapshot_database(directory) as database, progress.show_progress(ctx, "check", 1) as bar:
            run = InstanceCheck(
                directory,
                vault=open_vault(config),
                database=database,
                blobs=open_external_blobs(config),
                now=ctx.now(),
                serving=is_locked(directory / "lock"),
                hashes=not quick,
                progress=make_progress_callback(bar),
            )
            rows = [finding.to_row() for finding in (*done, *run.list_findings())]
    printer = ctx.emitter(CHECK)
    if printer.is_for_people:
        ctx.write("".join(f"{line}\n" for row in rows for line in _render_row(ctx, row)))
    else:
        printer.emit(rows)
    return ExitCode.OK if all(row["ok"] for row in rows) else ExitCode.CHECK_FAILED


def _render_row(ctx: Context, row: Mapping[str, Any]) -> Iterator[str]:
    screen = ctx.out_screen
    sign, role = ("✓", "ok") if row["ok"] else ("✗", "error")
    yield f"{screen.paint(role, screen.glyph(sign))} {row['check']:<12} {ctx.sanitize(row['detail'])}"
    if row["fix"]:
        yield f"  {screen.paint('bold', 'fix:')} {ctx.sanitize(row['fix'])}"
