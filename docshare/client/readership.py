"""Who read a file, and how (section Readership), with the additions of docshare: single sessions, notes and receipts.

Sessions of a file are walked as they ended: ids only grow, so a reader that keeps the highest one misses nothing.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from docshare.client.errors import NotAnApi
from docshare.client.files import file_path
from docshare.client.retries import Call
from docshare.contract.fields import is_uuid
from docshare.contract.problems import Problem
from docshare.contract.streams import LIMIT_MAX

if TYPE_CHECKING:
    from docshare.client.transport import Transport

Row = dict[str, Any]


class Readership:
    """``client.readership``. Every ``file`` is a UUID or a short id; answers are the server's JSON as it was sent.

    A foreign file is the problem forbidden here and not not_found, as everywhere else (section Readership). All of it
    needs the scope readership:read.
    """

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport

    def report(self, file: str) -> Row:
        """``GET /files/{id}/readership``: the report. Sections above the owner's plan are absent. Problems: forbidden,
        not_found."""
        return self._transport.json_object(Call("GET", f"{file_path(file)}/readership"))

    def pages(self, file: str) -> Row:
        """``GET /files/{id}/readership/pages``: ``{totalPages, pages: [{pageNumber, views, avgDurationMs (ms),
        backTurns}]}``. Problems: forbidden, plan_required (below Basic), not_found."""
        return self._transport.json_object(Call("GET", f"{file_path(file)}/readership/pages"))

    def marks(self, file: str) -> Row:
        """``GET /files/{id}/page-marks``: ``{pages, viewers, totals}``; personal data. Problems: forbidden,
        plan_required (below Pro), not_found."""
        return self._transport.json_object(Call("GET", f"{file_path(file)}/page-marks"))

    def marks_csv(self, file: str) -> bytes:
        """``GET /files/{id}/page-marks?format=csv``: one row per mark, as the server wrote it. Problems as of
        ``marks``."""
        return self._csv(f"{file_path(file)}/page-marks")

    def annotations(self, file: str) -> Row:
        """``GET /files/{id}/annotations``: ``{pages: [{page, annotations}]}``; personal data. Problems: forbidden,
        plan_required (below Pro), not_found."""
        return self._transport.json_object(Call("GET", f"{file_path(file)}/annotations"))

    def annotations_csv(self, file: str) -> bytes:
        """``GET /files/{id}/annotations?format=csv``: one row per annotation, as the server wrote it. Problems as of
        ``annotations``."""
        return self._csv(f"{file_path(file)}/annotations")

    def feedback(self, file: str) -> Row:
        """``GET /files/{id}/feedback``: ``{notes, receipts}``, oldest first; personal data. An addition of docshare.
        Problems: forbidden, plan_required (below Pro), not_found."""
        return self._transport.json_object(Call("GET", f"{file_path(file)}/feedback"))

    def session_page(self, file: str, since: int = 0, limit: int = LIMIT_MAX) -> list[Row]:
        """``GET /files/{id}/readership/sessions``: at most ``limit`` (1 to 100) counted sessions that have ended and
        whose ``id`` is above ``since``, ascending. An addition of docshare. Problems: forbidden, plan_required (below
        Pro), not_found."""
        path = f"{file_path(file)}/readership/sessions"
        rows = self._transport.json_rows(Call("GET", path, {"since": since, "limit": limit}))
        ids = [since, *(row.get("id", 0) for row in rows)]
        if not all(isinstance(old, int) and isinstance(new, int) and old < new for old, new in pairwise(ids)):
            raise NotAnApi("the sessions are not in the order of their ids", method="GET", path=f"/api/v1{path}")
        return rows

    def sessions_after(self, file: str, cursor: int = 0) -> Iterator[Row]:
        """Every session with an id above ``cursor`` (0: all of them), up to the one that is the newest by then."""
        while page := self.session_page(file, cursor):
            yield from page
            cursor = page[-1]["id"]
            self._transport.pace()

    def uncounted_sessions(self, file: str, limit: int = LIMIT_MAX) -> list[Row]:
        """``GET /files/{id}/readership/sessions?counted=false``: the newest ``limit`` (1 to 100) sessions that have
        ended and were not counted, newest first, with ``class`` and ``reason``. An addition of docshare. Problems as of
        ``session_page``."""
        path = f"{file_path(file)}/readership/sessions"
        return self._transport.json_rows(Call("GET", path, {"counted": "false", "limit": limit}))

    def session(self, file: str, session: str) -> Row:
        """``GET /files/{id}/readership/sessions/{sessionId}``: one session of any class with the beacons it is made of.
        An addition of docshare. Problems: forbidden, plan_required (below Pro), not_found (also for what is no UUID).
        """
        if not is_uuid(session):
            raise Problem("not_found", f"'{session}' is no UUID of a session")
        return self._transport.json_object(Call("GET", f"{file_path(file)}/readership/sessions/{session}"))

    def _csv(self, path: str) -> bytes:
        call = Call("GET", path, {"format": "csv"})
        response = self._transport.send(call)
        if not response.headers.get("Content-Type", "").lower().startswith("text/csv"):
            raise NotAnApi(
                f"{self._transport.address.base} did not answer with CSV", method="GET", path=call.whole_path
            )
        return response.content
