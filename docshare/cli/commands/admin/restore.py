"""``docshare admin restore``: replace an instance with a backup, or only verify the backup."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.admin.backup import DIGEST, STREAM, TOTALS
from docshare.cli.commands.admin.instance import (
    load_config_of,
    lock_data_dir,
    make_progress_callback,
    report_damage,
    summarize_manifest,
    translate_backup_errors,
)
from docshare.cli.framework.admin_channel import Data, resolve_data_dir
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, binary_stream, current_context
from docshare.cli.framework.dry_run import DryRun
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.prompts import confirm_irreversible
from docshare.cli.terminal import progress
from docshare.cli.terminal.output import Column, Spec
from docshare.contract.wire import format_instant

if TYPE_CHECKING:
    from docshare.server.backup.manifest import Manifest
    from docshare.server.backup.restoring import VerifiedBackup
    from docshare.server.backup.sources import Source

app = App()

RESTORE = Spec(
    table=(*TOTALS, Column("createdAt", "CREATED", kind="when"), DIGEST),
    plain=("path", "bytes", "files", "blobs", "sha256", "seconds", "createdAt", "schema", "program"),
    fields=("data", "aside", "damaged"),
)


@app.command("restore", spec=RESTORE)
def restore(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="IN", help="Backup from 'admin backup'; '-' is stdin.")],
    verify_only: Annotated[bool, typer.Option("--verify-only", help="Only verify the backup.")] = False,
    expected: Annotated[
        str, typer.Option("--sha256", metavar="DIGEST", help="Require this SHA-256, as printed by 'admin backup'.")
    ] = "",
    hold: Annotated[bool, typer.Option("--hold-deliveries", help="Do not send queued webhooks and emails.")] = False,
    typed: Annotated[
        str | None, typer.Option("--confirm", metavar="DIR", help="Confirm by repeating the directory.")
    ] = None,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Verify a backup and replace the instance with it.

    No server may be running on the data directory. An existing instance is moved to "before-restore-..." in the same
    directory and never deleted. If the process is interrupted, the directory contains either the old or the new
    instance.

    The restored instance is that of the time of the backup. It includes API keys that were revoked and documents that
    were deleted or redacted since then, so review them. People and apps must sign in again. Queued webhooks and emails
    are sent, possibly for the second time; --hold-deliveries prevents that ("admin deliveries retry" sends one of
    them). New event ids start far above the old ones, so that saved cursors miss no events.

    Examples:

      docshare admin restore docshare-2026-09-21.tar --data /srv/docshare
      docshare admin restore docshare-2026-09-21.tar --verify-only
      age -d docshare.tar.age | docshare admin restore - --yes
    """
    ctx = current_context()
    directory = resolve_data_dir(context, data)
    where: dict[str, Any] = {}
    if not verify_only and load_config_of(directory).database_url is not None:
        raise Stop(
            ExitCode.USAGE,
            "cannot restore into a folder while database_url is set (environment or config.toml)",
            hint="Restore without it, then: docshare admin move --to-database URL",
        )
    with translate_backup_errors(directory), _open_source(ctx, source) as found:
        if not (verify_only or dry_run):
            _require_replaceable(ctx, directory, typed)
        began = ctx.monotonic()
        if verify_only or dry_run:
            verified = _verify_backup(ctx, found, expected)
        else:
            with lock_data_dir(directory):
                verified, where = _restore_backup(ctx, found, directory, expected, hold=hold)
    manifest = verified.manifest
    row = {"path": source, **summarize_manifest(manifest, verified.sha256, ctx.monotonic() - began), **where}
    ctx.emit({**row, **_describe_origin(manifest)}, RESTORE)
    return report_damage(ctx, manifest, verified.undecryptable)


@contextmanager
def _open_source(ctx: Context, source: str) -> "Iterator[Source]":
    from docshare.server.backup import sources

    if source == STREAM:
        if ctx.stdin_tty:
            raise Stop(
                ExitCode.USAGE, "refusing to read a backup from a terminal", hint="Redirect stdin, or give a file."
            )
        with sources.open_stream(binary_stream(ctx.stdin)) as found:
            yield found
        return
    path = Path(source)
    if not path.exists():
        raise Stop(ExitCode.USAGE, f"{path} does not exist")
    with sources.open_source(path) as found:
        yield found


def _require_replaceable(ctx: Context, directory: Path, typed: str | None) -> None:
    """Ask for confirmation before replacing an instance. Raise Stop (2) if the directory contains something else."""
    known = ("docshare.db", "lock", "restoring")
    inside = set(os.listdir(directory)) - {"lost+found"} if directory.is_dir() else set()
    if inside and not inside.intersection(known):
        raise Stop(
            ExitCode.USAGE,
            f"{directory} is not empty and is not a docshare data directory",
            hint="Use another one with --data.",
        )
    if "docshare.db" in inside:
        warning = f"Replacing the instance in {directory} (it is kept in the subdirectory before-restore-...)"
        confirm_irreversible(ctx, warning, [str(directory)], typed=typed)


def _verify_backup(ctx: Context, source: "Source", expected: str) -> "VerifiedBackup":
    import tempfile

    from docshare.server.backup.manifest import InvalidBackup
    from docshare.server.backup.restoring import verify

    with tempfile.TemporaryDirectory() as scratch, progress.show_progress(ctx, "verify", 1) as bar:
        verified = verify(source, Path(scratch), make_progress_callback(bar))
    if expected not in ("", verified.sha256):
        raise InvalidBackup(f"the SHA-256 of its manifest is {verified.sha256}")
    return verified


def _restore_backup(
    ctx: Context, source: "Source", directory: Path, expected: str, *, hold: bool
) -> tuple["VerifiedBackup", dict[str, Any]]:
    from docshare.server.backup.restoring import restore as put_back

    with progress.show_progress(ctx, "restore", 1) as bar:
        verified, aside = put_back(
            source, directory, now=ctx.now(), hold=hold, expected=expected, progress=make_progress_callback(bar)
        )
    if aside is not None:
        ctx.note(f"the previous instance is in {aside}")
    manifest = verified.manifest
    if "vault.key" not in manifest.files:
        ctx.note("the backup has no vault.key; copy yours to the data directory, or no document can be read")
    with suppress(Stop):  # a backup may contain wrong settings; the next command reports them
        config = load_config_of(directory)
        for setting, place in (("database_url", "rows"), ("storage_url", "documents")):
            if getattr(config, setting) is not None:
                ctx.warn(f"the restored {place} are in {directory}, but {setting} names another place; remove it first")
    return verified, {"data": str(directory), "aside": str(aside) if aside else None}


def _describe_origin(manifest: "Manifest") -> dict[str, Any]:
    return {"createdAt": format_instant(manifest.created_at), "schema": manifest.schema, "program": manifest.program}
