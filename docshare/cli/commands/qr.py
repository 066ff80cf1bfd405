"""``docshare qr``: the QR code of a share link, drawn in the terminal or saved as the server's PNG."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.browse import require_share_link
from docshare.cli.commands.variants.names import VariantResolver
from docshare.cli.commands.variants.qr_images import qr_link, render_qr_png
from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver, base_of
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.local.storage import write_error
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import clean

if TYPE_CHECKING:
    from docshare.client import Client

app = App()

_BORDER = 2  # modules of quiet zone; the standard's four make the code too large for small terminals
# Each line of text shows two rows of modules, as upper and lower half blocks.
_DARK_TERMINAL = {(False, False): "█", (False, True): "▀", (True, False): "▄", (True, True): " "}
_LIGHT_TERMINAL = {(False, False): " ", (False, True): "▄", (True, False): "▀", (True, True): "█"}


def _render_row(row: Mapping[str, Any], _: Context) -> Iterator[str]:
    yield f"saved {clean(str(row['path']))}"


_LINK_SPEC = Spec(plain=("url",), fields=("path",), id="url")
SAVED_SPEC = Spec(plain=("path",), fields=("url",), id="path", human=_render_row)


@app.command("qr", spec=_LINK_SPEC)
def qr(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="F.png", help="Save the code as a PNG; '-' is stdout.")
    ] = None,
    variant: Annotated[str | None, typer.Option(metavar="VARIANT", help="Use the link of this variant.")] = None,
    invert: Annotated[bool, typer.Option("--invert", help="Draw for a terminal with a light background.")] = False,
) -> None:
    """Show or save the QR code of a share link.

    Without -o, the code is drawn with block characters. It contains the short link, never the slug, so it keeps working
    when the slug changes. Views that come from it are counted as "QR code".

    Examples:

      docshare qr @last
      docshare qr aB3dE5fG7hJ9 -o code.png
      docshare qr slug:offer -o - > code.png
      docshare qr slug:offer --variant label:Ann -o ann.png
    """
    ctx = current_context()
    require_png(output)
    if output == "-" and ctx.stdout_tty:
        raise Stop(
            ExitCode.USAGE,
            "refusing to write a PNG to a terminal",
            hint="Redirect stdout, or omit -o to draw the code.",
        )
    printer = ctx.emitter(SAVED_SPEC if output else _LINK_SPEC)
    client = ctx.client()
    code = _FileCode(ctx, client, file) if variant is None else _VariantCode(ctx, client, file, variant)
    if output == "-":
        ctx.write(code.png())
    elif output is not None:
        save_png(Path(output), code.png())
        printer.emit({"path": output})
    else:
        link = code.link()
        if printer.is_default_shape:
            draw_code(ctx, link, invert=invert)
        else:
            printer.emit({"url": link})


def require_png(output: str | None) -> None:
    """Raise Stop (2) if the file extension of ``output`` is not that of a PNG."""
    if output is not None and Path(output).suffix.lower() not in ("", ".png"):
        hint = f"Name it {shlex.quote(str(Path(output).with_suffix('.png')))}."
        raise Stop(ExitCode.USAGE, f"{output} is not a .png file; QR codes are saved only as PNG", hint=hint)


def save_png(path: Path, png: bytes) -> None:
    """Write the code to a file. Raise Stop (2) if that fails."""
    try:
        path.write_bytes(png)
    except OSError as error:
        raise write_error(path, error) from error


class _FileCode:
    """The QR code of the share link of a file."""

    def __init__(self, ctx: Context, client: "Client", file: str) -> None:
        self._client = client
        self._name = FileResolver(ctx, client).resolve(file)

    def png(self) -> bytes:
        """Fetch the image from the server."""
        return self._client.files.qr(self._name)

    def link(self) -> str:
        """Return the link that the server's image contains: the short id or UUID with ``via=qr``."""
        file = self._client.files.show(self._name)
        return f"{base_of(require_share_link(file))}/{file.get('shortId') or file['uuid']}?via=qr"


class _VariantCode:
    """The QR code of the link of a variant, rendered here because the API has no image of it."""

    def __init__(self, ctx: Context, client: "Client", file: str, variant: str) -> None:
        self._variant = VariantResolver(ctx, client, file).resolve(variant).variant

    def png(self) -> bytes:

        return render_qr_png(self.link())

    def link(self) -> str:
        """Return the link of the variant with ``via=qr``."""
        return qr_link({"url": require_share_link({"shareUrl": self._variant.get("url", "")})})


def draw_code(ctx: Context, link: str, *, invert: bool = False) -> None:
    """Draw the code of ``link`` on standard output, for a dark background or (``invert``) a light one.

    Raise Stop (2) if the terminal cannot show it.
    """
    if not ctx.out_screen.unicode:
        raise Stop(ExitCode.USAGE, "this terminal cannot show block characters", hint="Save the code with -o code.png.")
    lines = render_code(link, invert=invert)
    if ctx.stdout_tty and ctx.out_screen.width < len(lines[0]):
        raise Stop(
            ExitCode.USAGE,
            f"the code needs {len(lines[0])} columns; the terminal has {ctx.out_screen.width}",
            hint="Widen the terminal, or save the code with -o code.png.",
        )
    for line in lines:
        ctx.print(line)
    ctx.note(link)


def render_code(link: str, *, invert: bool = False) -> list[str]:
    """Return the code of ``link`` as lines of block characters, for a dark background or (``invert``) a light one."""
    blocks = _LIGHT_TERMINAL if invert else _DARK_TERMINAL
    rows = _build_matrix(link)
    pairs = zip(rows[::2], [*rows[1::2], [False] * len(rows[0])], strict=False)
    return ["".join(blocks[pair] for pair in zip(upper, lower, strict=True)) for upper, lower in pairs]


def _build_matrix(link: str) -> Sequence[Sequence[bool]]:
    """Return the rows of modules, True for dark."""
    import qrcode

    code = qrcode.QRCode(error_correction=qrcode.constants.ERROR_CORRECT_L, border=_BORDER)
    code.add_data(link)
    code.make(fit=True)
    return [[bool(module) for module in row] for row in code.get_matrix()]
