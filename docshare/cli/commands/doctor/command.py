"""``docshare doctor``: check everything from the libraries of the program to the proxy of your own server."""

import re
from typing import Annotated

import typer

from docshare.cli.framework.admin_channel import Data
from docshare.cli.framework.app import App
from docshare.cli.framework.context import current_context
from docshare.cli.framework.exits import ExitCode
from docshare.cli.terminal.output import Column, Spec

app = App()

_UNITS = {"": 1, "B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}
_DEFAULT_BODY = "2MB"
_MAX_BODY_BYTES = 2 * _UNITS["GB"]


GROUPS = {
    "program": "Program",
    "settings": "Settings",
    "server": "Current server",
    "instance": "Server on this machine",
    "public": "Public address of the server",
}
"""The heading of each group of checks."""

_SPEC = Spec(
    table=(
        Column("check", "CHECK"),
        Column("ok", "OK", kind="flag"),
        Column("detail", "FOUND", flexible=True),
        Column("fix", "FIX", flexible=True),
    ),
    plain=("check", "ok", "level", "detail", "fix"),
    id="check",
)


def _parse_size(text: str) -> int:
    match = re.fullmatch(r"(\d{1,12})\s*([KMG]?B)?", text.strip().upper(), re.ASCII)
    size = int(match[1]) * _UNITS[match[2] or ""] if match else 0
    if not 0 < size <= _MAX_BODY_BYTES:
        raise typer.BadParameter(f"{text!r} is not a size such as 500kB, 101MB, or 2GB (at most 2GB)")
    return size


def _check_groups(words: list[str] | None) -> list[str] | None:
    for word in words or []:
        if word not in GROUPS:
            raise typer.BadParameter(f"{word!r} is not one of {', '.join(GROUPS)}.")
    return words


def _check_body_size(text: str) -> str:
    _parse_size(text)
    return text


@app.command("doctor", spec=_SPEC)
def doctor(
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GROUP", callback=_check_groups, help=f"Only these groups: {', '.join(GROUPS)}. Repeatable."
        ),
    ] = None,
    data: Data = None,
    body: Annotated[
        str,
        typer.Option(metavar="SIZE", callback=_check_body_size, help="Maximum test upload through the public address."),
    ] = _DEFAULT_BODY,
    egress: Annotated[
        str | None, typer.Option(metavar="URL", help="Have the server call this URL like a webhook.")
    ] = None,
    mail: Annotated[
        str | None, typer.Option(metavar="EMAIL", help="Have the server send a test email to this address.")
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Mask names, addresses, and paths, for bug reports.")
    ] = False,
) -> ExitCode:
    """Check this program, its settings, and the server.

    For a server on this machine, also checks the server itself (disk, database, mail, converter, background jobs) and
    its public address: whether it reaches the server, its certificate, what a proxy changes, and the size of uploads
    that get through. The command changes nothing and sends requests only to your own server, unless --egress or --mail
    is given. To check completion, it starts your shell, which reads its startup files.

    The exit code is 13 if a check fails; warnings do not change it. A check that does not apply has no value for "ok".
    To verify every stored document, use 'docshare admin check'.

    Examples:

      docshare doctor
      docshare doctor --only public --body 2GB
      docshare doctor --redact > report.txt
      docshare doctor --json | jq -r '.[] | select(.ok == false) | .fix'
    """
    from docshare.cli.commands.doctor.run import DoctorOptions, run_doctor

    ctx = current_context()
    groups = {name: heading for name, heading in GROUPS.items() if not only or name in only}
    options = DoctorOptions(groups, data, _parse_size(body), egress, mail, redact)
    return run_doctor(ctx, options, ctx.emitter(_SPEC))
