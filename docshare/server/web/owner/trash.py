"""The trash: list, restore, delete permanently."""

from flask import Blueprint, request
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.amounts import format_plural, format_size
from docshare.contract.fields import is_short_id
from docshare.contract.plans import DAY, PLAN_LIMITS
from docshare.contract.problems import Problem
from docshare.report.words import format_date
from docshare.server.http.views import current_runtime
from docshare.server.services.files import files, library, trash
from docshare.server.services.files.library import FILES_PER_PAGE
from docshare.server.services.files.trash import TrashedFile
from docshare.server.web.owner.frame import (
    SignedInOwner,
    owner_form,
    owner_page,
    redirect_with_message,
    render_owner_page,
)
from docshare.server.web.owner.paging import build_page_links, read_page_number
from docshare.server.web.owner.selection import MAX_SELECTED, apply, list_path

_REASONS = {"not_found": "not in the trash", "forbidden": "kept in the trash: all file slots of your plan are used"}

blueprint = Blueprint("owner_trash", __name__)


@blueprint.get("/trash")
@owner_page
def show(owner: SignedInOwner) -> AnyResponse:
    """Show the files that can be restored, with their deadlines."""
    return _render_page(owner)


@blueprint.post("/trash/restore")
@owner_form
def undo(owner: SignedInOwner) -> AnyResponse:
    """Restore every ``file`` of the form (short ids), and return to the list from which they were deleted. A file that
    cannot be restored does not stop the others. Raises ``bad_request``."""
    chosen = list(dict.fromkeys(request.form.getlist("file")))
    if not chosen or len(chosen) > MAX_SELECTED or not all(map(is_short_id, chosen)):
        raise Problem("bad_request", f"file must be the short id of a file, 1 to {MAX_SELECTED} times.")
    words = apply(
        chosen, "file", "restored", lambda name: trash.restore(current_runtime(), owner.caller, name), _REASONS
    )
    return redirect_with_message(list_path(), words)


@blueprint.post("/trash/<name>/restore")
@owner_form
def restore(owner: SignedInOwner, name: str) -> AnyResponse:
    """Restore a file from the trash; without a free slot the page shows an error. Raises ``not_found``."""
    trash.get_owned(current_runtime(), owner.caller, name)
    try:
        row = trash.restore(current_runtime(), owner.caller, name)
    except Problem as problem:
        if problem.code != "forbidden":
            raise
        return _render_page(owner, problem)
    return redirect_with_message("/files", f"{row.original_name} was restored; its link works again.")


@blueprint.get("/trash/<name>/delete")
@owner_page
def ask(owner: SignedInOwner, name: str) -> AnyResponse:
    """Ask for confirmation before a file in the trash is deleted permanently. Raises ``not_found``."""
    row = trash.get_owned(current_runtime(), owner.caller, name)
    action = f"/trash/{row.uuid}/delete"
    return render_owner_page(
        owner, "delete.html", "trash", name=row.original_name, action=action, back="/trash", until=None, has_trash=True
    )


@blueprint.post("/trash/<name>/delete")
@owner_form
def delete(owner: SignedInOwner, name: str) -> AnyResponse:
    """Delete a file in the trash permanently. Raises ``not_found``."""
    trash.get_owned(current_runtime(), owner.caller, name)
    files.delete(current_runtime(), owner.caller, name, purge=True)
    return redirect_with_message("/trash", "The file was permanently deleted.")


def _render_page(owner: SignedInOwner, problem: Problem | None = None) -> AnyResponse:
    found = trash.list_trashed(current_runtime(), owner.caller.email)
    pages = library.count_pages(len(found))
    number = max(1, min(read_page_number(), pages))
    kept_ms = PLAN_LIMITS[owner.caller.plan].trash_ms
    return render_owner_page(
        owner,
        "trash.html",
        "trash",
        200 if problem is None else problem.status,
        problem=problem,
        rows=[_build_row(row) for row in found[(number - 1) * FILES_PER_PAGE : number * FILES_PER_PAGE]],
        steps=build_page_links("/trash", {}, number, pages),
        kept=None if kept_ms is None else format_plural(kept_ms // DAY, "day"),
    )


def _build_row(row: TrashedFile) -> dict[str, str]:
    return {
        "uuid": row.uuid,
        "name": row.original_name,
        "size": format_size(row.size),
        "since": format_date(row.trashed_at),
        "until": format_date(row.purge_at),
    }
