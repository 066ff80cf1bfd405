"""Webhooks, the same views on both lanes: ``/api/v1/webhooks`` and ``/api/webhooks``."""

from flask import Response, g

from docshare.contract.problems import Problem
from docshare.server.api import answers, auth, bodies
from docshare.server.api.represent import webhooks as represent_webhooks
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.operations import slots
from docshare.server.services.webhooks import webhooks


def create_webhook(caller: Caller) -> Response:
    """``POST /webhooks``: create a webhook and return 201 with its secret, which is only shown here."""
    new = webhooks.create(current_runtime(), caller, bodies.read_json_object())
    response = answers.json_response({"webhook": represent_webhooks.webhook_object(new.row), "secret": new.secret})
    response.status_code = 201
    return response


def list_webhooks(caller: Caller) -> Response:
    """``GET /webhooks``: list all webhooks, newest first."""
    rows = webhooks.list_webhooks(current_runtime(), caller)
    return answers.json_response({"webhooks": [represent_webhooks.webhook_with_health(row) for row in rows]})


def delete_webhook(caller: Caller, webhook: str) -> Response:
    """``DELETE /webhooks/{uuid}``: delete the webhook and its queued deliveries; 204."""
    webhooks.delete(current_runtime(), caller, webhook)
    return Response(status=204)


def test_webhook(caller: Caller, webhook: str) -> Response:
    """``POST /webhooks/{uuid}/test``: send a test delivery; 200 with its result, whether it arrived or not."""
    try:
        outcome = webhooks.send_test(current_runtime(), caller, webhook)
    except Problem as problem:
        if slots.is_full(problem):
            g.admission = auth.refund(current_runtime(), g.admission)
        raise
    return answers.json_response(represent_webhooks.test_result(outcome))


def enable_webhook(caller: Caller, webhook: str) -> Response:
    """``POST /webhooks/{uuid}/enable``: enable the webhook and return it."""
    return answers.json_response(
        represent_webhooks.webhook_with_health(webhooks.enable(current_runtime(), caller, webhook))
    )
