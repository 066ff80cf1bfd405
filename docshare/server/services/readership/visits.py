"""Visits as their readers see them: show what is recorded of one load of a share page, and stop measuring it if its
reader declines.

Every write needs the caller's transaction. The caller checks the token of the page.
"""

from dataclasses import dataclass

from docshare.server.rules.gates import is_choice_offered as is_choice_offered
from docshare.server.rules.page_window import PageWindow
from docshare.server.rules.view_token import PageLoad
from docshare.server.runtime import Runtime
from docshare.server.services.links import invites
from docshare.server.services.links.links import Link
from docshare.server.services.operations import notices
from docshare.server.services.readership import rollups, view_sessions
from docshare.server.services.readership.view_sessions import StoredViewSession
from docshare.server.store.tables import files as file_rows
from docshare.server.store.tables import sessions as session_table
from docshare.server.store.tables import viewing
from docshare.server.store.tables.viewing import VisitContext


def offers_choice(link: Link) -> bool:
    """Return whether readers of ``link`` may choose not to be measured."""
    return is_choice_offered(link.settings)


@dataclass(frozen=True)
class VisitPart:
    """The newest session of a load.

    ``started_at`` in ms; ``time_ms``: the reading time; ``pages``: the reading time of each page in ms, by the page
    number that the reader sees; ``context``: what is known about the reader.
    """

    started_at: int
    time_ms: int
    pages: dict[int, int]
    context: VisitContext


@dataclass(frozen=True)
class Visit:
    """The record of one load of a share page.

    ``link``: the link that opened it; ``is_owner``: the owner opened it, so nothing is recorded; ``has_choice``: the
    reader may choose not to be measured; ``is_declined``: they have chosen that; ``part``: the newest session, None if
    there is none; ``earlier``: the number of earlier sessions of the load, which are kept.
    """

    link: Link
    is_owner: bool
    has_choice: bool
    is_declined: bool = False
    part: VisitPart | None = None
    earlier: int = 0


def describe(rt: Runtime, load: PageLoad, link: Link, *, has_choice: bool) -> Visit:
    """Return what is recorded of ``load``, a load of the share page of ``link``.

    Of a session that a reload continues, that is only what the reload has added: somebody else at the same address,
    with the same browser, may have begun it.
    """
    last = view_sessions.find_last_of_load(rt, load.nonce)
    if last is None:
        return Visit(link, is_owner=False, has_choice=has_choice)
    earlier = viewing.count_sessions_of_load(rt.db, load.nonce, last.part)
    continued = view_sessions.find_reloaded(rt, load.nonce)
    earlier += continued is not None
    if last.is_declined:
        return Visit(link, is_owner=False, has_choice=has_choice, is_declined=True, earlier=earlier)
    context, state = viewing.get_visit_context(rt.db, last.id), last.reading
    if last.seq_before:
        added = view_sessions.list_times_since_reload(rt, last)
        started_at, time_ms = load.issued_at, sum(ms for _, ms in added)
        context = context._replace(referrer=load.referrer)
    else:
        rows = session_table.list_pages(rt.db, last.id, is_open=last.ended_at is None)
        added = [(row.page, row.time_ms) for row in rows]
        started_at, time_ms = state.started_at, state.time_ms
    window = PageWindow(load.pages_before + 1, load.pages_before + load.pages)
    numbers = [(window.to_reader_page(page), ms) for page, ms in added]
    pages = {number: ms for number, ms in numbers if number is not None}
    part = VisitPart(started_at, time_ms, pages, context)
    return Visit(link, is_owner=False, has_choice=has_choice, part=part, earlier=earlier)


def decline(rt: Runtime, nonce: str, link: Link, kept_until: int, now: int) -> None:
    """Delete the running session of the load with the ``nonce``, with its view, and count a declined session instead.

    An empty row remains until ``kept_until`` (ms), so that a beacon that arrives late records nothing. Sessions of the
    load that have already ended are part of the sums and are kept. So is the view of a session that a reload continues
    if it was counted before: somebody else may have begun it, so only what the reload has added is deleted.
    """
    last = view_sessions.find_last_of_load(rt, nonce)
    if last is not None and last.is_declined:
        return
    part = 0
    if last is not None:
        if last.ended_at is None and last.is_over(now):
            view_sessions.end_session(rt, last)
        part = last.part
        if last.is_over(now):
            part += 1
        elif not view_sessions.was_counted_before_reload(rt, last):
            _delete(rt, last)
        else:
            view_sessions.delete_since_reload(rt, last)
    session_id = viewing.insert_declined(rt.db, rt.random_uuid(), nonce, part, link.file.id, kept_until)
    rollups.tally_uncounted(rt, session_id)


def _delete(rt: Runtime, session: StoredViewSession) -> None:
    viewing.delete_session(rt.db, session.id)
    counted_at = session.reading.counted_at
    if counted_at is not None:
        file_rows.decrement_view_count(rt.db, session.file_id, counted_at)
        notices.retract_view(rt, session.file_id, counted_at)
        if session.invite_id is not None:
            invites.retract_view(rt, session.invite_id, counted_at)
        rollups.forget_reader(rt, session.file_id, session.reader)
