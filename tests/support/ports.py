"""Ports of servers that are stopped, and started again."""

import random
import socket

_FIRST, _LAST = 10_000, 32_000
"""Below the ports of outgoing connections, which could take a port while its server is stopped."""


def is_refused(host: str, port: int) -> bool:
    """Return whether nothing listens on ``port`` of ``host``."""
    try:
        socket.create_connection((host, port), timeout=5).close()
    except ConnectionError:
        return True
    return False


def find_free_port() -> int:
    """Return an unused port of 127.0.0.1."""
    while True:
        port = random.randrange(_FIRST, _LAST)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
