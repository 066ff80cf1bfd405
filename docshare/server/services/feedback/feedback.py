"""What readers left on a document: for the reader who comes again, and for the owner."""

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
    """What ``reader`` finds on the document; ``name`` they last went by, None while unknown; pages in their numbers."""

    name: str | None
    notes: list[NoteRow]
    marks: dict[int, str]
    annotations: list[AnnotationRow]
    receipt: ReceiptRow | None


@dataclass(frozen=True)
class OwnerFeedback:
    """What readers tell the owner of a file: ``notes`` and ``receipts``, oldest first; pages in the document's
    numbers."""

    notes: list[NoteRow]
    receipts: list[ReceiptRow]


def load_for_reader(rt: Runtime, reader: ReaderContext) -> ReaderFeedback:
    """What ``reader`` finds on the document. Nothing is written: who only reads stays unknown."""
    viewer = viewers.find(rt, reader.link, reader.token)
    shown = notes.list_visible(rt, reader, viewer)
    receipt = receipts.find_own(rt, reader, viewer)
    invite = reader.link.invite
    names = [row.author for row in shown if row.mine][-1:]
    known = viewer.name if viewer else invite.name if invite else None
    return ReaderFeedback(
        name=known or (names[0] if names else receipts.find_receipt_name(rt, viewer)),
        notes=shown,
        marks=marks.list_own(rt, reader, viewer),
        annotations=annotations.list_own(rt, reader, viewer),
        receipt=receipt,
    )


def list_marks(rt: Runtime, caller: Caller, name: str) -> list[MarkRow]:
    """The page marks on the caller's file ``name`` (UUID or short id), by page.

    Raises ``forbidden`` for another account's file, ``not_found``, ``plan_required`` below Pro, in this order.
    """
    return marks.list_by_file(rt, _require_file_id(rt, caller, name, "readership.marks", "The list of page marks"))


def list_annotations(rt: Runtime, caller: Caller, name: str) -> list[AnnotationRow]:
    """The annotations on the caller's file ``name``, by page. Raises as ``marks_of``."""
    return annotations.list_by_file(
        rt, _require_file_id(rt, caller, name, "readership.annotations", "The list of annotations")
    )


def load_for_owner(rt: Runtime, caller: Caller, name: str) -> OwnerFeedback:
    """The notes and receipts on the caller's file ``name``. Raises as ``marks_of``."""
    file_id = _require_file_id(rt, caller, name, "readership.feedback", "What readers left")
    return OwnerFeedback(notes.list_by_file(rt, file_id), receipts.list_by_file(rt, file_id))


def _require_file_id(rt: Runtime, caller: Caller, name: str, operation: str, what: str) -> int:
    """The id of the file, judged in the order of the specification."""
    file_id = files.get_active_id(rt, caller, name)
    require_plan(caller.plan, operation, what)
    return file_id
