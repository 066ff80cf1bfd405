"""Receipts: readers who confirm that they have the document."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from docshare.server.rules import feedback as rules
from docshare.server.runtime import Runtime
from docshare.server.services.events import activity
from docshare.server.services.readership import readers
from docshare.server.services.readership.readers import IDENTITY, JOIN_VIEWER, ReaderContext
from docshare.server.services.readership.viewers import ViewerRow


class ReceiptRow(NamedTuple):
    """One receipt: the ``name`` as it was given, ``identity`` of who gave it, ``confirmed_at`` ms, and the version of
    the content that was behind the link."""

    name: str
    identity: str
    confirmed_at: int
    content_version: int


class ConfirmationResult(NamedTuple):
    """The receipt that stands, whether it is ``fresh``, and the ``token`` for a browser that had none."""

    receipt: ReceiptRow
    fresh: bool
    token: str | None


_SELECT = f"SELECT r.name, {IDENTITY}, r.confirmed_at, r.content_version FROM receipts r {JOIN_VIEWER}"  # noqa: S608 - fixed
_OWN = f"{_SELECT} WHERE r.viewer_id = ? AND r.content_version = ?"
_OF_FILE = f"{_SELECT} WHERE r.file_id = ? ORDER BY r.confirmed_at, r.content_version, r.viewer_id"
_NAME = "SELECT name FROM receipts WHERE viewer_id = ? ORDER BY content_version DESC LIMIT 1"
_ADD = "INSERT INTO receipts (viewer_id, file_id, content_version, name, confirmed_at) VALUES (?, ?, ?, ?, ?)"


def confirm(rt: Runtime, reader: ReaderContext, body: Mapping[str, Any]) -> ConfirmationResult:
    """Write down that the reader named in ``body`` has the document as it is now. Doing it again changes nothing, until
    another document stands behind the link. One receipt for each reader and version.

    Raises ``forbidden`` (owner, no receipt is asked for), ``bad_request``, ``conflict`` (the document changed, or no
    room).
    """
    readers.require_channel(rt, reader, "receipt")
    name = rules.parse_receipt(body)
    now, link = rt.clock(), reader.link
    with rt.db.write():
        viewer, token = readers.ensure_viewer(rt, reader)
        standing = _find_current(rt, reader, viewer)
        if standing is not None:
            return ConfirmationResult(standing, False, token)
        readers.require_feedback_quota(rt, reader, viewer, "receipts")
        rt.db.execute(_ADD, (viewer.id, link.file.id, link.file.content_version, name, now))
        variant_id = link.variant and link.variant.id
        activity.record(rt, link.file.id, "receipt.confirmed", {"name": name}, at=now, variant_id=variant_id)
        made = _find_current(rt, reader, viewer)
    assert made is not None
    return ConfirmationResult(made, True, token)


def find_own(rt: Runtime, reader: ReaderContext, viewer: ViewerRow | None) -> ReceiptRow | None:
    """The receipt of ``viewer`` for the document as it is now, where the owner asks for one."""
    return _find_current(rt, reader, viewer) if viewer and readers.find_open_channels(rt, reader.link).receipt else None


def find_receipt_name(rt: Runtime, viewer: ViewerRow | None) -> str | None:
    """The name in the last receipt of ``viewer``, of whichever version."""
    found = rt.db.row(_NAME, (viewer.id,)) if viewer else None
    return str(found[0]) if found else None


def list_by_file(rt: Runtime, file_id: int) -> list[ReceiptRow]:
    """All receipts of a file, oldest first."""
    return [ReceiptRow._make(row) for row in rt.db.rows(_OF_FILE, (file_id,))]


def _find_current(rt: Runtime, reader: ReaderContext, viewer: ViewerRow) -> ReceiptRow | None:
    found = rt.db.row(_OWN, (viewer.id, reader.link.file.content_version))
    return ReceiptRow._make(found) if found else None
