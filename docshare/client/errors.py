"""What a call can end with, besides a result.

::

    Problem                 the server refused (contract.problems)
    └── Refused             ... as heard by this client: knows the call and the server's pacing
        └── RateLimited     429, still after waiting as long as allowed
    ClientError
    ├── BadAddress          the base URL cannot be used as it stands
    ├── LocalFileError      the file to be sent cannot be read, or changed while it was sent
    └── TransportError      no usable answer
        ├── NotConnected    nothing of the request left this machine
        ├── ConnectionLost  the connection broke after the request began to leave
        ├── TimedOut        the server took longer than allowed
        ├── Redirected      a 3xx: never followed, since the credential belongs to one origin
        ├── NotAnApi        an answer that no server of this API gives
        └── UnknownOutcome  a write may or may not have happened
"""

from collections.abc import Mapping, Sequence
from typing import Any

from docshare.contract.problems import Problem


class Refused(Problem):
    """A refusal as heard: ``method`` and ``path`` of the call, ``retry_after`` in seconds (None: not said), ``plain``:
    the body was no problem document, and ``body``: its first 64 KiB as they came. ``at_file_limit`` is for callers to
    set who found out that a plain ``forbidden`` was about the plan's file slots."""

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        status: int,
        method: str,
        path: str,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
        plain: bool = False,
        body: bytes = b"",
    ) -> None:
        super().__init__(code, detail, hint=hint, headers=headers, extra=extra, status=status)
        self.method = method
        self.path = path
        self.retry_after = retry_after
        self.plain = plain
        self.body = body
        self.at_file_limit = False


class RateLimited(Refused):
    """429 although the client waited; ``retry_after`` says how long the server still asks for."""


class ClientError(Exception):
    """An end without an answer: ``detail`` says what, ``hint`` what to do, ``method`` and ``path`` of which call."""

    def __init__(self, detail: str, *, hint: str = "", method: str = "", path: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint
        self.method = method
        self.path = path


class BadAddress(ClientError):
    """The base URL is malformed, or would send the credential unencrypted over a network."""


class LocalFileError(ClientError):
    """The file to be sent cannot be read, or changed while it was sent."""


class TransportError(ClientError):
    """No usable answer came."""


class NotConnected(TransportError):
    """Name not found, refused, unreachable or no TLS: nothing of the request left. ``final``: repeating is useless."""

    def __init__(self, detail: str, *, hint: str = "", method: str = "", path: str = "", final: bool = False) -> None:
        super().__init__(detail, hint=hint, method=method, path=path)
        self.final = final


class ConnectionLost(TransportError):
    """The connection broke after the request began to leave."""


class TimedOut(TransportError):
    """The server stayed silent for longer than allowed."""


class Redirected(TransportError):
    """The answer was a redirect."""


class NotAnApi(TransportError):
    """The answer is not what a server of this API says at this address."""


class UnknownOutcome(TransportError):
    """A write whose answer was lost; ``candidates`` are the File objects that could be its result."""

    def __init__(
        self,
        detail: str,
        *,
        hint: str = "",
        method: str = "",
        path: str = "",
        candidates: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(detail, hint=hint, method=method, path=path)
        self.candidates = [dict(candidate) for candidate in candidates]
