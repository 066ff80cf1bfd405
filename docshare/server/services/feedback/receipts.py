"""Store and list receipts, by which readers confirm that they have the document."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from docshare.server.rules import feedback as rules
from docshare.server.runtime import Runtime
from docshare.server.services.events import activity
from docshare.server.services.readership import readers
from docshare.server.services.readership.readers import ReaderContext
from docshare.server.services.readership.viewers import ViewerRow
from docshare.server.store.tables import feedback
from docshare.server.store.tables.feedback import ReceiptRow as ReceiptRow


class ConfirmationResult(NamedTuple):
    """The current receipt, whether it ``is_new``, and the ``token`` for a browser that had none."""

    receipt: ReceiptRow
    is_new: bool
    token: str | None


def confirm(rt: Runtime, reader: ReaderContext, body: Mapping[str, Any]) -> ConfirmationResult:
    """Store that the reader named in ``body`` confirmed the current version of the document.

    There is one receipt for each reader and version, so confirming again changes nothing until the document is
    replaced. Raises ``forbidden`` (owner, receipts are off), ``bad_request``, ``conflict`` (the document changed, or
    the limit is reached).
    """
    readers.require_channel(rt, reader, "receipt")
    name = rules.parse_receipt(body)
    now, link = rt.clock(), reader.link
    with rt.db.write(link.file.owner_id):
        viewer, token = readers.ensure_viewer(rt, reader)
        existing = _find_current(rt, reader, viewer)
        if existing is not None:
            return ConfirmationResult(existing, False, token)
        readers.require_feedback_quota(rt, reader, viewer, "receipts")
        feedback.insert_receipt(rt.db, link.file.id, viewer.id, link.file.content_version, name, now)
        variant_id = link.variant and link.variant.id
        activity.record(rt, link.file.id, "receipt.confirmed", {"name": name}, at=now, variant_id=variant_id)
        created = _find_current(rt, reader, viewer)
    assert created is not None
    return ConfirmationResult(created, True, token)


def find_own(rt: Runtime, reader: ReaderContext, viewer: ViewerRow | None) -> ReceiptRow | None:
    """Return the receipt of ``viewer`` for the current version, or None; None too where receipts are off."""
    return _find_current(rt, reader, viewer) if viewer and readers.find_open_channels(rt, reader.link).receipt else None


def find_receipt_name(rt: Runtime, viewer: ViewerRow | None) -> str | None:
    """Return the name in the latest receipt of ``viewer``, of any version, or None."""
    return feedback.find_receipt_name(rt.db, viewer.id) if viewer else None


def list_by_file(rt: Runtime, file_id: int) -> list[ReceiptRow]:
    """Return all receipts of a file, oldest first."""
    return feedback.list_receipts(rt.db, file_id)


def _find_current(rt: Runtime, reader: ReaderContext, viewer: ViewerRow) -> ReceiptRow | None:
    return feedback.find_receipt(rt.db, viewer.id, reader.link.file.content_version)
