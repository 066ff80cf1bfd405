"""The activity feed: ``GET /api/v1/activity``."""

from flask import Response, request

from docshare.contract.streams import ACTIVITY, parse_kinds, parse_limit, parse_since
from docshare.server.api import answers
from docshare.server.api.represent import resources
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.events import activity_feed


def list_activity(caller: Caller) -> Response:
    """``GET /activity``: return one page of all events. Raises ``bad_request`` for an unknown ``kind``."""
    args = request.args
    kinds = parse_kinds(args.get("kind"))
    since, limit = parse_since(args.get("since"), ACTIVITY.max_cursor), parse_limit(args.get("limit"))
    rows = activity_feed.fetch_page(
        current_runtime(), caller, since=since, limit=limit, file=args.get("file"), kinds=kinds
    )
    return answers.json_response([resources.activity_row(row) for row in rows])
