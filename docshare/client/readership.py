"""Readership: the report, pages, marks, annotations, feedback, and sessions of a file.

The ids of sessions increase in the order in which they end, so a caller that stores the highest id misses none.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from docshare.client.errors import NotAnApi, WaitTimedOut
from docshare.client.http.call import Call
from docshare.client.http.resource import Resource
from docshare.client.links import file_path
from docshare.contract.fields import is_uuid
from docshare.contract.problems import Problem
from docshare.contract.streams import LIMIT_MAX

if TYPE_CHECKING:
    from docshare.client.types.feedback import Annotations, Feedback, PageMarks
    from docshare.client.types.readership import PageReadership, PendingRecipient, Readership
    from docshare.client.types.sessions import SessionAccount, StreamedSession, UncountedSession

Row = dict[str, Any]

_SEEN_MS = 1_000  # a page counts as seen after one second


class ReadershipApi(Resource):
    """``client.readership``. Every ``file`` is a UUID or a short id; results are the JSON of the server, unchanged.

    A file of another account raises forbidden here, while other routes raise not_found. All methods require the scope
    readership:read.

    Example::

        print(client.readership.report(link)["summary"]["uniqueVisitors"])
        for session in client.readership.sessions_after(link):
            print(session["startedAt"], session["totalTimeMs"])
    """

    def report(self, file: str, since: str | None = None, until: str | None = None) -> "Readership":
        """Return the report (``GET /files/{id}/readership``). Sections that the plan of the owner does not include are
        absent. ``since`` and ``until``: the first and the last day (UTC) of the sessions to count, such as
        ``2026-11-20``; until today by default. Problems: bad_request, forbidden, not_found."""
        path = f"{file_path(self._transport, file)}/readership"
        return cast("Readership", self._transport.json_object(Call("GET", path, _build_days_query(since, until))))

    def pages(self, file: str, since: str | None = None, until: str | None = None) -> "PageReadership":
        """Return ``{totalPages, pages: [{pageNumber, views, avgDurationMs, backTurns}]}``
        (``GET /files/{id}/readership/pages``). ``since`` and ``until`` as for ``report``. Problems: bad_request,
        forbidden, plan_required (below Basic), not_found."""
        path = f"{file_path(self._transport, file)}/readership/pages"
        return cast("PageReadership", self._transport.json_object(Call("GET", path, _build_days_query(since, until))))

    def marks(self, file: str) -> "PageMarks":
        """Return ``{pages, viewers, totals}`` of page marks (``GET /files/{id}/page-marks``); personal data. Problems:
        forbidden, plan_required (below Pro), not_found."""
        return cast(
            "PageMarks", self._transport.json_object(Call("GET", f"{file_path(self._transport, file)}/page-marks"))
        )

    def marks_csv(self, file: str) -> bytes:
        """Return the page marks as CSV, one row per mark. Problems: as ``marks``."""
        return self._csv(f"{file_path(self._transport, file)}/page-marks")

    def annotations(self, file: str) -> "Annotations":
        """Return ``{pages: [{page, annotations}]}`` (``GET /files/{id}/annotations``); personal data. Problems:
        forbidden, plan_required (below Pro), not_found."""
        return cast(
            "Annotations", self._transport.json_object(Call("GET", f"{file_path(self._transport, file)}/annotations"))
        )

    def annotations_csv(self, file: str) -> bytes:
        """Return the annotations as CSV, one row per annotation. Problems: as ``annotations``."""
        return self._csv(f"{file_path(self._transport, file)}/annotations")

    def feedback(self, file: str) -> "Feedback":
        """Return ``{notes, receipts}``, oldest first (``GET /files/{id}/feedback``); personal data. Problems:
        forbidden, plan_required (below Pro), not_found."""
        return cast(
            "Feedback", self._transport.json_object(Call("GET", f"{file_path(self._transport, file)}/feedback"))
        )

    def session_page(self, file: str, since: int = 0, limit: int = LIMIT_MAX) -> "list[StreamedSession]":
        """Return at most ``limit`` (1 to 100) counted sessions that have ended and whose ``id`` is above ``since``,
        ascending (``GET /files/{id}/readership/sessions``). Problems: forbidden, plan_required (below Pro),
        not_found."""
        path = f"{file_path(self._transport, file)}/readership/sessions"
        rows = self._transport.json_rows(Call("GET", path, {"since": since, "limit": limit}))
        ids = [since, *(row.get("id", 0) for row in rows)]
        if not all(isinstance(old, int) and isinstance(new, int) and old < new for old, new in pairwise(ids)):
            raise NotAnApi("the sessions are not in the order of their ids", method="GET", path=f"/api/v1{path}")
        return cast("list[StreamedSession]", rows)

    def sessions_after(self, file: str, cursor: int = 0) -> "Iterator[StreamedSession]":
        """Yield every session with an id above ``cursor`` (0: all), up to the newest one."""
        while page := self.session_page(file, cursor):
            yield from page
            cursor = page[-1]["id"]
            self._transport.pace()

    def wait(
        self,
        file: str,
        *,
        page: int | None = None,
        min_ms: int = 0,
        variant: str | None = None,
        cursor: int = 0,
        interval: float = 2.0,
        timeout: float | None = None,
    ) -> "StreamedSession":
        """Wait until someone has read the file, and return the session.

        Parameters:
            page: the page that must have been seen for a second; None: any.
            min_ms: minimum time in milliseconds on ``page``, or in total.
            variant: the UUID of the variant whose link must have been opened; None: any link.
            cursor: ignore sessions up to this id; 0: also accept sessions that exist.
            interval, timeout: seconds between two requests, and until ``WaitTimedOut`` is raised (None: never).

        The server reports a session once it has ended, so up to five minutes after the reader stopped. Problems:
        as ``session_page``.

        Example::

            session = client.readership.wait(link, page=3, timeout=86_400)
            print(session["totalTimeMs"])
        """
        clock = self._transport.options.clock
        ends = None if timeout is None else clock.monotonic() + timeout
        wanted = variant if variant is None else variant.lower()  # as the server returns it
        least = min_ms if page is None else max(min_ms, _SEEN_MS)
        while True:
            for session in self.sessions_after(file, cursor):
                if wanted in (None, session.get("variantUuid")) and _measure(session, page) >= least:
                    return session
                cursor = session["id"]
            left = interval if ends is None else min(interval, ends - clock.monotonic())
            if left <= 0:
                raise WaitTimedOut(f"nobody has read {file} within {timeout:g} seconds")
            clock.sleep(left)

    def pending(
        self, file: str, *, page: int | None = None, min_ms: int = 0, min_share: float = 1.0, any_version: bool = False
    ) -> "list[PendingRecipient]":
        """Return the recipients who have not read the file: variants that are not revoked, then invitations.

        Parameters:
            page: the page that must have been seen; None: ``min_share`` (0 to 1) of the pages that the link shows.
            min_ms: minimum time in milliseconds on ``page``, or in total.
            any_version: also count sessions of older versions of the document.

        ``reason`` is never, old_version, or stopped_early. Needs the scopes files:read and readership:read. Problems:
        as ``session_page``.

        Example::

            for person in client.readership.pending(link):
                print(person["name"], person["reason"], person["url"])
        """
        from docshare.client.invites import InvitesApi
        from docshare.client.recipients import ReadCriteria, build_pending_row, list_recipients, measure_progress
        from docshare.client.variants import VariantsApi

        facts = self._transport.json_object(Call("GET", file_path(self._transport, file)))
        version = 0 if any_version else facts["contentVersion"]
        variants, invites = VariantsApi(self._transport).list(file), InvitesApi(self._transport).list(file)
        everybody = [
            person
            for person in list_recipients(facts, variants, invites)
            if (person.pages if page is None else page in person.pages)
        ]
        progress = measure_progress(everybody, self.sessions_after(file) if everybody else (), version)
        criteria = ReadCriteria(page, min_ms, min_share, version)
        reasons = [(person, criteria.explain_unread(person, progress[person.uuid])) for person in everybody]
        rows = [build_pending_row(person, progress[person.uuid], reason) for person, reason in reasons if reason]
        return cast("list[PendingRecipient]", rows)

    def uncounted_sessions(self, file: str, limit: int = LIMIT_MAX) -> "list[UncountedSession]":
        """Return the newest ``limit`` (1 to 100) sessions that have ended and were not counted, newest first, with
        ``class`` and ``reason`` (``GET /files/{id}/readership/sessions?counted=false``). Problems: as
        ``session_page``."""
        path = f"{file_path(self._transport, file)}/readership/sessions"
        return cast(
            "list[UncountedSession]", self._transport.json_rows(Call("GET", path, {"counted": "false", "limit": limit}))
        )

    def session(self, file: str, session: str) -> "SessionAccount":
        """Return one session of any class with its beacons (``GET /files/{id}/readership/sessions/{sessionId}``).
        Problems: forbidden, plan_required (below Pro), not_found (also for a malformed UUID)."""
        if not is_uuid(session):
            raise Problem("not_found", f"'{session}' is not the UUID of a session")
        return cast(
            "SessionAccount",
            self._transport.json_object(
                Call("GET", f"{file_path(self._transport, file)}/readership/sessions/{session}")
            ),
        )

    def _csv(self, path: str) -> bytes:
        call = Call("GET", path, {"format": "csv"})
        response = self._transport.send(call)
        if not response.headers.get("Content-Type", "").lower().startswith("text/csv"):
            raise NotAnApi(
                f"{self._transport.address.base} did not answer with CSV", method="GET", path=call.whole_path
            )
        return response.content


def _build_days_query(since: str | None, until: str | None) -> dict[str, str]:
    return {name: day for name, day in (("from", since), ("to", until)) if day is not None}


def _measure(session: "StreamedSession", page: int | None) -> int:
    """Return the milliseconds of a session on ``page``, or in total."""
    if page is None:
        return session["totalTimeMs"]
    return sum(row["timeMs"] for row in session["pages"] if row["page"] == page)
