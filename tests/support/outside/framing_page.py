"""Pages of other sites that frame one of ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from threading import Thread

from playwright.sync_api import Frame, Page


@contextmanager
def serve_framing_page(
    address: str, host: str, *, sandbox: str | None = None, tls: SSLContext | None = None
) -> Iterator[str]:
    """Yield the address of a page on ``host`` that frames ``address``: in a ``sandbox`` with these permissions, and
    over HTTPS with the context ``tls``."""
    attribute = "" if sandbox is None else f' sandbox="{sandbox}"'
    frame = f'<iframe name="framed"{attribute} src="{address}" width="900" height="700"></iframe>'

    class Host(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"<!doctype html><title>Elsewhere</title>{frame}".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = _FramingServer(("127.0.0.1", 0), Host)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"{'https' if tls else 'http'}://{host}:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


class _FramingServer(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None: ...  # a browser closes the connection before it accepts a certificate


def find_frame(page: Page) -> Frame:
    found = page.frame("framed")
    assert found is not None
    return found
