"""Feeds that are read by a cursor: pages, and walks that lose nothing (section Events feed).

``since=0`` does not mean "from the start" but "newest first", so the ascending walk can begin at ``since=1`` only and
never shows a row with id 1. ``Feed.rows_after`` is the one place that knows this.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from docshare.client.errors import NotAnApi
from docshare.client.retries import Call
from docshare.contract.streams import LIMIT_DEFAULT, LIMIT_MAX

if TYPE_CHECKING:
    from docshare.client.transport import Transport

Row = dict[str, Any]

_FIRST_SINCE = 1


class Feed:
    """One sequence of rows with ids of its own. Rows are the server's JSON objects, untouched.

    Parameters: ``path`` below ``/api/v1``; ``params`` what every request says besides the cursor.
    """

    def __init__(self, transport: "Transport", path: str, params: Mapping[str, str]) -> None:
        self._transport = transport
        self._path = path
        self._params = params

    def page(self, since: int | None = None, limit: int = LIMIT_DEFAULT, file: str | None = None) -> list[Row]:
        """One page.

        Parameters: ``since`` None or 0 for the newest rows, newest first, or an id after which rows come ascending;
        ``limit`` 1 to 100 rows; ``file`` a UUID or short id (unknown ones have no rows). Problems: bad_request,
        insufficient_scope, and those of the feed.
        """
        params: dict[str, str | int] = {**self._params, "limit": limit}
        if since is not None:
            params["since"] = since
        if file is not None:
            params["file"] = file
        rows = self._transport.json_rows(Call("GET", self._path, params))
        if not all(isinstance(row.get("id"), int) for row in rows):
            raise self._strange("the feed holds a row without an id")
        return rows

    def newest(self, count: int, file: str | None = None) -> list[Row]:
        """The newest ``count`` rows, newest first. More than a page is found by walking all of the feed."""
        if count <= 0:
            return []
        if count <= LIMIT_MAX:
            return self.page(None, count, file)
        return list(deque(self.rows_after(None, file), maxlen=count))[::-1]

    def rows_after(self, cursor: int | None, file: str | None = None) -> Iterator[Row]:
        """Every row with an id above ``cursor``, ascending, up to the row that is the newest by then; None or 0: from
        the first row on.

        From the start, the newest page is read first: short of a full page it is the whole history, and the only way
        to see a row with id 1. A full one only shows that there is more, which ``since=1`` walks.
        """
        if cursor is None or cursor < _FIRST_SINCE:
            page = sorted(self.page(None, LIMIT_MAX, file), key=_id)
            whole = len(page) < LIMIT_MAX or _id(page[0]) <= _FIRST_SINCE + 1
            if not page:
                return
            if whole:
                yield from page
            cursor = _id(page[-1]) if whole else _FIRST_SINCE
            self._transport.pace()
        yield from self._ascending(cursor, file)

    def _ascending(self, cursor: int, file: str | None) -> Iterator[Row]:
        while page := self.page(cursor, LIMIT_MAX, file):
            if _id(page[-1]) <= cursor:
                raise self._strange("the feed does not move past its cursor")
            yield from page
            cursor = _id(page[-1])
            self._transport.pace()

    def _strange(self, what: str) -> NotAnApi:
        return NotAnApi(what, method="GET", path=f"/api/v1{self._path}")


def _id(row: Row) -> int:
    number: int = row["id"]
    return number
