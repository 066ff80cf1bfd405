"""The activity feed: all events of an owner's files. Other servers of this API may not have it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from docshare.client.errors import WaitTimedOut
from docshare.client.http.resource import Resource
from docshare.client.paging import Feed
from docshare.contract.streams import LIMIT_DEFAULT

if TYPE_CHECKING:
    from docshare.client.types.events import ActivityRow

_PATH = "/activity"


class ActivityApi(Resource):
    """``client.activity``. Rows are ``{id, event, timestamp, data}``: the envelope of a webhook delivery and an id.

    ``kinds`` selects kinds of events (empty: all); it does not affect the ids. Rows of gate.completed are included on
    Pro only. A server without this feed answers with the problem not_found.

    Example::

        for row in client.activity.rows_after(0):
            if row["event"] == "note.created":
                print(row["data"]["body"])
    """

    def feed(self, kinds: Sequence[str] = ()) -> "Feed[ActivityRow]":
        """Return the feed of ``GET /activity`` with the given ``kinds``."""
        return Feed(self._transport, _PATH, {"kind": ",".join(kinds)} if kinds else {})

    def page(
        self,
        since: int | None = None,
        limit: int = LIMIT_DEFAULT,
        file: str | None = None,
        kinds: Sequence[str] = (),
    ) -> "list[ActivityRow]":
        """Return one page; see ``Feed.page``. Problems: bad_request (unknown kind), not_found (no such route)."""
        return self.feed(kinds).page(since, limit, file)

    def newest(self, count: int, file: str | None = None, kinds: Sequence[str] = ()) -> "list[ActivityRow]":
        """Return the newest ``count`` rows, newest first; see ``Feed.newest``."""
        return self.feed(kinds).newest(count, file)

    def rows_after(
        self, cursor: int | None, file: str | None = None, kinds: Sequence[str] = ()
    ) -> "Iterator[ActivityRow]":
        """Yield every row with an id above ``cursor``, ascending; see ``Feed.rows_after``."""
        return self.feed(kinds).rows_after(cursor, file)

    def follow(
        self,
        cursor: int | None = None,
        file: str | None = None,
        kinds: Sequence[str] = (),
        *,
        interval: float = 5.0,
        timeout: float | None = None,
    ) -> "Iterator[ActivityRow]":
        """Yield rows as they arrive; see ``Feed.follow``.

        Example::

            for row in client.activity.follow(kinds=["file.viewed"]):
                print(row["data"]["fileName"])
        """
        return self.feed(kinds).follow(cursor, file, interval=interval, timeout=timeout)

    def wait(
        self,
        kinds: Sequence[str] = (),
        file: str | None = None,
        *,
        cursor: int | None = None,
        interval: float = 2.0,
        timeout: float | None = None,
    ) -> "ActivityRow":
        """Return the first row of ``kinds`` after ``cursor`` (None: from now on). Raise ``WaitTimedOut`` after
        ``timeout`` seconds.

        Example::

            row = client.activity.wait(["receipt.confirmed"], link, timeout=3600)
        """
        for row in self.follow(cursor, file, kinds, interval=interval, timeout=timeout):
            return row
        raise WaitTimedOut(f"no {' or '.join(kinds) or 'event'} within {timeout:g} seconds")
