"""``docshare doctor``: what is wrong, from the program's own libraries to what stands before a server of one's own."""

import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from docshare.cli.commands.doctor.checks import Found, Scene, made, masked
from docshare.cli.framework.admin_channel import Data
from docshare.cli.framework.app import App
from docshare.cli.framework.context import Context, current
from docshare.cli.framework.exits import ExitCode
from docshare.cli.terminal.output import Column, Emitter, Spec
from docshare.cli.terminal.text import clean
from docshare.contract.findings import ERROR, WARNING

app = App()

_UNITS = {"": 1, "B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}
_USUAL_BODY = "2MB"
_MOST_BODY = 2 * _UNITS["GB"]


def _program(scene: Scene) -> Found:
    from docshare.cli.commands.doctor.program import PROGRAM

    return made(PROGRAM, scene)


def _settings(scene: Scene) -> Found:
    from docshare.cli.commands.doctor.program import SETTINGS

    return made(SETTINGS, scene)


def _server(scene: Scene) -> Found:
    from docshare.cli.commands.doctor.server import SERVER

    return made(SERVER, scene)


def _instance(scene: Scene) -> Found:
    from docshare.cli.commands.doctor.instance import instance

    return instance(scene)


def _public(scene: Scene) -> Found:
    from docshare.cli.commands.doctor.instance import public

    return public(scene)


GROUPS: dict[str, tuple[str, Callable[[Scene], Found]]] = {
    "program": ("This program", _program),
    "settings": ("Its settings", _settings),
    "server": ("The server in effect", _server),
    "instance": ("A server of this machine", _instance),
    "public": ("... as its readers reach it", _public),
}
"""Group -> its heading and its checks."""

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


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d{1,12})\s*([KMG]?B)?", text.strip().upper(), re.ASCII)
    size = int(match[1]) * _UNITS[match[2] or ""] if match else 0
    if not 0 < size <= _MOST_BODY:
        raise typer.BadParameter(f"{text!r} is no size such as 500KB, 101MB or 2GB (at most 2GB)")
    return size


def _group(words: list[str] | None) -> list[str] | None:
    for word in words or []:
        if word not in GROUPS:
            raise typer.BadParameter(f"{word!r} is not one of {', '.join(GROUPS)}.")
    return words


def _body(text: str) -> str:
    _size(text)
    return text


@app.command("doctor", spec=_SPEC)
def doctor(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP", callback=_group, help=f"Only these checks: {', '.join(GROUPS)}."),
    ] = None,
    data: Data = None,
    body: Annotated[
        str, typer.Option(metavar="SIZE", callback=_body, help="Send up to so much through the public address.")
    ] = _USUAL_BODY,
    egress: Annotated[
        str | None, typer.Option(metavar="URL", help="Let the server call this address as a webhook would be.")
    ] = None,
    mail: Annotated[
        str | None, typer.Option(metavar="EMAIL", help="Let the server send a test mail to this address.")
    ] = None,
    redact: Annotated[bool, typer.Option("--redact", help="Hide names, addresses and paths: for bug reports.")] = False,
) -> ExitCode:
    """Check this program, its settings, and the way to the server.

    With a server on this machine also the server itself (disk, database, mail, converter, background work) and the
    way that its readers take: whether the public address leads to it, the certificate, what a proxy before it changes,
    and how large an upload gets through. It sends requests to your own server only, unless --egress or --mail ask for
    more, and changes nothing.

    Exit code 13 if a check failed; a warning (level "warning") leaves it 0. A check that does not apply has no value
    under "ok". 'docshare admin check' looks at every stored byte, which this does not.

    Examples:

      docshare doctor
      docshare doctor --only public --body 2GB
      docshare doctor --redact > report.txt
      docshare doctor --json | jq -r '.[] | select(.ok == false) | .fix'
    """
    ctx = current()
    printer = ctx.emitter(_SPEC)
    wish = {key: value for key, value in (("egress", egress), ("mail", mail)) if value}
    scene = Scene(ctx, data=data, wish=wish, body=_size(body))
    scene.hide(urlsplit(egress or "").hostname, "<host>")
    rows = []
    for group in GROUPS:
        if not only or group in only:
            rows += list(_examined(group, scene, printer, redact))
    if not printer.for_people:
        printer.emit(rows)
    failed = [row for row in rows if row["level"] == ERROR]
    if printer.for_people:
        _sum_up(ctx, rows)
    return ExitCode.CHECK_FAILED if failed else ExitCode.OK


def _examined(group: str, scene: Scene, printer: Emitter, redact: bool) -> Iterator[dict[str, Any]]:
    """The rows of one group; a person sees each as soon as it is there."""
    heading, checks = GROUPS[group]
    ctx = scene.ctx
    if printer.for_people:
        ctx.print(ctx.out_screen.paint("bold", heading))
    for name, finding in checks(scene):
        row = finding.row(f"{group}.{name}")
        row |= {key: ctx.redact(row[key]) for key in ("detail", "fix")}
        row = masked(row, scene.private) if redact else row
        if printer.for_people:
            for line in _drawn(ctx, name, row):
                ctx.print(line)
            ctx.flush()
        yield row


_SIGNS = {True: ("✓", "ok"), None: ("·", "dim"), False: ("✗", "error")}


def _drawn(ctx: Context, name: str, row: dict[str, Any]) -> Iterator[str]:
    screen = ctx.out_screen
    sign, role = ("!", "warn") if row["level"] == WARNING else _SIGNS[row["ok"]]
    detail = clean(row["detail"])
    mark = f"{screen.glyph(sign):<2}"
    yield f"  {screen.paint(role, mark)} {name:<12} {screen.paint('dim', detail) if row['ok'] is None else detail}"
    if row["ok"] is False and row["fix"]:
        yield f"     {screen.paint('bold', 'fix:')} {clean(row['fix'])}"


def _sum_up(ctx: Context, rows: list[dict[str, Any]]) -> None:
    wrong = sum(row["level"] == ERROR for row in rows)
    warnings = sum(row["level"] == WARNING for row in rows)
    if not wrong and not warnings:
        ctx.note("all is well")
        return
    words = "warning" if warnings == 1 else "warnings"
    ctx.err(f"{wrong} failed, {warnings} {words}", "error" if wrong else "warn")
