"""Operations without a credential: public metadata of a link, and sharing without an account."""

from flask import Response

from docshare.server.api import answers
from docshare.server.api.files import receive_file
from docshare.server.api.represent import resources
from docshare.server.http.views import client_address, current_runtime
from docshare.server.services.files import anonymous
from docshare.server.services.links import public

_UPLOAD_MESSAGE = "The file is shared for 7 days. Keep the tokens: they are shown once."


def show_metadata(name: str) -> Response:
    """``GET /api/files/{id}/metadata``: return the public metadata of a link; 410 with reason and time for a dead
    one."""
    metadata = public.get_metadata(current_runtime(), name, client_address())
    if metadata.is_alive:
        return answers.json_response(resources.public_metadata(current_runtime().config.base_url, metadata))
    response = answers.json_response(resources.ended_link(metadata))
    response.status_code = 410
    return response


def upload() -> Response:
    """``POST /api/files``: share the document in the multipart part ``file`` without an account, if that is enabled.

    Returns the upload result with both tokens, which are only shown here.
    """
    shared = anonymous.store_upload(
        current_runtime(), receive_file(lambda length: anonymous.admit(current_runtime(), length)), client_address()
    )
    return answers.json_response(
        {
            "uuid": shared.file.uuid,
            "shortId": shared.file.short_id,
            "shareUrl": resources.share_url(current_runtime().config.base_url, shared.file.short_id),
            "claimToken": shared.tokens.claim,
            "manageToken": shared.tokens.manage,
            **resources.result_message(_UPLOAD_MESSAGE, shared.warning, shared.left_out),
        }
    )
