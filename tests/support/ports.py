"""Ports for servers that are stopped and started again."""

import random
import socket

_FIRST, _LAST = 10_000, 32_000
"""Below the ports that the system gives to outgoing connections, which could take one while its server is away."""


def find_free_port() -> int:
    """Return a port of 127.0.0.1 that nobody uses."""
    while True:
        port = random.randrange(_FIRST, _LAST)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
