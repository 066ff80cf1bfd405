"""The JSON body of a request."""

from typing import Any

from flask import request

from docshare.contract.problems import Problem
from docshare.server.strict_json import parse_object

MAX_JSON_BYTES = 1 << 20  # bytes


def read_json_object() -> dict[str, Any]:
    """Return the JSON object in the body of the request; ``{}`` if it has no body.

    Raises ``bad_request``, ``payload_too_large`` and ``unsupported_media_type`` (a body that is not declared as
    JSON).
    """
    raw = request.stream.read(MAX_JSON_BYTES + 1)
    if not raw:
        return {}
    if not request.is_json:
        raise Problem("unsupported_media_type", "Send the body as application/json.")
    return parse_object(raw, MAX_JSON_BYTES)
