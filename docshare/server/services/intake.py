"""Taking a document in: judged before its bytes where possible, stored, inspected, and only then a row."""

import json
from itertools import groupby

from docshare.contract.media import STORED_TYPE
from docshare.contract.plans import PLAN_LIMITS
from docshare.contract.problems import Problem
from docshare.server.models import File, Revision
from docshare.server.multipart import ReceivedFile
from docshare.server.pdf.engine import Inspection
from docshare.server.rules import intake as rules
from docshare.server.rules.names import clean_name
from docshare.server.runtime import Runtime
from docshare.server.services.callers import Caller

SHORT_ID_CHARS = 12
_COUNT_UP_TO = "SELECT COUNT(*) FROM (SELECT 1 FROM files WHERE owner_id = ? AND trashed_at IS NULL LIMIT ?)"


def admit(rt: Runtime, caller: Caller, length: int | None) -> int:
    """Judge an upload by what is known before its bytes: slots, size, room on the disk.

    Parameters: ``length`` the bytes that are announced, None if unknown; it may exceed the file by the form around it,
    so the caller takes that off. Returns the largest file in bytes that may follow. Raises ``forbidden``,
    ``payload_too_large``, ``unavailable``.
    """
    _require_slot(rt, caller)
    if length is not None:
        rules.require_size(caller.plan, length)
    rules.require_room(rt.blobs.free_bytes(), length or 0)
    return rules.max_stored(caller.plan)


def take(rt: Runtime, caller: Caller, received: ReceivedFile) -> File:
    """Store an uploaded PDF as a new file of ``caller``; returns its row, durable.

    ``received`` is used up only on success; the shell discards it otherwise. Raises ``bad_request`` (not a PDF, old
    Word), ``forbidden`` (no slot), ``payload_too_large``, ``unprocessable`` and ``unavailable`` (PDF engine).
    """
    part = received.part
    rules.require_size(caller.plan, part.size)
    rules.require_pdf(part.head)
    inspection = rt.engine.inspect(part.path)
    sha256, size = part.sha256(), part.size
    blob = rt.blobs.keep(part)
    now = rt.clock()
    try:
        with rt.db.write():
            if rt.db.row("SELECT 1 FROM accounts WHERE id = ?", (caller.account_id,)) is None:
                raise Problem("unauthorized", "The account of this credential was deleted.")
            # Judged again inside the transaction: two uploads may race for the last slot.
            _require_slot(rt, caller)
            row = File.create(
                uuid=rt.uuid(),
                short_id=_free_short_id(rt),
                owner=caller.account_id,
                original_name=clean_name(received.filename),
                size=size,
                mime_type=STORED_TYPE,
                total_pages=inspection.total_pages,
                page_sizes=_page_sizes(inspection),
                sha256=sha256,
                blob=blob,
                content_version=1,
                created_at=now,
                updated_at=now,
            )
            _first_revision(row)
    except BaseException:
        rt.blobs.delete(blob)
        raise
    return row


def _require_slot(rt: Runtime, caller: Caller) -> None:
    """Raise ``forbidden`` when all slots are taken. A plan without a limit counts nothing, any other only so far."""
    slots = PLAN_LIMITS[caller.plan].file_slots
    if slots is None:
        return
    row = rt.db.row(_COUNT_UP_TO, (caller.account_id, slots))
    rules.require_slot(caller.plan, int(row[0]) if row else 0)


def _first_revision(row: File) -> None:
    Revision.create(
        file=row,
        content_version=row.content_version,
        original_name=row.original_name,
        size=row.size,
        total_pages=row.total_pages,
        sha256=row.sha256,
        created_at=row.created_at,
    )


def _free_short_id(rt: Runtime) -> str:
    """A short id nobody has. A slug may have the same form and the same place in addresses, so it counts too."""
    while True:
        short_id = rt.token(SHORT_ID_CHARS)
        if not rt.db.row("SELECT 1 FROM files WHERE short_id = ? OR slug = ?", (short_id, short_id)):
            return short_id


def _page_sizes(inspection: Inspection) -> str:
    """The sizes of all pages in points as JSON, equal neighbours folded together: [[pages, width, height], ...]."""
    rounded = ((round(width, 2), round(height, 2)) for width, height in inspection.sizes)
    return json.dumps([[len(list(run)), *size] for size, run in groupby(rounded)], separators=(",", ":"))
