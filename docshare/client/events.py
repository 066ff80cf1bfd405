"""The event feed, and its alias for gate responses."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from docshare.client.errors import Refused
from docshare.client.http.resource import Resource
from docshare.client.paging import Feed
from docshare.contract.streams import DEFAULT_STREAM, LIMIT_DEFAULT

if TYPE_CHECKING:
    from docshare.client.types.events import Event

_PATH, _GATE_PATH = "/events", "/gate-responses"
_GATE = "gate"


class EventsApi(Resource):
    """``client.events``. A ``type`` is view, download, or gate, each with its own cursors. Problems of the gate stream:
    plan_required (below Pro).

    Example::

        for row in client.events.rows_after("download", 0):
            print(row["fileName"], row.get("country"))
    """

    def stream(self, type: str = DEFAULT_STREAM) -> "Feed[Event]":
        """Return one stream (``GET /events``)."""
        return (_GateFeed if type == _GATE else Feed)(self._transport, _PATH, {"type": type})

    def gate_responses(self) -> "Feed[Event]":
        """Return the gate stream by its own address (``GET /gate-responses``), with the same rows and cursors."""
        return _GateFeed(self._transport, _GATE_PATH, {})

    def page(
        self, type: str = DEFAULT_STREAM, since: int | None = None, limit: int = LIMIT_DEFAULT, file: str | None = None
    ) -> "list[Event]":
        """Return one page of a stream; see ``Feed.page``."""
        return self.stream(type).page(since, limit, file)

    def newest(self, type: str, count: int, file: str | None = None) -> "list[Event]":
        """Return the newest ``count`` rows of a stream, newest first; see ``Feed.newest``."""
        return self.stream(type).newest(count, file)

    def rows_after(self, type: str, cursor: int | None, file: str | None = None) -> "Iterator[Event]":
        """Yield every row of a stream with an id above ``cursor``, ascending; see ``Feed.rows_after``."""
        return self.stream(type).rows_after(cursor, file)

    def follow(
        self,
        type: str = DEFAULT_STREAM,
        cursor: int | None = None,
        file: str | None = None,
        *,
        interval: float = 5.0,
        timeout: float | None = None,
    ) -> "Iterator[Event]":
        """Yield rows of a stream as they arrive; see ``Feed.follow``.

        Example::

            for row in client.events.follow("view"):
                print(row["fileName"], row["timeMs"])
        """
        return self.stream(type).follow(cursor, file, interval=interval, timeout=timeout)


class _GateFeed(Feed["Event"]):
    """The gate stream, whose plain-text 403 is raised as ``plan_required``."""

    def page(self, since: int | None = None, limit: int = LIMIT_DEFAULT, file: str | None = None) -> "list[Event]":
        """Return one page; see ``Feed.page``. Problems: plan_required."""
        try:
            return super().page(since, limit, file)
        except Refused as error:
            # Below Pro, events.list answers 403 in plain text for the gate stream, the only error without a code.
            raise convert_plan_refusal(error) if error.status == 403 and error.is_plain_text else error from error


def convert_plan_refusal(error: Refused) -> Refused:
    """Return the plain-text 403 of the gate stream with the code ``plan_required``."""
    refusal = Refused("plan_required", error.detail, status=403, method=error.method, path=error.path, body=error.body)
    refusal.headers = error.headers
    return refusal
