"""The rules for counting views and measuring reading time; there are no others.

**Opening** a share page stores nothing. Its script reports reading in *beacons*, and everything follows from those.

**A view is counted** when all of this holds:

1. The reader has used a pointer, key, touch screen or wheel (one trusted event). Scrolling by itself is not input,
   since a script can scroll; what a person scrolls with is.
2. A report has arrived 2 seconds or more after the page was opened, by the server's clock: from the moment at which the
   server sent the page, whatever age the report claims.
3. The session is long, or there is room among the short ones. A session is *short* while the server's clock has seen
   less than 5 seconds between its first and its last report. Of one reader (salted address and browser) at most 12
   short sessions count in 10 minutes, of one address with all its browsers at most 36. Long ones are bounded only by
   how many sessions an address may start: 300 in 10 minutes (``services/viewing.py``).

It is counted once, at the first report with which all three hold, and stays counted: totals never go down. A short
session for which there was no room is judged anew with each of its reports, so it is counted as soon as it has grown to
5 seconds or there is room; a counted one that grows to 5 seconds is not short any more and makes room. Until a session
is counted it is in no total, and not among those who read now. The row of the
feed, the event and the sums of the file are made at the end of a session, from the class that it has by then.

**Classes.** Every session has one, with its reason. Only ``human`` is counted; the others are kept and shown beside the
totals. ``tool`` and ``preview`` name themselves in the user agent and stay what they are. ``prefetch`` was loaded ahead
of its reader (``Sec-Purpose: prefetch``) and never touched; a beacon that itself carries that header counts nothing.
``unconfirmed`` was visible for 5 seconds or more without any input: a mail scanner that waits, or somebody who read
without touching anything, and nothing tells one from the other. The first input makes it ``human`` as a whole, with the
time before it. ``burst`` is a short session for which there was no room. ``scanner`` is all the rest: visible for less
than 5 seconds without input, or gone within 2 seconds. A load without any beacon is not a session. Automation
(``navigator.webdriver``) does not matter: accessibility tools use it too.

**Not affected by the class**: a unit of a view limit is taken by the step "Open document", and gates let in and keep
what was filled in, whatever becomes of the session. An invitation is viewed with the first counted session of its link.

**Time** runs for a page while the document is visible and its reader was active in the last 60 seconds. Active means
one of the events above; opening the page and coming back to it also start the 60 seconds, for somebody just did that,
but they are not input and do not prove a reader. The moment's time goes to the page of which most is visible, and is
shared evenly when several are equally visible, as on a spread; so page times add up to the session's time.

**Reports** come 1, 3 and 6 seconds after a page was turned to and every 5 seconds from then on, as soon as a page was
seen for a second in all, and whenever 2.5 seconds are unreported; so a browser that is killed loses less than 3
seconds, and saw none of the pages for more than a second.

**The server's clock is the limit.** A beacon claims times; what is accepted is at most what has passed on the
server's clock since the session began, less what was accepted before. A session began when the arrival of a beacon
less the age it claims says so; the earliest such moment holds, since that beacon travelled fastest, but none before
the page was served or the load's session before it ended. Reading time is never more than visible time. Too large a
claim is cut in proportion over its pages. Of pages that the reader was not shown nothing is believed. A beacon is
accepted once, by (session, sequence), in whatever order they come, so that late ones lose nothing. Twenty are accepted
at once and then one for each second that has passed; more than that add nothing.

**A session ends** 60 seconds after the document was hidden, 10 seconds after its page said that it is being closed, or
5 minutes after the last active reading, whichever is first; that moment is its end, whenever the server gets round to
writing it down. If the reader comes back later, the server answers that the session is over, and the browser starts the
next one of the same load.

**A page was seen** when it had at least one second; ``pagesViewed`` and the furthest page count those. A turn is a
change of page that lasted half a second, so there are at most as many turns as half seconds of visible time, and no
page was turned to more often than there were turns and the page that came first.

**Not distinguished**: an owner who reads their own document inside a frame on another site is counted like anybody,
since the browser does not send the sign-in cookie there.
"""

import json
from typing import Any, NamedTuple

from docshare.contract.problems import Problem
from docshare.server.http.strict_json import parse_object

MIN_OPEN_MS = 2_000  # nothing counts before the page has been open for so long
UNCONFIRMED_VISIBLE_MS = 5_000  # visible time from which a session without input is more than a scanner's
SHORT_MS = 5_000  # from the first to the last report: a session below it is short
MAX_SHORT_PER_READER = 12
MAX_SHORT_PER_ADDRESS = 36  # with all browsers: their names are made up as easily as views
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

encode_compact = json.JSONEncoder(separators=(",", ":")).encode  # made once: every beacon is written twice


# Named tuples: as frozen classes these three cost the benchmark of beacons 0.05 of its 0.56 of plain inserts.
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
    ``input`` whether a trusted event came in; ``turns`` changes of page, ``back_turns`` of them backward;
    ``prefetch`` whether the request announced itself as prefetching; ``closing`` whether the page is being closed.
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


class SessionReading(NamedTuple):
    """The state of one session after its beacons so far; every ``_at`` is a moment in ms or None. It cannot have
    begun before ``earliest_at``; ``first_at`` and ``heard_at`` are the arrivals of its first and its last beacon."""

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
    """A session whose first beacon has come and is to be folded in.

    Parameters: ``earliest_at`` ms, it cannot have begun before; ``program`` class and reason when the user agent names
    itself a program; ``prefetched`` whether the page was loaded ahead of its reader.
    """
    klass, reason = program or ("scanner", "")
    earliest_at = min(earliest_at, now)
    return SessionReading(
        klass, reason, prefetched, earliest_at, started_at=now, first_at=now, last_beacon_at=now, active_at=now
    )


def fold_beacon(
    reading: SessionReading, beacon: BeaconBody, now: int, last_page: int
) -> tuple[SessionReading, tuple[PageTime, ...]]:
    """Add ``beacon``, arrived at ``now`` and not heard before, to ``reading``.

    Parameters: ``last_page`` that the reader is shown. Returns the new reading and what each page gains.
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
    """Return ``beacon`` with the page numbers of the document, for a reader whose window starts at page
    ``before`` + 1. ``fold`` decides which of its claims count."""
    if not before:
        return beacon
    return beacon._replace(pages=tuple(page._replace(page=page.page + before) for page in beacon.pages))


def is_over_rate(beacon: BeaconBody, passed_ms: int) -> bool:
    """Whether ``beacon`` has a number no reader's browser reaches in ``passed_ms``: a few beacons at once, then one
    a second. As each number is accepted once, this bounds how many there are."""
    return beacon.seq >= BEACON_BURST + max(passed_ms, 0) // BEACON_INTERVAL_MS


def session_end(reading: SessionReading) -> int:
    """The moment at which ``reading`` ends unless its reader is heard of before."""
    end = reading.active_at + IDLE_TIMEOUT_MS
    if reading.hidden_at is not None:
        end = min(end, reading.hidden_at + HIDDEN_TIMEOUT_MS)
    return end if reading.closed_at is None else min(end, reading.closed_at + CLOSED_TIMEOUT_MS)


def has_room(short_of_reader: int, short_of_address: int) -> bool:
    """Whether one more short session counts.

    Parameters: ``short_of_reader`` and ``short_of_address`` how many did in the last ``SHORT_WINDOW_MS``.
    """
    return short_of_reader < MAX_SHORT_PER_READER and short_of_address < MAX_SHORT_PER_ADDRESS


def mark_counted(reading: SessionReading, now: int) -> SessionReading:
    """``reading`` as it is when its view is counted at ``now``."""
    return reading._replace(klass="human", reason="a pointer, key, touch or wheel event", counted_at=now)


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
        # The service counts it where there is room.
        return reading._replace(klass="burst", reason="one of too many short sessions of one reader or address")
    return mark_counted(reading, now)


def _classify_without_input(reading: SessionReading) -> tuple[str, str]:
    if reading.prefetched:
        return "prefetch", "loaded ahead of its reader, without input"
    if reading.visible_ms >= UNCONFIRMED_VISIBLE_MS:
        return "unconfirmed", "visible for 5 seconds or more, without input"
    return "scanner", "visible for less than 5 seconds, without input"


def parse_beacon_request(body: bytes, prefetch: bool) -> tuple[str, BeaconBody]:
    """Read what a browser sent: its view token and its beacon.

    Parameters: ``body`` JSON, at most ``LONGEST_BODY`` bytes; ``prefetch`` whether the request announced itself as
    prefetching. Raises Problem: ``bad_request`` for anything that is not exactly a beacon, ``payload_too_large``.
    """
    data = parse_object(body, MAX_BODY_BYTES)
    try:
        return _parse_text(data["token"]), _parse_beacon(data, prefetch)
    except (ValueError, KeyError, TypeError):
        raise Problem("bad_request", "This is not a beacon.") from None


def serialize_beacon(beacon: BeaconBody) -> str:
    """``beacon`` as JSON the way it is kept: what was sent without its token, and nothing else."""
    data: dict[str, Any] = {
        "part": beacon.part,
        "seq": beacon.seq,
        "ageMs": beacon.age_ms,
        "visible": beacon.visible,
        "visibleMs": beacon.visible_ms,
        "input": beacon.input,
        "turns": beacon.turns,
        "backTurns": beacon.back_turns,
        "pages": [{"page": page.page, "ms": page.ms, "views": page.views, "back": page.back} for page in beacon.pages],
    }
    if beacon.prefetch:
        data["prefetch"] = True
    if beacon.closing:
        data["closing"] = True
    return encode_compact(data)


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
