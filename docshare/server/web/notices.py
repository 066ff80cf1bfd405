"""The page behind the unsubscribe link of a notice, which turns that notice off, and on again."""

from flask import Blueprint, Response, make_response, render_template, request

from docshare.server.http.views import current_runtime
from docshare.server.services.links import guessing
from docshare.server.services.operations import unsubscribe
from docshare.server.services.operations.unsubscribe import Notice
from docshare.server.web import problem_pages

_ON_VALUE = "on"

blueprint = Blueprint("notices", __name__)


@blueprint.get("/notices/<token>")
def show(token: str) -> Response:
    """Show a page with a button. A GET changes nothing, because scanners of mail follow every link."""
    return _render_notice(token, unsubscribe.find(current_runtime(), token))


@blueprint.post("/notices/<token>")
def change(token: str) -> Response:
    """Switch the notice off; with ``notices=on`` switch it on.

    Mail programs post ``List-Unsubscribe=One-Click`` (RFC 8058). Cookies are ignored, so a form of another site can
    do no more than anybody who has the link.
    """
    notice = unsubscribe.find(current_runtime(), token)
    if notice is not None:
        (unsubscribe.unmute if request.form.get("notices") == _ON_VALUE else unsubscribe.mute)(
            current_runtime(), notice
        )
    return _render_notice(token, unsubscribe.find(current_runtime(), token))


def _render_notice(token: str, notice: Notice | None) -> Response:
    if notice is None:
        return problem_pages.render_problem_page(guessing.link_not_found())
    return make_response(render_template("notices.html", notice=notice, action=f"/notices/{token}"))
