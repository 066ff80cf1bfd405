"""QR images of variants, drawn locally: the API draws only those of files."""

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docshare.cli.local.storage import replace_file

_BOX_PIXELS = 10
_QUIET_ZONE_BOXES = 4  # the margin that the QR standard requires
_MAX_NAME_LENGTH = 48  # characters of a label in a file name, which may have 255 bytes in total
_UNSAFE_CHARACTERS = re.compile(r"[^\w.@+-]+")


def qr_link(variant: Mapping[str, Any]) -> str:
    """Return the link for a QR code, marked so that the readership report counts its source."""
    return f"{variant['url']}?via=qr"


def render_qr_png(link: str) -> bytes:
    """Return the QR code of ``link`` as a PNG image."""
    import qrcode

    code = qrcode.QRCode(
        error_correction=qrcode.constants.ERROR_CORRECT_M, box_size=_BOX_PIXELS, border=_QUIET_ZONE_BOXES
    )
    code.add_data(link)
    code.make(fit=True)
    target = io.BytesIO()
    code.make_image().save(target, format="PNG", optimize=True)
    return target.getvalue()


def save_qr_image(folder: Path, label: str, variant: Mapping[str, Any]) -> str:
    """Write the QR code of ``variant`` to ``folder`` unless it exists, and return its path.

    The file name has the label for people and the short id to be unique. Raise Stop (2) if it cannot be written.
    """
    words = _UNSAFE_CHARACTERS.sub("-", label).strip("-.")[:_MAX_NAME_LENGTH]
    name = "-".join(filter(None, (words, str(variant.get("shortId") or variant["uuid"]))))
    path = folder / f"{name}.png"
    if not path.exists():
        replace_file(path, render_qr_png(qr_link(variant)))
    return str(path)
