"""Resolve where ``docshare events tail`` starts: at a saved cursor, the start, an id, or now with a backlog."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from docshare.cli.commands.events.cursor_files import Cursor, CursorBinding, CursorFile, find_stream_out_of_range
from docshare.cli.commands.events.selection import Row, merge_by_time
from docshare.cli.framework.exits import ExitCode, Stop
from docshare.client.errors import Refused

if TYPE_CHECKING:
    from docshare.client import Client
    from docshare.client.paging import Feed

START, NOW = "start", "now"


def fetch_account_id(client: "Client") -> str | None:
    """Return the UUID of the account, to which a cursor is bound; None if the credential lacks the scope to see it."""
    try:
        uuid = client.account.show().get("uuid")
    except Refused as refusal:
        if refusal.code != "insufficient_scope":
            raise
        return None
    return None if uuid is None else str(uuid)


def load_cursor(keeper: CursorFile, binding: CursorBinding) -> Cursor | None:
    """Return the cursor in the file, or None if there is no file. Raise Stop (2) if it does not match ``binding``."""
    cursor = keeper.load()
    if cursor is None:
        return None
    difference = cursor.binding.find_difference(binding)
    if difference is not None:
        raise keeper.make_stop(f"does not match: {difference}")
    beyond = find_stream_out_of_range(cursor.at)
    if beyond is not None:
        raise keeper.make_stop(f"contains an id that the {beyond} stream cannot have")
    return cursor._replace(binding=binding._replace(account=binding.account or cursor.binding.account))


class StartResolver:
    """Computes start positions from the newest rows of each of ``feeds`` (by stream), which are fetched at most once.

    ``overlap`` is the number of newest ids to remember as seen, ``backlog`` the number of rows to show first.
    """

    def __init__(self, feeds: "Mapping[str, Feed[Any]]", binding: CursorBinding, overlap: int, backlog: int) -> None:
        self._feeds = feeds
        self._binding = binding
        self._depth = max(1, overlap, backlog)
        self._overlap = overlap
        self._backlog = backlog

    def resolve(self, word: str) -> Cursor:
        """Return the cursor for ``start``, ``now`` or an id.

        Raise Stop (2) for anything else, and for an id with several streams.
        """
        if word == NOW:
            return self.complete(Cursor(self._binding))
        if word == START:
            return Cursor(self._binding, dict.fromkeys(self._feeds))
        if not (word.isascii() and word.isdigit()):
            raise Stop(ExitCode.USAGE, f"--from: {word!r} is not start, now, or an id")
        if len(self._binding.streams) > 1:
            raise Stop(ExitCode.USAGE, "--from ID requires a single --type", hint="Each stream has its own ids.")
        (stream,) = self._binding.streams
        at = {stream: int(word) or None}
        if find_stream_out_of_range(at):
            raise Stop(ExitCode.USAGE, f"--from: id {word} is out of range for the {stream} stream")
        return Cursor(self._binding, at)

    def complete(self, cursor: Cursor) -> Cursor:
        """Return ``cursor`` with new streams, as after an upgrade to Pro, positioned at their newest row."""
        for stream in self._feeds:
            if stream not in cursor.at:
                rows = self._newest[stream]
                cursor = cursor._replace(at={**cursor.at, stream: rows[-1]["id"] if rows else None})
                for row in rows[-self._overlap :] if self._overlap else ():
                    cursor = cursor.advance(stream, row["id"])
        return cursor

    def list_backlog(self) -> list[Row]:
        """Return the last rows of all streams together, oldest first."""
        return (
            list(merge_by_time([iter(self._newest[stream]) for stream in self._feeds]))[-self._backlog :]
            if self._backlog
            else []
        )

    @cached_property
    def _newest(self) -> dict[str, list[Row]]:
        return {stream: self._fetch_ascending(stream) for stream in self._feeds}

    def _fetch_ascending(self, stream: str) -> list[Row]:
        return self._feeds[stream].newest(self._depth, self._binding.file)[::-1]
