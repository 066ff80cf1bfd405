"""Files: upload, list, detail, stored bytes, delete."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext

from flask import Response, request

from docshare.contract.problems import Problem
from docshare.contract.wire import format_instant
from docshare.server.api import answers, file_list
from docshare.server.api.represent import resources as represent
from docshare.server.http import uploads
from docshare.server.http.compression import open_gzip
from docshare.server.http.headers import content_disposition
from docshare.server.http.multipart import FORM_ERROR_KEY, FORM_KEY
from docshare.server.http.views import current_runtime
from docshare.server.received_file import ReceivedFile
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files, intake

_MAX_BUFFERED_BYTES = 1 << 20  # of a response held in memory


def upload(caller: Caller) -> Response:
    """``POST /files``: store the PDF in the multipart part ``file`` and return the upload result."""
    taken = intake.store_upload(
        current_runtime(), caller, receive_file(lambda length: intake.admit(current_runtime(), caller, length))
    )
    link = represent.share_url(current_runtime().config.base_url, taken.row.short_id)
    result = represent.result_message("The file is shared.", taken.warning, taken.left_out)
    return answers.json_response({"uuid": taken.row.uuid, "shortId": taken.row.short_id, "shareUrl": link, **result})


def receive_file(admit: Callable[[int], int]) -> ReceivedFile:
    """Return the file part of the form in the request.

    Parameters: ``admit`` gets the minimum size of the file in bytes and returns the maximum; the bundled listener has
    called it already. Raises what it raises, ``bad_request``, ``unsupported_media_type``, ``payload_too_large``,
    ``unavailable``.
    """
    max_file = None
    if FORM_KEY not in request.environ:
        # Not the bundled server, or a request without a body: nobody has checked it yet.
        max_file = admit(max((request.content_length or 0) - uploads.FORM_OVERHEAD, 0))
    _require_form()
    received = uploads.read_form(request, max_file).files.get("file")
    if received is None:
        raise _missing_file_problem()
    return received


def _missing_file_problem() -> Problem:
    return Problem("bad_request", "The form has no file part named 'file'.")


def _require_form() -> None:
    """Raise ``unsupported_media_type`` unless the body is declared as a multipart form; ``bad_request`` without a
    body."""
    content_type = request.content_type or ""
    if not content_type and not _has_body():
        # Without a body the error is the missing file part, not the content type.
        raise _missing_file_problem()
    if content_type.partition(";")[0].strip(" \t").lower() != "multipart/form-data":
        raise Problem("unsupported_media_type", "Send the file as multipart/form-data, in the part 'file'.")


def _has_body() -> bool:
    # The bundled listener decodes chunks; of a body that it could not read only the error is left.
    return bool(request.content_length) or "Transfer-Encoding" in request.headers or FORM_ERROR_KEY in request.environ


def list_files(caller: Caller) -> Response:
    """``GET /files``: return an array, newest first; a long one is sent from a file, never from memory."""
    base_url = current_runtime().config.base_url
    blocks = file_list.encode_array(base_url, files.list_files(current_runtime(), caller))
    held = bytearray()
    for block in blocks:
        held += block
        if len(held) > _MAX_BUFFERED_BYTES:
            return _respond_from_spool(held, blocks)
    return answers.negotiate_json(bytes(held))


def _respond_from_spool(held: bytearray, rest: Iterator[bytes]) -> Response:
    """Return a long response from a file: a slow reader then occupies neither a thread nor a read transaction."""
    spool = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
    packed = answers.accepts_gzip()
    with open_gzip(spool) if packed else nullcontext(spool) as target:
        target.write(held)
        for block in rest:
            target.write(block)
    size = spool.tell()
    spool.seek(0)
    return answers.set_encoding_headers(answers.file_response(spool, size, answers.JSON_TYPE), packed)


def show_file(caller: Caller, name: str) -> Response:
    """``GET /files/{id}``: return the File with its revisions."""
    row, revisions = files.show(current_runtime(), caller, name)
    return answers.json_response(
        represent.file_object(current_runtime().config.base_url, row, revisions), compress=True
    )


def delete_file(caller: Caller, name: str) -> Response:
    """``DELETE /files/{id}``: move the file to the trash, or delete it permanently. Only exactly ``purge=1`` purges."""
    trash = files.delete(current_runtime(), caller, name, purge=request.args.getlist("purge") == ["1"])
    if trash is None:
        return answers.json_response({"trashed": False})
    return answers.json_response(
        {"trashed": True, "trashedAt": format_instant(trash.trashed_at), "purgeAt": format_instant(trash.purge_at)}
    )


def send_content(caller: Caller, name: str) -> Response:
    """``GET /files/{id}/content``: return the stored bytes; ranges and conditions are ignored."""
    for _ in range(2):
        found = files.get_content(current_runtime(), caller, name)
        try:
            stored = found.path.open()
        except FileNotFoundError:
            continue  # replaced or deleted since it was found
        response = answers.file_response(stored, found.row.size, found.row.mime_type)
        response.headers["Content-Disposition"] = content_disposition("inline", found.row.original_name)
        return response
    raise files.file_not_found()
