"""An SMTP server on loopback that accepts all messages, or sends scripted replies."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Self

_GREETING = b"220 mailbox ESMTP"


def read_part(message: EmailMessage, kind: str = "plain") -> str:
    """Return the part of ``message`` that is plain text, or ``html``."""
    part = message.get_body((kind,))
    assert part is not None
    return str(part.get_content())


@dataclass
class FakeMailServer:
    """``answers``: by command (``RCPT``, ``DATA``, ..., ``CONNECT`` for the greeting) the reply to send instead of
    success; ``is_slow``: it sends an endless greeting byte by byte."""

    answers: dict[str, bytes] = field(default_factory=dict)
    is_slow: bool = False
    messages: list[EmailMessage] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        socket.create_connection(self._server.getsockname()).close()  # wakes the thread that accepts
        self._thread.join(5)
        self._server.close()

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self._server.getsockname()[1]}"

    def _serve(self) -> None:
        while not self._stopped.is_set():
            try:
                connection, _ = self._server.accept()
                with connection:
                    self._serve_connection(connection)
            except OSError:  # the client closed the connection, or the test has closed the server
                continue

    def _serve_connection(self, connection: socket.socket) -> None:
        if self._stopped.is_set():
            return
        if self.is_slow:
            self._send_slowly(connection)
            return
        connection.sendall(self.answers.get("CONNECT", _GREETING) + b"\r\n")
        with connection.makefile("rb") as lines:
            for line in lines:
                word = line.split()[0].decode().upper() if line.split() else ""
                self.commands.append(line.decode("utf-8", "replace").strip())
                if word == "QUIT":
                    connection.sendall(self.answers.get("QUIT", b"221 bye") + b"\r\n")
                    return
                if word == "DATA" and "DATA" not in self.answers:
                    connection.sendall(b"354 go on\r\n")
                    self._receive_message(lines)
                connection.sendall(self.answers.get(word, b"250 ok") + b"\r\n")

    def _send_slowly(self, connection: socket.socket) -> None:
        while not self._stopped.is_set():
            connection.sendall(b"2")
            time.sleep(0.05)

    def _receive_message(self, lines: object) -> None:
        body = bytearray()
        for line in lines:  # type: ignore[attr-defined]
            if line == b".\r\n":
                break
            body += line[1:] if line.startswith(b"..") else line
        self.raw.append(bytes(body))
        self.messages.append(message_from_bytes(bytes(body), policy=policy.default))  # type: ignore[arg-type]
