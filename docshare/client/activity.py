"""Everything that happened to an owner's files, in one feed (an addition of docshare)."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from docshare.client.walking import Feed, Row
from docshare.contract.streams import LIMIT_DEFAULT

if TYPE_CHECKING:
    from docshare.client.transport import Transport

_PATH = "/activity"


class Activity:
    """``client.activity``. Rows are ``{id, event, timestamp, data}``: a delivery's envelope and an id.

    ``kinds`` are the kinds of event to be shown, all of them if empty. The ids are the same whatever is shown. Rows of
    gate.completed are shown on Pro only. An instance without the addition has no such route: the problem not_found.
    """

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def feed(self, kinds: Sequence[str] = ()) -> Feed:
        """``GET /activity``, narrowed to ``kinds``."""
        return Feed(self._transport, _PATH, {"kind": ",".join(kinds)} if kinds else {})

    def page(
        self,
        since: int | None = None,
        limit: int = LIMIT_DEFAULT,
        file: str | None = None,
        kinds: Sequence[str] = (),
    ) -> list[Row]:
        """One page; see ``Feed.page``. Problems: bad_request (an unknown kind), not_found (no such route)."""
        return self.feed(kinds).page(since, limit, file)

    def newest(self, count: int, file: str | None = None, kinds: Sequence[str] = ()) -> list[Row]:
        """The newest ``count`` rows, newest first; see ``Feed.newest``."""
        return self.feed(kinds).newest(count, file)

    def rows_after(self, cursor: int | None, file: str | None = None, kinds: Sequence[str] = ()) -> Iterator[Row]:
        """Every row with an id above ``cursor``, ascending; see ``Feed.rows_after``."""
        return self.feed(kinds).rows_after(cursor, file)
