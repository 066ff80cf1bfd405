"""``docshare admin backup``: all of an instance into one archive, or into a directory that keeps what is there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from docshare.cli.commands.admin.instance import (
    make_progress_callback,
    report_damage,
    require_instance,
    summarize_manifest,
    translate_backup_errors,
)
from docshare.cli.framework.admin_channel import Data
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.dry_run import DryRun
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Column, Spec

if TYPE_CHECKING:
    from docshare.server.backup.archive import Sink
    from docshare.server.backup.making import Made

app = App()

TOTALS = (
    Column("path", "PATH", role="bold", flexible=True),
    Column("files", "FILES"),
    Column("blobs", "CONTENTS"),
    Column("bytes", "SIZE", kind="size"),
)
DIGEST = Column("sha256", "MANIFEST SHA-256", role="id")
BACKUP = Spec(
    table=(*TOTALS, Column("written", "NEW", kind="size"), DIGEST),
    plain=("path", "bytes", "files", "blobs", "sha256", "seconds", "written"),
    fields=("damaged",),
)
_ARCHIVE_SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst")
_PACKERS_BY_SUFFIX = {".zst": "zstd", ".xz": "xz", ".bz2": "bzip2", ".age": "age -r RECIPIENT", ".gpg": "gpg -e"}
_ZSTD_LEVEL = 3
_GZIP_LEVEL = 1  # documents are compressed already; the database is what gets smaller
STREAM = "-"


@app.command("backup", spec=BACKUP)
def backup(
    context: typer.Context,
    out: Annotated[str, typer.Argument(metavar="OUT", help="FILE.tar, .tar.gz, .tar.zst, a directory, or -.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite an archive, or another instance's backup.")] = False,
    without_key: Annotated[
        bool, typer.Option("--without-key", help="Leave out the key that opens the secrets in the database.")
    ] = False,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Back up the whole instance while it runs: database, documents, keys and settings.

    The backup is the instance as it was at one instant; readers and uploads go on meanwhile. An archive is one
    file that any tar reads. A directory keeps every content once under its SHA-256: the next backup to the same
    directory copies only what is new, and removes what is gone. Nothing stands under OUT before it is whole.

    What is deleted meanwhile is in it, and is destroyed once it has ended.

    A backup opens everything, webhook secrets included: keep it as safe as the data directory. Documents that were
    destroyed stay in the backups made before. Other ways of packing, and encrypting, go behind a pipe. Exit code 13 if
    a document in the store is damaged; the rest is backed up all the same.

    Examples:

      docshare admin backup docshare-$(date +%F).tar
      docshare admin backup /mnt/backup/docshare
      docshare admin backup - | age -r age1... > docshare.tar.age
    """
    ctx = current_context()
    directory = require_instance(context, data)
    target = None if out == STREAM else Path(out)
    _require_target(ctx, target, force)
    if dry_run:
        return _preview_backup(ctx, directory, out)
    began = ctx.monotonic()
    with translate_backup_errors(directory), _open_sink(ctx, target, force) as (sink, staging):
        made = _write_backup(ctx, directory, sink, staging or directory / "tmp" / "backup.db", with_key=not without_key)
    row = {
        "path": out,
        **summarize_manifest(made.manifest, made.sha256, ctx.monotonic() - began),
        "written": made.written,
    }
    if target is None:
        ctx.note(f"manifest SHA-256: {made.sha256}")
    else:
        ctx.emit(row, BACKUP)
    return report_damage(ctx, made.manifest)


def _require_target(ctx: Context, target: Path | None, force: bool) -> None:
    if target is None:
        if ctx.stdout_tty:
            raise Stop(ExitCode.USAGE, "a backup is not for a terminal", hint="Redirect stdout, or name a file.")
        return
    if not _is_archive(target) and target.suffix in (*_PACKERS_BY_SUFFIX, ".zip"):
        packer = _PACKERS_BY_SUFFIX.get(target.suffix)
        raise Stop(
            ExitCode.USAGE,
            f"cannot write {target.suffix}: only {', '.join(_ARCHIVE_SUFFIXES)} and directories",
            hint=f"Pipe it: docshare admin backup - | {packer} > {target.name}" if packer else "",
        )
    if not _is_archive(target):
        from docshare.server.backup.archive import require_free

        try:
            require_free(target)
        except FileExistsError:
            raise Stop(
                ExitCode.USAGE, f"{target} is not empty and holds no backup", hint="Name another directory."
            ) from None
    elif target.exists() and not force:
        raise Stop(ExitCode.USAGE, f"{target} exists", hint="Give --force to overwrite it.")


def _is_archive(target: Path) -> bool:
    return target.name.endswith(_ARCHIVE_SUFFIXES) and not target.is_dir()


@contextmanager
def _open_sink(ctx: Context, target: Path | None, force: bool) -> "Iterator[tuple[Sink, Path | None]]":
    """Where the backup goes, and where the copy of the database lies meanwhile; it is in place when the block ends."""
    from docshare.server.backup.archive import DirectorySink, OtherInstance, TarSink

    if target is None:
        ctx.flush()
        yield TarSink(_StdoutStream(ctx)), None  # type: ignore[arg-type]  # all it does is write
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
                f"{target} holds the backup of another instance",
                hint="Name another directory, or give --force to replace that backup.",
            ) from None


@contextmanager
def _open_archive(target: Path, part: Path) -> Iterator[IO[bytes]]:
    import gzip

    part.unlink(missing_ok=True)
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", buffering=1 << 20) as file:
            if target.name.endswith("zst"):
                import zstandard

                with zstandard.ZstdCompressor(level=_ZSTD_LEVEL).stream_writer(file, closefd=False) as packed:
                    yield packed
            elif target.name.endswith("z"):
                with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as packed:
                    yield packed  # type: ignore[misc]  # as good a stream as any
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink()


class _StdoutStream:
    """Standard output: whoever goes away there ends the command as always."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def write(self, data: bytes) -> None:
        self._ctx.write(data)

    def flush(self) -> None:
        self._ctx.flush()


def _write_backup(ctx: Context, directory: Path, sink: "Sink", staging: Path, *, with_key: bool) -> "Made":
    from docshare.cli.terminal import progress
    from docshare.server.backup.making import make

    with progress.show_progress(ctx, "backup", 1) as bar:
        return make(directory, sink, staging, now=ctx.now(), with_key=with_key, progress=make_progress_callback(bar))


def _preview_backup(ctx: Context, directory: Path, out: str) -> ExitCode:
    from docshare.cli.framework.dry_run import preview_changes
    from docshare.server.backup import reading

    with translate_backup_errors(directory), reading.opened(directory / "docshare.db") as database:
        rows = list(reading.rows(database))
        size = reading.size_of(directory / "docshare.db") + sum(row.size for row in rows)
        values = {"files": reading.counts(database)["files"], "bytes": size}
    return preview_changes(ctx, ("WRITE", Path(out), values))
