"""The page behind the link at the end of a notice, which switches that notice off, and on again."""

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
    """A page with a button. Looking changes nothing: scanners of mail follow every link."""
    return _render_notice(token, unsubscribe.find(current_runtime(), token))


@blueprint.post("/notices/<token>")
def change(token: str) -> Response:
    """Switch the notice off; with ``notices=on`` switch it on. Mail programs post ``List-Unsubscribe=One-Click``
    (RFC 8058). No cookie counts here, so a form of another site can do no more than one with the link can."""
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
