"""``docshare admin restore``: put a backup in place of an instance, or only look whether it is whole."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.admin.backup import DIGEST, STREAM, TOTALS
from docshare.cli.commands.admin.instance import (
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
from docshare.cli.terminal.output import Column, Spec

if TYPE_CHECKING:
    from docshare.server.backup.manifest import Manifest
    from docshare.server.backup.restoring import Verified
    from docshare.server.backup.sources import Source

app = App()

RESTORE = Spec(
    table=(*TOTALS, Column("createdAt", "MADE", kind="when"), DIGEST),
    plain=("path", "bytes", "files", "blobs", "sha256", "seconds", "createdAt", "schema", "program"),
    fields=("data", "aside", "damaged"),
)


@app.command("restore", spec=RESTORE)
def restore(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="IN", help="What 'admin backup' made; - reads stdin.")],
    verify_only: Annotated[
        bool, typer.Option("--verify-only", help="Only check the backup; put nothing back.")
    ] = False,
    expected: Annotated[
        str, typer.Option("--sha256", metavar="DIGEST", help="The SHA-256 that 'admin backup' printed.")
    ] = "",
    hold: Annotated[
        bool, typer.Option("--hold-deliveries", help="Do not send webhooks and mails that were waiting then.")
    ] = False,
    typed: Annotated[str | None, typer.Option("--confirm", metavar="DIR", help="Say the directory again.")] = None,
    data: Data = None,
    dry_run: DryRun = False,
) -> ExitCode:
    """Put a backup in place of the instance in the data directory, once all of it has been verified.

    No server may run on the directory. What is there already is moved into a directory "before-restore-..." inside it,
    never deleted. If the process dies, either the old instance stands or the new one.

    Everything is as it was when the backup was made, also API keys revoked, documents deleted and names redacted since:
    look through them. People and apps sign in again. Webhooks and mails that were waiting are sent, perhaps for the
    second time; --hold-deliveries keeps them back ("admin deliveries retry" sends one after all). Ids in event streams
    go on far above the old ones, so that no saved cursor misses an event.

    Examples:

      docshare admin restore docshare-2026-09-21.tar --data /srv/docshare
      docshare admin restore docshare-2026-09-21.tar --verify-only
      age -d docshare.tar.age | docshare admin restore - --yes
    """
    ctx = current_context()
    directory = resolve_data_dir(context, data)
    where: dict[str, Any] = {}
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
    return report_damage(ctx, manifest)


@contextmanager
def _open_source(ctx: Context, source: str) -> "Iterator[Source]":
    from docshare.server.backup import sources

    if source == STREAM:
        if ctx.stdin_tty:
            raise Stop(ExitCode.USAGE, "a backup does not come from a terminal", hint="Pipe it in, or name a file.")
        with sources.streamed(binary_stream(ctx.stdin)) as found:
            yield found
        return
    path = Path(source)
    if not path.exists():
        raise Stop(ExitCode.USAGE, f"there is no {path}")
    with sources.opened(path) as found:
        yield found


def _require_replaceable(ctx: Context, directory: Path, typed: str | None) -> None:
    """Get consent where an instance is replaced; Stop (2) for a directory with something else in it."""
    known = ("docshare.db", "lock", "restoring")
    inside = set(os.listdir(directory)) - {"lost+found"} if directory.is_dir() else set()
    if inside and not inside.intersection(known):
        raise Stop(
            ExitCode.USAGE, f"{directory} is not empty and holds no docshare data", hint="Name another one with --data."
        )
    if "docshare.db" in inside:
        warning = f"Replacing the instance in {directory} (it is kept inside, in a directory before-restore-...)"
        confirm_irreversible(ctx, warning, [str(directory)], typed=typed)


def _verify_backup(ctx: Context, source: "Source", expected: str) -> "Verified":
    import tempfile

    from docshare.cli.terminal import progress
    from docshare.server.backup.manifest import BadBackup
    from docshare.server.backup.restoring import verify

    with tempfile.TemporaryDirectory() as scratch, progress.show_progress(ctx, "verify", 1) as bar:
        verified = verify(source, Path(scratch), make_progress_callback(bar))
    if expected not in ("", verified.sha256):
        raise BadBackup(f"it is another backup: its manifest has the SHA-256 {verified.sha256}")
    return verified


def _restore_backup(
    ctx: Context, source: "Source", directory: Path, expected: str, *, hold: bool
) -> tuple["Verified", dict[str, Any]]:
    from docshare.cli.terminal import progress
    from docshare.server.backup.restoring import restore as put_back

    with progress.show_progress(ctx, "restore", 1) as bar:
        verified, aside = put_back(
            source, directory, now=ctx.now(), hold=hold, expected=expected, progress=make_progress_callback(bar)
        )
    if aside is not None:
        ctx.note(f"what was there before is in {aside}")
    manifest = verified.manifest
    if manifest.counts.get("webhooks") and "vault.key" not in manifest.files:
        ctx.note("the backup holds no vault.key: put yours into the data directory, or webhooks cannot be signed for")
    return verified, {"data": str(directory), "aside": str(aside) if aside else None}


def _describe_origin(manifest: "Manifest") -> dict[str, Any]:
    from docshare.contract.wire import instant

    return {"createdAt": instant(manifest.created_at), "schema": manifest.schema, "program": manifest.program}
