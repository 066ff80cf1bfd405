"""The polling feed and its alias for gate responses."""

from flask import Response, request

from docshare.contract.problems import Problem
from docshare.contract.streams import STREAMS, parse_limit, parse_since, parse_type
from docshare.server.api import answers
from docshare.server.api.problems import render_plain_problem
from docshare.server.api.represent import resources
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.events import feed


def list_events(caller: Caller) -> Response:
    """``GET /events``: return one page of the stream named by ``type``."""
    return _respond_page(caller, parse_type(request.args.get("type")))


def list_gate_responses(caller: Caller) -> Response:
    """``GET /gate-responses``: return one page of the gate stream; ``type`` is ignored."""
    return _respond_page(caller, "gate")


def _respond_page(caller: Caller, stream: str) -> Response:
    args = request.args
    since = parse_since(args.get("since"), STREAMS[stream].max_cursor)
    limit = parse_limit(args.get("limit"))
    try:
        rows = feed.fetch_page(current_runtime(), caller, stream, since=since, limit=limit, file=args.get("file"))
    except Problem as problem:
        # This one 403 is plain text.
        return render_plain_problem(problem)
    # Gate rows contain text of several readers.
    return answers.json_response([resources.feed_row(stream, row) for row in rows], compress=stream != "gate")
