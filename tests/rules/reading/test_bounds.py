"""A session never has more reading time than has passed, for any beacons in any order."""

from hypothesis import given
from hypothesis import strategies as st

from docshare.server.rules.reading import BeaconBody, PageTime, begin_reading, fold_beacon

OPENED = 1_000_000
TOTAL_PAGES = 5

millis = st.integers(0, 10**12) | st.integers(0, 60_000)
page_times = st.builds(PageTime, st.integers(1, TOTAL_PAGES + 2), millis, st.integers(0, 1_000), st.integers(0, 1_000))
beacons = st.builds(
    BeaconBody,
    part=st.just(0),
    seq=st.integers(0, 50),
    age_ms=millis,
    visible=st.booleans(),
    visible_ms=millis,
    input=st.booleans(),
    turns=st.integers(0, 1_000),
    back_turns=st.integers(0, 1_000),
    pages=st.lists(page_times, max_size=4).map(tuple),
    prefetch=st.booleans(),
)
steps = st.lists(st.tuples(st.integers(0, 120_000), beacons), min_size=1, max_size=12)


@given(steps_taken=steps, prefetched=st.booleans())
def test_reading_time_never_exceeds_the_elapsed_time(
    steps_taken: list[tuple[int, BeaconBody]], prefetched: bool
) -> None:
    now = OPENED
    reading = None
    by_page: dict[int, int] = {}
    for wait, beacon in steps_taken:
        now += wait
        reading = reading or begin_reading(now, OPENED, None, prefetched)
        before = reading
        reading, pages = fold_beacon(reading, beacon, now, TOTAL_PAGES)
        for page in pages:
            by_page[page.page] = by_page.get(page.page, 0) + page.ms
        assert before.time_ms <= reading.time_ms <= reading.visible_ms <= now - reading.started_at <= now - OPENED
        assert before.counted_at is None or before.counted_at == reading.counted_at
    assert reading is not None
    assert reading.time_ms == sum(by_page.values())
    assert not [page for page in by_page if page > TOTAL_PAGES]


@given(steps_taken=steps)
def test_turns_and_views_are_limited_to_two_per_visible_second(steps_taken: list[tuple[int, BeaconBody]]) -> None:
    now = OPENED
    reading = begin_reading(now, OPENED, None, False)
    for wait, beacon in steps_taken:
        now += wait
        before = reading
        reading, pages = fold_beacon(reading, beacon, now, TOTAL_PAGES)
        assert before.turns <= reading.turns <= reading.visible_ms // 500
        assert before.back_turns <= reading.back_turns <= reading.turns
        assert all(page.back <= page.views <= reading.turns - before.turns + 1 for page in pages)


@given(steps_taken=steps)
def test_beacons_of_correct_clocks_are_accepted_in_full(steps_taken: list[tuple[int, BeaconBody]]) -> None:
    """Each beacon reports the time since the previous one, and they arrive in reverse order."""
    correct = []
    age = 0
    for seq, (wait, _) in enumerate(steps_taken):
        age += wait
        correct.append(BeaconBody(0, seq, age, True, wait, False, 0, 0, (PageTime(1, wait, 1, 0),)))
    arrival = OPENED + age
    first, *late = reversed(correct)
    reading, _ = fold_beacon(begin_reading(arrival, OPENED, None, False), first, arrival, TOTAL_PAGES)
    for beacon in late:
        reading, _ = fold_beacon(reading, beacon, arrival, TOTAL_PAGES)
    assert reading.time_ms == age
