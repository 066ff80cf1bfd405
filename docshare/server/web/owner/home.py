"""Where an owner lands after signing in."""

from flask import Blueprint, redirect
from werkzeug.wrappers import Response as AnyResponse

from docshare.server.web.owner.desk import Owner, page

blueprint = Blueprint("owner", __name__)


@blueprint.get("/dashboard")
@page
def land(owner: Owner) -> AnyResponse:  # noqa: ARG001 - every page is somebody's
    """The short way to the library."""
    return redirect("/files", 303)
