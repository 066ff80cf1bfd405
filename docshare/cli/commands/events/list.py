"""Select and order the rows of ``events list`` and ``gate list``."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docshare.cli.commands.events.rows import build_feed_spec
from docshare.cli.commands.events.selection import (
    Row,
    StreamSelection,
    filter_allowed_streams,
    merge_by_time,
    moment_of,
    resolve_file,
)
from docshare.cli.framework.arguments import FILE_HELP, FileResolver
from docshare.cli.framework.context import current_context
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.cli.framework.option_groups import OptionGroup
from docshare.cli.framework.times import Since, parse_since
from docshare.contract.streams import LIMIT_MAX

if TYPE_CHECKING:
    from docshare.client.paging import Feed

_MAX_COMMIT_DELAY_MS = 24 * 60 * 60 * 1000  # ms; every session becomes a row within this time after its start


class ListOptions(OptionGroup):
    """The options of ``events list`` and ``gate list``."""

    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help=f"Only this file: {FILE_HELP}")] = None
    since: Annotated[
        str | None, typer.Option(metavar="ID|TIME", help="Only rows after this id, duration ago (2h), or date.")
    ] = None
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="Maximum number of rows.")] = 50
    everything: Annotated[bool, typer.Option("--all", help="Show all rows.")] = False
    oldest_first: Annotated[bool, typer.Option("--oldest-first", help="Print the rows in ascending order.")] = False


def print_rows(choice: StreamSelection, given: ListOptions, *, require_all: bool = False) -> None:
    """Print the selected rows of ``choice``, newest first, or ascending after an id. A note says if there are more.

    Raise Stop (2) for an id with several streams, and as ``filter_allowed_streams`` does.
    """
    ctx = current_context()
    start = Since() if given.since is None else parse_since(given.since, ctx.now())
    if start.id is not None and len(choice.streams) > 1:
        raise Stop(ExitCode.USAGE, "--since ID requires a single --type", hint="Each stream has its own ids.")
    printer = ctx.emitter(build_feed_spec(choice))
    client = ctx.client()
    uuid = resolve_file(ctx, client, FileResolver(ctx, client), given.file)
    feeds = choice.open_feeds(client, filter_allowed_streams(ctx, client, choice, require_all=require_all))
    wanted = None if given.everything else given.limit
    if start.id is not None:
        rows, more = _read_first(feeds[choice.streams[0]].rows_after(start.id, uuid), wanted)
    else:
        rows, more = _read_newest(feeds, uuid, start.at, wanted)
        rows.sort(key=lambda row: moment_of(row) or 0)  # ids follow the end of sessions, readAt their start
        rows = rows if given.oldest_first else rows[::-1]
    printer.emit(rows)
    if more:
        ctx.note(f"showing {len(rows)} rows; use -n or --all for more")


def _read_first(rows: Iterable[Row], wanted: int | None) -> tuple[list[Row], bool]:
    """Return the first ``wanted`` rows and whether there are more."""
    walk = iter(rows)
    found = list(islice(walk, wanted))
    return found, next(walk, None) is not None


def _read_newest(
    feeds: "Mapping[str, Feed[Any]]", file: str | None, at: int | None, wanted: int | None
) -> tuple[list[Row], bool]:
    """Return the newest rows of all feeds, oldest first, and whether there are older ones read after ``at``."""
    # One extra row shows whether there are more.
    room = None if wanted is None else wanted + 1
    rows = deque(merge_by_time([_iterate_recent(feed, file, at, room) for feed in feeds.values()]), maxlen=room)
    more = room is not None and len(rows) == room
    if more:
        rows.popleft()
    return list(rows), more


def _iterate_recent(feed: "Feed[Any]", file: str | None, at: int | None, room: int | None) -> Iterator[Row]:
    """Yield at least the newest ``room`` rows of a feed that were read after ``at``, oldest first."""
    if at is None and room is not None:
        yield from feed.newest(room, file)[::-1]
        return
    rows: Iterable[Row] = feed.newest(LIMIT_MAX, file)[::-1] if at is not None else ()
    if not _is_complete(list(rows), at):
        rows = feed.rows_after(None, file)
    yield from (row for row in rows if at is None or (moment_of(row) or 0) >= at)


def _is_complete(page: list[Row], at: int | None) -> bool:
    """Return whether no row older than ``page`` can have been read after ``at``, so that one page is enough."""
    if at is None:
        return False
    return len(page) < LIMIT_MAX or (moment_of(page[0]) or at) < at - _MAX_COMMIT_DELAY_MS
