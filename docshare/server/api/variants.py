"""Variants of a file's link."""

from flask import Response, request

from docshare.contract.problems import Problem
from docshare.server.api import answers, bodies
from docshare.server.api.represent import resources
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.links import variants

_REDACT = "redact"


def list_variants(caller: Caller, name: str) -> Response:
    """``GET /files/{id}/variants``: list all variants, newest first."""
    base_url = current_runtime().config.base_url
    rows = variants.list_variants(current_runtime(), caller, name)
    return answers.json_response({"variants": [resources.variant_object(base_url, row) for row in rows]}, compress=True)


def create_variant(caller: Caller, name: str) -> Response:
    """``POST /files/{id}/variants``: create a variant and return 201; the body is optional."""
    row = variants.create(current_runtime(), caller, name, bodies.read_json_object())
    response = answers.json_response(resources.variant_object(current_runtime().config.base_url, row))
    response.status_code = 201
    return response


def update_variant(caller: Caller, name: str, variant: str) -> Response:
    """``PUT /files/{id}/variants/{variantUuid}``: update the variant and return it."""
    row = variants.update(current_runtime(), caller, name, variant, bodies.read_json_object())
    return answers.json_response(resources.variant_object(current_runtime().config.base_url, row))


def delete_variant(caller: Caller, name: str, variant: str) -> Response:
    """``DELETE /files/{id}/variants/{variantUuid}``: delete the variant and return 204.

    ``redact=1`` erases the label and keeps the link. Raises ``bad_request`` for any other value or spelling: a
    misspelled redaction must not delete the variant.
    """
    asked = [(key, value) for key, value in request.args.items(multi=True) if key.lower() == _REDACT]
    if asked not in ([], [(_REDACT, "1")]):
        hint = "Send redact=1 to erase the label and keep the link, or omit redact to delete the variant."
        raise Problem("bad_request", "redact must be 1.", hint=hint)
    act = variants.redact if asked else variants.delete
    act(current_runtime(), caller, name, variant)
    return Response(status=204)
