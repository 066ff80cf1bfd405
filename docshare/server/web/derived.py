"""Files made from a document, sent to its readers."""

import hashlib
import os
from pathlib import Path

from flask import Response, request
from werkzeug.wsgi import wrap_file

_MAX_BUFFERED_BYTES = 128 * 1024  # bytes; larger files must not be held in memory for a slow reader


def send_derived(path: Path, media_type: str) -> Response:
    """Return the whole file at ``path``, or 304 if the reader has it. Raises FileNotFoundError.

    Flask's ``send_file`` also supports ranges, which nobody requests of a page, and checking for them takes most of
    its time. A small file is sent together with its headers; a large one is sent by the server's own file wrapper.
    """
    source = open(path, "rb", buffering=0)  # noqa: SIM115 - the response closes it
    facts = os.fstat(source.fileno())
    # The name identifies file and version, the time distinguishes two renderings.
    tag = f'"{hashlib.sha1(f"{path} {facts.st_mtime_ns}".encode(), usedforsecurity=False).hexdigest()}"'
    if request.environ.get("HTTP_IF_NONE_MATCH") == tag:
        source.close()
        return Response(status=304, headers={"ETag": tag})
    headers = {"ETag": tag, "Content-Length": str(facts.st_size)}
    if facts.st_size <= _MAX_BUFFERED_BYTES:
        with source:
            return Response(source.read(), headers=headers, content_type=media_type)
    body = wrap_file(request.environ, source)
    return Response(body, headers=headers, content_type=media_type, direct_passthrough=True)
