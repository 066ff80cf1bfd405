"""The manual of docshare at ``/docs``: to signed-in owners, or to everybody with the setting ``public_docs``."""

from functools import cache

from flask import Blueprint, Response, redirect
from werkzeug.wrappers import Response as AnyResponse

from docshare.contract.problems import Problem
from docshare.server.api import answers
from docshare.server.http.views import current_runtime
from docshare.server.web import problem_pages, public, sign_in_return
from docshare.server.web.owner import frame

_NAME = "docs"
_START = "index.html"
_REVALIDATE = "private, no-cache"  # a browser may keep a page, and revalidates it

blueprint = Blueprint("docs", __name__)


@blueprint.get(f"/{_NAME}")
def open_docs() -> AnyResponse:
    """Redirect to the manual, or show the share page of a file that had this custom link before it was reserved."""
    if _is_admitted():
        return redirect(f"/{_NAME}/", 302)
    shared = public.share_page(_NAME)
    return _ask_to_sign_in("") if shared.status_code == 404 else shared


@blueprint.get(f"/{_NAME}/", defaults={"path": _START})
@blueprint.get(f"/{_NAME}/<path:path>")
def show_page(path: str) -> AnyResponse:
    """Show one file of the manual."""
    if not _is_admitted():
        return _ask_to_sign_in(path)
    try:
        return answers.send_static(_load_page(path), _REVALIDATE)
    except KeyError:
        return problem_pages.render_problem_page(Problem("not_found", "The manual does not have this page."))


def _is_admitted() -> bool:
    return current_runtime().config.public_docs or frame.find_owner() is not None


def _ask_to_sign_in(path: str) -> Response:
    return sign_in_return.ask_to_sign_in(f"/{_NAME}/{path}", "The manual is for owners of this server.")


@cache
def _load_page(path: str) -> answers.StaticBody:
    """Return a file of the manual, kept in memory as it is sent. Raises KeyError, which is not cached."""
    from docshare.manual import load_site, media_type  # here: only these pages need it

    return answers.make_static(load_site().render(path), media_type(path), compress=not path.endswith(".woff2"))
