"""The owner's report page.

Without a sign-in, every name redirects to the sign-in page; any other signed-in account gets the page of an unknown
link.
"""

from dataclasses import replace
from typing import Any

from flask import Blueprint, Response, jsonify, make_response, render_template, request
from markupsafe import Markup

from docshare.contract.features import required_plan
from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none, format_instant
from docshare.report import ReportInput, ReportPeriod, Thumbnail, list_thumbnail_pages, render_report, render_session
from docshare.server.api.represent import feedback as represent_feedback
from docshare.server.api.represent import readership
from docshare.server.http.views import current_runtime
from docshare.server.pdf.pages import PAGE_WIDTHS, THUMBNAIL_WIDTHS
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import sign_in
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.feedback import feedback
from docshare.server.services.links import links
from docshare.server.services.readership import report, sessions
from docshare.server.services.readership.report import DayRange
from docshare.server.web import problem_pages, sign_in_return
from docshare.server.web.sign_in import session_cookie

OWNER_ONLY = "Only the owner of a document can see who has read it."
_ENDED_STATES = ("expired", "burned")
_UNCOUNTED_SESSIONS = 50  # newest sessions that were not counted on the page
_WIDTH, _SMALL_WIDTH = min(PAGE_WIDTHS), max(THUMBNAIL_WIDTHS)  # pixels

blueprint = Blueprint("report", __name__)


@blueprint.get("/readership/<name>")
def page(name: str) -> Response:
    """Show the report of the file ``name`` (UUID or short id), for its signed-in owner.

    ``?range=`` selects a range of ``RANGE_PRESETS``, ``?from=`` and ``?to=`` any other; invalid values are ignored.
    """
    caller = sign_in.find_caller(current_runtime(), session_cookie())
    if caller is None:
        return sign_in_return.ask_to_sign_in(request.full_path.rstrip("?"), OWNER_ONLY)
    try:
        material = _gather_report_input(current_runtime(), caller, name, read_days(current_runtime()))
    except Problem:
        return problem_pages.render_problem_page(unknown_link())
    days = [material.period.text] if material.period else []
    return render_page(material, render_report(material), *days)


@blueprint.get("/readership/<name>/sessions/<session>")
def show_session(name: str, session: str) -> Response:
    """Show one session of the file ``name`` page by page, counted or not, for its signed-in owner on Pro."""
    runtime = current_runtime()
    caller = sign_in.find_caller(runtime, session_cookie())
    if caller is None:
        return sign_in_return.ask_to_sign_in(request.path, OWNER_ONLY)
    try:
        found = readership.explained_session(sessions.explain_session(runtime, caller, name, session))
        whole = load_report(runtime, caller, name)
    except Problem as problem:
        shown = problem if problem.code == "plan_required" else unknown_link()
        return problem_pages.render_problem_page(shown)
    file = whole["file"]
    content = render_session(found, whole, report_address(file), file_address(file))
    return render_page(ReportInput(whole, runtime.clock()), content, "Session")


def render_page(material: ReportInput, content: Markup, *parts: str) -> Response:
    """Return the page that shows ``content``, rendered from ``material``; ``parts`` of its title precede the name of
    the file."""
    made_at = format_instant(material.created_at)
    title = " · ".join((*parts, material.name))
    body = render_template("readership.html", title=title, made=material.created_text, made_at=made_at, content=content)
    return make_response(body)


def report_address(file: dict[str, Any]) -> str:
    """Return the address of the report of ``file``."""
    return f"/readership/{file['uuid']}"


def file_address(file: dict[str, Any]) -> str:
    """Return the address of the page of ``file``."""
    return f"/files/{file['uuid']}"


@blueprint.get("/readership/<name>/now")
def now(name: str) -> Response:
    """Return ``{activeReaders}``, the number of current readers, for the script of the page; ``{}`` below Pro.

    Raises ``not_found`` for everybody except the signed-in owner.
    """
    caller = sign_in.find_caller(current_runtime(), session_cookie())
    if caller is None:
        raise unknown_link()
    try:
        found = load_report(current_runtime(), caller, name)
    except Problem:
        raise unknown_link() from None
    return jsonify(drop_none({"activeReaders": found["summary"].get("activeReaders")}))


def read_days(runtime: Runtime) -> DayRange | None:
    """Return the range that the query of the current request selects; None for all time."""
    preset, first, last = (request.args.get(key, "") for key in ("range", "from", "to"))
    return report.select_days(runtime, preset, first, last)


def describe_days(
    days: DayRange | None, previous: dict[str, Any] | None = None, *, is_cut: bool = False
) -> ReportPeriod | None:
    """Return ``days`` as the range of the page, if it has one; ``previous`` is the summary of the range before."""
    if days is None:
        return None
    preset = request.args.get("range", "")
    return ReportPeriod(
        days.first,
        days.last,
        previous,
        preset if preset in report.RANGE_PRESETS else "",
        report.MAX_RANGE_SESSIONS if is_cut else None,
    )


def _gather_report_input(runtime: Runtime, caller: Caller, name: str, days: DayRange | None) -> ReportInput:
    """Return all data of the file that the caller's plan includes. Raises what ``readership.report`` raises."""
    built = report.build_report(runtime, caller, name, days)
    found = readership.report_object(runtime.config.base_url, built)
    file = found["file"]
    material = ReportInput(
        found,
        runtime.clock(),
        code=f"/api/files/{file['shortId']}/qr-code",
        period=describe_days(days, readership.previous_summary(built), is_cut=built.is_cut),
        other_links=readership.other_links_row(built),
        report_address=report_address(file),
        sessions_address=f"{report_address(file)}/sessions",
        file_address=file_address(file),
    )
    if _is_on_plan(caller, "readership.pages"):
        material = replace(material, pages=readership.pages_object(report.list_pages(runtime, caller, name, days)))
    if _is_on_plan(caller, "readership.sessions"):
        others = sessions.list_uncounted(runtime, caller, name, days, limit=_UNCOUNTED_SESSIONS)
        newest = sessions.list_newest_with_pages(runtime, caller, name, days)
        material = replace(
            material,
            sessions=[readership.session_stream_row(*row) for row in newest],
            uncounted=[readership.uncounted_row(*row) for row in others],
        )
    if _is_on_plan(caller, "readership.marks"):
        material = replace(
            material,
            marks=represent_feedback.page_marks_object(feedback.list_marks(runtime, caller, name)),
            annotations=represent_feedback.annotations_object(feedback.list_annotations(runtime, caller, name)),
            feedback=represent_feedback.feedback_object(feedback.load_for_owner(runtime, caller, name)),
        )
    pictures = _list_thumbnails(runtime, file, sorted({1, *list_thumbnail_pages(material)}))
    return replace(material, pictures=pictures, cover=pictures.get(1))


def load_report(runtime: Runtime, caller: Caller, name: str) -> dict[str, Any]:
    """Return the report of the caller's file ``name`` over all time. Raises what ``report.build_report`` raises."""
    return readership.report_object(runtime.config.base_url, report.build_report(runtime, caller, name))


def _is_on_plan(caller: Caller, operation: str) -> bool:
    return caller.plan >= required_plan(operation)


def _list_thumbnails(runtime: Runtime, file: dict[str, Any], numbers: list[int]) -> dict[int, Thumbnail]:
    """Return small page images as on the owner's share page; none if the link has ended, which serves none."""
    link = links.resolve(runtime, file["uuid"])
    if link is None or link.state in _ENDED_STATES:
        return {}
    shapes = _page_sizes(links.load_page_sizes(runtime, link), numbers)
    return {
        number: Thumbnail(_image_address(file, number, _WIDTH), *shape, _image_address(file, number, _SMALL_WIDTH))
        for number, shape in shapes.items()
    }


def _image_address(file: dict[str, Any], number: int, width: int) -> str:
    return f"/{file['shortId']}/pages/{number}-{width}.jpg?v={file['contentVersion']}"


def _page_sizes(runs: list[list[float]], numbers: list[int]) -> dict[int, tuple[int, int]]:
    """Return width and height in points of the existing pages among ``numbers``, which are ascending."""
    found: dict[int, tuple[int, int]] = {}
    last = 0
    for count, width, height in runs:
        first, last = last + 1, last + int(count)
        shape = max(1, round(width)), max(1, round(height))
        found |= dict.fromkeys((number for number in numbers if first <= number <= last), shape)
    return found


def unknown_link() -> Problem:
    """Return the problem of a name that does not exist for the visitor."""
    return Problem("not_found", "There is no such link.")
