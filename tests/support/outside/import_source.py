"""A host that documents are imported from: HTTPS on a real socket with a self-signed certificate, and scripts for every
way in which a host can misbehave."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

NAME = "files.example"
Script = Callable[[socket.socket], None]
"""An action of the host after it has read a request head."""


def make_certificate(folder: Path, name: str = NAME) -> Path:
    """Return a certificate for ``name`` and 127.0.0.1, with its key beside it as ``key.pem``; valid for one day."""
    cert = folder / "cert.pem"
    names = f"subjectAltName=DNS:{name},IP:127.0.0.1"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
               "-keyout", str(folder / "key.pem"), "-out", str(cert), "-days", "1", "-subj", "/CN=test",
               "-addext", names, "-addext", "keyUsage=digitalSignature,keyCertSign"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return cert


def http_response(body: bytes, status: str = "200 OK", *headers: str, length: int | None = None) -> Script:
    """Return a complete response; ``length`` replaces its true length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers]
    return raw_response("\r\n".join([*lines, "", ""]).encode() + body)


def raw_response(data: bytes) -> Script:
    """Return a script that sends exactly these bytes."""
    return lambda sock: sock.sendall(data)


def endless_response(head: bytes, block: bytes, pause_s: float = 0.0) -> Script:
    """Return a script that sends ``head``, then ``block`` forever, with a pause before each."""

    def send(sock: socket.socket) -> None:
        sock.sendall(head)
        while True:
            time.sleep(pause_s)
            sock.sendall(block)

    return send


def hold_connection(sock: socket.socket) -> None:
    """Send nothing until the other side closes the connection."""
    sock.recv(1)


@dataclass
class ImportSource:
    """``respond``: the script of the next requests; ``request_heads``: those received; ``connections``: their
    number."""

    port: int
    respond: Script = field(default_factory=lambda: http_response(b""))
    request_heads: list[bytes] = field(default_factory=list)
    connections: int = 0

    @property
    def host(self) -> str:
        return f"{NAME}:{self.port}"

    def url(self, path: str = "/deck.pdf") -> str:
        return f"https://{self.host}{path}"


@contextmanager
def open_source(cert: Path | None, address: str = "127.0.0.1") -> Iterator[ImportSource]:
    """Yield a running source; without a certificate it speaks plain HTTP."""
    context = None
    if cert is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, cert.with_name("key.pem"))
    with socket.create_server((address, 0)) as listener:
        source = ImportSource(listener.getsockname()[1])
        thread = threading.Thread(target=_accept, args=(listener, context, source), daemon=True)
        thread.start()
        try:
            yield source
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _accept(listener: socket.socket, context: ssl.SSLContext | None, source: ImportSource) -> None:
    while True:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        source.connections += 1
        threading.Thread(target=_serve, args=(sock, context, source), daemon=True).start()


def _serve(plain: socket.socket, context: ssl.SSLContext | None, source: ImportSource) -> None:
    with suppress(OSError), plain:
        sock = plain if context is None else context.wrap_socket(plain, server_side=True)
        with sock:
            head = b""
            while b"\r\n\r\n" not in head:
                block = sock.recv(4096)
                if not block:
                    return
                head += block
            source.request_heads.append(head)
            source.respond(sock)
            if isinstance(sock, ssl.SSLSocket):
                sock.unwrap()
