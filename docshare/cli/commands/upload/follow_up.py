"""Steps after an upload for people at a terminal: draw the QR code, copy the link, open it."""

from collections.abc import Sequence

from docshare.cli.commands.browse import may_open
from docshare.cli.commands.qr import draw_code
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import Stop
from docshare.cli.terminal.clipboard import copy_text


def present_links(context: Context, links: Sequence[str], *, qr: bool, copy: bool, open_link: bool) -> None:
    """Draw, copy or open the share ``links``. A failure is only a warning, because the upload has succeeded."""
    if not links:
        return
    if qr:
        _draw_qr(context, links[0])
    if copy and not copy_text(context, "\n".join(links)):
        context.warn("cannot copy the link: install wl-copy, xclip, or xsel")
    if open_link and not (may_open(context) and context.open_browser(links[0])):
        context.warn("cannot open the link: no browser found")


def _draw_qr(context: Context, link: str) -> None:
    if not context.stdout_tty:
        context.warn("--qr draws on a terminal only; save an image with: docshare qr @last -o code.png")
        return
    try:
        draw_code(context, f"{link}?via=qr")
    except Stop as refusal:
        context.warn(refusal.detail)
