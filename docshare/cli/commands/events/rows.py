"""Print rows of the feeds: as a table, as live lines, and as the columns for scripts."""

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.events.cursor_files import ACTIVITY_FEED
from docshare.cli.commands.events.descriptions import describe_event
from docshare.cli.commands.events.selection import StreamSelection, moment_of
from docshare.cli.terminal.cells import get_nested
from docshare.cli.terminal.output import Column, Spec
from docshare.cli.terminal.text import clean
from docshare.contract.amounts import format_plural
from docshare.contract.streams import ACTIVITY, STREAMS
from docshare.contract.wire import format_duration

if TYPE_CHECKING:
    from docshare.cli.framework.context import Context

_TYPE_WIDTH = max(map(len, STREAMS))


def build_feed_spec(choice: StreamSelection) -> Spec:
    """Return how to print the rows of ``choice``. With several streams, the types are aligned."""
    if choice.streams == (ACTIVITY_FEED,):
        return _build_activity_spec()
    return _build_stream_spec(several=len(choice.streams) > 1)


def build_generic_spec() -> Spec:
    """Return the spec of a command whose streams are not parsed yet, so that ``--fields`` accepts the keys of all."""
    return _build_stream_spec(several=False)._replace(fields=ACTIVITY.keys)


def _build_stream_spec(*, several: bool) -> Spec:
    def human(row: Mapping[str, Any], context: "Context") -> Iterator[str]:
        yield _render_live_line(row, context.now(), several=several)

    return Spec(
        table=(
            Column("readAt", "WHEN", show=_format_when),
            Column("type", "TYPE", rank=2),
            Column("fileName", "FILE", role="bold", flexible=True),
            Column("country", "COUNTRY", rank=4),
            Column("pagesViewed", "PAGES", rank=3),
            Column("timeMs", "TIME", kind="duration", rank=3),
            Column("fields", "FIELDS", flexible=True, rank=1, show=_format_fields),
            Column("id", "ID", role="id"),
        ),
        plain=("type", "id", "readAt", "fileUuid", "fileName", "country", "pagesViewed", "timeMs", "fields"),
        id="id",
        empty="no events yet",
        human=human,
    )


def _build_activity_spec() -> Spec:
    from docshare.contract.webhooks import ACTIVITY_KINDS

    widest = max(map(len, ACTIVITY_KINDS))

    def human(row: Mapping[str, Any], context: "Context") -> Iterator[str]:
        kind = str(row.get("event", "")).ljust(widest)
        yield _join_parts(
            _format_clock(row, context.now()),
            kind,
            get_nested(row, "data.fileName"),
            describe_event(row),
            f"#{row['id']}",
        )

    return Spec(
        table=(
            Column("timestamp", "WHEN", show=_format_when),
            Column("event", "EVENT"),
            Column("data.fileName", "FILE", role="bold", flexible=True),
            Column("data", "DETAILS", flexible=True, rank=1, show=describe_event),
            Column("id", "ID", role="id"),
        ),
        plain=("id", "event", "timestamp", "data.fileUuid", "data.fileName", "data"),
        fields=ACTIVITY.keys,
        id="id",
        empty="no events yet",
        human=human,
    )


def _render_live_line(row: Mapping[str, Any], now: int, *, several: bool) -> str:
    """Return a row as a line: ``14:02:11  view  deck.pdf  DE  3 pages  1m 42s  #2``."""
    spent = row.get("timeMs")
    kind = str(row.get("type", ""))
    return _join_parts(
        _format_clock(row, now),
        kind.ljust(_TYPE_WIDTH) if several else kind,
        row.get("fileName"),
        row.get("country"),
        _format_pages(row),
        format_duration(spent) if isinstance(spent, int) else "",
        _format_fields(row),
        f"#{row['id']}",
    )


def _join_parts(*parts: Any) -> str:
    return "  ".join(clean(str(part)) for part in parts if part)


def _format_clock(row: Mapping[str, Any], now: int) -> str:
    """Return the time of day, preceded by the date unless that is today."""
    today = time.strftime("%Y-%m-%d ", time.localtime(now / 1000))
    return _format_when(row).removeprefix(today) or "--:--:--"


def _format_when(row: Mapping[str, Any]) -> str:
    at = moment_of(row)
    return "" if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at / 1000))


def _format_pages(row: Mapping[str, Any]) -> str:
    count = row.get("pagesViewed")
    return format_plural(count, "page") if isinstance(count, int) else ""


def _format_fields(row: Mapping[str, Any]) -> str:
    fields = row.get("fields")
    return " ".join(f"{key}={value}" for key, value in fields.items()) if isinstance(fields, Mapping) else ""
