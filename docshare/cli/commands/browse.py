"""``docshare open``: open a share link in the browser."""

import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from docshare.cli.framework.app import App
from docshare.cli.framework.arguments import FILE_HELP, FileResolver, base_of
from docshare.cli.framework.context import Context, current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Spec
from docshare.cli.terminal.text import clean

app = App()


def _render_row(row: Mapping[str, Any], _: Context) -> Iterator[str]:
    yield clean(str(row["url"]))


_OPEN_SPEC = Spec(plain=("url",), fields=("opened",), id="url", human=_render_row)


@app.command("open", spec=_OPEN_SPEC)
def open_link(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    readership: Annotated[
        bool, typer.Option("--readership", help="Open the readership report (requires sign-in).")
    ] = False,
) -> None:
    """Open a share link in the browser.

    The link is also printed. Over SSH, in CI, and in a pipe, no browser is opened. BROWSER selects the browser.

    Examples:

      docshare open @last
      docshare open slug:offer --readership
    """
    ctx = current_context()
    client = ctx.client()
    found = client.files.show(FileResolver(ctx, client).resolve(file))
    link = require_share_link(found)
    if readership:
        link = f"{base_of(link)}/readership/{found['uuid']}"
    opened = may_open(ctx) and ctx.open_browser(link)
    ctx.emit({"url": link, "opened": opened}, _OPEN_SPEC)


def require_share_link(file: Mapping[str, Any]) -> str:
    """Return the share link of a file. Raise Stop (11) if it is missing or not an http(s) URL."""
    link = str(file.get("shareUrl", ""))
    if urlsplit(link).scheme not in ("http", "https"):
        raise Stop(ExitCode.UNREACHABLE, "the server sent no share link for this file")
    return link


def may_open(ctx: Context, *, stream_tty: bool | None = None) -> bool:
    """Return whether a browser can be opened: a person is present and there is a desktop. Standard output being a
    terminal shows that a person is present, unless ``stream_tty`` says so for another stream."""
    watched = ctx.stdout_tty if stream_tty is None else stream_tty
    if not watched or ctx.is_ci or ctx.env.get("SSH_CONNECTION") or ctx.env.get("SSH_TTY"):
        return False
    if sys.platform in ("darwin", "win32"):
        return True
    return any(ctx.env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
