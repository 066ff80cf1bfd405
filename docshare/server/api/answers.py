"""The two kinds of successful answers: JSON, and bytes from a file."""

import json as _json
from typing import IO, Any

from flask import Response, request
from werkzeug.wsgi import wrap_file

JSON_TYPE = "application/json"
_ENCODE = _json.JSONEncoder(separators=(",", ":")).encode


def json(value: Any) -> Response:
    """``value`` as JSON, its keys in the order they have."""
    return Response(_ENCODE(value), content_type=JSON_TYPE)


def from_file(source: IO[bytes], size: int, media_type: str) -> Response:
    """The rest of ``source``, ``size`` bytes, which the response closes.

    The server's own file wrapper sends it from the I/O loop; a generator would hold a thread for each slow reader.
    """
    body = wrap_file(request.environ, source)
    return Response(body, headers={"Content-Length": str(size)}, content_type=media_type, direct_passthrough=True)
