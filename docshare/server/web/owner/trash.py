"""The trash: what lies in it, and the two ways out."""

from flask import Blueprint
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.plans import DAY, PLAN_LIMITS
from docshare.contract.problems import Problem
from docshare.report.words import day_of, plural
from docshare.server.http.views import rt
from docshare.server.services.files import files, library, trash
from docshare.server.services.files.library import PAGE_FILES
from docshare.server.services.files.trash import Trashed
from docshare.server.web.owner import wording
from docshare.server.web.owner.desk import Owner, done, form, page, shown
from docshare.server.web.owner.paging import asked_page, steps

blueprint = Blueprint("owner_trash", __name__)


@blueprint.get("/trash")
@page
def show(owner: Owner) -> AnyResponse:
    """What can still be restored, and until when."""
    return _page(owner)


@blueprint.post("/trash/<name>/restore")
@form
def restore(owner: Owner, name: str) -> AnyResponse:
    """Take a file out of the trash; without a free slot the page says so. Raises ``not_found``."""
    trash.owned(rt(), owner.caller, name)
    try:
        row = trash.restore(rt(), owner.caller, name)
    except Problem as problem:
        if problem.code != "forbidden":
            raise
        return _page(owner, problem)
    return done("/files", f"{row.original_name} is back, and so is its link.")


@blueprint.get("/trash/<name>/delete")
@page
def ask(owner: Owner, name: str) -> AnyResponse:
    """The question before a file in the trash is destroyed. Raises ``not_found``."""
    row = trash.owned(rt(), owner.caller, name)
    action = f"/trash/{row.uuid}/delete"
    return shown(
        owner, "delete.html", "trash", name=row.original_name, action=action, back="/trash", until=None, has_trash=True
    )


@blueprint.post("/trash/<name>/delete")
@form
def delete(owner: Owner, name: str) -> AnyResponse:
    """Destroy a file that is in the trash. Raises ``not_found``."""
    trash.owned(rt(), owner.caller, name)
    files.delete(rt(), owner.caller, name, purge=True)
    return done("/trash", "The file is gone for good.")


def _page(owner: Owner, problem: Problem | None = None) -> AnyResponse:
    found = trash.list_trashed(rt(), owner.caller.email)
    pages = library.page_count(len(found))
    number = max(1, min(asked_page(), pages))
    kept_ms = PLAN_LIMITS[owner.caller.plan].trash_ms
    return shown(
        owner,
        "trash.html",
        "trash",
        200 if problem is None else problem.status,
        problem=problem,
        rows=[_row(row) for row in found[(number - 1) * PAGE_FILES : number * PAGE_FILES]],
        steps=steps("/trash", {}, number, pages),
        kept=None if kept_ms is None else plural(kept_ms // DAY, "day"),
    )


def _row(row: Trashed) -> dict[str, str]:
    return {
        "uuid": row.uuid,
        "name": row.original_name,
        "size": wording.size(row.size),
        "since": day_of(row.trashed_at),
        "until": day_of(row.purge_at),
    }
