"""The hotspot editor: places on a page that lead somewhere or play a sound, drawn on its image or typed as numbers."""

from collections.abc import Mapping

from flask import Blueprint, request
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.problems import Problem
from docshare.server.http.views import rt
from docshare.server.pdf.pages import WIDTHS
from docshare.server.services.files import assets, hotspots
from docshare.server.web.owner.desk import Owner, done, form, page
from docshare.server.web.owner.file.paper import Paper, opened, page_of, page_shape, path_of, typed

_SIDES = ("x", "y", "width", "height")
_LONGEST_NUMBER = 5  # digits

blueprint = Blueprint("owner_file_hotspots", __name__)


@blueprint.get("/files/<name>/hotspots")
@page
def show(owner: Owner, name: str) -> AnyResponse:
    """``/files/{id}/hotspots?page=``. Raises ``not_found``."""
    return _page(owner, opened(owner, name), request.args.get("page", ""))


@blueprint.post("/files/<name>/hotspots")
@form
def create(owner: Owner, name: str) -> AnyResponse:
    """Place a hotspot; the four numbers are in per cent of the page."""
    paper, sent = opened(owner, name), typed()
    args = {"page": sent.get("page", ""), "label": sent.get("label", "")}
    args |= {key: sent[key].strip() for key in ("link", "audio") if sent.get(key, "").strip()}
    try:
        args["rect"] = ",".join(_share(sent.get(side, "")) for side in _SIDES)
        row = hotspots.add_own(rt(), owner.caller, paper.row.uuid, args)
    except Problem as problem:
        return _page(owner, paper, args["page"], problem, sent)
    return done_at(paper, row.page, f"'{row.label}' is on page {row.page}.")


@blueprint.post("/files/<name>/hotspots/<hotspot>/delete")
@form
def delete(owner: Owner, name: str, hotspot: str) -> AnyResponse:
    """Take a hotspot away, with the count of its taps. Raises ``not_found``."""
    paper = opened(owner, name)
    row = hotspots.remove_own(rt(), owner.caller, paper.row.uuid, hotspot)
    return done_at(paper, row.page, f"'{row.label}' was removed.")


def done_at(paper: Paper, page: int, words: str) -> AnyResponse:
    """Back to the editor of ``page``, which says ``words``."""
    return done(f"{path_of(paper.row.uuid)}/hotspots/{page}", words)


@blueprint.get("/files/<name>/hotspots/<int:number>")
@page
def show_page(owner: Owner, name: str, number: int) -> AnyResponse:
    """The editor of the page ``number``. Raises ``not_found``."""
    return _page(owner, opened(owner, name), str(number))


def _share(text: str) -> str:
    """Per cent as a fraction of the page, as the rules read it. Raises ``bad_request``."""
    try:
        return f"{float(text.strip().replace(',', '.')) / 100:.6f}"
    except ValueError:
        sides = ", ".join(_SIDES)
        raise Problem("bad_request", f"{sides} must be numbers: per cent of the page.") from None


def _page(
    owner: Owner, paper: Paper, asked: str, problem: Problem | None = None, sent: Mapping[str, str] | None = None
) -> AnyResponse:
    known = asked.isascii() and asked.isdecimal() and len(asked) <= _LONGEST_NUMBER
    number = min(max(int(asked), 1), paper.row.total_pages) if known else 1
    rows = hotspots.list_own(rt(), owner.caller, paper.row.uuid)
    sounds = [row.uuid for row in assets.list_assets(rt(), owner.caller, paper.row.uuid) if row.kind == hotspots.AUDIO]
    return page_of(
        owner,
        paper,
        "hotspots",
        problem,
        number=number,
        image=paper.picture(number, max(WIDTHS)),
        shape=page_shape(paper, number),
        here=[row for row in rows if row.page == number],
        hotspots=rows,
        sounds=sounds,
        fields=sent or {},
    )
