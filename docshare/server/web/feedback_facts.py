"""The facts about feedback and hotspots that the share page passes to its script."""

from collections.abc import Mapping
from typing import Any

from docshare.server.api.represent import feedback
from docshare.server.http.views import current_runtime
from docshare.server.services.files import hotspots, page_range
from docshare.server.services.files.page_range import ReaderView
from docshare.server.services.links.links import Link
from docshare.server.services.readership import readers
from docshare.server.web.sign_in import session_cookie


def build_feedback_facts(link: Link, shown: ReaderView) -> dict[str, Any]:
    """Return the facts ``feedback`` and ``hotspots`` of the page of ``link`` for a reader of the pages ``shown``."""
    offer = readers.find_open_channels(current_runtime(), link)
    base = f"/{link.public_id}"
    return {
        "feedback": {
            "notes": offer.notes,
            "publicNotes": offer.public_notes,
            "marks": offer.marks,
            "annotations": offer.annotations,
            "receipt": offer.receipt,
            "owner": page_range.is_owner(current_runtime(), link, session_cookie()),
        },
        "hotspots": [
            feedback.hotspot_object(base, row) for row in hotspots.list_visible(current_runtime(), link, shown.window)
        ],
    }


def needs_feedback_script(facts: Mapping[str, Any]) -> bool:
    """Return whether a page with these facts needs the script of feedback and hotspots; most pages do not."""
    return can_leave_feedback(facts) or bool(facts["hotspots"])


def can_leave_feedback(facts: Mapping[str, Any]) -> bool:
    """Return whether readers can leave feedback on a page with these facts."""
    return any(facts["feedback"][name] for name in ("notes", "marks", "annotations", "receipt"))
