"""The owner's report page. To everybody else it does not exist: who is not signed in learns how to sign in, whatever
the address, and who is signed in but not the owner gets the page of an unknown link."""

from dataclasses import replace
from typing import Any

from flask import Blueprint, Response, jsonify, make_response, render_template, request

from docshare.contract.features import operation_plan
from docshare.contract.problems import Problem
from docshare.contract.wire import present
from docshare.report import Material, Picture, draw, pictured_pages
from docshare.server.api.represent import feedback as represent_feedback
from docshare.server.api.represent import readership
from docshare.server.http.views import rt
from docshare.server.pdf.pages import WIDTHS
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import sign_in
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.feedback import feedback
from docshare.server.services.links import links
from docshare.server.services.readership import report
from docshare.server.web import returning, troubles
from docshare.server.web.sign_in import session_cookie

_ENDED = ("expired", "burned")
_WIDTH = min(WIDTHS)  # pixels

blueprint = Blueprint("report", __name__)


@blueprint.get("/readership/<name>")
def page(name: str) -> Response:
    """The report of the file ``name`` (UUID or short id), for its signed-in owner."""
    caller = sign_in.caller(rt(), session_cookie())
    if caller is None:
        return returning.ask_to_sign_in(request.path, "Who has read a document is for its owner.")
    try:
        material = _material(rt(), caller, name)
    except Problem:
        return troubles.page(_unknown())
    return make_response(
        render_template("readership.html", name=material.name, made=material.made, content=draw(material))
    )


@blueprint.get("/readership/<name>/now")
def now(name: str) -> Response:
    """``{activeReaders}``: how many read the file at this moment, for the page that shows it; ``{}`` below Pro.

    Raises ``not_found`` for everybody but the signed-in owner.
    """
    caller = sign_in.caller(rt(), session_cookie())
    if caller is None:
        raise _unknown()
    try:
        found = _report(rt(), caller, name)
    except Problem:
        raise _unknown() from None
    return jsonify(present({"activeReaders": found["summary"].get("activeReaders")}))


def _material(runtime: Runtime, caller: Caller, name: str) -> Material:
    """Everything that the caller's plan shows of the file. Raises what ``readership.report`` raises."""
    found = _report(runtime, caller, name)
    file = found["file"]
    material = Material(found, runtime.clock(), code=f"/api/files/{file['shortId']}/qr-code")
    if _may(caller, "readership.pages"):
        material = replace(material, pages=readership.pages(report.pages(runtime, caller, name)))
    if _may(caller, "readership.marks"):
        material = replace(
            material,
            marks=represent_feedback.page_marks(feedback.marks_of(runtime, caller, name)),
            annotations=represent_feedback.annotations(feedback.annotations_of(runtime, caller, name)),
            feedback=represent_feedback.feedback(feedback.told(runtime, caller, name)),
        )
    return replace(material, pictures=_pictures(runtime, file, pictured_pages(material)))


def _report(runtime: Runtime, caller: Caller, name: str) -> dict[str, Any]:
    return readership.report(runtime.config.base_url, report.report(runtime, caller, name))


def _may(caller: Caller, operation: str) -> bool:
    return caller.plan >= operation_plan(operation)


def _pictures(runtime: Runtime, file: dict[str, Any], numbers: list[int]) -> dict[int, Picture]:
    """The page images that the owner's share page shows, small; none of a link that has ended, which serves none."""
    link = links.resolve(runtime, file["uuid"])
    if link is None or link.state in _ENDED:
        return {}
    shapes = _shapes(links.page_sizes(runtime, link), numbers)
    return {
        number: Picture(f"/{file['shortId']}/pages/{number}-{_WIDTH}.jpg?v={file['contentVersion']}", *shape)
        for number, shape in shapes.items()
    }


def _shapes(runs: list[list[float]], numbers: list[int]) -> dict[int, tuple[int, int]]:
    """Width and height in points of those pages that the document has; ``numbers`` ascending."""
    found: dict[int, tuple[int, int]] = {}
    last = 0
    for count, width, height in runs:
        first, last = last + 1, last + int(count)
        shape = max(1, round(width)), max(1, round(height))
        found |= dict.fromkeys((number for number in numbers if first <= number <= last), shape)
    return found


def _unknown() -> Problem:
    return Problem("not_found", "There is no such link.")
