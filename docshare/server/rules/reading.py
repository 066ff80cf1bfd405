"""The rules for counting views and measuring reading time. No other module contains such rules.

**Opening** a share page stores nothing. Its script reports reading in *beacons*; everything else is derived from them.

**A view is counted** when all of these conditions hold:

1. The reader has used a pointer, key, touch screen or wheel (one trusted event). Scrolling by itself is not input,
   since a script can scroll; the wheel, touch or key that scrolls the page is.
2. A beacon has arrived 2 seconds or more after the page was opened, by the server's clock: measured from the time at
   which the server sent the page, whatever age the beacon claims.
3. The session is long, or the limit of short sessions is not reached. A session is *short* while less than 5 seconds
   have passed on the server's clock between its first and its last beacon. At most 12 short sessions of one reader
   (salted address and browser) count in 10 minutes, and at most 36 of one address with all its browsers. Long sessions
   are only limited by how many sessions an address may start: 300 in 10 minutes (``services/readership/viewing.py``).

The view is counted once, with the first beacon for which all three hold, and stays counted: totals decrease only if a
reader declines while reading (*Classes*). A short session above the limit is checked again with each of its beacons, so
it is counted as soon as it is 5 seconds long or the limit allows it. A counted session that becomes 5 seconds long is
no longer short and no longer counts against the limit. A session that is not counted is in no total, and not among the
current readers. The row of the feed, the event and the sums of the file are written at the end of a session, from its
class at that time.

**Classes.** Every session has a class and a reason for it. Only ``human`` is counted; the others are stored and shown
beside the totals. ``tool`` and ``preview`` identify themselves in the user agent and never change. ``prefetch`` was
loaded ahead of its reader (``Sec-Purpose: prefetch``) and had no input; a beacon with that header counts nothing.
``unconfirmed`` was visible for 5 seconds or more without any input: either a mail scanner that waits or somebody who
read without touching anything; they cannot be distinguished. The first input makes the whole session ``human``,
including the time before it. ``burst`` is a short session above the limit. ``scanner`` is all the rest: visible for
less than 5 seconds without input, or closed within 2 seconds. A load without any beacon is not a session. Automation
(``navigator.webdriver``) does not matter, because accessibility tools use it too. ``declined`` are readers who chose
not to be measured, where the setting ``readerChoice`` allows that: their session is deleted with its view, and a number
is kept (``services/readership/visits.py``). Only this takes a view back.

**Not affected by the class**: the step "Open document" consumes a unit of a view limit, and gates admit readers and
store the form, whatever the class of the session. An invitation is viewed with the first counted session of its link.

**Time** is measured for a page while the document is visible and its reader was active in the last 60 seconds. Active
means one of the events above. Opening the page and returning to it also start the 60 seconds, since somebody just did
that, but they are not input and do not prove a reader. The time is added to the page of which the largest part is
visible (of the window, if the page is larger), and divided evenly if several are equally visible, as on a spread; so
page times add up to the session's time. ``foremost.js`` of the viewer is that rule, also for its toolbar and address.

**Beacons** are sent 1, 3 and 6 seconds after a page was turned to and every 5 seconds from then on, as soon as a page
was seen for a second in total, and whenever 2.5 seconds have not been reported. So if a browser is killed, less than 3
seconds are lost, and no page that was seen for more than a second.

**The server's clock caps the time.** A beacon claims times; the server accepts at most the time that has passed on its
own clock since the session began, less the time accepted before. The start of a session is the arrival of a beacon less
the age it claims; the earliest such time is used, since that beacon had the smallest delay, but none before the page
was served or before the previous session of the load ended. Reading time never exceeds visible time. A claim that is
too large is reduced in proportion for all of its pages. Claims about pages that the reader was not shown are ignored. A
beacon is accepted once, by (session, sequence), in any order, so that late beacons are not lost. Twenty are accepted at
once and then one for each second that has passed; any more are ignored.

**A session ends** 60 seconds after the document was hidden, 10 seconds after its page reported that it is being closed,
or 5 minutes after the last active reading, whichever is first. That time is stored as its end, even if the server
stores it later. If the reader returns after that, the server responds that the session is over, and the browser starts
the next session of the same load.

**A reload** continues the session of the load before it. The page says that it was reloaded, or reached with the back
or forward button; its first beacon then belongs to the session that was closed less than 10 seconds ago by the same
salted address and browser, on the same link, with the same content and pages. If there is no such session, or more than
one, the reload starts a new session, so that two readers behind one address are not counted as one. That only guesses
who reloads, so the reader of the reload sees, and can delete, only what the reload has added.

**A page was seen** if it had at least one second; ``pagesViewed`` and the furthest page count those. A turn is a change
of page that lasted half a second, so there are at most as many turns as half seconds of visible time, and no page was
turned to more often than the number of turns plus one for the first page.

**Not distinguished**: an owner who reads their own document inside a frame on another site is counted like any reader,
since the browser does not send the sign-in cookie there.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from docshare.contract.problems import Problem
from docshare.server.strict_json import parse_object

MIN_OPEN_MS = 2_000  # the minimum time a page must be open before anything counts
UNCONFIRMED_VISIBLE_MS = 5_000  # visible time from which a session without input is not classified as a scanner
SHORT_MS = 5_000  # from the first to the last report: a session below it is short
MAX_SHORT_PER_READER = 12
MAX_SHORT_PER_ADDRESS = 36  # for all browsers together: browser names are as easy to forge as views
SHORT_WINDOW_MS = 600_000
HIDDEN_TIMEOUT_MS = 60_000
CLOSED_TIMEOUT_MS = 10_000
IDLE_TIMEOUT_MS = 300_000
MIN_SEEN_MS = 1_000
MIN_TURN_MS = 500
BEACON_BURST = 20
BEACON_INTERVAL_MS = 1_000

MAX_BODY_BYTES = 64 * 1024  # bytes
MAX_SEQ = 1_000_000
MAX_SESSIONS_PER_LOAD = 1_000
_MAX_PAGES_PER_BEACON = 50
_MAX_VIEWS_PER_BEACON = 1_000
_MAX_PAGE = 50_000
_MAX_MS = 10**12

FINAL_CLASSES = frozenset({"tool", "preview"})
DECLINED = "declined"

# Filled in: with an encoder of JSON, beacons reach 0.50 of the rate of plain inserts, not 0.52.
_STORED = '{"part":%d,"seq":%d,"ageMs":%d,"visible":%s,"visibleMs":%d,"input":%s,"turns":%d,"backTurns":%d,"pages":'
_STORED_PAGE = '{"page":%d,"ms":%d,"views":%d,"back":%d}'
_ACCEPTED_PAGE = "[%d,%d,%d,%d]"
_FLAG_WORDS = {False: "false", True: "true"}


# Named tuples: as frozen classes they slow the beacon benchmark from 0.56 to 0.51 of the rate of plain inserts.
class PageTime(NamedTuple):
    """``ms`` of reading on ``page`` (from 1), turned to ``views`` times, ``back`` of them by going backward."""

    page: int
    ms: int
    views: int
    back: int


class BeaconBody(NamedTuple):
    """The report of a reader's browser; times in ms since its previous beacon.

    ``part`` counts the sessions of one load of the page, ``seq`` the beacons of one session, both from 0; ``age_ms``
    time since the session began; ``visible`` whether the document is visible now; ``visible_ms`` how long it was;
    ``input`` whether a trusted event occurred; ``turns`` changes of page, ``back_turns`` of them backward;
    ``prefetch`` whether the request announced itself as prefetching; ``closing`` whether the page is being closed;
    ``reload`` whether the browser loaded a page again that it had shown before.
    """

    part: int
    seq: int
    age_ms: int
    visible: bool
    visible_ms: int
    input: bool
    turns: int
    back_turns: int
    pages: tuple[PageTime, ...]
    prefetch: bool = False
    closing: bool = False
    reload: bool = False


class SessionReading(NamedTuple):
    """The state of one session after its beacons so far; every ``_at`` is a moment in ms or None.

    It cannot have begun before ``earliest_at``; ``first_at`` and ``last_beacon_at`` are the arrivals of its first and
    its last beacon.
    """

    klass: str
    reason: str
    prefetched: bool
    earliest_at: int
    started_at: int
    first_at: int
    last_beacon_at: int
    active_at: int
    last_seq: int = -1
    hidden_at: int | None = None
    closed_at: int | None = None
    input_at: int | None = None
    counted_at: int | None = None
    visible_ms: int = 0
    time_ms: int = 0
    turns: int = 0
    back_turns: int = 0


def begin_reading(now: int, earliest_at: int, program: tuple[str, str] | None, prefetched: bool) -> SessionReading:
    """Return a new session whose first beacon has arrived but is not folded in yet.

    Parameters: ``earliest_at`` ms, it cannot have begun before; ``program`` class and reason if the user agent
    identifies itself as a program; ``prefetched`` whether the page was loaded ahead of its reader.
    """
    klass, reason = program or ("scanner", "")
    earliest_at = min(earliest_at, now)
    return SessionReading(
        klass, reason, prefetched, earliest_at, started_at=now, first_at=now, last_beacon_at=now, active_at=now
    )


def fold_beacon(
    reading: SessionReading, beacon: BeaconBody, now: int, last_page: int
) -> tuple[SessionReading, tuple[PageTime, ...]]:
    """Add ``beacon``, which arrived at ``now`` and is not a repetition, to ``reading``.

    Parameters: ``last_page`` that the reader is shown. Returns the new reading and the gain of each page.
    """
    known = tuple(page for page in beacon.pages if page.page <= last_page)
    claimed = sum(page.ms for page in known)
    started_at = max(reading.earliest_at, min(reading.started_at, now - beacon.age_ms))
    elapsed = max(now - started_at, reading.visible_ms)
    visible_ms = min(reading.visible_ms + beacon.visible_ms, elapsed)
    turns = min(reading.turns + beacon.turns, visible_ms // MIN_TURN_MS)
    pages = _scale_times(known, claimed, visible_ms - reading.time_ms)
    pages = tuple(_limit_views(page, turns - reading.turns + 1) for page in pages)
    newest = beacon.seq > reading.last_seq
    folded = reading._replace(
        started_at=started_at,
        last_beacon_at=max(now, reading.last_beacon_at),
        active_at=max(now, reading.active_at) if claimed or beacon.input else reading.active_at,
        last_seq=max(beacon.seq, reading.last_seq),
        hidden_at=_update_hidden_at(reading, beacon, now) if newest else reading.hidden_at,
        closed_at=_update_closed_at(reading, beacon, now) if newest else reading.closed_at,
        input_at=now if beacon.input and reading.input_at is None else reading.input_at,
        visible_ms=visible_ms,
        time_ms=reading.time_ms + sum(page.ms for page in pages),
        turns=turns,
        back_turns=min(reading.back_turns + beacon.back_turns, turns),
    )
    return _classify(folded, beacon, now), pages


def to_document_pages(beacon: BeaconBody, before: int) -> BeaconBody:
    """Return ``beacon`` with the page numbers of the document, for a reader whose window starts at page ``before`` +
    1.

    ``fold_beacon`` decides which of its claims count.
    """
    if not before:
        return beacon
    return beacon._replace(pages=tuple(page._replace(page=page.page + before) for page in beacon.pages))


def is_over_rate(beacon: BeaconBody, passed_ms: int) -> bool:
    """Return whether the number of ``beacon`` is too high for a reader's browser after ``passed_ms``.

    A few beacons are allowed at once, then one per second. Each number is accepted once, so this also limits the
    count.
    """
    return beacon.seq >= BEACON_BURST + max(passed_ms, 0) // BEACON_INTERVAL_MS


def session_end(reading: SessionReading) -> int:
    """Return the moment at which ``reading`` ends unless another beacon arrives before."""
    end = reading.active_at + IDLE_TIMEOUT_MS
    if reading.hidden_at is not None:
        end = min(end, reading.hidden_at + HIDDEN_TIMEOUT_MS)
    return end if reading.closed_at is None else min(end, reading.closed_at + CLOSED_TIMEOUT_MS)


def has_room(short_of_reader: int, short_of_address: int) -> bool:
    """Return whether one more short session counts.

    Parameters: ``short_of_reader`` and ``short_of_address`` number of short sessions counted in the last
    ``SHORT_WINDOW_MS``.
    """
    return short_of_reader < MAX_SHORT_PER_READER and short_of_address < MAX_SHORT_PER_ADDRESS


def mark_counted(reading: SessionReading, now: int) -> SessionReading:
    """Return ``reading`` with its view counted at ``now``."""
    return reading._replace(klass="human", reason="a pointer, key, touch, or wheel event", counted_at=now)


def _scale_times(pages: tuple[PageTime, ...], claimed: int, allowed: int) -> tuple[PageTime, ...]:
    if claimed <= allowed:
        return pages
    return tuple(page._replace(ms=page.ms * max(allowed, 0) // claimed) for page in pages)


def _limit_views(page: PageTime, most: int) -> PageTime:
    if page.back <= page.views <= most:
        return page
    views = min(page.views, most)
    return page._replace(views=views, back=min(page.back, views))


def _update_hidden_at(reading: SessionReading, beacon: BeaconBody, now: int) -> int | None:
    if beacon.visible:
        return None
    return now if reading.hidden_at is None else reading.hidden_at


def _update_closed_at(reading: SessionReading, beacon: BeaconBody, now: int) -> int | None:
    if beacon.visible:
        return None
    return now if beacon.closing and reading.closed_at is None else reading.closed_at


def _classify(reading: SessionReading, beacon: BeaconBody, now: int) -> SessionReading:
    if reading.klass in FINAL_CLASSES or reading.counted_at is not None:
        return reading
    if beacon.prefetch:
        return reading._replace(klass="prefetch", reason="the request says that it prefetches")
    if reading.input_at is None:
        klass, reason = _classify_without_input(reading)
        return reading._replace(klass=klass, reason=reason)
    if reading.last_beacon_at - reading.earliest_at < MIN_OPEN_MS:
        return reading._replace(klass="scanner", reason="gone within 2 seconds of opening the page")
    if reading.last_beacon_at - reading.first_at < SHORT_MS:
        # The service counts it if there is room.
        return reading._replace(klass="burst", reason="one of too many short sessions of one reader or address")
    return mark_counted(reading, now)


def _classify_without_input(reading: SessionReading) -> tuple[str, str]:
    if reading.prefetched:
        return "prefetch", "loaded ahead of its reader, without input"
    if reading.visible_ms >= UNCONFIRMED_VISIBLE_MS:
        return "unconfirmed", "visible for 5 seconds or more, without input"
    return "scanner", "visible for less than 5 seconds, without input"


def parse_beacon_request(body: bytes, prefetch: bool) -> tuple[str, BeaconBody]:
    """Parse the request of a browser: its view token and its beacon.

    Parameters: ``body`` JSON, at most ``MAX_BODY_BYTES`` bytes; ``prefetch`` whether the request announced itself as
    prefetching. Raises Problem: ``bad_request`` for anything that is not exactly a beacon, ``payload_too_large``.
    """
    data = parse_object(body, MAX_BODY_BYTES)
    try:
        return _parse_text(data["token"]), _parse_beacon(data, prefetch)
    except (ValueError, KeyError, TypeError):
        raise Problem("bad_request", "This is not a beacon.") from None


def parse_visit_request(body: bytes) -> tuple[str, bool]:
    """Parse the request of a reader about their visit: its view token, and whether they choose not to be measured.

    Parameters: ``body`` JSON. Raises Problem: ``bad_request``, ``payload_too_large``.
    """
    data = parse_object(body, MAX_BODY_BYTES)
    try:
        return _parse_text(data["token"]), _parse_flag(data.get("decline", False))
    except (ValueError, KeyError):
        raise Problem("bad_request", "The page token is missing.") from None


def serialize_beacon(beacon: BeaconBody) -> str:
    """Return ``beacon`` as the JSON to store: the request without its token."""
    visible, has_input = _FLAG_WORDS[beacon.visible], _FLAG_WORDS[beacon.input]
    times = beacon.part, beacon.seq, beacon.age_ms, visible, beacon.visible_ms, has_input
    pages = ",".join([_STORED_PAGE % page for page in beacon.pages])
    flags = (("prefetch", beacon.prefetch), ("closing", beacon.closing), ("reload", beacon.reload))
    more = "".join([f',"{name}":true' for name, is_set in flags if is_set])
    return f"{_STORED % (*times, beacon.turns, beacon.back_turns)}[{pages}]{more}}}"


def serialize_accepted(pages: Iterable[PageTime]) -> str:
    """Return the accepted part of a beacon as the JSON to store: [[page, ms, views, back], ...]."""
    return f"[{','.join([_ACCEPTED_PAGE % page for page in pages])}]"


def _parse_beacon(data: dict[str, Any], prefetch: bool) -> BeaconBody:
    pages = data["pages"]
    if not isinstance(pages, list) or len(pages) > _MAX_PAGES_PER_BEACON:
        raise ValueError("pages")
    turns = _parse_integer(data["turns"], 0, _MAX_VIEWS_PER_BEACON)
    return BeaconBody(
        part=_parse_integer(data["part"], 0, MAX_SESSIONS_PER_LOAD - 1),
        seq=_parse_integer(data["seq"], 0, MAX_SEQ),
        age_ms=_parse_integer(data["ageMs"], 0, _MAX_MS),
        visible=_parse_flag(data["visible"]),
        visible_ms=_parse_integer(data["visibleMs"], 0, _MAX_MS),
        input=_parse_flag(data["input"]),
        turns=turns,
        back_turns=_parse_integer(data["backTurns"], 0, turns),
        pages=tuple(_parse_page_time(page) for page in pages),
        prefetch=prefetch,
        closing=_parse_flag(data.get("closing", False)),
        reload=_parse_flag(data.get("reload", False)),
    )


def _parse_page_time(data: dict[str, Any]) -> PageTime:
    views = _parse_integer(data["views"], 0, _MAX_VIEWS_PER_BEACON)
    return PageTime(
        page=_parse_integer(data["page"], 1, _MAX_PAGE),
        ms=_parse_integer(data["ms"], 0, _MAX_MS),
        views=views,
        back=_parse_integer(data["back"], 0, views),
    )


def _parse_integer(value: object, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise ValueError("number")
    return value


def _parse_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("flag")
    return value


def _parse_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("text")
    return value
