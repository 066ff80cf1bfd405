"""``docshare files download``: save the stored PDF, completely or not at all."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import clean
from docshare.contract.amounts import format_size

app = App()


def _render_row(row: Mapping[str, Any], _: Context) -> Iterator[str]:
    yield f"saved {clean(str(row['path']))} ({format_size(row['size'])})"


DOWNLOAD_SPEC = Spec(plain=("path",), fields=("size", "file"), id="path", human=_render_row)


@app.command("download", spec=DOWNLOAD_SPEC)
def download(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PATH", help="Write to this file; '-' is stdout.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Download the stored PDF of a file.

    The server supplies the file name, without any directory; a converted document is saved as offer.docx.pdf. An
    existing file is kept: the new name gets a number. An interrupted download leaves no file behind. Your own downloads
    do not count as views.

    Examples:

      docshare download @last
      docshare download aB3dE5fG7hJ9 -o offer.pdf --force
      docshare download slug:offer -o - | pdftotext - -
    """
    from docshare.cli.commands.files import save

    ctx = current_context()
    if output == "-" and ctx.stdout_tty:
        raise Stop(ExitCode.USAGE, "cannot print a PDF on a terminal", hint="Redirect stdout, or name a file with -o.")
    client = ctx.client()
    name = FileResolver(ctx, client).resolve(file)
    save.refuse_existing(output, force)
    content = client.files.content(name)
    if output == "-":
        for block in save.track_progress(ctx, content):
            ctx.write(block)
        return
    path, size = save.save(ctx, content, output, force)
    ctx.emit({"file": name, "path": str(path), "size": size}, DOWNLOAD_SPEC)
