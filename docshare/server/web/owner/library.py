"""The library: the owner's files, uploads, and deleting a file."""

from collections.abc import Mapping
from functools import partial
from urllib.parse import urlencode

from flask import Blueprint, request
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.amounts import format_size
from docshare.contract.plans import PLAN_LIMITS
from docshare.contract.problems import Problem
from docshare.report.words import format_date
from docshare.server.http.views import current_runtime
from docshare.server.pdf.budget import Tenant
from docshare.server.pdf.pages import THUMBNAIL_WIDTH
from docshare.server.services.files import files, library, sealed_blobs, tenants
from docshare.server.services.files.library import LINK_STATES, ORDERS
from docshare.server.web import derived, problem_pages
from docshare.server.web.owner.cards import build_card
from docshare.server.web.owner.frame import (
    SignedInOwner,
    find_owner,
    owner_form,
    owner_page,
    redirect_with_message,
    render_owner_page,
)
from docshare.server.web.owner.paging import build_page_links, read_page_number

_MAX_QUERY_CHARS = 200
# Column -> its orders, the more useful one first.
_SORT_COLUMNS = {
    "Name": ("name", "name-desc"),
    "Shared": ("newest", "oldest"),
    "Views": ("views", "views-asc"),
    "Size": ("size", "size-asc"),
}
_DESCENDING = ("name-desc", "newest", "views", "size")

blueprint = Blueprint("owner_library", __name__)


@blueprint.get("/files")
@owner_page
def show(owner: SignedInOwner) -> AnyResponse:
    """List the files that match ``?q=`` and ``?state=``, sorted by ``?sort=``; invalid parameters are ignored."""
    words = request.args.get("q", "")[:_MAX_QUERY_CHARS].strip()
    order = request.args.get("sort", "")
    order = order if order in ORDERS else ORDERS[0]
    state = request.args.get("state", "")
    state = state if state in LINK_STATES else ""
    page = library.load_page(
        current_runtime(), owner.caller, words=words, link_state=state, order=order, number=read_page_number()
    )
    now, base_url = current_runtime().clock(), current_runtime().config.base_url
    kept = {"q": words, "state": state, "sort": "" if order == ORDERS[0] else order}
    limits = PLAN_LIMITS[owner.caller.plan]
    return render_owner_page(
        owner,
        "library.html",
        "files",
        library=page,
        cards=[build_card(base_url, entry, now) for entry in page.entries],
        words=words,
        state=state,
        states=LINK_STATES,
        order=order,
        orders=ORDERS,
        sorts=_build_sort_links(kept, order),
        list_query=urlencode({name: value for name, value in {**kept, "page": str(page.number)}.items() if value}),
        steps=build_page_links("/files", kept, page.number, page.pages),
        most=limits.stored_bytes,
        most_words=format_size(limits.stored_bytes),
        has_trash=limits.trash_ms is not None,
    )


def _build_sort_links(kept: Mapping[str, str], order: str) -> list[dict[str, str]]:
    """Return a link for each column: to its first order, or from an order of the column to the other one."""
    found = []
    for label, orders in _SORT_COLUMNS.items():
        chosen = order in orders
        target = orders[1 - orders.index(order)] if chosen else orders[0]
        query = {name: value for name, value in {**kept, "sort": target}.items() if value and value != ORDERS[0]}
        is_descending = order in _DESCENDING
        found.append(
            {
                "label": label,
                "url": f"/files?{urlencode(query)}" if query else "/files",
                "arrow": ("↓" if is_descending else "↑") if chosen else "",
                "direction": "descending" if is_descending else "ascending",
            }
        )
    return found


@blueprint.get("/files/<name>/thumbnail.jpg")
def thumbnail(name: str) -> AnyResponse:
    """Return the first page of a live file for its owner, a JPEG of ``THUMBNAIL_WIDTH``; ``?v=`` is its version.

    Responds with the same 404 page to everybody else. Raises ``unavailable`` and ``unprocessable`` as a page image.
    """
    # Not an ``owner_page``: after the next sign-in, the browser would return to the image instead of the page.
    owner, runtime = find_owner(), current_runtime()
    try:
        if owner is None:
            raise files.file_not_found()
        row = library.get_live(runtime, owner.caller, name)
        if request.args.get("v") != str(row.content_version):
            raise files.file_not_found()
        tenant = Tenant(tenants.account_tenant_key(owner.caller.account_id), row.sha256)
        asked = (row.uuid, row.content_version, sealed_blobs.open_blob(runtime, row.blob), 1, THUMBNAIL_WIDTH)
        make = partial(runtime.pages.image, *asked, None, tenant)
        return derived.send_page_part(row.uuid, row.content_version, lambda: derived.send_derived(make(), "image/jpeg"))
    except Problem as problem:
        return problem_pages.render_problem_page(problem)


@blueprint.get("/files/<name>/delete")
@owner_page
def ask(owner: SignedInOwner, name: str) -> AnyResponse:
    """Ask for confirmation before a file is deleted; ``?for-good=1`` skips the trash. Raises ``not_found``."""
    return _render_confirmation(owner, name, for_good=request.args.get("for-good") == "1")


@blueprint.post("/files/<name>/delete")
@owner_form
def delete(owner: SignedInOwner, name: str) -> AnyResponse:
    """Delete a file as the confirmation page announced: ``fate`` is ``trash`` or ``gone``. Raises ``not_found``."""
    row = files.get_owned(current_runtime(), owner.caller, name)
    fate = request.form.get("fate")
    if fate not in ("trash", "gone"):
        raise Problem("bad_request", "fate must be trash or gone.")
    if fate == "trash" and library.trash_expiry(current_runtime(), owner.caller.plan) is None:
        # The plan changed while the confirmation was open: the owner agreed to the trash, not to permanent deletion.
        problem = Problem("conflict", "Your plan no longer includes the trash.", hint="The file was not deleted.")
        return _render_confirmation(owner, name, for_good=True, problem=problem)
    place = files.delete(current_runtime(), owner.caller, name, purge=fate == "gone")
    if place is None:
        return redirect_with_message("/files", "The file was permanently deleted.")
    words = f"The file is in the trash until {format_date(place.purge_at)}."
    return redirect_with_message("/files", words, [row.short_id])


def _render_confirmation(
    owner: SignedInOwner, name: str, *, for_good: bool, problem: Problem | None = None
) -> AnyResponse:
    row = files.get_owned(current_runtime(), owner.caller, name)
    until = library.trash_expiry(current_runtime(), owner.caller.plan)
    return render_owner_page(
        owner,
        "delete.html",
        "files",
        200 if problem is None else problem.status,
        problem=problem,
        name=row.original_name,
        action=f"/files/{row.uuid}/delete",
        back="/files",
        until=None if for_good or until is None else format_date(until),
        has_trash=until is not None,
    )
