"""The readership of a file."""

from flask import Response, request

from docshare.contract.streams import SESSIONS, parse_limit, parse_since
from docshare.server.api import answers
from docshare.server.api.represent import readership as represent_readership
from docshare.server.http.views import current_runtime
from docshare.server.runtime import Runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.readership import report as readership
from docshare.server.services.readership import sessions as readership_sessions
from docshare.server.services.readership.report import DayRange


def show_report(caller: Caller, name: str) -> Response:
    """``GET /files/{id}/readership``: return the sections of the report that the owner's plan includes, over all time
    or over the sessions that began on the days of the query."""
    runtime = current_runtime()
    found = readership.build_report(runtime, caller, name, _read_days(runtime))
    answer = represent_readership.report_object(runtime.config.base_url, found)
    return answers.json_response(represent_readership.without_comparison(answer))


def list_page_figures(caller: Caller, name: str) -> Response:
    """``GET /files/{id}/readership/pages``: return how each page was read, over all time or in the sessions that began
    on the days of the query."""
    runtime = current_runtime()
    found = readership.list_pages(runtime, caller, name, _read_days(runtime))
    return answers.json_response(represent_readership.pages_object(found), compress=True)


def _read_days(runtime: Runtime) -> DayRange | None:
    return readership.parse_requested_days(runtime, request.args.get("from"), request.args.get("to"))


def list_sessions(caller: Caller, name: str) -> Response:
    """``GET /files/{id}/readership/sessions``: list counted sessions in the order of their ends.

    With ``counted=false`` it lists the newest of the others.
    """
    if request.args.get("counted") == "false":
        others = readership_sessions.list_uncounted(
            current_runtime(), caller, name, limit=parse_limit(request.args.get("limit"))
        )
        return answers.json_response([represent_readership.uncounted_row(*row) for row in others])
    since = parse_since(request.args.get("since"), SESSIONS.max_cursor)
    limit = parse_limit(request.args.get("limit"))
    rows = readership_sessions.list_after(current_runtime(), caller, name, since=since, limit=limit)
    return answers.json_response([represent_readership.session_stream_row(row, seen) for row, seen in rows])


def show_session(caller: Caller, name: str, session_id: str) -> Response:
    """``GET /files/{id}/readership/sessions/{sessionId}``: return one session, with the reasons for its time and
    class."""
    found = readership_sessions.explain_session(current_runtime(), caller, name, session_id)
    return answers.json_response(represent_readership.explained_session(found))
