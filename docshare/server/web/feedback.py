"""Feedback of readers on a document: notes, page marks, annotations, receipts, and taps.

The script of the share page sends all of it and shows the errors, which are plain text. The signed-in owner cannot
write.
"""

import re
from typing import Any

from flask import Blueprint, Response, request

from docshare.contract.limits import MINUTE, RatePolicy
from docshare.contract.problems import Problem
from docshare.server.api import answers
from docshare.server.api.represent import feedback as represent_feedback
from docshare.server.http.views import client_address, current_runtime
from docshare.server.rate_limits import network_prefix
from docshare.server.services.feedback import annotations, feedback, marks, notes, receipts
from docshare.server.services.readership import readers, taps
from docshare.server.services.readership.readers import ReaderContext
from docshare.server.strict_json import parse_object
from docshare.server.web import csrf
from docshare.server.web.beacons import has_global_privacy_control, is_prefetch
from docshare.server.web.gates import viewer_cookie
from docshare.server.web.public import require_open_link
from docshare.server.web.sign_in import session_cookie

WRITE_POLICY = RatePolicy("feedback", 60, MINUTE, "address")
# A key for each page of a long document, which is the maximum number.
MARK_POLICY = RatePolicy("marks", 300, MINUTE, "address")

_MAX_BODY_BYTES = 16 * 1024  # bytes of a body
_PAGE_NUMBER = re.compile(r"[1-9][0-9]{0,5}", re.ASCII)

blueprint = Blueprint("feedback", __name__)


@blueprint.get("/<name>/feedback")
def show(name: str) -> Response:
    """Return the feedback that the reader sees; this request creates no viewer."""
    return answers.json_response(
        represent_feedback.viewer_feedback(feedback.load_for_reader(current_runtime(), _find_viewer(name)))
    )


@blueprint.post("/<name>/notes")
def add_note(name: str) -> Response:
    """Create a note and return it with 201. Raises as ``_require_author`` and ``notes.add``."""
    reader = _require_author(name)
    row, token = notes.add(current_runtime(), reader, _read_body())
    return _created_response(reader, represent_feedback.note_object(row), token)


@blueprint.delete("/<name>/notes/<uuid>")
def remove_note(name: str, uuid: str) -> Response:
    """Delete a note; 204. Raises as ``_require_author`` and ``notes.remove``."""
    notes.remove(current_runtime(), _require_author(name), uuid)
    return Response(status=204)


@blueprint.put("/<name>/marks/<page>")
def put_mark(name: str, page: str) -> Response:
    """Set or remove the mark of a page; 204. Raises as ``_require_author`` and ``marks.set_mark``."""
    reader = _require_author(name, MARK_POLICY)
    if _PAGE_NUMBER.fullmatch(page) is None:
        raise Problem("not_found", "There is no such page.")
    token = marks.set_mark(current_runtime(), reader, int(page), _read_body())
    return _set_viewer_cookie(Response(status=204), reader, token)


@blueprint.post("/<name>/annotations")
def add_annotation(name: str) -> Response:
    """Create an annotation and return it with 201. Raises as ``_require_author`` and ``annotations.add``."""
    reader = _require_author(name)
    row, token = annotations.add(current_runtime(), reader, _read_body())
    return _created_response(reader, represent_feedback.annotation_object(row), token)


@blueprint.delete("/<name>/annotations/<uuid>")
def remove_annotation(name: str, uuid: str) -> Response:
    """Delete an annotation; 204. Raises as ``_require_author`` and ``annotations.remove``."""
    annotations.remove(current_runtime(), _require_author(name), uuid)
    return Response(status=204)


@blueprint.post("/<name>/receipt")
def confirm(name: str) -> Response:
    """Create a receipt and return it with 201, or return the existing one with 200.

    Raises as ``_require_author`` and ``receipts.confirm``.
    """
    reader = _require_author(name)
    receipt, fresh, token = receipts.confirm(current_runtime(), reader, _read_body())
    return _created_response(reader, represent_feedback.receipt_object(receipt), token, 201 if fresh else 200)


@blueprint.post("/<name>/taps")
def tap(name: str) -> Response:
    """Count a tap; 204, also for a program, which does not count. Raises as ``_require_writer`` and ``taps.record``."""
    taps.record(
        current_runtime(),
        _require_writer(name),
        _read_body(),
        request.headers.get("User-Agent", ""),
        prefetch=is_prefetch(),
        opts_out=has_global_privacy_control(),
    )
    return Response(status=204)


def _find_viewer(name: str) -> ReaderContext:
    """Return the reader of the current request. Raises what ``require_open_link`` raises. Slugs are not accepted."""
    link = require_open_link(current_runtime(), name)
    if link.public_id not in (name, name.lower()):
        raise Problem("not_found", "There is no such link.")
    return readers.resolve_reader(current_runtime(), link, session_cookie(), viewer_cookie.read_viewer_token(link))


def _require_author(name: str, policy: RatePolicy = WRITE_POLICY) -> ReaderContext:
    """Return the author of feedback that can be withdrawn.

    Raises as ``_require_writer``, and ``forbidden`` if the browser stores no cookies: each entry would belong to
    another reader, and nobody could withdraw it.
    """
    reader = _require_writer(name, policy)
    if not (reader.token or reader.is_owner or viewer_cookie.is_accepted()):
        detail = "Your browser blocks cookies on this page, so your feedback cannot be saved."
        raise Problem("forbidden", detail)
    return reader


def _require_writer(name: str, policy: RatePolicy = WRITE_POLICY) -> ReaderContext:
    """Return the writer.

    Raises ``forbidden`` for a page of another site, ``rate_limited``, ``conflict`` if ``If-Match`` names another
    version of the document than the current one, and as ``_find_viewer``.
    """
    csrf.require_same_origin()
    allowance = current_runtime().limits.hit(policy, network_prefix(client_address()), policy.limit)
    if not allowance.is_allowed:
        retry = {"Retry-After": str(allowance.reset_s)}
        raise Problem("rate_limited", "Too many requests from your network. Try again in a minute.", headers=retry)
    reader = _find_viewer(name)
    for seen in request.if_match.as_set():
        readers.require_version(reader, seen)
    return reader


def _read_body() -> dict[str, Any]:
    # Only a page of this server can send this type: for another site, browsers send a preflight, which fails.
    if request.mimetype != answers.JSON_TYPE:
        raise Problem("unsupported_media_type", "Send the body as application/json.")
    return parse_object(request.stream.read(_MAX_BODY_BYTES + 1), _MAX_BODY_BYTES)


def _created_response(reader: ReaderContext, value: dict[str, Any], token: str | None, status: int = 201) -> Response:
    response = answers.json_response(value)
    response.status_code = status
    return _set_viewer_cookie(response, reader, token)


def _set_viewer_cookie(response: Response, reader: ReaderContext, token: str | None) -> Response:
    viewer_cookie.set_viewer_token(response, reader.link, token)
    return response
