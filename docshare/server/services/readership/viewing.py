"""Viewing: sign the token of a share page, record its beacons, and start and end view sessions.

``rules/reading.py`` decides what counts and for how long; ``view_sessions`` stores the sessions.
"""

from collections.abc import Callable
from dataclasses import dataclass

from docshare.contract.limits import MINUTE, READER_SALT_MS, UNCOUNTED_RETENTION_MS, RatePolicy
from docshare.contract.problems import Problem
from docshare.server.rules import reading, view_token
from docshare.server.rules.agents import BROWSERS, parse_user_agent
from docshare.server.rules.identity import network_prefix, reader_key
from docshare.server.rules.page_window import PageWindow
from docshare.server.rules.reading import BeaconBody
from docshare.server.rules.view_token import PageLoad
from docshare.server.runtime import Runtime
from docshare.server.services.links import entry, links
from docshare.server.services.links.links import Link
from docshare.server.services.operations.batches import run_in_batches
from docshare.server.services.operations.secrets import instance_secret
from docshare.server.services.readership import rollups, view_sessions, viewers, visits
from docshare.server.services.readership.view_sessions import SessionContext, StoredViewSession
from docshare.server.services.readership.visits import Visit as Visit
from docshare.server.store.tables import contents, readers

# Anybody can forge views, so their number is limited; hundreds of readers in an office behind one address are allowed.
SESSION_START_POLICY = RatePolicy("sessions", 300, 10 * MINUTE, "address")

MAX_BEACON_BYTES = reading.MAX_BODY_BYTES  # bytes

_SECRET = "view-token-2"  # noqa: S105 - a name; it changes with the fields of the token
_BATCH_SESSIONS = 200  # sessions ended, or deleted, in one transaction


@dataclass(frozen=True)
class PageFacts:
    """How a share page was requested.

    ``source``: ``Direct link``, ``Embed``, ``QR code`` or ``Variant``; ``viewer_mode``: the layout of its pages;
    ``referrer``: the host of the page that linked here; ``is_prefetched``: the browser loaded the page in advance.
    """

    source: str
    viewer_mode: str
    referrer: str | None
    is_prefetched: bool


@dataclass(frozen=True)
class BeaconSender:
    """The sender of a beacon.

    ``address`` is never stored; ``account_id``: the signed-in account, None if nobody is signed in; ``is_prefetch``:
    the headers of the request announce a prefetch; ``opts_out``: the browser sends Global Privacy Control;
    ``find_viewer_token`` returns the viewer token that the browser has for a link.
    """

    user_agent: str
    address: str
    country: str | None
    account_id: int | None
    is_prefetch: bool
    opts_out: bool = False
    find_viewer_token: Callable[[Link], str | None] = lambda _link: None


def prepare(rt: Runtime) -> None:
    """Create the secret that signs page tokens, so that even the first request for a share page does not write to the
    database."""
    instance_secret(rt, _SECRET)


def sign_page_token(rt: Runtime, link: Link, window: PageWindow, facts: PageFacts) -> str:
    """Return the signed token that authenticates the beacons of one load of the share page of ``link``. ``window``: the
    pages that it shows."""
    load = PageLoad(
        public_id=link.public_id,
        content_version=link.file.content_version,
        issued_at=rt.clock(),
        nonce=rt.random_token(20),
        pages_before=window.pages_before,
        pages=window.size,
        source=facts.source,
        viewer_mode=facts.viewer_mode,
        referrer=facts.referrer,
        prefetched=facts.is_prefetched,
    )
    return view_token.sign_token(instance_secret(rt, _SECRET), load)


def record_beacon(rt: Runtime, name: str, body: bytes, sender: BeaconSender) -> None:
    """Record one beacon that was sent to the link ``name``.

    The first beacon of a session starts it, or continues the session that a reload interrupted. Repeated beacons,
    beacons beyond the allowed rate and beacons of the file's owner are ignored; the owner's previews do not create a
    session.

    Raises Problem: ``bad_request`` and ``payload_too_large`` for an invalid body, ``forbidden`` for a token that is
    invalid, too old or of another link and for a reader who has not met the conditions of the link, ``not_found`` and
    ``gone`` for a dead link, ``conflict`` if the session is over (the reader's browser then begins the next one),
    ``rate_limited`` if one network starts too many sessions.
    """
    token, beacon = reading.parse_beacon_request(body, sender.is_prefetch)
    now = rt.clock()
    load = _verify_page_load(rt, name, token, now)
    beacon = reading.to_document_pages(beacon, load.pages_before)

    def record(is_account_locked: bool) -> bool:
        return _record(rt, name, load, beacon, sender, now, is_account_locked=is_account_locked)

    # Most beacons only change the rows of their session, so the readers of an account need not wait for each other.
    if rt.db.write_rows(lambda: record(False)):
        return
    with rt.db.write(lambda: links.find_owner_id(rt, name)):
        record(True)


def _record(
    rt: Runtime,
    name: str,
    load: PageLoad,
    beacon: BeaconBody,
    sender: BeaconSender,
    now: int,
    *,
    is_account_locked: bool,
) -> bool:
    """Record ``beacon`` and return True. If that starts a session or counts a view, the transaction must protect the
    account of the owner (``is_account_locked``); if it does not, change nothing and return False."""
    # Resolve the link for each beacon, so that revoking a variant or deleting a file ends its sessions at once.
    link = _find_open_link(rt, name)
    if not _is_reader(rt, link, sender):
        return True
    if sender.opts_out and visits.offers_choice(link):
        if is_account_locked:
            _decline_by_signal(rt, load, link, sender, now)
        return is_account_locked
    session = view_sessions.find(rt, load.nonce, beacon.part)
    if session is not None:
        if session.is_declined:
            return True
        if session.is_over(now):
            raise _session_over()
        if reading.is_over_rate(beacon, now - max(session.reading.earliest_at, load.issued_at)):
            return True
    elif reading.is_over_rate(beacon, now - load.issued_at):
        return True
    elif not is_account_locked:
        return False
    else:
        _require_start_allowed(rt, sender)
        session = _start_session(rt, load, link, beacon, sender, now)
        if session is None:
            return True
    if session.seq_before:
        beacon = beacon._replace(seq=beacon.seq + session.seq_before)
    last_page = load.pages_before + load.pages
    return view_sessions.add_beacon(
        rt,
        session,
        beacon,
        now,
        last_page,
        lambda: _list_reader_keys(rt, link, sender.address, now),
        is_account_locked=is_account_locked,
    )


def show_visit(rt: Runtime, name: str, body: bytes, sender: BeaconSender) -> Visit:
    """Return what is recorded of the load of the link ``name`` that the token in ``body`` identifies. If ``body``
    declines to be measured, store that first.

    Raises the same errors as ``record_beacon`` for the token and the link, and ``forbidden`` if the reader declines
    although the owner does not allow it.
    """
    token, declines = reading.parse_visit_request(body)
    now = rt.clock()
    load = _verify_page_load(rt, name, token, now)
    if declines:
        with rt.db.write(lambda: links.find_owner_id(rt, name)):
            link = _find_open_link(rt, name)
            if _is_reader(rt, link, sender):
                _decline(rt, load, link, sender, now)
    with rt.db.snapshot():
        link = _find_open_link(rt, name)
        if not _is_reader(rt, link, sender):
            return Visit(link, is_owner=True, has_choice=False)
        return visits.describe(rt, load, link, has_choice=visits.offers_choice(link))


def _find_open_link(rt: Runtime, name: str) -> Link:
    link = links.resolve(rt, name)
    if link is None:
        raise Problem("not_found", "There is no such link.")
    return link


def _decline(rt: Runtime, load: PageLoad, link: Link, sender: BeaconSender, now: int) -> None:
    if not visits.offers_choice(link):
        raise Problem("forbidden", "The owner of this document measures all visits.")
    _require_start_allowed(rt, sender)
    visits.decline(rt, load.nonce, link, load.issued_at + view_token.LIFETIME_MS, now)


def _decline_by_signal(rt: Runtime, load: PageLoad, link: Link, sender: BeaconSender, now: int) -> None:
    """Decline for a browser with Global Privacy Control, unless the sender is a program or the request a prefetch:
    neither is a reader who could decline."""
    if not sender.is_prefetch and parse_user_agent(sender.user_agent).program is None:
        _decline(rt, load, link, sender, now)


def end_due_sessions(rt: Runtime) -> int:
    """End the sessions whose reader has left and add counted ones to the feed. Return the number of sessions."""
    now = rt.clock()
    return run_in_batches(rt, _BATCH_SESSIONS, lambda: _end_batch(rt, now))


def _end_batch(rt: Runtime, now: int) -> int:
    due = view_sessions.list_due(rt, now, _BATCH_SESSIONS)
    for session in due:
        view_sessions.end_session(rt, session)
    return len(due)


def delete_uncounted_sessions(rt: Runtime) -> int:
    """Delete uncounted sessions 90 days after they ended, with their beacons. Return the number of deleted sessions."""
    ended_by = rt.clock() - UNCOUNTED_RETENTION_MS
    return run_in_batches(rt, _BATCH_SESSIONS, lambda: view_sessions.delete_uncounted(rt, ended_by, _BATCH_SESSIONS))


def delete_old_beacons(rt: Runtime) -> int:
    """Delete the beacons of counted sessions 90 days after they ended. Return the number of sessions."""
    now = rt.clock()
    return run_in_batches(rt, _BATCH_SESSIONS, lambda: rollups.delete_beacons(rt, now, _BATCH_SESSIONS))


def delete_old_salts(rt: Runtime) -> int:
    """Delete reader salts after 30 days, so that those readers cannot be recognized again. Return the number of
    salts."""
    with rt.db.write():
        return readers.delete_salts(rt.db, rt.clock() - READER_SALT_MS)


def _verify_page_load(rt: Runtime, name: str, token: str, now: int) -> PageLoad:
    load = view_token.verify_token(instance_secret(rt, _SECRET), token)
    if load is None or load.public_id != name or now - load.issued_at > view_token.LIFETIME_MS:
        raise Problem("forbidden", "The page is too old to report its reading; reload it.")
    return load


def _is_reader(rt: Runtime, link: Link, sender: BeaconSender) -> bool:
    """Return whether ``sender`` is a reader and not the owner.

    Raises ``gone`` for a dead link, ``forbidden`` if the reader has not met its conditions, for example after the
    password was changed.
    """
    owner = link.file.owner_id is not None and link.file.owner_id == sender.account_id
    owed = entry.check_entry(rt, link, sender.find_viewer_token, owner=owner).missing
    if owner:
        return False
    if owed:
        raise Problem("forbidden", "The requirements of this document have changed; reload its page.")
    return True


def _require_start_allowed(rt: Runtime, sender: BeaconSender) -> None:
    allowance = rt.limits.hit(SESSION_START_POLICY, network_prefix(sender.address), SESSION_START_POLICY.limit)
    if not allowance.is_allowed:
        retry = {"Retry-After": str(allowance.reset_s)}
        raise Problem("rate_limited", "Too many readers on your network.", headers=retry)


def _start_session(
    rt: Runtime, load: PageLoad, link: Link, beacon: BeaconBody, sender: BeaconSender, now: int
) -> StoredViewSession | None:
    """Return a new session, or None if its reader chose not to be measured."""
    last = view_sessions.find_last_of_load(rt, load.nonce)
    earliest = load.issued_at
    if last is not None and last.is_declined:
        return None
    if last is not None:
        earliest = max(earliest, _end_previous(rt, last, beacon, now))
    agent = parse_user_agent(sender.user_agent)
    viewer = viewers.find(rt, link, sender.find_viewer_token(link))
    email, name = viewers.find_contact(viewer, link)
    place = SessionContext(
        opening=load.nonce,
        part=beacon.part,
        file_id=link.file.id,
        content_version=load.content_version,
        total_pages=_count_pages(rt, link, load.content_version),
        reader=reader_key(_get_salt(rt, link.file.id, now), sender.address, agent.browser),
        country=sender.country,
        device=agent.device,
        browser=agent.browser,
        source=load.source,
        referrer=load.referrer,
        viewer_mode=load.viewer_mode,
        variant_id=link.variant and link.variant.id,
        viewer_id=viewer and viewer.id,
        invite_id=link.invite and link.invite.id,
        email=email,
        name=name,
        shown_pages=load.pages,
    )
    if beacon.reload and last is None:
        window = PageWindow(load.pages_before + 1, load.pages_before + load.pages)
        continued = view_sessions.continue_closed(rt, place, window, now)
        if continued is not None:
            return continued
    state = reading.begin_reading(now, earliest, agent.program, load.prefetched)
    return view_sessions.insert(rt, place, state)


def _end_previous(rt: Runtime, last: StoredViewSession, beacon: BeaconBody, now: int) -> int:
    """End ``last``, the session of the same load that precedes the session of ``beacon``; return the time of its end.

    Raises ``conflict`` while ``last`` is still running, so that one load cannot claim many views at once.
    """
    if beacon.part <= last.part or not last.is_over(now):
        raise _session_over()
    if last.ended_at is None:
        view_sessions.end_session(rt, last)
    return reading.session_end(last.reading)


def _count_pages(rt: Runtime, link: Link, content_version: int) -> int:
    pages = contents.find_revision_pages(rt.db, link.file.id, content_version)
    return link.file.total_pages if pages is None else pages


def _list_reader_keys(rt: Runtime, link: Link, address: str, now: int) -> list[str]:
    """Return the salted reader keys of ``address`` on ``link``, one for each browser."""
    salt = _get_salt(rt, link.file.id, now)
    return [reader_key(salt, address, browser) for browser in BROWSERS]


def _get_salt(rt: Runtime, file_id: int, now: int) -> bytes:
    found = readers.find_salt(rt.db, file_id)
    if found is not None and now - found[1] < READER_SALT_MS:
        return found[0]
    salt = rt.random_bytes(32)
    readers.replace_salt(rt.db, file_id, salt, now)
    return salt


def _session_over() -> Problem:
    return Problem("conflict", "This session is over.")
