"""The exceptions of the client.

::

    DocshareError           code, status, detail, hint, request_id (contract.problems)
    Problem                 the server rejected the request (contract.problems)
    └── Refused             ... with the request and the rate limit of the response
        └── RateLimited     still 429 after the maximum wait
    ClientError
    ├── BadAddress          the base URL is invalid, or a link belongs to another server
    ├── MissingCredential   neither argument, environment, nor profile has a credential
    ├── BadSignature        a webhook delivery is not genuine
    ├── WaitTimedOut        an awaited event did not happen in time
    ├── LocalFileError      a local file cannot be read, written, or sent, or changed while it was sent
    └── TransportError      no usable response
        ├── NotConnected    nothing of the request left this machine
        ├── ConnectionLost  the connection broke after part of the request was sent
        ├── TimedOut        the server did not respond in time
        ├── Redirected      a 3xx; not followed, because the credential belongs to one origin
        ├── NotAnApi        not a response of this API
        └── UnknownOutcome  a write may or may not have happened
"""

from collections.abc import Mapping, Sequence
from typing import Any

from docshare.contract.problems import DocshareError, Problem


class Refused(Problem):
    """A problem received from a server: ``method`` and ``path`` of the request, ``retry_after`` in seconds (None: not
    given), ``plain`` (the body was not a problem document), and ``body`` (its first 64 KiB, unchanged). Callers set
    ``at_file_limit`` if they find out that the cause of a ``forbidden`` is the file limit of the plan."""

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
        self.is_plain_text = plain
        self.body = body
        self.is_at_file_limit = False


class RateLimited(Refused):
    """Still 429 after waiting; ``retry_after`` is the remaining wait in seconds.

    Example::

        try:
            client.files.show(link)
        except docshare.RateLimited as error:
            print("retry in", error.retry_after, "seconds")
    """


class ClientError(DocshareError):
    """A call without a usable response: ``detail`` what failed, ``hint`` what to do, ``method`` and ``path``.

    Example::

        try:
            client.files.show(link)
        except docshare.ClientError as error:
            print(error.code, error.hint)
    """

    def __init__(self, detail: str, *, hint: str = "", method: str = "", path: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint
        self.method = method
        self.path = path


class BadAddress(ClientError):
    """The base URL is malformed or missing, would send the credential unencrypted over the network, or a link belongs
    to another server."""

    code = "bad_address"


class MissingCredential(ClientError):
    """Neither an argument, nor the environment, nor a profile has a credential for the server."""

    code = "missing_credential"


class BadSignature(ClientError):
    """A webhook delivery is not genuine."""

    code = "bad_signature"


class WaitTimedOut(ClientError):
    """An awaited event did not happen in time."""

    code = "wait_timed_out"


class LocalFileError(ClientError):
    """A local file cannot be read, written, or sent, or changed while it was sent."""

    code = "local_file"


class TransportError(ClientError):
    """No usable response.

    Example::

        try:
            client.files.show(link)
        except docshare.TransportError as error:
            print("no response:", error.detail)
    """

    code = "no_response"


class NotConnected(TransportError):
    """No connection: unknown host, refused, unreachable, or no TLS. ``final``: a retry cannot succeed."""

    code = "not_connected"

    def __init__(self, detail: str, *, hint: str = "", method: str = "", path: str = "", final: bool = False) -> None:
        super().__init__(detail, hint=hint, method=method, path=path)
        self.is_final = final


class ConnectionLost(TransportError):
    """The connection broke after part of the request was sent."""

    code = "connection_lost"


class TimedOut(TransportError):
    """The server did not respond in time."""

    code = "timed_out"


class Redirected(TransportError):
    """The response was a redirect."""

    code = "redirected"


class NotAnApi(TransportError):
    """The response is not one of this API."""

    code = "not_an_api"


class UnknownOutcome(TransportError):
    """A write whose response was lost; ``candidates`` are the objects that could be its result.

    Example::

        try:
            client.files.upload("offer.pdf")
        except docshare.UnknownOutcome as error:
            print("check:", error.candidates)
    """

    code = "unknown_outcome"

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
