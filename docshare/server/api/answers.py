"""Successful responses: JSON, bytes from a file, and documents that stay the same while the server runs."""

import hashlib
import json as _json
from dataclasses import dataclass
from typing import IO, Any

from flask import Response, request
from werkzeug.wsgi import wrap_file

from docshare.server.http import compression
from docshare.server.store.stored_bytes import verify

JSON_TYPE = "application/json"
_encode_json = _json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True)
class StaticBody:
    """A document that is the same for everybody: its bytes, the compressed bytes (None if they are not smaller), and
    a hash."""

    body: bytes
    gzip_body: bytes | None
    etag: str
    media_type: str


def make_static(body: bytes, media_type: str, *, compress: bool = True) -> StaticBody:
    """Return ``body`` as a StaticBody; ``compress`` False for a format that is compressed already."""
    packed = compression.compress_best(body) if compress and len(body) >= compression.MIN_BYTES else None
    return StaticBody(body, packed, hashlib.sha256(body).hexdigest()[:32], media_type)


def make_static_json(value: Any) -> StaticBody:
    """Return ``value`` as a StaticBody of JSON."""
    return make_static(_encode_json(value).encode(), JSON_TYPE)


def send_static(document: StaticBody, cache_control: str) -> Response:
    """Send ``document``, compressed if the client accepts that, or 304 if the client has it already."""
    packed = accepts_gzip() and document.gzip_body is not None
    # Each coding is a separate representation, so it needs a separate tag.
    tag = f"{document.etag}-gzip" if packed else document.etag
    known = request.if_none_match.contains_weak(tag)
    body = b"" if known else document.gzip_body if packed else document.body
    response = Response(body, 304 if known else 200, content_type=document.media_type)
    response.headers["ETag"] = f'"{tag}"'
    response.headers["Cache-Control"] = cache_control
    return response if document.gzip_body is None else set_encoding_headers(response, packed)


def json_response(value: Any, *, compress: bool = False) -> Response:
    """Return ``value`` as JSON with its keys in order; ``compress`` only responses that ``compression`` allows."""
    body = _encode_json(value).encode()
    return negotiate_json(body) if compress else Response(body, content_type=JSON_TYPE)


def negotiate_json(body: bytes) -> Response:
    """Return the JSON ``body``, compressed if the client accepts that and it is not tiny."""
    packed = len(body) >= compression.MIN_BYTES and accepts_gzip()
    return set_encoding_headers(
        Response(compression.compress_fast(body) if packed else body, content_type=JSON_TYPE), packed
    )


def compress_response(response: Response) -> Response:
    """Compress the whole body of ``response`` if the client accepts that and it is not tiny; ``compression`` says
    which responses may be."""
    body = response.get_data()
    packed = len(body) >= compression.MIN_BYTES and accepts_gzip()
    if packed:
        response.set_data(compression.compress_fast(body))
    response.headers["Vary"] = "Authorization, Cookie, Accept-Encoding"
    return set_content_encoding(response, packed)


def set_encoding_headers(response: Response, packed: bool) -> Response:
    """Set the headers for caches (``response`` may be compressed) and for clients (whether it is)."""
    response.headers["Vary"] = "Accept-Encoding"
    return set_content_encoding(response, packed)


def set_content_encoding(response: Response, packed: bool) -> Response:
    """Set the header for clients if ``response`` is ``packed``."""
    if packed:
        response.headers["Content-Encoding"] = "gzip"
    return response


def file_response(source: IO[bytes], size: int, media_type: str) -> Response:
    """Return the rest of ``source``, ``size`` bytes, as a response that closes it. Raises DamagedBytesError.

    The server's own file wrapper sends it from the I/O loop; a generator would occupy a thread for each slow reader.
    """
    verify(source)
    body = wrap_file(request.environ, source)
    return Response(body, headers={"Content-Length": str(size)}, content_type=media_type, direct_passthrough=True)


def accepts_gzip() -> bool:
    """Return whether the client of the current request accepts a compressed response."""
    return compression.accepts_gzip(request.environ.get("HTTP_ACCEPT_ENCODING"))
