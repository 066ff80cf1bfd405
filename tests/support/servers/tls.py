"""HTTPS in front of a server of this process, with a self-signed certificate."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.outside.import_source import make_certificate

_BLOCK = 65_536  # bytes


def make_tls_context(folder: Path, name: str) -> ssl.SSLContext:
    """Return the context of a server called ``name``; its certificate is stored in ``folder``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(make_certificate(folder, name), folder / "key.pem")
    return context


def make_signed_context(folder: Path, name: str) -> tuple[ssl.SSLContext, Path]:
    """Return the context of a server called ``name``, and the certificate of the private authority that signed its
    own: some clients reject one that is both."""
    files = ("-days", "1", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    (folder / "names").write_text(f"subjectAltName=DNS:{name}\nbasicConstraints=CA:FALSE\n")
    for words in (
        ("req", "-x509", *files, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority"),
        ("req", *files[2:], "-keyout", "key.pem", "-out", "request", "-subj", "/CN=server"),
        ("x509", "-req", "-in", "request", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "cert.pem",
         "-days", "1", "-extfile", "names"),
    ):  # fmt: skip
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context, folder / "ca.pem"


@contextmanager
def terminate_tls(context: ssl.SSLContext, port: int, upstream: int) -> Iterator[None]:
    """Pass every TLS connection to ``port`` on to the port ``upstream``, without TLS, for the length of the block."""
    listener = socket.create_server(("127.0.0.1", port))
    threading.Thread(target=_accept_all, args=(listener, context, upstream), daemon=True).start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _accept_all(listener: socket.socket, context: ssl.SSLContext, upstream: int) -> None:
    with suppress(OSError):  # the listener was closed
        while True:
            plain, _ = listener.accept()
            threading.Thread(target=_connect, args=(plain, context, upstream), daemon=True).start()


def _connect(plain: socket.socket, context: ssl.SSLContext, upstream: int) -> None:
    with (
        suppress(OSError),
        context.wrap_socket(plain, server_side=True) as outer,
        socket.create_connection(("127.0.0.1", upstream)) as inner,
    ):
        threading.Thread(target=_copy, args=(inner, outer), daemon=True).start()
        _copy(outer, inner)


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Send everything from ``source`` to ``target`` until one of them is closed."""
    with suppress(OSError):
        while block := source.recv(_BLOCK):
            target.sendall(block)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
