"""The reader of a shared document, and the feedback that they can leave.

The signed-in owner cannot leave feedback, so that it does not mix with the feedback of readers.
"""

from dataclasses import dataclass

from docshare.contract.fields import is_uuid
from docshare.contract.problems import Problem
from docshare.server.rules import feedback as rules
from docshare.server.rules.feedback import FeedbackChannels
from docshare.server.rules.page_window import PageWindow
from docshare.server.runtime import Runtime
from docshare.server.services.events import activity
from docshare.server.services.files import page_range
from docshare.server.services.files.page_range import ReaderView
from docshare.server.services.links.links import Link, owner_plan
from docshare.server.services.readership import viewers
from docshare.server.services.readership.viewers import KnownViewer, ViewerRow
from docshare.server.store.tables import contents, feedback, sharing
from docshare.server.store.tables import readers as reader_tables


@dataclass(frozen=True)
class ReaderContext:
    """A reader: the ``link`` they opened, their ``view`` of the document, and the ``token`` of their browser,
    None until they leave feedback."""

    link: Link
    view: ReaderView
    token: str | None
    is_owner: bool

    @property
    def window(self) -> PageWindow:
        """Return the pages that the reader sees."""
        return self.view.window


def resolve_reader(rt: Runtime, link: Link, cookie: str | None, token: str | None) -> ReaderContext:
    """Return the reader of ``link`` who holds the session cookie ``cookie`` and the viewer token ``token``, if any."""
    sight = page_range.resolve_view(rt, link, cookie, token)
    return ReaderContext(link, sight, token, page_range.is_owner(rt, link, cookie))


def find_open_channels(rt: Runtime, link: Link) -> FeedbackChannels:
    """Return the feedback channels that are open to readers of ``link`` now."""
    return rules.find_open_channels(link.settings, owner_plan(rt, link))


def require_not_owner(reader: ReaderContext) -> None:
    """Raise ``forbidden`` for the owner."""
    if reader.is_owner:
        raise Problem("forbidden", "You are the owner of this document; only its readers can leave feedback.")


def require_viewer(rt: Runtime, reader: ReaderContext) -> ViewerRow:
    """Return the viewer who holds the token of ``reader``.

    Raises ``forbidden`` for the owner and for a browser without a valid token: it must not learn whether the
    requested feedback exists.
    """
    require_not_owner(reader)
    viewer = viewers.find(rt, reader.link, reader.token)
    if viewer is None:
        raise Problem(
            "forbidden", "This browser does not have the token of this feedback, so you cannot delete it here."
        )
    return viewer


def require_channel(rt: Runtime, reader: ReaderContext, feature: str) -> FeedbackChannels:
    """Return the open channels if ``feature``, a field of ``FeedbackChannels``, is open. Raises ``forbidden``."""
    require_not_owner(reader)
    offer = find_open_channels(rt, reader.link)
    if not getattr(offer, feature):
        raise Problem("forbidden", "The owner of this document has not enabled this kind of feedback.")
    return offer


def to_document_page(reader: ReaderContext, page: int) -> int:
    """Convert the reader's number of ``page`` to the document's. Raises ``not_found`` for a page that they do not
    see."""
    try:
        return reader.window.to_document_page(page)
    except ValueError:
        raise Problem("not_found", "There is no such page.") from None


def require_version(reader: ReaderContext, seen: str) -> None:
    """Raise ``conflict`` if ``seen``, the version in the page URLs of the open page (``ReaderView.address_tag``),
    belongs to another document or page range than the current one: the reader refers to other pages."""
    # The watermark may differ: a personal one changes when the reader enters a name.
    if not reader.view.is_same_pages(seen):
        raise _document_changed()


def ensure_viewer(rt: Runtime, reader: ReaderContext) -> KnownViewer:
    """Return the viewer of ``reader``, creating it if they have none, in the caller's transaction. Raises as
    ``require_current``."""
    require_current(rt, reader)
    return viewers.find_or_create(rt, reader.link, reader.token)


def require_current(rt: Runtime, reader: ReaderContext) -> None:
    """Raise, in the caller's transaction, ``not_found`` if the link was revoked or deleted in the meantime,
    ``conflict`` if the document was replaced or deleted."""
    link = reader.link
    if link.variant is not None and not sharing.is_variant_active(rt.db, link.variant.id):
        raise Problem("not_found", "There is no such link.")
    if not contents.is_current_version(rt.db, link.file.uuid, link.file.content_version):
        raise _document_changed()


def require_feedback_quota(rt: Runtime, reader: ReaderContext, viewer: ViewerRow, table: str) -> None:
    """Raise ``conflict`` if ``viewer`` or the file has reached its quota of rows of ``table`` (a key of
    ``FEEDBACK_QUOTAS``)."""
    own, of_file = feedback.count_feedback(rt.db, table, viewer.id, reader.link.file.id)
    rules.require_feedback_quota(table, own, of_file)


def delete_own(rt: Runtime, reader: ReaderContext, table: str, uuid: str) -> None:
    """Delete the row ``uuid`` of ``table`` that ``reader`` left. Raises as ``require_viewer``, and ``not_found``.

    This works even if the feature has been switched off, so that readers can always withdraw their feedback.
    """
    viewer = require_viewer(rt, reader)
    if is_uuid(uuid):
        with rt.db.write(reader.link.file.owner_id):
            if feedback.delete_feedback(rt.db, table, uuid.lower(), viewer.id):
                return
    raise Problem("not_found", "You did not leave this feedback.")


def record_proofing(rt: Runtime, reader: ReaderContext, viewer: ViewerRow, kind: str, page: int, now: int) -> None:
    """Record, in the caller's transaction, that ``viewer`` has begun proofing: once, without the content of the
    feedback.

    Parameters: ``kind`` ``mark`` or ``annotation``; ``page`` in the document's numbers; ``now`` in milliseconds.
    """
    if not reader_tables.mark_proofed(rt.db, viewer.id, now):
        return
    link = reader.link
    data = {"kind": kind, "pageNumber": page, "viewer": viewers.identity(viewer, link)}
    activity.record(rt, link.file.id, "proofing.updated", data, at=now, variant_id=link.variant and link.variant.id)


def _document_changed() -> Problem:
    return Problem("conflict", "The document has changed in the meantime; reload the page.")
