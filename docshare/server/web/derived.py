"""Files made from a document, sent to its readers."""

import hashlib
import os
from pathlib import Path

from flask import Response, request
from werkzeug.wsgi import wrap_file


def answer(path: Path, media_type: str) -> Response:
    """The file at ``path`` whole, or 304 where the reader has it. Raises FileNotFoundError.

    Flask's ``send_file`` does the same and ranges besides, which nobody asks of a page; most of what an answer costs
    would be its looking for them.
    """
    source = open(path, "rb")  # noqa: SIM115 - the response closes it
    facts = os.fstat(source.fileno())
    tag = f'"{hashlib.sha1(f"{path} {facts.st_mtime_ns}".encode(), usedforsecurity=False).hexdigest()}"'
    headers = {"ETag": tag, "Content-Length": str(facts.st_size)}
    if request.environ.get("HTTP_IF_NONE_MATCH") == tag:
        source.close()
        return Response(status=304, headers={"ETag": tag})
    body = wrap_file(request.environ, source)
    return Response(body, headers=headers, content_type=media_type, direct_passthrough=True)
