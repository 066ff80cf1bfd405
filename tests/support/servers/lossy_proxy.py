"""A proxy that forwards every request to a server and drops chosen responses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_HOP_BY_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length"}


class LossyProxy:
    """``url``: where it listens. ``counts``: chooses the counted requests by method and path. For the n-th of them
    (from 1), it calls ``before`` on arrival and ``after`` once the server has responded; ``loses(n)`` drops the
    response. ``pending``: the counted requests to which the server has not responded."""

    def __init__(self) -> None:
        self.url = ""
        self.seen = 0
        self.lost = 0
        self.pending: set[int] = set()
        self.counts: Callable[[str, str], bool] = lambda method, path: method == "POST"
        self.before: Callable[[int], None] = lambda n: None
        self.after: Callable[[int], None] = lambda n: None
        self.loses: Callable[[int], bool] = lambda n: False


class _LossyHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: _LossyServer

    def _forward(self) -> None:
        proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        n = 0
        if proxy.counts(self.command, self.path):
            proxy.seen += 1
            n = proxy.seen
            proxy.pending.add(n)
        try:
            if n:
                proxy.before(n)
            status, headers, content = self._ask(body)
        finally:
            proxy.pending.discard(n)
        if n:
            proxy.after(n)
        if n and proxy.loses(n):
            proxy.lost += 1
            self.close_connection = True
            return
        with suppress(OSError):  # the client may have been killed
            self._answer(status, headers, content)

    do_GET = do_POST = do_PUT = do_DELETE = _forward

    def _ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        target = urlsplit(self.server.target)
        connection = HTTPConnection(target.hostname or "", target.port, timeout=30)
        kept = {key: value for key, value in self.headers.items() if key.lower() not in _HOP_BY_HOP}
        try:
            connection.request(self.command, self.path, body, kept)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response_only(status)
        for key, value in headers:
            if key.lower() not in _HOP_BY_HOP:
                self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def log_message(self, *args: object) -> None:
        return


class _LossyServer(ThreadingHTTPServer):
    daemon_threads = True
    proxy: LossyProxy
    target: str

    def handle_error(self, *args: object) -> None:
        return  # killed clients close their connections


@contextmanager
def lossy_proxy(target: str) -> Iterator[LossyProxy]:
    """Yield a running proxy in front of the server at ``target``."""
    proxy = LossyProxy()
    server = _LossyServer(("127.0.0.1", 0), _LossyHandler)
    server.proxy, server.target = proxy, target
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
