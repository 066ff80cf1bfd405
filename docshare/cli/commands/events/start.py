"""Where ``docshare events tail`` begins: at a saved cursor, at the start, at an id, or now with some rows before."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from docshare.cli.commands.events.cursor_files import Cursor, CursorBinding, CursorFile, find_stream_out_of_range
from docshare.cli.commands.events.selection import Row, merge_by_time
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.client.errors import Refused

if TYPE_CHECKING:
    from docshare.client import Client
    from docshare.client.walking import Feed

START, NOW = "start", "now"


def fetch_account_id(client: "Client") -> str | None:
    """The UUID of the account, which a kept cursor is bound to; None if the credential may not know it (scope)."""
    try:
        uuid = client.account.show().get("uuid")
    except Refused as refusal:
        if refusal.code != "insufficient_scope":
            raise
        return None
    return None if uuid is None else str(uuid)


def load_cursor(keeper: CursorFile, home: CursorBinding) -> Cursor | None:
    """The cursor in the file, fit for ``home``; None if there is none yet. Stop (2) if it belongs elsewhere."""
    cursor = keeper.load()
    if cursor is None:
        return None
    strange = cursor.home.difference(home)
    if strange is not None:
        raise keeper.refusal(f"cannot be used here: {strange}")
    beyond = find_stream_out_of_range(cursor.at)
    if beyond is not None:
        raise keeper.refusal(f"lies beyond every id of the {beyond} stream")
    return cursor._replace(home=home._replace(account=home.account or cursor.home.account))


class StartResolver:
    """The newest rows of each of ``feeds`` (by stream), read once if need be, and the positions that follow from them.

    ``overlap``: so many of the newest ids are remembered as seen; ``backlog``: so many rows are shown first.
    """

    def __init__(self, feeds: "Mapping[str, Feed]", home: CursorBinding, overlap: int, backlog: int) -> None:
        self._feeds = feeds
        self._home = home
        self._depth = max(1, overlap, backlog)
        self._overlap = overlap
        self._backlog = backlog

    def at(self, word: str) -> Cursor:
        """The cursor for ``start``, ``now`` or an id. Stop (2) for anything else, and for an id of several streams."""
        if word == NOW:
            return self.completed(Cursor(self._home))
        if word == START:
            return Cursor(self._home, dict.fromkeys(self._feeds))
        if not (word.isascii() and word.isdigit()):
            raise Stop(ExitCode.USAGE, f"--from: {word!r} is neither start nor now nor an id")
        if len(self._home.streams) > 1:
            raise Stop(ExitCode.USAGE, "--from ID needs one --type", hint="An id means nothing in another stream.")
        (stream,) = self._home.streams
        at = {stream: int(word) or None}
        if find_stream_out_of_range(at):
            raise Stop(ExitCode.USAGE, f"--from: no row of the {stream} stream can have the id {word}")
        return Cursor(self._home, at)

    def completed(self, cursor: Cursor) -> Cursor:
        """``cursor`` with the newest row as the position of every stream that has none yet (Pro may just have come)."""
        for stream in self._feeds:
            if stream not in cursor.at:
                rows = self._newest[stream]
                cursor = cursor._replace(at={**cursor.at, stream: rows[-1]["id"] if rows else None})
                for row in rows[-self._overlap :] if self._overlap else ():
                    cursor = cursor.moved(stream, row["id"])
        return cursor

    def backlog(self) -> list[Row]:
        """The last rows of all streams together, oldest first."""
        return (
            list(merge_by_time([iter(self._newest[stream]) for stream in self._feeds]))[-self._backlog :]
            if self._backlog
            else []
        )

    @cached_property
    def _newest(self) -> dict[str, list[Row]]:
        return {stream: self._ascending(stream) for stream in self._feeds}

    def _ascending(self, stream: str) -> list[Row]:
        return self._feeds[stream].newest(self._depth, self._home.file)[::-1]
