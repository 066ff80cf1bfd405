"""Compress responses with gzip where the length of the result reveals nothing. Standard library only.

The length of a compressed response reveals whether two parts of it are equal. An attacker who can add text to a
response and see its length can therefore guess the rest of it piece by piece (BREACH), or confirm that it contains a
certain address. So nothing is compressed by default; a view requests compression if its response contains no text of
strangers.

Never compressed: a page that may contain a ticket or a CSRF token; a response to a request with a cookie; a response
that contains a credential; text of readers, because the page also contains names and addresses of other readers. The
viewer of a link without conditions may be compressed: all readers without a cookie get the same page, except for the
token of the load, which differs each time.
"""

import gzip
import re
from functools import lru_cache
from typing import BinaryIO

MIN_BYTES = 1024
"""Smaller responses are not compressed: they fit into one packet anyway."""
_FAST_LEVEL, _BEST_LEVEL = 4, 9
_MAX_HEADER_CHARS = 256  # characters of a header that are parsed; browsers send 30
_QUALITY = re.compile(r"\s*(?:;\s*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?\s*", re.ASCII)


def accepts_gzip(accept_encoding: str | None) -> bool:
    """Return whether a client that sends this ``Accept-Encoding`` accepts gzip and does not prefer the plain response
    (RFC 9110, 12.5.3)."""
    return (
        bool(accept_encoding)
        and len(accept_encoding or "") <= _MAX_HEADER_CHARS
        and _prefers_gzip(accept_encoding or "")
    )


@lru_cache(maxsize=256)
def _prefers_gzip(accept_encoding: str) -> bool:
    weights: dict[str, float] = {}
    for item in accept_encoding.lower().split(","):
        coding, separator, parameters = item.partition(";")
        weight = _QUALITY.fullmatch(separator + parameters)
        if weight is not None:
            weights[coding.strip()] = float(weight[1] or 1)
    wanted = weights.get("gzip", weights.get("x-gzip", weights.get("*", 0)))
    return wanted > 0 and wanted >= weights.get("identity", 0)


def open_gzip(target: BinaryIO) -> gzip.GzipFile:
    """Open a file that compresses its data into ``target``; the caller closes both."""
    return gzip.GzipFile("", "wb", _FAST_LEVEL, target, mtime=0)


def compress_fast(body: bytes) -> bytes:
    """Return ``body`` compressed quickly."""
    return gzip.compress(body, _FAST_LEVEL, mtime=0)


def compress_best(body: bytes) -> bytes:
    """Return ``body`` compressed as well as possible, for bodies that are compressed once and sent often."""
    return gzip.compress(body, _BEST_LEVEL, mtime=0)
