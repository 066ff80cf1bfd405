"""The manual as a website: served on this machine, or written as files."""

import errno
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from docshare.cli.commands.browse import may_open
from docshare.cli.framework import background
from docshare.cli.framework.context import Context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.terminal.output import Spec, is_json_requested
from docshare.manual import POLICY, load_site, media_type

_HOST = "127.0.0.1"
_START = "index.html"
_MARK = "assets/search-index.js"  # a folder with this file is a manual that an earlier run wrote
_READ_TIMEOUT_S = 20.0


def show_website(ctx: Context, out: Path | None, port: int | None, *, alone: bool) -> None:
    """Write the website to ``out``, or serve it on ``port``; ``alone``: neither a topic nor a file is named.

    Raise Stop (2) for options that cannot be used together.
    """
    if not alone:
        raise Stop(ExitCode.USAGE, "--web shows the whole manual", hint="Omit the topic and --file.")
    if out is not None and port is not None:
        raise Stop(ExitCode.USAGE, "--out and --port cannot be used together", hint="Omit --port to write files.")
    if out is not None:
        write_website(ctx, out)
    else:
        serve_website(ctx, port or 0)


def serve_website(ctx: Context, port: int) -> None:
    """Serve the manual on ``port`` (0: a free one) until Ctrl-C or SIGTERM. Raise Stop (7) if the port is in use."""
    with background.trap_signals() as stop:
        try:
            server = ThreadingHTTPServer((_HOST, port), _ManualHandler)
        except (OSError, OverflowError) as error:
            hint = "Omit --port to use a free one."
            raise Stop(ExitCode.CONFLICT, f"cannot listen on {_HOST} port {port}: {error}", hint=hint) from None
        loop = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        loop.start()
        try:
            url = f"http://{_HOST}:{server.server_address[1]}/"
            _print_place(ctx, "url", url)
            ctx.flush()
            if may_open(ctx):
                ctx.open_browser(url)
            ctx.note("press Ctrl-C to stop")
            background.wait_in_main_thread(stop)
        finally:
            server.shutdown()
            server.server_close()


def write_website(ctx: Context, folder: Path) -> None:
    """Write the manual into ``folder``, which is created. Raise Stop (7) if it contains other files."""
    try:
        if folder.exists() and not (folder / _MARK).is_file() and any(folder.iterdir()):
            hint = "Name a new folder, or one that an earlier run wrote."
            raise Stop(ExitCode.CONFLICT, f"{folder} is not empty and does not contain a manual", hint=hint)
        site = load_site()
        for path in site.paths:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(site.render(path))
    except OSError as error:
        code = ExitCode.USAGE if error.errno in (errno.ENOTDIR, errno.EEXIST) else ExitCode.ERROR
        raise Stop(code, f"cannot write to {folder}: {error.strerror or error}") from None
    _print_place(ctx, "path", str(folder / _START))


def _print_place(ctx: Context, name: str, place: str) -> None:
    if is_json_requested(ctx):
        ctx.emit({name: place}, Spec())
    else:
        ctx.print(place)


class _ManualHandler(BaseHTTPRequestHandler):
    timeout = _READ_TIMEOUT_S

    def do_GET(self) -> None:
        self._respond(with_body=True)

    def do_HEAD(self) -> None:
        self._respond(with_body=False)

    def _respond(self, *, with_body: bool) -> None:
        path = self.path.partition("?")[0].removeprefix("/") or _START
        try:
            status, body, kind = 200, load_site().render(path), media_type(path)
        except KeyError:
            status, body, kind = 404, b"There is no such page.\n", "text/plain; charset=utf-8"
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", f"{POLICY}; frame-ancestors 'none'"),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            with suppress(ConnectionError):
                self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""
