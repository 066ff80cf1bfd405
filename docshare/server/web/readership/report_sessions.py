"""All sessions of a file for its owner, as a page and as a CSV file."""

import re
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, Response, request

from docshare.contract.problems import Problem
from docshare.contract.wire import parse_instant
from docshare.report import CSV_COLUMNS, ReportInput, SessionListInput, list_csv_rows, render_sessions
from docshare.server.api.csv_answers import csv_response
from docshare.server.api.represent import readership
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts import sign_in
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.readership import report, sessions
from docshare.server.web import problem_pages, sign_in_return
from docshare.server.web.readership.report import (
    OWNER_ONLY,
    describe_days,
    file_address,
    load_report,
    read_days,
    render_page,
    report_address,
    unknown_link,
)
from docshare.server.web.sign_in import session_cookie

PAGE_SIZE = 50
_CURSOR = re.compile(r"([0-9]{1,15})-([0-9]{1,15})")

blueprint = Blueprint("report_sessions", __name__)


@blueprint.get("/readership/<name>/sessions")
def show_sessions(name: str) -> Response:
    """List the counted sessions of the file ``name`` that began on the days of the query, newest first.

    ``?before=`` lists those older than a session; the days are those of the report. Invalid values are ignored.
    """
    runtime = current_runtime()
    caller = sign_in.find_caller(runtime, session_cookie())
    if caller is None:
        return sign_in_return.ask_to_sign_in(request.full_path.rstrip("?"), OWNER_ONLY)
    try:
        rows = _list_rows(caller, name, _read_cursor(), PAGE_SIZE + 1)
        whole = load_report(runtime, caller, name)
    except Problem as problem:
        return _render_problem(problem)
    material = _build_material(whole, rows)
    days = [material.period.text] if material.period else []
    return render_page(ReportInput(whole, runtime.clock()), render_sessions(material), "Sessions", *days)


@blueprint.get("/readership/<name>/sessions.csv")
def download_sessions(name: str) -> Response:
    """Return the counted sessions of the days of the query as CSV, newest first, at most
    ``report.MAX_RANGE_SESSIONS``."""
    runtime = current_runtime()
    caller = sign_in.find_caller(runtime, session_cookie())
    if caller is None:
        return sign_in_return.ask_to_sign_in(f"/readership/{name}/sessions", OWNER_ONLY)
    try:
        rows = _list_rows(caller, name, sessions.NEWEST, report.MAX_RANGE_SESSIONS)
        whole = load_report(runtime, caller, name)
    except Problem as problem:
        return _render_problem(problem)
    return csv_response("sessions.csv", CSV_COLUMNS, list_csv_rows(whole, rows))


def _build_material(whole: dict[str, Any], rows: list[dict[str, Any]]) -> SessionListInput:
    file, period = whole["file"], describe_days(read_days(current_runtime()))
    address = f"{report_address(file)}/sessions"
    query = period.query if period else ""
    visible = rows[:PAGE_SIZE]
    return SessionListInput(
        report=whole,
        rows=visible,
        address=address,
        report_address=report_address(file),
        file_address=file_address(file),
        csv=_join(f"{address}.csv", query),
        csv_limit=report.MAX_RANGE_SESSIONS,
        older=_join(address, query, urlencode({"before": _write_cursor(visible[-1])})) if rows[PAGE_SIZE:] else None,
        newest=_join(address, query) if _read_cursor() != sessions.NEWEST else None,
        period=period,
    )


def _list_rows(caller: Caller, name: str, before: tuple[int, int], limit: int) -> list[dict[str, Any]]:
    runtime = current_runtime()
    found = sessions.list_newest_with_pages(runtime, caller, name, read_days(runtime), before=before, limit=limit)
    return [readership.session_stream_row(*row) for row in found]


def _read_cursor() -> tuple[int, int]:
    match = _CURSOR.fullmatch(request.args.get("before", ""))
    return (int(match[1]), int(match[2])) if match else sessions.NEWEST


def _write_cursor(row: dict[str, Any]) -> str:
    return f"{parse_instant(row['startedAt'])}-{row['id']}"


def _join(address: str, *queries: str) -> str:
    query = "&".join(filter(None, queries))
    return f"{address}?{query}" if query else address


def _render_problem(problem: Problem) -> Response:
    return problem_pages.render_problem_page(problem if problem.code == "plan_required" else unknown_link())
