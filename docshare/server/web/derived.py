"""Send files derived from a document to its readers."""

import hashlib
from collections.abc import Callable

from flask import Response, request
from werkzeug.wsgi import wrap_file

from docshare.contract.problems import Problem
from docshare.server.api import answers
from docshare.server.http.views import current_runtime
from docshare.server.pdf.engine import MISSING_REASON, UnrenderableError
from docshare.server.services.links import guessing, links
from docshare.server.store.segments import DamagedBytesError
from docshare.server.store.stored_bytes import StoredBytes, measure, verify

_PAGE_CACHE = "private, max-age=600"
_MAX_BUFFERED_BYTES = 128 * 1024  # bytes; larger files must not be held in memory for a slow reader


def send_derived(content: StoredBytes, media_type: str, *, compress: bool = False) -> Response:
    """Return the whole file, or 304 if the reader has it. Raises FileNotFoundError and DamagedBytesError.

    Parameters: ``compress`` only what ``compression`` allows; a large file is sent as it is.

    Flask's ``send_file`` also supports ranges, which nobody requests of a page, and checking for them takes most of
    its time. A small file is sent together with its headers; a large one is sent by the server's own file wrapper.
    """
    source = content.open()
    size, changed = measure(source)
    # The name identifies file and version, the time distinguishes two renderings.
    hashed = hashlib.sha1(f"{content} {changed}".encode(), usedforsecurity=False).hexdigest()
    tag = f'"{hashed}-gzip"' if compress and answers.accepts_gzip() else f'"{hashed}"'
    if request.environ.get("HTTP_IF_NONE_MATCH") == tag:
        source.close()
        return Response(status=304, headers={"ETag": tag})
    headers = {"ETag": tag, "Content-Length": str(size)}
    if size <= _MAX_BUFFERED_BYTES:
        with source:
            # With its size, one system call; each is a wait for the interpreter under load.
            response = Response(source.read(size), headers=headers, content_type=media_type)
        return answers.compress_response(response) if compress else response
    verify(source)
    body = wrap_file(request.environ, source)
    return Response(body, headers=headers, content_type=media_type, direct_passthrough=True)


def send_page_part(file_uuid: str, content_version: int, make: Callable[[], Response]) -> Response:
    """Return the response that ``make`` builds from an image or a text of one page, to be cached by its reader.

    Raises ``unprocessable`` for a page that cannot be rendered, also if the stored document is lost, and ``not_found``
    if the file was deleted, or its document replaced, meanwhile.
    """
    for is_last in (False, True):
        try:
            response = make()
        except UnrenderableError as error:
            if error.reason == MISSING_REASON and not links.is_current_version(
                current_runtime(), file_uuid, content_version
            ):
                break
            raise Problem("unprocessable", "This page cannot be shown.") from None
        except FileNotFoundError:
            continue  # evicted by newer pages since it was found, or the file was deleted
        except DamagedBytesError:
            if is_last:
                raise
            current_runtime().pages.files.delete_derived(file_uuid, content_version)  # made again from the document
            continue
        response.headers["Cache-Control"] = _PAGE_CACHE
        return response
    raise guessing.link_not_found()
