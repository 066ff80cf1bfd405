"""Files made from a document, sent to its readers."""

import hashlib
import os
from pathlib import Path

from flask import Response, request
from werkzeug.wsgi import wrap_file

_MAX_BUFFERED_BYTES = 128 * 1024  # bytes; of larger files a slow reader must not hold a copy in memory


def send_derived(path: Path, media_type: str) -> Response:
    """The file at ``path`` whole, or 304 where the reader has it. Raises FileNotFoundError.

    Flask's ``send_file`` answers ranges besides, which nobody asks of a page, and looking for them is most of what it
    does. A small file leaves together with its headers; a large one is sent by the server's own file wrapper.
    """
    source = open(path, "rb", buffering=0)  # noqa: SIM115 - the response closes it
    facts = os.fstat(source.fileno())
    # The name tells the file and the version apart, the time one drawing from the next.
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
