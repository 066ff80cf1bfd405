"""Failures of requests to other hosts. The texts contain no address, so they can be shown to users."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException

from docshare.server.outbound.watchdog import DeadlineWatchdog


class OutboundError(Exception):
    """The exchange failed; its text is a sentence without a subject, such as "did not answer in time"."""


class OutboundTimeout(OutboundError):
    """The deadline passed, or the other side fell silent."""


class AddressForbidden(OutboundError):
    """One of the host's addresses may not be connected to."""


class OutboundRedirect(OutboundError):
    """The host answered with a redirect (``status`` 3xx); it is never followed."""

    def __init__(self, status: int) -> None:
        super().__init__(f"answered with a redirect ({status}), which is not followed")
        self.status = status


class TooLarge(OutboundError):
    """The body is larger than the caller takes."""


@contextmanager
def translate_errors(watchdog: DeadlineWatchdog) -> Iterator[None]:
    """Turn whatever sockets, TLS and HTTP raise inside the block into an OutboundError."""
    try:
        yield
    except OutboundError:
        raise
    except (OSError, HTTPException, UnicodeError) as error:  # UnicodeError: a name that DNS cannot carry
        if watchdog.has_expired or isinstance(error, TimeoutError):
            raise OutboundTimeout("did not answer in time") from error
        raise OutboundError(_describe_error(error)) from error
    if watchdog.has_expired:  # what was read since then may be the end of a socket that was shut
        raise OutboundTimeout("did not answer in time")


def _describe_error(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"shows a certificate that is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return "does not speak TLS properly"
    if isinstance(error, HTTPException):
        return "does not speak HTTP properly"
    return "cannot be reached"
