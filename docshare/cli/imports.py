"""``docshare import``: let the server fetch a PDF from a host that its operator allows."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli import comforts, memory, progress
from docshare.cli.context import Context, current
from docshare.cli.exits import ExitCode, Stop
from docshare.cli.output import Spec
from docshare.cli.terminal import Screen
from docshare.cli.text import clean
from docshare.cli.typer_compat import App
from docshare.cli.upload_report import PRINTED, printed_word
from docshare.cli.uploading import at_file_limit
from docshare.client.errors import Refused
from docshare.contract import fields
from docshare.contract.problems import Problem

if TYPE_CHECKING:
    from docshare.client import Client

app = App()

_DEFAULT_NAME = "design.pdf"
_COLOUR = re.compile("#[0-9a-f]{6}", re.IGNORECASE | re.ASCII)
_FETCHING = "the server fetches it"


def _lines(row: Mapping[str, Any], context: Context) -> Iterator[str]:
    screen = context.out_screen
    yield screen.paint("bold", clean(str(row["shareUrl"])))
    if context.options.quiet:
        return
    # Spec: States and transitions; a fresh import has neither expiry nor password.
    facts = [row["name"], str(row.get("shortId") or row["uuid"]), "never expires", "no password"]
    yield screen.paint("dim", f" {screen.glyph('·')} ".join(map(clean, facts)))
    if row.get("palette"):
        yield "  ".join(_swatch(screen, str(colour)) for colour in row["palette"])


def _swatch(screen: Screen, colour: str) -> str:
    """The colour as a patch and in hex; only in hex where the terminal shows no colours."""
    if not screen.color or not _COLOUR.fullmatch(colour):
        return clean(colour)
    red, green, blue = bytes.fromhex(colour[1:])
    return f"\x1b[48;2;{red};{green};{blue}m    \x1b[0m {colour}"


IMPORTED = Spec(
    plain=(PRINTED["url"],),
    fields=("shareUrl", "shortId", "uuid", "palette", "republished", "contentVersion"),
    id="shortId",
    human=_lines,
)


@app.command("import", spec=IMPORTED)
def import_(
    url: Annotated[str, typer.Argument(metavar="URL", help="The https address of a PDF.")],
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name that readers see.")] = None,
    printed: Annotated[
        str, typer.Option("--print", metavar="url|id|uuid", callback=printed_word, help="What a pipe gets.")
    ] = "url",
    qr: Annotated[bool, typer.Option("--qr", help="Draw the QR code of the link.")] = False,
    copy: Annotated[bool, typer.Option("--copy", help="Copy the link to the clipboard.")] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the link in the browser.")] = False,
) -> None:
    """Share a PDF that the server fetches, and print its link.

    The address must lie on a host that the server's operator allows (DOCSHARE_IMPORT_HOSTS). Redirects are not followed
    and only PDF is taken. A pipe gets exactly one line, the link; --json also has the colours of the first page's
    images, most dominant first.

    Examples:

      docshare import https://designs.example.com/export/q3.pdf
      docshare import https://designs.example.com/export/q3.pdf --name "Q3 report.pdf"
      docshare import https://designs.example.com/export/q3.pdf --query palette
    """
    ctx = current()
    try:
        fields.https_url("URL", url)
    except Problem as problem:
        raise Stop(ExitCode.USAGE, problem.detail) from None
    printer = ctx.emitter(IMPORTED._replace(plain=(PRINTED[printed],)))
    with ctx.client() as client:
        result = _imported(ctx, client, url, name)
    memory.remember_last(ctx, result)
    printer.emit({**result, "name": name or _DEFAULT_NAME} if printer.for_people else result)
    comforts.offer(ctx, [str(result["shareUrl"])], qr=qr, copy=copy, open_link=open_)


def _imported(ctx: Context, client: "Client", url: str, name: str | None) -> dict[str, Any]:
    with progress.shown(ctx, name or _DEFAULT_NAME, None) as bar:
        bar.stage(_FETCHING)
        try:
            return client.imports.create(url, name)
        except Refused as refusal:
            if refusal.code == "forbidden":
                refusal.at_file_limit = at_file_limit(client)
            raise
