"""Load the feedback on a document: for a reader who returns, and for the owner."""

from dataclasses import dataclass

from docshare.contract.features import require_plan
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.feedback import annotations, marks, notes, receipts
from docshare.server.services.feedback.annotations import AnnotationRow
from docshare.server.services.feedback.marks import MarkRow
from docshare.server.services.feedback.notes import NoteRow
from docshare.server.services.feedback.receipts import ReceiptRow
from docshare.server.services.files import files
from docshare.server.services.readership import viewers
from docshare.server.services.readership.readers import ReaderContext


@dataclass(frozen=True)
class ReaderFeedback:
    """The feedback that one reader sees on the document, by the page numbers of the reader. ``known_name``: the name
    that they used last, None if unknown."""

    known_name: str | None
    notes: list[NoteRow]
    marks: dict[int, str]
    annotations: list[AnnotationRow]
    receipt: ReceiptRow | None


@dataclass(frozen=True)
class OwnerFeedback:
    """The ``notes`` and ``receipts`` on a file, oldest first, by the page numbers of the document."""

    notes: list[NoteRow]
    receipts: list[ReceiptRow]


def load_for_reader(rt: Runtime, reader: ReaderContext) -> ReaderFeedback:
    """Return the feedback that ``reader`` sees on the document; a reader who left none does not become a viewer."""
    viewer = viewers.find(rt, reader.link, reader.token)
    visible = notes.list_visible(rt, reader, viewer)
    receipt = receipts.find_own(rt, reader, viewer)
    invite = reader.link.invite
    names = [row.author for row in visible if row.mine][-1:]
    known = viewer.name if viewer else invite.name if invite else None
    return ReaderFeedback(
        known_name=known or (names[0] if names else receipts.find_receipt_name(rt, viewer)),
        notes=visible,
        marks=marks.list_own(rt, reader, viewer),
        annotations=annotations.list_own(rt, reader, viewer),
        receipt=receipt,
    )


def list_marks(rt: Runtime, caller: Caller, name: str) -> list[MarkRow]:
    """Return the page marks on the caller's file ``name`` (UUID or short id), by page.

    Raises ``forbidden`` for another account's file, ``not_found``, ``plan_required`` below Pro, in this order.
    """
    return marks.list_by_file(rt, _require_file_id(rt, caller, name, "readership.marks", "The list of page marks"))


def list_annotations(rt: Runtime, caller: Caller, name: str) -> list[AnnotationRow]:
    """Return the annotations on the caller's file ``name``, by page. Raises like ``list_marks``."""
    return annotations.list_by_file(
        rt, _require_file_id(rt, caller, name, "readership.annotations", "The list of annotations")
    )


def load_for_owner(rt: Runtime, caller: Caller, name: str) -> OwnerFeedback:
    """Return the notes and receipts on the caller's file ``name``. Raises like ``list_marks``."""
    file_id = _require_file_id(rt, caller, name, "readership.feedback", "Feedback of readers")
    return OwnerFeedback(notes.list_by_file(rt, file_id), receipts.list_by_file(rt, file_id))


def _require_file_id(rt: Runtime, caller: Caller, name: str, operation: str, what: str) -> int:
    """Return the id of the file. The file is checked before the plan, as ``list_marks`` documents."""
    file_id = files.get_active_id(rt, caller, name)
    require_plan(caller.plan, operation, what)
    return file_id
