"""The hotspot editor: areas of a page that open a link or play a sound, drawn on the page image or typed as numbers."""

from collections.abc import Mapping

from flask import Blueprint, request
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.problems import Problem
from docshare.server.http.views import current_runtime
from docshare.server.pdf.pages import PAGE_WIDTHS
from docshare.server.services.files import assets, hotspots
from docshare.server.web.owner.file.file_page import (
    OwnedFile,
    file_path,
    find_owned_file,
    page_size,
    read_form,
    render_file_page,
)
from docshare.server.web.owner.form_errors import locate_errors
from docshare.server.web.owner.frame import (
    SignedInOwner,
    owner_form,
    owner_page,
    redirect_with_message,
    resumable_form,
)

_SIDES = ("x", "y", "width", "height")
_MAX_DIGITS = 5  # of a page number

_CONTROLS = {"rect": ("x", "Position"), "link": ("link", "Link URL"), "label": ("label", "Label")}

blueprint = Blueprint("owner_file_hotspots", __name__)


@blueprint.get("/files/<name>/hotspots")
@owner_page
def show(owner: SignedInOwner, name: str) -> AnyResponse:
    """Show ``/files/{id}/hotspots?page=``. Raises ``not_found``."""
    return _render_page(owner, find_owned_file(owner, name), request.args.get("page", ""))


def _refill(owner: SignedInOwner, problem: Problem, name: str) -> AnyResponse:
    sent = read_form()
    return _render_page(owner, find_owned_file(owner, name), sent.get("page", ""), problem, sent)


@blueprint.post("/files/<name>/hotspots")
@resumable_form(_refill)
def create(owner: SignedInOwner, name: str) -> AnyResponse:
    """Create a hotspot; the four numbers are percentages of the page."""
    owned, sent = find_owned_file(owner, name), read_form()
    args = {"page": sent.get("page", ""), "label": sent.get("label", "")}
    args |= {key: sent[key].strip() for key in ("link", "audio") if sent.get(key, "").strip()}
    try:
        args["rect"] = ",".join(_parse_percent(sent.get(side, "")) for side in _SIDES)
        row = hotspots.add_own(current_runtime(), owner.caller, owned.row.uuid, args)
    except Problem as problem:
        return _render_page(owner, owned, args["page"], problem, sent)
    return redirect_to_editor(owned, row.page, f"'{row.label}' is on page {row.page}.")


@blueprint.post("/files/<name>/hotspots/<hotspot>/delete")
@owner_form
def delete(owner: SignedInOwner, name: str, hotspot: str) -> AnyResponse:
    """Delete a hotspot and its tap count. Raises ``not_found``."""
    owned = find_owned_file(owner, name)
    row = hotspots.remove_own(current_runtime(), owner.caller, owned.row.uuid, hotspot)
    return redirect_to_editor(owned, row.page, f"'{row.label}' was removed.")


def redirect_to_editor(owned: OwnedFile, page: int, words: str) -> AnyResponse:
    """Redirect to the editor of ``page``, which shows the message ``words``."""
    return redirect_with_message(f"{file_path(owned.row.uuid)}/hotspots/{page}", words)


@blueprint.get("/files/<name>/hotspots/<int:number>")
@owner_page
def show_page(owner: SignedInOwner, name: str, number: int) -> AnyResponse:
    """Render the editor of the page ``number``. Raises ``not_found``."""
    return _render_page(owner, find_owned_file(owner, name), str(number))


def _parse_percent(text: str) -> str:
    """Convert a percentage to a fraction of the page, as the rules expect it. Raises ``bad_request``."""
    try:
        return f"{float(text.strip().replace(',', '.')) / 100:.6f}"
    except ValueError:
        sides = ", ".join(_SIDES)
        raise Problem("bad_request", f"{sides} must be numbers: percent of the page.", field="rect") from None


def _render_page(
    owner: SignedInOwner,
    owned: OwnedFile,
    asked: str,
    problem: Problem | None = None,
    sent: Mapping[str, str] | None = None,
) -> AnyResponse:
    known = asked.isascii() and asked.isdecimal() and len(asked) <= _MAX_DIGITS
    number = min(max(int(asked), 1), owned.row.total_pages) if known else 1
    rows = hotspots.list_own(current_runtime(), owner.caller, owned.row.uuid)
    sounds = [
        row.uuid
        for row in assets.list_assets(current_runtime(), owner.caller, owned.row.uuid)
        if row.kind == hotspots.AUDIO_KIND
    ]
    return render_file_page(
        owner,
        owned,
        "hotspots",
        problem,
        errors=locate_errors(problem, _CONTROLS),
        number=number,
        image=owned.page_image_url(number, max(PAGE_WIDTHS)),
        shape=page_size(owned, number),
        here=[row for row in rows if row.page == number],
        hotspots=rows,
        sounds=sounds,
        fields=sent or {},
    )
