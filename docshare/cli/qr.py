"""``docshare qr``: the QR code of a share link, drawn in the terminal or saved as the server's PNG."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.arguments import FILE_HELP, FileNames
from docshare.cli.browse import base_of, checked_link
from docshare.cli.context import Context, current
from docshare.cli.exits import ExitCode, Stop
from docshare.cli.output import Spec
from docshare.cli.storage import unwritable
from docshare.cli.text import clean
from docshare.cli.typer_compat import App

if TYPE_CHECKING:
    from docshare.client import Client

app = App()

_BORDER = 2  # cells of quiet zone; the four of the standard make the drawing too large for small terminals
# Two rows of the code per line of text: upper and lower half, for a dark background and for a light one.
_DARK_TERMINAL = {(False, False): "█", (False, True): "▀", (True, False): "▄", (True, True): " "}
_LIGHT_TERMINAL = {(False, False): " ", (False, True): "▄", (True, False): "▀", (True, True): "█"}


def _saved(row: Mapping[str, Any], _: Context) -> Iterator[str]:
    yield f"saved {clean(str(row['path']))}"


_LINK = Spec(plain=("url",), fields=("path",), id="url")
_SAVED = Spec(plain=("path",), fields=("url",), id="path", human=_saved)


@app.command("qr", spec=_LINK)
def qr(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="F.png", help="Save a PNG; '-' is stdout.")
    ] = None,
    invert: Annotated[bool, typer.Option("--invert", help="Draw for a terminal with a light background.")] = False,
) -> None:
    """Show or save the QR code of a share link.

    Without -o the code is drawn with block characters. The link in it is the short one, never the slug, so that it
    goes on working when the slug changes; views that come through it are counted as "QR code".

    Examples:

      docshare qr @last
      docshare qr aB3dE5fG7hJ9 -o code.png
      docshare qr slug:offer -o - > code.png
    """
    ctx = current()
    if output == "-" and ctx.stdout_tty:
        raise Stop(
            ExitCode.USAGE, "a PNG is not for a terminal", hint="Redirect stdout, or leave out -o to see it drawn."
        )
    printer = ctx.emitter(_SAVED if output else _LINK)
    client = ctx.client()
    name = FileNames(ctx, client).one(file)
    if output == "-":
        ctx.write(client.files.qr(name))
    elif output is not None:
        _save(Path(output), client.files.qr(name))
        printer.emit({"path": output})
    else:
        link = _short_link(client, name)
        if printer.natural:
            draw(ctx, link, invert=invert)
        else:
            printer.emit({"url": link})


def _save(path: Path, png: bytes) -> None:
    try:
        path.write_bytes(png)
    except OSError as error:
        raise unwritable(path, error) from error


def _short_link(client: "Client", name: str) -> str:
    """The link that the server's own code holds (section Files: the short id or UUID, with ``via=qr``)."""
    file = client.files.show(name)
    return f"{base_of(checked_link(file))}/{file.get('shortId') or file['uuid']}?via=qr"


def draw(ctx: Context, link: str, *, invert: bool = False) -> None:
    """Draw the code of ``link`` on standard output, for a dark background or (``invert``) a light one. Stop (2) if the
    terminal cannot show it."""
    blocks = _LIGHT_TERMINAL if invert else _DARK_TERMINAL
    if not ctx.out_screen.unicode:
        raise Stop(ExitCode.USAGE, "this terminal cannot show block characters", hint="Save it with -o code.png.")
    rows = _matrix(link)
    if ctx.stdout_tty and ctx.out_screen.width < len(rows[0]):
        raise Stop(
            ExitCode.USAGE,
            f"the code needs {len(rows[0])} columns and the terminal has {ctx.out_screen.width}",
            hint="Widen the terminal, or save it with -o code.png.",
        )
    for upper, lower in zip(rows[::2], [*rows[1::2], [False] * len(rows[0])], strict=False):
        ctx.print("".join(blocks[pair] for pair in zip(upper, lower, strict=True)))
    ctx.note(link)


def _matrix(link: str) -> Sequence[Sequence[bool]]:
    """The modules of the code row by row, True for dark."""
    import qrcode

    code = qrcode.QRCode(error_correction=qrcode.constants.ERROR_CORRECT_L, border=_BORDER)
    code.add_data(link)
    code.make(fit=True)
    return [[bool(module) for module in row] for row in code.get_matrix()]
