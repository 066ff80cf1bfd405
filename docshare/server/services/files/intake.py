"""Taking a document in: judged before its bytes where possible, stored, inspected, and only then a row."""

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from docshare.contract import media
from docshare.contract.plans import PLAN_LIMITS, Plan
from docshare.server.http import faults
from docshare.server.http.multipart import ReceivedFile
from docshare.server.office.detect import detect_kind
from docshare.server.pdf.answers import Inspection
from docshare.server.pdf.budget import Tenant
from docshare.server.rules import intake as rules
from docshare.server.rules.names import clean_name
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, recheck_caller
from docshare.server.services.files import short_ids, tenants
from docshare.server.store.blobs import PartialFile
from docshare.server.store.tables import File, Revision

_SLOW_PAGE_WARNING = "Page 1 takes more than 2 seconds to draw. Readers may get an error instead of its image."
_COUNT_FILES = "SELECT COUNT(*) FROM (SELECT 1 FROM files WHERE owner_id = ? AND trashed_at IS NULL LIMIT ?)"


def admit(rt: Runtime, caller: Caller, length: int | None) -> int:
    """Judge an upload by what is known before its bytes: slots, size, room on the disk.

    Parameters: ``length`` the bytes that are announced, None if unknown; it may exceed the file by the form around it,
    so the caller takes that off. Returns the largest file in bytes that may follow. Raises ``forbidden``,
    ``payload_too_large``, ``unavailable``.
    """
    require_slot(rt, caller.account_id, caller.plan)
    return admit_size(rt, caller.plan, length)


def admit_size(rt: Runtime, plan: Plan, length: int | None) -> int:
    """As ``admit``, for what takes no slot: size and disk only. Raises ``payload_too_large``, ``unavailable``."""
    if length is not None:
        rules.require_input_size(plan, length)
    rules.require_disk_space(rt.blobs.free_bytes(), length or 0)
    return media.max_input_size_limit(plan)


@dataclass(frozen=True)
class StoredDocument:
    """A PDF that was inspected and lies in the store, without a row yet. ``size`` in bytes; ``page_sizes`` as stored in
    the row of a file; ``warning`` what its sender should know of it, one sentence; ``left_out`` the addresses of linked
    pictures that a conversion left out."""

    name: str
    size: int
    sha256: str
    blob: str
    total_pages: int
    page_sizes: str
    warning: str | None = None
    left_out: tuple[str, ...] = ()


class StoredUpload(NamedTuple):
    """The row of a new file, the warning about its document, and the addresses of linked pictures that its conversion
    left out."""

    row: File
    warning: str | None
    left_out: tuple[str, ...]


def store_upload(rt: Runtime, caller: Caller, received: ReceivedFile) -> StoredUpload:
    """Store an uploaded document as a new file of ``caller``; its row is durable. Raises as ``store``, ``create``."""
    document = store_document(rt, caller.plan, received, tenants.account_tenant_key(caller.account_id))
    return StoredUpload(create_file(rt, caller, document), document.warning, document.left_out)


def store_document(rt: Runtime, plan: Plan, received: ReceivedFile, owner: str) -> StoredDocument:
    """Check, convert if need be, inspect and store the bytes of ``received``; whoever gets the document writes its row
    or deletes its blob. ``owner``: as of ``tenants``, to whom the time of the PDF engine is charged.

    A PDF is stored as sent. Of an office document the PDF made of it is stored, under the name
    that was sent: size and digest are the PDF's. ``received`` is used up at most on success; the shell discards it
    otherwise. Raises ``bad_request`` (no document, old Word), ``payload_too_large`` (the input, or the PDF made of it),
    ``unprocessable`` and ``unavailable`` (PDF engine, LibreOffice).
    """
    name, part = clean_name(received.filename), received.part
    if media.detect_document_type(part.head) == "pdf":
        return _store_pdf(rt, plan, name, part, owner)
    kind = detect_kind(part.path)
    rules.require_kind_size(plan, kind, part.size)
    made = rt.blobs.part()
    try:
        left_out = _convert(rt, part, kind, made, rules.max_stored_size(plan))
        return replace(_store_pdf(rt, plan, name, made, owner), left_out=tuple(left_out))
    finally:
        made.discard()


def _convert(rt: Runtime, source: PartialFile, kind: str, made: PartialFile, largest: int) -> list[str]:
    try:
        return rt.converter.convert(source.path, kind, made, largest)
    except OSError as error:
        raise rules.disk_space_problem() from error  # disk or process table are full: in both cases not now


def _store_pdf(rt: Runtime, plan: Plan, name: str, part: PartialFile, owner: str) -> StoredDocument:
    rules.require_size(plan, part.size)
    sha256, size = part.sha256(), part.size
    inspection = rt.engine.inspect(part.path, Tenant(owner, sha256))
    blob = rt.blobs.keep(part)
    warning = _SLOW_PAGE_WARNING if inspection.is_slow else None
    return StoredDocument(name, size, sha256, blob, inspection.total_pages, _encode_page_sizes(inspection), warning)


def create_file(rt: Runtime, caller: Caller, document: StoredDocument) -> File:
    """Make ``document`` a new file of ``caller``; returns its row. On any failure the stored bytes are deleted.

    Raises ``forbidden`` (no slot), ``payload_too_large`` and ``unauthorized`` (the key or its account went meanwhile).
    """
    try:
        with rt.db.write():
            # Judged again inside the transaction: two uploads may race for the last slot, and a plan may have ended.
            caller = recheck_caller(rt, caller)
            rules.require_size(caller.plan, document.size)
            require_slot(rt, caller.account_id, caller.plan)
            row = insert_file(rt, document, owner_id=caller.account_id, delete_at=None)
    except BaseException as error:
        discard_blob(rt, document.blob, error)
        raise
    return row


def discard_blob(rt: Runtime, blob: str, error: BaseException) -> None:
    """Delete the bytes ``blob`` of a row that was not written because of ``error``.

    They stay until the next start when the disk failed: the commit may come back after a crash, and needs them then.
    """
    if not faults.may_have_committed(error):
        with suppress(OSError):
            rt.blobs.delete(blob)


def insert_file(rt: Runtime, document: StoredDocument, *, owner_id: int | None, delete_at: int | None) -> File:
    """Write ``document`` down as a new file, in the caller's transaction; returns its row.

    Parameters: ``owner_id`` None for nobody; ``delete_at`` when its link expires, ms, None for never.
    """
    now = rt.clock()
    row = File.create(
        uuid=rt.uuid(),
        short_id=short_ids.create_short_id(rt),
        owner=owner_id,
        original_name=document.name,
        size=document.size,
        mime_type=media.STORED_TYPE,
        total_pages=document.total_pages,
        page_sizes=document.page_sizes,
        sha256=document.sha256,
        blob=document.blob,
        content_version=1,
        created_at=now,
        updated_at=now,
        delete_at=delete_at,
    )
    add_revision(row)
    return row


def require_slot(rt: Runtime, account_id: int, plan: Plan) -> None:
    """Raise ``forbidden`` when all slots of the account are taken. A plan without a limit counts nothing, any other
    only so far."""
    slots = PLAN_LIMITS[plan].file_slots
    if slots is None:
        return
    row = rt.db.row(_COUNT_FILES, (account_id, slots))
    rules.require_slot(plan, int(row[0]) if row else 0)


def add_revision(row: File) -> None:
    """Write down the content that ``row`` now has as one of its revisions, in the caller's transaction."""
    Revision.create(
        file=row,
        content_version=row.content_version,
        original_name=row.original_name,
        size=row.size,
        total_pages=row.total_pages,
        sha256=row.sha256,
        created_at=row.created_at,
    )


def _encode_page_sizes(inspection: Inspection) -> str:
    """The sizes of all pages in points as JSON, equal neighbours folded together: [[pages, width, height], ...]."""
    rounded = ((round(width, 2), round(height, 2)) for width, height in inspection.sizes)
    return json.dumps([[len(list(run)), *size] for size, run in groupby(rounded)], separators=(",", ":"))
