"""``docshare open``: a share link in the browser."""

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
        bool, typer.Option("--readership", help="Open the report of who read it; asks you to sign in.")
    ] = False,
) -> None:
    """Open a share link in the browser.

    The link is printed too. Over SSH, in CI and in a pipe nothing is opened. BROWSER names the browser.

    Examples:

      docshare open @last
      docshare open slug:offer --readership
    """
    ctx = current_context()
    client = ctx.client()
    found = client.files.show(FileResolver(ctx, client).one(file))
    link = require_share_link(found)
    if readership:
        link = f"{base_of(link)}/readership/{found['uuid']}"
    opened = may_open(ctx) and ctx.open_browser(link)
    ctx.emit({"url": link, "opened": opened}, _OPEN_SPEC)


def require_share_link(file: Mapping[str, Any]) -> str:
    """The share link of a File; Stop (11) if the server sent none, or one that a browser should not be given."""
    link = str(file.get("shareUrl", ""))
    if urlsplit(link).scheme not in ("http", "https"):
        raise Stop(ExitCode.UNREACHABLE, "the server sent no share link for this file")
    return link


def may_open(ctx: Context, *, stream_tty: bool | None = None) -> bool:
    """Whether there is somebody to see a browser, and a desktop for it. ``stream_tty``: what shows that somebody is
    there, unless it is standard output."""
    watched = ctx.stdout_tty if stream_tty is None else stream_tty
    if not watched or ctx.in_ci or ctx.env.get("SSH_CONNECTION") or ctx.env.get("SSH_TTY"):
        return False
    if sys.platform in ("darwin", "win32"):
        return True
    return any(ctx.env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
