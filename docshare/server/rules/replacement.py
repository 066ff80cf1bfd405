"""Replacing the document of a link: when it is allowed, and what is kept."""

from collections.abc import Sequence

from docshare.contract.limits import RANGE_AND_WATERMARK_BYTES
from docshare.contract.plans import MB
from docshare.contract.problems import Problem
from docshare.server.rules.lifecycle import is_expired
from docshare.server.rules.settings import read_settings


def parse_keep_anchors(given: Sequence[str]) -> bool:
    """Return whether hotspots, notes, page marks and annotations are kept.

    ``given``: the values of ``clearAnchors`` in the query; only exactly one ``false`` or ``0`` keeps them.
    """
    return list(given) in (["false"], ["0"])


def require_not_expired(delete_at: int | None, now: int) -> None:
    """Raise ``gone`` if the link has expired, burned or not: a replacement revives only burned links."""
    if is_expired(delete_at, now):
        raise Problem("gone", "This link has expired; its content cannot be replaced.", hint="Upload it as a new file.")


def reset_views_consumed(burned_at: int | None, consumed: int) -> int:
    """Return the number of views used after the replacement.

    A burned link starts at 0, otherwise the next view would burn it again; the used views of a live link stay used.
    """
    return consumed if burned_at is None else 0


def require_servable(settings: str, variants_trim: bool, size: int) -> None:
    """Raise ``payload_too_large`` if the link could not be served with its settings after the replacement.

    Parameters: ``settings`` of the file, JSON as stored; ``variants_trim`` whether a variant has a page range;
    ``size`` of the new PDF in bytes. Settings that a file over 100 MB cannot have cannot be carried over to one.
    """
    if size <= RANGE_AND_WATERMARK_BYTES:
        return
    chosen = read_settings(settings)
    stamps = bool(chosen["watermark"]) and bool(chosen["allowDownload"])
    if variants_trim or stamps or chosen["pageRange"] is not None:
        raise Problem(
            "payload_too_large",
            f"The link has a page range or a watermark, which work up to {RANGE_AND_WATERMARK_BYTES // MB} MB.",
            hint="Clear the page range or the watermark first.",
        )
