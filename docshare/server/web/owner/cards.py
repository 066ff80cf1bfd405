"""The row of one file in the library."""

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from docshare.contract.amounts import format_plural, format_size
from docshare.contract.fields import RESERVED_SLUGS
from docshare.report.countries import country_name
from docshare.report.svg import described_svg, element, format_length
from docshare.report.words import format_date, format_short_day
from docshare.server.api.represent import resources
from docshare.server.services.files.files import FileRow
from docshare.server.services.files.library import LastReading, LibraryEntry
from docshare.server.web.owner import wording


@dataclass(frozen=True)
class FileCard:
    """A file in the library.

    ``file``: the File object of the API; ``link``: its custom link, or its share link if it has none; ``picture``: URL
    of the thumbnail of its first page, None if it is not served any more; ``facts``: one line of text; ``flags``:
    special properties of its link; ``ended``: why readers cannot open it, or "". ``week``: the chart of the views of
    the last seven days, None below the plan that includes it; ``viewed``: the sum of it; ``last_read``: when the file
    was last read; ``reader``: who read it, and where.
    """

    file: dict[str, Any]
    link: str
    picture: str | None
    facts: list[str]
    flags: list[str]
    ended: str
    week: Markup | None
    viewed: str
    last_read: str
    reader: str


def build_card(base_url: str, entry: LibraryEntry, now: int) -> FileCard:
    """Return the card of ``entry`` at ``now`` (ms)."""
    row, state, frozen, week, last = entry
    file = resources.file_object(base_url, row)
    picture = f"/files/{row.uuid}/thumbnail.jpg?v={row.content_version}" if state == "live" else None
    return FileCard(
        file,
        _build_link(base_url, row),
        picture,
        _list_facts(row, now),
        _list_flags(file, row, state),
        _describe_end(row, state, frozen),
        None if week is None else _draw_week(row.short_id, week),
        "" if week is None else f"{format_plural(sum(count for _, count in week), 'view')} this week",
        "" if week is None else _describe_last(row, last, now),
        "" if last is None else " · ".join(filter(None, (last.reader, country_name(last.country or "")))),
    )


def _build_link(base_url: str, row: FileRow) -> str:
    # A later version may have reserved the name for its own page.
    slug = None if row.slug in RESERVED_SLUGS else row.slug
    return resources.share_url(base_url, slug or row.short_id)


def _describe_last(row: FileRow, last: LastReading | None, now: int) -> str:
    if last is not None:
        return f"Last read {wording.format_age(last.started_at, now)}"
    # A reading is stored when it ends.
    return "First reading not finished" if row.view_count else "Not read yet"


def _draw_week(key: str, week: list[tuple[str, int]]) -> Markup:
    """Draw the views of the last seven days, today last. Days without views are a line."""
    highest, step = max(1, *(count for _, count in week)), 100 / len(week)
    bars = [
        element(
            "rect",
            class_="week-day" if count else "week-day none",
            x=format_length(place * step + 1),
            y=format_length(96 - count / highest * 96),
            width=format_length(step - 2),
            height=format_length(4 + count / highest * 96),
        )
        for place, (_, count) in enumerate(week)
    ]
    words = ", ".join(f"{format_short_day(day)}: {count}" for day, count in week)
    return described_svg(f"week-{key}", "Views per day", words, *bars, class_="week")


def _list_facts(row: FileRow, now: int) -> list[str]:
    return [
        format_plural(row.total_pages, "page"),
        format_size(row.size),
        format_plural(row.view_count, "view"),
        f"shared {wording.format_age(row.created_at, now)}",
    ]


def _describe_end(row: FileRow, state: str, frozen: bool) -> str:
    if frozen:
        return "On hold while the operator reviews it"
    if state == "burned":
        return "View limit reached"
    return f"Expired {format_date(row.delete_at)}" if state == "expired" and row.delete_at is not None else ""


def _list_flags(file: dict[str, Any], row: FileRow, state: str) -> list[str]:
    """List the flags in the order in which a reader encounters them."""
    asks = file["requireEmail"] or "gateFields" in file or "gateDomains" in file
    window = file.get("pageRange")
    named = {
        f"Expires {format_date(row.delete_at or 0)}": state == "live" and row.delete_at is not None,
        "Password": file["protected"],
        "Email required": asks,
        f"{row.views_consumed} of {row.view_limit} views used": row.view_limit is not None and state != "burned",
        f"Pages {window['from']} to {window['to']}" if window else "": bool(window),
        "Watermark": file["watermark"],
        "No download": not file["allowDownload"],
    }
    return [words for words, holds in named.items() if holds]
