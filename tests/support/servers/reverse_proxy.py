"""A reverse proxy in front of a server, with the configuration errors that a test chooses."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.support.outside.fake_api import BASE


@dataclass
class ReverseProxy:
    """Forwards requests to ``upstream`` from the address ``source``, with the reader's address in a header.

    ``adds_forwarded_for``: whether it adds that header; ``hidden_headers``: request headers it removes; ``host``: the
    ``Host`` it sends instead; ``max_body_bytes``: the largest request body; ``fixed_answer``: the status of every
    response, and the origin in its Location; ``date``: its time in seconds since 1970.
    """

    url: str = ""
    upstream: str = ""
    source: str = "127.0.0.1"
    adds_forwarded_for: bool = True
    hidden_headers: tuple[str, ...] = ()
    host: str | None = None
    max_body_bytes: int = 1 << 40
    fixed_answer: tuple[int, str] | None = None
    date: float = BASE
    requests: list[str] = field(default_factory=list)


@contextmanager
def reverse_proxy() -> Iterator[ReverseProxy]:
    """Yield a proxy on a free port of this machine, for the length of the block."""
    server = _ProxyServer(("127.0.0.1", 0), _ProxyHandler)
    server.door = ReverseProxy(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=lambda: server.serve_forever(0.05), daemon=True)
    thread.start()
    try:
        yield server.door
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _ProxyHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: _ProxyServer

    def _forward(self) -> None:
        door = self.server.door
        door.requests.append(self.command)
        size = int(self.headers.get("Content-Length", 0))
        if size > door.max_body_bytes:
            self.close_connection = True  # as nginx does: the body is not read
            self._answer(413, b"too large", {"Connection": "close"})
            return
        body = self.rfile.read(size)
        if door.fixed_answer is not None:
            self._answer(
                door.fixed_answer[0],
                b"ok\n",
                {"Location": door.fixed_answer[1] + self.path} if door.fixed_answer[1] else {},
            )
            return
        target = urlsplit(door.upstream)
        upstream = HTTPConnection(target.hostname or "", target.port, timeout=20, source_address=(door.source, 0))
        upstream.request(self.command, self.path, body or None, self._build_headers())
        reply = upstream.getresponse()
        self._answer(reply.status, reply.read(), {"Content-Type": reply.headers["Content-Type"]})
        upstream.close()

    do_GET = do_POST = _forward

    def _build_headers(self) -> dict[str, str]:
        door = self.server.door
        headers = {name: value for name, value in self.headers.items() if name not in door.hidden_headers}
        if door.adds_forwarded_for:
            claimed = self.headers.get("X-Forwarded-For")
            own = self.client_address[0]
            headers["X-Forwarded-For"] = f"{claimed}, {own}" if claimed else own
        return headers | ({"Host": door.host} if door.host else {})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def date_time_string(self, timestamp: float | None = None) -> str:
        return formatdate(self.server.door.date, usegmt=True)

    def log_message(self, *args: Any) -> None:
        return


class _ProxyServer(ThreadingHTTPServer):
    daemon_threads = True
    door: ReverseProxy

    def handle_error(self, *args: Any) -> None:
        return  # some tests close their connection
