"""``docshare admin move``: copy an instance to another database and storage, or back into a folder."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from docshare.cli.commands.admin.instance import lock_data_dir, make_progress_callback
from docshare.cli.framework.admin_channel import (
    Data,
    load_admin_config,
    require_data,
    resolve_data_dir,
    translate_data_errors,
)
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import DryRun, preview_changes
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal import progress
from docshare.cli.terminal.output import Column, Spec

if TYPE_CHECKING:
    from docshare.server.backup.moving import MoveResult
    from docshare.server.config import Config

app = App()

MOVE = Spec(
    table=(
        Column("to", "TO", role="bold", flexible=True),
        Column("rows", "ROWS"),
        Column("documents", "CONTENTS"),
        Column("bytes", "SIZE", kind="size"),
    ),
    plain=("to", "rows", "documents", "bytes", "seconds"),
    fields=("tables", "damaged"),
)


@app.command("move", spec=MOVE)
def move(
    context: typer.Context,
    to_database: Annotated[
        str | None, typer.Option("--to-database", metavar="URL", help="An empty PostgreSQL database.")
    ] = None,
    to_storage: Annotated[
        str | None, typer.Option("--to-storage", metavar="URL", help="A bucket or a folder for the documents.")
    ] = None,
    to_data: Annotated[Path | None, typer.Option("--to-data", metavar="DIR", help="A new data directory.")] = None,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Copy the instance to another database or storage.

    No server may be running on the instance. Every row and document is read back and compared with its source, which is
    not changed. Rows are copied in one transaction, all or none; documents that an interrupted command has copied are
    not copied again.

    After --to-database, set DOCSHARE_DATABASE_URL to the same address, after --to-storage DOCSHARE_STORAGE_URL, and
    start the server on the same data directory, which keeps the key. After --to-data, start the server with that
    directory and without the variables. Do not start the old one again: the two would differ.

    Examples:

      docshare admin move --to-database postgresql://docshare@db.example.com/docshare
      docshare admin move --to-storage 's3://docs?endpoint=https://s3.example.com&region=eu'
      docshare admin move --to-data /srv/docshare
    """
    ctx = current_context()
    directory = resolve_data_dir(context, data)
    if (to_database is None and to_storage is None) == (to_data is None):
        raise Stop(ExitCode.USAGE, "admin move needs either --to-data, or --to-database, --to-storage, or both")
    require_data(directory)
    began = ctx.monotonic()
    with translate_data_errors(directory), lock_data_dir(directory):
        config = load_admin_config(directory)
        with _require_no_other_server(config):
            if to_data is not None:
                folder = _require_new_folder(to_data, directory)
                place, result = str(folder), _move_to_folder(ctx, config, folder, dry_run)
            else:
                database, storage = _parse_address("database", to_database), _parse_address("storage", to_storage)
                place = " ".join(_hide_password(url) for url in (to_database, to_storage) if url)
                result = _move_to_engines(ctx, config, database, storage, dry_run)
    if result is None:
        return ExitCode.OK
    row: dict[str, Any] = {
        "to": place,
        "rows": sum(result.rows.values()),
        "documents": result.documents,
        "bytes": result.size,
        "seconds": round(ctx.monotonic() - began, 1),
        "tables": result.rows,
        "damaged": sorted(result.damaged),
    }
    ctx.emit(row, MOVE)
    for key in sorted(result.damaged):
        ctx.warn(f"the stored content {key} is missing or damaged; run docshare admin check on the source")
    return ExitCode.CHECK_FAILED if result.damaged else ExitCode.OK


@contextmanager
def _require_no_other_server(config: "Config") -> Iterator[None]:
    """Keep instances of all hosts from serving the database during the block. Raise Stop (7) if one is running."""
    from docshare.server.runtime import open_store
    from docshare.server.store.database import SERVING_LOCK

    if config.database_url is None:  # the data directory is locked
        yield
        return
    with closing(open_store(config)) as store, store.try_lock(SERVING_LOCK) as is_mine:
        if not is_mine:
            raise Stop(
                ExitCode.CONFLICT, "an instance is serving this database", hint="Stop the instances of all hosts first."
            )
        yield


def _parse_address(kind: str, url: str | None) -> str | None:
    """Return the address after ``--to-database`` or ``--to-storage``. Raise Stop (2)."""
    from docshare.server.config import OPTIONS

    try:
        return None if url is None else str(OPTIONS[f"{kind}_url"](url))
    except ValueError as error:
        raise Stop(ExitCode.USAGE, f"--to-{kind}: {error}") from None


def _move_to_engines(
    ctx: Context, config: "Config", database: str | None, storage: str | None, dry_run: bool
) -> "MoveResult | None":
    """Copy documents first, because a second try continues with them, and rows last."""
    from docshare.server.backup import moving
    from docshare.server.runtime import open_blobs

    if database is not None and database == config.database_url:
        raise Stop(ExitCode.USAGE, "the instance uses this database already")
    if storage is not None and storage == config.storage_url:
        raise Stop(ExitCode.USAGE, "the instance uses this storage already")
    target = replace(config, database_url=database, storage_url=storage)
    if dry_run:
        places = [_hide_password(url) for url in (database, storage) if url]
        preview_changes(ctx, *(("WRITE", Path(place), _count_rows(config)) for place in places))
        return None
    result = moving.MoveResult({}, 0, 0, ())
    with _translate_refusals(), progress.show_progress(ctx, "move", 1) as bar:
        if storage is not None:
            result = moving.move_to_storage(config, open_blobs(target), make_progress_callback(bar))
        if database is not None:
            rows = moving.move_to_database(config, target, make_progress_callback(bar)).rows
            result = replace(result, rows=rows)
    return result


def _move_to_folder(ctx: Context, config: "Config", folder: Path, dry_run: bool) -> "MoveResult | None":
    from docshare.server.backup import moving

    if dry_run:
        preview_changes(ctx, ("WRITE", folder, _count_rows(config)))
        return None
    with _translate_refusals(), progress.show_progress(ctx, "move", 1) as bar:
        return moving.move_to_folder(config, folder, make_progress_callback(bar))


def _require_new_folder(folder: Path, source: Path) -> Path:
    """Return the absolute path of a folder that is empty, or that an interrupted move left. Raise Stop (2)."""
    folder = folder.expanduser().absolute()
    known = {"blobs", "tmp", "cache", "vault.key", "docshare.db.part", "docshare.db.part-wal", "docshare.db.part-shm"}
    if folder == source or (folder.is_dir() and set(os.listdir(folder)) - known):
        raise Stop(ExitCode.USAGE, f"{folder} is not empty", hint="Name a new directory with --to-data.")
    return folder


def _count_rows(config: "Config") -> dict[str, int]:
    from docshare.server.runtime import open_store
    from docshare.server.store import copying

    with _translate_refusals(), closing(open_store(config)) as store:
        return {"rows": sum(copying.count_rows(store).values())}


@contextmanager
def _translate_refusals() -> Iterator[None]:
    from docshare.server.store.copying import NotCopyableError

    try:
        yield
    except NotCopyableError as error:
        raise Stop(ExitCode.CONFLICT, str(error), hint="Nothing was changed.") from None


def _hide_password(url: str) -> str:
    parts = urlsplit(url)
    return url.replace(f":{parts.password}@", ":***@") if parts.password else url
