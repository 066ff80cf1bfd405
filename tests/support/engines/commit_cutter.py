"""A proxy in front of PostgreSQL that cuts the connection of a chosen transaction while its COMMIT is on its way."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal

_BLOCK = 1 << 16
# Messages of PostgreSQL's protocol: a type, four bytes of length, and texts that end with zero.
_PREPARED = re.compile(rb"P.{4}(_pg3_\d+)\0([^\0]+)\0", re.DOTALL)
_UNNAMED = re.compile(rb"(?:Q.{4}|P.{4}\0)([^\0]+)\0", re.DOTALL)
_BOUND = re.compile(rb"B.{4}\0(_pg3_\d+)\0", re.DOTALL)


class _Statements:
    """The statements of one connection. The driver prepares a repeated statement, and then sends only its name."""

    def __init__(self) -> None:
        self._named: dict[bytes, bytes] = {}

    def learn(self, data: bytes) -> None:
        self._named.update(_PREPARED.findall(data))

    def are_run(self, statement: bytes, data: bytes) -> bool:
        """Return whether ``data`` runs a statement that begins with ``statement``."""
        texts = _UNNAMED.findall(data) + [self._named.get(name, b"") for name in _BOUND.findall(data)]
        return any(text.startswith(statement) for text in texts)


class CommitCutter:
    """Forwards all connections on the port ``listening`` to ``port`` of this machine.

    ``cut`` chooses the next transaction with ``statement`` and whether PostgreSQL gets its COMMIT. While ``is_down``,
    connections are closed at once.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._server = socket.create_server(("127.0.0.1", 0))
        self._statement: bytes | None = None
        self._outcome = ""
        self._is_down_after = False
        self._clients: list[socket.socket] = []
        self.is_down = False
        self.cuts = 0
        self.listening: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, statement: str, outcome: Literal["committed", "lost"], *, is_down_after: bool = False) -> None:
        """Cut the next transaction that runs ``statement``, before or after its COMMIT is forwarded; with
        ``is_down_after`` all other connections as well, until ``is_down`` is reset."""
        self._outcome, self._is_down_after, self._statement = outcome, is_down_after, statement.encode()

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._server.accept()
                if self.is_down:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._target))
                self._clients.append(client)
                threading.Thread(target=self._send, args=(client, server), daemon=True).start()
                threading.Thread(target=_forward, args=(server, client), daemon=True).start()

    def _send(self, client: socket.socket, server: socket.socket) -> None:
        """Forward the messages of the client, which waits for the response to each statement."""
        statements = _Statements()
        is_chosen = False
        with client, suppress(OSError):
            while data := client.recv(_BLOCK):
                statements.learn(data)
                if self._statement is not None and statements.are_run(self._statement, data):
                    is_chosen = True
                if is_chosen and statements.are_run(b"COMMIT", data):
                    self._cut(client, data, server)
                    break
                server.sendall(data)
        with suppress(OSError):
            server.shutdown(socket.SHUT_WR)

    def _cut(self, client: socket.socket, commit: bytes, server: socket.socket) -> None:
        self.cuts += 1
        self._statement = None
        self.is_down = self._is_down_after
        for one in self._clients if self.is_down else [client]:
            _hang_up(one)  # before PostgreSQL could answer
        if self._outcome == "committed":
            server.sendall(commit)


def _forward(source: socket.socket, target: socket.socket) -> None:
    with source, suppress(OSError):
        while data := source.recv(_BLOCK):
            target.sendall(data)
    _hang_up(target)


def _hang_up(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


@contextmanager
def run_commit_cutter(port: int) -> Iterator[CommitCutter]:
    """Yield a running proxy for the PostgreSQL server on ``port``."""
    cutter = CommitCutter(port)
    try:
        yield cutter
    finally:
        cutter.close()
