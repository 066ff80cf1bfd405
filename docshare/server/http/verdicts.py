"""The question of the listener before it reads a body, and the possible answers. Standard library only."""

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
    """Respond now, without the application and without reading the body. ``Content-Length`` and ``Date`` are added."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""


@dataclass(frozen=True)
class Acceptance:
    """Read the body and pass the request to the application.

    ``max_body``: largest body in bytes, including all parts and boundaries; ``stores_files``: a
    ``multipart/form-data`` body is parsed while it arrives and its files are written directly to the store;
    ``max_file``: largest single file in bytes, None without limit; ``on_too_large``: the response beyond either limit
    (default: the rendered 413); ``discards_body``: the body is counted and not stored, so the application only gets
    its length.
    """

    max_body: int
    stores_files: bool = False
    max_file: int | None = None
    on_too_large: Refusal | None = None
    discards_body: bool = False


Verdict = Refusal | Acceptance
Judge = Callable[[RequestHead], Verdict]
RefusalBuilder = Callable[[int, str | None, str], Refusal]
"""``(status, path or None if it could not be read, message) -> Refusal``: renders the listener's own errors."""
