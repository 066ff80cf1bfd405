"""Store a new document: check it before its bytes arrive where possible, store and inspect it, then insert its row."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import groupby

from docshare.contract import media
from docshare.contract.names import clean_name
from docshare.contract.plans import PLAN_LIMITS, Plan
from docshare.server import faults
from docshare.server.office.detect import detect_kind
from docshare.server.pdf.answers import Inspection
from docshare.server.pdf.budget import Tenant
from docshare.server.received_file import ReceivedFile
from docshare.server.rules import intake as rules
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller, recheck_caller
from docshare.server.services.files import sealed_blobs, short_ids, tenants
from docshare.server.services.files.sealed_blobs import StoredBlob
from docshare.server.store.blobs import PartialFile, StorageUnreachableError
from docshare.server.store.database import Look
from docshare.server.store.segments import DamagedBytesError
from docshare.server.store.tables import contents, library
from docshare.server.store.tables import files as file_rows
from docshare.server.store.tables.files import File

_SLOW_PAGE_WARNING = "Page 1 takes more than 2 seconds to render. Readers may get an error instead of its image."


def admit(rt: Runtime, caller: Caller, length: int | None) -> int:
    """Check an upload before its bytes arrive: file slots, size, disk space.

    Parameters: ``length`` the announced size of the file in bytes, None if unknown; the caller subtracts the size of
    the form around the file. Returns the largest size in bytes that may follow. Raises ``forbidden``,
    ``payload_too_large``, ``unavailable``.
    """
    require_slot(rt, caller.account_id, caller.plan)
    return admit_size(rt, caller.plan, length)


def admit_size(rt: Runtime, plan: Plan, length: int | None) -> int:
    """Check size and disk space like ``admit``, for an upload that does not use a file slot.

    Raises ``payload_too_large``, ``unavailable``.
    """
    if length is not None:
        rules.require_input_size(plan, length)
    rules.require_disk_space(rt.blobs.free_bytes(), length or 0)
    return media.max_input_size_limit(plan)


@dataclass(frozen=True)
class StoredDocument:
    """An inspected PDF in the blob store that does not have a row yet. ``size`` in bytes; ``page_sizes`` as stored in
    the row of a file; ``data_key`` as in ``StoredBlob``; ``warning`` for its uploader, one sentence; ``left_out`` the
    addresses of linked pictures that the conversion left out."""

    name: str
    size: int
    sha256: str
    blob: str
    total_pages: int
    page_sizes: str
    data_key: bytes | None = None
    warning: str | None = None
    left_out: tuple[str, ...] = ()

    @property
    def stored_blob(self) -> StoredBlob:
        """Return the stored bytes with their data key."""
        return StoredBlob(self.blob, self.data_key)


@dataclass(frozen=True)
class StoredUpload:
    """The row of a new file, the warning about its document, and the addresses of linked pictures that its conversion
    left out."""

    row: File
    warning: str | None
    left_out: tuple[str, ...]


def store_upload(rt: Runtime, caller: Caller, received: ReceivedFile) -> StoredUpload:
    """Store an uploaded document as a new file of ``caller``; its row is durable on return.

    Raises what ``store_document`` and ``create_file`` raise.
    """
    document = store_document(rt, caller.plan, received, tenants.account_tenant_key(caller.account_id))
    return StoredUpload(create_file(rt, caller, document), document.warning, document.left_out)


def store_document(rt: Runtime, plan: Plan, received: ReceivedFile, owner: str, *, sender: str = "") -> StoredDocument:
    """Check, convert if necessary, inspect and store the bytes of ``received``. The caller inserts the row of the
    document or deletes its blob. ``owner``: the key from ``tenants`` to which the time of the PDF engine and of
    LibreOffice is charged; ``sender``: the same key if it is that of an address, not of an account.

    A PDF is stored as sent. An office document is stored as the PDF that it is converted to, under the name that was
    sent; size and digest are those of the PDF. ``received`` is consumed only on success; otherwise the shell discards
    it. Raises ``bad_request`` (not a document, legacy Word), ``payload_too_large`` (the input, or the converted PDF),
    ``unprocessable`` and ``unavailable`` (PDF engine, LibreOffice).
    """
    name, part = clean_name(received.filename), received.part
    if media.detect_document_type(part.head) == "pdf":
        return _store_pdf(rt, plan, name, part, owner, sender)
    kind = detect_kind(part.finish())
    rules.require_kind_size(plan, kind, part.size)
    made = rt.blobs.create_partial()
    try:
        left_out = _convert(rt, part, kind, made, rules.max_stored_size(plan), owner)
        return replace(_store_pdf(rt, plan, name, made, owner, sender), left_out=tuple(left_out))
    finally:
        made.discard()


def _convert(rt: Runtime, source: PartialFile, kind: str, made: PartialFile, largest: int, owner: str) -> list[str]:
    try:
        return rt.converter.convert(source.finish(), kind, made, largest, Tenant(owner, source.sha256()))
    except DamagedBytesError:  # an OSError too, but not of the disk being full
        raise
    except OSError as error:
        raise rules.disk_space_problem() from error  # the disk or the process table is full; a retry may succeed


def _store_pdf(rt: Runtime, plan: Plan, name: str, part: PartialFile, owner: str, sender: str) -> StoredDocument:
    rules.require_size(plan, part.size)
    sha256, size = part.sha256(), part.size
    inspection = rt.engine.inspect(part.finish(), Tenant(owner, sha256, sender))
    blob, data_key = sealed_blobs.store(rt, part)
    warning = _SLOW_PAGE_WARNING if inspection.is_slow else None
    sizes = _encode_page_sizes(inspection)
    return StoredDocument(name, size, sha256, blob, inspection.total_pages, sizes, data_key, warning)


def create_file(rt: Runtime, caller: Caller, document: StoredDocument) -> File:
    """Make ``document`` a new file of ``caller`` and return its row. On any failure the stored bytes are deleted.

    Raises ``forbidden`` (all slots are used), ``payload_too_large`` and ``unauthorized`` (the key was revoked, or its
    account deleted, during the upload).
    """
    with blob_transaction(rt, document, caller.account_id):
        # Checked again inside the transaction: another upload may have used the last slot, and the plan may have
        # changed.
        caller = recheck_caller(rt, caller)
        rules.require_size(caller.plan, document.size)
        require_slot(rt, caller.account_id, caller.plan)
        return insert_file(rt, document, owner_id=caller.account_id, delete_at=None, now=rt.clock())


@contextmanager
def blob_transaction(
    rt: Runtime, document: StoredDocument, owner_id: int | None = None, is_stored: Look | None = None
) -> Iterator[None]:
    """Run the transaction that writes the row of ``document``, and store its data key; delete its bytes if it fails.

    If the database is lost during the commit, ``is_stored`` decides; by default, whether a row refers to the bytes.
    """
    try:
        with rt.db.write(owner_id, is_stored or (lambda: bool(contents.list_stored(rt.db, [document.blob])))):
            yield
            sealed_blobs.insert_key(rt, document.stored_blob)
    except BaseException as error:
        discard_blob(rt, document.blob, error)
        raise


def discard_blob(rt: Runtime, blob: str, error: BaseException) -> None:
    """Delete the bytes ``blob`` of a row that was not written because of ``error``.

    They are kept for now where the row may have been written nevertheless, or the store does not delete them. The job
    ``removals.delete_remembered`` decides.
    """
    if not faults.may_have_committed(error):
        with suppress(OSError, StorageUnreachableError):
            rt.blobs.delete(blob)
            return
    rt.uncertain_blobs[blob] = rt.clock()


def insert_file(
    rt: Runtime, document: StoredDocument, *, owner_id: int | None, delete_at: int | None, now: int
) -> File:
    """Insert ``document`` as a new file, in the caller's transaction, and return its row.

    Parameters: ``owner_id`` None for a file without an owner; ``delete_at`` when its link expires (ms), None for never.
    """
    columns = {
        "uuid": rt.random_uuid(),
        "short_id": short_ids.create_short_id(rt),
        "owner": owner_id,
        "original_name": document.name,
        "size": document.size,
        "mime_type": media.STORED_TYPE,
        "total_pages": document.total_pages,
        "page_sizes": document.page_sizes,
        "sha256": document.sha256,
        "blob": document.blob,
        "content_version": 1,
        "created_at": now,
        "updated_at": now,
        "delete_at": delete_at,
    }
    return file_rows.insert(rt.db, columns)


def require_slot(rt: Runtime, account_id: int, plan: Plan) -> None:
    """Raise ``forbidden`` if all file slots of the account are used."""
    slots = PLAN_LIMITS[plan].file_slots
    if slots is None:
        return
    rules.require_slot(plan, library.count_up_to(rt.db, account_id, slots))


def _encode_page_sizes(inspection: Inspection) -> str:
    """Return the sizes of all pages in points as JSON, runs of equal sizes merged: [[pages, width, height], ...]."""
    rounded = ((round(width, 2), round(height, 2)) for width, height in inspection.sizes)
    return json.dumps([[len(list(run)), *size] for size, run in groupby(rounded)], separators=(",", ":"))
