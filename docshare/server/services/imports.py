"""Import: fetch a PDF from a host that the operator named, and make it a file (section Files)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from docshare import __version__
from docshare.contract.problems import Problem
from docshare.server.blobs import HEAD_BYTES, Part
from docshare.server.models import File
from docshare.server.multipart import ReceivedFile
from docshare.server.outbound.addresses import operator_named
from docshare.server.outbound.exchange import Answer, Request
from docshare.server.outbound.failures import OutboundError, TooLarge
from docshare.server.outbound.targets import Target
from docshare.server.rules import imports as rules
from docshare.server.rules import intake as intake_rules
from docshare.server.runtime import Runtime
from docshare.server.services import intake
from docshare.server.services.callers import Caller

DEADLINE_S = 120.0
_HEADERS = {"User-Agent": f"docshare/{__version__}", "Accept": "application/pdf"}
_OK = 200


@dataclass(frozen=True)
class Imported:
    """The new file, and the colours of its first page (``#rrggbb``, most dominant first), if they could be told."""

    file: File
    palette: list[str] | None


def take(rt: Runtime, caller: Caller, body: Mapping[str, object]) -> Imported:
    """Fetch the document that ``body`` names and make it a new file of ``caller``.

    Raises ``bad_request`` (body, not a PDF, a PDF that cannot be used), ``forbidden`` (host, file slots),
    ``payload_too_large``, ``bad_gateway`` (the source) and ``unavailable``. On any of them nothing is stored.
    """
    order = rules.parse_order(body)
    rules.require_listed(order.target, rt.config.import_hosts)
    intake.admit(rt, caller, None)
    part = rt.blobs.part()
    try:
        with _seat(rt):
            _fetch(rt, caller, order.target, part)
        rules.require_pdf(part.head)
        row = _stored(rt, caller, ReceivedFile(order.name, "", part))
    finally:
        part.discard()
    return Imported(row, rt.engine.palette(rt.blobs.path(row.blob)))


def _stored(rt: Runtime, caller: Caller, received: ReceivedFile) -> File:
    try:
        return intake.take(rt, caller, received)
    except Problem as problem:
        if problem.code != "unprocessable":
            raise
        # Spec: Errors. 422 belongs to upload and replacement; an import of what cannot be used is a bad request.
        raise Problem("bad_request", problem.detail, hint=problem.hint) from problem


def _fetch(rt: Runtime, caller: Caller, target: Target, part: Part) -> None:
    """Write what ``target`` answers into ``part``."""
    request = Request(target, headers=_HEADERS)
    try:
        with rt.outbound.exchange(request, operator_named, deadline_s=DEADLINE_S) as answer:
            if answer.status != _OK:
                raise OutboundError(f"answered with status {answer.status}")
            _receive(answer, intake_rules.max_stored(caller.plan), part)
    except TooLarge as error:
        raise intake_rules.too_large(caller.plan) from error
    except OutboundError as error:
        raise Problem("bad_gateway", f"The source at {target.host_header} {error}.") from error
    except OSError as error:
        raise intake_rules.no_room() from error  # of the part: what the network raises is translated


def _receive(answer: Answer, most: int, part: Part) -> None:
    for block in answer.blocks(most):
        judged = part.size >= HEAD_BYTES
        part.write(block)
        if not judged and part.size >= HEAD_BYTES:
            rules.require_pdf(part.head)  # the rest need not come


@contextmanager
def _seat(rt: Runtime) -> Iterator[None]:
    """The right to hold a thread of the server for as long as a slow source may take."""
    if not rt.outbound.transfers.acquire(blocking=False):
        raise Problem("rate_limited", "Too many documents are being imported now.", headers={"Retry-After": "10"})
    try:
        yield
    finally:
        rt.outbound.transfers.release()
