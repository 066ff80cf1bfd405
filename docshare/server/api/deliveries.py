"""The deliveries of a webhook, and retrying them."""

from flask import Response, request

from docshare.contract.streams import INT64_MAX, parse_limit, parse_since
from docshare.server.api import answers
from docshare.server.api.represent import deliveries as represent_deliveries
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.webhooks import deliveries


def list_deliveries(caller: Caller, webhook: str) -> Response:
    """``GET /webhooks/{uuid}/deliveries``: list deliveries, with the cursor rules of the gate stream."""
    since = parse_since(request.args.get("since"), INT64_MAX)
    rows = deliveries.fetch_page(
        current_runtime(), caller, webhook, since=since, limit=parse_limit(request.args.get("limit"))
    )
    return answers.json_response([represent_deliveries.delivery_object(row) for row in rows], compress=True)


def redeliver(caller: Caller, webhook: str, delivery: str) -> Response:
    """``POST /webhooks/{uuid}/deliveries/{id}/redeliver``: queue the delivery again and return its row."""
    row = deliveries.redeliver(current_runtime(), caller, webhook, delivery)
    response = answers.json_response(represent_deliveries.delivery_object(row))
    response.status_code = 202
    return response
