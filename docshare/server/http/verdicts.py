"""The question that the listener asks before it reads a body, and the possible answers. Standard library only."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RequestHead:
    """One request whose header block is complete and soundly framed; its body has not been read.

    ``method`` upper case; ``path`` the ``PATH_INFO`` that the application will see (percent-decoded, Latin-1, one
    leading slash); ``query`` without ``?``; ``headers`` lower-case names with dashes, repeated ones joined by ", "
    (so a doubled ``Authorization`` holds a comma); ``content_length`` in bytes, None if not declared; ``chunked`` if
    the body comes in chunks; ``peer`` the address of the other end of the connection.
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
    """Answer now, without the application and without reading the body. ``Content-Length`` and ``Date`` are added."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""


@dataclass(frozen=True)
class Acceptance:
    """Read the body and hand the request to the application.

    ``max_body``: largest body in bytes, all parts and boundaries included; ``intake``: a ``multipart/form-data`` body
    is taken apart on the way and its files go straight into the store; ``max_file``: largest single file in bytes,
    None without limit; ``on_too_large``: the answer beyond either limit (default: the drawn 413); ``discard``: the body
    is counted and kept nowhere, so the application learns its length and no more.
    """

    max_body: int
    stores_files: bool = False
    max_file: int | None = None
    on_too_large: Refusal | None = None
    discards_body: bool = False


Verdict = Refusal | Acceptance
Judge = Callable[[RequestHead], Verdict]
RefusalBuilder = Callable[[int, str | None, str], Refusal]
"""``(status, path or None if it could not be read, one sentence) -> Refuse``: draws the listener's own errors."""
