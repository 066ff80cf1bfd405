"""The two routes that the design tool calls for its users."""

from flask import Response

from docshare.contract.wire import drop_none
from docshare.server.api import answers
from docshare.server.api.bodies import read_json_object
from docshare.server.api.represent import designs, resources
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.designs import publish as design_tool


def publish(caller: Caller) -> Response:
    """``POST /design-tool/import``: fetch the PDF of a design and share it without an account.

    Returns the import result with both tokens, which are only shown here.
    """
    published = design_tool.publish(current_runtime(), caller, read_json_object())
    file, base_url = published.file, current_runtime().config.base_url
    return answers.json_response(
        drop_none(
            {
                "uuid": file.uuid,
                "shortId": file.short_id,
                "shareUrl": resources.share_url(base_url, file.short_id),
                "qrUrl": designs.qr_url(base_url, file.short_id),
                "claimToken": published.tokens.claim,
                "manageToken": published.tokens.manage,
                "palette": file.palette,
                "republished": file.is_republished,
                "contentVersion": file.content_version,
            }
        )
    )


def show_status(caller: Caller) -> Response:
    """``POST /design-tool/design/status``: return the status of a design.

    For a design that this user has not shared it contains only ``claimed`` and ``publishedByOther``.
    """
    status = design_tool.find_status(current_runtime(), caller, read_json_object())
    return answers.json_response(designs.design_status(current_runtime().config.base_url, status))
