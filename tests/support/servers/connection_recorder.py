"""Records every attempt to connect, and blocks those to other machines."""

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def record_connections() -> Iterator[list[str]]:
    """Yield the addresses that Python sockets connect to within the block, in order."""
    tried: list[str] = []
    connect = socket.socket.connect

    def heard(sock: socket.socket, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else str(address)
        tried.append(host)
        if not ipaddress.ip_address(host).is_loopback:
            raise ConnectionRefusedError(f"the test does not let {host} through")
        connect(sock, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", heard)
        yield tried
