"""Which sessions count as views, and how reading time is measured."""

from dataclasses import dataclass, field

import pytest

from docshare.server.rules.reading import (
    BeaconBody,
    PageTime,
    SessionReading,
    begin_reading,
    fold_beacon,
    has_room,
    mark_counted,
    session_end,
)

OPENED = 1_000_000  # when the page was served
TOOL = ("tool", "the user agent names a program")


def make_beacon(seq: int = 0, *, age: int = 0, visible: bool = True, input: bool = False, **more: object) -> BeaconBody:
    """Return a beacon whose reading time on page 1 equals its visible time unless ``pages`` says otherwise."""
    visible_ms = int(str(more.get("visible_ms", 0)))
    pages = more.get("pages", {1: visible_ms} if visible_ms else {})
    assert isinstance(pages, dict)
    times = tuple(PageTime(page, ms, 1, 0) for page, ms in pages.items())
    return BeaconBody(
        0, seq, age, visible, visible_ms, input, 0, 0, times, bool(more.get("prefetch")), bool(more.get("closing"))
    )


def fold_beacons(
    *received: tuple[int, BeaconBody], total: int = 3, program: tuple[str, str] | None = None, prefetched: bool = False
):
    """Fold beacons, each with its delay in ms after the page was served, into a session of ``total`` pages.

    Returns the reading and the time of each page.
    """
    reading: SessionReading | None = None
    times: dict[int, int] = {}
    for after, one in received:
        now = OPENED + after
        reading = reading or begin_reading(now, OPENED, program, prefetched)
        reading, gained = fold_beacon(reading, one, now, total)
        for page in gained:
            times[page.page] = times.get(page.page, 0) + page.ms
    assert reading is not None
    return reading, times


@dataclass(frozen=True)
class ReadingCase:
    name: str
    beacons: list[tuple[int, BeaconBody]]
    klass: str
    is_counted: bool
    time_ms: int = 0
    options: dict[str, object] = field(default_factory=dict)


CASES = [
    ReadingCase(
        "five seconds visible", [(5_000, make_beacon(age=5_000, visible_ms=5_000))], "unconfirmed", False, 5_000
    ),
    ReadingCase(
        "slightly less than five seconds visible",
        [(4_999, make_beacon(age=4_999, visible_ms=4_999))],
        "scanner",
        False,
        4_999,
    ),
    ReadingCase("one event at once", [(300, make_beacon(age=300, visible_ms=300, input=True))], "scanner", False, 300),
    ReadingCase(
        "one event, and hidden before two seconds",
        [(300, make_beacon(age=300, visible_ms=300, input=True)), (1_999, make_beacon(1, age=1_999, visible=False))],
        "scanner",
        False,
        300,
    ),
    ReadingCase(
        "one event, and still visible after two seconds",
        [(300, make_beacon(age=300, visible_ms=300, input=True)), (2_000, make_beacon(1, age=2_000, visible_ms=1_700))],
        "burst",
        False,
        2_000,
    ),
    ReadingCase(
        "one report with an event, however late", [(90_000, make_beacon(age=90_000, input=True))], "burst", False
    ),
    ReadingCase(
        "slightly less than five seconds between the reports",
        [(1_000, make_beacon(age=1_000, input=True)), (5_999, make_beacon(1, age=5_999, visible_ms=4_999))],
        "burst",
        False,
        4_999,
    ),
    ReadingCase(
        "five seconds between the reports",
        [(1_000, make_beacon(age=1_000, input=True)), (6_000, make_beacon(1, age=6_000, visible_ms=5_000))],
        "human",
        True,
        5_000,
    ),
    ReadingCase(
        "an event after a long time without one",
        [
            (1_000, make_beacon(age=1_000, visible_ms=1_000)),
            (50_000, make_beacon(1, age=50_000, visible_ms=49_000, input=True)),
        ],
        "human",
        True,
        50_000,
    ),
    ReadingCase(
        "two seconds, then hidden, like mail scanners",
        [(2_000, make_beacon(age=2_000, visible=False, visible_ms=2_000))],
        "scanner",
        False,
        2_000,
    ),
    ReadingCase(
        "five seconds in two visits",
        [
            (3_000, make_beacon(0, age=3_000, visible=False, visible_ms=3_000)),
            (20_000, make_beacon(1, age=20_000, visible_ms=2_000)),
        ],
        "unconfirmed",
        False,
        5_000,
    ),
    ReadingCase(
        "visible for long without reading time",
        [(9_000, make_beacon(age=9_000, visible_ms=9_000, pages={}))],
        "unconfirmed",
        False,
    ),
    ReadingCase(
        "prefetched without input",
        [(30_000, make_beacon(age=30_000, visible_ms=30_000))],
        "prefetch",
        False,
        30_000,
        {"prefetched": True},
    ),
    ReadingCase(
        "prefetched, then read",
        [(3_000, make_beacon(age=3_000)), (30_000, make_beacon(1, age=30_000, visible_ms=30_000, input=True))],
        "human",
        True,
        30_000,
        {"prefetched": True},
    ),
    ReadingCase(
        "a request that prefetches, whatever it claims",
        [(9_000, make_beacon(age=9_000, visible_ms=9_000, input=True, prefetch=True))],
        "prefetch",
        False,
        9_000,
    ),
    ReadingCase(
        "a program stays a program",
        [(60_000, make_beacon(age=60_000, visible_ms=60_000, input=True))],
        "tool",
        False,
        60_000,
        {"program": TOOL},
    ),
    ReadingCase("a claim of eleven days", [(1_000, make_beacon(age=1_000, visible_ms=10**9))], "scanner", False, 1_000),
    ReadingCase(
        "a claim from before the page was served",
        [(900, make_beacon(age=10**9, visible_ms=10**9))],
        "scanner",
        False,
        900,
    ),
    ReadingCase(
        "a late beacon loses nothing",
        [
            (10_000, make_beacon(0, age=10_000, visible_ms=10_000, input=True)),
            (30_000, make_beacon(2, age=30_000, visible_ms=10_000)),
            (30_050, make_beacon(1, age=20_000, visible_ms=10_000)),
        ],
        "human",
        True,
        30_000,
    ),
    ReadingCase(
        "more reading than was visible",
        [(20_000, make_beacon(age=20_000, visible_ms=8_000, pages={1: 15_000}))],
        "unconfirmed",
        False,
        8_000,
    ),
    ReadingCase(
        "a page the document lacks",
        [(9_000, make_beacon(age=9_000, visible_ms=9_000, pages={4: 9_000}))],
        "unconfirmed",
        False,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_session_is_classified_counted_and_measured(case: ReadingCase) -> None:
    reading, _ = fold_beacons(*case.beacons, **case.options)  # type: ignore[arg-type]
    assert (reading.klass, reading.counted_at is not None, reading.time_ms) == (
        case.klass,
        case.is_counted,
        case.time_ms,
    )
    assert reading.reason


def test_a_view_is_counted_once_at_the_time_of_its_beacon() -> None:
    reading, _ = fold_beacons(
        (1_000, make_beacon(0, age=1_000, visible_ms=1_000)),
        (6_000, make_beacon(1, age=6_000, visible_ms=5_000, input=True)),
        (9_000, make_beacon(2, age=9_000, visible_ms=3_000, input=True)),
    )
    assert reading.counted_at == OPENED + 6_000
    assert reading.reason == "a pointer, key, touch, or wheel event"


def test_a_short_session_that_was_counted_stays_counted() -> None:
    reading, _ = fold_beacons((2_000, make_beacon(0, age=2_000, input=True)))
    assert reading.klass == "burst"
    counted = mark_counted(reading, OPENED + 2_000)
    later, _ = fold_beacon(counted, make_beacon(1, age=3_000, visible_ms=1_000), OPENED + 3_000, 3)
    assert (later.klass, later.counted_at) == ("human", OPENED + 2_000)


@pytest.mark.parametrize(
    ("of_reader", "of_address", "expected"), [(0, 0, True), (11, 35, True), (12, 12, False), (0, 36, False)]
)
def test_twelve_short_sessions_of_a_reader_and_36_of_an_address_are_counted(
    of_reader: int, of_address: int, expected: bool
) -> None:
    assert has_room(of_reader, of_address) is expected


def test_time_is_recorded_by_page_and_unknown_pages_are_dropped() -> None:
    _, times = fold_beacons((10_000, make_beacon(age=10_000, visible_ms=10_000, pages={1: 4_000, 3: 5_000, 4: 1_000})))
    assert times == {1: 4_000, 3: 5_000}


def test_excessive_page_times_are_reduced_proportionally() -> None:
    _, times = fold_beacons((10_000, make_beacon(age=10_000, visible_ms=10_000, pages={1: 30_000, 2: 10_000})))
    assert times == {1: 7_500, 2: 2_500}


def test_a_clock_that_is_set_back_does_not_change_the_time() -> None:
    reading, _ = fold_beacons(
        (10_000, make_beacon(0, age=10_000, visible_ms=10_000)),
        (-50_000, make_beacon(1, age=20_000, visible_ms=10_000)),
    )
    assert reading.time_ms == 10_000


ENDS = [
    ("idle: five minutes after the last active reading", [(10_000, make_beacon(visible_ms=5_000))], 310_000),
    ("hidden: sixty seconds after", [(10_000, make_beacon(visible=False, visible_ms=5_000))], 70_000),
    (
        "hidden, then visible again",
        [(10_000, make_beacon(0, visible=False, visible_ms=5_000)), (40_000, make_beacon(1, visible_ms=1_000))],
        340_000,
    ),
    (
        "hidden once more is hidden since the first time",
        [(10_000, make_beacon(0, visible=False, visible_ms=5_000)), (40_000, make_beacon(1, visible=False))],
        70_000,
    ),
    (
        "closed: ten seconds after",
        [(10_000, make_beacon(visible=False, visible_ms=5_000, closing=True))],
        20_000,
    ),
    (
        "hidden, then closed",
        [
            (10_000, make_beacon(0, visible=False, visible_ms=5_000)),
            (40_000, make_beacon(1, visible=False, closing=True)),
        ],
        50_000,
    ),
    (
        "closed, then visible again",
        [(10_000, make_beacon(0, visible=False, closing=True)), (19_000, make_beacon(1, visible_ms=1_000))],
        319_000,
    ),
    (
        "a late visible beacon does not undo being hidden",
        [(10_000, make_beacon(1, visible=False, visible_ms=5_000)), (40_000, make_beacon(0, visible_ms=1_000))],
        70_000,
    ),
    (
        "visible without reading does not keep it open",
        [(10_000, make_beacon(0, visible_ms=5_000)), (200_000, make_beacon(1, visible_ms=9_000, pages={}))],
        310_000,
    ),
    (
        "pages that do not exist do not keep it open",
        [(10_000, make_beacon(0, visible_ms=5_000)), (200_000, make_beacon(1, visible_ms=9_000, pages={9: 9_000}))],
        310_000,
    ),
    (
        "an event keeps it open",
        [(10_000, make_beacon(0, visible_ms=5_000)), (200_000, make_beacon(1, input=True))],
        500_000,
    ),
]


@pytest.mark.parametrize(("received", "end"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS])
def test_the_end_of_a_session(received: list[tuple[int, BeaconBody]], end: int) -> None:
    reading, _ = fold_beacons(*received)
    assert session_end(reading) == OPENED + end


def test_a_session_does_not_begin_before_the_page_was_served() -> None:
    assert fold_beacons((9_000, make_beacon(age=5_000)))[0].started_at == OPENED + 4_000
    assert fold_beacons((9_000, make_beacon(age=50_000)))[0].started_at == OPENED


def test_a_delayed_first_beacon_does_not_reduce_the_time_of_later_ones() -> None:
    reading, _ = fold_beacons(
        (12_000, make_beacon(0, age=2_000, visible_ms=2_000)),
        (12_100, make_beacon(1, age=12_000, visible_ms=10_000)),
    )
    assert reading.started_at == OPENED + 100
    assert reading.time_ms == 12_000
