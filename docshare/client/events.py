"""The polling feed (section Events feed): pages, and walks that lose nothing.

``since=0`` does not mean "from the start" but "newest first", so the ascending walk can begin at ``since=1`` only and
never shows a row with id 1. ``rows_after`` is the one place that knows this.
"""

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from docshare.client.errors import NotAnApi, Refused
from docshare.client.retries import Call
from docshare.contract.streams import DEFAULT_STREAM, LIMIT_DEFAULT, LIMIT_MAX

if TYPE_CHECKING:
    from docshare.client.transport import Transport

Row = dict[str, Any]

_FIRST_SINCE = 1


class Events:
    """``client.events``. Rows are the server's JSON objects, untouched."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def page(
        self, type: str = DEFAULT_STREAM, since: int | None = None, limit: int = LIMIT_DEFAULT, file: str | None = None
    ) -> list[Row]:
        """``GET /events``: one page of one stream.

        Parameters: ``type`` view, download or gate; ``since`` None or 0 for the newest rows, newest first, or an id
        after which rows come ascending; ``limit`` 1 to 100 rows; ``file`` a UUID or short id (unknown ones have no
        rows). Problems: bad_request, insufficient_scope, plan_required (gate below Pro).
        """
        params: dict[str, str | int] = {"type": type, "limit": limit}
        if since is not None:
            params["since"] = since
        if file is not None:
            params["file"] = file
        try:
            rows = self._transport.json_rows(Call("GET", "/events", params))
        except Refused as error:
            raise _plan_required(error) if _is_gate_refusal(type, error) else error from error
        if not all(isinstance(row.get("id"), int) for row in rows):
            raise NotAnApi("the feed holds a row without an id", method="GET", path="/api/v1/events")
        return rows

    def newest(self, type: str, count: int, file: str | None = None) -> list[Row]:
        """The newest ``count`` rows of a stream, newest first. More than a page is found by walking all of it."""
        if count <= 0:
            return []
        if count <= LIMIT_MAX:
            return self.page(type, None, count, file)
        return list(deque(self.rows_after(type, None, file), maxlen=count))[::-1]

    def rows_after(self, type: str, cursor: int | None, file: str | None = None) -> Iterator[Row]:
        """Every row of a stream with an id above ``cursor``, ascending, up to the row that is the newest by then; None
        or 0: from the first row on.

        From the start, the newest page is read first: short of a full page it is the whole history, and the only way
        to see a row with id 1. A full one only shows that there is more, which ``since=1`` walks.
        """
        if cursor is None or cursor < _FIRST_SINCE:
            page = sorted(self.page(type, None, LIMIT_MAX, file), key=_id)
            whole = len(page) < LIMIT_MAX or _id(page[0]) <= _FIRST_SINCE + 1
            if not page:
                return
            if whole:
                yield from page
            cursor = _id(page[-1]) if whole else _FIRST_SINCE
            self._transport.pace()
        yield from self._ascending(type, cursor, file)

    def _ascending(self, type: str, cursor: int, file: str | None) -> Iterator[Row]:
        while page := self.page(type, cursor, LIMIT_MAX, file):
            if _id(page[-1]) <= cursor:
                raise NotAnApi("the feed does not move past its cursor", method="GET", path="/api/v1/events")
            yield from page
            cursor = _id(page[-1])
            self._transport.pace()


def _id(row: Row) -> int:
    number: int = row["id"]
    return number


def _is_gate_refusal(type: str, error: Refused) -> bool:
    # Spec: Errors; below Pro the gate stream answers 403 in plain text, the one refusal without a code.
    return type == "gate" and error.status == 403 and error.plain


def _plan_required(error: Refused) -> Refused:
    refusal = Refused("plan_required", error.detail, status=403, method=error.method, path=error.path)
    refusal.headers = error.headers
    return refusal
