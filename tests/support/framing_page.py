"""Pages of other sites that frame one of ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from playwright.sync_api import Frame, Page


@contextmanager
def serve_framing_page(address: str, host: str) -> Iterator[str]:
    """Yield the address of a page on another site, ``localhost``, that frames ``address``."""

    class Host(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f'<!doctype html><iframe name="framed" src="{address}" width="900" height="700"></iframe>'.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Host)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{host}:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def find_frame(page: Page) -> Frame:
    found = page.frame("framed")
    assert found is not None
    return found
