"""Run the bundled listener in front of a world and send raw bytes to it."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.people.cast import World
from tests.support.servers.in_process_server import serve_world


@dataclass
class ListenerResponse:
    """A parsed response; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class RawClient:
    """A client of the listener on ``port``."""

    port: int

    def send(self, *pieces: bytes) -> ListenerResponse:
        """Send ``pieces`` over one connection and read one response; stop sending when the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as sock:
            try:
                for piece in pieces:
                    sock.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                pass
            return _read_response(sock)

    def request(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes = b""
    ) -> ListenerResponse:
        """Send one complete request."""
        return self.send(build_head(method, path, {"Content-Length": str(len(body)), **(headers or {})}), body)


def build_head(method: str, path: str, headers: dict[str, str]) -> bytes:
    """Build the request line and the headers."""
    lines = [f"{method} {path} HTTP/1.1", "Host: x", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def build_file_form(content: bytes, name: str = "a.pdf") -> bytes:
    """Build a form with one file, boundary ``edge``."""
    start = f'--edge\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    return start + content + b"\r\n--edge--\r\n"


@contextmanager
def open_listener(world: World) -> Iterator[RawClient]:
    """Serve ``world`` behind the bundled listener for the duration of the block."""
    with serve_world(world) as url:
        yield RawClient(int(url.rpartition(":")[2]))


def _read_response(sock: socket.socket) -> ListenerResponse:
    with sock.makefile("rb") as stream:
        status = int(stream.readline().split()[1])
        headers = {}
        while line := stream.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        return ListenerResponse(status, headers, stream.read(int(headers.get("content-length", 0))))
