"""QR codes of share links."""

import io
from functools import lru_cache

import qrcode
from flask import Response
from qrcode.constants import ERROR_CORRECT_M

from docshare.server.api.represent.resources import share_url
from docshare.server.http.views import client_address, current_runtime
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.files import files
from docshare.server.services.links import guessing

PNG_TYPE = "image/png"
_BOX_PIXELS = 10
_QUIET_ZONE_BOXES = 4  # the margin that the standard requires around the code


def show_qr_code(caller: Caller, name: str) -> Response:
    """``GET /api/v1/files/{id}/qr-code``: return the PNG for the caller's own file."""
    return _send_qr_code(files.get_owned(current_runtime(), caller, name).short_id)


def show_public_qr_code(name: str) -> Response:
    """``GET /api/files/{id}/qr-code``: return the same PNG to anybody who knows the UUID or short id.

    Raises as ``guessing.find_link``.
    """
    return _send_qr_code(guessing.find_link(current_runtime(), name, client_address(), ids_only=True).short_id)


def _send_qr_code(short_id: str) -> Response:
    # Never the slug, which can be assigned to another file; ``via`` identifies these readers in the report.
    return Response(
        _render_png(f"{share_url(current_runtime().config.base_url, short_id)}?via=qr"), content_type=PNG_TYPE
    )


@lru_cache(maxsize=1024)
def _render_png(text: str) -> bytes:
    code = qrcode.QRCode(error_correction=ERROR_CORRECT_M, box_size=_BOX_PIXELS, border=_QUIET_ZONE_BOXES)
    code.add_data(text)
    code.make(fit=True)
    target = io.BytesIO()
    code.make_image().save(target, format="PNG", optimize=True)
    return target.getvalue()
