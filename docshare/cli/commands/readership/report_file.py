"""``docshare readership report``: write the report as one HTML file that opens in any browser."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from docshare.cli.commands.browse import may_open
from docshare.cli.commands.files.download import DOWNLOAD_SPEC
from docshare.cli.commands.readership.days import SinceOption, UntilOption, parse_days
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.inputs import STDOUT, require_absent
from docshare.cli.local.storage import replace_file

app = App()

REPORT_SPEC = DOWNLOAD_SPEC


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

    The report contains everything that the plan includes, with charts, tables, and notes. It loads no external
    resources and runs no scripts. Page thumbnails are rendered on this machine from the stored PDF, for the first 60
    pages of documents up to 100 MB. --since and --until limit the sessions; marks, annotations, notes, and receipts are
    always those of all time. The file contains personal data of your readers and is readable only by you.

    Examples:

      docshare readership report @last -o report.html --open
      docshare readership report @last --since 6d -o week.html
      docshare readership report slug:offer -o - --no-thumbnails > report.html
    """
    from docshare.cli.commands.readership.material import fetch_material, render_pictures
    from docshare.report.standalone import render_standalone

    ctx = current_context()
    printer = ctx.emitter(REPORT_SPEC)
    days = parse_days(ctx, since, until)
    _check_target(ctx, output, force=force, shown=open_)
    client = ctx.client()
    name = FileResolver(ctx, client).resolve(file)
    material = fetch_material(ctx, client, name, days)
    if not no_thumbnails:
        material = replace(material, pictures=render_pictures(ctx, client, name, material))
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


def _store(output: str, text: str) -> Path:
    path = Path(output)
    replace_file(path, text, private=True)
    return path


def _open_report(ctx: Context, path: Path) -> None:
    if not may_open(ctx) or not ctx.open_browser(path.resolve().as_uri()):
        ctx.note("no browser is available to open the report")
