"""``docshare events``: the feed as a list, live, and the cursors that remember how far a reader of it got."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from docshare.cli.arguments import FILE_HELP, FileNames
from docshare.cli.context import current
from docshare.cli.cursor import app as cursor_app
from docshare.cli.exits import ExitCode, Stop
from docshare.cli.feed import (
    TYPES_HELP,
    Row,
    Since,
    allowed_streams,
    checked_file,
    chosen_streams,
    feed_spec,
    merged,
    moment_of,
    parse_since,
)
from docshare.cli.tail import tail
from docshare.cli.typer_compat import App
from docshare.contract.streams import LIMIT_MAX

if TYPE_CHECKING:
    from docshare.client import Client

app = App("See who viewed and downloaded, once or live.")
app.command("tail", spec=feed_spec())(tail)
app.add_typer(cursor_app, name="cursor")

_LATEST_COMMIT = 24 * 60 * 60 * 1000  # ms; no view becomes a row later than this after it began


@app.command("list", spec=feed_spec())
def list_events(
    types: Annotated[str, typer.Option("--type", metavar="TYPE", help=TYPES_HELP)] = "view",
    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help=f"Only this file: {FILE_HELP}")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="ID|TIME", help="Rows after this id, or read after 2h ago or a date.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="Show at most N rows.")] = 50,
    everything: Annotated[bool, typer.Option("--all", help="Show all rows.")] = False,
    oldest_first: Annotated[
        bool, typer.Option("--oldest-first", help="Print what is shown in ascending order.")
    ] = False,
    require_all: Annotated[bool, typer.Option("--require-all", help="Fail if --type all means fewer.")] = False,
) -> None:
    """List views, downloads and gate answers.

    Newest first; after an id (--since 5123) ascending, as the API walks. A note tells if there are more rows than
    shown. A pipe gets tab-separated type, id, readAt, fileUuid, fileName, country, pagesViewed, timeMs, fields.

    Examples:

      docshare events list
      docshare events list --type all --since 2h
      docshare events list --file @last --all --format csv > views.csv
    """
    ctx = current()
    start = Since() if since is None else parse_since(since, ctx.now())
    choice = chosen_streams(types)
    if start.id is not None and len(choice.streams) > 1:
        raise Stop(ExitCode.USAGE, "--since ID needs one --type", hint="An id means nothing in another stream.")
    printer = ctx.emitter(feed_spec())
    client = ctx.client()
    uuid = checked_file(ctx, client, FileNames(ctx, client), file)
    streams = allowed_streams(ctx, client, choice, require_all=require_all)
    wanted = None if everything else limit
    if start.id is not None:
        rows, more = _first(client.events.rows_after(streams[0], start.id, uuid), wanted)
    else:
        rows, more = _last(client, streams, uuid, start.at, wanted)
        rows = rows if oldest_first else rows[::-1]
    printer.emit(rows)
    if more:
        ctx.note(f"showing {len(rows)} rows of more; see them with -n or --all")


def _first(rows: Iterable[Row], wanted: int | None) -> tuple[list[Row], bool]:
    """The first rows of a walk, and whether it would go on."""
    walk = iter(rows)
    found = list(islice(walk, wanted))
    return found, next(walk, None) is not None


def _last(
    client: "Client", streams: tuple[str, ...], file: str | None, at: int | None, wanted: int | None
) -> tuple[list[Row], bool]:
    """The newest rows of all streams together, oldest first, and whether there are older ones (read after ``at``)."""
    # One row more than wanted tells whether that was all.
    room = None if wanted is None else wanted + 1
    rows = deque(merged([_recent(client, stream, file, at, room) for stream in streams]), maxlen=room)
    more = room is not None and len(rows) == room
    if more:
        rows.popleft()
    return list(rows), more


def _recent(client: "Client", stream: str, file: str | None, at: int | None, room: int | None) -> Iterator[Row]:
    """At least the newest ``room`` rows of a stream that were read after ``at``, oldest first."""
    if at is None and room is not None:
        yield from client.events.newest(stream, room, file)[::-1]
        return
    rows: Iterable[Row] = client.events.newest(stream, LIMIT_MAX, file)[::-1] if at is not None else ()
    if not _covers(list(rows), at):
        rows = client.events.rows_after(stream, None, file)
    yield from (row for row in rows if at is None or (moment_of(row) or 0) >= at)


def _covers(page: list[Row], at: int | None) -> bool:
    """Whether no row before the newest ``page`` can have been read after ``at``, so that no walk is needed."""
    if at is None:
        return False
    return len(page) < LIMIT_MAX or (moment_of(page[0]) or at) < at - _LATEST_COMMIT
