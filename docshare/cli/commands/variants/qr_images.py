"""QR images of variants, drawn here: the API draws those of files only."""

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docshare.cli.local.storage import replace_file

_BOX_PIXELS = 10
_QUIET_ZONE_BOXES = 4  # what the standard asks for around the code
_MAX_NAME_LENGTH = 48  # characters of a label that go into a file name, which may have 255 bytes in all
_UNSAFE_CHARACTERS = re.compile(r"[^\w.@+-]+")


def qr_link(variant: Mapping[str, Any]) -> str:
    """What the code of a variant holds: its link, marked so that the report tells these readers."""
    return f"{variant['url']}?via=qr"


def render_qr_png(link: str) -> bytes:
    """The QR code of ``link`` as a PNG image."""
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
    """Write the code of ``variant`` into ``folder`` unless it is there; returns its path. Stop (2) if it cannot be
    written. The name is made of the label, for people, and of the short id, which makes it the only one."""
    words = _UNSAFE_CHARACTERS.sub("-", label).strip("-.")[:_MAX_NAME_LENGTH]
    name = "-".join(filter(None, (words, str(variant.get("shortId") or variant["uuid"]))))
    path = folder / f"{name}.png"
    if not path.exists():
        replace_file(path, render_qr_png(qr_link(variant)))
    return str(path)
