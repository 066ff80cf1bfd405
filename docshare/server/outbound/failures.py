"""Failures of requests to other hosts. The texts contain no address, so they can be shown to users."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException

from docshare.server.outbound.watchdog import DeadlineWatchdog


class OutboundError(Exception):
    """The exchange failed; the message is a sentence without a subject, such as "did not answer in time"."""


class OutboundTimeout(OutboundError):
    """The deadline has passed, or the other side stopped sending."""


class AddressForbidden(OutboundError):
    """One of the host's addresses is not permitted."""


class OutboundRedirect(OutboundError):
    """The host responded with a redirect (``status`` 3xx); it is never followed."""

    def __init__(self, status: int) -> None:
        super().__init__(f"answered with a redirect ({status}), which is not followed")
        self.status = status


class TooLarge(OutboundError):
    """The body is larger than the caller accepts."""


@contextmanager
def translate_errors(watchdog: DeadlineWatchdog) -> Iterator[None]:
    """Convert errors of sockets, TLS and HTTP inside the block to OutboundError."""
    try:
        yield
    except OutboundError:
        raise
    except (OSError, HTTPException, UnicodeError) as error:  # UnicodeError: a name that DNS cannot encode
        if watchdog.has_expired or isinstance(error, TimeoutError):
            raise OutboundTimeout("did not answer in time") from error
        raise OutboundError(_describe_error(error)) from error
    if watchdog.has_expired:  # the data read since then may be truncated by the shutdown of the socket
        raise OutboundTimeout("did not answer in time")


def _describe_error(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"has a certificate that is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return "does not use TLS correctly"
    if isinstance(error, HTTPException):
        return "does not use HTTP correctly"
    return "cannot be reached"
