"""The readership of all files of an account, for its signed-in owner."""

from typing import Any

from flask import Blueprint, Response, make_response, render_template, request

from docshare.contract.wire import format_instant
from docshare.report import ACCOUNT_ORDERS, AccountReportInput, ReportPeriod, render_account_report
from docshare.report.words import format_date_time
from docshare.server.api.represent import readership
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts import sign_in
from docshare.server.services.readership import account_report, report
from docshare.server.services.readership.account_report import AccountSession, FileSessions
from docshare.server.web import sign_in_return
from docshare.server.web.readership.report import read_days
from docshare.server.web.sign_in import session_cookie

blueprint = Blueprint("account_readership", __name__)


@blueprint.get("/readership")
def show_account() -> Response:
    """Show the readership of all files of the signed-in account; the days are chosen as on the report of a file, and
    are the last 7 by default. ``?sort=`` orders the files."""
    runtime = current_runtime()
    caller = sign_in.find_caller(runtime, session_cookie())
    if caller is None:
        return sign_in_return.ask_to_sign_in(
            request.full_path.rstrip("?"), "Only the owner of documents can see who has read them."
        )
    days, preset = read_days(runtime), request.args.get("range", "")
    if days is None:
        days, preset = account_report.choose_default_days(runtime), account_report.DEFAULT_PRESET
    period = ReportPeriod(days.first, days.last, None, preset if preset in report.RANGE_PRESETS else "")
    found = account_report.build_account_report(runtime, caller, days)
    order = request.args.get("sort", "")
    material = AccountReportInput(
        address=request.path,
        period=period,
        files=[_file_row(each) for each in found.files],
        before=[_file_row(each) for each in found.before],
        days=None if found.days is None else [{"day": day, "count": count} for day, count in found.days],
        newest=None if found.newest is None else [_session_row(each) for each in found.newest],
        order=order if order in ACCOUNT_ORDERS else "views",
    )
    now = runtime.clock()
    body = render_template(
        "readership.html",
        title=f"{period.text} · All files",
        made=format_date_time(now),
        made_at=format_instant(now),
        content=render_account_report(material),
    )
    return make_response(body)


def _file_row(found: FileSessions) -> dict[str, Any]:
    return {
        "uuid": found.uuid,
        "name": found.name,
        "sessions": found.sessions,
        "timeMs": found.time_ms,
        "visitors": found.visitors,
    }


def _session_row(found: AccountSession) -> dict[str, Any]:
    file = {
        "uuid": found.file,
        "name": found.file_name,
        "contentVersion": found.content_version,
        "totalPages": found.total_pages,
        "label": found.label,
    }
    return {**readership.session_object(found.row), "file": file}
