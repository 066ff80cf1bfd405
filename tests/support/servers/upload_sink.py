"""A server that discards uploads as fast as a socket can."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ANSWER = b'{"uuid": "u", "shareUrl": "https://d.example/x"}'
_RECEIVE = 1024 * 1024


@contextmanager
def upload_sink() -> Iterator[int]:
    """Yield a port that accepts requests, one per connection, and responds to each with an upload result."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_serve, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)  # wakes the thread up; closing alone would not


def _serve(listener: socket.socket) -> None:
    room = memoryview(bytearray(_RECEIVE))
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        with peer:
            _discard_request(peer, room)


def _discard_request(peer: socket.socket, room: memoryview) -> None:
    head = b""
    while b"\r\n\r\n" not in head:
        block = peer.recv(65536)
        if not block:
            return
        head += block
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
    left = length - len(head.partition(b"\r\n\r\n")[2])
    while left > 0:
        received = peer.recv_into(room)
        if not received:
            return
        left -= received
    peer.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER))
