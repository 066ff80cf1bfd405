"""``docshare admin backup``: back up an instance to an archive, or incrementally to a directory."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from docshare.cli.commands.admin.instance import (
    load_config_of,
    make_progress_callback,
    open_external_blobs,
    report_damage,
    require_instance,
    snapshot_database,
    summarize_manifest,
    translate_backup_errors,
)
from docshare.cli.framework.admin_channel import Data, translate_data_errors
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import DryRun, preview_changes
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import require_absent
from docshare.cli.terminal import progress
from docshare.cli.terminal.output import Column, Spec

if TYPE_CHECKING:
    from docshare.server.backup.archive import Progress, Sink
    from docshare.server.backup.making import BackupResult, ExternalParts

app = App()

TOTALS = (
    Column("path", "PATH", role="bold", flexible=True),
    Column("files", "FILES"),
    Column("blobs", "CONTENTS"),
    Column("bytes", "DATA", kind="size"),
)
DIGEST = Column("sha256", "MANIFEST SHA-256", role="id")
BACKUP = Spec(
    table=(
        *TOTALS,
        Column("written", "NEW", kind="size"),
        Column("archiveBytes", "ARCHIVE", kind="size"),
        DIGEST,
    ),
    plain=("path", "bytes", "files", "blobs", "sha256", "seconds", "written", "archiveBytes"),
    fields=("damaged",),
)
_ARCHIVE_SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst")
_PACKERS_BY_SUFFIX = {".zst": "zstd", ".xz": "xz", ".bz2": "bzip2", ".age": "age -r RECIPIENT", ".gpg": "gpg -e"}
_ZSTD_LEVEL = 3
_GZIP_LEVEL = 1  # documents are already compressed; only the database shrinks
STREAM = "-"


@app.command("backup", spec=BACKUP)
def backup(
    context: typer.Context,
    out: Annotated[str, typer.Argument(metavar="OUT", help="FILE.tar, .tar.gz, .tar.zst, a directory, or -.")],
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite an archive, or the backup of another instance.")
    ] = False,
    without_key: Annotated[
        bool, typer.Option("--without-key", help="Omit the key that decrypts the secrets in the database.")
    ] = False,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Back up the whole instance while it runs.

    The backup is a snapshot of the database, the documents, the keys, and the settings; reading and uploading continue.
    An archive is a tar file. A directory stores each document once under its SHA-256, so the next backup to it copies
    only new documents and removes deleted ones. OUT appears only when the backup is complete. Files deleted
    during the backup are included, and are removed after it.

    A backup contains all secrets, including webhook secrets, so protect it like the data directory. Documents that are
    purged later remain in earlier backups. For other compression or encryption, use a pipe. The exit code is 13 if a
    stored document is damaged, or the key is missing or wrong; everything else is backed up nevertheless.

    On a pipe, prints one line per field. bytes is the size of the data: database, documents, keys, and settings;
    written is the part of it that the backup did not contain before. archiveBytes is the size of the archive, which is
    larger because of its headers and list of files, or smaller because of compression.

    Examples:

      docshare admin backup docshare-$(date +%F).tar
      docshare admin backup /mnt/backup/docshare
      docshare admin backup - | age -r age1... > docshare.tar.age
    """
    from docshare.server.backup.making import hold_backup_lock

    ctx = current_context()
    directory = require_instance(context, data)
    target = None if out == STREAM else Path(out)
    _require_target(ctx, target, force)
    if dry_run:
        return _preview_backup(ctx, directory, out)
    began = ctx.monotonic()
    # The lock comes first, because opening an archive removes the unfinished one of a killed backup.
    with (
        translate_backup_errors(directory),
        hold_backup_lock(directory),
        _open_sink(ctx, target, force) as (sink, staging),
    ):
        made = _write_backup(ctx, directory, sink, staging or directory / "tmp" / "backup.db", with_key=not without_key)
    row = {
        "path": out,
        **summarize_manifest(made.manifest, made.sha256, ctx.monotonic() - began),
        "written": made.written,
    }
    if target is not None and _is_archive(target):
        row["archiveBytes"] = target.stat().st_size
    if target is None:
        ctx.note(f"manifest SHA-256: {made.sha256}")
    else:
        ctx.emit(row, BACKUP)
    return report_damage(ctx, made.manifest, made.undecryptable)


def _require_target(ctx: Context, target: Path | None, force: bool) -> None:
    if target is None:
        if ctx.stdout_tty:
            raise Stop(
                ExitCode.USAGE, "refusing to write a backup to a terminal", hint="Redirect stdout, or write to a file."
            )
        return
    suffix = target.suffix.lower()
    if not _is_archive(target) and suffix in (*_PACKERS_BY_SUFFIX, ".zip"):
        packer = _PACKERS_BY_SUFFIX.get(suffix)
        raise Stop(
            ExitCode.USAGE,
            f"{target.suffix} is not supported; use {', '.join(_ARCHIVE_SUFFIXES)} or a directory",
            hint=f"Pipe it: docshare admin backup - | {packer} > {target.name}" if packer else "",
        )
    if not _is_archive(target):
        from docshare.server.backup.archive import require_usable_directory

        try:
            require_usable_directory(target)
        except FileExistsError:
            raise Stop(
                ExitCode.USAGE, f"{target} is not empty and is not a backup", hint="Use another directory."
            ) from None
    else:
        require_absent(target, force=force)


def _is_archive(target: Path) -> bool:
    return target.name.lower().endswith(_ARCHIVE_SUFFIXES) and not target.is_dir()


@contextmanager
def _open_sink(ctx: Context, target: Path | None, force: bool) -> "Iterator[tuple[Sink, Path | None]]":
    """Yield the target of the backup and the path of the temporary database copy.

    Publish the backup after the block.
    """
    from docshare.server.backup.archive import DirectorySink, OtherInstance, TarSink

    if target is None:
        ctx.flush()
        yield TarSink(_StdoutStream(ctx)), None  # type: ignore[arg-type]  # only ``write`` is used
    elif _is_archive(target):
        part = target.with_name(f"{target.name}.part")
        with _open_archive(target, part) as stream:
            yield TarSink(stream), target.with_name(f"{target.name}.db.part")
    else:
        try:
            yield DirectorySink(target, takeover=force), target / "docshare.db.copy"
        except OtherInstance:
            raise Stop(
                ExitCode.CONFLICT,
                f"{target} is the backup of another instance",
                hint="Use another directory, or --force to replace that backup.",
            ) from None


@contextmanager
def _open_archive(target: Path, part: Path) -> Iterator[IO[bytes]]:
    import gzip

    name = target.name.lower()
    part.unlink(missing_ok=True)
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", buffering=1 << 20) as file:
            if name.endswith("zst"):
                import zstandard

                with zstandard.ZstdCompressor(level=_ZSTD_LEVEL).stream_writer(file, closefd=False) as packed:
                    yield packed
            elif name.endswith("z"):
                with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as packed:
                    yield packed  # type: ignore[misc]  # a binary stream like any other
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink()


class _StdoutStream:
    """Standard output as a binary stream; a closed pipe ends the command as usual."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def write(self, data: bytes) -> None:
        self._ctx.write(data)

    def flush(self) -> None:
        self._ctx.flush()


def _write_backup(ctx: Context, directory: Path, sink: "Sink", staging: Path, *, with_key: bool) -> "BackupResult":
    from docshare.server.backup.making import make_backup
    from docshare.server.runtime import open_vault

    with progress.show_progress(ctx, "backup", 1) as bar:
        return make_backup(
            directory,
            sink,
            staging,
            open_vault(load_config_of(directory)),
            now=ctx.now(),
            with_key=with_key,
            progress=make_progress_callback(bar),
            external=_find_external_parts(directory),
        )


def _find_external_parts(directory: Path) -> "ExternalParts | None":
    """Return the parts of the instance that are not in its data directory, or None."""
    from docshare.server.backup.making import ExternalParts, hold_removals
    from docshare.server.backup.moving import export_database
    from docshare.server.runtime import open_store

    config = load_config_of(directory)
    if config.database_url is None and config.storage is None and config.secret_key_file is None:
        return None

    def copy(path: Path, report: "Progress") -> None:
        with translate_data_errors(directory):
            export_database(config, path)
        report(path.stat().st_size)

    @contextmanager
    def hold() -> Iterator[None]:
        with translate_data_errors(directory), closing(open_store(config)) as store, hold_removals(store):
            yield

    shared = config.database_url is not None
    return ExternalParts(
        copy if shared else None,
        hold if shared else nullcontext,
        config.vault_path,
        open_external_blobs(config),
    )


def _preview_backup(ctx: Context, directory: Path, out: str) -> ExitCode:
    from docshare.server.backup import reading
    from docshare.server.store.tables import contents

    with (
        translate_backup_errors(directory),
        snapshot_database(directory) as path,
        reading.open_database(path) as database,
    ):
        size = reading.database_size(path) + sum(row.size for row in contents.stream_rows(database))
        values = {"files": reading.count_tables(database)["files"], "bytes": size}
    return preview_changes(ctx, ("WRITE", Path(out), values))
