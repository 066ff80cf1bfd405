"""What the share page tells its script about leaving something, and where its hotspots are."""

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
    """The facts ``feedback`` and ``hotspots`` of the page of ``link`` for whoever sees what is ``shown``."""
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


def list_feedback_modules(told: Mapping[str, Any]) -> tuple[str, ...]:
    """The script that a page with the facts ``told`` needs for them; most pages need none."""
    return ("viewer/feedback/index.js",) if can_leave_feedback(told) or told["hotspots"] else ()


def can_leave_feedback(told: Mapping[str, Any]) -> bool:
    """Whether anything can be left on a page with the facts ``told``."""
    return any(told["feedback"][name] for name in ("notes", "marks", "annotations", "receipt"))
