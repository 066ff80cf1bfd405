"""What readers leave on a document: notes, page marks, annotations, receipts, and taps.

All of it is sent by the script of the share page. Refusals are plain text for it to show; a write by the signed-in
owner is one of them.
"""

import re
from typing import Any

from flask import Blueprint, Response, request

from docshare.contract.limits import MINUTE, RatePolicy
from docshare.contract.problems import Problem
from docshare.server.api import answers
from docshare.server.api.represent import feedback as represent_feedback
from docshare.server.http.rate_limits import address_key
from docshare.server.http.strict_json import parse_object
from docshare.server.http.views import client_address, rt
from docshare.server.services.feedback import annotations, feedback, marks, notes, receipts
from docshare.server.services.readership import readers, taps
from docshare.server.services.readership.readers import Reader
from docshare.server.web import csrf, viewer_cookie
from docshare.server.web.beacons import loads_ahead
from docshare.server.web.public import open_link
from docshare.server.web.sign_in import session_cookie

WRITES = RatePolicy("feedback", 60, MINUTE, "address")
# A key for each page of a long document; there are no more of them than pages.
MARKS = RatePolicy("marks", 300, MINUTE, "address")

_LARGEST = 16 * 1024  # bytes of a body
_NUMBER = re.compile(r"[1-9][0-9]{0,5}", re.ASCII)

blueprint = Blueprint("feedback", __name__)


@blueprint.get("/<name>/feedback")
def show(name: str) -> Response:
    """What the reader finds on the document; nobody becomes known by asking."""
    return answers.json(represent_feedback.left(feedback.found_by(rt(), _reader(name))))


@blueprint.post("/<name>/notes")
def add_note(name: str) -> Response:
    """201 and the note. Raises as ``_author`` and ``notes.add``."""
    reader = _author(name)
    row, token = notes.add(rt(), reader, _body())
    return _made(reader, represent_feedback.note(row), token)


@blueprint.delete("/<name>/notes/<uuid>")
def remove_note(name: str, uuid: str) -> Response:
    """204. Raises as ``_author`` and ``notes.remove``."""
    notes.remove(rt(), _author(name), uuid)
    return Response(status=204)


@blueprint.put("/<name>/marks/<page>")
def put_mark(name: str, page: str) -> Response:
    """204. Raises as ``_author`` and ``marks.put``."""
    reader = _author(name, MARKS)
    if _NUMBER.fullmatch(page) is None:
        raise Problem("not_found", "There is no such page.")
    token = marks.put(rt(), reader, int(page), _body())
    return _with_token(Response(status=204), reader, token)


@blueprint.post("/<name>/annotations")
def add_annotation(name: str) -> Response:
    """201 and the annotation. Raises as ``_author`` and ``annotations.add``."""
    reader = _author(name)
    row, token = annotations.add(rt(), reader, _body())
    return _made(reader, represent_feedback.annotation(row), token)


@blueprint.delete("/<name>/annotations/<uuid>")
def remove_annotation(name: str, uuid: str) -> Response:
    """204. Raises as ``_author`` and ``annotations.remove``."""
    annotations.remove(rt(), _author(name), uuid)
    return Response(status=204)


@blueprint.post("/<name>/receipt")
def confirm(name: str) -> Response:
    """201 and the receipt; 200 and the one that stands. Raises as ``_author`` and ``receipts.confirm``."""
    reader = _author(name)
    receipt, fresh, token = receipts.confirm(rt(), reader, _body())
    return _made(reader, represent_feedback.receipt(receipt), token, 201 if fresh else 200)


@blueprint.post("/<name>/taps")
def tap(name: str) -> Response:
    """204, also when a program taps, which does not count. Raises as ``_writer`` and ``taps.record``."""
    taps.record(rt(), _writer(name), _body(), request.headers.get("User-Agent", ""), prefetch=loads_ahead())
    return Response(status=204)


def _reader(name: str) -> Reader:
    """Whoever asks. Raises what ``open_link`` raises. Never by a slug, as all that a page loads."""
    link = open_link(rt(), name)
    if link.public_id not in (name, name.lower()):
        raise Problem("not_found", "There is no such link.")
    return readers.before(rt(), link, session_cookie(), viewer_cookie.held(link))


def _author(name: str, policy: RatePolicy = WRITES) -> Reader:
    """Whoever leaves something that is theirs, or takes it back. Raises as ``_writer``, and ``forbidden`` where the
    browser keeps no cookies: each thing would be of another reader, and nobody could take theirs back."""
    reader = _writer(name, policy)
    if not (reader.token or reader.is_owner or viewer_cookie.works()):
        said = "Your browser keeps no cookies here, so nobody could tell what is yours."
        raise Problem("forbidden", said)
    return reader


def _writer(name: str, policy: RatePolicy = WRITES) -> Reader:
    """Whoever writes: ``forbidden`` from a page of another site, ``rate_limited``, ``conflict`` when ``If-Match`` names
    another version of the document than the one that stands, and as ``_reader``."""
    csrf.require_own_page()
    allowance = rt().limits.hit(policy, address_key(client_address()), policy.limit)
    if not allowance.allowed:
        retry = {"Retry-After": str(allowance.reset_s)}
        raise Problem("rate_limited", "Too much was sent from your network in a minute.", headers=retry)
    reader = _reader(name)
    for seen in request.if_match.as_set():
        readers.require_version(reader, seen)
    return reader


def _body() -> dict[str, Any]:
    # Only a page of this server may send this type: for another site's, browsers ask first and get no answer.
    if request.mimetype != answers.JSON_TYPE:
        raise Problem("unsupported_media_type", "Send the body as application/json.")
    return parse_object(request.stream.read(_LARGEST + 1), _LARGEST)


def _made(reader: Reader, value: dict[str, Any], token: str | None, status: int = 201) -> Response:
    response = answers.json(value)
    response.status_code = status
    return _with_token(response, reader, token)


def _with_token(response: Response, reader: Reader, token: str | None) -> Response:
    viewer_cookie.keep(response, reader.link, token)
    return response
