"""Shared by the pages of one file: the check of its owner, its state, and the frame with the navigation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response, request

from docshare.contract.amounts import format_size
from docshare.contract.features import required_plan
from docshare.contract.problems import Problem
from docshare.server.api.represent import resources as represent
from docshare.server.http.views import current_runtime
from docshare.server.pdf.pages import PAGE_WIDTHS
from docshare.server.services.files import files
from docshare.server.services.files.files import FileRow, RevisionRow
from docshare.server.services.links import links
from docshare.server.web.owner import wording
from docshare.server.web.owner.frame import SignedInOwner, render_owner_page

_LIVE_STATE = "live"


@dataclass(frozen=True)
class StateWords:
    """The ``name`` of a state of a link for people, and the ``note`` above the pages of its file."""

    name: str
    note: str


_STATE_WORDS = {
    _LIVE_STATE: StateWords("Live", ""),
    "expired": StateWords("Expired", "This link has expired."),
    "burned": StateWords("Used up", "This link has been used up."),
    "frozen": StateWords("On hold", "This link is on hold."),
}
TABS = (
    ("overview", "", "Overview"),
    ("settings", "/settings", "Settings"),
    ("looks", "/looks", "Looks"),
    ("links", "/links", "Personal links"),
    ("invites", "/invites", "Invitations"),
    ("hotspots", "/hotspots", "Hotspots"),
    ("assets", "/assets", "Pictures and sounds"),
    ("replace", "/replace", "Replace"),
)
"""The pages of one file: name, end of the path, label."""


@dataclass(frozen=True)
class OwnedFile:
    """One file of the signed-in owner.

    ``row`` and ``revisions`` as stored; ``file`` as the API returns it; ``state`` of its link: ``live``, ``expired``,
    ``burned``, or ``frozen`` if the operator has stopped it.
    """

    row: FileRow
    revisions: list[RevisionRow]
    file: dict[str, Any]
    state: str

    @property
    def path(self) -> str:
        """Return the path of its pages."""
        return file_path(self.row.uuid)

    def page_image_url(self, page: int, width: int = min(PAGE_WIDTHS)) -> str | None:
        """Return the URL of the image of ``page``; None if the link has ended and serves no images."""
        if self.state in ("expired", "burned"):
            return None
        return f"/{self.row.short_id}/pages/{page}-{width}.jpg?v={self.row.content_version}"


def find_owned_file(owner: SignedInOwner, name: str) -> OwnedFile:
    """Return the owner's file ``name`` (UUID or short id). Raises ``not_found``, also for files of other accounts."""
    row, revisions = files.show(current_runtime(), owner.caller, name)
    link = links.resolve(current_runtime(), row.uuid)
    if link is None:  # it was moved to the trash between the two reads
        raise files.file_not_found()
    frozen = link.file.frozen_at is not None and link.state == _LIVE_STATE
    file = represent.file_object(current_runtime().config.base_url, row, revisions)
    return OwnedFile(row, revisions, file, "frozen" if frozen else link.state)


def render_file_page(
    owner: SignedInOwner, owned: OwnedFile, tab: str, problem: Problem | None = None, **facts: Any
) -> Response:
    """Render the page ``tab`` of ``owned``; with a ``problem``, as the response to a rejected form."""
    status = 200 if problem is None else problem.status
    frame = {
        "owned": owned,
        "state_words": _STATE_WORDS[owned.state],
        "tab": tab,
        "tabs": TABS,
        "problem": problem,
        "size": format_size,
        "day": wording.format_day_of,
        "moment": wording.format_moment,
    }
    return render_owner_page(owner, f"file/{tab}.html", "files", status, **frame, **facts)


def file_path(uuid: str) -> str:
    """Return the path of the pages of the file ``uuid``."""
    return f"/files/{uuid}"


def read_form() -> dict[str, str]:
    """Return the values of the posted form, with LF line endings."""
    return {name: value.replace("\r\n", "\n") for name, value in request.form.items()}


def required_tier(owner: SignedInOwner, operation: str) -> str:
    """Return the tier that ``operation`` requires; empty if the account has it."""
    plan = required_plan(operation)
    return "" if owner.caller.plan >= plan else plan.tier


def require_confirmation(word: str, form: Mapping[str, str]) -> None:
    """Raise ``bad_request`` unless ``word`` was typed to confirm an action that cannot be undone."""
    if form.get("confirm", "").strip().lower() != word:
        raise Problem("bad_request", "Nothing was changed.", hint=f"Type the word '{word}' to confirm.")


def page_size(owned: OwnedFile, page: int) -> tuple[float, float]:
    """Return width and height of ``page`` in points."""
    link = links.resolve(current_runtime(), owned.row.uuid)
    last = 0
    for count, width, height in [] if link is None else links.load_page_sizes(current_runtime(), link):
        last += int(count)
        if page <= last:
            return width, height
    return 1, 1
