"""``docshare admin vault``: show, replace and export the master key."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from docshare.cli.framework.admin_channel import Data, run_admin_command, run_change
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.framework.dry_run import DryRun
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Column, Spec

app = App("Show, replace, and export the master key.")

VAULT = Spec(
    table=(
        Column("name", "MASTER KEY", flexible=True),
        Column("keys", "KEYS", kind="number"),
        Column("sealedCurrent", "CURRENT", kind="number"),
        Column("sealedEarlier", "EARLIER", kind="number"),
        Column("unreadable", "UNREADABLE", kind="number"),
        Column("encrypted", "ENCRYPTED", show=lambda row: f"{row['encrypted']} of {row['stored']}"),
    ),
    plain=(
        "source", "name", "fingerprint", "keys", "sealedCurrent", "sealedEarlier", "unreadable", "encryption",
        "encrypted", "stored",
    ),
)  # fmt: skip
EXPORT = Spec(table=(Column("key", "MASTER KEY"),), plain=("key",), once=("key",))


@app.command("status", spec=VAULT)
def vault_status(context: typer.Context, data: Data = None) -> None:
    """Show the master key and the state of encryption.

    EARLIER counts secrets that an earlier master key encrypts until a rotation has finished, UNREADABLE those whose
    master key was lost.

    Examples:

      docshare admin vault status
    """
    current_context().emit(run_admin_command(context, data, "vault status"), VAULT)


@app.command("rotate", spec=VAULT)
def vault_rotate(context: typer.Context, data: Data = None, dry_run: DryRun = False) -> ExitCode:
    """Replace the master key, and encrypt all keys with it.

    The documents are not encrypted again. A running server keeps serving. If the command is interrupted, run it again.
    During a backup the key is not replaced, and the exit code is 7.
    A key file of yours (DOCSHARE_SECRET_KEY_FILE) or a command must have the new key first and the old one after it
    before you rotate; remove the old one afterwards.

    Examples:

      docshare admin vault rotate
    """
    return run_change(context, data, dry_run, VAULT, "vault rotate")


@app.command("export", spec=EXPORT)
def vault_export(
    context: typer.Context,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a new private FILE.")
    ] = None,
    data: Data = None,
) -> ExitCode:
    """Print the master key, to keep a copy in a safe place.

    Without it, no document can be read, also not from a backup that was made with --without-key. The key is printed in
    hexadecimal digits. A file with the printed lines can be used as DOCSHARE_SECRET_KEY_FILE or as vault.key.

    Examples:

      docshare admin vault export | age -r age1... > master.age
      docshare admin vault export -o /media/usb/docshare.key
    """
    ctx = current_context()
    found: dict[str, Any] = run_admin_command(context, data, "vault export")
    if output is None:
        ctx.emit([{"key": key} for key in found["keys"]], EXPORT)
        return ExitCode.OK
    try:
        with open(output.expanduser(), "x", encoding="ascii", opener=_open_private) as file:
            file.write("".join(f"{key}\n" for key in found["keys"]))
    except OSError as error:
        raise Stop(ExitCode.USAGE, f"cannot write {output}: {error.strerror}") from None
    ctx.note(f"master key written to {output}")
    return ExitCode.OK


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
