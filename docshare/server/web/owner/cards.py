"""What the library says of one file."""

from dataclasses import dataclass
from typing import Any

from docshare.report.words import day_of, plural
from docshare.server.api.represent import resources
from docshare.server.pdf.pages import WIDTHS
from docshare.server.services.files.files import FileRow
from docshare.server.services.files.library import Entry
from docshare.server.web.owner import wording

_WIDTH = min(WIDTHS)  # pixels


@dataclass(frozen=True)
class Card:
    """``file``: the File object of the API; ``picture``: address of its first page's image, None where none is served
    any more; ``facts``: in one line; ``flags``: what is special about its link; ``ended``: why it opens for no
    reader, or ""."""

    file: dict[str, Any]
    picture: str | None
    facts: list[str]
    flags: list[str]
    ended: str


def card(base_url: str, entry: Entry, now: int) -> Card:
    """The card of ``entry`` at ``now`` (ms)."""
    row, state, frozen = entry
    file = resources.file(base_url, row)
    # The owner is asked for nothing and sees the whole document, so this is its own first page.
    picture = f"/{row.short_id}/pages/1-{_WIDTH}.jpg?v={row.content_version}" if state == "live" else None
    return Card(file, picture, _facts(row, now), _flags(file, row, state), _ended(row, state, frozen))


def _facts(row: FileRow, now: int) -> list[str]:
    return [
        plural(row.total_pages, "page"),
        wording.size(row.size),
        plural(row.view_count, "view"),
        f"shared {wording.ago(row.created_at, now)}",
    ]


def _ended(row: FileRow, state: str, frozen: bool) -> str:
    if frozen:
        return "On hold: the operator reviews it"
    if state == "burned":
        return "Used up"
    return f"Expired {day_of(row.delete_at)}" if state == "expired" and row.delete_at is not None else ""


def _flags(file: dict[str, Any], row: FileRow, state: str) -> list[str]:
    """In the order in which a reader meets them."""
    asks = file["requireEmail"] or "gateFields" in file or "gateDomains" in file
    window = file.get("pageRange")
    named = {
        f"/{row.slug}": row.slug is not None,
        f"Expires {day_of(row.delete_at or 0)}": state == "live" and row.delete_at is not None,
        "Password": file["protected"],
        "Asks who reads": asks,
        f"{row.views_consumed} of {row.view_limit} openings used": row.view_limit is not None and state != "burned",
        f"Pages {window['from']} to {window['to']}" if window else "": bool(window),
        "Watermark": file["watermark"],
        "No download": not file["allowDownload"],
    }
    return [words for words, holds in named.items() if holds]
