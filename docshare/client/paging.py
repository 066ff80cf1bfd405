"""Feeds that are read with a cursor: single pages, and complete walks.

``since=0`` means "newest first", not "from the start", so an ascending walk can only start at ``since=1``, which omits
a row with id 1. ``Feed.rows_after`` handles this.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from docshare.client.errors import NotAnApi
from docshare.client.http.call import Call
from docshare.client.links import find_file_id
from docshare.contract.streams import LIMIT_DEFAULT, LIMIT_MAX

if TYPE_CHECKING:
    from docshare.client.http.transport import Transport

Row = dict[str, Any]

_FIRST_SINCE = 1
_INTERVAL = 5.0  # seconds between two requests of ``follow``
_Row = TypeVar("_Row")


class Feed(Generic[_Row]):
    """One sequence of rows with its own ids. Rows are the JSON objects of the server, unchanged.

    Parameters: ``path`` below ``/api/v1``; ``params`` of every request besides the cursor.
    """

    def __init__(self, transport: "Transport", path: str, params: Mapping[str, str]) -> None:
        self._transport = transport
        self._path = path
        self._params = params

    def page(self, since: int | None = None, limit: int = LIMIT_DEFAULT, file: str | None = None) -> list[_Row]:
        """Return one page.

        Parameters: ``since`` None or 0 for the newest rows, newest first, or an id for the rows after it, ascending;
        ``limit`` 1 to 100 rows; ``file`` a UUID or short id (an unknown file has no rows). Problems: bad_request,
        insufficient_scope, and those of the feed.
        """
        params: dict[str, str | int] = {**self._params, "limit": limit}
        if since is not None:
            params["since"] = since
        if file is not None:
            params["file"] = find_file_id(self._transport, file)
        rows = self._transport.json_rows(Call("GET", self._path, params))
        if not all(isinstance(row.get("id"), int) for row in rows):
            raise self._unexpected_answer("the feed contains a row without an id")
        return cast("list[_Row]", rows)

    def newest(self, count: int, file: str | None = None) -> list[_Row]:
        """Return the newest ``count`` rows, newest first. More than one page requires a walk of the whole feed."""
        if count <= 0:
            return []
        if count <= LIMIT_MAX:
            return self.page(None, count, file)
        return list(deque(self.rows_after(None, file), maxlen=count))[::-1]

    def rows_after(self, cursor: int | None, file: str | None = None) -> Iterator[_Row]:
        """Yield every row with an id above ``cursor``, ascending, up to the newest one; None or 0: from the first row.

        A walk from the start reads the newest page first. If that page is not full, it is the whole history, and the
        only way to get a row with id 1. If it is full, there is more, and the walk starts at ``since=1``.
        """
        if cursor is None or cursor < _FIRST_SINCE:
            page = sorted(self.page(None, LIMIT_MAX, file), key=_row_id)
            whole = len(page) < LIMIT_MAX or _row_id(page[0]) <= _FIRST_SINCE + 1
            if not page:
                return
            if whole:
                yield from page
            cursor = _row_id(page[-1]) if whole else _FIRST_SINCE
            self._transport.pace()
        yield from self._walk_from(cursor, file)

    def follow(
        self,
        cursor: int | None = None,
        file: str | None = None,
        *,
        interval: float = _INTERVAL,
        timeout: float | None = None,
    ) -> Iterator[_Row]:
        """Yield every row with an id above ``cursor``, ascending, and wait for more; None: only rows from now on.

        Parameters: ``interval`` seconds between two requests; ``timeout`` seconds after which to stop, None: never.
        """
        clock = self._transport.options.clock
        ends = None if timeout is None else clock.monotonic() + timeout
        at = max((_row_id(row) for row in self.page(None, 1, file)), default=0) if cursor is None else cursor
        while True:
            for row in self.rows_after(at, file):
                yield row
                at = _row_id(row)
            if ends is not None and clock.monotonic() >= ends:
                return
            left = interval if ends is None else min(interval, max(0.0, ends - clock.monotonic()))
            clock.sleep(left)

    def _walk_from(self, cursor: int, file: str | None) -> Iterator[_Row]:
        while page := self.page(cursor, LIMIT_MAX, file):
            if _row_id(page[-1]) <= cursor:
                raise self._unexpected_answer("the feed does not move past its cursor")
            yield from page
            cursor = _row_id(page[-1])
            self._transport.pace()

    def _unexpected_answer(self, what: str) -> NotAnApi:
        return NotAnApi(what, method="GET", path=f"/api/v1{self._path}")


def _row_id(row: object) -> int:
    number: int = cast("Row", row)["id"]
    return number
