"""The verdicts on a request: the listener asks for one before it reads the body. Standard library only."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RequestHead:
    """One request whose header block is complete and valid; its body has not been read.

    ``method`` upper case; ``path`` the ``PATH_INFO`` that the application will see (percent-decoded, Latin-1, one
    leading slash); ``query`` without ``?``; ``headers`` lower-case names with dashes, repeated ones joined by ", "
    (so a doubled ``Authorization`` contains a comma); ``content_length`` in bytes, None if not declared;
    ``is_chunked`` if the body comes in chunks; ``peer`` the address of the other end of the connection.
    """

    method: str
    path: str
    headers: dict[str, str]
    content_length: int | None
    is_chunked: bool
    peer: str
    query: str = ""


@dataclass(frozen=True)
class Refusal:
    """Reject the request: send this response without running the application or reading the body. The listener adds
    ``Content-Length`` and ``Date``."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""


@dataclass(frozen=True)
class Acceptance:
    """Accept the request: read its body, then run the application.

    ``max_body``: largest body in bytes, including all parts and boundaries; ``stores_files``: a
    ``multipart/form-data`` body is parsed while it arrives and its files are written directly to the store;
    ``max_file``: largest single file in bytes, None without limit; ``on_too_large``: the response if either limit is
    exceeded (None: the listener renders a 413); ``discards_body``: the listener counts the bytes of the body and
    discards them, so the application only gets its length.
    """

    max_body: int
    stores_files: bool = False
    max_file: int | None = None
    on_too_large: Refusal | None = None
    discards_body: bool = False


Verdict = Refusal | Acceptance
Judge = Callable[[RequestHead], Verdict]
"""Returns the verdict on a request."""
ErrorRenderer = Callable[[int, str | None, str], Refusal]
"""Renders an error of the listener itself. Parameters: status; path, None if it could not be read; message."""
