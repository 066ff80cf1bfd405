"""``docshare readership report``: write the report as one HTML file that opens in any browser."""

import base64
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.browse import may_open
from docshare.cli.commands.files.download import DOWNLOAD_SPEC
from docshare.cli.commands.readership.days import ReportDays, SinceOption, UntilOption, parse_days
from docshare.cli.commands.readership.sessions import explain_forbidden
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDOUT, require_absent
from docshare.cli.local.storage import replace_file
from docshare.client.errors import Refused
from docshare.contract.features import required_plan
from docshare.contract.plans import Plan

if TYPE_CHECKING:
    from docshare.client import Client
    from docshare.report import ReportInput

app = App()

REPORT_SPEC = DOWNLOAD_SPEC

_TIERS = {plan.tier: plan for plan in Plan}
_SKIPPABLE_STATUSES = (403, 404)  # not in the plan, or no such endpoint


@app.command("report", spec=REPORT_SPEC)
def write_report(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="F.html", help="File to write; '-' is stdout.")
    ] = "report.html",
    since: SinceOption = None,
    until: UntilOption = None,
    no_thumbnails: Annotated[bool, typer.Option("--no-thumbnails", help="Omit the page thumbnails.")] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write the readership report of a file as an HTML file.

    The report contains everything that the plan includes, with charts, tables and notes. It loads no external resources
    and runs no scripts. Page thumbnails are rendered on this machine from the stored PDF, for the first 60 pages of
    documents up to 100 MB. --since and --until limit the sessions; marks, annotations, notes, and receipts are always
    those of all time. The file contains personal data of your readers and is readable only by you.

    Examples:

      docshare readership report @last -o report.html --open
      docshare readership report @last --since 6d -o week.html
      docshare readership report slug:offer -o - --no-thumbnails > report.html
    """
    ctx = current_context()
    printer = ctx.emitter(REPORT_SPEC)
    days = parse_days(ctx, since, until)
    _check_target(ctx, output, force=force, shown=open_)
    client = ctx.client()
    name = FileResolver(ctx, client).resolve(file)
    material = _fetch_material(ctx, client, name, days)
    if not no_thumbnails:
        from docshare.cli.commands.readership.pictures import render_pictures

        material = replace(material, pictures=render_pictures(ctx, client, name, material))
    from docshare.report.standalone import render_standalone

    text = render_standalone(material, client.base_url)
    if output == STDOUT:
        ctx.write(text)
        return
    path = _store(output, text)
    printer.emit({"file": name, "path": str(path), "size": len(text.encode())})
    if open_:
        _open_report(ctx, path)


def _check_target(ctx: Context, output: str, *, force: bool, shown: bool) -> None:
    """Raise Stop (2) for an invalid target, before sending any request."""
    if output == STDOUT:
        if shown:
            raise Stop(ExitCode.USAGE, "--open requires a file", hint="Set one with -o.")
        if ctx.stdout_tty:
            raise Stop(
                ExitCode.USAGE,
                "refusing to write HTML to a terminal",
                hint="Redirect stdout, or write to a file with -o.",
            )
    require_absent(output, force=force)


def _fetch_material(ctx: Context, client: "Client", name: str, days: ReportDays) -> "ReportInput":
    """Fetch everything that the plan includes. Raise ``Refused`` if the report itself is rejected."""
    from docshare.report import ReportInput, is_empty

    reading = client.readership
    with explain_forbidden():
        answer = days.limit_views(reading.report(name, days.first, days.last))
    tier = str(answer.get("tier", ""))

    def ask_if_allowed(operation: str, ask: Callable[[str], Mapping[str, Any]]) -> Mapping[str, Any] | None:
        if tier in _TIERS and _TIERS[tier] < required_plan(operation):
            return None
        try:
            return ask(name)
        except Refused as refusal:
            if refusal.status not in _SKIPPABLE_STATUSES:
                raise
            ctx.note(f"skipped: {refusal.detail}")
            return None

    def fetch_pages(name: str) -> Mapping[str, Any]:
        return reading.pages(name, days.first, days.last)

    return ReportInput(
        answer,
        ctx.now(),
        period=days.build_period(ctx.now()),
        pages=ask_if_allowed("readership.pages", fetch_pages),
        marks=ask_if_allowed("readership.marks", reading.marks),
        annotations=ask_if_allowed("readership.annotations", reading.annotations),
        feedback=ask_if_allowed("readership.feedback", reading.feedback),
        code=_fetch_qr_code(client, name) if is_empty(answer) else None,
    )


def _fetch_qr_code(client: "Client", name: str) -> str | None:
    """Return the QR code of the link, which is shown in a report without readers."""
    with suppress(Refused):
        return f"data:image/png;base64,{base64.b64encode(client.files.qr(name)).decode()}"
    return None


def _store(output: str, text: str) -> Path:
    path = Path(output)
    replace_file(path, text, private=True)
    return path


def _open_report(ctx: Context, path: Path) -> None:
    if not may_open(ctx) or not ctx.open_browser(path.resolve().as_uri()):
        ctx.note("no browser is available to open the report")
