"""The text of a watermark. Pure."""

import unicodedata
from datetime import UTC, datetime

from docshare.contract.plans import Plan
from docshare.contract.settings import SETTINGS

_MAX_READER_CHARS = 64  # characters; the rest of the line must fit on the page


def has_watermark(plan: Plan) -> bool:
    """Return whether an owner on ``plan`` has watermarks. Pro features are checked again when pages are served."""
    return plan >= SETTINGS["watermark"].plan


def watermark_text(host: str, code: str, reader: str | None = None, now: int | None = None) -> str:
    """Return the text of the watermark.

    Parameters: ``host`` of this instance; ``code`` eight characters that distinguish the copies of one link from
    those of others; ``reader`` the address of the reader, None while unknown; ``now`` in milliseconds when a copy is
    made, None in the viewer. The text never contains the label of a variant or an id that opens the document.
    """
    parts = [host, f"copy {code[:4]}-{code[4:]}"]
    if reader is not None:
        parts.insert(0, _to_ascii(reader)[:_MAX_READER_CHARS])
    if now is not None:
        parts.append(datetime.fromtimestamp(now / 1000, UTC).date().isoformat())
    return " - ".join(parts)


def _to_ascii(reader: str) -> str:
    """Return ``reader`` in characters that every page font has: without accents, and "?" for any other character."""
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", reader) if not unicodedata.combining(sign))
    return "".join(sign if " " <= sign <= "~" else "?" for sign in plain)
