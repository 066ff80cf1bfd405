"""The assets that a file can have besides its document, and the settings that refer to them. Pure."""

from collections.abc import Mapping
from typing import Any

from docshare.contract.amounts import format_size
from docshare.contract.limits import ASSETS_PER_FILE
from docshare.contract.media import ASSET_KINDS, detect_asset_type
from docshare.contract.problems import Problem
from docshare.contract.viewer import VIEWER_BLOCKS, ViewerField

MAX_ASSET_BYTES = max(kind.cap for kind in ASSET_KINDS.values())
"""Bytes of the largest asset of any kind."""

_TYPE_NAMES = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WebP", "audio/mpeg": "MP3"}


def require_kind(kind: str | None) -> str:
    """Return ``kind`` if it is a kind of asset. Raises ``bad_request``."""
    if kind not in ASSET_KINDS:
        raise Problem("bad_request", f"The form requires a part 'kind', one of: {', '.join(ASSET_KINDS)}.")
    return kind


def require_type(kind: str, head: bytes) -> str:
    """Return the media type of an upload that begins with ``head``. Raises ``bad_request`` if ``kind`` does not
    accept it."""
    found = detect_asset_type(head)
    types = ASSET_KINDS[kind].types
    if found not in types:
        names = " or ".join(_TYPE_NAMES[each] for each in types)
        hint = "The type is read from the bytes, not from the name."
        raise Problem("bad_request", f"A {kind} must be {names}.", hint=hint)
    return found


def require_size(size: int, cap: int) -> None:
    """Raise ``payload_too_large`` when an asset of ``size`` bytes is larger than ``cap``."""
    if size > cap:
        raise Problem("payload_too_large", f"The asset is larger than {format_size(cap)}.", hint="Send a smaller file.")


def require_asset_slot(assets: int) -> None:
    """Raise ``bad_request`` when a file that has ``assets`` can have no more."""
    if assets >= ASSETS_PER_FILE:
        raise Problem(
            "bad_request",
            f"The file has {ASSETS_PER_FILE} assets, the maximum for a file.",
            hint="A new logo or background replaces the current one; sounds are kept.",
        )


def mp3_problem() -> Problem:
    """Return the problem for an MP3 file without frames of MPEG audio layer III."""
    return Problem("unprocessable", "The file cannot be read as MP3.", hint="Export the sound as MP3 again.")


def replace_asset_ids(settings: Mapping[str, Any], old: frozenset[str], new: str) -> dict[str, Any]:
    """Return the settings of a file with references to the asset ``old`` replaced by ``new``.

    References follow the replacement, so that replacing a logo shows the new logo.
    """
    blocks = dict(settings.get("viewerSettings", {}))
    for key, table in VIEWER_BLOCKS.items():
        if not isinstance(table, ViewerField) and key in blocks:
            names = [name for name, row in table.items() if row.kind == "asset" and blocks[key].get(name) in old]
            blocks[key] = blocks[key] | dict.fromkeys(names, new)
    return {**settings, "viewerSettings": blocks} if blocks else dict(settings)
