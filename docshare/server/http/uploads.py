"""Return the form of an upload, on every WSGI server.

The bundled listener parses the form before the application runs. On any other server the body is parsed here, by the
same parser, which also writes each file once: directly to a partial file of the store.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

from flask import Request, current_app
from werkzeug.exceptions import ClientDisconnected

from docshare.contract.amounts import format_size
from docshare.contract.problems import Problem
from docshare.server.http.multipart import (
    FORM_ERROR_KEY,
    FORM_KEY,
    FileTooLargeError,
    FormError,
    FormParser,
    ReceivedForm,
    parse_boundary,
)
from docshare.server.store.blobs import PartialFile

_BLOCK_BYTES = 256 * 1024
FORM_OVERHEAD = 768 * 1024
"""Bytes that a form may add to its file: ten parts with fields of 64 kB and headers of 8 kB, and the boundaries."""


class UploadRequest(Request):
    """A request that deletes its uploaded files when it is closed, except those that the store has kept."""

    def close(self) -> None:
        """Delete the files. Flask calls this after the request was answered or has failed."""
        super().close()
        form: ReceivedForm | None = self.environ.get(FORM_KEY)
        if form is not None:
            form.discard()


def read_form(request: Request, max_file: int | None = None) -> ReceivedForm:
    """Return the form in ``request``; a second call returns the same one.

    Parameters: ``max_file`` the largest file in bytes, None without limit. Raises Problem ``bad_request`` for a body
    that is not valid multipart/form-data, ``payload_too_large`` for a larger file, ``unavailable`` on a full disk.
    """
    if FORM_ERROR_KEY in request.environ:
        raise Problem("bad_request", request.environ[FORM_ERROR_KEY])
    if FORM_KEY not in request.environ:
        request.environ[FORM_KEY] = _parse_form(request, max_file)
    form: ReceivedForm = request.environ[FORM_KEY]
    if max_file is not None and any(file.part.size > max_file for file in form.files.values()):
        raise _build_size_problem(max_file)
    return form


def _parse_form(request: Request, max_file: int | None) -> ReceivedForm:
    create_partial: Callable[[], PartialFile] = current_app.extensions["docshare"].blobs.create_partial
    try:
        with ExitStack() as undo:
            parser = FormParser(parse_boundary(request.content_type or ""), create_partial, max_file)
            undo.callback(parser.discard)
            for block in _read_blocks(request, max_file):
                parser.feed(block)
            form = parser.finish()
            undo.pop_all()
            return form
    except FormError as error:
        raise Problem("bad_request", str(error)) from None
    except ClientDisconnected:
        raise Problem("bad_request", "The body ended early.") from None
    except FileTooLargeError:
        raise _build_size_problem(max_file) from None
    except OSError as error:
        raise Problem("unavailable", "The server cannot store the body now.") from error


def _read_blocks(request: Request, max_file: int | None) -> Iterator[bytes]:
    """Yield the body in blocks. Raises FileTooLargeError if it is too large for the file and the form, even if its
    Content-Length is wrong or it is chunked."""
    room = None if max_file is None else max_file + FORM_OVERHEAD
    if room is not None and (request.content_length or 0) > room:
        raise FileTooLargeError
    while block := request.stream.read(_BLOCK_BYTES):
        if room is not None:
            room -= len(block)
            if room < 0:
                raise FileTooLargeError
        yield block


def _build_size_problem(max_file: int | None) -> Problem:
    return Problem("payload_too_large", f"The file is larger than {format_size(max_file or 0)}.")
