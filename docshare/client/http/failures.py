"""Translation of exceptions of ``requests``."""

import ssl
from collections.abc import Iterator

import requests
import urllib3.exceptions as pool

from docshare.client.errors import ConnectionLost, NotConnected, TimedOut, TransportError
from docshare.client.http.call import Call
from docshare.client.http.tls import is_plain_http

_UPLOAD_HINT = "The server closed the connection during the upload; the file may be larger than the plan allows."
_CONNECT_ERRORS = (
    pool.NewConnectionError,
    pool.ConnectTimeoutError,
    requests.exceptions.ProxyError,
    requests.exceptions.SSLError,
)
_TIMEOUT_ERRORS = (requests.Timeout, pool.ReadTimeoutError, TimeoutError)


def translate_error(error: requests.RequestException, call: Call, origin: str) -> TransportError:
    """Return the ``TransportError`` for an exception of ``requests`` during ``call`` to ``origin``."""
    failure = _classify_error(error, list(_walk_causes(error)), call, origin)
    failure.method, failure.path = call.method, call.whole_path
    return failure


def _classify_error(
    error: requests.RequestException, causes: list[BaseException], call: Call, origin: str
) -> TransportError:
    sending = call.body is not None and call.body.started
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        # A retry cannot succeed, unlike for other failures to connect.
        hint = "Check the address. For a private certificate authority, pass its bundle with --ca-bundle."
        return NotConnected(
            f"the certificate of {origin} is not trusted: {_describe_causes(causes)}", hint=hint, final=True
        )
    if any(is_plain_http(cause) for cause in causes):
        hint = "Use http://, or the port that serves TLS."
        return NotConnected(f"{origin} speaks plain http on this port, not https", hint=hint, final=True)
    if not sending and any(isinstance(cause, _CONNECT_ERRORS) for cause in causes):
        hint = "Check the address and that the server is running."
        return NotConnected(f"cannot connect to {origin}: {_describe_causes(causes)}", hint=hint)
    if any(isinstance(cause, _TIMEOUT_ERRORS) for cause in causes):
        return TimedOut(f"{origin} did not answer in time", hint="Try again, or allow more with --timeout.")
    if isinstance(error, requests.ConnectionError | requests.exceptions.ChunkedEncodingError):
        hint = _UPLOAD_HINT if sending and not call.may_have_arrived() else "Try again."
        return ConnectionLost(f"the connection to {origin} broke: {_describe_causes(causes)}", hint=hint)
    return NotConnected(f"the request to {origin} failed: {error}", final=True)


def _walk_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and all its causes, outermost first."""
    waiting, seen = [error], set[int]()
    while waiting:
        cause = waiting.pop(0)
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        nested = [*cause.args, getattr(cause, "reason", None), cause.__cause__, cause.__context__]
        waiting += [item for item in nested if isinstance(item, BaseException)]


def _describe_causes(causes: list[BaseException]) -> str:
    """Return the innermost reason in the words of the operating system."""
    for cause in reversed(causes):
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror.lower()
    return str(causes[-1]).strip() or type(causes[-1]).__name__
