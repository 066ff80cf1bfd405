"""``docshare doctor``: check everything from the libraries of the program to the proxy of your own server."""

import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from docshare.cli.commands.doctor.checks import CheckContext, NamedFindings, mask_row, run_checks
from docshare.cli.framework.admin_channel import Data
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode
from docshare.cli.terminal.output import Column, Emitter, Spec
from docshare.cli.terminal.text import clean
from docshare.contract.findings import ERROR, WARNING

app = App()

_UNITS = {"": 1, "B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}
_DEFAULT_BODY = "2MB"
_MAX_BODY_BYTES = 2 * _UNITS["GB"]


def _check_program(scene: CheckContext) -> NamedFindings:
    from docshare.cli.commands.doctor.program import PROGRAM_CHECKS

    return run_checks(PROGRAM_CHECKS, scene)


def _check_settings(scene: CheckContext) -> NamedFindings:
    from docshare.cli.commands.doctor.program import SETTINGS_CHECKS

    return run_checks(SETTINGS_CHECKS, scene)


def _check_server(scene: CheckContext) -> NamedFindings:
    from docshare.cli.commands.doctor.server import SERVER_CHECKS

    return run_checks(SERVER_CHECKS, scene)


def _check_instance(scene: CheckContext) -> NamedFindings:
    from docshare.cli.commands.doctor.instance import check_instance

    return check_instance(scene)


def _check_public(scene: CheckContext) -> NamedFindings:
    from docshare.cli.commands.doctor.instance import check_public

    return check_public(scene)


GROUPS: dict[str, tuple[str, Callable[[CheckContext], NamedFindings]]] = {
    "program": ("Program", _check_program),
    "settings": ("Settings", _check_settings),
    "server": ("Current server", _check_server),
    "instance": ("Server on this machine", _check_instance),
    "public": ("Public address of the server", _check_public),
}
"""The heading and the checks of each group."""

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
        raise typer.BadParameter(f"{text!r} is not a size such as 500KB, 101MB or 2GB (at most 2GB)")
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
    redact: Annotated[bool, typer.Option("--redact", help="Mask names, addresses and paths, for bug reports.")] = False,
) -> ExitCode:
    """Check this program, its settings and the server.

    For a server on this machine, also checks the server itself (disk, database, mail, converter, background jobs) and
    its public address: whether it reaches the server, its certificate, what a proxy changes, and the size of uploads
    that get through. The command changes nothing and sends requests only to your own server, unless --egress or --mail
    is given.

    The exit code is 13 if a check fails; warnings do not change it. A check that does not apply has no value for "ok".
    To verify every stored document, use 'docshare admin check'.

    Examples:

      docshare doctor
      docshare doctor --only public --body 2GB
      docshare doctor --redact > report.txt
      docshare doctor --json | jq -r '.[] | select(.ok == false) | .fix'
    """
    ctx = current_context()
    printer = ctx.emitter(_SPEC)
    requested_tests = {key: value for key, value in (("egress", egress), ("mail", mail)) if value}
    scene = CheckContext(ctx, data=data, requested_tests=requested_tests, body=_parse_size(body))
    scene.mask(urlsplit(egress or "").hostname, "<host>")
    rows = []
    for group in GROUPS:
        if not only or group in only:
            rows += list(_run_group(group, scene, printer, redact))
    if not printer.is_for_people:
        printer.emit(rows)
    failed = [row for row in rows if row["level"] == ERROR]
    if printer.is_for_people:
        _print_summary(ctx, rows)
    return ExitCode.CHECK_FAILED if failed else ExitCode.OK


def _run_group(group: str, scene: CheckContext, printer: Emitter, redact: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows of a group, printing each one immediately for people."""
    heading, checks = GROUPS[group]
    ctx = scene.ctx
    if printer.is_for_people:
        ctx.print(ctx.out_screen.paint("bold", heading))
    for name, finding in checks(scene):
        row = finding.row(f"{group}.{name}")
        row |= {key: ctx.redact(row[key]) for key in ("detail", "fix")}
        row = mask_row(row, scene.private) if redact else row
        if printer.is_for_people:
            for line in _render_row(ctx, name, row):
                ctx.print(line)
            ctx.flush()
        yield row


_SIGNS = {True: ("✓", "ok"), None: ("·", "dim"), False: ("✗", "error")}


def _render_row(ctx: Context, name: str, row: dict[str, Any]) -> Iterator[str]:
    screen = ctx.out_screen
    sign, role = ("!", "warn") if row["level"] == WARNING else _SIGNS[row["ok"]]
    detail = clean(row["detail"])
    mark = f"{screen.glyph(sign):<2}"
    yield f"  {screen.paint(role, mark)} {name:<12} {screen.paint('dim', detail) if row['ok'] is None else detail}"
    if row["ok"] is False and row["fix"]:
        yield f"     {screen.paint('bold', 'fix:')} {clean(row['fix'])}"


def _print_summary(ctx: Context, rows: list[dict[str, Any]]) -> None:
    wrong = sum(row["level"] == ERROR for row in rows)
    warnings = sum(row["level"] == WARNING for row in rows)
    if not wrong and not warnings:
        ctx.note("all checks passed")
        return
    words = "warning" if warnings == 1 else "warnings"
    ctx.err(f"{wrong} failed, {warnings} {words}", "error" if wrong else "warn")
