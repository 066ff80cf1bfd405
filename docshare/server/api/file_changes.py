"""Operations on a file after its upload: replace, restore, claim."""

from flask import Response, request

from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none
from docshare.server.api import answers
from docshare.server.api.bodies import read_json_object
from docshare.server.api.files import receive_file
from docshare.server.api.represent import resources
from docshare.server.http.views import current_runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import claim as claiming
from docshare.server.services.files import replace as replacing
from docshare.server.services.files import trash

_REPLACED_MESSAGE = "The document was replaced; its link stays the same."


def replace_content(caller: Caller, name: str) -> Response:
    """``POST /files/{id}/content``: make the PDF in the multipart part ``file`` the next version of the file."""
    received = receive_file(lambda length: replacing.admit(current_runtime(), caller, name, length))
    given = request.args.getlist("clearAnchors")
    result = replacing.replace_document(current_runtime(), caller, name, received, clear_anchors=given)
    found = {
        "uuid": result.uuid,
        "contentVersion": result.content_version,
        "originalName": result.original_name,
        "size": result.size,
        "anchorsCleared": result.are_anchors_cleared,
        "clearedHotspots": result.cleared_hotspots,
        "clearedNotes": result.cleared_notes,
        "clearedMarks": result.cleared_marks,
        "clearedAnnotations": result.cleared_annotations,
        "pageRangeEmpty": result.is_page_range_empty or None,
        "emptyVariants": result.empty_variants or None,
        **resources.result_message(_REPLACED_MESSAGE, result.warning, result.left_out),
    }
    return answers.json_response(drop_none(found))


def restore_file(caller: Caller, name: str) -> Response:
    """``POST /files/{id}/restore``: restore the file from the trash."""
    return answers.json_response(
        resources.file_object(current_runtime().config.base_url, trash.restore(current_runtime(), caller, name))
    )


def claim_file(caller: Caller) -> Response:
    """``POST /files/claim``: assign the file of a claim token to the caller."""
    token = read_json_object().get("claimToken")
    if not isinstance(token, str) or not token:
        raise Problem("bad_request", "claimToken must be a string.")
    claimed = claiming.claim(current_runtime(), caller, token)
    link = resources.share_url(current_runtime().config.base_url, claimed.short_id)
    message = "The file belongs to your account."
    return answers.json_response(
        {"uuid": claimed.uuid, "shortId": claimed.short_id, "shareUrl": link, "message": message}
    )
